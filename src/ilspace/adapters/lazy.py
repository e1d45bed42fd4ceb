"""Rows in Dask collections, after fit: each block is worked on when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from ilspace._typing import Array
from ilspace.adapters._base import DomainAdapter
from ilspace.adapters.domain_rows import source_mask
from ilspace.backend import to_numpy
from ilspace.scale.dask_rows import float_columns

Work = Callable[..., Array]
"""Takes a model, checked rows, and the mask of those from the source; returns one row for each."""


def by_blocks(
    model: DomainAdapter,
    X: Any,
    *,
    work: Work,
    domain: str,
    sample_domain: object,
    width: int | None,
    dtype: np.dtype | None = None,
) -> Any:
    """Say what is to be done with each block of some rows.

    Parameters
    ----------
    model : DomainAdapter
        Fitted. What it knows now is what counts, even if it is fitted again before the blocks are
        asked for.
    X : dask array or dataframe of shape (n, n_features)
        Rows of one domain.
    work : callable
        What is to be done; see :data:`Work`.
    domain : {"target", "source"}
        Which domain.
    sample_domain : number or None
        Positive where all rows are of the source, negative where all are of the target; then
        `domain` does not count. One entry a row is not supported.
    width : int or None
        Columns of the result; None for a result of shape (n,).
    dtype : dtype, optional
        Type of the result; that of the rows by default.

    Returns
    -------
    dask.array.Array of shape (n, width) or (n,)
        With the blocks of `X`; nothing is computed yet.
    """
    if sample_domain is not None:
        domain = _domain_of_all(sample_domain)
    _check_columns(model, X, domain)
    if hasattr(X, "to_dask_array"):
        X = float_columns(X, "X").to_dask_array()
    X = X.rechunk({1: -1})
    result = dtype or np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
    frozen = copy(model)
    for name in ("callback", "_increments"):  # not needed, and sent to every worker
        frozen.__dict__.pop(name, None)
    shape = {"drop_axis": 1} if width is None else {"chunks": (X.chunks[0], (width,))}
    return X.map_blocks(
        _on_block,
        frozen,
        work,
        domain,
        width,
        result,
        dtype=result,
        meta=np.empty((0,) if width is None else (0, 0), dtype=result),
        **shape,
    )


def _domain_of_all(sample_domain: Any) -> str:
    if np.ndim(sample_domain) > 0:
        raise ValueError(
            "Rows in a Dask collection must be of one domain, but sample_domain has an entry a "
            'row: call once for each domain, with domain="source" or domain="target".'
        )
    return "source" if source_mask(sample_domain, np.empty(1)).all() else "target"


def _check_columns(model: DomainAdapter, X: Any, domain: str) -> None:
    """Check number and names of the columns by a row of zeros that has the same."""
    if X.ndim != 2:
        raise ValueError(f"X must be 2-d with rows and columns, but has {X.ndim} dimensions.")
    row = np.zeros((1, X.shape[1]))
    if hasattr(X, "columns"):
        import pandas as pd

        row = pd.DataFrame(row, columns=list(X.columns))
    model._check_rows(row, domain, None, True)


def _on_block(
    rows: np.ndarray,
    model: DomainAdapter,
    work: Work,
    domain: str,
    width: int | None,
    dtype: np.dtype,
) -> np.ndarray:
    if rows.shape[0] == 0:
        return np.empty((0,) if width is None else (0, width), dtype=dtype)
    checked = model._check_rows(rows, domain, None, True, named=False)
    return to_numpy(work(model, *checked)).astype(dtype, copy=False)
