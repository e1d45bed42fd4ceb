"""Rows that a model does not learn from, so that it can be judged by them."""

from __future__ import annotations

import numpy as np


def hold_out(labels: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Draw the source rows that no model may learn from, class by class.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Labels of the source rows.
    share : float
        Share of each class.
    rng : Generator
        Source of randomness.

    Returns
    -------
    ndarray of int
        Row numbers, ascending; a class of a single row has none there, any other at least one.
    """
    drawn = []
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        n = min(max(1, round(share * len(rows))), len(rows) - 1)
        drawn.append(rng.permutation(rows)[:n])
    return np.sort(np.concatenate(drawn))
