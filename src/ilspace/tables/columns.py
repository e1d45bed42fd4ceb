"""Which columns of two tables are features, and of what kind the tables are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ilspace.tables.values import (
    COMMAS_IN_NUMBER,
    LARGEST,
    TableError,
    as_numbers,
    as_strings,
    as_table,
    has_fractions,
    is_number,
    is_text,
    listed,
)

if TYPE_CHECKING:
    import pandas as pd

WIDE = 50
"""Numeric columns from which on a table may be features of one kind."""

_MISSING_GAP = 0.4
"""Difference of the shares of missing values beyond which a column is left out."""

_FEW_LEVELS = 40
"""Levels up to which a column is a category, as in skrub's TableVectorizer."""

_MOSTLY = 0.8
"""Share of the strings of a column that must be numbers, for the others to count as missing."""

_MOST_CODES = 20
"""Different numbers that may still be codes of categories."""

_FEWEST_NAMES = 10
"""Different strings that a column must hold to be an identifier by its values alone."""

_IDENTIFIER = re.compile(r"(^|[_\W])(id|uuid|guid|key)$|^(row|index|unnamed: 0)$", re.IGNORECASE)
_CAMEL_IDENTIFIER = re.compile(r"[a-z]I[dD]$")
_NUMBERED = re.compile(r"(\D*)(\d+)")

_FEWEST_WORDS = 4
"""Median number of words from which on different strings are texts, and no names of rows."""


@dataclass(frozen=True)
class ColumnPlan:
    """What is done with the columns of two tables.

    Attributes
    ----------
    kind : {"table", "features"}
        Mixed columns, or numbers of one kind.
    source, target : dict of str to {"number", "date", "string"}
        Features of each table and what they hold; the same where the columns are shared.
    texts : tuple of str
        Features that are free text.
    ids : tuple of str
        Columns of the target that are copied to the predictions.
    are_shared : bool
        Whether columns of the same name mean the same in both tables.
    notes : tuple of str
        What was decided without being asked, one sentence each.
    """

    kind: str
    source: dict[str, str]
    target: dict[str, str]
    texts: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    are_shared: bool = True
    notes: tuple[str, ...] = ()

    @property
    def as_written(self) -> tuple[str, ...]:
        """Columns of the target to read as strings: identifiers, categories and texts."""
        return (*self.ids, *(name for name, held in self.target.items() if held == "string"))

    def prepare(self, table: pd.DataFrame, domain: str = "target") -> Any:
        """Features of a table, each of its type.

        Parameters
        ----------
        table : DataFrame
            Rows of one domain, columns in any order.
        domain : {"target", "source"}, default="target"
            Which one.

        Returns
        -------
        DataFrame, or ndarray of shape (n, n_features) where all features are numbers
            NaN for missing values.
        """
        import pandas as pd

        table, held = as_table(table), self.target if domain == "target" else self.source
        missing = [name for name in held if name not in table.columns]
        if missing:
            raise TableError(
                f"The table must have the column {missing[0]!r} that the model was trained with, "
                f"but lacks it{f' and {len(missing) - 1} others' if len(missing) > 1 else ''}: add "
                "it (empty, if its values are unknown)."
            )
        if all(each == "number" for each in held.values()):
            return _numbers_of(table[list(held)])
        rows = table[list(held)].reset_index(drop=True)  # some of the rows have an index of theirs
        return pd.DataFrame({name: _READERS[each](rows[name]) for name, each in held.items()})


def _numbers_of(table: pd.DataFrame) -> np.ndarray:
    """Numbers of all columns; those that NumPy holds at once, as there may be thousands."""
    values = np.empty(table.shape)
    plain = np.array([isinstance(each, np.dtype) and each.kind in "fiub" for each in table.dtypes])
    with np.errstate(invalid="ignore"):
        found = table.loc[:, plain].to_numpy(dtype=float)
        values[:, plain] = np.where(np.abs(found) <= LARGEST, found, np.nan)
    for i in np.flatnonzero(~plain).tolist():
        values[:, i] = _read_numbers(table.iloc[:, i])
    return values


