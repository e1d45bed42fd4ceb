"""The labels of two tables, and shares of classes as a user gives them."""

from __future__ import annotations

import csv
import difflib
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ilspace.domains.labels import UNLABELLED
from ilspace.tables.values import MISSING, TableError, is_number

if TYPE_CHECKING:
    import pandas as pd

_NO_LABEL = frozenset(MISSING) - {"None"}
"""How programs write that there is no label; None may well be a class."""

_NO_TARGET_LABEL = frozenset(MISSING) | {"none", "-1", "-1.0"}
"""The same for the target, whose classes are known."""

_WHOLE = re.compile(r"-?\d+\.0")
"""What programs make of 3 in a column with missing values."""

_MOST_FRACTIONS, _MOST_NUMBERS = 20, 50
"""Different numbers that may still be names of classes: not all whole, such as versions, and whole;
more of these if they count classes from 0 or 1."""

_MANY = 10
"""Rows from which on it is odd that most are a class of their own."""


def take_source_labels(
    table: pd.DataFrame, label: str, *, name: str, notes: list[str] | None = None
) -> tuple[pd.DataFrame, np.ndarray]:
    """Take the labels of the source off its table; rows without one are of no use.

    Parameters
    ----------
    table : DataFrame
        As it was read, labels as strings.
    label : str
        The column of labels.
    name : str
        What to call the table.
    notes : list of str, optional
        Gets a sentence about rows that are left out.

    Returns
    -------
    table : DataFrame
        The labelled rows, without that column; the index says which they are.
    y : ndarray of str, shape (n,)
        Their labels.
    """
    check_label_column(table, label, name=name)
    has_label, notes = ~table[label].isin(_NO_LABEL).to_numpy(), [] if notes is None else notes
    if not has_label.all():
        markers = sorted({each for each in table[label][~has_label] if each})
        meant = f" ({', '.join(map(repr, markers))})" if markers else ""
        notes.append(f"Without a label{meant}, and left out: {np.sum(~has_label)} rows of {name}.")
    table = table[has_label]
    y = table.pop(label).to_numpy().astype(str)
    different = np.unique(y)
    if len(y) and all(map(_WHOLE.fullmatch, different)):
        y = np.array([each.removesuffix(".0") for each in y])
        different = np.unique(y)
    if len(different) < 2:
        raise TableError(
            f"The column {label!r} of {name} must hold two classes or more, but holds "
            f"{f'one, {str(y[0])!r}' if len(y) else 'none'}: check the column."
        )
    if _is_quantity(different):
        raise TableError(
            f"The column {label!r} of {name} must hold classes, but holds {len(different)} "
            f"different numbers such as {different[0]!s}, and that looks like a quantity: name "
            "another column, or make classes of them; numbers that are names need a letter."
        )
    if len(y) >= _MANY and 2 * len(different) > len(y):
        notes.append(
            f"Most rows of {name} are a class of their own: is {label!r} the column of labels?"
        )
    return table, y


def _is_quantity(different: np.ndarray) -> bool:
    """Tell many different numbers from classes that are numbered."""
    if len(different) <= _MOST_FRACTIONS or not all(map(is_number, different)):
        return False
    numbers = np.sort(different.astype(float))
    if (numbers % 1 != 0).any():
        return True
    counts_classes = numbers[0] in (0, 1) and (np.diff(numbers) == 1).all()
    return len(numbers) > _MOST_NUMBERS and not counts_classes


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
    if label in table.columns:
        return
    names = [str(each) for each in table.columns]
    met = f"{', '.join(names[:10])}{' …' * (len(names) > 10)}"
    folded = {each.strip().casefold(): each for each in reversed(names)}
    near = difflib.get_close_matches(label.strip().casefold(), folded, n=1)
    raise TableError(
        f"{name} must have the column {label!r} of labels, but has {met}: name the right one "
        f"with --label{f' {folded[near[0]]!r}' if near else ''}."
    )


def missing_labels(classes: np.ndarray) -> frozenset[str]:
    """Markers of a missing target label.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The classes of the source.

    Returns
    -------
    frozenset of str
        Missing values as programs write them, unless a class is called so.
    """
    return _NO_TARGET_LABEL.difference(map(str, classes.tolist()))


