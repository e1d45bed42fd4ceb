"""Rows as they are shown: identifiers, pictures, texts, and all other columns."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ilspace.tables.values import is_text

_PICTURE = re.compile(r"[^\0]+\.(png|jpe?g|gif|webp|bmp|avif)", re.IGNORECASE)
"""How the name of a picture ends."""

_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
)
"""First bytes of pictures. SVG is not among them, as it may hold scripts."""

_LONG = 60
"""Characters from which on the median entry of a column makes it a text."""

_LOOKED_AT = 200
"""Entries of a column that tell what it is."""

LARGEST_PICTURE = 50_000_000
"""Bytes of the largest picture that is shown."""

MOST_COLUMNS = 300
"""Columns of a row that are shown."""

MOST_CHARACTERS = 20_000
"""Characters of an entry that are shown."""


@dataclass(frozen=True)
class Layout:
    """Which columns are shown how.

    Attributes
    ----------
    ids, pictures, texts, others : tuple of str
        Names of columns.
    """

    ids: tuple[str, ...]
    pictures: tuple[str, ...]
    texts: tuple[str, ...]
    others: tuple[str, ...]


def find_layout(table: pd.DataFrame, *, ids: Sequence[str], text: Sequence[str]) -> Layout:
    """Tell how the columns of a table are shown.

    Parameters
    ----------
    table : DataFrame
        The target.
    ids, text : sequence of str
        Columns that are identifiers, and texts; others are found.

    Returns
    -------
    Layout
        The columns.
    """
    names = [str(each) for each in table.columns]
    pictures, texts = [], [each for each in text if each in names]
    for name in names:
        column = table[name].dropna()[:_LOOKED_AT]
        if name in texts or not len(column) or not is_text(column):
            continue
        strings = column.astype(str)
        if strings.map(lambda each: bool(_PICTURE.fullmatch(each))).mean() > 0.5:
            pictures.append(name)
        elif strings.str.len().median() >= _LONG:
            texts.append(name)
    shown = {*pictures, *texts}
    found = [each for each in ids if each in names and each not in shown]
    others = [each for each in names if each not in {*shown, *found}]
    return Layout(tuple(found), tuple(pictures), tuple(texts), tuple(others))


def shown_row(table: pd.DataFrame, index: int, layout: Layout) -> dict[str, Any]:
    """One row, as the page shows it.

    Parameters
    ----------
    table : DataFrame
        The target.
    index : int
        Of the row, from 0.
    layout : Layout
        Which columns are shown how.

    Returns
    -------
    dict
        For JSON: ``row`` (from 1), ``ids``, ``texts`` and ``columns`` as pairs of name and value,
        the names of columns with ``pictures``, and how many columns are ``hidden``.
    """
    row = table.iloc[[index]].astype(object).iloc[0]  # whole numbers stay whole

    def pairs(names: Sequence[str]) -> list[list[str]]:
        return [[name, in_words(row[name])] for name in names]

    return {
        "row": index + 1,
        "ids": pairs(layout.ids),
        "pictures": [
            [name, in_words(row[name])] for name in layout.pictures if in_words(row[name])
        ],
        "texts": pairs(layout.texts),
        "columns": pairs(layout.others[:MOST_COLUMNS]),
        "hidden": max(0, len(layout.others) - MOST_COLUMNS),
    }


def in_words(value: Any) -> str:
    """An entry of a table as it is shown.

    Parameters
    ----------
    value : object
        Number, string, date or missing value.

    Returns
    -------
    str
        Empty if missing.
    """
    if pd.isna(value):
        return ""
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]} …"


def picture_of(folder: Path, entry: str) -> tuple[bytes, str] | None:
    """Read a picture, if it lies in a folder.

    Parameters
    ----------
    folder : Path
        Nothing outside of it is read, links included.
    entry : str
        Path of the picture, relative to the folder.

    Returns
    -------
    content : bytes
        The file.
    kind : str
        Its media type; the function returns None for what is no picture, or lies elsewhere.
    """
    if not _PICTURE.fullmatch(entry):
        return None
    try:
        root = folder.resolve(strict=True)
        # before anything is opened: a path to another machine would be asked for there
        inside = Path(os.path.normpath(root / entry))
        if not any(inside.is_relative_to(each) for each in (root, folder.absolute())):
            return None
        path = (root / entry).resolve(strict=True)
        if not path.is_relative_to(root) or not path.is_file():
            return None
        if path.stat().st_size > LARGEST_PICTURE:
            return None
        content = path.read_bytes()
    except (OSError, ValueError, RuntimeError):
        return None
    kind = _kind_of(content)
    return None if kind is None else (content, kind)


def _kind_of(content: bytes) -> str | None:
    """Tell the format from the first bytes, as names lie."""
    for start, kind in _KINDS:
        if content.startswith(start):
            return kind
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    if content[4:12] in (b"ftypavif", b"ftypavis"):
        return "image/avif"
    return None
