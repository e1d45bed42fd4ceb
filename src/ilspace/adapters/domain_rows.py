"""Rows of two domains: apart, together, and some of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing, check_consistent_length

from ilspace._typing import Array
from ilspace.backend import array_namespace, is_foreign, like, on_host


@dataclass(frozen=True)
class DomainRows:
    """The checked rows of one domain.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
        All rows.
    codes : ndarray of shape (n,)
        Class of each row, -1 where it has no label.
    weights : ndarray of shape (n,) or None
        Weight of each row, all positive; None where they are equal.
    """

    X: Array
    codes: np.ndarray
    weights: np.ndarray | None = None

    @property
    def labelled(self) -> np.ndarray:
        """Row numbers that have a label."""
        return np.flatnonzero(self.codes >= 0)

    @property
    def labelled_rows(self) -> Array:
        """Rows that have a label; those of `X` itself where all have one."""
        labelled = self.labelled
        return self.X if len(labelled) == len(self.codes) else take_rows(self.X, labelled)

    @property
    def labelled_weights(self) -> np.ndarray:
        """Weights of the rows that have a label."""
        labelled = self.labelled
        return np.ones(len(labelled)) if self.weights is None else self.weights[labelled]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.X.shape

    @property
    def n_labelled(self) -> int:
        """How many rows have a label."""
        return len(self.labelled)


def check_domain(domain: object) -> None:
    """Refuse a domain other than the two there are.

    Parameters
    ----------
    domain : object
        What was given as one.
    """
    if domain not in ("source", "target"):
        raise ValueError(f'domain must be "source" or "target", but is {domain!r}.')


def take_rows(X, rows: np.ndarray):
    """Some rows of an array of any library, a DataFrame, a list or a sparse matrix.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, ...)
        All rows.
    rows : ndarray of int
        Their numbers.

    Returns
    -------
    array-like or sparse matrix
        A copy of these rows.
    """
    if is_foreign(X):
        return array_namespace(X).take(X, like(rows, X), axis=0)
    return _safe_indexing(X, rows)


def source_mask(sample_domain, X) -> np.ndarray:
    """Find the rows that belong to the source.

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
    domains = np.asarray(on_host(sample_domain))
    if domains.ndim == 0:
        domains = np.full(np.shape(X)[0], domains)
    check_consistent_length(X, domains)
    if domains.ndim > 1:
        raise ValueError(
            f"sample_domain must be 1-d, one entry a row, but has shape {domains.shape}."
        )
    if domains.dtype.kind not in "iuf" or not ((domains > 0) | (domains < 0)).all():
        held = np.unique(domains).tolist() if domains.dtype != object else domains.tolist()
        held = list({repr(each): each for each in held}.values())  # objects may have no order
        raise ValueError(
            "sample_domain must hold positive numbers for source rows and negative ones for "
            f"target rows, but holds {held[:5]}: give each row a number."
        )
    return domains > 0


def split_domains(X, y, Xt, yt, sample_domain, sample_weight):
    """Take rows of both domains apart.

    Parameters
    ----------
    X, y : array-like
        Rows of both domains, and their labels.
    Xt, yt : None
        Refused otherwise: the target would be there twice.
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
                f"sample_weight must have one entry a row of X ({len(is_source)}) if sample_domain "
                f"is given, but has {len(sample_weight)}."
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
