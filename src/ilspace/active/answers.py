"""What is known of the labels of target rows, and what was predicted before it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ilspace.active.accuracy import Asked

NONE_OF_THESE = "(none of these)"
"""Label of a row that is of no class of the source, whatever it is."""

FEWEST_ROWS = 2
"""Labels of a new class from which on it is learned."""


class Prediction(NamedTuple):
    """What was said of a row before its label was known.

    Attributes
    ----------
    label : object
        The predicted class.
    confidence : float
        Its probability.
    n_learned : int
        How many target labels the model had learned from.
    is_random : bool
        Whether the row was drawn at random, not chosen.
    """

    label: Any
    confidence: float
    n_learned: int
    is_random: bool = False


class Answers:
    """Labels of target rows, rows that are skipped, and predictions made before.

    Parameters
    ----------
    n_rows : int
        Number of target rows.
    classes : ndarray of shape (n_classes,)
        Classes of the source.
    takes_new : bool
        Whether labels that are no class of the source can be learned.

    Attributes
    ----------
    labels : ndarray of object, shape (n_rows,)
        Labels, None where there is none.
    skipped : bool array of shape (n_rows,)
        Rows that are not to be asked about.
    """

    def __init__(self, n_rows: int, classes: np.ndarray, takes_new: bool) -> None:
        self.labels = np.full(n_rows, None, dtype=object)
        self.skipped = np.zeros(n_rows, dtype=bool)
        self._classes = classes
        self._takes_new = takes_new
        self._predicted: dict[int, Prediction] = {}

    @property
    def has_label(self) -> np.ndarray:
        """Which rows have a label."""
        return np.not_equal(self.labels, np.array(None)).astype(bool)

    @property
    def count(self) -> int:
        """Number of rows with a label, or skipped."""
        return int(self.has_label.sum() + self.skipped.sum())

    def put(self, rows: np.ndarray, labels: list) -> None:
        """Give rows their labels.

        Parameters
        ----------
        rows : int array of shape (n,)
            Row numbers.
        labels : list of n labels
            Their labels.
        """
        for row, label in zip(rows.tolist(), labels, strict=True):
            self.labels[row] = label

    def take_back(self, rows: np.ndarray) -> None:
        """Make rows ones without a label, not skipped.

        Parameters
        ----------
        rows : int array of shape (n,)
            Row numbers.
        """
        self.labels[rows] = None
        self.skipped[rows] = False
        for row in rows.tolist():
            self._predicted.pop(row, None)

    def to_learn(self) -> dict[int, Any]:
        """Rows whose labels can be learned, and these labels."""
        rows = np.flatnonzero(self.has_label)
        labels = dict(zip(rows.tolist(), self.labels[rows].tolist(), strict=True))
        classes = {*self._classes.tolist(), *self._new_classes(labels)}
        return {row: label for row, label in labels.items() if label in classes}

    def _new_classes(self, labels: dict[int, Any]) -> list:
        """Classes that the source lacks, and that have enough labels to be learned."""
        if not self._takes_new:
            return []
        known, is_text = set(self._classes.tolist()), self._classes.dtype.kind == "U"
        counts = Counter(
            each
            for each in labels.values()
            if each not in known and each != NONE_OF_THESE and isinstance(each, str) == is_text
        )
        return [each for each, count in counts.items() if count >= FEWEST_ROWS]

    def without_label(self, rows: np.ndarray) -> np.ndarray:
        """Those of some rows that have no label.

        Parameters
        ----------
        rows : int array of shape (n,)
            Row numbers.

        Returns
        -------
        int array of shape (m,)
            Row numbers.
        """
        return rows[~self.has_label[rows]]

    def remember(self, predictions: Mapping[int, Prediction]) -> None:
        """Keep what was predicted of rows before their labels were known.

        Parameters
        ----------
        predictions : mapping of int to Prediction
            By row number.
        """
        self._predicted.update(predictions)

    def asked(self) -> Asked:
        """What was predicted of rows that have a label by now, and whether it was right."""
        said = self._predicted
        return Asked(
            np.array([each.confidence for each in said.values()]),
            np.array([each.label == self.labels[row] for row, each in said.items()], dtype=bool),
            np.array([each.n_learned for each in said.values()]),
            np.array([each.is_random for each in said.values()], dtype=bool),
        )
