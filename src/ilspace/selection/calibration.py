"""Make predictions as sure as they are right on rows of known class."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

_LARGEST = 4.0
"""Largest magnitude of the logarithm of an exponent: from 1/55 to 55."""


def calibrated(
    probabilities: npt.ArrayLike, *, known: npt.ArrayLike, codes: npt.ArrayLike
) -> np.ndarray:
    r"""Scale predictions so that they fit rows of known class best.

    One exponent for all, :math:`p_c^\beta / \sum_k p_k^\beta`, the one of least log-loss on the
    known rows: temperature scaling :cite:p:`guo2017`. It changes no prediction, only how sure each
    is. Models that differ only in how sure they are of all they say become one.

    Parameters
    ----------
    probabilities : array-like of shape (n, n_classes)
        Predictions to scale; each row sums to 1.
    known : array-like of shape (m, n_classes)
        Predictions of rows that were not learned from.
    codes : array-like of int, shape (m,)
        Their classes, as columns.

    Returns
    -------
    ndarray of shape (n, n_classes)
        Each row sums to 1.
    """
    return raised(probabilities, fitting_exponent(known, codes))


def fitting_exponent(
    known: npt.ArrayLike, codes: npt.ArrayLike, *, n_uniform: float = 0.0
) -> float:
    """Exponent that makes predictions as sure as they are right.

    Parameters
    ----------
    known : array-like of shape (m, n_classes)
        Predictions of rows that were not learned from.
    codes : array-like of int, shape (m,)
        Their classes, as columns.
    n_uniform : float, default=0
        Rows more that could be of any class: a few right predictions make none certain.

    Returns
    -------
    float
        Positive; the one of least log-loss.
    """
    logits, columns = _logs(known), np.asarray(codes)
    rows = np.arange(len(columns))

    def log_loss(log_exponent: float) -> float:
        scaled = log_softmax(np.exp(log_exponent) * logits, axis=1)
        return -float(scaled[rows, columns].sum() + n_uniform * scaled.mean())

    best = minimize_scalar(log_loss, bounds=(-_LARGEST, _LARGEST), method="bounded")
    return float(np.exp(best.x))


def raised(probabilities: npt.ArrayLike, exponent: float) -> np.ndarray:
    """Predictions to a power, normalised again.

    Parameters
    ----------
    probabilities : array-like of shape (n, n_classes)
        Each row sums to 1.
    exponent : float
        Above 1 for surer ones, below for less sure ones.

    Returns
    -------
    ndarray of shape (n, n_classes)
        Each row sums to 1; the order of its classes stays.
    """
    return softmax(exponent * _logs(probabilities), axis=1)


def _logs(probabilities: npt.ArrayLike) -> np.ndarray:
    values = np.asarray(probabilities, dtype=np.float64)
    return np.log(np.maximum(values, np.finfo(float).tiny))
