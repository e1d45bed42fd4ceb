"""Read tables: from files of any format whole or a block of rows at a time, and from DataFrames."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ilspace.datasets.mat_files import read_mat
from ilspace.images.files import holds_pictures, picture_files, sha256_of_files
from ilspace.tables.csv_files import csv_blocks
from ilspace.tables.formats import array_table, parquet_blocks, workbook_table
from ilspace.tables.values import MISSING, TableError, as_table, is_text, write_out

if TYPE_CHECKING:
    import pandas as pd

STANDARD_INPUT = "-"
"""Path that stands for the standard input."""

_OFTEN = 0.01
"""Share of the entries beyond which a word for a missing value is worth a note."""


def read_table(
    table: str | Path | Any,
    *,
    string_columns: Sequence[str] = (),
    label: str | None = None,
    notes: list[str] | None = None,
) -> pd.DataFrame:
    """Read a table whole.

    Parameters
    ----------
    table : str or Path, or DataFrame of pandas or polars
        CSV (also with semicolons, tabs or bars, and gzipped), Parquet (a file, or a folder of
        them), Excel (the first sheet), NPZ or MAT; ``"-"`` for the standard input. The format is
        told from the content. A DataFrame is read as a file that holds it.
    string_columns : sequence of str
        Columns to keep as strings, as they are written, such as identifiers. A missing value is
        an empty string.
    label : str, optional
        One more such column: that of the labels.
    notes : list of str, optional
        Gets a sentence about each column in which words for missing values are frequent.

    Returns
    -------
    DataFrame
        At least one row. Arrays of NPZ and MAT files have the columns ``x0``, ``x1``, … and, if
        they have labels, `label`. In other columns than those kept as strings, the words of
        :data:`ilspace.tables.values.MISSING` are missing values.

    Raises
    ------
    TableError
        In one sentence, whatever is wrong with the file.
    """
    import pandas as pd

    kept = _kept(string_columns, label)
    if isinstance(table, str | Path):
        blocks = list(_blocks_of(table, kept, label, None))
        found = blocks[0] if len(blocks) == 1 else pd.concat(blocks, ignore_index=True)
    else:
        found = write_out(as_table(table, "The table").reset_index(drop=True), kept)
        if not len(found):
            raise TableError("The table must have rows, but has none: check how it was made.")
    return mark_missing(found, kept, notes)


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
    kept = _kept(string_columns, label)
    for block in _blocks_of(path, kept, label, n_rows):
        yield mark_missing(block, kept)


def _kept(string_columns: Sequence[str], label: str | None) -> tuple[str, ...]:
    return (*string_columns, *([] if label is None else [label]))


def mark_missing(
    table: pd.DataFrame, kept: Sequence[str], notes: list[str] | None = None
) -> pd.DataFrame:
    """Replace words for missing values in columns of strings.

    Parameters
    ----------
    table : DataFrame
        Rows.
    kept : sequence of str
        Columns to leave as they are.
    notes : list of str, optional
        Gets a sentence about each column in which such words are frequent.

    Returns
    -------
    DataFrame
        With missing values in their place.
    """
    marked = {}
    for name, kind in table.dtypes.items():
        if name in kept or (isinstance(kind, np.dtype) and kind.kind in "fiubmM"):
            continue
        if not is_text(table[name]):
            continue
        entries = table[name].astype(object)
        strings = entries.map(lambda each: each.strip() if isinstance(each, str) else each)
        is_missing = strings.isin(MISSING)
        if is_missing.any():
            marked[name] = entries.mask(is_missing).infer_objects()
        words = strings[is_missing & (strings != "")]
        if notes is not None and len(words) > _OFTEN * len(table):
            found = ", ".join(map(repr, words.unique()[:5]))
            notes.append(f"Taken for missing values: {len(words)} entries {found} of {name!r}.")
    return table.assign(**marked) if marked else table


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
        A file, or a folder of Parquet files or pictures, whose names count too.

    Returns
    -------
    str or None
        None for what cannot be read twice: the standard input, and named pipes.
    """
    path = Path(path)
    if str(path) == STANDARD_INPUT or not (path.is_file() or path.is_dir()):
        return None
    with _refusals(path):
        if holds_pictures(path):
            return sha256_of_files(path, picture_files(path))
        if path.is_dir():
            names = [each.relative_to(path).as_posix() for each in table_files(path)]
            return sha256_of_files(path, names)
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()