def _read_numbers(column: pd.Series) -> np.ndarray:
    numbers = as_numbers(column)
    if is_text(column):  # entry by entry, as a table may come in blocks: a word is missing, but
        words = as_strings(column)[np.isnan(numbers)].dropna()
        for entry in words.unique():
            if COMMAS_IN_NUMBER.fullmatch(entry):  # this is a number
                raise TableError(
                    f"The column {column.name!r} must hold numbers, but has the entry {entry!r}: a "
                    "decimal comma must be a point, and there is no thousands separator."
                )
        if np.isnan(numbers).all() and _are_dates(words):
            raise TableError(
                f"The column {column.name!r} must hold numbers, as in training, but holds dates: "
                "check the file."
            )
    return numbers


def _read_dates(column: pd.Series) -> Any:
    import pandas as pd

    return pd.to_datetime(column, errors="coerce", format="mixed", utc=True).dt.tz_localize(None)


_READERS = {"number": _read_numbers, "date": _read_dates, "string": as_strings}


def plan_columns(
    source: pd.DataFrame,
    target: pd.DataFrame | None,
    *,
    kind: str = "auto",
    matching: str = "auto",
    ids: Sequence[str] = (),
    ignored: Sequence[str] = (),
    keep: Sequence[str] = (),
    text: Sequence[str] = (),
) -> ColumnPlan:
    """Find the features of two tables.

    Of columns that both tables have, those are left out that name the rows; whose share of missing
    values differs by more than 40 points; and categories of at most 40 levels most of which the
    source lacks. A column holds numbers, dates or strings in both tables.

    Tables are features of one kind if all features are numbers, and these are called ``x0``,
    ``x1``, … as in matrices and features of pictures, or are 50 or more that have numbered names
    or share one range. All else is a table of mixed columns. Labels play no part.

    Parameters
    ----------
    source, target : DataFrame
        The tables; the target may be None.
    kind : {"auto", "table", "features"}
        Overrules what the tables are taken for.
    matching : {"auto", "by-name", "none"}
        ``"by-name"``: the features are the columns that both tables have. ``"none"``: each table
        has its own. ``"auto"``: by name, unless the tables have no name in common, or number their
        columns up to different ends.
    ids, ignored, keep, text : sequence of str
        Columns that identify rows; to leave out; to keep whatever they look like; of free text.

    Returns
    -------
    ColumnPlan
        In the order of the source.
    """
    tables = [as_table(each) for each in (source, target) if each is not None]
    _check_named(tables, ids=ids, ignored=ignored, keep=keep, text=text)
    notes: list[str] = []
    chosen = {*keep, *text}
    spare = [*ids, *ignored]
    found = _identifiers(tables, {*spare, *chosen}, notes)
    names = [
        [str(each) for each in table.columns if each not in {*spare, *found}] for table in tables
    ]
    if matching == "auto":
        matching = "none" if _are_unrelated(names[0], names[-1]) else "by-name"
        if matching == "none" and not set(names[0]).isdisjoint(names[-1]):
            notes.append("Columns are numbered, up to different ends, and not matched by name.")
    are_shared = matching == "by-name"
    groups = [([table], own) for table, own in zip(tables, names, strict=True)]
    if are_shared and len(tables) > 1:
        groups = [(tables, _common(names[0], names[1], notes))]
    held = [_features(sides, own, chosen, notes) for sides, own in groups]
    for name in text:
        if any(one.get(name, "string") != "string" for one in held):
            raise TableError(
                f"A column of text must hold strings, but {name!r} holds numbers or dates: take it "
                "out of --text."
            )
    texts = tuple(
        name
        for name in held[-1]
        if name in text or (held[-1][name] == "string" and are_texts(tables[-1][name]))
    )
    if kind == "auto":
        kind = "features" if all(map(_are_features, groups, held)) else "table"
    elif kind == "features" and any(each != "number" for one in held for each in one.values()):
        name = next(name for one in held for name, each in one.items() if each != "number")
        raise TableError(
            f"Features of one kind must be numbers, but the column {name!r} is not: leave it out "
            "with --ignore, or use --kind table."
        )
    kept = tuple(each for each in tables[-1].columns if each in {*ids, *found})
    return ColumnPlan(kind, held[0], held[-1], texts, kept, are_shared, tuple(notes))


def _check_named(tables: Sequence[pd.DataFrame], **named: Sequence[str]) -> None:
    """Refuse names of columns that are in no table, or that are given two meanings."""
    for option, names in named.items():
        for name in names:
            if not any(name in table.columns for table in tables):
                raise TableError(
                    f"A column {name!r} must be in a table, but is in none: check the name."
                )
            others = ("ids", "ignored") if option in ("keep", "text") else ()
            if any(name in named[each] for each in others):
                raise TableError(
                    f"A column must not be both used and left out, but {name!r} is: name it once."
                )


