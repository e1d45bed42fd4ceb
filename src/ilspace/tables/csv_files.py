"""Tables in text files: find out how one is written, and read it."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from ilspace.tables import values
from ilspace.tables.columns import is_called_identifier
from ilspace.tables.errors import TableError

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = (",", ";", "\t", "|")

_SAMPLE = 2**20
"""Bytes of a file that are looked at before it is read."""

_SAMPLE_LINES = 5
"""Lines that the sample holds at least, unless they are longer than all that is looked at."""

_LARGEST_SAMPLE = 2**28
"""Bytes that are looked at in search of them."""

_SAMPLE_ROWS = 200
"""Rows of it that are."""

_WIDE = 500
"""Columns from which on handling them one by one takes longer than a copy of the table."""

_MARK = "="
"""Put before entries of a wide table that are kept as they are written, while it is read."""

_LONGEST_FIELD = 2**30
"""Characters of a field: a wide line is one where its separator is not found yet."""

_FEWEST_ROWS = 5
"""Rows without a number from which on it is no chance that each holds all names of columns."""

_LEADING_ZERO = re.compile(r"0\d+")

_SURPLUS = "\0surplus"
"""Column that pandas before 3.1 is asked for besides; no name of a file holds a zero byte."""


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
        Some rows.
    """
    import pandas as pd

    separator, decimal, names, strings = _dialect(*_beginning(stream), name, string_columns)
    stream.seek(0)
    # Whether a column identifies rows is known once all of it is seen; by then 0012 would be 12.
    doubtful = [each for each in names if n_rows is None and is_called_identifier(each)]
    kept = {*string_columns, *strings, *doubtful}.intersection(names)
    options: dict[str, Any] = {
        "sep": separator,
        "decimal": decimal,
        "header": 0,
        "names": names,
        "encoding": "utf-8-sig",
        "keep_default_na": False,
        "skipinitialspace": True,
        "low_memory": False,
        "index_col": False,
    }
    if len(names) < _WIDE:
        options["dtype"] = dict.fromkeys(kept, str)
        options["na_values"] = {each: [*values.MISSING] for each in names if each not in kept}
    else:  # a dict of missing values takes pandas seconds; no missing value begins with a mark
        options["converters"] = dict.fromkeys(kept, _MARK.__add__)
        options["na_values"] = [*values.MISSING]
    is_old = _version(pd) < (3, 1)
    if is_old:  # it rounds numbers, and drops what is too much in the first line of a block
        options["float_precision"] = "round_trip"
        options |= {"names": [*names, _SURPLUS], "header": None, "skiprows": 1}
        options.setdefault("dtype", {})[_SURPLUS] = str
    if n_rows is None:
        table = _stripped(_as_many_entries(pd.read_csv(stream, **options), is_old), kept)
        for each in {*doubtful}.difference(string_columns):
            table[each] = _as_written_or_numbers(table[each])
        yield table
        return
    with pd.read_csv(stream, chunksize=n_rows, **options) as blocks:
        yield from (_stripped(_as_many_entries(block, is_old), kept) for block in blocks)


def _version(library: Any) -> tuple[int, ...]:
    return tuple(int(each) for each in library.__version__.split(".")[:2])


def _as_many_entries(table: pd.DataFrame, is_old: bool) -> pd.DataFrame:
    """The table without the column for what is too much in a line, which must hold nothing."""
    import pandas as pd

    if not is_old:
        return table
    surplus = table[_SURPLUS].fillna("").str.strip()
    if (surplus != "").any():
        n, row = table.shape[1] - 1, surplus.index[surplus != ""][0]
        raise pd.errors.ParserError(f"Expected {n} fields in line {row + 2}, saw more")
    return table.drop(columns=_SURPLUS)