# -- files ---------------------------------------------------------------------------------------


@contextmanager
def _refusals(path: str | Path) -> Iterator[None]:
    """Say in one sentence what the readers of five formats raise in many."""
    try:
        yield
    except (TableError, ImportError):
        raise
    except Exception as error:  # on broken files the libraries raise all kinds
        raise TableError(f"{_named(path)} {_flaw(error)}.") from error


def _flaw(error: Exception) -> str:
    """What must hold, what is, and what to do."""
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    match error:
        case MemoryError():
            return "must fit into memory, but does not: use fewer rows or columns"
        case FileNotFoundError() | IsADirectoryError() | NotADirectoryError():
            return "must be a file, but there is none: check the path"
        case PermissionError():
            return "must be readable, but this user may not read it: change its permissions"
        case UnicodeDecodeError():
            byte = f"0x{error.object[error.start]:02x}"
            return f"must be UTF-8, but has the byte {byte}, which is not: save it as UTF-8"
    if type(error).__name__ == "ParserError":
        reason = reason.removeprefix("Error tokenizing data. C error: ")
        rule = "must have as many entries in each line as columns"
        return f"{rule}, but has not ({reason}): mend that line"
    return f"cannot be read ({reason}): replace it with an intact file"


def _named(path: str | Path) -> str:
    return "The standard input" if str(path) == STANDARD_INPUT else str(path)


def _blocks_of(
    path: str | Path, kept: tuple[str, ...], label: str | None, n_rows: int | None
) -> Iterator[pd.DataFrame]:
    """Blocks of all files of a table."""
    is_empty = True
    with _refusals(path):
        for file in table_files(path):
            with _opened(file) as stream:
                for block in _blocks(stream, _named(file), kept, label, n_rows):
                    if len(block):
                        is_empty = False
                        yield block
        if is_empty:
            raise TableError(f"{_named(path)} must have rows, but has none: check the file.")


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    """A file that can be read by seeking, as some formats are; a copy of a pipe."""
    with ExitStack() as stack:
        is_file = str(file) != STANDARD_INPUT
        stream = stack.enter_context(file.open("rb")) if is_file else sys.stdin.buffer
        if not (is_file and stream.seekable()):
            copy = stack.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(stream, copy)
            copy.seek(0)
            stream = copy
        yield stream


def _blocks(
    stream: BinaryIO, name: str, kept: tuple[str, ...], label: str | None, n_rows: int | None
) -> Iterator[pd.DataFrame]:
    """Tell the format from the first bytes, as names lie and the standard input has none."""
    start = stream.read(128)
    stream.seek(0)
    if start.startswith(b"PAR1"):
        return parquet_blocks(stream, name, string_columns=kept, n_rows=n_rows)
    if not start.startswith((b"PK\x03\x04", b"MATLAB 5.0", b"MATLAB 7.3")):
        rows: Any = gzip.GzipFile(fileobj=stream) if start.startswith(b"\x1f\x8b") else stream
        return csv_blocks(rows, name, string_columns=kept, n_rows=n_rows)
    is_archive = start.startswith(b"PK")
    if is_archive and "[Content_Types].xml" in zipfile.ZipFile(stream).namelist():
        table = workbook_table(stream, name, string_columns=kept)
    else:
        stream.seek(0)
        content = np.load(stream, allow_pickle=False) if is_archive else read_mat(stream)
        table = array_table(content, name, label=label)
    height = n_rows or max(1, len(table))
    tops = range(0, len(table), height)
    return (table.iloc[top : top + height].reset_index(drop=True) for top in tops)
