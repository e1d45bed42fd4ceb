"""Fitting to Dask collections: blocks stay on the workers, sums come back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import _get_feature_names

from ilspace.adapters._base import (
    DomainRows,
    _check_finite,
    _check_magnitude,
    _check_size,
)
from ilspace.adapters.dask_labels import encoded, label_blocks
from ilspace.adapters.distant_pairs import PairsOnWorkers, PlacedRows
from ilspace.adapters.distant_pieces import class_sums, cut_pieces, latent_rows
from ilspace.adapters.nearest import NearestClassifier
from ilspace.adapters.progress import report_end, warn_unless_successful
from ilspace.backend import as_generator
from ilspace.optimizers import STOCHASTIC_SOLVERS
from ilspace.scale import RowSpace
from ilspace.scale.dask_rows import (
    CompleteMoments,
    RowSummary,
    add_up,
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

    def summary(self) -> DomainRows:
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
        import dask

        send, gathered = dask.delayed(latent_rows), []
        maps = (
            (model.source_mean_, model._source_map),
            (model.target_mean_, model._target_map),
        )
        for domain, (mean, mapping) in zip(self.domains, maps, strict=False):
            there = [dask.delayed(each, traverse=False) for each in (mean, mapping)]
            found = dask.compute(*(send(piece, *there) for piece in domain.pieces))
            nothing = np.empty((0, mapping.shape[1]), dtype=mapping.dtype)
            gathered.append(
                (
                    np.concatenate([nothing, *(each.rows for each in found)]),
                    np.concatenate([np.empty(0, np.int64), *(each.codes for each in found)]),
                )
            )
        return tuple(gathered)


def fit_distributed(model: ILSTransformer, X, y, Xt, yt, *, sample_domain, sample_weight):
    """Fit a model to rows of which some are in a Dask collection.

    Parameters
    ----------
    model : ILSTransformer
        To be fitted.
    X, Xt : dask array or dataframe, or array-like in memory
        Rows of the domains.
    y, yt : dask array or series, or array-like
        Their labels.
    sample_domain, sample_weight : None
        Nothing else is supported.

    Returns
    -------
    ILSTransformer
        The model, fitted.
    """
    _check_supported(model, sample_domain, sample_weight)
    if y is None:
        model._check_domains(X, y, Xt, yt, None, None)  # says what is wrong
    if Xt is None and yt is not None:
        raise ValueError("yt labels the rows of Xt, but Xt is None: pass both, or neither.")
    given = [(X, "X")] if Xt is None else [(X, "X"), (Xt, "Xt")]
    arrays = [_checked_array(each, name) for each, name in given]
    classes, distant = _summarise(arrays, y, yt)
    # a few rows of zeros stand for all: they have the columns, the names, the classes, the type
    has_labels = len(distant.domains) > 1 and bool(distant.domains[-1].pieces)
    names = [_get_feature_names(_header(each)) for each, _ in given]
    y, yt = _stand_in_labels(classes, distant.domains[-1], has_labels)
    frames = [
        _stand_in(array, each, n)
        for array, each, n in zip(arrays, names, (len(y), len(yt)), strict=False)
    ]
    model.classes_, checked = model._check_domains(
        frames[0],
        y,
        frames[1] if len(frames) > 1 else None,
        yt if len(frames) > 1 else None,
        None,
        None,
    )
    on_target_axes = model._shares_features and (
        isinstance(model.start, str) and model.start in ("auto", "target-pca")
    )
    moments = tuple(
        CompleteMoments(each.moments, model.reduce, on_target_axes and not each.pieces)
        for each in distant.domains
    )
    assembly, solution = model._learn(
        tuple(each.summary() for each in distant.domains),
        solver=model.solver,
        rng=as_generator(model.random_state),
        n_components=model.n_components,
        moments=moments,
        distant=distant,
    )
    report_end(solution, model.verbose, type(model).__name__)
    model._store(assembly, solution, checked)
    model._n_rows = tuple(each.moments.n_rows for each in distant.domains)
    model._class_counts = tuple(each.class_counts for each in distant.domains)
    if isinstance(model, NearestClassifier):
        model._labelled = distant.latent(model)
    if model.max_iter:
        warn_unless_successful(solution, type(model).__name__)
    return model


def _check_supported(model: ILSTransformer, sample_domain, sample_weight) -> None:
    """Refuse what needs all rows in one place."""
    refused = {
        "sample_domain": (sample_domain is not None, "pass the target as Xt"),
        "sample_weight": (sample_weight is not None, "leave it out"),
        'pairs="sampled"': (model.pairs == "sampled", 'use pairs="all"'),
        'start="pls"': (
            isinstance(model.start, str) and model.start == "pls",
            'use start="target-pca"',
        ),
        f'solver="{model.solver}"': (
            model.solver in STOCHASTIC_SOLVERS,
            'use solver="conjugate-gradient", or partial_fit',
        ),
    }
    for name, (met, remedy) in refused.items():
        if met:
            raise ValueError(
                "Rows in a Dask collection stay where they are, but "
                f"{name} needs them in one place: {remedy}, or pass arrays in memory."
            )
    model._check_combination(model.solver)


def _header(X: Any) -> Any:
    """A frame without rows that has the columns of `X`; `X` itself where it is no dataframe."""
    if is_dask(X) and hasattr(X, "columns"):
        import pandas as pd

        return pd.DataFrame(columns=list(X.columns))
    return X


def _checked_array(X: Any, name: str) -> Any:
    """Rows as a Dask array of whole rows, 2-d and of a numeric type."""
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        wrong = [
            str(column)
            for column, dtype in X.dtypes.items()
            if getattr(dtype, "kind", "O") not in "biuf"
        ]
        if wrong:
            raise ValueError(
                f"{name} must have numeric columns, but {wrong[:5]} are not: encode or drop them."
            )
        single = all(dtype == np.float32 for dtype in X.dtypes)
        X = X.astype("float32" if single else "float64")
    if not is_dask(X):
        X = np.asarray(X)
    elif X.ndim == 1 and not hasattr(X, "chunks"):
        raise ValueError(f"{name} must be 2-d with rows and columns, but is a series.")
    if X.ndim != 2 or X.shape[1] < 1:
        raise ValueError(f"{name} must be 2-d with rows and columns, but has shape {X.shape}.")
    rows = row_array(X)
    if rows.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be of a real numeric type, but is {rows.dtype}: convert it.")
    _check_size(rows, name, at_least=2)
    return rows


def _summarise(arrays: list[Any], y: Any, yt: Any) -> tuple[np.ndarray, DistantDomains]:
    """Classes, and what is known of each domain after one pass over its rows."""
    import dask

    blocks = [row_blocks(each) for each in arrays]
    y_blocks = label_blocks(y, arrays[0], names=("y", "X"))
    yt_blocks = None if yt is None else label_blocks(yt, arrays[1], names=("yt", "Xt"))
    n_target_blocks = len(blocks[1]) if len(blocks) > 1 else 0
    classes, codes, counts = encoded(y_blocks, yt_blocks, n_target_blocks)
    pieces = [
        cut_pieces(rows, code, count.sum(axis=1))
        for rows, code, count in zip(blocks, codes, counts, strict=False)
    ]
    # in one go, so that each block is read once
    summaries = [summarised(each) for each in blocks]
    kept = list(dask.persist(*summaries, *(each for domain in pieces for each in domain)))
    summaries = dask.compute(*kept[: len(blocks)])
    rest = iter(kept[len(blocks) :])
    domains = []
    for summary, domain, count, name in zip(summaries, pieces, counts, ("X", "Xt"), strict=False):
        moments = _checked_moments(summary, name)
        domains.append(_domain(moments, [next(rest) for _ in domain], count.sum(axis=0)))
    return classes, DistantDomains(tuple(domains))


def _checked_moments(summary: RowSummary, name: str) -> Moments:
    largest = np.array([summary.largest])
    _check_finite(largest, name)
    _check_magnitude(largest, name)
    if summary.moments is None:
        raise RuntimeError(f"{name} has finite rows but no moments.")
    return summary.moments


def _domain(moments: Moments, pieces: list[Any], counts: np.ndarray) -> DistantDomain:
    import dask

    means = np.zeros((len(counts), len(moments.mean)))
    if pieces:
        mean, total = dask.delayed(moments.mean, traverse=False), dask.delayed(class_sums)
        parts = [total(piece, mean, len(counts)) for piece in pieces]
        ((sums,),) = dask.compute(tree(parts, add_up))
        means = sums / np.maximum(counts, 1)[:, None]
    return DistantDomain(moments, pieces, counts, means)


def _stand_in_labels(classes: np.ndarray, target: DistantDomain, has_labels: bool):
    """Labels of the rows that stand for all."""
    # thrice, for scikit-learn warns of nearly as many classes as rows
    y = np.tile(classes, 3)
    labels = classes[np.flatnonzero(target.class_counts)].tolist() if has_labels else []
    return y, [*labels, None, None]


def _stand_in(array: Any, names: np.ndarray | None, n_rows: int):
    """Rows of zeros with the columns and the type of others."""
    dtype = np.float32 if array.dtype == np.float32 else np.float64
    rows = np.zeros((n_rows, array.shape[1]), dtype=dtype)
    if names is None:
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=names)


__all__ = ["DistantDomains", "PairsOnWorkers", "fit_distributed"]
