"""Tables of any library as DataFrames, and entries of a column as numbers and as strings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_array

from ilspace.backend import on_host
from ilspace.domains.rows import quiet_checks

if TYPE_CHECKING:
    import pandas as pd

MISSING = (
    *("", "?", "None", "null", "NULL", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>"),
    *("nan", "NaN", "NAN", "-nan", "-NaN"),
)
"""Words that stand for a missing value, in every format; ``none`` may be a category."""

DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
"""A number as much of the world writes it."""

COMMAS_IN_NUMBER = re.compile(rf"{DECIMAL_COMMA.pattern}|[+-]?\d{{1,3}}(,\d{{3}})+(\.\d+)?")
"""The same, or with thousands separators."""

LARGEST = 1e38
"""Larger numbers count as missing, as infinity does: trees hold numbers in single precision."""


class TableError(ValueError):
    """What a table must be, what it is, and what to do, in one sentence."""


@contextmanager
def as_table_errors() -> Iterator[None]:
    """Raise a ValueError about rows as a TableError about their table.

    Yields
    ------
    None
        While an estimator checks the rows.
    """
    try:
        yield
    except TableError:
        raise
    except ValueError as error:
        raise TableError(" ".join(str(error).split())) from error


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


# -- tables --------------------------------------------------------------------------------------


def as_table(table: Any, name: str = "X") -> pd.DataFrame:
    """Make a DataFrame whose column names are strings.

    Parameters
    ----------
    table : DataFrame of pandas or polars, Arrow table, or array-like of shape (n, d)
        Rows; columns of a DataFrame may be numbered.
    name : str, default="X"
        What to call it in messages.

    Returns
    -------
    DataFrame
        The same if it is one; columns of an array are called ``x0``, ``x1``, …
    """
    import pandas as pd

    if hasattr(table, "__arrow_c_stream__") and not isinstance(table, pd.DataFrame):
        import pyarrow

        table = from_arrow(table.to_arrow() if hasattr(table, "to_arrow") else pyarrow.table(table))
    if not isinstance(table, pd.DataFrame):
        rows = on_host(table)
        if isinstance(rows, list | tuple):  # a common type of all entries would make strings of all
            rows = np.asarray(rows, dtype=object)
        with quiet_checks(rows, name):
            rows = check_array(rows, dtype=None, ensure_all_finite=False, input_name=name)
        return pd.DataFrame(rows, columns=numbered(rows.shape[1])).infer_objects()
    if not table.shape[1]:
        raise TableError(
            f"{name} must have columns, but has 0 feature(s) (shape={table.shape}) while a minimum "
            "of 1 is required: check how it was made."
        )
    names = [str(each) for each in table.columns]
    check_names(names, "the table")
    return table if names == list(table.columns) else table.set_axis(names, axis=1)


def numbered(n_columns: int) -> list[str]:
    """Names of the columns of a matrix.

    Parameters
    ----------
    n_columns : int
        How many.

    Returns
    -------
    list of str
        ``x0``, ``x1``, …
    """
    return [f"x{i}" for i in range(n_columns)]


def from_arrow(table: Any) -> pd.DataFrame:
    """Convert an Arrow table; integers stay exact where some are missing.

    Parameters
    ----------
    table : pyarrow.Table or pyarrow.RecordBatch
        Rows.

    Returns
    -------
    DataFrame
        With pandas' nullable integers where a column has missing values.
    """
    import pandas as pd
    from pyarrow.types import is_integer

    # without what pandas noted there: an index that it made of a column is a column again
    frame = table.to_pandas(ignore_metadata=True, date_as_object=False)
    for i, field in enumerate(table.schema):
        if is_integer(field.type) and table.column(i).null_count:
            nullable: Any = pd.api.types.pandas_dtype(
                str(field.type).replace("uint", "UInt").replace("int", "Int")
            )
            frame.isetitem(i, nullable.__from_arrow__(table.column(i)))
    return frame


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


# -- entries -------------------------------------------------------------------------------------


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
    """Tell whether a column holds numbers that are not whole.

    Parameters
    ----------
    column : Series
        Of any type.

    Returns
    -------
    bool
        True for floating-point numbers that are not all whole.
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
        entries = _replaced(column, str, missing="nan")
        numbers = np.array([float(each) if is_number(each) else np.nan for each in entries])
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
        Without spaces around; the words in `MISSING` are missing values.
    """
    import pandas as pd

    def read(entry: Any) -> str | None:
        string = _written(entry).strip()
        return None if string in MISSING else string

    return pd.Series(_replaced(column, read, missing=None), index=column.index, dtype=object)


def write_out(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Turn some columns into strings, as a text file has them.

    Parameters
    ----------
    table : DataFrame
        Rows; is not changed.
    names : sequence of str
        The columns; those that the table lacks are passed over.

    Returns
    -------
    DataFrame
        A missing value is an empty string.
    """
    kept = set(names).intersection(table.columns)
    return table.assign(**{each: _replaced(table[each], _written, missing="") for each in kept})


def _written(entry: Any) -> str:
    # 3.0, which missing values in a column make of 3, is 3 again
    return str(int(entry) if isinstance(entry, float) and entry.is_integer() else entry)


def _replaced(column: pd.Series, change: Callable[[Any], Any], *, missing: Any) -> np.ndarray:
    """Entries of a column as objects, changed one by one; `missing` for a missing one."""
    known = column.notna().to_numpy()
    entries = np.full(len(column), missing, dtype=object)
    entries[known] = [change(each) for each in column[known].tolist()]
    return entries
