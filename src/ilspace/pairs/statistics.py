"""Weights and distance statistics of all pairs, from sums per class."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from ilspace._typing import Array
from ilspace.backend import array_namespace, identity


def pair_totals(
    codes: np.ndarray, weights: np.ndarray, counts: np.ndarray | None = None
) -> tuple[float, float]:
    """Total weight of the similar and of the dissimilar unordered pairs.

    A pair of two rows weighs the product of their weights. A row of weight w > 1 stands for w
    rows, hence for w (w - 1) / 2 pairs of equal rows too.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each row, from 0.
    weights : ndarray of shape (n,)
        Weight of each row.
    counts : ndarray of shape (n,), optional
        Number of rows, different ones, that each stands for; 1 by default.

    Returns
    -------
    similar, dissimilar : float
        The totals.
    """
    by_class = np.bincount(codes, weights if counts is None else counts * weights)
    # sums of products, none of them negative: differences of squares would lose rare classes
    others = by_class[codes] - weights
    of_rows = weights * (others + np.maximum(weights - 1, 0))
    similar = np.sum(of_rows if counts is None else counts * of_rows) / 2
    dissimilar = np.sum(by_class[1:] * np.cumsum(by_class)[:-1])
    return float(similar), float(dissimilar)


def pair_shares(
    codes: np.ndarray, weights: np.ndarray, counts: np.ndarray | None = None
) -> tuple[float, float]:
    """Weight of a similar and of a dissimilar pair, where each kind has total weight one half.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each row, from 0; or each class once.
    weights : ndarray of shape (n,)
        Weight of each row; or the number of rows of each class, with the same result.
    counts : ndarray of shape (n,), optional
        Number of rows, different ones, that each stands for; 1 by default.

    Returns
    -------
    similar, dissimilar : float
        The weights; where one kind is missing the other has the whole weight.
    """
    similar, dissimilar = pair_totals(codes, weights, counts)
    share = 1 / max(1, (similar > 0) + (dissimilar > 0))
    return (share / similar if similar > 0 else 0.0, share / dissimilar if dissimilar > 0 else 0.0)


def pair_pulls(
    codes: Array,
    others: Array,
    shares: tuple[float, float],
    *,
    dtype: Any,
    row_weights: tuple[Array, Array] | None = None,
    diagonal: Array | None = None,
) -> Array:
    r"""Half the weight of each pair of some rows with others, negative if dissimilar.

    Parameters
    ----------
    codes, others : array of shape (n,) and (m,)
        Their classes.
    shares : tuple of float
        Weights of a similar and of a dissimilar pair of rows of weight 1.
    dtype : data type
        Floating type to work in.
    row_weights : tuple of array, shapes (n,) and (m,), optional
        Weights of the rows on either side, 1 by default.
    diagonal : array of shape (n, 1), optional
        Weights of the pairs of a row with itself, where the rows on either side are the same.

    Returns
    -------
    array of shape (n, m)
        :math:`y_{ij}w_{ij}/2`: positive for similar pairs, negative for dissimilar ones.
    """
    xp = array_namespace(codes)
    similar = xp.astype(codes[:, None] == others[None, :], dtype)
    # exactly one weight or the other: either may be tiny beside the other
    pulls = similar - 1
    pulls *= shares[1] / 2
    similar *= shares[0] / 2
    pulls += similar
    if row_weights is not None:
        pulls *= row_weights[0][:, None] * row_weights[1][None, :]
    if diagonal is None:
        return pulls
    itself = identity(pulls.shape[0], pulls)
    return pulls * (1 - itself) + diagonal / 2 * itself


class PairStatistics(NamedTuple):
    """Distance statistics of all pairs of labelled rows, under the Euclidean metric.

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


class ClassScatter(NamedTuple):
    """Within-class scatter of the rows; additive over sets of rows.

    Attributes
    ----------
    squares, fourths : ndarray of shape (n_classes,)
        Weighted sums of the squared norms of the rows, centred in their class, and of the squares
        of these.
    scatters : ndarray of shape (n_classes, p, p)
        Weighted sums of their outer products.
    """

    squares: np.ndarray
    fourths: np.ndarray
    scatters: np.ndarray


