"""Domains in Dask collections: partitions stay on the workers, sums come back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np

from ilspace.dask.pairs import DaskRows
from ilspace.dask.partitions import latent_rows, of_classes, sampled_rows, weighted_moments
from ilspace.dask.projected import DaskProjectedRows
from ilspace.dask.rows import tree
from ilspace.domains import Domains
from ilspace.domains.class_prior import class_factors
from ilspace.domains.domain import DomainSize
from ilspace.scale import Moments, RowSpace, moment_space


@dataclass(frozen=True)
class DaskDomain(DomainSize):
    """One domain whose rows are on the workers, with the interface of a domain in memory.

    Attributes
    ----------
    moments : Moments
        Of all rows.
    partitions : list of Delayed
        The labelled rows, or a sample of them where there are many.
    counts : ndarray of shape (n_classes,)
        These rows of each class.
    centred_means : ndarray of shape (n_classes, d)
        Their centred means; 0 for a class without rows.
    dtype : dtype
        Floating type of the rows.
    feature_names : ndarray of shape (d,) or None
        Names of the columns, where they have names.
    blocks : tuple of tuple
        All rows as they came: of each block its rows and their codes (None without labels), both
        Delayed, its number of rows, and its labelled rows of each class.
    class_weights : ndarray of shape (n_classes,) or None
        Weight of the rows of each class; None where all weigh 1.
    """

    moments: Moments
    partitions: list[Any]
    counts: np.ndarray
    centred_means: np.ndarray
    dtype: np.dtype
    feature_names: np.ndarray | None = None
    blocks: tuple[tuple[Any, Any, int, np.ndarray], ...] = ()
    class_weights: np.ndarray | None = None

    weights = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.moments.n_rows, self.moments.mean.shape[0]

    @property
    def n_labelled(self) -> int:
        """Number of rows that have a label."""
        return int(self.counts.sum())

    def class_counts(self, n_classes: int) -> np.ndarray:
        """Number of labelled rows of each class.

        Parameters
        ----------
        n_classes : int
            Number of classes.

        Returns
        -------
        ndarray of int, shape (n_classes,)
            The counts.
        """
        return self.counts

    def class_masses(self, n_classes: int) -> np.ndarray:
        """Total weight of the labelled rows of each class.

        Parameters
        ----------
        n_classes : int
            Number of classes.

        Returns
        -------
        ndarray of shape (n_classes,)
            The weights.
        """
        return self.counts * (1.0 if self.class_weights is None else self.class_weights)

    def weights_of(self, codes: np.ndarray) -> np.ndarray:
        """Weights of the rows that have a label.

        Parameters
        ----------
        codes : ndarray of int
            The classes of these rows, in their order.

        Returns
        -------
        ndarray of shape (n_labelled,)
            The weights.
        """
        return np.ones(len(codes)) if self.class_weights is None else self.class_weights[codes]

    def with_class_shares(self, shares: np.ndarray) -> DaskDomain:
        """The same rows, weighed so that classes have given shares of the total weight.

        Parameters
        ----------
        shares : ndarray of shape (n_classes,)
            Positive shares of all classes; every row has a label.

        Returns
        -------
        DaskDomain
            Itself where the classes have these shares; else its moments are found anew, from the
            rows on the workers.
        """
        factors = class_factors(shares, self.class_masses(len(shares)))
        if np.allclose(factors, 1, rtol=1e-12, atol=0):
            return self
        return replace(self, class_weights=factors)._with_own_moments()

    def times(self, factor: float) -> DaskDomain:
        """The same rows with all weights multiplied.

        Parameters
        ----------
        factor : float
            Positive.

        Returns
        -------
        DaskDomain
            With the same mean and covariance.
        """
        own = self.weights_of(np.arange(len(self.counts)))
        moments = replace(self.moments, weight=factor * self.moments.weight)
        return replace(self, class_weights=factor * own, moments=moments)

    @staticmethod
    def pooled(domains: Sequence[DaskDomain]) -> DaskDomain:
        """The rows of several domains as one; nothing is read again.

        Parameters
        ----------
        domains : sequence of DaskDomain
            Of the same columns.

        Returns
        -------
        DaskDomain
            Their rows one after another. Where they weigh differently, rows of a class get the mean
            of their weights.
        """
        moments = reduce(Moments.merged, (each.moments for each in domains))
        counts = np.sum([each.counts for each in domains], axis=0)
        sums = sum(
            each.counts[:, None] * (each.centred_means + (each.moments.mean - moments.mean))
            for each in domains
        )
        weights = None
        if any(each.class_weights is not None for each in domains):
            masses = sum(each.class_masses(len(counts)) for each in domains)
            weights = np.where(counts > 0, masses / np.maximum(counts, 1), 1.0)
        return replace(
            domains[0],
            moments=moments,
            partitions=list(chain.from_iterable(each.partitions for each in domains)),
            counts=counts,
            centred_means=sums / np.maximum(counts, 1)[:, None],
            dtype=np.result_type(*(each.dtype for each in domains)),
            blocks=tuple(chain.from_iterable(each.blocks for each in domains)),
            class_weights=weights,
        )

    def among(self, codes: np.ndarray) -> DaskDomain:
        """The rows of some classes, and those without a label.

        Parameters
        ----------
        codes : ndarray of int, shape (k,)
            The classes; their positions here are their codes in the result.

        Returns
        -------
        DaskDomain
            Without the rows of other classes.
        """
        from dask.base import persist
        from dask.delayed import delayed

        positions = np.full(len(self.counts), -1)
        positions[codes] = np.arange(len(codes))
        kept = delayed(of_classes)
        partitions = list(persist(*(kept(each, positions) for each in self.partitions)))
        fewer = self.n_labelled > self.counts[codes].sum()
        means, counts = self.centred_means[codes], self.counts[codes]
        found = replace(self, partitions=partitions, counts=counts, centred_means=means)
        return found._with_own_moments() if fewer else found

    def _with_own_moments(self) -> DaskDomain:
        """The same with the moments of its partitions, which hold all rows of a source."""
        from dask.base import compute
        from dask.delayed import delayed

        weights = np.ones(len(self.counts)) if self.class_weights is None else self.class_weights
        task = delayed(weighted_moments)
        tasks = [task(each, class_weights=weights) for each in self.partitions]
        ((moments,),) = compute(tree(tasks, _merged_moments))
        means = self.centred_means + (self.moments.mean - moments.mean)
        return replace(self, moments=moments, centred_means=means)

    def sample(
        self, n_most: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Random rows, some of each class, in memory; blocks that hold them are read once more.

        Parameters
        ----------
        n_most : int
            Most rows to draw, besides one of each class.
        rng : Generator
            Draws them.

        Returns
        -------
        rows : ndarray of shape (m, d)
            In double precision.
        codes : ndarray of int, shape (m,)
            Their classes, -1 where they have no label.
        weights : ndarray of shape (m,)
            All 1.
        """
        from dask.base import compute
        from dask.delayed import delayed

        ends = np.cumsum([size for *_, size, _ in self.blocks])
        chosen = np.arange(ends[-1])
        if ends[-1] > n_most:
            chosen = np.sort(rng.choice(ends[-1], n_most, replace=False))
        holders = np.argmax([counts > 0 for *_, counts in self.blocks], axis=0)
        tasks, task = [], delayed(sampled_rows)
        for i, (rows, codes, size, counts) in enumerate(self.blocks):
            inside = chosen[(chosen >= ends[i] - size) & (chosen < ends[i])] - (ends[i] - size)
            wanted = np.flatnonzero((holders == i) & (counts > 0))
            if len(inside) or len(wanted):
                tasks.append(task(rows, codes, inside, wanted))
        rows, codes = map(np.concatenate, zip(*compute(*tasks), strict=True))
        return rows, codes, np.ones(len(codes))

    def space(self, n_axes: int, *, reduce: bool, on_target_axes: bool) -> RowSpace:
        """Mean, covariance and coordinates of the rows.

        Parameters
        ----------
        n_axes : int
            Minimum number of principal axes.
        reduce : bool
            Whether to optimise in the span of the rows, where that pays.
        on_target_axes : bool
            Whether all projections are initialised by the principal axes of the target.

        Returns
        -------
        RowSpace
            Of all rows, labelled or not.
        """
        leading = on_target_axes and not self.partitions
        return moment_space(self.moments, n_axes=n_axes, reduce=reduce, leading=leading)

    def class_means(self, codes: np.ndarray, space: RowSpace) -> np.ndarray:
        """Means of the labelled rows of some classes.

        Parameters
        ----------
        codes : ndarray of shape (k,)
            Classes that have labelled rows here.
        space : RowSpace
            Of this domain.

        Returns
        -------
        ndarray of shape (k, r)
            In the coordinates of `space`.
        """
        return space.restrict(self.centred_means[codes].T).T


