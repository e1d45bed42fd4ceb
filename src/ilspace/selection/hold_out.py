"""Stratified hold-out of source rows."""

from __future__ import annotations

import numpy as np


def hold_out(labels: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Draw the source rows to hold out from training, stratified by class.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Labels of the source rows.
    share : float
        Fraction of each class.
    rng : Generator
        Source of randomness.

    Returns
    -------
    ndarray of int
        Row indices, ascending; at least one per class of two or more rows.
    """
    drawn = []
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        n = min(max(1, round(share * len(rows))), len(rows) - 1)
        drawn.append(rng.permutation(rows)[:n])
    return np.sort(np.concatenate(drawn))
