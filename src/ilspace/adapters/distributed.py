"""Fitting to Dask collections: blocks stay on the workers, sums come back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _get_feature_names

from ilspace.adapters._checks import check_finite, check_magnitude, check_size
from ilspace.adapters.dask_labels import encoded, label_blocks
from ilspace.adapters.distant_pairs import PlacedRows
from ilspace.adapters.distant_pieces import class_sums, cut_pieces, latent_rows
from ilspace.adapters.domain_rows import DomainRows
from ilspace.adapters.nearest import NearestClassifier
from ilspace.adapters.starts import is_named, on_target_axes
from ilspace.optimizers import STOCHASTIC_SOLVERS
from ilspace.scale import RowSpace
from ilspace.scale.dask_rows import (
    CompleteMoments,
    RowSummary,
    add_up,
    float_columns,
    is_dask,
    row_array,
    row_blocks,
    summarised,
    tree,
)
from ilspace.scale.running import Moments

if TYPE_CHECKING:
    from ilspace.adapters.ils import ILSTransformer


@dataclass(frozen=True)
class DistantDomain:
    """One domain whose rows are elsewhere.

    Attributes
    ----------
    moments : Moments
        Of all rows.
    pieces : list of Delayed
        The labelled rows.
    class_counts : ndarray of shape (n_classes,)
        Labelled rows of each class.
    class_means : ndarray of shape (n_classes, d)
        Their centred means; 0 for a class without rows.
    """

    moments: Moments
    pieces: list[Any]
    class_counts: np.ndarray
    class_means: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.moments.n_rows, self.moments.mean.shape[0]

    @property
    def n_labelled(self) -> int:
        """How many rows have a label."""
        return int(self.class_counts.sum())

    def class_rows(self) -> DomainRows:
        """The means of the classes, each with the weight of its rows, in place of the rows."""
        present = np.flatnonzero(self.class_counts)
        means = self.class_means[present] + self.moments.mean
        return DomainRows(means, present, self.class_counts[present].astype(np.float64))


@dataclass(frozen=True)
class DistantDomains:
    """All domains, where their rows are elsewhere.

    Attributes
    ----------
    domains : tuple of DistantDomain
        The source, then the target; or one domain alone.
    """

    domains: tuple[DistantDomain, ...]

    def placed(self, spaces: tuple[RowSpace, ...]) -> PlacedRows:
        """The labelled rows in the coordinates of the optimization.

        Parameters
        ----------
        spaces : tuple of RowSpace
            The coordinates.

        Returns
        -------
        PlacedRows
            On the workers.
        """
        return PlacedRows.of(
            tuple(each.pieces for each in self.domains),
            spaces,
            class_means=tuple(each.class_means for each in self.domains),
            class_counts=tuple(each.class_counts for each in self.domains),
        )

    def summaries(
        self, model: ILSTransformer
    ) -> tuple[tuple[DomainRows, ...], tuple[CompleteMoments, ...]]:
        """What stands for the rows where an optimization is assembled.

        Parameters
        ----------
        model : ILSTransformer
            Knows whether the domains share their columns.

        Returns
        -------
        class_means : tuple of DomainRows
            The means of the classes of each domain, with the weights of their rows.
        moments : tuple of CompleteMoments
            The moments of all rows.
        """
        leading = on_target_axes(model.start, model._shares_features)
        moments = tuple(
            CompleteMoments(each.moments, model.reduce, leading and not each.pieces)
            for each in self.domains
        )
        return tuple(each.class_rows() for each in self.domains), moments

    def store(self, model: ILSTransformer) -> None:
        """Tell a fitted model how many rows there were, and which ones had labels.

        Parameters
        ----------
        model : ILSTransformer
            Fitted; a classifier gets the labelled rows, n times p numbers.
        """
        model._n_rows = tuple(each.moments.n_rows for each in self.domains)
        model._class_counts = tuple(each.class_counts for each in self.domains)
        if isinstance(model, NearestClassifier):
            model._labelled = self.latent(model)

    def latent(self, model: ILSTransformer) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """The labelled rows in the latent space of a fitted model, and their classes.

        Parameters
        ----------
        model : ILSTransformer
            Fitted.

        Returns
        -------
        tuple of pair of ndarray
            Rows of shape (n, p) and codes of shape (n,) for each domain, gathered here.
        """
        from dask.base import compute
        from dask.delayed import delayed

        send, gathered = delayed(latent_rows), []
        maps = (
            (model.source_mean_, model._source_map),
            (model.target_mean_, model._target_map),
        )
        for domain, (mean, mapping) in zip(self.domains, maps, strict=False):
            mean, there = (delayed(each, traverse=False) for each in (mean, mapping))
            found = compute(*(send(piece, mean, mapping=there) for piece in domain.pieces))
            nothing = np.empty((0, mapping.shape[1]), dtype=mapping.dtype)
            gathered.append(
                (
                    np.concatenate([nothing, *(each.rows for each in found)]),
                    np.concatenate([np.empty(0, np.int64), *(each.codes for each in found)]),
                )
            )
        return tuple(gathered)


def distant_domains(
    X: Any, Xt: Any, *, y: Any, yt: Any
) -> tuple[DistantDomains, tuple[Any, Any, Any, Any]]:
    """Look at rows of which some are in a Dask collection, once, and leave them there.

    Parameters
    ----------
    X : dask array or dataframe, or array-like in memory
        Source rows.
    Xt : dask array or dataframe, or array-like in memory, or None
        Target rows.
    y : dask array or series, or array-like
        Source labels.
    yt : dask array or series, or array-like, or None
        Target labels and marks.

    Returns
    -------
    domains : DistantDomains
        What is known of the rows.
    stand_ins : tuple
        A few rows of zeros, and labels, in place of `X`, `y`, `Xt` and `yt`: they have the
        columns, the names, the type and the classes, so that these are checked as ever.
    """
    given = {"X": X} if Xt is None else {"X": X, "Xt": Xt}
    arrays = [_checked_array(each, name) for name, each in given.items()]
    classes, distant = _summarise(arrays, y, None if Xt is None else yt)
    y, labels = _stand_in_labels(classes, distant.domains[-1])
    frames = [
        _stand_in(array, _get_feature_names(_header(each)), len(marks))
        for array, each, marks in zip(arrays, given.values(), (y, labels), strict=False)
    ]
    if Xt is None:
        return distant, (frames[0], y, None, yt)
    return distant, (frames[0], y, frames[1], labels)


def check_supported(model: ILSTransformer, *, sample_domain: object, sample_weight: object) -> None:
    """Refuse what needs all rows in one place.

    Parameters
    ----------
    model : ILSTransformer
        With its parameters.
    sample_domain, sample_weight : object
        As `fit` was given them.
    """
    refused = {
        "sample_domain": (sample_domain is not None, "pass the target as Xt"),
        "sample_weight": (sample_weight is not None, "leave it out"),
        'pairs="sampled"': (model.pairs == "sampled", 'use pairs="all"'),
        'start="pls"': (is_named(model.start, "pls"), 'use start="target-pca"'),
        f'solver="{model.solver}"': (
            model.solver in STOCHASTIC_SOLVERS,
            'use solver="conjugate-gradient"',
        ),
    }
    for name, (met, remedy) in refused.items():
        if met:
            raise ValueError(
                f"Rows in a Dask collection stay where they are, but {name} needs them in one "
                f"place: {remedy}, or pass arrays in memory."
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


def _summarise(arrays: list[Any], y: Any, yt: Any) -> tuple[np.ndarray, DistantDomains]:
    """Classes, and what is known of each domain after one pass over its rows."""
    from dask.base import compute, persist

    blocks = [row_blocks(each) for each in arrays]
    y_blocks = label_blocks(y, arrays[0], names=("y", "X"))
    yt_blocks = None if yt is None else label_blocks(yt, arrays[1], names=("yt", "Xt"))
    n_target_blocks = len(blocks[1]) if len(blocks) > 1 else 0
    classes, codes, counts = encoded(y_blocks, yt_blocks, n_target_blocks=n_target_blocks)
    pieces = [
        cut_pieces(rows, code, counts=count.sum(axis=1))
        for rows, code, count in zip(blocks, codes, counts, strict=False)
    ]
    # in one go, so that each block is read once
    summaries = [summarised(each) for each in blocks]
    kept = list(persist(*summaries, *(each for domain in pieces for each in domain)))
    summaries = compute(*kept[: len(blocks)])
    rest = iter(kept[len(blocks) :])
    domains = []
    for summary, domain, count, name in zip(summaries, pieces, counts, ("X", "Xt"), strict=False):
        moments = _checked_moments(summary, name)
        domains.append(_domain(moments, [next(rest) for _ in domain], count.sum(axis=0)))
    return classes, DistantDomains(tuple(domains))


def _checked_moments(summary: RowSummary, name: str) -> Moments:
    largest = np.array([summary.largest])
    check_finite(largest, name)
    check_magnitude(largest, name)
    if summary.moments is None:
        raise RuntimeError(f"{name} has finite rows but no moments.")
    return summary.moments


def _domain(moments: Moments, pieces: list[Any], counts: np.ndarray) -> DistantDomain:
    from dask.base import compute
    from dask.delayed import delayed

    means = np.zeros((len(counts), len(moments.mean)))
    if pieces:
        mean, total = delayed(moments.mean, traverse=False), delayed(class_sums)
        parts = [total(piece, mean, n_classes=len(counts)) for piece in pieces]
        ((sums,),) = compute(tree(parts, add_up))
        means = sums / np.maximum(counts, 1)[:, None]
    return DistantDomain(moments, pieces, counts, means)


def _stand_in_labels(classes: np.ndarray, target: DistantDomain) -> tuple[np.ndarray, list[Any]]:
    """Labels of the rows that stand for all source rows, and for all target rows."""
    labels = classes[np.flatnonzero(target.class_counts)].tolist()
    # thrice, for scikit-learn warns of nearly as many classes as rows
    return np.tile(classes, 3), [*labels, None, None]


def _stand_in(array: Any, names: np.ndarray | None, n_rows: int):
    """Rows of zeros with the columns and the type of others."""
    dtype = np.float32 if array.dtype == np.float32 else np.float64
    rows = np.zeros((n_rows, array.shape[1]), dtype=dtype)
    if names is None:
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=names)
