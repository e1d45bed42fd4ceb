"""All pairs of labelled rows, in tiles, so that the matrix of distances is never stored."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

from ilspace._typing import Array, Hinge, PairSum
from ilspace.backend import array_namespace, dot, identity, like, one_thread

_MOST_ROWS_KEPT = 1024
"""Up to so many rows the signs and weights of all tiles are kept, in 24 MiB at most."""


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
    twins = np.sum(np.maximum(weights * (weights - 1), 0))
    similar = (np.sum(by_class**2) - np.sum(weights**2) + twins) / 2
    dissimilar = (np.sum(by_class) ** 2 - np.sum(by_class**2)) / 2
    return float(similar), float(dissimilar)


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
        Rows and columns of a tile; a few of them should fit into a core's cache.
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
        similar, dissimilar = pair_totals(codes, host)
        # where one kind is missing the other takes the whole weight
        shares = 1 / max(1, (similar > 0) + (dissimilar > 0))
        self._similar = shares / similar if similar > 0 else 0.0
        self._dissimilar = shares / dissimilar if dissimilar > 0 else 0.0
        self._codes = like(codes, reference)
        self._weights = None if weights is None else like(host, reference)
        self._twins = None if weights is None else like(np.maximum(host * (host - 1), 0), reference)
        self._dtype = reference.dtype
        n = len(codes)
        bounds = [(start, min(start + tile, n)) for start in range(0, n, tile)]
        self._bounds = bounds
        self._blocks = [(i, j) for i in range(len(bounds)) for j in range(i, len(bounds))]
        # signs and weights do not change: where they are few, compute them once
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
        stretched = latent @ metric
        norms = xp.sum(stretched * latent, axis=1, keepdims=True)
        ones = xp.ones_like(norms)
        # one product gives d - 1 = |z_i|² + |z_j|² - 1 - 2 z_i·z_j in the metric
        left = xp.concat([-2 * stretched, norms - 1, ones], axis=1)
        right = xp.concat([latent, ones, norms], axis=1)

        total = xp.sum(norms[:0, 0])
        # the products with the rows, and with ones: C Z and the degrees C 1
        p = latent.shape[1]
        products = [right[start:stop, : p + 1] * 0 for start, stop in self._bounds]
        for position, (i, j) in enumerate(self._blocks):
            rows, columns = slice(*self._bounds[i]), slice(*self._bounds[j])
            signs, weights, forces = self._kept[position] if self._kept else self._tile(i, j)
            losses, slopes = hinge(signs * (left[rows, :] @ right[columns, :].mT))
            slopes = forces * slopes
            part = dot(losses, weights)
            products[i] = products[i] + slopes @ right[columns, : p + 1]
            if i == j:  # both halves are there, and each unordered pair twice
                total = total + part / 2
            else:
                total = total + part
                products[j] = products[j] + slopes.mT @ right[rows, : p + 1]
        product = xp.concat(products, axis=0)
        laplacian = product[:, p:] * latent - product[:, :p]
        return PairSum(total, 2 * laplacian @ metric, latent.mT @ laplacian)

    def _tile(self, i: int, j: int) -> tuple[Array, Array, Array]:
        """Signs, weights and their products for the pairs of one block of rows with another."""
        xp = array_namespace(self._codes)
        rows, columns = slice(*self._bounds[i]), slice(*self._bounds[j])
        same = self._codes[rows][:, None] == self._codes[columns][None, :]
        similar = xp.astype(same, self._dtype)
        weights = self._similar * similar + self._dissimilar * (1 - similar)
        if self._weights is not None:
            weights = weights * self._weights[rows][:, None] * self._weights[columns][None, :]
        if i == j:
            # a row makes no pair with itself, but with the twins that its weight stands for
            diagonal = identity(similar.shape[0], similar)
            twins = 0.0 if self._twins is None else self._twins[rows][:, None]
            weights = weights * (1 - diagonal) + diagonal * twins * self._similar
        signs = 2 * similar - 1
        return signs, weights, signs * weights
