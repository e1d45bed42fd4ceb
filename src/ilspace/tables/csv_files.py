"""Tables in text files: find out how one is written, and read it."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from ilspace.tables import values
from ilspace.tables.columns import is_called_identifier
from ilspace.tables.values import MISSING, TableError, is_number

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = (",", ";", "\t", "|")

_SAMPLE, _LARGEST_SAMPLE = 2**20, 2**28
"""Bytes of a file that are looked at before it is read, and where lines are long."""

_SAMPLE_LINES, _SAMPLE_ROWS = 5, 200
"""Lines that the sample holds at least, and rows of it that are looked at."""

_LONGEST_FIELD = 2**30
"""Characters of a field: a wide line is one where its separator is not found yet."""

_FEWEST_ROWS = 5
"""Rows without a number from which on it is no chance that each holds all names of columns."""

_MARK = "="
"""Put before strings while they are read. No missing value begins with it, so that one list of
missing values serves all columns; pandas takes seconds for one list per column of a wide table."""

_SURPLUS = "\0surplus"
"""Column for entries beyond the last name; pandas drops some of them otherwise."""

_LEADING_ZERO = re.compile(r"0\d+")
_BOOLEANS = frozenset(("True", "TRUE", "true", "False", "FALSE", "false"))


def csv_blocks(
    stream: BinaryIO, name: str, *, string_columns: Sequence[str], n_rows: int | None
) -> Iterator[pd.DataFrame]:
    """Read a text file.

    Parameters
    ----------
    stream : file
        Bytes, at the beginning.
    name : str
        What to call it.
    string_columns : sequence of str
        Columns to keep as they are written.
    n_rows : int or None
        Maximum number of rows per block; None for the whole file.

    Yields
    ------
    DataFrame
        Some rows; in columns of strings, missing values are still the words for them.
    """
    import pandas as pd

    separator, decimal, names, texts = _dialect(stream, name, string_columns)
    stream.seek(0)
    # Whether a column identifies rows is known once all of it is seen; by then 0012 would be 12.
    doubtful = {each for each in names if n_rows is None and is_called_identifier(each)}
    strings = {*string_columns, *texts, *doubtful}.intersection(names)
    options: dict[str, Any] = {"sep": separator, "decimal": decimal, "names": [*names, _SURPLUS]}
    options |= {"header": None, "skiprows": 1, "index_col": False, "skipinitialspace": True}
    options |= {"keep_default_na": False, "na_values": [*MISSING], "low_memory": False}
    options |= {"converters": dict.fromkeys([*strings, _SURPLUS], _MARK.__add__)}
    options |= {"encoding": "utf-8-sig", "chunksize": n_rows, "iterator": True}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        options["float_precision"] = "round_trip"  # it rounds numbers otherwise
    with pd.read_csv(stream, **options) as blocks:
        for block in blocks:
            surplus = _unmarked(block.pop(_SURPLUS))
            if surplus.any():
                line = surplus.index[surplus != ""][0] + 2
                raise pd.errors.ParserError(
                    f"Expected {len(names)} fields in line {line}, saw more"
                )
            # the copy joins the columns that pandas read one by one
            table = block.copy().assign(**{each: _unmarked(block[each]) for each in strings})
            for each in doubtful.difference(string_columns):
                table[each] = _as_written_or_numbers(table[each])
            yield table


def _unmarked(column: pd.Series) -> pd.Series:
    """Strings without spaces around them; a line that ends early has empty ones."""
    return column.fillna(_MARK).str[len(_MARK) :].str.strip().astype(object)


def _as_written_or_numbers(column: pd.Series) -> pd.Series:
    """Strings of a column that may identify rows; its numbers, if it does not."""
    import pandas as pd

    missing = column.isin(MISSING)
    numbers = pd.Series(values.as_numbers(column.mask(missing)), index=column.index)
    are_numbers = numbers.notna().equals(~missing)
    is_measured = not column.is_unique or values.has_fractions(numbers)
    return numbers if are_numbers and is_measured else column


def _dialect(
    stream: BinaryIO, name: str, string_columns: Sequence[str]
) -> tuple[str, str, list[str], list[str]]:
    """Separator, decimal sign, names of the columns, and which of them hold strings."""

    def refuse(flaw: str) -> TableError:
        rule = "must begin with a line of column names"
        return TableError(f"{name} {rule}, but {flaw}: add a line of names.")

    rows, separator = _first_rows(stream, name)
    if not rows or not any(each.strip() for each in rows[0]):
        raise refuse("begins with an empty line" if len(rows) > 1 else "is empty")
    # a column of row numbers often has no name
    names = [each.strip() or f"Unnamed: {i}" for i, each in enumerate(rows.pop(0))]
    whole = [row for row in rows if len(row) == len(names)] or [[""] * len(names)]
    columns = {
        key: [each.strip() for each in column if each.strip() not in MISSING]
        for key, column in zip(names, zip(*whole, strict=True), strict=True)
    }
    if _looks_like_a_row(columns):
        found = f"its first line looks like a row ({', '.join(names)[:60]})"
        raise refuse(f"the header seems missing: {found}")
    values.check_names(names, name)
    if all(map(is_number, names)) and names != [str(i) for i in range(len(names))]:
        raise refuse("begins with numbers")
    if rows and any(each.strip() for each in rows[0][len(names) :]):
        raise TableError(
            f"{name} must have as many names in the first line as entries in the second, but has "
            f"{len(names)} names and {len(rows[0])} entries: mend the first line."
        )
    for each in string_columns:  # labels such as "0." say nothing about numbers
        columns.pop(each, None)
    with_points = {key: [each.replace(",", ".", 1) for each in columns[key]] for key in columns}
    votes = 0
    for key, entries in columns.items():
        if all(map(is_number, with_points[key])):
            votes += any(map(values.DECIMAL_COMMA.fullmatch, entries))
            votes -= any("." in each for each in entries) and all(map(is_number, entries))
    decimal = "," if separator != "," and votes > 0 else "."
    texts = [
        key
        for key, entries in (with_points if decimal == "," else columns).items()
        if any(map(_LEADING_ZERO.fullmatch, entries))
        or not (all(map(is_number, entries)) or _BOOLEANS.issuperset(entries))
    ]
    return separator, decimal, names, texts


def _looks_like_a_row(columns: dict[str, list[str]]) -> bool:
    """Tell a first line that is no header: its entries are what their columns hold."""
    n_numbers = n_found = n_strings = 0
    for name, entries in columns.items():
        if entries and all(map(is_number, entries)):
            if not is_number(name) and name not in MISSING:
                return False
            n_numbers += 1
        elif entries:
            n_strings += 1
            n_found += name in entries
    if n_numbers:  # numbers alone may be names of columns; see what is said of them
        return n_strings > 0 and 2 * n_found >= n_strings
    return max(map(len, columns.values())) >= _FEWEST_ROWS and 0 < n_strings == n_found


def _first_rows(stream: BinaryIO, name: str) -> tuple[list[list[str]], str]:
    """The first rows, and the separator that makes most columns, as many in each row."""
    sample, size = stream.read(_SAMPLE), _SAMPLE
    while len(sample) == size and sample.count(b"\n") < _SAMPLE_LINES and size < _LARGEST_SAMPLE:
        sample += stream.read(size)
        size *= 2
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise TableError(f"{name} must be UTF-8, but is UTF-16: save it as UTF-8.")
    if b"\0" in sample:
        raise TableError(
            f"{name} must be CSV, Parquet, NPZ or MAT, but holds other binary data: check the path."
        )
    # incremental, as the sample may end within a character
    text = codecs.getincrementaldecoder("utf-8-sig")().decode(sample)

    def rows(separator: str, n: int) -> list[list[str]]:
        lines = io.StringIO(text, newline="")
        reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
        return list(itertools.islice(reader, n))

    def columns(separator: str) -> tuple[bool, int]:
        widths = [len(row) for row in rows(separator, 20)]
        # rows may end early, or a last one be cut off
        agree = widths.count(widths[0]) > len(widths) / 2 if widths else False
        return agree and widths[0] > 1, widths[0] if widths else 0

    limit = csv.field_size_limit(_LONGEST_FIELD)
    try:
        separator = max(SEPARATORS, key=columns)
        first = rows(separator, _SAMPLE_ROWS + 1)
    finally:
        csv.field_size_limit(limit)
    is_cut = len(first) <= _SAMPLE_ROWS and len(sample) == size
    return first[: -1 if is_cut else None], separator
