"""Validation of what a fit is given: rows, labels, columns and weights of all domains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _check_y, _get_feature_names

from ilspace._warnings import warn
from ilspace.backend import is_foreign, refuse_dask
from ilspace.domains.domain import Domain, take_rows
from ilspace.domains.domains import Domains
from ilspace.domains.labels import (
    class_names,
    codes_among,
    encode_source,
    encode_target,
    natural_labels,
)
from ilspace.domains.rows import (
    FLOATS,
    check_finite,
    check_foreign,
    check_magnitude,
    check_size,
    quiet_checks,
)
from ilspace.domains.several import check_names, joined_labels, tell_apart


def check_domains(
    X,
    y=None,
    Xt=None,
    yt=None,
    *,
    sample_domain=None,
    sample_weight=None,
    source_names=None,
    classes=None,
    several: bool = True,
    caller: str = "fit_ils",
) -> Domains:
    """Check rows and labels of one or several sources and a target.

    Nothing is modified: the result is in the record.

    Parameters
    ----------
    X : array-like, sparse matrix or array of another library, of shape (n, n_features)
        Source rows, or a list of one such per source; or rows of all domains, distinguished by
        `sample_domain`.
    y : array-like of shape (n,)
        Their labels, or a list of one such per source.
    Xt : array-like, sparse matrix or array of another library, optional
        Target rows, of shape (nt, n_target_features).
    yt : array-like of shape (nt,), optional
        Labels of the target rows; None, NaN or -1 mark unlabelled ones.
    sample_domain : array-like of shape (n,), optional
        Positive for source rows of X, one number per source, and negative for target rows.
    sample_weight : array-like of shape (n,) or (n + nt,), optional
        Weights of the rows of X, or of X and then Xt; or a list of one array per domain.
    source_names : sequence of str, optional
        Names of the sources.
    classes : array-like of shape (n_classes,), optional
        All classes, where some may be missing in `y`.
    several : bool, default=True
        Whether several sources are kept apart. If not, a list of sources is refused, and rows of
        all positive numbers are one source.
    caller : str, default="fit_ils"
        Name of the caller, for messages.

    Returns
    -------
    Domains
        The sources, and the target if there is one.

    Examples
    --------
    >>> from ilspace.domains import check_domains
    >>> domains = check_domains([[0.0], [1.0], [5.0]], ["a", "a", "b"], [[2.0], [7.0]])
    >>> domains.classes, domains.target.n_rows, domains.shares_features
    (array(['a', 'b'], dtype='<U1'), 2, True)
    """
    refuse_dask(caller, remedy="check it with ilspace.dask.check_dask_domains", X=X, Xt=Xt)
    require_labels(y, caller)
    sources, Xt, yt, sample_weight = tell_apart(
        X, y, Xt, yt, sample_domain, sample_weight, several=several, caller=caller
    )
    n_sources = len(sources.rows)
    names = check_names(source_names, n_sources)
    columns = [_get_feature_names(each) for each in sources.rows]
    rows, labels = [], []
    for X, y, name in zip(sources.rows, sources.labels, sources.called, strict=True):
        X, y = _check_source(X, y, caller, name=name)
        rows.append(X)
        labels.append(y)
    y = joined_labels(labels)
    found, codes = encode_source(y)
    if classes is not None:
        found = class_names(classes)
        codes = codes_among(found, y, "classes must hold all labels of y", "add them there")
    sides = [(each.shape[1], own) for each, own in zip(rows, columns, strict=True)]
    shared, n_target = [], 0
    if Xt is None and yt is not None:
        raise ValueError("yt labels the rows of Xt, but Xt is None: pass both, or neither.")
    if Xt is None:
        check_alike(sides)
        _check_libraries(rows)
    else:
        _check_libraries([*rows, Xt])
        columns.append(_get_feature_names(Xt))
        rows.append(_check_target(Xt, caller))
        n_target, width = rows[-1].shape
        for side in sides:
            shared.append(compare_columns(side, (width, columns[-1])))
        codes = np.concatenate([codes, encode_target(yt, found, n_target)])
    weights = check_weights(sample_weight, len(y), n_target)
    ends = np.cumsum([each.shape[0] for each in rows])[:-1]
    shares = [None] * len(rows) if weights is None else np.split(weights, ends)
    parts = zip(rows, np.split(codes, ends), shares, columns, strict=True)
    domains = tuple(_kept(*part) for part in parts)
    kept, target = domains[:n_sources], None if Xt is None else domains[-1]
    _check_classes(kept)
    if target is not None:
        for source, alike in zip(kept, shared, strict=True):
            check_correspondence(source, target, alike)
    named = {"source_names": names, "source_numbers": sources.numbers}
    return Domains(kept, target, found, all(shared), **named)


def _check_libraries(given: list) -> None:
    """Refuse domains of different array libraries."""
    if len({is_foreign(each) for each in given}) > 1:
        *sources, last = (type(each).__name__ for each in given)
        raise ValueError(
            f"All domains must belong to one array library, but are {', '.join(sources)} and "
            f"{last}: convert one of them."
        )


def check_alike(sources: Sequence[tuple[int, np.ndarray | None]]) -> None:
    """Refuse several sources of different columns without a target, to which labels relate them.

    Parameters
    ----------
    sources : sequence of (int, ndarray or None)
        Number of columns of each source, and their names where they have names.
    """
    (width, names), *others = sources
    for position, (other_width, other_names) in enumerate(others, start=1):
        are_alike = width == other_width
        if names is not None and other_names is not None:
            are_alike = are_alike and np.array_equal(names, other_names)
        if not are_alike:
            raise ValueError(
                "Without a target all sources must have the same columns, but X[0] and "
                f"X[{position}] have {width} and {other_width}, or other names: give them the same "
                "ones, or pass a target with labels as Xt and yt."
            )


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
    source: tuple[int, np.ndarray | None], target: tuple[int, np.ndarray | None]
) -> bool:
    """Tell whether the columns of two domains mean the same.

    Parameters
    ----------
    source, target : tuple of int and ndarray or None
        Number of columns, and their names where they have names.

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
            warn(
                "X and Xt have some columns in common but not all"
                f"{_different_names(names, target_names)}: they are treated as domains of "
                "different columns, which only labels relate. Rename or drop columns if that is "
                "not intended."
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


def _check_source(X, y, caller: str, *, name: str = "X"):
    y = natural_labels(y)
    if is_foreign(X):
        check_foreign(X, name, at_least=2)
    else:
        with quiet_checks(X, name):
            X = check_array(
                X,
                accept_sparse="csr",
                dtype=FLOATS,
                ensure_min_samples=2,
                input_name=name,
                estimator=caller,
            )
    y = _check_y(y, multi_output=False, y_numeric=False, estimator=caller)
    check_consistent_length(X, y)
    check_classification_targets(y)
    check_magnitude(X, name)
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


def _check_classes(sources: tuple[Domain, ...]) -> None:
    """Refuse weights that leave one class only."""
    if len(np.unique(np.concatenate([each.labelled_codes for each in sources]))) < 2:
        raise ValueError(
            "At least 2 classes are needed among the source rows of positive weight, but "
            "sample_weight leaves one class: give rows of another class a weight."
        )


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
