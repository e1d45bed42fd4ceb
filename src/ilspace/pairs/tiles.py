"""All pairs of labelled rows, in tiles, so that the matrix of distances is never stored."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

from ilspace._typing import Array, Hinge, PairSum
from ilspace.backend import array_namespace, like, one_thread
from ilspace.pairs.weights import pair_pulls, pair_shares

_MOST_ROWS_KEPT = 1024
"""Up to so many rows the weights of all tiles are kept, in 8 MiB at most."""


def excess_factors(latent: Array, stretched: Array) -> tuple[Array, Array]:
    r"""Two matrices whose product is by how much the squared distances of rows exceed 1.

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


class AllPairs:
    """Every pair of labelled rows, similar and dissimilar ones in balance.

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
        # a row makes no pair with itself, but with the twins that its weight stands for
        twins = self._shares[0] * np.maximum(host * (host - 1), 0)
        self._twins = like(twins[:, None], reference)
        self._dtype = reference.dtype
        n = len(codes)
        n_tiles = -(-n // tile)
        ends = [n * i // n_tiles for i in range(n_tiles + 1)] if n else [0]
        self._bounds = [slice(*each) for each in zip(ends[:-1], ends[1:], strict=True)]
        self._blocks = [(i, j) for i in range(n_tiles) for j in range(i, n_tiles)]
        # weights do not change: where they are few, compute them once
        small = n <= _MOST_ROWS_KEPT
        self._kept = [self._tile(*block) for block in self._blocks] if small else None

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
            There is one slack a sampled pair; all pairs have none.

        Returns
        -------
        PairSum
            The sum and its gradients.
        """
        if slack is not None:
            raise ValueError(
                "All pairs have no slacks, since one a pair would be stored for n² pairs; "
                "use sampled pairs with slacks."
            )
        # a tile is too small for several threads: they would wait for each other
        with one_thread() if isinstance(latent, np.ndarray) else nullcontext():
            return self._sum(hinge, latent, metric)

    def _sum(self, hinge: Hinge, latent: Array, metric: Array) -> PairSum:
        xp = array_namespace(latent)
        p = latent.shape[1]
        left, right = excess_factors(latent, latent @ metric)
        with_ones = right[:, : p + 1]
        total = xp.sum(right[:0, 0])
        product = xp.zeros_like(with_ones)  # C Z and the degrees C 1
        for position, (i, j) in enumerate(self._blocks):
            rows, columns = self._bounds[i], self._bounds[j]
            pulls = self._kept[position] if self._kept else self._tile(i, j)
            part, slopes = hinge.weighted_sum(left[rows, :] @ right[columns, :].mT, pulls)
            product[rows, :] += slopes @ with_ones[columns, :]
            if i == j:  # both halves are there, and each unordered pair twice
                total = total + part / 2
            else:
                total = total + part
                product[columns, :] += slopes.mT @ with_ones[rows, :]
        return PairSum(total, *laplacian_gradients(product, latent, metric))

    def _tile(self, i: int, j: int) -> Array:
        """Signed weights of the pairs of one block of rows with another."""
        rows, columns = self._bounds[i], self._bounds[j]
        of_rows = self._weights
        return pair_pulls(
            self._codes[rows],
            self._codes[columns],
            self._shares,
            dtype=self._dtype,
            row_weights=None if of_rows is None else (of_rows[rows], of_rows[columns]),
            diagonal=self._twins[rows, :] if i == j else None,
        )
