"""Tables in workbooks of Excel."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO

from ilspace.tables.binary_files import write_out
from ilspace.tables.errors import TableError
from ilspace.tables.values import MISSING, check_names

if TYPE_CHECKING:
    import pandas as pd


def is_workbook(stream: BinaryIO) -> bool:
    """Tell a workbook from other archives.

    Parameters
    ----------
    stream : file
        Bytes of a ZIP file; is left at the beginning.

    Returns
    -------
    bool
        True for Excel since 2007.
    """
    try:
        with zipfile.ZipFile(stream) as archive:
            return "[Content_Types].xml" in archive.namelist()
    except zipfile.BadZipFile:
        return False
    finally:
        stream.seek(0)


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

    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise TableError(
            f"{name} is a workbook, which openpyxl reads, but that is not installed: pip install "
            '"ilspace[excel]", or save it as CSV.'
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and the like, which no table needs
        cells = pd.read_excel(
            stream,
            engine="openpyxl",
            header=None,
            dtype=object,
            keep_default_na=False,
            na_values=[*MISSING],
        )
    cells = cells.dropna(axis=1, how="all").dropna(axis=0, how="all")
    if cells.empty:
        raise TableError(
            f"{name} must have a table in its first sheet, but that is empty: move the table there."
        )
    header = [
        str(each).strip() if pd.notna(each) else f"Unnamed: {i}"
        for i, each in enumerate(cells.iloc[0])
    ]
    check_names(header, name)
    table = cells.iloc[1:].set_axis(header, axis=1).reset_index(drop=True).infer_objects()
    return write_out(table, string_columns)