def _identifiers(
    tables: Sequence[pd.DataFrame], named: set[str], notes: list[str]
) -> dict[str, None]:
    """Columns that identify the rows of all tables that have them, by name or by value."""
    found = {}
    plain = list(map(_plain_numbers, tables))
    for name in dict.fromkeys(str(each) for table in reversed(tables) for each in table.columns):
        if name in named:
            continue
        is_called = is_called_identifier(name)
        sides = [each for each in range(len(tables)) if name in tables[each].columns]
        if not is_called and any(name in plain[each] for each in sides):
            continue
        columns = [tables[each][name] for each in sides]
        if not all(len(each) > 1 and each.is_unique for each in columns):
            continue
        if (
            is_called
            and not any(map(has_fractions, columns))
            or not is_called
            and max(map(len, columns)) >= _FEWEST_NAMES
            and all(map(_are_names, columns))
        ):
            found[name] = None
    if found:
        notes.append(f"Taken for identifiers, and copied to the predictions: {listed([*found])}.")
    return found


def is_called_identifier(name: str) -> bool:
    """Tell whether a column has a name that identifiers have.

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


def _are_names(column: pd.Series) -> bool:
    """Tell different strings that are neither numbers, dates nor texts."""
    if not is_text(column):
        return False
    return _held_by([column]) == "string" and not are_texts(column) and not _are_dates(column)


def are_texts(column: pd.Series) -> bool:
    """Tell sentences from names and categories.

    Parameters
    ----------
    column : Series
        Strings.

    Returns
    -------
    bool
        True where more than half of the entries differ, and half of them have four words or more.
    """
    strings = as_strings(column).dropna()
    if strings.nunique() <= max(_FEWEST_NAMES, len(strings) / 2):
        return False
    return float(strings.iloc[:1000].str.count(r"\S+").median()) >= _FEWEST_WORDS


def _features(
    sides: Sequence[pd.DataFrame], names: Sequence[str], chosen: set[str], notes: list[str]
) -> dict[str, str]:
    """What each column holds in all tables that have it, without those that are no features."""
    held: dict[str, str] = {}
    left_out: dict[str, list[str]] = {}
    plain = set.intersection(*map(_plain_numbers, sides))
    missing = np.array([_missing_shares(table[list(names)]) for table in sides])
    for name, shares in zip(names, missing.T, strict=True):
        why, found = "", "number"
        if shares.min() == 1 or (shares.max() == 1 and name not in chosen):
            why = "Without any value in a table"
        elif name not in chosen and np.ptp(shares) > _MISSING_GAP:
            why = "Missing far more often in one table than in the other"
        elif name not in plain:
            columns = [table[name] for table in sides]
            found = _held_by(columns, notes)
            if found == "string" and name not in chosen:
                why = _unlike(name, columns)
        if why:
            left_out.setdefault(why, []).append(name)
        else:
            held[name] = found
    notes += [f"{why}, and left out: {listed(each)}." for why, each in left_out.items()]
    if not held:
        raise TableError(
            "The tables must have a column of features with values, but have none: check the "
            "files, and the names of the label and of identifiers."
        )
    return held


def _missing_shares(table: pd.DataFrame) -> np.ndarray:
    """Share of the missing values of each column, too large numbers among them."""
    shares, known = np.array(table.isna().mean()), _plain_numbers(table)
    plain = [name in known for name in table.columns]
    if any(plain):
        shares[plain] = np.isnan(_numbers_of(table.loc[:, plain])).mean(axis=0)
    return shares


def _held_by(columns: Sequence[pd.Series], notes: list[str] | None = None) -> str:
    """What a column holds in all of some tables: the type that fits most entries of each."""
    columns = [each for each in columns if each.notna().any()] or columns
    if not any(is_text(each) for each in columns):
        return "date" if all(each.dtype.kind == "M" for each in columns) else "number"
    name, strings = columns[0].name, [each for each in columns if is_text(each)]
    entries = [as_strings(each).dropna() for each in strings]
    lost = [each[np.isnan(as_numbers(each))] for each in entries]
    if any(len(each) for each in entries) and not any(map(_are_codes, entries)):
        few = all(
            len(no) <= (1 - _MOSTLY) * len(each) for no, each in zip(lost, entries, strict=True)
        )
        if few and (len(strings) < len(columns) or _are_many_numbers(entries)):
            n_lost = sum(map(len, lost))
            if n_lost and notes is not None:
                said = "1 entry" if n_lost == 1 else f"{n_lost} entries"
                notes.append(f"Not numbers, and taken for missing values: {said} of {name!r}.")
            return "number"
    if any(each.dtype.kind == "M" for each in columns) and all(map(_are_dates, strings)):
        return "date"
    if len(strings) < len(columns) and notes is not None:
        notes.append(f"Numbers in one table and words in the other, taken for categories: {name}.")
    return "string"


def _are_codes(strings: pd.Series) -> bool:
    return bool(strings.str.fullmatch(r"0\d+").any())  # such as 007


def _are_many_numbers(entries: Sequence[pd.Series]) -> bool:
    """Tell measurements from categories that happen to be numbers, where all are strings."""
    return all(
        len(np.unique(as_numbers(each)[~np.isnan(as_numbers(each))])) > _MOST_CODES
        for each in entries
    )


def _are_dates(column: pd.Series) -> bool:
    strings = as_strings(column).dropna().iloc[:1000]
    if not len(strings) or strings.str.contains(r"\d\D\d").mean() < _MOSTLY:
        return False
    try:
        return bool(_read_dates(strings).notna().mean() >= _MOSTLY)
    except (ValueError, TypeError, OverflowError):
        return False


def _unlike(name: str, columns: Sequence[pd.Series]) -> str:
    """Why a column of strings is no feature of a pair; empty if it is one."""
    strings = [as_strings(each).dropna() for each in columns]
    levels = [each.unique() for each in strings]
    odd = [each for each in {*levels[0], *levels[-1]} if COMMAS_IN_NUMBER.fullmatch(each)]
    if len(odd) > _MOST_CODES and all(map(is_number, {*levels[0], *levels[-1]}.difference(odd))):
        raise TableError(
            f"The column {name!r} must hold numbers or categories, but holds numbers with commas, "
            f"such as {odd[0]!r}: write decimal points, and no thousands separator."
        )
    if max(map(len, levels)) > _FEW_LEVELS or are_texts(strings[-1]):
        return ""
    seen = strings[-1].isin(levels[0]).mean() if len(strings[-1]) else 0.0
    return "Mostly of categories that the source lacks" if seen < 0.5 else ""


def _plain_numbers(table: pd.DataFrame) -> set[str]:
    """Columns of NumPy's numbers, told without reading an entry."""
    types = zip(table.columns, table.dtypes, strict=True)
    return {name for name, each in types if isinstance(each, np.dtype) and each.kind in "fiub"}