def _stripped(table: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Strings without spaces around them; a line that ends early has empty ones."""
    is_wide = table.shape[1] >= _WIDE
    strings = {each: table[each].str[len(_MARK) :] if is_wide else table[each] for each in names}
    strings = {each: of.fillna("").str.strip().astype(object) for each, of in strings.items()}
    table = table.assign(**strings)
    if not is_wide:
        return table
    # a copy joins the columns, and each name is an object of its own no longer made anew
    return table.copy().set_axis(table.columns.astype(object), axis=1)


def _as_written_or_numbers(column: pd.Series) -> pd.Series:
    """Strings of a column that may identify rows; its numbers, if it does not."""
    import pandas as pd

    missing = column.isin(values.MISSING)
    numbers = pd.Series(values.as_numbers(column.mask(missing)), index=column.index)
    are_numbers = numbers.notna().sum() == (~missing).sum()
    if are_numbers and (not column.is_unique or values.has_fractions(numbers)):
        return numbers
    return column.mask(missing)


def _beginning(stream: BinaryIO) -> tuple[bytes, bool]:
    """Some lines, however long they are, and whether they are all."""
    sample, size = stream.read(_SAMPLE), _SAMPLE
    while len(sample) == size and sample.count(b"\n") < _SAMPLE_LINES and size < _LARGEST_SAMPLE:
        sample += stream.read(size)
        size *= 2
    return sample, len(sample) < size


def _dialect(
    sample: bytes, is_whole: bool, name: str, string_columns: Sequence[str]
) -> tuple[str, str, list[str], list[str]]:
    """Find out how a text file is written, from its beginning.

    Returns
    -------
    separator, decimal : str
        Between columns, and in numbers.
    names : list of str
        The columns.
    strings : list of str
        Columns of digits that are not numbers, such as 007.
    """
    rows, separator = _first_rows(_text(sample, name), is_whole=is_whole)
    if not rows or not any(each.strip() for each in rows[0]):
        raise TableError(
            f"{name} must begin with a line of column names, but "
            f"{'begins with an empty line' if len(rows) > 1 else 'is empty'}: check the file."
        )
    # a column of row numbers often has no name
    names = [each.strip() or f"Unnamed: {i}" for i, each in enumerate(rows.pop(0))]
    if _looks_like_a_row(names, [row for row in rows if len(row) == len(names)]):
        raise TableError(
            f"{name} must begin with a line of column names, but the header seems missing: its "
            f"first line looks like a row ({', '.join(names)[:60]}): add a line of names."
        )
    values.check_names(names, name)
    if all(map(values.is_number, names)) and names != [str(i) for i in range(len(names))]:
        raise TableError(
            f"{name} must begin with a line of column names, but begins with numbers: add a line "
            "of names."
        )
    if rows and any(each.strip() for each in rows[0][len(names) :]):
        raise TableError(
            f"{name} must have as many names in the first line as entries in the second, but has "
            f"{len(names)} names and {len(rows[0])} entries: mend the first line."
        )
    entries = list(zip(*(row for row in rows if len(row) == len(names)), strict=True))
    written = [
        [each.strip() for each in column if each.strip() not in values.MISSING]
        for column_name, column in zip(names, entries, strict=False)
        if column_name not in string_columns  # labels such as "0." say nothing about numbers
    ]
    n_comma = sum(
        any(map(values.DECIMAL_COMMA.fullmatch, column))
        and all(values.is_number(each.replace(",", ".", 1)) for each in column)
        for column in written
    )
    n_point = sum(
        any("." in each for each in column) and all(map(values.is_number, column))
        for column in written
    )
    decimal = "," if separator != "," and n_comma > n_point else "."
    strings = [
        column_name
        for column_name, column in zip(names, entries, strict=False)
        if any(_LEADING_ZERO.fullmatch(each.strip()) for each in column)
    ]
    return separator, decimal, names, strings


def _looks_like_a_row(names: list[str], rows: list[list[str]]) -> bool:
    """Tell a first line that is no header: its entries are what their columns hold."""
    n_numbers = n_found = n_strings = 0
    for name, column in zip(names, zip(*rows, strict=True), strict=False):
        entries = [each.strip() for each in column if each.strip() not in values.MISSING]
        if entries and all(map(values.is_number, entries)):
            if not values.is_number(name) and name not in values.MISSING:
                return False
            n_numbers += 1
        elif entries:
            n_strings += 1
            n_found += name in entries
    if n_numbers:  # numbers alone may be names of columns; see what is said of them
        return n_strings > 0 and 2 * n_found >= n_strings
    return len(rows) >= _FEWEST_ROWS and 0 < n_strings == n_found


def _text(sample: bytes, name: str) -> str:
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise TableError(f"{name} must be UTF-8, but is UTF-16: save it as UTF-8.")
    if b"\0" in sample:
        raise TableError(
            f"{name} must be CSV, Parquet, NPZ or MAT, but holds other binary data: check the path."
        )
    # incremental, as the sample may end within a character
    return codecs.getincrementaldecoder("utf-8-sig")().decode(sample)


def _first_rows(text: str, *, is_whole: bool) -> tuple[list[list[str]], str]:
    """The first rows, and the separator that makes most columns, as many in each row."""

    def rows(separator: str) -> Iterator[list[str]]:
        stream = io.StringIO(text, newline="")
        return csv.reader(stream, delimiter=separator, skipinitialspace=True)

    def columns(separator: str) -> tuple[bool, int]:
        widths = [len(row) for row in itertools.islice(rows(separator), 20)]
        # rows may end early, or a last one be cut off
        agree = widths.count(widths[0]) > len(widths) / 2 if widths else False
        return agree and widths[0] > 1, widths[0] if widths else 0

    limit = csv.field_size_limit(_LONGEST_FIELD)
    try:
        separator = max(SEPARATORS, key=columns)
        first = list(itertools.islice(rows(separator), _SAMPLE_ROWS + 1))
    finally:
        csv.field_size_limit(limit)
    if len(first) <= _SAMPLE_ROWS and not is_whole:
        first = first[:-1]  # the last one may be cut off
    return first, separator
