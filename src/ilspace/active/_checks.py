"""Checks of what is said about target rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ilspace.backend import on_host
from ilspace.domains.labels import label_values


def check_rows(rows: Any, n_rows: int) -> np.ndarray:
    """Row numbers of the target, all different.

    Parameters
    ----------
    rows : int array-like of shape (n,)
        Row numbers.
    n_rows : int
        Number of target rows.

    Returns
    -------
    int array of shape (n,)
        The same.
    """
    found = np.atleast_1d(np.asarray(rows))
    if found.size == 0:
        return np.empty(0, dtype=np.intp)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise ValueError(
            f"Rows must be a list of row numbers of Xt, but have shape {found.shape} and type "
            f"{found.dtype}: pass integers."
        )
    outside = found[(found < 0) | (found >= n_rows)]
    if len(outside) or len(np.unique(found)) < len(found):
        met = f"{outside[0]} is not" if len(outside) else "some are named twice"
        raise ValueError(
            f"Rows must be different row numbers of Xt, from 0 to {n_rows - 1}, but {met}: use "
            "those that query returns."
        )
    return found.astype(np.intp)


def check_answers(rows: Any, labels: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers and one label each.

    Parameters
    ----------
    rows : int array-like of shape (n,)
        Row numbers.
    labels : array-like of shape (n,)
        Labels and missing-label markers.
    n_rows : int
        Number of target rows.

    Returns
    -------
    rows : int array of shape (n,)
        The row numbers.
    labels : ndarray of shape (n,)
        The labels.
    """
    rows, values = check_rows(rows, n_rows), label_values(on_host(labels))
    if values.shape != rows.shape:
        raise ValueError(
            f"There must be one label per row, shape {rows.shape}, but labels have shape "
            f"{values.shape}: say None for a row without an answer."
        )
    return rows, values


def check_cost(cost: Any, n_rows: int) -> np.ndarray | None:
    """Cost of each target row.

    Parameters
    ----------
    cost : array-like of shape (n_rows,) or None
        Positive numbers.
    n_rows : int
        Number of target rows.

    Returns
    -------
    ndarray of shape (n_rows,) or None
        The same; None if there is none.
    """
    if cost is None:
        return None
    found = np.asarray(cost, dtype=np.float64)
    if found.shape != (n_rows,):
        raise ValueError(
            f"cost must have one entry per row of Xt, shape ({n_rows},), but has shape "
            f"{found.shape}."
        )
    bad = found[~(np.isfinite(found) & (found > 0))]
    if len(bad):
        raise ValueError(
            f"Costs must be positive and finite, but one is {bad[0]}: skip rows that cannot be "
            "asked about."
        )
    return found
