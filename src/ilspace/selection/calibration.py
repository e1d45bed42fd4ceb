"""Temperature scaling of predicted probabilities."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from ilspace.rules.calibration import fitting_inverse_temperature


def calibrated(
    probabilities: npt.ArrayLike, *, known: npt.ArrayLike, codes: npt.ArrayLike
) -> np.ndarray:
    r"""Calibrate predicted probabilities on rows of known class.

    Temperature scaling :cite:p:`guo2017`: :math:`p_c^\beta / \sum_k p_k^\beta` with the inverse
    temperature :math:`\beta` of least log-loss on the known rows. It changes the confidence of the
    predictions, never the predicted class, so models that differ only in confidence become equal.

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
    return raised(probabilities, fitting_inverse_temperature(log_probabilities(known), codes))


def raised(probabilities: npt.ArrayLike, inverse_temperature: float) -> np.ndarray:
    """Probabilities to a power, normalised again.

    Parameters
    ----------
    probabilities : array-like of shape (n, n_classes)
        Each row sums to 1.
    inverse_temperature : float
        Above 1 for more confident ones, below 1 for less confident ones.

    Returns
    -------
    ndarray of shape (n, n_classes)
        Each row sums to 1; the order of its classes stays.
    """
    return softmax(inverse_temperature * log_probabilities(probabilities), axis=1)


def log_probabilities(probabilities: npt.ArrayLike) -> np.ndarray:
    """Logarithms of probabilities, finite also where one is 0.

    Parameters
    ----------
    probabilities : array-like of shape (n, n_classes)
        The probabilities.

    Returns
    -------
    ndarray of shape (n, n_classes)
        Their logarithms.
    """
    values = np.asarray(probabilities, dtype=np.float64)
    return np.log(np.maximum(values, np.finfo(float).tiny))
