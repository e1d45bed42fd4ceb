"""Fit and query estimators of both APIs on rows of one domain.

This package's estimators take the domains separately, ``fit(X, y, Xt, yt)``; pipelines, SKADA's
among them, take them together. Both take `sample_domain` once they are fitted.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.pipeline import Pipeline

from ilspace.backend import on_host
from ilspace.domains.labels import label_values, natural_labels, unlabelled_rows


class Unavailable(ValueError):  # noqa: N818 - reads as the fact it reports
    """A criterion cannot be computed for this estimator or these rows."""


def fit_domains(estimator: Any, X, y, Xt, yt) -> Any:
    """Fit on two domains.

    Parameters
    ----------
    estimator : estimator
        Not fitted; it is fitted in place.
    X, y : array-like
        Source rows and labels.
    Xt, yt : array-like or None
        Target rows, and labels with missing-label markers; None for one domain, or no labels.

    Returns
    -------
    estimator
        The same, fitted.
    """
    if Xt is None:
        return estimator.fit(X, y)
    if "Xt" in inspect.signature(estimator.fit).parameters:
        return estimator.fit(X, y, Xt) if yt is None else estimator.fit(X, y, Xt, yt)
    y = np.asarray(natural_labels(y))
    # SKADA marks missing labels by -1; where -1 is a class, this package accepts None
    missing = -1 if y.dtype.kind in "iuf" and -1 not in y else None
    labels = np.full(Xt.shape[0], missing)
    if yt is not None:
        yt = on_host(yt)
        labelled = ~unlabelled_rows(yt, np.unique(y))
        labels = labels.astype(object)  # else strings and numbers become strings
        labels[labelled] = label_values(yt)[labelled]
        labels = labels if missing is None else np.asarray(labels.tolist())
    domain = np.repeat([1, -2], [X.shape[0], Xt.shape[0]])
    return estimator.fit(stacked(X, Xt), np.concatenate([y, labels]), sample_domain=domain)


def predictions(estimator: Any, X, *, source: bool) -> np.ndarray:
    """Predicted labels of rows of one domain.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like of shape (n, d)
        Rows.
    source : bool
        Whether they are source rows.

    Returns
    -------
    ndarray of shape (n,)
        Labels.
    """
    return host_array(estimator.predict(X, **_domain_of(X, source)))


def probabilities(estimator: Any, X, *, source: bool) -> np.ndarray:
    """Predicted probabilities of rows of one domain.

    Where there is no `predict_proba`, the softmax of `decision_function` is used.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like of shape (n, d)
        Rows.
    source : bool
        Whether they are source rows.

    Returns
    -------
    ndarray of shape (n, n_classes)
        Rows sum to 1.
    """
    where = _domain_of(X, source)
    if hasattr(estimator, "predict_proba"):
        return host_array(estimator.predict_proba(X, **where))
    if hasattr(estimator, "decision_function"):
        scores = host_array(estimator.decision_function(X, **where))
        scores = np.stack([0 * scores, scores], axis=1) if scores.ndim == 1 else scores
        return softmax(scores, axis=1)
    raise Unavailable(
        f"Probabilities are needed, but {type(estimator).__name__} has neither predict_proba nor "
        "decision_function: choose by a criterion of predicted labels, such as circular validation."
    )


def latent(estimator: Any, X, *, source: bool) -> Any:
    """Rows in the space where the estimator compares the domains.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like of shape (n, d)
        Rows of one domain.
    source : bool
        Whether they are source rows.

    Returns
    -------
    array or sparse matrix of shape (n, p)
        What `transform` gives, of the last step that has one in a pipeline; without, the rows.
    """
    if isinstance(estimator, Pipeline):
        steps = [i for i, step in enumerate(estimator) if hasattr(step, "transform")]
        if not steps:
            return host_array(X)
        estimator = estimator[: steps[-1] + 1]
    if not hasattr(estimator, "transform"):
        return host_array(X)
    return host_array(estimator.transform(X, **_domain_of(X, source)))


def classes_of(estimator: Any) -> np.ndarray:
    """Classes in the order of the columns of the probabilities.

    Parameters
    ----------
    estimator : estimator
        Fitted; a pipeline's are those of its last step.

    Returns
    -------
    ndarray of shape (n_classes,)
        The classes.
    """
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    last = last if hasattr(last, "classes_") else getattr(last, "base_estimator_", last)
    return np.asarray(last.classes_)


def as_rows(X) -> Any:
    """Rows that have a shape and can be indexed.

    Parameters
    ----------
    X : array-like or sparse matrix
        Rows as given by the user.

    Returns
    -------
    array, DataFrame or sparse matrix
        The same, unless it was a list or a sparse matrix of another format.
    """
    if sparse.issparse(X):
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


def host_array(rows) -> Any:
    """Rows as a NumPy array, or sparse as they are.

    Parameters
    ----------
    rows : array-like or sparse matrix
        Of any library.

    Returns
    -------
    ndarray or sparse matrix
        The same.
    """
    return rows if sparse.issparse(rows) else np.asarray(on_host(rows))


def stacked(first, second) -> Any:
    """Rows of both, in one array on the host.

    Parameters
    ----------
    first, second : array-like or sparse matrix of shape (n, d)
        Rows of equal width.

    Returns
    -------
    ndarray or sparse matrix
        First those of `first`.
    """
    first, second = host_array(first), host_array(second)
    if sparse.issparse(first) or sparse.issparse(second):
        return sparse.vstack([first, second]).tocsr()
    return np.concatenate([first, second])


def _domain_of(X, source: bool) -> dict[str, Any]:
    return {"sample_domain": np.full(X.shape[0], 1 if source else -2), "allow_source": True}
