"""The labels of two tables."""

from __future__ import annotations

import difflib
import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from ilspace.tables.errors import TableError
from ilspace.tables.values import MISSING, is_number

_NO_LABEL = frozenset(MISSING) - {"None", "none"}
"""How programs write that there is no label; None may well be a class."""

_NO_TARGET_LABEL = frozenset(MISSING) | {"-1", "-1.0"}
"""The same for the target, whose classes are known."""

_WHOLE = re.compile(r"-?\d+\.0")
"""What programs make of 3 in a column with missing values."""

_FRACTION = re.compile(r"[+-]?\d*\.\d*[1-9]\d*([eE][+-]?\d+)?|[+-]?\d+(\.\d*)?[eE]-\d+")
"""A number that is not whole."""

_MOST_FRACTIONS = 20
"""Different numbers, not all whole, that may still be names of classes, such as versions."""

_MANY = 10
"""Rows from which on it is odd that most are a class of their own."""


class LabelledTables(NamedTuple):
    """Two tables without their columns of labels, and the labels: what a fit takes.

    Attributes
    ----------
    source : DataFrame
        The table of the source.
    y : ndarray of shape (n,)
        Its labels.
    target : DataFrame
        The table of the target.
    yt : ndarray of shape (nt,) or None
        Its labels, None for a row without; None if no row has one.
    sample_domain : ndarray of shape (n,) or None
        Number of the source of each row, from 1; None where there is one.
    """

    source: pd.DataFrame
    y: np.ndarray
    target: pd.DataFrame
    yt: np.ndarray | None
    sample_domain: np.ndarray | None = None


def take_source_labels(
    table: pd.DataFrame, label: str, *, name: str, notes: list[str] | None = None
) -> tuple[pd.DataFrame, np.ndarray]:
    """Take the labels of the source off its table; rows without one are of no use.

    Parameters
    ----------
    table : DataFrame
        As it was read, labels as text.
    label : str
        The column of labels.
    name : str
        What to call the table.
    notes : list of str, optional
        Gets a sentence about rows that are left out.

    Returns
    -------
    table : DataFrame
        The labelled rows, without that column.
    y : ndarray of str, shape (n,)
        Their labels.
    """
    check_label_column(table, label, name=name)
    has_label = ~table[label].isin(_NO_LABEL).to_numpy()
    if notes is not None and not has_label.all():
        markers = sorted({each for each in table[label][~has_label] if each})
        meant = f" ({', '.join(map(repr, markers))})" if markers else ""
        notes.append(f"Without a label{meant}, and left out: {np.sum(~has_label)} rows of {name}.")
    table = table[has_label].reset_index(drop=True)
    y = table[label].to_numpy().astype(str)
    if len(y) and all(_WHOLE.fullmatch(each) for each in np.unique(y)):
        y = np.array([each.removesuffix(".0") for each in y])
    if len(np.unique(y)) < 2:
        raise TableError(
            f"The column {label!r} of {name} must hold two classes or more, but holds "
            f"{f'one, {str(y[0])!r}' if len(y) else 'none'}: check the column."
        )
    different = np.unique(y)
    are_many = len(different) > max(_MOST_FRACTIONS, len(y) / 2)
    if are_many and all(map(is_number, different)) and any(map(_FRACTION.fullmatch, different)):
        raise TableError(
            f"The column {label!r} of {name} must hold classes, but holds {len(different)} "
            f"different numbers such as {different[0]!s}: name another, or make classes of them."
        )
    if notes is not None and len(y) >= _MANY and 2 * len(np.unique(y)) > len(y):
        notes.append(
            f"Most rows of {name} are a class of their own: is {label!r} the column of labels?"
        )
    return table.drop(columns=label), y


def check_label_column(table: pd.DataFrame, label: str, *, name: str) -> None:
    """Refuse a table without the column of labels.

    Parameters
    ----------
    table : DataFrame
        As it was read.
    label : str
        The column of labels.
    name : str
        What to call the table.
    """
    if label not in table.columns:
        names = [str(each) for each in table.columns]
        met = f"{', '.join(names[:10])}{' …' * (len(names) > 10)}"
        raise TableError(
            f"{name} must have the column {label!r} of labels, but has {met}: name the right one "
            f"with --label{_suggestion(label, names)}."
        )


def _suggestion(label: str, names: list[str]) -> str:
    """The name that was meant, if it can be told."""
    folded = {each.strip().casefold(): each for each in reversed(names)}
    near = difflib.get_close_matches(label.strip().casefold(), folded, n=1)
    return f" {folded[near[0]]!r}" if near else ""


def missing_labels(classes: np.ndarray) -> frozenset[str]:
    """Markers of a missing target label.

    Parameters
    ----------
    classes : ndarray of str
        The classes of the source.

    Returns
    -------
    frozenset of str
        Missing values as programs write them, unless a class is called so.
    """
    return _NO_TARGET_LABEL.difference(classes.tolist())


def take_target_labels(
    table: pd.DataFrame, label: str, *, classes: np.ndarray
) -> tuple[pd.DataFrame, np.ndarray | None]:
    """Take the labels of the target off its table, if it has any.

    Parameters
    ----------
    table : DataFrame
        As it was read, labels as text.
    label : str
        The column of labels; it may be absent, or have missing values.
    classes : ndarray of str
        The classes of the source.

    Returns
    -------
    table : DataFrame
        All rows, without that column.
    yt : ndarray of object, shape (n,), or None
        Labels, None for a row without; None if no row has one.
    """
    if label not in table.columns:
        return table, None
    strings = table[label].to_numpy().astype(str)
    known, missing = set(classes.tolist()), missing_labels(classes)
    # 3.0, which programs make of 3 in a column with missing values, is 3 again
    whole = {f"{each}.0": each for each in known if f"{each}.0" not in known}
    yt = np.array(
        [None if each in missing else whole.get(each, each) for each in strings], dtype=object
    )
    unknown = sorted({each for each in yt if each is not None and each not in known})
    if unknown:
        raise TableError(
            f"The labels of the target must be classes of the source ({', '.join(classes[:10])}), "
            f"but {str(unknown[0])!r} is not: correct or blank it."
        )
    return table.drop(columns=label), yt if pd.notna(yt).any() else None
