"""Moments of rows along directions, for rows that stay on the workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ilspace._typing import PowerMoments
from ilspace.dask.partitions import Partition
from ilspace.dask.rows import ROWS_AT_ONCE, add_up, tree
from ilspace.scale import RowSpace, power_moments


@dataclass(frozen=True)
class DaskProjectedRows:
    """All rows of all domains, on the workers.

    Labelled rows are held there, in partitions. Blocks of rows without labels are read anew by each
    call, as they are for the covariance, so that they need not fit into memory.

    Attributes
    ----------
    blocks : tuple of list
        For each domain its :class:`~ilspace.dask.partitions.Partition` objects, or its blocks of
        rows; Delayed.
    class_weights : tuple of ndarray of shape (n_classes,) or None
        Of each domain the weights of the rows of each class; None where all weigh 1.
    totals : tuple of float
        Total weight of the rows of each domain.
    spaces : tuple of RowSpace
        Coordinates of each domain.
    scales : tuple of float
        Factor of the coordinates of each domain.
    """

    blocks: tuple[list[Any], ...]
    class_weights: tuple[np.ndarray | None, ...]
    totals: tuple[float, ...]
    spaces: tuple[RowSpace, ...]
    scales: tuple[float, ...]

    @classmethod
    def placed(
        cls, domains: Sequence[Any], spaces: Sequence[RowSpace], scales: Sequence[float]
    ) -> DaskProjectedRows:
        """Say where the rows are.

        Parameters
        ----------
        domains : sequence of DaskDomain
            The domains.
        spaces : sequence of RowSpace
            Their coordinates.
        scales : sequence of float
            Factors of the coordinates.

        Returns
        -------
        DaskProjectedRows
            Nothing is computed yet.
        """
        blocks, weights = [], []
        for domain in domains:
            held = domain.n_labelled == domain.n_rows
            blocks.append(domain.partitions if held else [rows for rows, *_ in domain.blocks])
            weights.append(domain.class_weights if held else None)
        totals = [
            float(domain.n_rows if own is None else own @ domain.counts)
            for domain, own in zip(domains, weights, strict=True)
        ]
        return cls(tuple(blocks), tuple(weights), tuple(totals), tuple(spaces), tuple(scales))

    def __call__(self, directions: Sequence[np.ndarray]) -> list[PowerMoments]:
        """Moments of the rows of each domain: a map over blocks, and a tree reduction.

        Parameters
        ----------
        directions : sequence of ndarray of shape (k, n_directions)
            One array per domain.

        Returns
        -------
        list of PowerMoments
            One per domain.
        """
        from dask.base import compute
        from dask.delayed import delayed

        task, sums = delayed(block_power_sums), []
        given = (self.blocks, self.class_weights, self.spaces, directions, self.scales)
        for blocks, weights, space, own, scale in zip(*given, strict=True):
            # in the columns of the data, so that no row is turned to other coordinates
            lifted = delayed(scale * space.lift(own), traverse=False)
            mean = delayed(space.mean, traverse=False)
            tasks = [task(each, mean, lifted, class_weights=weights) for each in blocks]
            sums.append(tree(tasks, add_up))
        found = zip(compute(*sums), self.totals, self.spaces, self.scales, strict=True)
        return [
            PowerMoments(*(space.restrict(each) * (scale / total) for each in own))
            for own, total, space, scale in found
        ]


def block_power_sums(
    block: np.ndarray | Partition,
    mean: np.ndarray,
    directions: np.ndarray,
    *,
    class_weights: np.ndarray | None = None,
) -> PowerMoments:
    """Sums over the rows of a block, some rows at a time.

    Parameters
    ----------
    block : ndarray of shape (n, d) or Partition
        The rows, of any numeric type.
    mean : ndarray of shape (d,)
        Mean of the domain.
    directions : ndarray of shape (d, n_directions)
        Directions of its columns.
    class_weights : ndarray of shape (n_classes,), optional
        Weights of the rows of each class of a partition; None where all weigh 1.

    Returns
    -------
    PowerMoments
        Not yet divided by the total weight.
    """
    rows, codes = block if isinstance(block, Partition) else (block, None)
    weights = np.ones(len(rows))
    if class_weights is not None and codes is not None:
        weights = class_weights[codes]
    found: list[tuple[Any, ...]] = [PowerMoments(*(np.zeros_like(directions) for _ in range(3)))]
    for start in range(0, len(rows), ROWS_AT_ONCE):
        some = slice(start, start + ROWS_AT_ONCE)
        centred = np.asarray(rows[some], dtype=np.float64) - mean
        found.append(power_moments(centred, directions, weights[some]))
    return PowerMoments(*add_up(found))
