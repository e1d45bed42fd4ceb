"""Scores of predictions without target labels; greater is better in all of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import entr, logsumexp

_TILE = 2**24
"""Maximum number of similarities per tile."""


def confidence(probabilities: npt.ArrayLike) -> float:
    r"""Minus the mean entropy of the predictions :cite:p:`morerio2018`.

    .. math:: \frac1n \sum_i \sum_c p_{ic} \log p_{ic}

    Its maximum, 0, is reached by certain predictions, even if all of one class.

    Parameters
    ----------
    probabilities : array-like of shape (n, n_classes)
        Of target rows; each row sums to 1.

    Returns
    -------
    float
        At most 0.
    """
    return -float(entr(_rows(probabilities)).sum(axis=1).mean())


def information(probabilities: npt.ArrayLike) -> float:
    r"""Mutual information of row and predicted class :cite:p:`bridle1991`.

    .. math:: H(\bar p) - \frac1n \sum_i H(p_i), \qquad \bar p = \frac1n \sum_i p_i

    Large where predictions are confident and balanced over the classes; 0 where all rows are
    predicted as one class.

    Parameters
    ----------
    probabilities : array-like of shape (n, n_classes)
        Of target rows; each row sums to 1.

    Returns
    -------
    float
        Between 0 and the logarithm of the number of classes.
    """
    rows = _rows(probabilities)
    return float(entr(rows.mean(axis=0)).sum() - entr(rows).sum(axis=1).mean())


def neighbourhood_density(probabilities: npt.ArrayLike, *, temperature: float = 0.05) -> float:
    r"""Soft neighbourhood density: mean entropy of neighbour similarities :cite:p:`saito2021`.

    With :math:`s_{ij}` the cosine of the predictions of two rows,

    .. math:: -\frac1n \sum_i \sum_{j \ne i} q_{ij} \log q_{ij}, \qquad
       q_{ij} = \frac{e^{s_{ij} / T}}{\sum_{k \ne i} e^{s_{ik} / T}}

    Large where predictions form few tight clusters. One cluster of all rows has the largest
    value, so a model that predicts a single class is not penalised.

    Parameters
    ----------
    probabilities : array-like of shape (n, n_classes)
        Of target rows; each row sums to 1.
    temperature : float, default=0.05
        T: how close two predictions must be to be neighbours.

    Returns
    -------
    float
        Between 0 and log(n - 1).
    """
    rows = _rows(probabilities)
    n = len(rows)
    if n < 2:
        raise ValueError(f"Neighbours need at least 2 rows, but there is {n}: add target rows.")
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    height = max(1, _TILE // n)
    total = 0.0
    for top in range(0, n, height):
        scores = rows[top : top + height] @ rows.T / temperature
        own = np.arange(len(scores))
        scores[own, top + own] = -np.inf
        logs = scores - logsumexp(scores, axis=1, keepdims=True)
        total += float(entr(np.exp(logs)).sum())
    return total / n


def weighted_accuracy(correct: npt.ArrayLike, weights: npt.ArrayLike) -> float:
    r"""Accuracy on source rows, weighted towards those that look like target rows.

    .. math:: \frac{\sum_i w_i\, [\hat y_i = y_i]}{\sum_i w_i}

    The weights estimate the ratio of target density to source density :cite:p:`sugiyama2007`.

    Parameters
    ----------
    correct : array-like of shape (n,)
        Whether each held-out source row was classified correctly, or any score of it.
    weights : array-like of shape (n,)
        Not negative, with a positive sum.

    Returns
    -------
    float
        Between 0 and 1.
    """
    return float(np.average(np.asarray(correct, dtype=np.float64), weights=_column(weights)))


def controlled_risk(losses: npt.ArrayLike, weights: npt.ArrayLike) -> float:
    r"""Minus the weighted risk, with a control variate.

    .. math:: -\Bigl(\frac1n \sum_i w_i \ell_i
       + \eta\,\Bigl(\frac1n \sum_i w_i - 1\Bigr)\Bigr), \qquad
       \eta = -\frac{\operatorname{cov}(w\ell, w)}{\operatorname{var}(w)}

    The control variate of deep embedded validation :cite:p:`you2019`: the mean of a density ratio
    is 1, so its deviation from 1 corrects the risk.

    Parameters
    ----------
    losses : array-like of shape (n,)
        Of held-out source rows.
    weights : array-like of shape (n,)
        Estimated ratios of target density to source density, not normalised.

    Returns
    -------
    float
        Greater is better.
    """
    weights = _column(weights)
    weighted = weights * np.asarray(losses, dtype=np.float64)
    spread = weights - weights.mean()
    variance = float(spread @ spread)
    # weights that are equal up to rounding have no variance to use
    flat = variance <= len(weights) * (np.finfo(float).eps * np.abs(weights).max()) ** 2
    slope = 0.0 if flat else -float(spread @ (weighted - weighted.mean())) / variance
    return -float(weighted.mean() + slope * (weights.mean() - 1))


def _rows(probabilities: npt.ArrayLike) -> np.ndarray:
    rows = np.asarray(probabilities, dtype=np.float64)
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(
            f"probabilities must have shape (n, n_classes) and some rows, but have shape "
            f"{rows.shape}."
        )
    return rows


def _column(weights: npt.ArrayLike) -> np.ndarray:
    column = np.asarray(weights, dtype=np.float64)
    if column.ndim != 1:
        # a column of weights times a row of losses would broadcast to a matrix
        raise ValueError(f"weights must be 1-d, one per row, but have shape {column.shape}.")
    return column
