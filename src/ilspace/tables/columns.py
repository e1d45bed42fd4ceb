"""What the columns of two tables are: identifiers, features, numbers, texts, categories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ilspace.tables.column import Column
from ilspace.tables.errors import TableError
from ilspace.tables.free_text import are_free_text
from ilspace.tables.kinds import Empty, Number, are_mostly_numbers, learn_text, recognise
from ilspace.tables.sentences import AUTO
from ilspace.tables.values import are_dates, as_table, has_fractions, is_text

if TYPE_CHECKING:
    import pandas as pd

_FEWEST_NAMES = 10
"""Different strings that a column must hold to be taken for identifiers because of it."""

_FEWEST_DIFFERENT = 20
"""Different strings of a column in which some repeat, for the same."""

_IDENTIFIER = re.compile(r"(^|[_\W])(id|uuid|guid|key)$|^(row|index|unnamed: 0)$", re.IGNORECASE)
_CAMEL_IDENTIFIER = re.compile(r"[a-z]I[dD]$")
_ALWAYS_IDENTIFIER = re.compile(r"(^|[_\W])(id|ID|Id|uuid|guid)$|[a-z]I[dD]$")
_NUMBERED = re.compile(r"(\D*)(\d+)")


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
    text: Sequence[str] = (),
    text_features: str = AUTO,
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
    text : sequence of str
        Columns of free text; others are found by their values.
    text_features : {"auto", "tfidf", "wordllama", "both"}
        What describes free text; ``"auto"``: both, if the package wordllama can be loaded,
        and else TF-IDF.
    matching : {"auto", "by-name", "none"}
        ``"by-name"``: the features are the columns that both tables have. ``"none"``: each table
        has its own. ``"auto"``: by name, unless the tables have no name in common, or number their
        columns up to different ends.

    Returns
    -------
    ColumnPlan
        The features of each table, in the order of the source.
    """
    source, target = as_table(source), as_table(target)
    for name in (*ids, *ignored, *text):
        if name in text and name in {*ids, *ignored}:
            raise TableError(
                f"A column of text must not be left out, but {name!r} is also an identifier, or "
                "ignored: name it once."
            )
        if name not in source.columns and name not in target.columns:
            raise TableError(
                f"A column {name!r} must be in a table, but is in none: check the name."
            )
    notes: list[str] = []
    found, named = list(ids), {*ids, *ignored, *text}
    numbers = _plain_numbers([source, target])
    for name in dict.fromkeys([*target.columns, *source.columns]):
        if name in named or (name in numbers and not is_called_identifier(name)):
            continue
        if _names_rows(name, [table[name] for table in (source, target) if name in table.columns]):
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
        first = second = _columns(
            "The tables must share", [source, target], shared, text, text_features, notes
        )
    else:
        first = _columns("The source must have", [source], source_names, text, text_features, notes)
        second = _columns(
            "The target must have", [target], target_names, text, text_features, notes
        )
    kept_ids = tuple(each for each in target.columns if each in found)
    return ColumnPlan(first, second, kept_ids, are_shared, tuple(notes))


def _names_rows(name: str, sides: Sequence[pd.Series]) -> bool:
    """Tell identifiers: called so, or strings, most of them different, that are no sentences."""
    are_unique = all(len(each) > 1 and each.is_unique for each in sides)
    if is_called_identifier(name):
        may_repeat = _ALWAYS_IDENTIFIER.search(name) is not None  # patients, say, who come twice
        return (are_unique or may_repeat) and not any(map(has_fractions, sides))
    if not are_unique and not all(map(_are_mostly_different, sides)):
        return False
    if max(map(len, sides)) < _FEWEST_NAMES:
        return False
    are_strings = all(is_text(each) and not are_mostly_numbers(each) for each in sides)
    return are_strings and not are_free_text(sides) and not all(map(are_dates, sides))


def _are_mostly_different(column: pd.Series) -> bool:
    """Tell names with a few repeats, such as those of cars, from categories."""
    if not is_text(column):
        return False
    known = column.dropna()
    return int(known.nunique()) > max(_FEWEST_DIFFERENT, len(known) / 2)


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
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return None
    return str(prefixes.pop()), numbers[-1]


def _common(source: list[str], target: list[str], notes: list[str]) -> list[str]:
    both = set(source).intersection(target)
    shared = [each for each in source if each in both]
    for names, table in ((source, "source"), (target, "target")):
        others = [each for each in names if each not in both]
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
    rule: str,
    tables: Sequence[pd.DataFrame],
    names: Sequence[str],
    text: Sequence[str],
    text_features: str,
    notes: list[str],
) -> tuple[Column, ...]:
    """Find the kind of each column, and leave out what is no feature."""
    columns: list[Column] = []
    left_out: dict[str, list[str]] = {}
    numbers = _plain_numbers(tables)
    for table in tables:
        have_values = table[[each for each in names if each in numbers]].notna().any()
        numbers &= set(have_values.index[have_values])
    for name in names:
        if name in numbers and name not in text:
            columns.append(Number(name))
            continue
        sides = [table[name] for table in tables]
        if name in text:
            found = Empty.recognise(name, sides, notes)
            found = found or learn_text(name, sides, notes, text_features=text_features)
        else:
            found = recognise(name, sides, notes, text_features=text_features)
        if isinstance(found, str):
            left_out.setdefault(found, []).append(name)
        else:
            columns.append(found)
    notes += [f"{why}, and left out: {listed(each)}." for why, each in left_out.items()]
    if not columns:
        raise TableError(
            f"{rule} a column of features with values, but {'have' if tables[1:] else 'has'} none: "
            "check the file, and the names of the label and of identifiers."
        )
    return tuple(columns)


def _plain_numbers(tables: Sequence[pd.DataFrame]) -> set[str]:
    """Columns of NumPy's numbers in each table that has them, told without reading an entry."""
    found, others = set(), set()
    for table in tables:
        for name, dtype in zip(table.columns, table.dtypes, strict=True):
            is_plain = isinstance(dtype, np.dtype) and dtype.kind in "fiub"
            (found if is_plain else others).add(name)
    return found - others


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
