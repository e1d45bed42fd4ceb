"""All pairs of the rows of one block with those of another: a piece of the sum over all pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ilspace._typing import Hinge
from ilspace.pairs.tiles import excess_factors
from ilspace.pairs.weights import pair_pulls

_TILE = 64
"""Rows and columns whose distances are held at once. Dask's workers give free memory back to the
system from 64 KiB on, and larger tiles, though faster elsewhere, would be fetched anew each time:
with 128 the sum takes more than twice as long there."""

_NO_PAIR = np.zeros((1, 1))
"""What a row weighs as its own partner."""


class BlockOfRows(NamedTuple):
    """Labelled rows in the latent space, ready to be compared.

    Attributes
    ----------
    latent : ndarray of shape (n, p)
        The rows Z.
    stretched : ndarray of shape (n, p)
        ZM, with M the metric.
    codes : ndarray of shape (n,)
        Their classes.
    """

    latent: np.ndarray
    stretched: np.ndarray
    codes: np.ndarray


class RectangleSum(NamedTuple):
    r"""A sum over the pairs of two blocks, and what its gradients are made of.

    With C the matrix of weighted slopes of these pairs, rows by columns.

    Attributes
    ----------
    value : float
        The sum.
    rows : ndarray of shape (n, p + 1)
        :math:`C [Z_{columns}, \mathbf 1]`: the products of the slopes with the other rows, and
        their degrees.
    columns : ndarray of shape (m, p + 1) or None
        :math:`C^\top [Z_{rows}, \mathbf 1]`; None where a block is compared with itself, for then
        C is symmetric.
    """

    value: float
    rows: np.ndarray
    columns: np.ndarray | None


def rectangle_sum(
    rows: BlockOfRows, columns: BlockOfRows | None, *, hinge: Hinge, shares: tuple[float, float]
) -> RectangleSum:
    """Sum the hinge over the pairs of one block with another, in tiles.

    Parameters
    ----------
    rows : BlockOfRows
        One block.
    columns : BlockOfRows or None
        The other; None for the unordered pairs of `rows` among themselves.
    hinge : Hinge
        Loss of a margin violation.
    shares : tuple of float
        Weights of a similar and of a dissimilar pair.

    Returns
    -------
    RectangleSum
        Of these pairs alone.
    """
    alone = columns is None
    other = rows if columns is None else columns
    left, upright = excess_factors(rows.latent, rows.stretched)
    right = upright if alone else excess_factors(other.latent, other.stretched)[1]
    width = rows.latent.shape[1] + 1
    value = 0.0
    of_rows = np.zeros((len(rows.codes), width))
    of_columns = of_rows if alone else np.zeros((len(other.codes), width))
    for top in range(0, len(rows.codes), _TILE):
        here = slice(top, top + _TILE)
        for first in range(top if alone else 0, len(other.codes), _TILE):
            there = slice(first, first + _TILE)
            on_diagonal = alone and first == top
            pulls = pair_pulls(
                rows.codes[here],
                other.codes[there],
                shares,
                dtype=left.dtype,
                diagonal=_NO_PAIR if on_diagonal else None,
            )
            part, slopes = hinge.weighted_sum(left[here] @ right[there].T, pulls)
            of_rows[here] += slopes @ right[there, :width]
            if on_diagonal:  # both halves are there, and each unordered pair twice
                value += float(part) / 2
            else:
                value += float(part)
                of_columns[there] += slopes.T @ upright[here, :width]
    return RectangleSum(value, of_rows, None if alone else of_columns)