def take_target_labels(
    table: pd.DataFrame, label: str, *, classes: np.ndarray
) -> tuple[pd.DataFrame, np.ndarray]:
    """Take the labels of the target off its table, if it has any.

    Parameters
    ----------
    table : DataFrame
        As it was read, labels as strings.
    label : str
        The column of labels; it may be absent, or have missing values.
    classes : ndarray of shape (n_classes,)
        The classes of the source.

    Returns
    -------
    table : DataFrame
        All rows, without that column.
    known : ndarray of int, shape (n,)
        Their classes, -1 for a row without a label.
    """
    if label not in table.columns:
        return table, np.full(len(table), UNLABELLED)
    names = [str(each) for each in classes.tolist()]
    # 3.0, which programs make of 3 in a column with missing values, is 3 again
    codes = {f"{name}.0": code for code, name in enumerate(names)}
    codes |= {name: code for code, name in enumerate(names)}
    codes |= dict.fromkeys(missing_labels(classes), UNLABELLED)
    strings = table[label].astype(str)
    unknown = sorted(set(strings).difference(codes))
    if unknown:
        raise TableError(
            f"The labels of the target must be classes of the source ({', '.join(names[:10])}), "
            f"but {unknown[0]!r} is not: correct or blank it."
        )
    return table.drop(columns=label), strings.map(codes).to_numpy(dtype=np.int64)


# -- shares of classes ---------------------------------------------------------------------------


def read_class_frequencies(text: str) -> dict[str, float] | str:
    """Read the shares of the classes in the target.

    Parameters
    ----------
    text : str
        ``auto``, ``source``, ``NAME=SHARE,NAME=SHARE,...``, split at the last ``=`` of each, or the
        path of a file with ``NAME=SHARE`` or ``NAME,SHARE`` in each line, below a header or not.

    Returns
    -------
    dict of str to float, or str
        By class, or the word.
    """
    if text in ("auto", "source"):
        return text
    try:
        lines = Path(text).read_text(encoding="utf-8-sig").strip().splitlines()
        pairs = [_entry(each) for each in lines if each.strip()]
        if pairs and "=" not in lines[0] and not is_number(pairs[0][1]):
            del pairs[0]  # a header
    except UnicodeDecodeError:
        raise TableError(
            f"The file of class frequencies must be UTF-8, but {text} is not: save it as UTF-8."
        ) from None
    except OSError:  # no file; the shares of many classes are too long for the name of one
        if "=" not in text:
            raise TableError(
                "The class frequencies must be auto, source, NAME=SHARE,..., or a file of them, "
                f"but {text!r} is none of these: check it."
            ) from None
        pairs = _split_at_commas(text)
    shares: dict[str, float] = {}
    for name, share in pairs:
        if not is_number(share) or not 0 <= float(share) <= 1:
            raise TableError(
                f"The share of a class must be a number from 0 to 1, but that of {name!r} is "
                f"{share!r}: write NAME=SHARE."
            )
        if name in shares:
            raise TableError(f"Each class must be named once, but {name!r} is twice: leave one.")
        shares[name] = float(share)
    if not shares:
        raise TableError(f"The file of class frequencies must name classes, but {text} is empty.")
    return shares


def _entry(line: str) -> tuple[str, str]:
    """Name and share of a line, whichever sign is between them."""
    cells = next(csv.reader([line]))
    if len(cells) == 2 and is_number(cells[1]):
        return cells[0].strip(), cells[1].strip()
    return _split(line, "=" if "=" in line else ",")


def _split_at_commas(text: str) -> list[tuple[str, str]]:
    """Names and shares; what has no share belongs to a name that holds a comma."""
    parts: list[str] = []
    for each in text.removesuffix(",").split(","):
        if parts and not is_number(_split(parts[-1], "=")[1]):
            parts[-1] += "," + each
        else:
            parts.append(each)
    return [_split(each, "=") for each in parts]


def _split(text: str, sign: str) -> tuple[str, str]:
    name, _, share = text.rpartition(sign)
    return name.strip(), share.strip()