def class_scatter(
    latent: np.ndarray, codes: np.ndarray, *, means: np.ndarray, weights: np.ndarray | None = None
) -> ClassScatter:
    """Within-class scatter of some rows.

    Parameters
    ----------
    latent : ndarray of shape (n, p)
        Labelled rows.
    codes : ndarray of shape (n,)
        Their classes, from 0.
    means : ndarray of shape (n_classes, p)
        Means of the classes over all rows, not only these.
    weights : ndarray of shape (n,), optional
        Weights of the rows, 1 by default.

    Returns
    -------
    ClassScatter
        Of these rows alone.
    """
    n_classes, p = means.shape
    squares, fourths = np.zeros(n_classes), np.zeros(n_classes)
    scatters = np.zeros((n_classes, p, p))
    weights = np.ones(len(codes)) if weights is None else weights
    for code in np.unique(codes):
        members = codes == code
        weight = weights[members]
        rows = latent[members] - means[code]
        norms = np.sum(rows * rows, axis=1)
        squares[code], fourths[code] = weight @ norms, weight @ norms**2
        scatters[code] = (rows * weight[:, None]).T @ rows
    return ClassScatter(squares, fourths, scatters)


def scatter_statistics(
    spread: ClassScatter, means: np.ndarray, *, masses: np.ndarray, totals: tuple[float, float]
) -> PairStatistics:
    r"""Statistics of all pairs from sums over the classes.

    For rows z of one class, centred there, with weights summing to S,
    :math:`\sum_{i<j} d_{ij} = S\sum_i\|z_i\|^2` and
    :math:`\sum_{i<j} d_{ij}^2 = S\sum_i\|z_i\|^4 + (\sum_i\|z_i\|^2)^2
    + 2\|\sum_i z_iz_i^\top\|_F^2`.

    Parameters
    ----------
    spread : ClassScatter
        Of all rows.
    means : ndarray of shape (n_classes, p)
        Means of the classes; ignored where a class has no rows.
    masses : ndarray of shape (n_classes,)
        Total weight of the rows of each class.
    totals : tuple of float
        Total weights of the similar and of the dissimilar pairs.

    Returns
    -------
    PairStatistics
        Means over unordered pairs.
    """
    squares, fourths, scatters = spread
    n_similar, n_dissimilar = totals
    p = means.shape[1]
    similar = np.tensordot(masses, scatters, axes=1)
    offsets = means - masses @ means / masses.sum()
    between = (masses[:, None] * offsets).T @ offsets
    everything = masses.sum() * (np.sum(scatters, axis=0) + between)
    nothing = np.full((p, p), np.nan)
    dissimilar = (everything - similar) / n_dissimilar if n_dissimilar else nothing
    if n_similar == 0:
        return PairStatistics(np.nan, np.nan, nothing, dissimilar)
    mean = masses @ squares / n_similar
    second = masses @ fourths + np.sum(squares**2) + 2 * np.sum(scatters**2)
    variance = max(second / n_similar - mean**2, 0.0)
    return PairStatistics(float(mean), float(variance**0.5), similar / n_similar, dissimilar)


def pair_statistics(
    latent: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None
) -> PairStatistics:
    """Statistics of all similar and dissimilar pairs, in O(n p²).

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
    masses = np.bincount(codes, weights)
    means = np.zeros((len(masses), latent.shape[1]))
    for code in np.unique(codes):
        members = codes == code
        means[code] = weights[members] @ latent[members] / masses[code]
    spread = class_scatter(latent, codes, means=means, weights=weights)
    totals = pair_totals(codes, weights)
    return scatter_statistics(spread, means, masses=masses, totals=totals)


def sliced_statistics(
    slices: Callable[[], Iterable[tuple[slice, np.ndarray]]],
    codes: np.ndarray,
    weights: np.ndarray | None = None,
) -> PairStatistics:
    """Do the same as :func:`pair_statistics` without all rows at once.

    Parameters
    ----------
    slices : callable
        Returns some rows after the other, and where they are; called twice.
    codes : ndarray of shape (n,)
        Classes of all rows, from 0.
    weights : ndarray of shape (n,), optional
        Their weights, 1 by default.

    Returns
    -------
    PairStatistics
        Means over unordered pairs.
    """
    weights = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
    masses = np.bincount(codes, weights)

    def class_sums(where: slice, latent: np.ndarray) -> np.ndarray:
        sums = np.zeros((len(masses), latent.shape[1]))
        for code in np.unique(codes[where]):
            members = codes[where] == code
            sums[code] = weights[where][members] @ latent[members]
        return sums

    sums = reduce(np.add, (class_sums(*each) for each in slices()))
    means = sums / np.where(masses > 0, masses, 1.0)[:, None]
    spreads = (
        class_scatter(latent, codes[where], means=means, weights=weights[where])
        for where, latent in slices()
    )
    spread = ClassScatter(*(reduce(np.add, parts) for parts in zip(*spreads, strict=True)))
    totals = pair_totals(codes, weights)
    return scatter_statistics(spread, means, masses=masses, totals=totals)
