"""Rows in Dask collections, after fit: blocks are computed lazily."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

from ilspace._typing import Array
from ilspace.backend import to_numpy
from ilspace.dask.rows import float_columns
from ilspace.domains import domain_numbers, domain_positions

Work = Callable[..., Array]
"""Takes a model, checked rows, and the index of their domain; returns one row per row."""


def by_blocks(
    model: Any,
    X: Any,
    *,
    work: Work,
    domain: str | float,
    sample_domain: object,
    width: int | None,
    dtype: np.dtype | None = None,
) -> Any:
    """Apply a function to each block of rows, lazily.

    Parameters
    ----------
    model : DomainAdapter
        Fitted. Its current state is used, even if it is fitted again before the blocks are
        computed.
    X : dask array or dataframe of shape (n, n_features)
        Rows of one domain.
    work : callable
        The function; see :data:`Work`.
    domain : str or number
        Which domain.
    sample_domain : number or None
        Positive where all rows are of the source, negative where all are of the target; then
        `domain` is ignored. One entry per row is not supported.
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
        domain = _domain_of_all(sample_domain, model._source_numbers)
    _check_columns(model, X, domain)
    if hasattr(X, "to_dask_array"):
        X = float_columns(X, "X").to_dask_array()
    X = X.rechunk({1: -1})
    result = dtype or np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
    frozen = copy(model)
    for name in ("callback", "_online"):  # not needed, and sent to every worker
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


def _domain_of_all(sample_domain: Any, numbers: Sequence[float]) -> str | float:
    if np.ndim(sample_domain) > 0:
        raise ValueError(
            "Rows in a Dask collection must be of one domain, but sample_domain has one entry per "
            'row: call once for each domain, with domain="source" or domain="target".'
        )
    position = int(domain_positions(domain_numbers(sample_domain, np.empty(1)), numbers)[0])
    return "target" if position < 0 else numbers[position]


def _check_columns(model: Any, X: Any, domain: str | float) -> None:
    """Check number and names of the columns, on a row of zeros."""
    if X.ndim != 2:
        raise ValueError(f"X must be 2-d with rows and columns, but has {X.ndim} dimensions.")
    row = np.zeros((1, X.shape[1]))
    if hasattr(X, "columns"):
        import pandas as pd

        row = pd.DataFrame(row, columns=list(X.columns))
    model._check_rows(row, domain)


def _on_block(
    rows: np.ndarray, model: Any, work: Work, domain: Any, width: int | None, dtype: np.dtype
) -> np.ndarray:
    if rows.shape[0] == 0:
        return np.empty((0,) if width is None else (0, width), dtype=dtype)
    checked = model._check_rows(rows, domain, named=False)
    return to_numpy(work(model, *checked)).astype(dtype, copy=False)
