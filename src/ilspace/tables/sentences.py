"""Free text as the mean of vectors that a package has for its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ilspace.storage.schema import Check, Value
from ilspace.tables.column import STRING, Column
from ilspace.tables.free_text import are_free_text, refuse_numbers, texts_of

if TYPE_CHECKING:
    import pandas as pd

TFIDF, WORDLLAMA = "tfidf", "wordllama"
"""What describes free text."""

DIMENSIONS = 256
"""Length of the vectors that come with the package."""

_BLOCK = 1_000
"""Texts that are described at a time."""


@cache
def _vectors() -> Any:
    """The model of WordLlama that its package carries; nothing is downloaded."""
    try:
        import wordllama
    except ImportError as error:
        raise ImportError(
            "Sentence embeddings need wordllama, which is not installed: "
            'pip install "ilspace[sentences]"'
        ) from error
    folder = Path(str(wordllama.__file__)).parent  # where it would not look for its own tokenizer
    return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)


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

    @classmethod
    def recognise(cls, name, sides, notes):
        """Many different strings of several words; see :class:`~ilspace.tables.column.Column`."""
        if not are_free_text(sides):
            return ""
        notes.append(f"Taken for free text, and described by sentence embeddings: {name}.")
        return cls.learn(name, sides)

    @classmethod
    def learn(cls, name: str, sides: Sequence[pd.Series]) -> Sentences:
        """Take a column for text, whether it looks so or not.

        Parameters
        ----------
        name : str
            As in the header.
        sides : sequence of Series
            The column in each table that has to agree on it.

        Returns
        -------
        Sentences
            The feature.
        """
        refuse_numbers(name, sides)
        return cls(name)

    @property
    def names(self):
        """One per dimension."""
        return [f"{self.name}: dimension {i + 1}" for i in range(DIMENSIONS)]

    def read(self, column):
        """Directions of the texts; see :class:`~ilspace.tables.column.Column`."""
        texts = texts_of(column)
        values = np.full((len(texts), DIMENSIONS), np.nan)
        known = np.flatnonzero(texts.notna())
        for start in range(0, len(known), _BLOCK):
            rows = known[start : start + _BLOCK]
            means = np.asarray(_vectors().embed(texts.iloc[rows].tolist(), norm=False), np.float64)
            lengths = np.linalg.norm(means, axis=1, keepdims=True)
            values[rows] = np.where(lengths > 0, means / np.where(lengths > 0, lengths, 1), np.nan)
        return values
