"""Tables in binary files: Parquet, NPZ and MAT."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ilspace.datasets.folders import KEYS
from ilspace.tables.errors import TableError
from ilspace.tables.values import check_names, replaced

if TYPE_CHECKING:
    import pandas as pd

_BUFFER = 2**16
"""Bytes of a Parquet column that are read at a time; else it would be all of a row group."""

_NAMELESS_INDEX = re.compile(r"__index_level_\d+__")


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
    if group is not None:
        batches = iter([file.read_row_group(group, names)])
    elif n_rows is None:
        batches = iter([file.read(names)])
    else:
        batches = file.iter_batches(n_rows, columns=names)
    for batch in batches:
        # without what pandas noted there: an index that it made of a column is a column again
        table = batch.to_pandas(ignore_metadata=True, date_as_object=False)
        yield write_out(table.set_axis(header, axis=1), string_columns)


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
    table = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
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

    def written(entry: Any) -> str:
        # 3.0, which missing values in a column make of 3, is 3 again
        is_whole = isinstance(entry, float) and entry.is_integer()
        return str(int(entry) if is_whole else entry)

    there = {*names}.intersection(table.columns)
    return table.assign(**{each: replaced(table[each], written, missing="") for each in there})
