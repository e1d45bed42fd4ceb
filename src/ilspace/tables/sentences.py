"""Free text as the mean of vectors that a package has for its tokens."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ilspace.storage.schema import Check, Value
from ilspace.tables.column import STRING, Column
from ilspace.tables.free_text import texts_of

AUTO, TFIDF, WORDLLAMA, BOTH = TEXT_FEATURES = ("auto", "tfidf", "wordllama", "both")
"""Features of free text; ``"auto"``: both where the package wordllama can be loaded."""

DIMENSIONS = 256
"""Length of the vectors that come with the package."""

_BLOCK = 1_000
"""Texts that are read at a time."""

_MOST_CHARACTERS = 20_000
"""Where a text is cut off."""

_BATCH_CHARACTERS = 2**17
"""Characters whose vectors are in memory at once: all texts of a batch count as the longest."""

_MOST_TEXTS = 64
"""Texts of a batch."""


@cache
def _vectors() -> Any:
    """The model of WordLlama that its package carries; nothing is downloaded."""
    try:
        with _logging_as_it_is():
            import wordllama

            # it would not look there for its own tokenizer
            folder = Path(str(wordllama.__file__)).parent
            return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == WORDLLAMA:
            reason = 'which is not installed: pip install "ilspace[sentences]"'
        else:
            reason = f"which cannot be loaded ({type(error).__name__}: {error})"
        raise ImportError(f"Sentence embeddings need wordllama, {reason}") from error


@contextmanager
def _logging_as_it_is() -> Iterator[None]:
    """Undo what the import of a package does to the logging of the program."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers


def why_unavailable() -> str:
    """Why sentence embeddings cannot be computed.

    Returns
    -------
    str
        The error message; empty if they can be.
    """
    try:
        _vectors()
    except ImportError as error:
        return str(error)
    return ""


@dataclass(frozen=True)
class Sentences(Column):
    """Free text, as the direction of the mean of the vectors of its tokens.

    A missing text, and one without any token, is filled with the mean of its domain. The vectors
    come with the package wordllama, and not with the model.

    Attributes
    ----------
    model : {"wordllama"}
        Whose vectors they are.
    """

    model: str = WORDLLAMA

    as_written = True
    weight = 4  # as that of the other kind of text
    schema = {
        "name": STRING,
        "model": Value(str, check=Check(f"be {WORDLLAMA}", WORDLLAMA.__eq__)),
    }

    @property
    def about(self) -> str:
        """What its encoded columns are."""
        return f"{DIMENSIONS} dimensions of sentence embeddings (wordllama, needed to predict too)"

    @property
    def names(self):
        """One per dimension."""
        return [f"{self.name}: embedding {i + 1}" for i in range(DIMENSIONS)]

    def read(self, column):
        """Directions of the texts; see :class:`~ilspace.tables.column.Column`."""
        texts = texts_of(column)
        values = np.full((len(texts), DIMENSIONS), np.nan)
        known = np.flatnonzero(texts.notna())
        for start in range(0, len(known), _BLOCK):
            rows = known[start : start + _BLOCK]
            means = _means([each[:_MOST_CHARACTERS] for each in texts.iloc[rows]])
            lengths = np.linalg.norm(means, axis=1, keepdims=True)
            values[rows] = np.where(lengths > 0, means / np.where(lengths > 0, lengths, 1), np.nan)
        return values


def _means(texts: list[str]) -> np.ndarray:
    """Means of the vectors of the tokens of texts."""
    longest = max(1, *map(len, texts))
    batch = min(max(_BATCH_CHARACTERS // longest, 1), _MOST_TEXTS)
    return np.asarray(_vectors().embed(texts, norm=False, batch_size=batch), np.float64)
