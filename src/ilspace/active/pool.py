"""Target rows among which a query strategy chooses, and what an estimator says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ilspace.backend import array_namespace, on_host, to_numpy

MAX_POOL = 20_000
"""Rows without a label that are looked at for a query; of more, a sample of so many."""

_BATCH = 20_000
"""Rows that an estimator is asked about at once."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Target rows, what is said of them, and which of them may be asked about.

    Attributes
    ----------
    rows : ndarray of shape (n, p)
        Target rows in the space in which their distances are compared.
    probabilities : ndarray of shape (n, n_classes)
        Class probabilities of each row.
    candidates : int array of shape (n_candidates,)
        Positions of the rows that may be asked about.
    labelled : int array of shape (n_labelled,)
        Positions of the rows that have a label.
    members : ndarray of shape (n_members, n, n_classes) or None
        Class probabilities by each member of a committee.
    cost : ndarray of shape (n,) or None
        Cost of each row, positive; None if they cost the same.
    """

    rows: np.ndarray
    probabilities: np.ndarray
    candidates: np.ndarray
    labelled: np.ndarray
    members: np.ndarray | None = None
    cost: np.ndarray | None = None

    @property
    def doubt(self) -> np.ndarray:
        """Entropy of the probabilities of each row, in nats."""
        return entropy(self.probabilities)

    def per_cost(self, scores: np.ndarray) -> np.ndarray:
        """Divide scores of all rows by their cost.

        Parameters
        ----------
        scores : ndarray of shape (n,)
            Scores of the rows, not negative.

        Returns
        -------
        ndarray of shape (n,)
            Scores per unit of cost.
        """
        return scores if self.cost is None else scores / self.cost


def entropy(probabilities: np.ndarray) -> np.ndarray:
    r"""Entropy :math:`-\sum_c p_c \log p_c` of each row.

    Parameters
    ----------
    probabilities : ndarray of shape (..., n_classes)
        They sum to 1.

    Returns
    -------
    ndarray of shape (...)
        In nats, from 0 to log(n_classes).
    """
    logs = np.log(np.where(probabilities > 0, probabilities, 1.0))
    return np.maximum(-np.sum(probabilities * logs, axis=-1), 0.0)


class Seen(NamedTuple):
    """What an estimator says of some target rows.

    Attributes
    ----------
    rows : int array of shape (m,)
        Row numbers, ascending.
    latent : ndarray of shape (m, p)
        Where they lie.
    probabilities : ndarray of shape (m, n_classes)
        Class probabilities.
    members : ndarray of shape (n_members, m, n_classes) or None
        The same by each member of a committee.
    """

    rows: np.ndarray
    latent: np.ndarray
    probabilities: np.ndarray
    members: np.ndarray | None


def sample_pool(
    askable: np.ndarray, has_label: np.ndarray, n: int, rng: np.random.Generator
) -> np.ndarray:
    """Rows that a query looks at: all, or a sample of very many.

    Parameters
    ----------
    askable : bool array of shape (nt,)
        Which target rows may be asked about.
    has_label : bool array of shape (nt,)
        Which have a label.
    n : int
        Rows to choose: at least so many of the sample may be asked about.
    rng : Generator
        Draws the sample.

    Returns
    -------
    int array of shape (m,)
        Row numbers, ascending; at most `MAX_POOL` with a label and about as many without.
    """
    kinds = [np.flatnonzero(each) for each in (askable, ~has_label & ~askable, has_label)]
    n_free = len(kinds[0]) + len(kinds[1])
    if n_free > MAX_POOL:  # those that cannot be asked about keep their share
        share = MAX_POOL / n_free
        sizes = [max(n, round(share * len(kinds[0]))), round(share * len(kinds[1])), MAX_POOL]
        kinds = [
            rng.choice(rows, min(size, len(rows)), replace=False)
            for rows, size in zip(kinds, sizes, strict=True)
        ]
    return np.sort(np.concatenate(kinds))


# -- what an estimator says ------------------------------------------------------------------------


def take(X: Any, rows: np.ndarray) -> Any:
    """Some rows of a table, an array or a sparse matrix.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix of n rows
        All rows.
    rows : int array of shape (m,)
        Positions.

    Returns
    -------
    DataFrame, array or sparse matrix of m rows
        The chosen ones.
    """
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def as_rows(X: Any) -> Any:
    """Rows that can be counted and taken.

    Parameters
    ----------
    X : array-like, DataFrame or sparse matrix
        Rows.

    Returns
    -------
    array, DataFrame or sparse matrix
        The same; an array where it was a list.
    """
    X = X if hasattr(X, "shape") else np.asarray(X)
    return X.tocsr() if sparse.issparse(X) else X


def share_columns(X: Any, Xt: Any) -> bool:
    """Tell whether target rows can be appended to source rows.

    Parameters
    ----------
    X, Xt : array, DataFrame or sparse matrix
        Rows of both domains.

    Returns
    -------
    bool
        True if both have as many columns, or, of tables, if the target has those of the source.
    """
    if hasattr(X, "columns") and hasattr(Xt, "columns"):
        return set(X.columns) <= set(Xt.columns)
    same_kind = hasattr(X, "columns") == hasattr(Xt, "columns")
    return same_kind and X.shape[1] == Xt.shape[1]


def append_rows(X: Any, Xt: Any, rows: np.ndarray) -> Any:
    """Source rows, and some target rows after them.

    Parameters
    ----------
    X, Xt : array, DataFrame or sparse matrix
        Rows of both domains, which share columns.
    rows : int array of shape (m,)
        Positions of target rows.

    Returns
    -------
    array, DataFrame or sparse matrix
        Of the kind of `X`.
    """
    added = take(Xt, rows)
    if hasattr(X, "columns"):
        import pandas as pd

        return pd.concat([X, added[list(X.columns)]], ignore_index=True)
    if sparse.issparse(X) or sparse.issparse(added):
        return sparse.vstack([X, added], format="csr")
    return array_namespace(X).concat([X, added])


def look(estimator: Any, X: Any, rows: np.ndarray) -> Seen:
    """Ask an estimator about some target rows.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : DataFrame, array or sparse matrix
        All target rows.
    rows : int array of shape (m,)
        Row numbers, ascending.

    Returns
    -------
    Seen
        What it says.
    """
    return Seen(
        rows,
        ask_rows(estimator, X, rows),
        ask_probabilities(estimator, X, rows),
        ask_members(estimator, X, rows),
    )


def ask_probabilities(estimator: Any, X: Any, rows: np.ndarray) -> np.ndarray:
    """Class probabilities of some target rows.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : DataFrame, array or sparse matrix
        All target rows.
    rows : int array of shape (m,)
        Positions of those to ask about.

    Returns
    -------
    ndarray of shape (m, n_classes)
        Rows sum to 1.
    """
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(
            "Rows are chosen by class probabilities, but "
            f"{type(estimator).__name__} has no predict_proba: use an estimator that has one, such "
            "as ILSClassifier, or give this one a classifier with probabilities."
        )
    return _in_batches(estimator.predict_proba, X, rows, axis=0)


def ask_members(estimator: Any, X: Any, rows: np.ndarray) -> np.ndarray | None:
    """Class probabilities of some target rows by each member of a committee.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : DataFrame, array or sparse matrix
        All target rows.
    rows : int array of shape (m,)
        Positions of those to ask about.

    Returns
    -------
    ndarray of shape (n_members, m, n_classes) or None
        None where the estimator is no committee of two or more.
    """
    if not hasattr(estimator, "member_probabilities"):
        return None
    found = _in_batches(estimator.member_probabilities, X, rows, axis=1)
    return found if len(found) > 1 else None


def ask_rows(estimator: Any, X: Any, rows: np.ndarray) -> np.ndarray:
    """Some target rows where their distances mean something.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : DataFrame, array or sparse matrix
        All target rows.
    rows : int array of shape (m,)
        Positions.

    Returns
    -------
    ndarray of shape (m, p)
        After the estimator's `transform`, if it has one; else as they are.
    """
    if hasattr(estimator, "transform"):
        return _in_batches(estimator.transform, X, rows, axis=0)
    chosen = on_host(take(X, rows))
    return np.asarray(chosen.toarray() if sparse.issparse(chosen) else chosen, dtype=np.float64)


def _in_batches(method: Any, X: Any, rows: np.ndarray, axis: int) -> np.ndarray:
    """Results of a method for some rows; those of tens of thousands at once take much memory."""
    pieces = [rows[top : top + _BATCH] for top in range(0, len(rows), _BATCH)] or [rows]
    found = [np.asarray(to_numpy(method(take(X, piece)))) for piece in pieces]
    return np.concatenate(found, axis=axis)
