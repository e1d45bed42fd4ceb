"""Rows in Dask collections: blocks that stay where they are, and sums over them as trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ilspace._typing import Array
from ilspace.scale.rowspan import WIDEST_FULL_SPECTRUM, RowSpace
from ilspace.scale.running import Moments, moments

FAN_IN = 8
"""Results that one task of a tree adds up. It is fixed, and so is the order, so that rounding does
not depend on the number of workers."""

_ROWS_AT_ONCE = 2**15
"""Rows of a block that are copied to double precision at once: 16 MiB at 64 columns."""

_LARGEST = 1e100
"""Rows with larger entries are not summed up, for their squares could overflow."""


def is_dask(X: object) -> bool:
    """Tell a Dask collection, without importing Dask.

    Parameters
    ----------
    X : object
        Anything a user may pass for data.

    Returns
    -------
    bool
        True for a Dask array, dataframe or series.
    """
    # xarray's arrays have the first too, in memory or not, but no blocks to work on
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def refuse_dask(taker: str, *, remedy: str, **given: object) -> None:
    """Refuse Dask collections where rows must be in memory.

    Parameters
    ----------
    taker : str
        What was called, for the message.
    remedy : str
        What to do instead; ``{name}`` stands for the name of the collection.
    **given : object
        What was given for rows, by name.
    """
    for name, rows in given.items():
        if is_dask(rows):
            raise ValueError(
                f"{taker} takes rows in memory, but {name} is a Dask "
                f"{type(rows).__name__.lower()}: {remedy.format(name=name)}."
            )


def float_columns(X: Any, name: str) -> Any:
    """Give all columns of a dataframe one floating type, as an array needs it.

    Parameters
    ----------
    X : dask dataframe or pandas.DataFrame
        The rows.
    name : str
        What they are called.

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
    """Turn rows into a Dask array whose blocks are whole rows, of known number.

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

        chunks: Any = (_ROWS_AT_ONCE, *X.shape[1:])
        rows = from_array(X, chunks=chunks)
    elif hasattr(X, "to_dask_array"):
        rows = X.to_dask_array()  # counted below: its own count may see other partitions
    if np.isnan(rows.shape[0]):
        rows = copy(rows).compute_chunk_sizes()  # counting changes the array, which is not ours
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
        One NumPy array a block.
    """
    return list(rows.to_delayed().ravel())


def tree(parts: Sequence[Any], merge: Callable[[list[Any]], Any]) -> Any:
    """Merge many results in tasks of a few each.

    Parameters
    ----------
    parts : sequence of Delayed
        The results, one at least.
    merge : callable
        Takes a list of results, returns one of the same kind.

    Returns
    -------
    Delayed
        The merged result.
    """
    from dask.delayed import delayed

    merged, parts = delayed(merge), list(parts)
    while len(parts) > 1:
        starts = range(0, len(parts), FAN_IN)
        parts = [merged(parts[start : start + FAN_IN]) for start in starts]
    return parts[0]


@dataclass(frozen=True)
class RowSummary:
    """What one pass over the rows of a domain tells.

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
    """Summarise a block, a part of it at a time.

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
    for start in range(0, rows.shape[0], _ROWS_AT_ONCE):
        part = np.asarray(rows[start : start + _ROWS_AT_ONCE], dtype=np.float64)
        largest = float(np.max(np.abs(part)))
        found = moments(part) if largest < _LARGEST else None
        summary = summary.merged(RowSummary(found, largest))
    return summary


def merge_summaries(parts: list[RowSummary]) -> RowSummary:
    """Merge summaries in their order.

    Parameters
    ----------
    parts : list of RowSummary
        One at least.

    Returns
    -------
    RowSummary
        Of all rows.
    """
    first, *others = parts
    for each in others:
        first = first.merged(each)
    return first


def summarised(blocks: Sequence[Any]) -> Any:
    """Summary of all blocks of a domain: a map and a tree.

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


@dataclass(frozen=True)
class CompleteMoments:
    """Moments of rows that have all come, so that coordinates of their span will do.

    Attributes
    ----------
    moments : Moments
        Of all rows.
    reduce : bool
        Whether to use coordinates of the span; the columns themselves otherwise.
    leading : bool
        Whether the leading axes will do as the basis of the span; see
        :func:`~ilspace.scale.row_space`, which finds the same of rows in memory.
    """

    moments: Moments
    reduce: bool = True
    leading: bool = False

    def space(self, n_axes: int) -> RowSpace:
        """Centre, spread and span of the rows.

        Parameters
        ----------
        n_axes : int
            How many principal axes are wanted at least.

        Returns
        -------
        RowSpace
            With a basis of principal axes if `reduce`, unless the rows are so wide that finding
            them all would cost more than it saves.
        """
        d = self.moments.mean.shape[0]
        in_full = self.reduce and not self.leading and d <= WIDEST_FULL_SPECTRUM
        space = self.moments.space(d if in_full else n_axes)
        if in_full or (self.reduce and self.leading):
            return replace(space, basis=space.axes, covariance=space.variances)
        return space


def add_up(parts: list[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Add tuples of arrays, entry by entry and in their order.

    Parameters
    ----------
    parts : list of tuple of array
        Tuples of one length, with arrays of the same shapes.

    Returns
    -------
    tuple of array
        The sums.
    """
    return tuple(sum(each[1:], each[0]) for each in zip(*parts, strict=True))
