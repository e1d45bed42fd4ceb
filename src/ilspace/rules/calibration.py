"""Temperature scaling: scores to probabilities."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

_LARGEST = 4.0
"""Bound of the absolute logarithm: from 1/55 to 55."""


def fitting_inverse_temperature(
    scores: npt.ArrayLike,
    codes: npt.ArrayLike,
    *,
    n_uniform: float = 0.0,
    weights: np.ndarray | None = None,
) -> float:
    """Inverse temperature that calibrates predictions :cite:p:`guo2017`.

    Parameters
    ----------
    scores : array-like of shape (m, n_classes)
        Scores, or log-probabilities, of rows held out from training.
    codes : array-like of int, shape (m,)
        Their classes, as columns.
    n_uniform : float, default=0
        Additional rows of uniform label, so that a few correct predictions do not make all
        others certain.
    weights : ndarray of shape (m,), optional
        Weights of the rows, 1 by default.

    Returns
    -------
    float
        Positive; the one of least log-loss.
    """
    logits, columns = np.asarray(scores, dtype=np.float64), np.asarray(codes)
    rows = np.arange(len(columns))

    def log_loss(logarithm: float) -> float:
        scaled = log_softmax(np.exp(logarithm) * logits, axis=1)
        right = scaled[rows, columns]
        total = right.sum() if weights is None else weights @ right
        return -float(total + n_uniform * scaled.mean())

    best = minimize_scalar(log_loss, bounds=(-_LARGEST, _LARGEST), method="bounded")
    return float(np.exp(best.x))
