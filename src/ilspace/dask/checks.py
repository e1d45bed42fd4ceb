"""Validation of rows in Dask collections, in one pass over the blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _get_feature_names

from ilspace.backend import is_dask
from ilspace.dask.domains import DaskDomain, DaskDomains
from ilspace.dask.labels import encoded, label_blocks, thinned
from ilspace.dask.partitions import class_sums, cut_partitions
from ilspace.dask.rows import add_up, float_columns, row_array, row_blocks, summarised, tree
from ilspace.domains.checks import (
    check_alike,
    check_correspondence,
    compare_columns,
    require_labels,
)
from ilspace.domains.rows import check_finite, check_magnitude, check_size
from ilspace.domains.several import Sources, check_names, is_list_of_sources, listed_sources
from ilspace.scale import Moments


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
    if Xt is None and yt is not None:
        raise ValueError("yt labels the rows of Xt, but Xt is None: pass both, or neither.")
    described: dict[str, Any] = {"source_names": check_names(source_names, len(sources.rows))}
    given = dict(zip(sources.called, sources.rows, strict=True))
    given |= {} if Xt is None else {"Xt": Xt}
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


def _class_means(moments: Moments, partitions: list[Any], counts: np.ndarray) -> np.ndarray:
    from dask.base import compute
    from dask.delayed import delayed

    if not partitions:
        return np.zeros((len(counts), len(moments.mean)))
    mean, total = delayed(moments.mean, traverse=False), delayed(class_sums)
    tasks = [total(each, mean, n_classes=len(counts)) for each in partitions]
    ((sums,),) = compute(tree(tasks, add_up))
    return sums / np.maximum(counts, 1)[:, None]
