"""Temperature scaling of predicted probabilities."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

_LARGEST = 4.0
"""Bound of the absolute log-exponent: from 1/55 to 55."""


def calibrated(
    probabilities: npt.ArrayLike, *, known: npt.ArrayLike, codes: npt.ArrayLike
) -> np.ndarray:
    r"""Calibrate predicted probabilities on rows of known class.

    Temperature scaling :cite:p:`guo2017`: :math:`p_c^\beta / \sum_k p_k^\beta` with the exponent
    of least log-loss on the known rows. It changes the confidence of the predictions, never the
    predicted class, so models that differ only in confidence become equal.

    Parameters
    ----------
    probabilities : array-like of shape (n, n_classes)
        Probabilities to scale; each row sums to 1.
    known : array-like of shape (m, n_classes)
        Predicted probabilities of rows held out from training.
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
    """Exponent (inverse temperature) that calibrates predictions.

    Parameters
    ----------
    known : array-like of shape (m, n_classes)
        Predicted probabilities of rows held out from training.
    codes : array-like of int, shape (m,)
        Their classes, as columns.
    n_uniform : float, default=0
        Additional rows of uniform label, so that a few correct predictions do not make all
        others certain.

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
    """Probabilities to a power, normalised again.

    Parameters
    ----------
    probabilities : array-like of shape (n, n_classes)
        Each row sums to 1.
    exponent : float
        Above 1 for more confident ones, below 1 for less confident ones.

    Returns
    -------
    ndarray of shape (n, n_classes)
        Each row sums to 1; the order of its classes stays.
    """
    return softmax(exponent * _logs(probabilities), axis=1)


def _logs(probabilities: npt.ArrayLike) -> np.ndarray:
    values = np.asarray(probabilities, dtype=np.float64)
    return np.log(np.maximum(values, np.finfo(float).tiny))
