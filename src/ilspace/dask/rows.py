"""Rows in Dask collections: blocks stay on the workers, and are summed by tree reduction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ilspace._typing import Array
from ilspace.backend import is_dask
from ilspace.scale import Moments, row_moments

FAN_IN = 8
"""Results that one task of a tree reduction merges. It is fixed, and so is the order, so that
rounding does not depend on the number of workers."""

ROWS_AT_ONCE = 2**15
"""Rows of a block that are converted to double precision at once: 16 MiB at 64 columns."""

_LARGEST = 1e100
"""Blocks with larger entries are not summed, since their squares could overflow."""


def float_columns(X: Any, name: str) -> Any:
    """Convert all columns of a dataframe to one floating type.

    Parameters
    ----------
    X : dask dataframe or pandas.DataFrame
        The rows.
    name : str
        Their name in messages.

    Returns
    -------
    dask dataframe or pandas.DataFrame
        Single precision where all columns are, double precision otherwise.
    """
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
    return X.astype("float32" if single else "float64")


def row_array(X: Any) -> Any:
    """Convert rows to a Dask array whose blocks are whole rows, of known number.

    Parameters
    ----------
    X : dask array, dask dataframe, or ndarray, of shape (n, d) or (n,)
        The rows; a dataframe has numeric columns.

    Returns
    -------
    dask.array.Array
        One block across the columns, as many along the rows as `X` has. Where the number of rows
        of a block is not known the blocks are counted, which reads them.
    """
    rows: Any = X
    if not is_dask(X):
        from dask.array.core import from_array

        chunks: Any = (ROWS_AT_ONCE, *X.shape[1:])
        rows = from_array(X, chunks=chunks)
    elif hasattr(X, "to_dask_array"):
        rows = X.to_dask_array()  # counted below: its own count may use other partitions
    if np.isnan(rows.shape[0]):
        rows = copy(rows).compute_chunk_sizes()  # a copy, since counting modifies the array
    return rows if rows.ndim == 1 else rows.rechunk({1: -1})


def row_blocks(rows: Any) -> list[Any]:
    """Blocks of a Dask array that has one block across its columns.

    Parameters
    ----------
    rows : dask.array.Array of shape (n, d) or (n,)
        The rows.

    Returns
    -------
    list of Delayed
        One NumPy array per block.
    """
    return list(rows.to_delayed().ravel())


def tree(results: Sequence[Any], merge: Callable[[list[Any]], Any]) -> Any:
    """Tree reduction: merge many results in tasks of a few each.

    Parameters
    ----------
    results : sequence of Delayed
        At least one.
    merge : callable
        Takes a list of results, returns one of the same kind.

    Returns
    -------
    Delayed
        The merged result.
    """
    from dask.delayed import delayed

    merged, results = delayed(merge), list(results)
    while len(results) > 1:
        starts = range(0, len(results), FAN_IN)
        results = [merged(results[start : start + FAN_IN]) for start in starts]
    return results[0]


@dataclass(frozen=True)
class RowSummary:
    """Moments and magnitude of the rows of a domain, from one pass.

    Attributes
    ----------
    moments : Moments or None
        Mean and covariance; None where there are no rows, or where some are not finite or huge.
    largest : float
        The largest magnitude; NaN or infinity where an entry is not finite.
    """

    moments: Moments | None
    largest: float

    def merged(self, other: RowSummary) -> RowSummary:
        """The summary of the rows of both.

        Parameters
        ----------
        other : RowSummary
            Of other rows with the same columns.

        Returns
        -------
        RowSummary
            Of all.
        """
        largest = float(np.maximum(self.largest, other.largest))
        if self.moments is None or other.moments is None:
            kept = self.moments or other.moments if largest < _LARGEST else None
            return RowSummary(kept, largest)
        return RowSummary(self.moments.merged(other.moments), largest)


def block_summary(rows: np.ndarray) -> RowSummary:
    """Summarise a block, some rows at a time.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The block, of any numeric type.

    Returns
    -------
    RowSummary
        In double precision.
    """
    summary = RowSummary(None, 0.0)
    for start in range(0, rows.shape[0], ROWS_AT_ONCE):
        some = np.asarray(rows[start : start + ROWS_AT_ONCE], dtype=np.float64)
        largest = float(np.max(np.abs(some)))
        found = row_moments(some) if largest < _LARGEST else None
        summary = summary.merged(RowSummary(found, largest))
    return summary


def merge_summaries(summaries: list[RowSummary]) -> RowSummary:
    """Merge summaries in their order.

    Parameters
    ----------
    summaries : list of RowSummary
        At least one.

    Returns
    -------
    RowSummary
        Of all rows.
    """
    return reduce(RowSummary.merged, summaries)


def summarised(blocks: Sequence[Any]) -> Any:
    """Summary of all blocks of a domain: a map and a tree reduction.

    Parameters
    ----------
    blocks : sequence of Delayed
        NumPy arrays with the same columns.

    Returns
    -------
    Delayed
        A :class:`RowSummary`.
    """
    from dask.delayed import delayed

    summary = delayed(block_summary)
    return tree([summary(block) for block in blocks], merge_summaries)


def add_up(terms: list[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Add tuples of arrays, entry by entry and in their order.

    Parameters
    ----------
    terms : list of tuple of array
        Tuples of one length, with arrays of the same shapes.

    Returns
    -------
    tuple of array
        The sums.
    """
    return tuple(sum(each[1:], each[0]) for each in zip(*terms, strict=True))
