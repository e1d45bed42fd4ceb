"""Names and numbers of domains, in the arguments `domain` and `sample_domain`."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from ilspace.backend import on_host


def check_domain(domain: object) -> None:
    """Refuse a domain other than "source" and "target".

    Parameters
    ----------
    domain : object
        The value to check.
    """
    if domain not in ("source", "target"):
        raise ValueError(f'domain must be "source" or "target", but is {domain!r}.')


def domain_numbers(sample_domain, X) -> np.ndarray:
    """Number of the domain of each row.

    Parameters
    ----------
    sample_domain : array-like of shape (n,) or number
        Positive for source rows, negative for target rows; one number stands for all rows.
    X : array-like or sparse matrix of shape (n, ...)
        The rows.

    Returns
    -------
    ndarray of shape (n,)
        The numbers, none of them 0.
    """
    domains = np.asarray(on_host(sample_domain))
    if domains.ndim == 0:
        domains = np.full(np.shape(X)[0], domains)
    check_consistent_length(X, domains)
    if domains.ndim > 1:
        raise ValueError(
            f"sample_domain must be 1-d, one entry per row, but has shape {domains.shape}."
        )
    if domains.dtype.kind not in "iuf" or not ((domains > 0) | (domains < 0)).all():
        held = np.unique(domains).tolist() if domains.dtype != object else domains.tolist()
        held = list({repr(each): each for each in held}.values())  # objects may have no order
        raise ValueError(
            "sample_domain must hold positive numbers for source rows and negative ones for "
            f"target rows, but holds {held[:5]}: give each row a number."
        )
    return domains


def source_mask(sample_domain, X) -> np.ndarray:
    """Find the rows that belong to a source.

    Parameters
    ----------
    sample_domain : array-like of shape (n,) or number
        Positive for source rows, negative for target rows; one number stands for all rows.
    X : array-like or sparse matrix of shape (n, ...)
        The rows.

    Returns
    -------
    ndarray of bool, shape (n,)
        True for source rows.
    """
    return domain_numbers(sample_domain, X) > 0


def domain_position(domain: Any, names: Sequence[str], numbers: Sequence[float]) -> int:
    """Index of a domain that is named or numbered.

    Parameters
    ----------
    domain : str or number
        ``"target"``; ``"source"`` for the first source; a source's name or number; or a negative
        number for the target.
    names : sequence of str
        Names of the sources.
    numbers : sequence of float
        Numbers of the sources.

    Returns
    -------
    int
        From 0 for a source, -1 for the target.
    """
    if isinstance(domain, str):
        if domain in ("source", "target"):
            return 0 if domain == "source" else -1
        if domain in names:
            return list(names).index(domain)
    elif isinstance(domain, Real) and not isinstance(domain, bool):
        if domain < 0:
            return -1
        if domain in numbers:
            return list(numbers).index(float(domain))
    several = ""
    if len(names) > 1:
        listed = ", ".join(
            f'"{name}" or {number:g}' for name, number in zip(names, numbers, strict=True)
        )
        several = f", or one of the sources {listed}"
    raise ValueError(f'domain must be "source" or "target"{several}, but is {domain!r}.')


def domain_positions(domains: np.ndarray, numbers: Sequence[float]) -> np.ndarray:
    """Index of the domain of each row.

    Parameters
    ----------
    domains : ndarray of shape (n,)
        Positive numbers of sources, negative ones for the target.
    numbers : sequence of float
        Numbers of the sources at fit. Of one source any positive number will do.

    Returns
    -------
    ndarray of int, shape (n,)
        From 0 for a source, -1 for the target.
    """
    if len(numbers) == 1:
        return np.where(domains > 0, 0, -1)
    unknown = np.setdiff1d(domains[domains > 0], numbers)
    if len(unknown):
        raise ValueError(
            "sample_domain may number only sources that were given to fit "
            f"({', '.join(f'{each:g}' for each in numbers)}), but has {unknown[0]:g}."
        )
    return np.where(domains > 0, np.searchsorted(numbers, domains), -1)
