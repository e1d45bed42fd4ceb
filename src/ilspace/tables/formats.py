"""Tables in binary files: Parquet, NPZ, MAT and Excel."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ilspace.datasets.folders import KEYS
from ilspace.tables.values import TableError, check_names, from_arrow, numbered, write_out

if TYPE_CHECKING:
    import pandas as pd

_BUFFER = 2**16
"""Bytes of a Parquet column that are read at a time; else it would be all of a row group."""

_NAMELESS_INDEX = re.compile(r"__index_level_\d+__")

PARQUET = ".parquet"
"""Suffix of predictions in Parquet."""

_PREDICTED = {"row": "int64", "probability": "float64", "sure": "bool", "given": "bool"}
"""Columns of predictions that are no strings."""


def parquet_blocks(
    stream: BinaryIO,
    name: str,
    *,
    string_columns: Sequence[str],
    n_rows: int | None = None,
    group: int | None = None,
) -> Iterator[pd.DataFrame]:
    """Read a Parquet file.

    Parameters
    ----------
    stream : file
        Bytes, at the beginning.
    name : str
        What to call it.
    string_columns : sequence of str
        Columns to turn into strings, as a text file has them.
    n_rows : int, optional
        Maximum number of rows per block; the whole file by default.
    group : int, optional
        The row group to read, with no limit of rows; all of them by default.

    Yields
    ------
    DataFrame
        Some rows.
    """
    from pyarrow import types
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(stream, buffer_size=_BUFFER, pre_buffer=False)
    columns = [each for each in file.schema_arrow if not _NAMELESS_INDEX.fullmatch(each.name)]
    header = [each.name.strip() for each in columns]  # as in text files
    check_names(header, name)
    for each in columns:
        if types.is_nested(each.type):
            raise TableError(
                f"The column {each.name!r} of {name} must hold one value in each row, but holds "
                f"values of type {str(each.type)[:60]}: spread it over several columns, or drop it."
            )
    names = [each.name for each in columns]
    if n_rows is None:
        batches = [file.read(names) if group is None else file.read_row_group(group, names)]
    else:
        batches = file.iter_batches(n_rows, columns=names)
    for batch in batches:
        yield write_out(from_arrow(batch).set_axis(header, axis=1), string_columns)


def array_table(content: Mapping[str, Any], name: str, *, label: str | None) -> pd.DataFrame:
    """Make a table of the arrays of an NPZ or MAT file.

    Parameters
    ----------
    content : mapping of str to array
        All arrays of the file; those that are asked for are read.
    name : str
        What to call it.
    label : str or None
        What to call its labels; None to leave them out.

    Returns
    -------
    DataFrame
        All rows.
    """
    import pandas as pd

    held = [pair for pair in KEYS if pair[0] in content]
    if not held:
        names = sorted(each for each in content if not each.startswith("__"))
        raise TableError(
            f"{name} must hold its rows under one of the names "
            f"{', '.join(features for features, _ in KEYS)}, but holds "
            f"{', '.join(names[:10]) or 'nothing'}: rename them."
        )
    features, labels = held[0]
    labels = label if label in content else labels
    X = np.asarray(content[features])
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise TableError(
            f"{features} in {name} must be a 2-d array of numbers, but has shape {X.shape} and "
            f"type {X.dtype}: reshape or convert it."
        )
    table = pd.DataFrame(X, columns=numbered(X.shape[1]))
    if labels is None or labels not in content or label is None:
        return table
    y = [_unwrapped(each) for each in np.asarray(content[labels]).ravel()]
    if len(y) != len(table):
        raise TableError(
            f"{labels} in {name} must have an entry for each of the {len(table)} rows of "
            f"{features}, but has {len(y)}: check the file."
        )
    table.insert(0, label, y)
    return write_out(table, [label])


def _unwrapped(value: Any) -> Any:
    """A label as it is: in a MAT file a string is an array, and may be padded with spaces."""
    value = value.item() if isinstance(value, np.ndarray) and value.size == 1 else value
    value = value.decode() if isinstance(value, bytes) else value
    return value.strip() if isinstance(value, str) else value


def workbook_table(stream: BinaryIO, name: str, *, string_columns: Sequence[str]) -> pd.DataFrame:
    """Read the first sheet of a workbook.

    Parameters
    ----------
    stream : file
        Bytes.
    name : str
        What to call it.
    string_columns : sequence of str
        Columns to turn into strings, as a text file has them.

    Returns
    -------
    DataFrame
        Rows below the first one, which names the columns; empty rows are left out.
    """
    import pandas as pd

    options: dict[str, Any] = {"header": None, "dtype": object, "keep_default_na": False}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and the like, which no table needs
            cells = pd.read_excel(stream, engine="openpyxl", na_values=[""], **options)
    except ImportError:
        raise TableError(
            f"{name} is a workbook, which openpyxl reads, but that is not installed: pip install "
            '"ilspace[excel]", or save it as CSV.'
        ) from None
    cells = cells.dropna(axis=1, how="all").dropna(axis=0, how="all")
    if cells.empty:
        raise TableError(
            f"{name} must have a table in its first sheet, but that is empty: move the table there."
        )
    first = enumerate(cells.iloc[0])
    header = [str(each).strip() if pd.notna(each) else f"Unnamed: {i}" for i, each in first]
    check_names(header, name)
    return write_out(cells.iloc[1:].set_axis(header, axis=1).infer_objects(), string_columns)


def write_parquet(lines: IO[bytes], output: IO[bytes]) -> None:
    """Turn predictions in CSV into Parquet, a block at a time.

    Parameters
    ----------
    lines : file
        Bytes of the CSV file, at the beginning.
    output : file
        Bytes, to which Parquet is written: numbers and booleans, and all else as strings.
    """
    from pyarrow import csv, type_for_alias
    from pyarrow.parquet import ParquetWriter

    parsing = csv.ParseOptions(newlines_in_values=True)
    with csv.open_csv(lines, parse_options=parsing) as blocks:
        names = blocks.schema.names
    types = {each: type_for_alias(_PREDICTED.get(each, "string")) for each in names}
    conversion = csv.ConvertOptions(column_types=types, strings_can_be_null=False)
    lines.seek(0)
    blocks = csv.open_csv(lines, parse_options=parsing, convert_options=conversion)
    with blocks, ParquetWriter(output, blocks.schema) as writer:
        for block in blocks:
            writer.write_batch(block)
