"""Validation of rows, labels and weights, before and after fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _check_y, _get_feature_names

from ilspace._typing import Array
from ilspace.backend import array_namespace, is_foreign, on_host, refuse_dask
from ilspace.domains.domains import Domain, Domains, take_rows
from ilspace.domains.labels import (
    class_names,
    codes_among,
    encode_source,
    encode_target,
    natural_labels,
)

FLOATS = (np.float64, np.float32)
"""Floating types that are kept; others are converted to the first."""


def check_domains(
    X,
    y=None,
    Xt=None,
    yt=None,
    *,
    sample_domain=None,
    sample_weight=None,
    classes=None,
    caller: str = "fit_ils",
) -> Domains:
    """Check rows and labels of a source and a target.

    Nothing is modified: the result is in the record.

    Parameters
    ----------
    X : array-like, sparse matrix or array of another library, of shape (n, n_features)
        Source rows; or rows of both domains, distinguished by `sample_domain`.
    y : array-like of shape (n,)
        Their labels.
    Xt : array-like, sparse matrix or array of another library, optional
        Target rows, of shape (nt, n_target_features).
    yt : array-like of shape (nt,), optional
        Labels of the target rows; None, NaN or -1 mark unlabelled ones.
    sample_domain : array-like of shape (n,), optional
        Positive for source rows of X, negative for target rows.
    sample_weight : array-like of shape (n,) or (n + nt,), optional
        Weights of the rows of X, or of X and then Xt.
    classes : array-like of shape (n_classes,), optional
        All classes, where some may be missing in `y`.
    caller : str, default="fit_ils"
        Name of the caller, for messages.

    Returns
    -------
    Domains
        One source, and the target if there is one.

    Examples
    --------
    >>> from ilspace.domains import check_domains
    >>> domains = check_domains([[0.0], [1.0], [5.0]], ["a", "a", "b"], [[2.0], [7.0]])
    >>> domains.classes, domains.target.n_rows, domains.shares_features
    (array(['a', 'b'], dtype='<U1'), 2, True)
    """
    refuse_dask(caller, remedy="check it with ilspace.dask.check_dask_domains", X=X, Xt=Xt)
    require_labels(y, caller)
    if sample_weight is not None:
        sample_weight = np.asarray(on_host(sample_weight))
    if sample_domain is not None:
        X, y, Xt, yt, sample_weight = split_domains(X, y, Xt, yt, sample_domain, sample_weight)
    names = _get_feature_names(X)
    X, y = _check_source(X, y, caller)
    found, codes = encode_source(y)
    if classes is not None:
        found = class_names(classes)
        codes = codes_among(found, y, "classes must hold all labels of y", "add them there")
    n_source = X.shape[0]
    if Xt is None:
        if yt is not None:
            raise ValueError("yt labels the rows of Xt, but Xt is None: pass both, or neither.")
        weights = check_weights(sample_weight, n_source, 0)
        return Domains((_check_classes(_kept(X, codes, weights, names)),), None, found)
    if is_foreign(X) != is_foreign(Xt):
        raise ValueError(
            f"X and Xt must belong to one array library, but are {type(X).__name__} and "
            f"{type(Xt).__name__}: convert one of them."
        )
    target_names = _get_feature_names(Xt)
    Xt = _check_target(Xt, caller)
    shares_features = compare_columns((X.shape[1], names), (Xt.shape[1], target_names))
    target_codes = encode_target(yt, found, Xt.shape[0])
    weights = check_weights(sample_weight, n_source, Xt.shape[0])
    source_weights = None if weights is None else weights[:n_source]
    target_weights = None if weights is None else weights[n_source:]
    source = _check_classes(_kept(X, codes, source_weights, names))
    target = _kept(Xt, target_codes, target_weights, target_names)
    check_correspondence(source, target, shares_features)
    return Domains((source,), target, found, shares_features)


def require_labels(y, caller: str) -> None:
    """Refuse a fit without source labels.

    Parameters
    ----------
    y : array-like or None
        Source labels.
    caller : str
        Name of the caller, for the message.
    """
    if y is None:
        raise ValueError(
            f"{caller} requires y to be passed, but the target y is None: the source rows need "
            "labels (labels of target rows go into yt)."
        )


def compare_columns(
    source: tuple[int, np.ndarray | None],
    target: tuple[int, np.ndarray | None],
    *,
    stacklevel: int = 6,
) -> bool:
    """Tell whether the columns of two domains mean the same.

    Parameters
    ----------
    source, target : tuple of int and ndarray or None
        Number of columns, and their names where they have names.
    stacklevel : int, default=6
        Stack frames up to the user's call, for the warning about names in common.

    Returns
    -------
    bool
        True for equal numbers of columns with, if both domains have names, equal names.
    """
    (width, names), (target_width, target_names) = source, target
    if names is None or target_names is None or width != target_width:
        shared = width == target_width
    else:
        shared = bool(np.array_equal(names, target_names))
        if not shared and set(names) == set(target_names):
            raise ValueError(
                "Xt must have its columns in the order of X's, but has the same names in another "
                "order: pass Xt[X.columns]."
            )
        if not shared and not set(names).isdisjoint(target_names):
            warnings.warn(
                "X and Xt have some columns in common but not all"
                f"{_different_names(names, target_names)}: they are treated as domains of "
                "different columns, which only labels relate. Rename or drop columns if that is "
                "not intended.",
                UserWarning,
                stacklevel=stacklevel,
            )
    return shared


def check_correspondence(source, target, shares_features: bool) -> None:
    """Refuse domains without correspondence: neither shared columns nor target labels.

    Parameters
    ----------
    source, target : Domain
        The domains.
    shares_features : bool
        Whether their columns mean the same.
    """
    if shares_features or target.n_labelled:
        return
    raise ValueError(
        f"Domains of different features (here {source.n_features} source and {target.n_features} "
        f"target columns{_different_names(source.feature_names, target.feature_names)}) have no "
        "correspondence but their labels, and yt has none of positive weight: label a few target "
        "rows of each class, or give both domains the same columns."
    )


def _different_names(source: np.ndarray | None, target: np.ndarray | None) -> str:
    """Names that only one domain has, for messages; nothing where there are no names."""
    if source is None or target is None:
        return ""
    only_source, only_target = (
        [name for name in these if name not in set(those)][:5]
        for these, those in ((source, target), (target, source))
    )
    return f"; only in X: {only_source}, only in Xt: {only_target}"


@contextmanager
def quiet_checks(X: Any, name: str) -> Iterator[None]:
    """Refuse rows with masked entries, and let others be checked without a warning of infinity.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows, before they become an array: that would lose the mask.
    name : str
        What to call them.

    Yields
    ------
    None
        While scikit-learn checks them; it refuses infinity, but adds it up first.
    """
    if np.ma.is_masked(X):
        raise ValueError(
            f"{name} must not have masked entries, but has {int(np.ma.count_masked(X))}: fill "
            "them, for instance with sklearn.impute.SimpleImputer, or drop such rows."
        )
    with np.errstate(invalid="ignore", over="ignore"):
        yield


def _check_source(X, y, caller: str):
    y = natural_labels(y)
    if is_foreign(X):
        check_foreign(X, "X", at_least=2)
    else:
        with quiet_checks(X, "X"):
            X = check_array(
                X,
                accept_sparse="csr",
                dtype=FLOATS,
                ensure_min_samples=2,
                input_name="X",
                estimator=caller,
            )
    y = _check_y(y, multi_output=False, y_numeric=False, estimator=caller)
    check_consistent_length(X, y)
    check_classification_targets(y)
    check_magnitude(X, "X")
    return X, y


def _check_target(Xt, caller: str):
    if is_foreign(Xt):
        check_foreign(Xt, "Xt", at_least=2)
    else:
        with quiet_checks(Xt, "Xt"):
            Xt = check_array(
                Xt,
                accept_sparse="csr",
                dtype=FLOATS,
                ensure_all_finite=False,
                ensure_min_samples=0,
                input_name="Xt",
                estimator=caller,
            )
        check_size(Xt, "Xt", at_least=2)
        check_finite(Xt, "Xt")
    check_magnitude(Xt, "Xt")
    return Xt


def _kept(X, codes: np.ndarray, weights: np.ndarray | None, names: np.ndarray | None) -> Domain:
    """Drop rows of weight zero."""
    if weights is None or (weights > 0).all():
        return Domain(X, codes, weights, names)
    rows = np.flatnonzero(weights > 0)
    if len(rows) < 2:
        raise ValueError(
            f"Each domain needs at least 2 rows of positive weight, but one has {len(rows)}: give "
            "more rows a positive weight, or leave the domain out."
        )
    return Domain(take_rows(X, rows), codes[rows], weights[rows], names)


def _check_classes(source: Domain) -> Domain:
    """Refuse weights that leave one class only."""
    if len(np.unique(source.labelled_codes)) < 2:
        raise ValueError(
            "At least 2 classes are needed among the source rows of positive weight, but "
            "sample_weight leaves one class: give rows of another class a weight."
        )
    return source


# -- rows of both domains at once ----------------------------------------------------------------


def check_domain(domain: object) -> None:
    """Refuse a domain other than "source" and "target".

    Parameters
    ----------
    domain : object
        The value to check.
    """
    if domain not in ("source", "target"):
        raise ValueError(f'domain must be "source" or "target", but is {domain!r}.')


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
            f"sample_domain must be 1-d, one entry per row, but has shape {domains.shape}."
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


# -- single checks -------------------------------------------------------------------------------


def check_weights(sample_weight, n_source: int, n_target: int) -> np.ndarray | None:
    """Weights of the source rows, followed by those of the target rows.

    Parameters
    ----------
    sample_weight : ndarray or None
        One weight for all rows, one per source row, or one per row of either domain.
    n_source, n_target : int
        Number of rows of each domain.

    Returns
    -------
    ndarray of shape (n_source + n_target,) or None
        Target rows weigh 1 where only source rows were given weights.
    """
    if sample_weight is None:
        return None
    if sample_weight.ndim == 0:
        sample_weight = np.full(n_source + n_target, sample_weight)
    n = len(sample_weight)
    if n not in (n_source, n_source + n_target):
        both = f", or one per source row and then one per target row ({n_source + n_target})"
        raise ValueError(
            f"sample_weight must have one entry per source row ({n_source})"
            f"{both if n_target else ''}, but has {n}."
        )
    weights = _check_sample_weight(
        sample_weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True
    )
    if len(weights) < n_source + n_target:
        weights = np.concatenate([weights, np.ones(n_target)])
    return weights


def check_foreign(X: Array, name: str, at_least: int = 1) -> None:
    """Check an array on its device: scikit-learn would copy it to the host first.

    Parameters
    ----------
    X : array of another library than NumPy, of shape (n, d)
        The rows.
    name : str
        Their name in messages.
    at_least : int, default=1
        Minimum number of rows.
    """
    xp = array_namespace(X)
    if X.ndim != 2 or X.shape[1] < 1:
        raise ValueError(f"{name} must be 2-d with rows and columns, but has shape {X.shape}.")
    check_size(X, name, at_least)
    if not xp.isdtype(X.dtype, "real floating"):
        raise ValueError(f"{name} must be of a real floating type, but is {X.dtype}: convert it.")
    check_finite(X, name)


def check_size(X, name: str, at_least: int) -> None:
    """Refuse too few rows.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The rows.
    name : str
        Their name in messages.
    at_least : int
        Minimum number of rows.
    """
    if X.shape[0] < at_least:
        raise ValueError(
            f"{name} must have at least {at_least} rows, but has {X.shape[0]} (shape "
            f"{tuple(X.shape)}): add rows."
        )


def check_finite(X, name: str) -> None:
    """Refuse NaN and infinity.

    Parameters
    ----------
    X : array or sparse matrix
        The rows.
    name : str
        Their name in messages.
    """
    values = X.data if sparse.issparse(X) else X
    xp = array_namespace(values)
    if not bool(xp.all(xp.isfinite(values))):
        raise ValueError(
            f"{name} must be finite, but contains NaN or infinity: impute or drop such rows."
        )


def check_magnitude(X, name: str, *, fitting: bool = True) -> None:
    """Refuse rows whose distances to the fourth power would overflow or underflow.

    Parameters
    ----------
    X : array or sparse matrix
        The rows.
    name : str
        Their name in messages.
    fitting : bool, default=True
        Whether they are fitted; rows passed after fit may be small.
    """
    values = X.data if sparse.issparse(X) else X
    if 0 in values.shape:
        return
    xp = array_namespace(values)
    # NumPy arrays are converted to double precision, those of other libraries keep their dtype
    limits = xp.finfo(values.dtype if is_foreign(values) else np.float64)
    largest = max(float(xp.max(values)), -float(xp.min(values)))
    lowest, highest = float(limits.smallest_normal) ** 0.2, float(limits.max) ** 0.2
    if largest > highest or (fitting and 0 < largest < lowest):
        raise ValueError(
            f"The largest magnitude in {name} must lie between {lowest:.0e} and {highest:.0e}, "
            f"where squared distances can be computed, but is {largest:.3g}: scale the columns, "
            "for instance with sklearn.preprocessing.StandardScaler."
        )