def _are_features(
    group: tuple[Sequence[pd.DataFrame], Sequence[str]], held: dict[str, str]
) -> bool:
    """Tell numbers of one kind, as matrices and features of pictures are."""
    if any(each != "number" for each in held.values()):
        return False
    names = group[1]
    if list(names) == [f"x{i}" for i in range(len(names))]:
        return True
    if len(held) < WIDE:
        return False
    if len({each and each[1] for each in map(_NUMBERED.fullmatch, held)} - {None}) == 1:
        return all(map(_NUMBERED.fullmatch, held))
    return all(share_range(_numbers_of(table[list(held)])) for table in group[0])


def share_range(values: np.ndarray, *, share: float = 0.5) -> bool:
    """Tell columns of one unit that saturates, such as pixels.

    Parameters
    ----------
    values : ndarray of shape (n, d)
        Numbers, NaN where they are missing.
    share : float, default=0.5
        Share of the columns that must reach the largest number of all.

    Returns
    -------
    bool
        True for numbers from 0 on of which most columns have the same maximum.
    """
    known = np.nan_to_num(values, nan=0.0)
    tops = known.max(axis=0)
    return bool(known.min() >= 0 and tops.max() > 0 and np.mean(tops == tops.max()) >= share)


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
    for names, table in ((source, "source"), (target, "target")):
        others = [each for each in names if each not in both]
        if others:
            notes.append(f"Only in the {table}, and left out: {listed(others)}.")
    if not both:
        raise TableError(
            "The tables must have feature columns in common, but have none "
            f"(source: {listed(source)}; target: {listed(target)}): rename columns, or label a "
            "few target rows of each class."
        )
    return [each for each in source if each in both]
