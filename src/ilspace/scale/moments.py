"""First and second moments of the rows of a domain, dense or sparse."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy import sparse

from ilspace._typing import Array
from ilspace.backend import array_namespace, like

_MOST_ENTRIES, _MOST_SINGLE = 2**24, 2**21
"""Number of entries that are centred at a time; of those in single precision, which are converted
first."""


@dataclass(frozen=True)
class Moments:
    """Mean and covariance of rows.

    Attributes
    ----------
    mean : array of shape (d,)
        Mean of the rows.
    covariance : array of shape (d, d)
        Their covariance, with divisor n.
    weight : float
        Their total weight.
    n_rows : int
        Number of rows.
    """

    mean: Array
    covariance: Array
    weight: float
    n_rows: int

    def merged(self, other: Moments) -> Moments:
        r"""Moments of the rows of both.

        The means differ by :math:`\Delta`; with fractions a and b of the weight the covariance is
        :math:`a\Sigma_a + b\Sigma_b + ab\,\Delta\Delta^\top` :cite:p:`chan1983`.

        Parameters
        ----------
        other : Moments
            Of other rows with the same columns.

        Returns
        -------
        Moments
            The same as of all rows at once.
        """
        weight = self.weight + other.weight
        share = other.weight / weight
        offset = other.mean - self.mean
        between = share * (1 - share) * offset[:, None] * offset[None, :]
        covariance = (1 - share) * self.covariance + share * other.covariance + between
        return Moments(self.mean + share * offset, covariance, weight, self.n_rows + other.n_rows)


def row_moments(
    rows: Array, weights: np.ndarray | None = None, *, in_double: bool = False
) -> Moments:
    """Mean and covariance of some rows.

    Parameters
    ----------
    rows : array or sparse matrix of shape (n, d)
        At least one row.
    weights : ndarray of shape (n,), optional
        Their weights, 1 by default.
    in_double : bool, default=False
        Whether rows in single precision are converted to double, a slice at a time.

    Returns
    -------
    Moments
        To be merged with those of other rows.
    """
    n = rows.shape[0]
    mean = weighted_mean(rows, weights, in_double=in_double)
    covariance = gram_matrix(rows, mean, weights, wide=False)
    return Moments(mean, covariance, float(n if weights is None else np.sum(weights)), n)


def weighted_mean(
    rows: Array, weights: np.ndarray | None = None, *, in_double: bool = False
) -> Array:
    """Mean of the rows.

    Parameters
    ----------
    rows : array or sparse matrix of shape (n, d)
        The rows.
    weights : ndarray of shape (n,), optional
        Their weights, 1 by default.
    in_double : bool, default=False
        Whether rows in single precision are converted to double, a slice at a time.

    Returns
    -------
    array of shape (d,)
        The mean.
    """
    shares = weight_shares(rows.shape[0], weights)
    if sparse.issparse(rows):
        return np.asarray(rows.T @ shares)
    if in_double and is_single(rows):
        mean = reduce(add, (shares[each] @ double(rows[each]) for each in row_slices(rows)))
    else:
        shares = like(shares, rows)
        mean = shares @ rows
    # once more on the residuals: a large constant column then varies by rounding errors only
    rests = (shares[each] @ (rows[each, :] - mean) for each in row_slices(rows))
    return mean + reduce(add, rests)


def weight_shares(n: int, weights: np.ndarray | None) -> np.ndarray:
    """Weights of rows, normalised to the sum 1.

    Parameters
    ----------
    n : int
        Number of rows.
    weights : ndarray of shape (n,) or None
        Their weights; None where they are equal.

    Returns
    -------
    ndarray of shape (n,)
        The normalised weights.
    """
    return np.full(n, 1 / n) if weights is None else weights / np.sum(weights)


def gram_matrix(rows: Array, mean: Array, weights: np.ndarray | None, *, wide: bool) -> Array:
    r"""Inner products of the centred rows, or covariance of the columns.

    With :math:`\tilde X = D^{1/2}(X - \mathbf 1\mu^\top)` and D the normalised weights,
    :math:`\tilde X\tilde X^\top` if `wide`, else :math:`\tilde X^\top\tilde X`, the covariance
    with divisor n. Sparse rows stay sparse.

    Parameters
    ----------
    rows : array or sparse matrix of shape (n, d)
        The rows.
    mean : array of shape (d,)
        Their mean.
    weights : ndarray of shape (n,) or None
        Their weights.
    wide : bool
        Which of the two.

    Returns
    -------
    array of shape (n, n) or (d, d)
        Choose the smaller one.
    """
    shares = weight_shares(rows.shape[0], weights)
    if sparse.issparse(rows):
        scaled = sparse.diags_array(np.sqrt(shares)) @ rows
        if not wide:
            return (scaled.T @ scaled).toarray() - np.outer(mean, mean)
        root, shadow = np.sqrt(shares), scaled @ mean
        cross = np.outer(root, shadow)
        return (
            (scaled @ scaled.T).toarray() - cross - cross.T + np.outer(root, root) * (mean @ mean)
        )
    # in the type of the mean: rows in single precision are converted with it
    root = array_namespace(rows).sqrt(like(shares, mean))[:, None]
    if wide:
        scaled = root * (rows - mean)
        return scaled @ scaled.mT

    def product(each: slice) -> Array:
        scaled = rows[each, :] - mean
        scaled *= root[each, :]  # in place: allocation would cost more than the product
        return scaled.mT @ scaled

    return reduce(add, map(product, row_slices(rows)))


def is_single(rows: Array) -> bool:
    """Tell whether rows may be converted to double precision a slice at a time.

    Parameters
    ----------
    rows : array of shape (n, d)
        The rows.

    Returns
    -------
    bool
        True for NumPy arrays of fewer than 64 bits; other libraries keep their type.
    """
    return isinstance(rows, np.ndarray) and rows.dtype.itemsize < 8


def double(rows: np.ndarray) -> np.ndarray:
    """Convert rows to double precision.

    Parameters
    ----------
    rows : ndarray
        The rows.

    Returns
    -------
    ndarray
        Themselves where they are in double precision.
    """
    return rows.astype(np.float64, copy=False)


def map_rows(
    rows: Array, mapping: Array | None, mean: Array | None = None, dtype: Any = None
) -> Array:
    """Centre rows and multiply them with a matrix, a slice at a time where that saves memory.

    Parameters
    ----------
    rows : array of shape (n, d)
        The rows.
    mapping : array of shape (d, k) or None
        The matrix; None for the identity.
    mean : array of shape (d,), optional
        Subtracted from the rows.
    dtype : data type, optional
        Of the result, where rows in single precision are converted to double a slice at a time.

    Returns
    -------
    array of shape (n, k)
        An owned copy, unless nothing was to be done.
    """

    def mapped(each: Array) -> Array:
        each = each if mean is None else each - mean
        return each if mapping is None else each @ mapping

    if dtype is None or not is_single(rows):
        return mapped(rows)
    width = rows.shape[1] if mapping is None else mapping.shape[1]
    found = np.empty((rows.shape[0], width), dtype=dtype)
    for each in row_slices(rows):
        found[each] = mapped(double(rows[each]))
    return found


def row_slices(rows: Array) -> list[slice]:
    """Slices of rows, so that no centred copy of all of them is made.

    Parameters
    ----------
    rows : array or sparse matrix of shape (n, d)
        The rows.

    Returns
    -------
    list of slice
        One at least.
    """
    n, d = rows.shape
    height = max(1, (_MOST_SINGLE if is_single(rows) else _MOST_ENTRIES) // max(1, d))
    return [slice(top, min(top + height, n)) for top in range(0, max(n, 1), height)]
