"""Accuracy of a fit that is not finished, for those who watch it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from ilspace.backend import spectral_map

_MOST_ROWS = 500
"""Held-out rows, and labelled rows per class: a progress bar needs no more digits."""


class Monitor:
    """Follows the accuracy on held-out rows of the source.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Source rows to learn from.
    codes : ndarray of int, shape (n,)
        Their classes.
    held_rows : ndarray of shape (n_held, d)
        Source rows held out.
    held_codes : ndarray of int, shape (n_held,)
        Their classes.
    """

    def __init__(
        self, rows: np.ndarray, codes: np.ndarray, held_rows: np.ndarray, held_codes: np.ndarray
    ):
        few = np.concatenate(
            [np.flatnonzero(codes == code)[:_MOST_ROWS] for code in np.unique(codes)]
        )
        self.rows, self.codes = rows[few], codes[few]
        self.held_rows, self.held_codes = held_rows[:_MOST_ROWS], held_codes[:_MOST_ROWS]

    def __call__(self, point: Sequence[Any]) -> float:
        """Accuracy at an iterate.

        Parameters
        ----------
        point : sequence of array
            Source projection, target projection, metric and slacks.

        Returns
        -------
        float
            Of the nearest neighbour.
        """
        # scale and mean are left out: they are the same for all rows of one domain
        to_latent = point[0] @ spectral_map(point[2], np.sqrt)
        nearest = KNeighborsClassifier(1).fit(self.rows @ to_latent, self.codes)
        return float(nearest.score(self.held_rows @ to_latent, self.held_codes))
