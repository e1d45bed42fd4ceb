"""Texts as means of the vectors of their words, beside the n-grams that skrub encodes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone

_MOST_CHARACTERS = 20_000
"""Where a text is cut off."""

_BATCH_CHARACTERS, _MOST_TEXTS = 2**17, 64
"""Characters and texts whose vectors are in memory at once: each text counts as the longest."""


class WordVectors(TransformerMixin, BaseEstimator):
    """What an encoder makes of a text, and the direction of the mean of the vectors of its words.

    The vectors are those of the package wordllama (extra ``sentences``), which carries them, and
    which predictions need too.

    Parameters
    ----------
    encoder : transformer
        Of one column of text, such as skrub's ``StringEncoder``.

    Attributes
    ----------
    encoder_ : transformer
        Fitted.
    scales_ : tuple of float
        Standard deviations, over all columns, of the encoded texts and of the vectors.
    """

    __single_column_transformer__ = True  # as skrub's encoders: one column of text at a time

    def __init__(self, encoder):
        self.encoder = encoder

    def fit(self, X, y=None):
        """Fit the encoder, and find the vectors.

        Parameters
        ----------
        X : Series of str
            Texts.
        y : None
            Ignored.

        Returns
        -------
        self
            Fitted.
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X, y=None):
        """Fit, and encode the same texts.

        Parameters
        ----------
        X : Series of str
            Texts.
        y : None
            Ignored.

        Returns
        -------
        ndarray of shape (n, n_encoded + 256)
            As :meth:`transform` gives them.
        """
        self.encoder_, self.name_ = clone(self.encoder).fit(X), str(X.name)
        blocks = self._blocks(X)
        self.scales_ = tuple(float(np.sqrt(each.var(axis=0).sum())) or 1.0 for each in blocks)
        return self._joined(blocks)

    def transform(self, X):
        """Encode texts.

        Parameters
        ----------
        X : Series of str
            Texts; a missing one has no direction.

        Returns
        -------
        ndarray of shape (n, n_encoded + 256)
            Encoded texts; then directions, zeros for a missing text. Both have a total variance of
            1 on the texts of the fit, so that neither outweighs the other.
        """
        return self._joined(self._blocks(X))

    def _blocks(self, X) -> list[np.ndarray]:
        texts = ["" if each is None or each != each else str(each)[:_MOST_CHARACTERS] for each in X]
        size = max(1, min(_BATCH_CHARACTERS // max(1, *map(len, texts), 1), _MOST_TEXTS))
        means = np.asarray(vectors().embed(texts, norm=False, batch_size=size), np.float64)
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        found = np.asarray(self.encoder_.transform(X), np.float64)
        return [found, means / np.where(lengths > 0, lengths, 1)]

    def _joined(self, blocks: list[np.ndarray]) -> np.ndarray:
        return np.hstack([each / s for each, s in zip(blocks, self.scales_, strict=True)])

    def get_feature_names_out(self, input_features=None):
        """Names of the columns.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str
            One per column.
        """
        own = [f"{self.name_}: word vector {i}" for i in range(256)]
        return np.array([*self.encoder_.get_feature_names_out(), *own], dtype=object)


@cache
def vectors() -> Any:
    """The model of WordLlama that its package carries; nothing is downloaded."""
    try:
        with _logging_as_it_is():
            import wordllama

            # it would not look there for its own tokenizer
            folder = Path(str(wordllama.__file__)).parent
            return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "wordllama":
            reason = 'which is not installed: pip install "ilspace[sentences]"'
        else:
            reason = f"which cannot be loaded ({type(error).__name__}: {error})"
        raise ImportError(f"Word vectors of texts need wordllama, {reason}") from error


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
    """Why texts have no word vectors.

    Returns
    -------
    str
        The error message; empty if they have.
    """
    try:
        vectors()
    except ImportError as error:
        return str(error)
    return ""
