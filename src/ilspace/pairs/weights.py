"""What each pair weighs: similar and dissimilar ones in balance."""

from __future__ import annotations

from typing import Any

import numpy as np

from ilspace._typing import Array
from ilspace.backend import array_namespace, identity


def pair_totals(codes: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Total weight of the similar and of the dissimilar unordered pairs.

    A pair of two rows weighs the product of their weights. A row of weight w > 1 stands for w
    rows, hence for w (w - 1) / 2 pairs of equal rows too.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each row, from 0.
    weights : ndarray of shape (n,)
        Weight of each row.

    Returns
    -------
    similar, dissimilar : float
        The totals.
    """
    by_class = np.bincount(codes, weights)
    # sums of products, none of them negative: differences of squares would lose rare classes
    others = by_class[codes] - weights
    similar = np.sum(weights * (others + np.maximum(weights - 1, 0))) / 2
    dissimilar = np.sum(by_class[1:] * np.cumsum(by_class)[:-1])
    return float(similar), float(dissimilar)


def pair_shares(codes: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Weight of a similar and of a dissimilar pair, where each kind together weighs one half.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each row, from 0; or each class once.
    weights : ndarray of shape (n,)
        Weight of each row; or the number of rows of each class, which makes as many pairs.

    Returns
    -------
    similar, dissimilar : float
        The weights; where one kind is missing the other takes the whole weight.
    """
    similar, dissimilar = pair_totals(codes, weights)
    share = 1 / max(1, (similar > 0) + (dissimilar > 0))
    return (
        share / similar if similar > 0 else 0.0,
        share / dissimilar if dissimilar > 0 else 0.0,
    )


def pair_pulls(
    codes: Array,
    others: Array,
    shares: tuple[float, float],
    *,
    dtype: Any,
    row_weights: tuple[Array, Array] | None = None,
    diagonal: Array | None = None,
) -> Array:
    r"""Half the weight of each pair of some rows with others, with the sign of its kind.

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
        Weights of what would be pairs of a row with itself, where the rows on either side are the
        same.

    Returns
    -------
    array of shape (n, m)
        :math:`y_{ij}w_{ij}/2`: positive for similar pairs, negative for dissimilar ones.
    """
    xp = array_namespace(codes)
    similar = xp.astype(codes[:, None] == others[None, :], dtype)
    # one share or the other, to the last bit: either may be tiny beside the other
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
