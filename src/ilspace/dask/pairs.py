"""Sums over all pairs of labelled rows that stay on the workers, as tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ilspace._typing import Hinge, PairLoss
from ilspace.dask.partitions import Partition, coordinates
from ilspace.dask.rows import add_up, tree
from ilspace.pairs import PairStatistics
from ilspace.pairs.statistics import (
    ClassScatter,
    class_scatter,
    pair_pulls,
    pair_shares,
    pair_totals,
    scatter_statistics,
)
from ilspace.pairs.tiles import TileSum, excess_factors, laplacian_gradients, sum_tiles, tile_bounds
from ilspace.scale import RowSpace

_TILE = 64
"""Rows and columns of a tile. Dask's workers return freed memory of 64 KiB and more to the system,
so larger tiles, though faster elsewhere, would be allocated anew each time: with 128 the sum takes
more than twice as long."""

_NO_PAIR = np.zeros((1, 1))
"""Weight of the pair of a row with itself."""


@dataclass(frozen=True)
class DaskRows:
    """Labelled rows of all domains, on the workers, in the coordinates of the optimization.

    Attributes
    ----------
    partitions : tuple of list of Delayed
        For each domain its :class:`~ilspace.dask.partitions.Partition` objects.
    class_means : tuple of ndarray of shape (n_classes, k)
        Means of the labelled rows of each class in each domain; 0 for a class without rows.
    class_counts : tuple of ndarray of shape (n_classes,)
        Numbers of these rows.
    scales : tuple of float
        Factor of the coordinates of each domain.
    class_weights : tuple of ndarray of shape (n_classes,), or None
        Weight of the rows of each class in each domain; None where all weigh 1.
    """

    partitions: tuple[list[Any], ...]
    class_means: tuple[np.ndarray, ...]
    class_counts: tuple[np.ndarray, ...]
    scales: tuple[float, ...]
    class_weights: tuple[np.ndarray, ...] | None = None

    @classmethod
    def placed(cls, domains: Sequence[Any], spaces: Sequence[RowSpace]) -> DaskRows:
        """Express labelled rows in coordinates and keep them on the workers.

        Parameters
        ----------
        domains : sequence of DaskDomain
            The domains.
        spaces : sequence of RowSpace
            Their coordinates.

        Returns
        -------
        DaskRows
            Persisted on the workers for the lifetime of this object.
        """
        from dask.base import persist
        from dask.delayed import delayed

        place, placed, means = delayed(coordinates), [], []
        for domain, space in zip(domains, spaces, strict=True):
            mean, basis = (delayed(each, traverse=False) for each in (space.mean, space.basis))
            tasks = (place(each, mean, basis=basis) for each in domain.partitions)
            placed.append(list(persist(*tasks)))
            means.append(space.restrict(domain.centred_means.T).T)
        counts, weights = tuple(domain.counts for domain in domains), None
        if any(domain.class_weights is not None for domain in domains):
            weights = tuple(domain.weights_of(np.arange(len(domain.counts))) for domain in domains)
        return cls(tuple(placed), tuple(means), counts, (1.0,) * len(placed), weights)

    @property
    def n_rows(self) -> int:
        """Number of labelled rows of all domains."""
        return int(np.sum(self.class_counts))

    @property
    def class_masses(self) -> tuple[np.ndarray, ...]:
        """Total weight of the rows of each class in each domain."""
        if self.class_weights is None:
            return self.class_counts
        pairs = zip(self.class_counts, self.class_weights, strict=True)
        return tuple(counts * weights for counts, weights in pairs)

    @property
    def weighed_rows(self) -> tuple[np.ndarray, ...]:
        """Classes, weights and numbers of all rows, for totals of their pairs."""
        if self.class_weights is None:
            masses = np.sum(self.class_counts, axis=0).astype(np.float64)
            return np.arange(len(masses)), masses
        codes = np.tile(np.arange(len(self.class_counts[0])), len(self.class_counts))
        return codes, np.concatenate(self.class_weights), np.concatenate(self.class_counts)

    def scaled(self, scales: Sequence[float]) -> DaskRows:
        """Multiply the rows of each domain.

        Parameters
        ----------
        scales : sequence of float
            One factor per domain.

        Returns
        -------
        DaskRows
            The same partitions; projections are multiplied instead.
        """
        both = zip(self.scales, scales, strict=True)
        return replace(self, scales=tuple(old * new for old, new in both))

    def statistics(self, maps: Sequence[np.ndarray]) -> PairStatistics:
        """Statistics of all pairs of the mapped rows.

        Parameters
        ----------
        maps : sequence of ndarray of shape (k, p)
            One per domain.

        Returns
        -------
        PairStatistics
            Over the rows of all domains together.
        """
        from dask.base import compute
        from dask.delayed import delayed

        masses = np.sum(self.class_masses, axis=0).astype(np.float64)
        sums = [
            each[:, None] * (mean @ mapping)
            for each, mean, mapping in zip(self.class_masses, self.class_means, maps, strict=True)
        ]
        means = np.sum(sums, axis=0) / np.where(masses > 0, masses, 1)[:, None]
        scatter, means_there = delayed(scatter_of_partition), delayed(means, traverse=False)
        tasks = []
        own = self.class_weights or (None,) * len(self.partitions)
        for domain, mapping, weights in zip(self.partitions, maps, own, strict=True):
            there = delayed(mapping, traverse=False)
            given = {"means": means_there, "class_weights": weights}
            tasks.extend(scatter(each, there, **given) for each in domain)
        (spread,) = compute(tree(tasks, add_up))
        totals = pair_totals(*self.weighed_rows)
        return scatter_statistics(ClassScatter(*spread), means, masses=masses, totals=totals)

    def all_pairs(self, hinge: Hinge, *, n_components: int) -> DaskPairs:
        """Compare every row with every other; similar and dissimilar pairs are balanced.

        Parameters
        ----------
        hinge : Hinge
            Loss of a margin violation.
        n_components : int
            Ignored.

        Returns
        -------
        DaskPairs
            A term of an objective.
        """
        return DaskPairs(self, hinge)


@dataclass(frozen=True)
class DaskPairs:
    """A loss summed over all pairs of labelled rows that stay on the workers.

    Attributes
    ----------
    rows : DaskRows
        The rows.
    hinge : Hinge
        Loss of a margin violation.
    """

    rows: DaskRows
    hinge: Hinge

    def __call__(
        self, projections: Sequence[np.ndarray], metric: np.ndarray, log_slack: None = None
    ) -> PairLoss:
        """Sum the loss over all pairs: a map over pairs of partitions, and a tree reduction.

        Parameters
        ----------
        projections : sequence of ndarray of shape (k, p)
            One per domain.
        metric : ndarray of shape (p, p)
            The metric.
        log_slack : None
            All pairs have no slacks.

        Returns
        -------
        PairLoss
            The sum and its gradients.
        """
        from dask.base import compute
        from dask.delayed import delayed

        project, compare = delayed(project_partition), delayed(compare_partitions)
        pull, scales = delayed(pull_back), self.rows.scales
        shares = pair_shares(*self.rows.weighed_rows)
        own = self.rows.class_weights or (None,) * len(projections)
        metric_there = delayed(metric, traverse=False)
        partitions, latent, owners = [], [], []
        for owner, domain in enumerate(self.rows.partitions):
            there = delayed(scales[owner] * projections[owner], traverse=False)
            partitions.extend(domain)
            given = {"metric": metric_there, "class_weights": own[owner]}
            latent.extend(project(each, there, **given) for each in domain)
            owners.extend([owner] * len(domain))
        n, hinge = len(latent), self.hinge
        sums = {
            (i, j): compare(latent[i], None if i == j else latent[j], hinge=hinge, shares=shares)
            for i in range(n)
            for j in range(i, n)
        }
        tasks: list[list[Any]] = [[] for _ in projections]
        for i, owner in enumerate(owners):
            below = [sums[i, j] for j in range(i, n)]
            above = [sums[j, i] for j in range(i)]
            tasks[owner].append(
                pull(partitions[i], latent[i], below=below, above=above, metric=metric_there)
            )
        with_rows = [owner for owner, each in enumerate(tasks) if each]
        totals = compute(*(tree(tasks[owner], add_up) for owner in with_rows))
        value, metric_gradient = 0.0, np.zeros_like(metric)
        gradients = [np.zeros_like(each) for each in projections]
        for owner, (loss, gradient, slope) in zip(with_rows, totals, strict=True):
            value, metric_gradient = value + loss, metric_gradient + slope
            gradients[owner] = scales[owner] * gradient
        return PairLoss(value, gradients, metric_gradient)


# -- tasks, named for Dask's dashboard -----------------------------------------------------------


class LatentPartition(NamedTuple):
    """Labelled rows in the latent space, ready to be compared.

    Attributes
    ----------
    latent : ndarray of shape (n, p)
        The rows Z.
    stretched : ndarray of shape (n, p)
        ZM, with M the metric.
    codes : ndarray of shape (n,)
        Their classes.
    weights : ndarray of shape (n,) or None
        Their weights; None where all weigh 1.
    """

    latent: np.ndarray
    stretched: np.ndarray
    codes: np.ndarray
    weights: np.ndarray | None = None


def scatter_of_partition(
    partition: Partition,
    mapping: np.ndarray,
    *,
    means: np.ndarray,
    class_weights: np.ndarray | None = None,
) -> ClassScatter:
    """Spread of the classes in a partition, in the latent space.

    Parameters
    ----------
    partition : Partition
        Coordinates of labelled rows.
    mapping : ndarray of shape (k, p)
        Map of the coordinates.
    means : ndarray of shape (n_classes, p)
        Means of the classes in the latent space.
    class_weights : ndarray of shape (n_classes,), optional
        Weights of the rows of each class; None where all weigh 1.

    Returns
    -------
    ClassScatter
        Of these rows.
    """
    weights = None if class_weights is None else class_weights[partition.codes]
    return class_scatter(partition.rows @ mapping, partition.codes, means=means, weights=weights)


def project_partition(
    partition: Partition,
    projection: np.ndarray,
    *,
    metric: np.ndarray,
    class_weights: np.ndarray | None = None,
) -> LatentPartition:
    """Send the coordinates of a partition to the latent space.

    Parameters
    ----------
    partition : Partition
        Coordinates of labelled rows.
    projection : ndarray of shape (k, p)
        The projection, with the scale of the domain.
    metric : ndarray of shape (p, p)
        The metric.
    class_weights : ndarray of shape (n_classes,), optional
        Weights of the rows of each class; None where all weigh 1.

    Returns
    -------
    LatentPartition
        Ready to be compared.
    """
    latent = partition.rows @ projection
    weights = None if class_weights is None else class_weights[partition.codes]
    return LatentPartition(latent, latent @ metric, partition.codes, weights)


def compare_partitions(
    rows: LatentPartition,
    columns: LatentPartition | None,
    *,
    hinge: Hinge,
    shares: tuple[float, float],
) -> TileSum:
    """Sum the hinge over the pairs of one partition with another, in tiles.

    Parameters
    ----------
    rows : LatentPartition
        One partition.
    columns : LatentPartition or None
        The other; None for the unordered pairs of `rows` among themselves.
    hinge : Hinge
        Loss of a margin violation.
    shares : tuple of float
        Weights of a similar and of a dissimilar pair.

    Returns
    -------
    TileSum
        Of these pairs alone.
    """
    alone, others = columns is None, rows if columns is None else columns
    left, own = excess_factors(rows.latent, rows.stretched)
    right = None if alone else excess_factors(others.latent, others.stretched)[1]
    bounds = tile_bounds(len(rows.codes), _TILE)
    other_bounds = bounds if alone else tile_bounds(len(others.codes), _TILE)
    weights, other_weights, copies = rows.weights, others.weights, None
    if weights is not None:  # a row makes pairs with the copies that its weight stands for
        copies = (shares[0] * np.maximum(weights * (weights - 1), 0))[:, None]

    def weighed(here: slice, there: slice) -> dict[str, Any]:
        itself = alone and here == there
        if weights is None or other_weights is None or copies is None:
            return {"diagonal": _NO_PAIR if itself else None}
        pair = weights[here], other_weights[there]
        return {"row_weights": pair, "diagonal": copies[here] if itself else None}

    tiles = (
        (
            here,
            there,
            pair_pulls(
                rows.codes[here],
                others.codes[there],
                shares,
                dtype=left.dtype,
                **weighed(here, there),
            ),
        )
        for i, here in enumerate(bounds)
        for there in (other_bounds[i:] if alone else other_bounds)
    )
    return sum_tiles(hinge, (left, own), right, tiles)


def pull_back(
    partition: Partition,
    latent: LatentPartition,
    *,
    below: list[TileSum],
    above: list[TileSum],
    metric: np.ndarray,
) -> tuple[Any, ...]:
    """Gradients that the rows of one partition contribute.

    Parameters
    ----------
    partition : Partition
        Coordinates of the rows.
    latent : LatentPartition
        The same rows in the latent space.
    below, above : list of TileSum
        Sums in which the partition is the rows, and those in which it is the columns.
    metric : ndarray of shape (p, p)
        The metric.

    Returns
    -------
    tuple
        Value (of the sums `below`, so that each counts once), gradient in the projection,
        gradient in the metric.
    """
    value = sum(each.value for each in below)
    first, *others = [*(each.rows for each in below), *(each.columns for each in above)]
    product = sum(others, first)
    latent_gradient, metric_gradient = laplacian_gradients(product, latent.latent, metric)
    return value, partition.rows.T @ latent_gradient, metric_gradient
