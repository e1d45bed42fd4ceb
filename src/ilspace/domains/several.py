"""Several sources in a list, their labels, names and weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ilspace.backend import on_host

RESERVED = ("source", "target", "unseen")
"""What a source may not be called, since `domain` has a meaning for it."""


class Sources(NamedTuple):
    """Rows and labels of several sources, not checked.

    Attributes
    ----------
    rows : list of array-like
        Rows of each source.
    labels : list of array-like
        Their labels.
    numbers : tuple of float or None
        Number of each source, ascending; None for 1, 2 and so on.
    """

    rows: list[Any]
    labels: list[Any]
    numbers: tuple[float, ...] | None = None


def is_list_of_sources(X: Any) -> bool:
    """Tell a list of sources from a list of rows.

    Parameters
    ----------
    X : object
        What `fit` was given.

    Returns
    -------
    bool
        True for a list or tuple whose items are two-dimensional.
    """
    return isinstance(X, list | tuple) and len(X) > 0 and any(_ndim(each) == 2 for each in X)


def _ndim(rows: Any) -> int:
    """Number of dimensions, of nested lists too, without a copy."""
    if hasattr(rows, "ndim"):
        return rows.ndim
    if isinstance(rows, list | tuple):
        return 1 + (_ndim(rows[0]) if len(rows) else 0)
    return 0


def listed_sources(X: Sequence[Any], y: Any) -> Sources:
    """Sources that are given as two lists.

    Parameters
    ----------
    X : list of array-like of shape (n, d)
        Rows of each source.
    y : list of array-like of shape (n,)
        Their labels.

    Returns
    -------
    Sources
        With the numbers 1, 2 and so on.
    """
    flat = next((i for i, each in enumerate(X) if _ndim(each) != 2), None)
    if flat is not None:
        raise ValueError(
            f"Each item of a list of sources must be 2-d, but X[{flat}] is {_ndim(X[flat])}-d: "
            "give the rows of each source as one array."
        )
    if not isinstance(y, list | tuple) or len(y) != len(X) or any(_ndim(each) != 1 for each in y):
        met = f"{len(y)} items" if isinstance(y, list | tuple) else f"type {type(y).__name__}"
        raise ValueError(
            f"With a list of {len(X)} sources y must be a list of as many label arrays, one entry "
            f"per row of each source, but has {met}: pass fit([X1, X2], [y1, y2], Xt)."
        )
    return Sources(list(X), list(y))


def check_names(names: Any, n_sources: int) -> tuple[str, ...] | None:
    """Check the names of the sources.

    Parameters
    ----------
    names : sequence of str or None
        What the user gave.
    n_sources : int
        Number of sources.

    Returns
    -------
    tuple of str or None
        The names; None where none were given.
    """
    if names is None:
        return None
    given = () if isinstance(names, str) else tuple(on_host(names))
    if len(given) != n_sources or not all(isinstance(each, str) and each for each in given):
        raise ValueError(
            f"source_names must hold one string per source, {n_sources} here, but is {names!r:.200}"
        )
    if len(set(given)) < n_sources or not set(RESERVED).isdisjoint(given):
        raise ValueError(
            f"source_names must be distinct and none of {', '.join(RESERVED)}, but are "
            f"{list(given)}: rename some."
        )
    return tuple(map(str, given))


def joined_weights(sample_weight: Any, *, listed: bool) -> np.ndarray | None:
    """Row weights as one array.

    Parameters
    ----------
    sample_weight : array-like, list of array-like, or None
        Weights of the rows of all domains; or one array per source, and perhaps one of the target.
    listed : bool
        Whether the sources are given as a list, and so may their weights.

    Returns
    -------
    ndarray or None
        One after another.
    """
    if sample_weight is None:
        return None
    is_list = listed and isinstance(sample_weight, list | tuple)
    if is_list and any(_ndim(each) == 1 for each in sample_weight):
        sample_weight = np.concatenate([np.asarray(on_host(each)) for each in sample_weight])
    return np.asarray(on_host(sample_weight))


def joined_labels(labels: Sequence[np.ndarray]) -> np.ndarray:
    """Checked labels of all sources, one after another.

    Parameters
    ----------
    labels : sequence of ndarray of shape (n,)
        Labels of each source.

    Returns
    -------
    ndarray
        All of them; numbers and strings together, which have no order, are refused.
    """
    if len(labels) == 1:
        return labels[0]
    are_strings = [each.dtype.kind in "US" for each in labels]
    if any(are_strings) and not all(are_strings):
        raise ValueError(
            "Unknown label type: the labels of all sources must be strings or all be numbers, but "
            f"those of y[{are_strings.index(True)}] are strings and those of "
            f"y[{are_strings.index(False)}] numbers: convert them to one type."
        )
    return np.concatenate(labels)
