"""All pairs of labelled rows, in tiles, so that the matrix of distances is never stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ilspace._typing import Array, Hinge, PairSum
from ilspace.backend import array_namespace, like, one_thread
from ilspace.pairs.statistics import pair_pulls, pair_shares

MOST_ROWS_KEPT = 1024
"""Up to so many rows the weights of all tiles are cached, in 8 MiB at most."""


def excess_factors(latent: Array, stretched: Array) -> tuple[Array, Array]:
    r"""Two matrices whose product is the squared distances of rows minus the margin 1.

    .. math:: d_{ij} - 1 = \|z_i\|_M^2 + \|z_j\|_M^2 - 1 - 2 z_i^\top Mz_j

    Parameters
    ----------
    latent : array of shape (n, p)
        The rows Z.
    stretched : array of shape (n, p)
        ZM, with M the metric.

    Returns
    -------
    left, right : array of shape (n, p + 2)
        Factors; some rows of `left` with some of `right` give the pairs of these. The first p + 1
        columns of `right` are Z and ones.
    """
    xp = array_namespace(latent)
    norms = xp.vecdot(stretched, latent)[:, None]
    ones = xp.ones_like(norms)
    left = xp.concat([-2 * stretched, norms - 1, ones], axis=1)
    return left, xp.concat([latent, ones, norms], axis=1)


def laplacian_gradients(product: Array, latent: Array, metric: Array) -> tuple[Array, Array]:
    r"""Gradients of a sum over pairs, from the products of its slopes with the rows.

    With C the symmetric matrix of weighted slopes and :math:`L = \mathrm{diag}(C\mathbf 1) - C`.

    Parameters
    ----------
    product : array of shape (n, p + 1)
        :math:`C [Z, \mathbf 1]`.
    latent : array of shape (n, p)
        The rows Z.
    metric : array of shape (p, p)
        M.

    Returns
    -------
    latent_gradient : array of shape (n, p)
        :math:`2LZM`.
    metric_gradient : array of shape (p, p)
        :math:`Z^\top LZ`.
    """
    p = latent.shape[1]
    laplacian = product[:, p:] * latent - product[:, :p]
    return laplacian @ (2 * metric), latent.mT @ laplacian


class TileSum(NamedTuple):
    r"""A sum over pairs of rows with columns, and the products that give its gradients.

    With C the matrix of weighted slopes of these pairs, rows by columns.

    Attributes
    ----------
    value : array of shape ()
        The sum.
    rows : array of shape (n, p + 1)
        :math:`C [Z_{columns}, \mathbf 1]`: the products of the slopes with the other rows, and
        their degrees.
    columns : array of shape (m, p + 1)
        :math:`C^\top [Z_{rows}, \mathbf 1]`; the same array as `rows` where rows are compared
        among themselves, for then C is symmetric.
    """

    value: Array
    rows: Array
    columns: Array


Tile = tuple[slice, slice, Array]
"""Some rows, some columns, and the signed weights of their pairs."""


def sum_tiles(
    hinge: Hinge, rows: tuple[Array, Array], columns: Array | None, tiles: Iterable[Tile]
) -> TileSum:
    """Sum a hinge over pairs, tile by tile: the kernel of every sum over all pairs.

    Parameters
    ----------
    hinge : Hinge
        Loss of a margin violation.
    rows : tuple of array of shape (n, p + 2)
        Both :func:`excess_factors` of the rows.
    columns : array of shape (m, p + 2) or None
        The right factor of the columns; None for the unordered pairs of the rows among
        themselves. Then the tiles cover the upper triangle, and a tile on the diagonal, which
        compares some rows with themselves, has each pair twice.
    tiles : iterable of Tile
        Which pairs, and their weights.

    Returns
    -------
    TileSum
        Over the pairs of all tiles.
    """
    left, own = rows
    right = own if columns is None else columns
    xp = array_namespace(left)
    width = left.shape[1] - 1
    total = xp.sum(own[:0, 0])
    of_rows = xp.zeros_like(own[:, :width])
    of_columns = of_rows if columns is None else xp.zeros_like(right[:, :width])
    for here, there, pulls in tiles:
        value, slopes = hinge.weighted_sum(left[here, :] @ right[there, :].mT, pulls)
        of_rows[here, :] += slopes @ right[there, :width]
        if columns is None and here == there:  # both halves, and each unordered pair twice
            total = total + value / 2
        else:
            total = total + value
            of_columns[there, :] += slopes.mT @ own[here, :width]
    return TileSum(total, of_rows, of_columns)


def refuse_slack(slack: Array | None) -> None:
    """Refuse slacks of all pairs.

    Parameters
    ----------
    slack : array or None
        Must be None.
    """
    if slack is not None:
        raise ValueError(
            "All pairs have no slacks, since one per pair would be stored for n² pairs; "
            "use sampled pairs with slacks."
        )


def tile_bounds(n: int, tile: int) -> list[slice]:
    """Cut rows into tiles of about equal size.

    Parameters
    ----------
    n : int
        Number of rows.
    tile : int
        Most rows per tile.

    Returns
    -------
    list of slice
        One per tile.
    """
    n_tiles = -(-n // tile)
    ends = [n * i // n_tiles for i in range(n_tiles + 1)] if n else [0]
    return [slice(*each) for each in pairwise(ends)]


class AllPairs:
    """Every pair of labelled rows, similar and dissimilar ones balanced.

    All similar pairs together weigh one half, all dissimilar ones the other half; nothing is
    sampled. A tile of distances is one matrix product, its gradient another, so a pair costs a
    fraction of what gathering its rows would; memory is that of one tile.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each labelled row, from 0.
    weights : ndarray of shape (n,), optional
        Weight of each row, 1 by default; a row of weight 2 counts as two equal rows.
    reference : array
        Library, device and floating type to work in.
    tile : int, default=128
        Most rows and columns of a tile; a few of them should fit into a core's cache.
    """

    def __init__(
        self,
        codes: np.ndarray,
        weights: np.ndarray | None = None,
        *,
        reference: Array,
        tile: int = 128,
    ) -> None:
        host = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
        self._shares = pair_shares(codes, host)
        self._codes = like(codes, reference)
        self._weights = None if weights is None else like(host, reference)
        # a row makes no pair with itself, but with the copies that its weight stands for
        copies = self._shares[0] * np.maximum(host * (host - 1), 0)
        self._copies = like(copies[:, None], reference)
        self._dtype = reference.dtype
        bounds = tile_bounds(len(codes), tile)
        self._bounds = [(i, j) for k, i in enumerate(bounds) for j in bounds[k:]]
        # weights are constant: where they are few, compute them once
        small = len(codes) <= MOST_ROWS_KEPT
        self._kept = list(self._tiles()) if small else None

    def sum(
        self, hinge: Hinge, latent: Array, metric: Array, slack: Array | None = None
    ) -> PairSum:
        r"""Sum the hinge over all pairs.

        With C the symmetric matrix of weighted slopes
        :math:`w_{ij}y_{ij}\sigma_{ij}` and :math:`L = \mathrm{diag}(C\mathbf 1) - C` its
        Laplacian, the gradients are :math:`2LZM` and :math:`Z^\top LZ`.

        Parameters
        ----------
        hinge : Hinge
            Loss of a margin violation.
        latent : array of shape (n, p)
            The labelled rows Z in the latent space.
        metric : array of shape (p, p)
            M.
        slack : None
            Slacks are for sampled pairs only.

        Returns
        -------
        PairSum
            The sum and its gradients.
        """
        refuse_slack(slack)
        # tiles are too small for several threads, which would wait for each other
        with one_thread() if isinstance(latent, np.ndarray) else nullcontext():
            return self._sum(hinge, latent, metric)

    def _sum(self, hinge: Hinge, latent: Array, metric: Array) -> PairSum:
        factors = excess_factors(latent, latent @ metric)
        found = sum_tiles(hinge, factors, None, self._kept or self._tiles())
        return PairSum(found.value, *laplacian_gradients(found.rows, latent, metric))

    def _tiles(self) -> Iterator[Tile]:
        """Tiles of the upper triangle, with the signed weights of their pairs."""
        weights = self._weights
        for rows, columns in self._bounds:
            pulls = pair_pulls(
                self._codes[rows],
                self._codes[columns],
                self._shares,
                dtype=self._dtype,
                row_weights=None if weights is None else (weights[rows], weights[columns]),
                diagonal=self._copies[rows, :] if rows == columns else None,
            )
            yield rows, columns, pulls
