"""First and second moments of the rows of a domain, dense or sparse."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
from scipy import sparse

from ilspace._typing import Array
from ilspace.backend import array_namespace, like

_MOST_ENTRIES = 2**24
"""Entries of the rows that are centred at a time."""


def weighted_mean(rows: Array, weights: np.ndarray | None = None) -> Array:
    """Mean of the rows.

    Parameters
    ----------
    rows : array or sparse matrix of shape (n, d)
        The rows.
    weights : ndarray of shape (n,), optional
        Their weights, 1 by default.

    Returns
    -------
    array of shape (d,)
        The mean.
    """
    n = rows.shape[0]
    shares = np.full(n, 1 / n) if weights is None else weights / np.sum(weights)
    if sparse.issparse(rows):
        return np.asarray(rows.T @ shares)
    shares = like(shares, rows)
    mean = shares @ rows
    # once more on what is left: a large constant column then has no spread but rounding's own
    rests = (shares[part] @ (rows[part, :] - mean) for part in _parts(rows))
    return mean + reduce(add, rests)


def gram_matrix(rows: Array, mean: Array, weights: np.ndarray | None, *, wide: bool) -> Array:
    r"""Inner products of the centred rows, or covariance of the columns.

    With :math:`\tilde X = D^{1/2}(X - \mathbf 1\mu^\top)` and D the rows' shares of the weight,
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
        The smaller one is the one to ask for.
    """
    n = rows.shape[0]
    shares = np.full(n, 1 / n) if weights is None else weights / np.sum(weights)
    if sparse.issparse(rows):
        scaled = sparse.diags_array(np.sqrt(shares)) @ rows
        if not wide:
            return (scaled.T @ scaled).toarray() - np.outer(mean, mean)
        root, shadow = np.sqrt(shares), scaled @ mean
        cross = np.outer(root, shadow)
        return (
            (scaled @ scaled.T).toarray() - cross - cross.T + np.outer(root, root) * (mean @ mean)
        )
    root = array_namespace(rows).sqrt(like(shares, rows))[:, None]
    if wide:
        scaled = root * (rows - mean)
        return scaled @ scaled.mT

    def product(part: slice) -> Array:
        scaled = rows[part, :] - mean
        scaled *= root[part, :]  # in place: fresh memory costs more than the product with it
        return scaled.mT @ scaled

    return reduce(add, map(product, _parts(rows)))


def _parts(rows: Array) -> list[slice]:
    """Parts of rows: a centred copy of all of them would cost more memory than all else."""
    n, d = rows.shape
    height = max(1, _MOST_ENTRIES // max(1, d))
    return [slice(top, min(top + height, n)) for top in range(0, max(n, 1), height)]
