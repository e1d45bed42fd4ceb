"""Entries of a column: as numbers, as strings, and which of them they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ilspace.tables.errors import TableError

if TYPE_CHECKING:
    import pandas as pd

_DATE = (
    r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3\d{4})"
    r"([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|[AaPp][Mm]|[+-]\d{2}:?\d{2})?)?"
)
"""Year first or last, and perhaps a time of day."""

MISSING = (
    *("", "?", "None", "none", "null", "NULL", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>"),
    *("nan", "NaN", "NAN", "-nan", "-NaN"),
)
"""What stands for a missing value in a text file."""

DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
"""A number as much of the world writes it."""

COMMAS_IN_NUMBER = re.compile(rf"{DECIMAL_COMMA.pattern}|[+-]?\d{{1,3}}(,\d{{3}})+(\.\d+)?")
"""The same, or with thousands set apart."""

LARGEST = 1e60
"""Larger numbers count as missing, as infinity does: their squares could not be added up."""


def is_number(text: str) -> bool:
    """Tell whether a string can be read as a number.

    Parameters
    ----------
    text : str
        Any.

    Returns
    -------
    bool
        True for what `float` takes.
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def has_fractions(column: pd.Series) -> bool:
    """Tell whether a column measures something, as whole numbers need not.

    Parameters
    ----------
    column : Series
        Of any type.

    Returns
    -------
    bool
        True for numbers that are not all whole.
    """
    return column.dtype.kind == "f" and bool((column.dropna() % 1 != 0).any())


def is_text(column: pd.Series) -> bool:
    """Tell strings from numbers and dates.

    Parameters
    ----------
    column : Series
        Of any type.

    Returns
    -------
    bool
        True for strings and categories; False for booleans, which are 0 and 1.
    """
    from pandas.api import types

    if types.is_numeric_dtype(column) or types.is_datetime64_any_dtype(column):
        return False
    # with missing values these are objects
    return types.infer_dtype(column, skipna=True) not in ("boolean", "decimal")


def are_dates(column: pd.Series) -> bool:
    """Tell dates, as dates or as strings, from other columns.

    Parameters
    ----------
    column : Series
        Of any type.

    Returns
    -------
    bool
        True for dates, with or without a time of day, and missing values.
    """
    from pandas.api import types

    if types.is_datetime64_any_dtype(column):
        return True
    if not is_text(column):
        return False
    strings = as_strings(column).dropna()
    return len(strings) > 0 and bool(strings.str.fullmatch(_DATE).all())


def as_table(table: pd.DataFrame) -> pd.DataFrame:
    """A table whose column names are strings.

    Parameters
    ----------
    table : DataFrame
        Columns may be numbered.

    Returns
    -------
    DataFrame
        The same, or one with names.
    """
    if not hasattr(table, "columns"):
        raise TypeError(
            f"A table must be a pandas DataFrame, but is a {type(table).__name__}: wrap it as "
            "pandas.DataFrame(rows)."
        )
    names = [str(each) for each in table.columns]
    check_names(names, "the table")
    return table if names == list(table.columns) else table.set_axis(names, axis=1)


def check_names(names: Sequence[str], table: str) -> None:
    """Refuse two columns of one name.

    Parameters
    ----------
    names : sequence of str
        Of the columns.
    table : str
        What to call the table.
    """
    if len(set(names)) < len(names):
        name, count = Counter(names).most_common(1)[0]
        raise TableError(
            f"The columns of {table} must have different names, but {name!r} occurs {count} times: "
            "rename them."
        )


def as_numbers(column: pd.Series) -> np.ndarray:
    """Numbers of a column, NaN where there is none.

    Parameters
    ----------
    column : Series
        Numbers, booleans, or strings of numbers.

    Returns
    -------
    ndarray of shape (n,)
        In double precision; infinity counts as missing, and so do numbers beyond `LARGEST`.
    """
    import pandas as pd

    if column.dtype.kind in "mM":  # no number of nanoseconds
        return np.full(len(column), np.nan)
    try:
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    except OverflowError:  # digits of a whole number that no float holds
        entries = replaced(column, str, missing="nan")
        numbers = np.array([float(each) if is_number(each) else np.nan for each in entries])
    return without_giants(numbers)


def without_giants(numbers: np.ndarray) -> np.ndarray:
    """Numbers that can be calculated with, NaN for others.

    Parameters
    ----------
    numbers : ndarray
        In double precision.

    Returns
    -------
    ndarray
        Of the same shape.
    """
    return np.where(np.abs(numbers) <= LARGEST, numbers, np.nan)


def as_strings(column: pd.Series) -> pd.Series:
    """Strings of a column, None for a missing value.

    Parameters
    ----------
    column : Series
        Of any type.

    Returns
    -------
    Series of object
        Without spaces around; an empty string is missing.
    """
    import pandas as pd

    strings = replaced(column, lambda entry: str(entry).strip() or None, missing=None)
    return pd.Series(strings, index=column.index, dtype=object)


def replaced(column: pd.Series, change: Callable[[Any], Any], *, missing: Any) -> np.ndarray:
    """Entries of a column, each replaced by another.

    Parameters
    ----------
    column : Series
        Of any type.
    change : callable
        From an entry that is not missing to what replaces it.
    missing : object
        What replaces a missing one.

    Returns
    -------
    ndarray of object, shape (n,)
        What replaces them.
    """
    known = column.notna().to_numpy()
    entries = np.full(len(column), missing, dtype=object)
    entries[known] = [change(each) for each in column[known].tolist()]
    return entries
