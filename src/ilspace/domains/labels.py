"""Labels of two domains, and the integer codes of their classes."""

from __future__ import annotations

import numpy as np
from sklearn.utils._missing import is_pandas_na

from ilspace._typing import Array
from ilspace.backend import on_host

_MARKER_STRINGS = frozenset({"nan", "None", "-1", "<NA>", "NaN"})

UNLABELLED = -1
"""Code of a row without a label; the classes have codes from 0."""


def unlabelled_rows(yt: Array, classes: np.ndarray, *, marked: bool = False) -> np.ndarray:
    """Find the target rows that are marked as unlabelled.

    Missing-label markers are ``None``, ``NaN`` (or pandas' ``NA``), and ``-1`` where ``-1`` is no
    source class.

    Parameters
    ----------
    yt : array-like of shape (n,)
        Target labels and missing-label markers.
    classes : ndarray of shape (n_classes,)
        The source classes.
    marked : bool, default=False
        Whether other rows of the domain are marked by None or NaN; -1 may then be a class.

    Returns
    -------
    ndarray of bool, shape (n,)
        True for the rows without a label.

    Raises
    ------
    ValueError
        If -1 is a class and occurs in `yt`, and no row is marked by None or NaN.
    """
    values = label_values(yt)
    explicit = missing_labels(values)
    minus_one = np.zeros(len(values), dtype=bool)
    minus_one[~explicit] = np.asarray(values[~explicit] == -1, dtype=bool)
    if -1 not in classes.tolist():
        return explicit | minus_one
    if minus_one.any() and not (explicit.any() or marked):
        raise ValueError(
            "Target rows without a label must be marked by something that is no class, but -1 is "
            "a source class here and occurs in yt: mark unlabelled rows with None or NaN (-1 is "
            "then read as a label), or leave yt out if no row has a label."
        )
    return explicit


def natural_labels(y: Array, rows: str = "source row") -> Array:
    """Labels of dtype object, converted to numbers, booleans or strings.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of any library; not modified.
    rows : str, default="source row"
        What has the labels, for the error message where one is missing.

    Returns
    -------
    array-like of shape (n,)
        Numbers, booleans or strings where `y` holds them as objects; `y` itself otherwise.
    """
    y = on_host(y)
    if np.asarray(y).ndim != 1:
        return y
    values, is_source = label_values(y), rows == "source row"
    missing = np.flatnonzero(missing_labels(values))
    if len(missing):
        raise ValueError(
            f"Every {rows} must have a label, but y holds None or NaN, first in row "
            f"{missing[0]}: drop such rows{', or pass them as target rows' * is_source}."
        )
    return _converted(values) if values.dtype == object else y


def label_values(labels: Array) -> np.ndarray:
    """Labels as an array in which missing-label markers are not converted to strings.

    Parameters
    ----------
    labels : array-like of shape (n,)
        Labels and missing-label markers, not of another array library.

    Returns
    -------
    ndarray of shape (n,)
        The same, of dtype object where they had no dtype; None where an array masks them.
    """
    if isinstance(labels, np.ma.MaskedArray):
        shown = ~np.ma.getmaskarray(labels)
        labels = np.where(shown, np.asarray(labels.data, dtype=object), np.array(None))
    if hasattr(labels, "isna") or not hasattr(labels, "dtype"):
        return np.asarray(labels, dtype=object)
    return np.asarray(labels)


def missing_labels(values: np.ndarray) -> np.ndarray:
    """Find None, NaN and pandas' NA.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Labels and missing-label markers.

    Returns
    -------
    ndarray of bool, shape (n,)
        True for the markers.
    """
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype != object:
        return np.zeros(len(values), dtype=bool)
    return np.array([each is None or is_pandas_na(each) or each != each for each in values], bool)


def _converted(values: np.ndarray) -> np.ndarray:
    """Objects as numbers, booleans or strings; mixed types, which have no order, are refused."""
    is_string = [isinstance(each, str) for each in values]
    if any(is_string) and not all(is_string):
        kinds = sorted({"str" if isinstance(each, str) else type(each).__name__ for each in values})
        raise ValueError(
            "Unknown label type: labels must all be strings or all be numbers, but some are "
            f"{kinds[0]} and others {' or '.join(kinds[1:])}: convert them to one type, for "
            "example to strings with [str(label) for label in y]."
        )
    return np.asarray(values.tolist())


def encode_source(y: Array) -> tuple[np.ndarray, np.ndarray]:
    """Classes in sorted order, and the code of each row.

    Parameters
    ----------
    y : array-like of shape (n,)
        Source labels.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        The classes.
    codes : ndarray of shape (n,)
        Position of each row's class.
    """
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            "At least 2 classes are needed in y, but only one class was met: "
            f"{classes.tolist()[0]!r}; add rows of another class to the source."
        )
    return classes, codes


def class_names(classes: Array) -> np.ndarray:
    """Classes passed by the user, sorted.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)
        The classes, in any order.

    Returns
    -------
    ndarray of shape (n_classes,)
        As :func:`encode_source` would have found them.
    """
    return np.unique(np.asarray(natural_labels(classes, "class")))


def codes_among(classes: np.ndarray, labels: Array, rule: str, remedy: str) -> np.ndarray:
    """Code of each label, all of which must be among some classes.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The classes.
    labels : array-like of shape (n,)
        Labels.
    rule, remedy : str
        Parts of the error message where one is not among them.

    Returns
    -------
    ndarray of int, shape (n,)
        Position of each label in `classes`.
    """
    codes, unseen = _look_up(classes, np.asarray(labels).tolist())
    if unseen:
        raise ValueError(
            f"{rule}, but {unseen[:5]} is not among {classes[:10].tolist()}: {remedy}."
        )
    return codes


def _look_up(classes: np.ndarray, labels: list) -> tuple[np.ndarray, list]:
    """Position of each label, -1 where it is no class, and the different labels that are none."""
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.array([code_of.get(label, UNLABELLED) for label in labels], dtype=np.int64)
    return codes, [label for label in dict.fromkeys(labels) if label not in code_of]


def encode_target(
    yt: Array | None, classes: np.ndarray, n_rows: int, *, marked: bool = False
) -> np.ndarray:
    """Code of each target row, -1 for those without a label.

    Parameters
    ----------
    yt : array-like of shape (n,) or None
        Target labels and missing-label markers; None if no row has a label.
    classes : ndarray of shape (n_classes,)
        The source classes.
    n_rows : int
        Number of target rows.
    marked : bool, default=False
        As for :func:`unlabelled_rows`.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        The codes.
    """
    codes = np.full(n_rows, UNLABELLED)
    if yt is None:
        return codes
    yt = on_host(yt)
    shape = np.shape(np.asarray(yt))
    if shape != (n_rows,):
        raise ValueError(
            f"yt must have one entry per row of Xt, shape ({n_rows},), but has shape {shape}; mark "
            "rows without a label with None, NaN or -1 instead of leaving them out."
        )
    labelled = ~unlabelled_rows(yt, classes, marked=marked)
    found, unseen = _look_up(classes, label_values(yt)[labelled].tolist())
    if not _MARKER_STRINGS.isdisjoint(unseen):
        raise ValueError(
            f"yt holds {unseen[:5]}, which is no class but a missing-label marker as a string: an "
            "array of strings converted it. Pass yt as a list, or as an array with dtype=object."
        )
    if unseen:
        raise ValueError(
            f"yt may hold only classes of the source ({classes[:10].tolist()}) and missing-label "
            f"markers, but holds {unseen[:5]}: mark such rows with None or NaN, or add source rows "
            "of these classes."
        )
    codes[labelled] = found
    return codes
