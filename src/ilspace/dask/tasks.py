"""Functions called for many items, later and wherever Dask likes, and sums of their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ilspace.dask.rows import FAN_IN, RowSummary, add_up, summarised, tree


def lazily(task: Callable[..., Any], items: Iterable[Any], *shared: Any) -> list[Any]:
    """Say what is to be called for each item.

    Parameters
    ----------
    task : callable
        Takes an item first.
    items : iterable of tuple
        Arguments of each call.
    *shared : object
        Further arguments, the same for all; sent once.

    Returns
    -------
    list of Delayed
        One per item.
    """
    from dask.delayed import delayed

    there = [delayed(each, traverse=False) for each in shared]
    return [delayed(task)(*item, *there) for item in items]


def results(tasks: Sequence[Any]) -> Iterator[Any]:
    """Results in their order, a few tasks at a time.

    Parameters
    ----------
    tasks : sequence of Delayed
        From :func:`lazily`.

    Yields
    ------
    object
        One per task.
    """
    from dask.base import compute

    for start in range(0, len(tasks), FAN_IN):
        yield from compute(*tasks[start : start + FAN_IN])


def total(tasks: Sequence[Any]) -> tuple[np.ndarray, ...]:
    """Sum of tuples of arrays, as a tree.

    Parameters
    ----------
    tasks : sequence of Delayed
        Tuples of arrays of the same shapes.

    Returns
    -------
    tuple of ndarray
        Their sums.
    """
    return tree(tasks, add_up).compute()


def summary(tasks: Sequence[Any]) -> RowSummary:
    """Moments of rows.

    Parameters
    ----------
    tasks : sequence of Delayed
        Rows, in arrays with the same columns.

    Returns
    -------
    RowSummary
        Of all rows.
    """
    return summarised(tasks).compute()


def lazy_rows(tasks: Sequence[Any], sizes: Sequence[int], *width: int, dtype: type) -> Any:
    """Put arrays together.

    Parameters
    ----------
    tasks : sequence of Delayed
        Arrays.
    sizes : sequence of int
        Number of rows of each.
    *width : int
        Number of columns, if they have some.
    dtype : type
        Of all.

    Returns
    -------
    dask Array of shape (sum(sizes), *width)
        Rows in their order.
    """
    from dask.array.core import concatenate, from_delayed

    both = zip(tasks, sizes, strict=True)
    return concatenate([from_delayed(each, (size, *width), dtype=dtype) for each, size in both])
