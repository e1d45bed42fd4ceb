"""Domains in Dask collections: partitions stay on the workers, sums come back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _get_feature_names

from ilspace.backend import is_dask
from ilspace.dask.labels import encoded, label_blocks, thinned
from ilspace.dask.pairs import DaskRows
from ilspace.dask.partitions import (
    class_sums,
    cut_partitions,
    latent_rows,
    of_classes,
    sampled_rows,
    weighted_moments,
)
from ilspace.dask.projected import DaskProjectedRows
from ilspace.dask.rows import add_up, float_columns, row_array, row_blocks, summarised, tree
from ilspace.domains import Domains
from ilspace.domains.checks import (
    check_alike,
    check_correspondence,
    check_finite,
    check_magnitude,
    check_size,
    compare_columns,
    require_labels,
)
from ilspace.domains.class_prior import class_factors
from ilspace.domains.domains import DomainSize
from ilspace.domains.several import Sources, check_names, is_list_of_sources, listed_sources
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


def check_dask_domains(
    X: Any,
    y: Any,
    Xt: Any,
    yt: Any,
    *,
    source_names: Any = None,
    caller: str = "fit_ils",
    **unsupported: object,
) -> DaskDomains:
    """Check rows of which some are in a Dask collection, in one pass over the blocks.

    Parameters
    ----------
    X : dask array or dataframe, or array-like in memory
        Source rows, or a list of one such per source.
    y : dask array or series, or array-like
        Source labels, or a list of one such per source.
    Xt : dask array or dataframe, or array-like in memory, or None
        Target rows.
    yt : dask array or series, or array-like, or None
        Target labels and missing-label markers.
    source_names : sequence of str, optional
        Names of the sources.
    caller : str, default="fit_ils"
        Name of the caller, for messages.
    **unsupported
        Parameters that need all rows in memory; refused unless None.

    Returns
    -------
    DaskDomains
        The same record as for rows in memory.
    """
    require_labels(y, caller)
    remedies = {"sample_domain": "pass the target as Xt", "sample_weight": "leave it out"}
    for name, given in unsupported.items():
        if given is not None:
            refuse_in_one_place(name, remedies.get(name, "leave it out"))
    sources = listed_sources(X, y) if is_list_of_sources(X) else Sources([X], [y])
    n_sources = len(sources.rows)
    called = ["X"] if n_sources == 1 else [f"X[{i}]" for i in range(n_sources)]
    if Xt is None and yt is not None:
        raise ValueError("yt labels the rows of Xt, but Xt is None: pass both, or neither.")
    described: dict[str, Any] = {"source_names": check_names(source_names, n_sources)}
    given = dict(zip(called, sources.rows, strict=True)) | ({} if Xt is None else {"Xt": Xt})
    names = [_get_feature_names(_header(each)) for each in given.values()]
    arrays = {name: _checked_array(each, name) for name, each in given.items()}
    classes, found = _summarise(arrays, sources.labels, None if Xt is None else yt, names)
    if Xt is None:
        check_alike([(each.n_features, each.feature_names) for each in found])
        return DaskDomains(found, None, classes, **described)
    *kept, target = found
    shared = []
    for source in kept:
        own, other = ((each.n_features, each.feature_names) for each in (source, target))
        shared.append(compare_columns(own, other))
        check_correspondence(source, target, shared[-1])
    return DaskDomains(tuple(kept), target, classes, all(shared), **described)


def refuse_in_one_place(name: str, remedy: str) -> None:
    """Refuse a parameter that needs all rows in memory.

    Parameters
    ----------
    name : str
        Name of the parameter.
    remedy : str
        What to do instead.
    """
    raise ValueError(
        f"Rows in a Dask collection stay where they are, but {name} needs them in one place: "
        f"{remedy}, or pass arrays in memory."
    )


def _header(X: Any) -> Any:
    """A frame without rows that has the columns of `X`; `X` itself where it is no dataframe."""
    if is_dask(X) and hasattr(X, "columns"):
        import pandas as pd

        return pd.DataFrame(columns=list(X.columns))
    return X


def _checked_array(X: Any, name: str) -> Any:
    """Rows as a Dask array of whole rows, 2-d and of a numeric type."""
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        X = float_columns(X, name)
    if sparse.issparse(X):
        raise ValueError(
            f"{name} must be dense where the other domain is a Dask collection, but is a sparse "
            f"matrix: pass {name}.toarray()."
        )
    if not is_dask(X):
        X = np.asarray(X)
    elif X.ndim == 1 and not hasattr(X, "chunks"):
        raise ValueError(f"{name} must be 2-d with rows and columns, but is a series.")
    if X.ndim != 2 or X.shape[1] < 1:
        raise ValueError(f"{name} must be 2-d with rows and columns, but has shape {X.shape}.")
    rows = row_array(X)
    if rows.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be of a real numeric type, but is {rows.dtype}: convert it.")
    check_size(rows, name, at_least=2)
    return rows


def _summarise(
    given: dict[str, Any], ys: list[Any], yt: Any, names: list[np.ndarray | None]
) -> tuple[np.ndarray, tuple[DaskDomain, ...]]:
    """Classes and domains, from one pass over the rows."""
    from dask.base import compute, persist

    called, arrays = list(given), list(given.values())
    blocks = [row_blocks(each) for each in arrays]
    y_blocks = [
        label_blocks(y, array, names=(name.replace("X", "y"), name))
        for y, array, name in zip(ys, arrays, called, strict=False)
    ]
    yt_blocks = None if yt is None else label_blocks(yt, arrays[-1], names=("yt", "Xt"))
    n_target_blocks = len(blocks[-1]) if len(blocks) > len(ys) else 0
    classes, codes, counts = encoded(y_blocks, yt_blocks, n_target_blocks=n_target_blocks)
    kept, n_kept = thinned(codes, counts)
    partitions = [
        cut_partitions(rows, code, counts=count.sum(axis=1))
        for rows, code, count in zip(blocks, kept, n_kept, strict=False)
    ]
    # in one computation, so that each block is read once
    summaries, partitions = persist([summarised(each) for each in blocks], partitions)
    domains = []
    for position, summary in enumerate(compute(*summaries)):
        moments, name, largest = summary.moments, called[position], np.array([summary.largest])
        check_finite(largest, name)
        check_magnitude(largest, name)
        if moments is None:
            raise RuntimeError(f"{name} has finite rows but no moments.")
        dtype = np.dtype(np.float32 if arrays[position].dtype == np.float32 else np.float64)
        held, count = partitions[position], n_kept[position].sum(axis=0)
        means = _class_means(moments, held, count)
        labels = codes[position] or [None] * len(blocks[position])
        sizes = arrays[position].chunks[0]
        whole = tuple(zip(blocks[position], labels, sizes, counts[position], strict=True))
        domains.append(DaskDomain(moments, held, count, means, dtype, names[position], whole))
    return classes, tuple(domains)


def _merged_moments(found: list[list[Moments]]) -> list[Moments]:
    """Moments of the rows of all, in a list that is empty where there are none."""
    moments = list(chain.from_iterable(found))
    return [reduce(Moments.merged, moments)] if moments else []


def _class_means(moments: Moments, partitions: list[Any], counts: np.ndarray) -> np.ndarray:
    from dask.base import compute
    from dask.delayed import delayed

    if not partitions:
        return np.zeros((len(counts), len(moments.mean)))
    mean, total = delayed(moments.mean, traverse=False), delayed(class_sums)
    tasks = [total(each, mean, n_classes=len(counts)) for each in partitions]
    ((sums,),) = compute(tree(tasks, add_up))
    return sums / np.maximum(counts, 1)[:, None]
