"""All pairs of labelled rows that stay on the workers: what is summed over them, as tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ilspace._typing import Hinge
from ilspace.adapters.distant_pieces import Piece, coordinates
from ilspace.pairs import PairStatistics
from ilspace.pairs.rectangles import BlockOfRows, RectangleSum, rectangle_sum
from ilspace.pairs.scatter import class_scatter, scatter_statistics
from ilspace.pairs.tiles import laplacian_gradients
from ilspace.pairs.weights import pair_shares
from ilspace.scale import RowSpace
from ilspace.scale.dask_rows import add_up, tree


@dataclass(frozen=True)
class PlacedRows:
    """Labelled rows of all domains, on the workers, in the coordinates of the optimization.

    Attributes
    ----------
    pieces : tuple of list of Delayed
        For each domain some :class:`~ilspace.adapters.distant_pieces.Piece`.
    class_means : tuple of ndarray of shape (n_classes, k)
        Means of the labelled rows of each class in each domain; 0 for a class without rows.
    class_counts : tuple of ndarray of shape (n_classes,)
        How many rows these are.
    """

    pieces: tuple[list[Any], ...]
    class_means: tuple[np.ndarray, ...]
    class_counts: tuple[np.ndarray, ...]

    @classmethod
    def of(
        cls,
        pieces: tuple[list[Any], ...],
        spaces: tuple[RowSpace, ...],
        *,
        class_means: tuple[np.ndarray, ...],
        class_counts: tuple[np.ndarray, ...],
    ) -> PlacedRows:
        """Express labelled rows in coordinates and keep them where they are.

        Parameters
        ----------
        pieces : tuple of list of Delayed
            Rows of each domain in their own columns.
        spaces : tuple of RowSpace
            The coordinates.
        class_means : tuple of ndarray of shape (n_classes, d)
            Centred means of the classes.
        class_counts : tuple of ndarray of shape (n_classes,)
            Rows of each class.

        Returns
        -------
        PlacedRows
            Held by the workers as long as this is held here.
        """
        from dask.base import persist
        from dask.delayed import delayed

        place, placed = delayed(coordinates), []
        for domain, space in zip(pieces, spaces, strict=True):
            mean, basis = (delayed(each, traverse=False) for each in (space.mean, space.basis))
            placed.append(list(persist(*(place(each, mean, basis=basis) for each in domain))))
        means = tuple(
            space.restrict(each.T).T for space, each in zip(spaces, class_means, strict=True)
        )
        return cls(tuple(placed), means, class_counts)

    def statistics(self, maps: Sequence[np.ndarray]) -> PairStatistics:
        """Statistics of all pairs of labelled rows.

        Parameters
        ----------
        maps : sequence of ndarray of shape (k, p)
            For each domain, a map of coordinates to the latent space.

        Returns
        -------
        PairStatistics
            Over the rows of all domains together.
        """
        from dask.base import compute
        from dask.delayed import delayed

        counts = np.sum(self.class_counts, axis=0)
        sums = [
            each[:, None] * (mean @ mapping)
            for each, mean, mapping in zip(self.class_counts, self.class_means, maps, strict=True)
        ]
        means = np.sum(sums, axis=0) / np.maximum(counts, 1)[:, None]
        scatter, means_there = delayed(scatter_of_piece), delayed(means, traverse=False)
        parts = []
        for domain, mapping in zip(self.pieces, maps, strict=True):
            there = delayed(mapping, traverse=False)
            parts.extend(scatter(piece, there, means=means_there) for piece in domain)
        (spread,) = compute(tree(parts, add_up))
        return scatter_statistics(spread, means, counts=counts)


@dataclass(frozen=True)
class PairsOnWorkers:
    """All pairs of labelled rows that stay on the workers, similar and dissimilar in balance.

    Attributes
    ----------
    rows : PlacedRows
        The rows.
    scales : tuple of float
        What the coordinates of each domain are multiplied by.
    """

    rows: PlacedRows
    scales: tuple[float, ...]

    def sum_projected(
        self, hinge: Hinge, projections: tuple[np.ndarray, ...], *, metric: np.ndarray
    ) -> tuple[float, list[np.ndarray], np.ndarray]:
        """Sum the hinge over all pairs: a map over pairs of pieces, and a tree.

        Parameters
        ----------
        hinge : Hinge
            Loss of a margin violation.
        projections : tuple of ndarray of shape (k, p)
            One a domain.
        metric : ndarray of shape (p, p)
            The metric.

        Returns
        -------
        value : float
            The sum.
        gradients : list of ndarray of shape (k, p)
            Its gradients in the projections.
        metric_gradient : ndarray of shape (p, p)
            Its gradient in the metric.
        """
        from dask.base import compute
        from dask.delayed import delayed

        project, compare, pull = delayed(project_piece), delayed(rectangle_sum), delayed(pull_back)
        counts = np.sum(self.rows.class_counts, axis=0)
        shares = pair_shares(np.arange(len(counts)), counts.astype(np.float64))
        metric_there = delayed(metric, traverse=False)
        pieces, blocks, owners = [], [], []
        for owner, domain in enumerate(self.rows.pieces):
            there = delayed(self.scales[owner] * projections[owner], traverse=False)
            pieces.extend(domain)
            blocks.extend(project(piece, there, metric=metric_there) for piece in domain)
            owners.extend([owner] * len(domain))
        n = len(blocks)
        sums = {
            (i, j): compare(blocks[i], None if i == j else blocks[j], hinge=hinge, shares=shares)
            for i in range(n)
            for j in range(i, n)
        }
        parts: list[list[Any]] = [[] for _ in projections]
        for i, owner in enumerate(owners):
            below = [sums[i, j] for j in range(i, n)]
            above = [sums[j, i] for j in range(i)]
            parts[owner].append(
                pull(pieces[i], blocks[i], below=below, above=above, metric=metric_there)
            )
        with_rows = [owner for owner, each in enumerate(parts) if each]
        totals = compute(*(tree(parts[owner], add_up) for owner in with_rows))
        value, metric_gradient = 0.0, np.zeros_like(metric)
        gradients = [np.zeros_like(each) for each in projections]
        for owner, (part, gradient, slope) in zip(with_rows, totals, strict=True):
            value, metric_gradient = value + part, metric_gradient + slope
            gradients[owner] = self.scales[owner] * gradient
        return value, gradients, metric_gradient


# -- tasks, named for Dask's dashboard -----------------------------------------------------------


def scatter_of_piece(piece: Piece, mapping: np.ndarray, *, means: np.ndarray):
    """Spread of the classes in a piece, in the latent space.

    Parameters
    ----------
    piece : Piece
        Coordinates of labelled rows.
    mapping : ndarray of shape (k, p)
        Map of the coordinates.
    means : ndarray of shape (n_classes, p)
        Means of the classes in the latent space.

    Returns
    -------
    tuple of ndarray
        As :func:`~ilspace.pairs.scatter.class_scatter` has it.
    """
    return class_scatter(piece.rows @ mapping, piece.codes, means=means)


def project_piece(piece: Piece, projection: np.ndarray, *, metric: np.ndarray) -> BlockOfRows:
    """Send the coordinates of a piece to the latent space.

    Parameters
    ----------
    piece : Piece
        Coordinates of labelled rows.
    projection : ndarray of shape (k, p)
        The projection, with the scale of the domain.
    metric : ndarray of shape (p, p)
        The metric.

    Returns
    -------
    BlockOfRows
        Ready to be compared.
    """
    latent = piece.rows @ projection
    return BlockOfRows(latent, latent @ metric, piece.codes)


def pull_back(
    piece: Piece,
    block: BlockOfRows,
    *,
    below: list[RectangleSum],
    above: list[RectangleSum],
    metric: np.ndarray,
) -> tuple[Any, ...]:
    """Gradients that the rows of one piece contribute.

    Parameters
    ----------
    piece : Piece
        Coordinates of the rows.
    block : BlockOfRows
        The same rows in the latent space.
    below, above : list of RectangleSum
        Sums in which the piece is the rows, and those in which it is the columns.
    metric : ndarray of shape (p, p)
        The metric.

    Returns
    -------
    tuple
        Value (of the sums `below`, so that each counts once), gradient in the projection,
        gradient in the metric.
    """
    value = sum(each.value for each in below)
    product = sum((each.rows for each in below[1:]), below[0].rows)
    for each in above:
        product = product + each.columns
    latent_gradient, metric_gradient = laplacian_gradients(product, block.latent, metric)
    return value, piece.rows.T @ latent_gradient, metric_gradient
