"""Read tables from files: whole, or a block of rows at a time."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ilspace.datasets.mat_files import read_mat
from ilspace.tables.binary_files import array_table, parquet_blocks
from ilspace.tables.csv_files import csv_blocks
from ilspace.tables.errors import TableError
from ilspace.tables.workbooks import is_workbook, workbook_table

if TYPE_CHECKING:
    import pandas as pd

STANDARD_INPUT = "-"
"""Path that stands for the standard input."""


def read_table(
    path: str | Path, *, string_columns: Sequence[str] = (), label: str | None = None
) -> pd.DataFrame:
    """Read a table whole.

    Parameters
    ----------
    path : str or Path
        CSV (also with semicolons, tabs or bars, and gzipped), Parquet (a file, or a folder of
        them), Excel (the first sheet), NPZ or MAT; ``"-"`` for the standard input. What it is is
        told from its content.
    string_columns : sequence of str
        Columns to keep as strings, as they are written, such as identifiers. A missing value is
        an empty string.
    label : str, optional
        One more such column: that of the labels.

    Returns
    -------
    DataFrame
        At least one row. Arrays of NPZ and MAT files have the columns ``x0``, ``x1``, … and, if
        they have labels, `label`.

    Raises
    ------
    TableError
        In one sentence, whatever is wrong with the file.
    """
    import pandas as pd

    blocks = list(read_chunks(path, string_columns=string_columns, label=label, n_rows=None))
    return blocks[0] if len(blocks) == 1 else pd.concat(blocks, ignore_index=True)


def read_chunks(
    path: str | Path,
    *,
    string_columns: Sequence[str] = (),
    label: str | None = None,
    n_rows: int | None = 10_000,
) -> Iterator[pd.DataFrame]:
    """Read a table in blocks of rows, so that it need not fit into memory.

    Parameters
    ----------
    path : str or Path
        As for :func:`read_table`. Excel, NPZ and MAT files are read whole, then cut.
    string_columns : sequence of str
        Columns to keep as strings, as they are written.
    label : str, optional
        One more such column: that of the labels.
    n_rows : int or None, default=10000
        Maximum number of rows per block; None for the whole file.

    Yields
    ------
    DataFrame
        One at least, each with one row at least.
    """
    is_empty = True
    with _refusals(path):
        for stream, name in _streams(path):
            for block in _blocks(stream, name, tuple(string_columns), label, n_rows):
                if len(block):
                    is_empty = False
                    yield block
        if is_empty:
            raise TableError(f"{_named(path)} must have rows, but has none: check the file.")


def table_files(path: str | Path) -> list[Path]:
    """Files that a table is made of.

    Parameters
    ----------
    path : str or Path
        A file, or a folder of Parquet files, in folders of their own or not.

    Returns
    -------
    list of Path
        In the order of the rows.
    """
    path = Path(path)
    if not path.is_dir():
        return [path]
    files = sorted(each for each in path.rglob("*.parquet") if each.is_file())
    if not files:
        raise TableError(
            f"The folder {path} must hold Parquet files, but has none: name a file, or another "
            "folder."
        )
    return files


def sha256_of(path: str | Path) -> str | None:
    """Digest of the bytes of a table, to recognise it by.

    Parameters
    ----------
    path : str or Path
        A file, or a folder of Parquet files, whose names count too.

    Returns
    -------
    str or None
        None for what cannot be read twice: the standard input, and named pipes.
    """
    if str(path) == STANDARD_INPUT or not (Path(path).is_file() or Path(path).is_dir()):
        return None
    found = []
    with _refusals(path):
        for file in table_files(path):
            with file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            if not Path(path).is_dir():
                return digest
            found.append(f"{digest}  {file.relative_to(path).as_posix()}\n")
    return hashlib.sha256("".join(found).encode()).hexdigest()


@contextmanager
def _refusals(path: str | Path) -> Iterator[None]:
    """Say in one sentence what the readers of five formats raise in many."""
    import pandas as pd

    cause = None
    try:
        yield
        return
    except (TableError, ImportError):
        raise
    except MemoryError:
        flaw = "must fit into memory, but does not: check the file, or use fewer rows or columns"
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        flaw = "must be a file, but there is none: check the path"
    except PermissionError:
        flaw = "must be readable, but this user may not read it: change its permissions"
    except UnicodeDecodeError as error:
        byte = f"0x{error.object[error.start]:02x}"
        remedy = "save it as UTF-8, or convert it with iconv"
        flaw = f"must be UTF-8, but has the byte {byte}, which is not: {remedy}"
    except pd.errors.ParserError as error:
        reason = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
        rule = "must have as many entries in each line as columns"
        flaw = f"{rule}, but has not ({reason}): mend that line"
    except Exception as error:  # on broken files the libraries raise all kinds
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        flaw, cause = f"cannot be read ({reason}): replace it with an intact file", error
    raise TableError(f"{_named(path)} {flaw}.") from cause


def _named(path: str | Path) -> str:
    return "The standard input" if str(path) == STANDARD_INPUT else str(path)


def _streams(path: str | Path) -> Iterator[tuple[BinaryIO, str]]:
    """Files that can be read by seeking, as some formats are, and what to call them."""
    if str(path) == STANDARD_INPUT:
        with _copied(sys.stdin.buffer) as stream:
            yield stream, _named(path)
        return
    for file in table_files(path):
        with file.open("rb") as stream:
            if stream.seekable():
                yield stream, str(file)
            else:  # a named pipe
                with _copied(stream) as copy:
                    yield copy, str(file)


@contextmanager
def _copied(stream: BinaryIO) -> Iterator[BinaryIO]:
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(stream, copy)
        copy.seek(0)
        yield copy


def _blocks(
    stream: BinaryIO,
    name: str,
    string_columns: tuple[str, ...],
    label: str | None,
    n_rows: int | None,
) -> Iterator[pd.DataFrame]:
    """Tell the format from the first bytes, as names lie and the standard input has none."""
    start = stream.read(128)
    stream.seek(0)
    string_columns = string_columns if label is None else (*string_columns, label)
    if start.startswith(b"PAR1"):
        return parquet_blocks(stream, name, string_columns=string_columns, n_rows=n_rows)
    if start.startswith(b"PK\x03\x04") and is_workbook(stream):
        return _cut(workbook_table(stream, name, string_columns=string_columns), n_rows)
    if start.startswith((b"PK\x03\x04", b"MATLAB 5.0", b"MATLAB 7.3")):
        is_npz = start.startswith(b"PK")
        content = np.load(stream, allow_pickle=False) if is_npz else read_mat(stream)
        return _cut(array_table(content, name, label=label), n_rows)
    rows: Any = gzip.GzipFile(fileobj=stream) if start.startswith(b"\x1f\x8b") else stream
    return csv_blocks(rows, name, string_columns=string_columns, n_rows=n_rows)


def _cut(table: pd.DataFrame, n_rows: int | None) -> Iterator[pd.DataFrame]:
    height = n_rows or max(1, len(table))
    for top in range(0, len(table), height):
        yield table.iloc[top : top + height].reset_index(drop=True)
