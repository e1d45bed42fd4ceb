"""The ways to give several domains: sources in a list, or rows of all domains in one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_consistent_length

from ilspace.backend import on_host
from ilspace.domains.domain import take_rows
from ilspace.domains.names import domain_numbers, source_mask

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

    @property
    def called(self) -> list[str]:
        """What messages call the rows of each source."""
        return ["X"] if len(self.rows) == 1 else [f"X[{i}]" for i in range(len(self.rows))]


def tell_apart(
    X, y, Xt, yt, sample_domain, sample_weight, *, several: bool, caller: str
) -> tuple[Sources, Any, Any, np.ndarray | None]:
    """Find the sources and the target, whichever way they are given.

    Parameters
    ----------
    X, y, Xt, yt : array-like
        As for :func:`~ilspace.domains.check_domains`.
    sample_domain : array-like of shape (n,) or None
        Positive for source rows of X, one number per source, and negative for target rows.
    sample_weight : array-like or None
        Weights of the rows of X, or of X and then Xt; or a list of one array per domain.
    several : bool
        Whether several sources are kept apart. If not, a list of sources is refused, and rows of
        all positive numbers are one source.
    caller : str
        Name of the caller, for messages.

    Returns
    -------
    sources : Sources
        The sources.
    Xt, yt : array-like or None
        The target.
    sample_weight : ndarray or None
        Weights of the rows of all sources, one after another, then of the target if it has any.
    """
    listed = is_list_of_sources(X)
    sample_weight = joined_weights(sample_weight, listed=listed)
    if listed:
        _check_list_allowed(X, sample_domain, caller, several=several)
        return listed_sources(X, y), Xt, yt, sample_weight
    if sample_domain is None:
        return Sources([X], [y]), Xt, yt, sample_weight
    numbers = domain_numbers(sample_domain, X)
    X, y, Xt, yt, sample_weight = split_domains(X, y, Xt, yt, sample_domain, sample_weight)
    numbers = numbers[numbers > 0]
    if not several or len(np.unique(numbers)) == 1:
        return Sources([X], [y]), Xt, yt, sample_weight
    sources, order = numbered_sources(X, y, numbers)
    if sample_weight is not None and sample_weight.ndim > 0:
        sample_weight[: len(order)] = sample_weight[order]
    return sources, Xt, yt, sample_weight


# -- sources in a list ---------------------------------------------------------------------------


def _check_list_allowed(X: Sequence[Any], sample_domain, caller: str, *, several: bool) -> None:
    if sample_domain is not None:
        raise ValueError(
            "Give several sources either as a list or by positive numbers in sample_domain, but "
            "not both."
        )
    if not several:
        raise ValueError(
            f"{caller} learns from one source, but X is a list of {len(X)}: pool their rows with "
            "ilspace.baselines.PooledSources, or let models of single sources vote with "
            "ilspace.baselines.SourceVote."
        )


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


# -- rows of all domains in one array ------------------------------------------------------------


def split_domains(X, y, Xt, yt, sample_domain, sample_weight):
    """Split rows of both domains.

    Parameters
    ----------
    X, y : array-like
        Rows of both domains, and their labels.
    Xt, yt : None
        Otherwise refused, since the target would be given twice.
    sample_domain : array-like of shape (n,) or number
        Positive for source rows, negative for target rows.
    sample_weight : ndarray or None
        Weights of the rows.

    Returns
    -------
    X, y, Xt, yt : array-like
        Rows and labels of the source, then of the target; None where there is no target row.
    sample_weight : ndarray or None
        Weights of the source rows, then of the target rows.
    """
    if Xt is not None or yt is not None:
        raise ValueError(
            "Give the target either as Xt (and yt) or as rows of X with a negative "
            "sample_domain, but not both."
        )
    if sparse.issparse(X):
        X = X.tocsr()
    is_source = source_mask(sample_domain, X)
    check_consistent_length(X, y)
    source, target = np.flatnonzero(is_source), np.flatnonzero(~is_source)
    if len(source) == 0:
        raise ValueError(
            "Some rows must belong to the source, but sample_domain has no positive entry."
        )
    y = on_host(y)
    if sample_weight is not None and sample_weight.ndim > 0:
        if len(sample_weight) != len(is_source):
            raise ValueError(
                f"sample_weight must have one entry per row of X ({len(is_source)}) if "
                f"sample_domain is given, but has {len(sample_weight)}."
            )
        sample_weight = sample_weight[np.concatenate([source, target])]
    if len(target) == 0:
        return X, y, None, None, sample_weight
    return (
        take_rows(X, source),
        take_rows(y, source),
        take_rows(X, target),
        take_rows(y, target),
        sample_weight,
    )


def numbered_sources(X: Any, y: Any, numbers: np.ndarray) -> tuple[Sources, np.ndarray]:
    """Split rows by the number of their source.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Source rows.
    y : array-like of shape (n,)
        Their labels.
    numbers : ndarray of shape (n,)
        Positive number of the source of each row.

    Returns
    -------
    sources : Sources
        In the order of the numbers.
    order : ndarray of int, shape (n,)
        Rows of `X` in the order of the sources.
    """
    check_consistent_length(X, y)
    X, y = X.tocsr() if sparse.issparse(X) else X, on_host(y)
    found = np.unique(numbers)
    members = [np.flatnonzero(numbers == each) for each in found]
    rows, labels = ([take_rows(each, these) for these in members] for each in (X, y))
    return Sources(rows, labels, tuple(map(float, found))), np.concatenate(members)
