"""What the columns of two tables are: identifiers, features, numbers, categories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ilspace.tables import values
from ilspace.tables.errors import TableError

if TYPE_CHECKING:
    import pandas as pd

MOST_CATEGORIES = 50
"""Categories of a column that are told apart; rarer ones count as none of them."""

_MOSTLY = 0.8
"""Share of the entries of a column that must be numbers, for the others to be missing values."""

_MOST_CODES = 20
"""Different numbers that may still be codes of categories."""

_FEWEST_NAMES = 10
"""Different strings that a column must hold to be taken for identifiers because of it."""

_IDENTIFIER = re.compile(r"(^|[_\W])(id|uuid|guid|key)$|^(row|index|unnamed: 0)$", re.IGNORECASE)
_CAMEL_IDENTIFIER = re.compile(r"[a-z]I[dD]$")
_ALWAYS_IDENTIFIER = re.compile(r"(^|_)(id|ID|Id|uuid|guid)$|[a-z]I[dD]$")
_NUMBERED = re.compile(r"(\D*)(\d+)")


@dataclass(frozen=True)
class Column:
    """A feature as it stands in a table.

    Attributes
    ----------
    name : str
        As in the header.
    categories : tuple of str
        What it may hold; nothing for a column of numbers.
    """

    name: str
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class ColumnPlan:
    """What is done with the columns of two tables.

    Attributes
    ----------
    source, target : tuple of Column
        Features of each table; the same where the tables share them.
    ids : tuple of str
        Columns of the target that are handed on with the predictions.
    are_shared : bool
        Whether the columns of both tables mean the same.
    notes : tuple of str
        What was decided without being asked, one sentence each.
    """

    source: tuple[Column, ...]
    target: tuple[Column, ...]
    ids: tuple[str, ...]
    are_shared: bool
    notes: tuple[str, ...] = ()


def plan_columns(
    source: pd.DataFrame,
    target: pd.DataFrame,
    *,
    ids: Sequence[str] = (),
    ignored: Sequence[str] = (),
    matching: str = "auto",
) -> ColumnPlan:
    """Find out what the columns of two tables are.

    Parameters
    ----------
    source, target : DataFrame
        The tables.
    ids : sequence of str
        Identifiers; others are found by their names and values.
    ignored : sequence of str
        Columns to leave out.
    matching : {"auto", "by-name", "none"}
        ``"by-name"``: the features are the columns that both tables have. ``"none"``: each table
        has its own. ``"auto"``: by name, unless the tables have no name in common, or number their
        columns up to different ends.

    Returns
    -------
    ColumnPlan
        The features of each table, in the order of the source.
    """
    source, target = values.as_table(source), values.as_table(target)
    for name in (*ids, *ignored):
        if name not in source.columns and name not in target.columns:
            raise TableError(
                f"A column {name!r} must be in a table, but is in none: check the name."
            )
    notes: list[str] = []
    found = list(ids)
    for name in dict.fromkeys([*target.columns, *source.columns]):
        sides = [table[name] for table in (source, target) if name in table.columns]
        if name not in {*ids, *ignored} and _names_rows(name, sides):
            found.append(name)
    if len(found) > len(ids):
        notes.append(f"Taken for identifiers: {listed(found[len(ids) :])}.")
    spare = {*found, *ignored}
    source_names, target_names = (
        [str(each) for each in table.columns if each not in spare] for table in (source, target)
    )
    if matching == "auto":
        matching = "none" if _are_unrelated(source_names, target_names) else "by-name"
        if matching == "none" and not set(source_names).isdisjoint(target_names):
            notes.append("Columns are numbered, up to different ends, and not matched by name.")
    are_shared = matching == "by-name"
    if are_shared:
        shared = _common(source_names, target_names, notes)
        sides = (_columns("The tables must share", [source, target], shared, notes),) * 2
    else:
        sides = (
            _columns("The source must have", [source], source_names, notes),
            _columns("The target must have", [target], target_names, notes),
        )
    kept_ids = tuple(each for each in target.columns if each in found)
    return ColumnPlan(*sides, kept_ids, are_shared, tuple(notes))


def _names_rows(name: str, sides: Sequence[pd.Series]) -> bool:
    """Tell identifiers: called so, or a different string in each row."""
    are_unique = all(len(each) > 1 and each.is_unique for each in sides)
    if is_called_identifier(name):
        may_repeat = _ALWAYS_IDENTIFIER.search(name) is not None  # patients, say, who come twice
        return (are_unique or may_repeat) and not any(map(values.has_fractions, sides))
    if not are_unique or max(map(len, sides)) < _FEWEST_NAMES:
        return False
    return all(values.is_text(each) and not _are_mostly_numbers(each) for each in sides)


def is_called_identifier(name: str) -> bool:
    """Tell whether a column's name is one that identifiers have.

    Parameters
    ----------
    name : str
        As in the header.

    Returns
    -------
    bool
        True for ``id``, ``sample_id``, ``rowId`` and the like.
    """
    return bool(_IDENTIFIER.search(name) or _CAMEL_IDENTIFIER.search(name))


def _are_unrelated(source: Sequence[str], target: Sequence[str]) -> bool:
    """No name in common; or both counted through, so that equal names mean nothing."""
    if set(source).isdisjoint(target):
        return True
    ends = _counted_to(source), _counted_to(target)
    return None not in ends and ends[0] != ends[1]


def _counted_to(names: Sequence[str]) -> tuple[str, int] | None:
    """What the names of columns count, and up to where, if they do from 0 or 1 without a break."""
    matches = [_NUMBERED.fullmatch(each) for each in names]
    prefixes = {each and each[1] for each in matches}
    numbers = sorted(int(each[2]) for each in matches if each)
    if len(prefixes) != 1 or len(numbers) < len(names) or numbers[0] > 1:
        return None
    has_gap = numbers != list(range(numbers[0], numbers[-1] + 1))
    return None if has_gap else (str(prefixes.pop()), numbers[-1])


def _common(source: list[str], target: list[str], notes: list[str]) -> list[str]:
    shared = [each for each in source if each in set(target)]
    for names, table in ((source, "source"), (target, "target")):
        others = [each for each in names if each not in set(shared)]
        if others:
            notes.append(f"Only in the {table}, and left out: {listed(others)}.")
    if not shared:
        raise TableError(
            "The tables must have feature columns in common, but have none "
            f"(source: {listed(source)}; target: {listed(target)}): rename columns, or label a "
            "few target rows of each class."
        )
    return shared


def _columns(
    rule: str, tables: Sequence[pd.DataFrame], names: Sequence[str], notes: list[str]
) -> tuple[Column, ...]:
    """Tell numbers from categories, and leave out what is neither."""
    import pandas as pd

    columns, empty, dates, apart = [], [], [], []
    for name in names:
        sides = [table[name] for table in tables]
        strings = [values.as_strings(each).dropna() for each in sides if values.is_text(each)]
        if any(map(values.are_dates, sides)):
            dates.append(name)
        elif any(each.isna().all() for each in (*sides, *strings)):
            empty.append(name)
        elif len(strings) < len(sides) or any(map(_are_mostly_numbers, strings)):
            # numbers in one: numbers in the other
            _check_numbers(name, sides, notes)
            columns.append(Column(name))
        elif example := _number_with_comma(pd.concat(strings).unique().tolist()):
            raise TableError(
                f"The column {name!r} must hold numbers or categories, but holds numbers with "
                f"commas, such as {example!r}: write decimal points, and no thousands separator."
            )
        elif set(strings[0]).isdisjoint(strings[-1]):
            apart.append(name)
        else:
            columns.append(_category(name, pd.concat(strings), notes))
    left_out = {
        "Without any value": empty,
        "Dates": dates,
        "Without a category that both tables have": apart,
    }
    notes += [f"{why}, and left out: {listed(each)}." for why, each in left_out.items() if each]
    if not columns:
        raise TableError(
            f"{rule} a column of features with values, but {'have' if tables[1:] else 'has'} none: "
            "check the file, and the names of the label and of identifiers."
        )
    return tuple(columns)


def _number_with_comma(strings: Sequence[str]) -> str | None:
    """An entry of a column that would hold numbers, were it not for their commas."""
    with_comma = [each for each in strings if values.COMMAS_IN_NUMBER.fullmatch(each)]
    others = set(strings).difference(with_comma)
    if len(with_comma) <= _MOST_CODES or not all(map(values.is_number, others)):
        return None
    return with_comma[0]


def _are_mostly_numbers(column: pd.Series) -> bool:
    """Tell measurements with a few odd entries from categories that happen to be numbers."""
    strings = values.as_strings(column).dropna()
    numbers = values.as_numbers(strings)
    known = numbers[~np.isnan(numbers)]
    if len(known) < _MOSTLY * len(strings) or len(np.unique(known)) <= _MOST_CODES:
        return False
    return not strings.str.fullmatch(r"0\d+").any()  # codes such as 007


def _check_numbers(name: str, sides: Sequence[pd.Series], notes: list[str]) -> None:
    """A table may write missing values in its own way; one that holds words is something else."""
    for column in filter(values.is_text, sides):
        numbers = values.as_numbers(column)
        lost = int(np.isnan(numbers).sum() - column.isna().sum())
        if lost > len(column) / 2:
            example = str(column[np.isnan(numbers) & column.notna().to_numpy()].iloc[0])
            raise TableError(
                f"The column {name!r} must hold numbers in both tables, or strings in both, "
                f"but holds numbers in one and strings such as {example!r} in the other: "
                "convert it, or leave it out."
            )
        if lost:
            entries = "1 entry" if lost == 1 else f"{lost} entries"
            notes.append(f"Not numbers, and taken for missing values: {entries} of {name!r}.")


def _category(name: str, strings: pd.Series, notes: list[str]) -> Column:
    """Categories of strings: the most frequent, in the order of their names."""
    counts = strings.value_counts().sort_index().sort_values(ascending=False, kind="stable")
    kept = counts.index[:MOST_CATEGORIES]
    if len(counts) > len(kept):
        notes.append(
            f"{name!r} has {len(counts)} categories; the {MOST_CATEGORIES} most frequent are used."
        )
    return Column(name, tuple(sorted(map(str, kept))))


def listed(names: Sequence[str], most: int = 5) -> str:
    """Name some things in a sentence.

    Parameters
    ----------
    names : sequence of str
        Their names.
    most : int, default=5
        How many to name; the others are counted.

    Returns
    -------
    str
        With commas.
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
