"""Statistics over all pairs in closed form: from the moments of the classes, not from the pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ilspace.pairs.weights import pair_totals


class PairStatistics(NamedTuple):
    """What all pairs of labelled rows look like, under the Euclidean metric.

    Attributes
    ----------
    similar_mean : float
        Mean squared distance of the similar pairs; NaN where there are none.
    similar_std : float
        Standard deviation of the squared distances of the similar pairs.
    similar_covariance : ndarray of shape (p, p)
        Mean outer product of the differences of the similar pairs.
    dissimilar_covariance : ndarray of shape (p, p)
        The same for the dissimilar pairs.
    """

    similar_mean: float
    similar_std: float
    similar_covariance: np.ndarray
    dissimilar_covariance: np.ndarray


def pair_statistics(
    latent: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None
) -> PairStatistics:
    r"""Statistics of all similar and dissimilar pairs, in O(n p²).

    For rows z of one class, centred there, with weights summing to S,
    :math:`\sum_{i<j} d_{ij} = S\sum_i\|z_i\|^2` and
    :math:`\sum_{i<j} d_{ij}^2 = S\sum_i\|z_i\|^4 + (\sum_i\|z_i\|^2)^2
    + 2\|\sum_i z_iz_i^\top\|_F^2`.

    Parameters
    ----------
    latent : ndarray of shape (n, p)
        Labelled rows.
    codes : ndarray of shape (n,)
        Their classes, from 0.
    weights : ndarray of shape (n,), optional
        Their weights, 1 by default; a row of weight 2 counts as two equal rows.

    Returns
    -------
    PairStatistics
        Means over unordered pairs.
    """
    weights = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
    n_similar, n_dissimilar = pair_totals(codes, weights)
    p = latent.shape[1]
    first, second = 0.0, 0.0
    similar = np.zeros((p, p))
    for code in np.unique(codes):
        members = codes == code
        weight = weights[members]
        size = weight.sum()
        rows = latent[members] - weight @ latent[members] / size
        norms = np.sum(rows * rows, axis=1)
        scatter = (rows * weight[:, None]).T @ rows
        first += size * (weight @ norms)
        second += size * (weight @ norms**2) + (weight @ norms) ** 2 + 2 * np.sum(scatter**2)
        similar += size * scatter
    centred = latent - weights @ latent / weights.sum()
    everything = weights.sum() * (centred * weights[:, None]).T @ centred
    nothing = np.full((p, p), np.nan)
    dissimilar = (everything - similar) / n_dissimilar if n_dissimilar else nothing
    if n_similar == 0:
        return PairStatistics(np.nan, np.nan, nothing, dissimilar)
    mean = first / n_similar
    variance = max(second / n_similar - mean**2, 0.0)
    return PairStatistics(float(mean), float(variance**0.5), similar / n_similar, dissimilar)
