"""Predictions as Parquet: what the CSV file says, with types."""

from __future__ import annotations

import io
from csv import reader
from typing import IO, Any

NUMBERS = {"probability": "float64", "trusted": "bool", "given": "bool"}
"""Columns of predictions that are no strings."""

SUFFIX = ".parquet"


def write_parquet(lines: IO[bytes], output: IO[bytes], *, are_numbered: bool) -> None:
    """Turn predictions in CSV into Parquet, a block at a time.

    Parameters
    ----------
    lines : file
        Bytes of predictions, as :func:`~ilspace.tables.prediction.csv_lines` writes them, at the
        beginning.
    output : file
        Bytes, to which Parquet is written.
    are_numbered : bool
        Whether the first column is the number of the row, for want of an identifier.
    """
    import pyarrow as pa
    from pyarrow import csv
    from pyarrow.parquet import ParquetWriter

    text = io.TextIOWrapper(lines, encoding="utf-8", newline="")
    names = next(reader(text))
    text.detach()
    lines.seek(0)
    types: dict[str, Any] = dict.fromkeys(names, pa.string())
    types |= {each: pa.type_for_alias(kind) for each, kind in NUMBERS.items() if each in types}
    if are_numbered:
        types[next(iter(types))] = pa.int64()
    blocks = csv.open_csv(
        lines,
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(column_types=types, strings_can_be_null=False),
    )
    with blocks, ParquetWriter(output, blocks.schema) as writer:
        for block in blocks:
            writer.write_batch(block)