@dataclass(frozen=True)
class DaskDomains(Domains):
    """Checked input whose rows are on the workers."""

    def labelled_rows(self, spaces: Any, *, single: bool = False) -> Any:
        """The labelled rows of all domains, in coordinates, on the workers.

        Parameters
        ----------
        spaces : sequence of RowSpace
            One per domain.
        single : bool, default=False
            Ignored: each worker holds a part of them.

        Returns
        -------
        DaskRows
            From which the loss over pairs is made.
        """
        return DaskRows.placed(self.all, spaces)

    def projected_rows(self, spaces: Any, scales: Any) -> Any:
        """All rows of all domains, for moments along directions; they stay on the workers.

        Parameters
        ----------
        spaces : sequence of RowSpace
            One per domain.
        scales : sequence of float
            Factor of the coordinates of each domain.

        Returns
        -------
        DaskProjectedRows
            From which higher moments are found.
        """
        return DaskProjectedRows.placed(self.all, spaces, scales)

    def latent_rows(self, ils: Any) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """The labelled rows of all domains in the latent space, gathered in memory.

        Parameters
        ----------
        ils : ILSMap
            The fitted map.

        Returns
        -------
        tuple of (ndarray of shape (n, p), ndarray of shape (n,))
            One pair per domain.
        """
        from dask.base import compute
        from dask.delayed import delayed

        send, gathered = delayed(latent_rows), []
        for domain, mean, mapping in zip(self.all, ils.means, ils.maps, strict=True):
            mean, there = (delayed(each, traverse=False) for each in (mean, mapping))
            found = compute(*(send(each, mean, mapping=there) for each in domain.partitions))
            nothing = np.empty((0, mapping.shape[1]), mapping.dtype), np.empty(0, np.int64)
            rows, codes = map(np.concatenate, zip(nothing, *found, strict=True))
            gathered.append((ils.combined(rows), codes))
        return tuple(gathered)


def _merged_moments(found: list[list[Moments]]) -> list[Moments]:
    """Moments of the rows of all, in a list that is empty where there are none."""
    moments = list(chain.from_iterable(found))
    return [reduce(Moments.merged, moments)] if moments else []
