"""Class frequencies as they are given on a command line or in a file."""

from __future__ import annotations

import csv
from pathlib import Path

from ilspace.tables.errors import TableError

_WORDS = ("auto", "source")


def read_class_frequencies(text: str) -> dict[str, float] | str:
    """Read the shares of the classes in the target.

    Parameters
    ----------
    text : str
        ``auto``, ``source``, ``NAME=SHARE,NAME=SHARE,...``, split at the last ``=`` of each, or the
        path of a file with ``NAME=SHARE`` or ``NAME,SHARE`` in each line, below a header or not.

    Returns
    -------
    dict of str to float, or str
        By class, or the word.
    """
    if text in _WORDS:
        return text
    if _is_file(text):
        pairs = _lines_of(Path(text))
    elif "=" in text:
        pairs = [_split(part, "=") for part in _parts(text)]
    else:
        raise TableError(
            "The class frequencies must be auto, source, NAME=SHARE,..., or a file of them, but "
            f"{text!r} is none of these: check it."
        )
    shares: dict[str, float] = {}
    for name, share in pairs:
        number = _number(share)
        if number is None or not 0 <= number <= 1:
            raise TableError(
                f"The share of a class must be a number from 0 to 1, but that of {name!r} is "
                f"{share!r}: write NAME=SHARE."
            )
        if name in shares:
            raise TableError(f"Each class must be named once, but {name!r} is twice: leave one.")
        shares[name] = number
    if not shares:
        raise TableError(f"The file of class frequencies must name classes, but {text} is empty.")
    return shares


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # the shares of many classes are too long for a name
        return False


def _lines_of(path: Path) -> list[tuple[str, str]]:
    """Names and shares of a file; a header is left out."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise TableError(
            f"The file of class frequencies must be UTF-8, but {path} is not: save it as UTF-8."
        ) from None
    lines = [line for line in text.splitlines() if line.strip()]
    pairs = [_entry(line) for line in lines]
    is_header = bool(pairs) and "=" not in lines[0] and _number(pairs[0][1]) is None
    return pairs[is_header:]


def _entry(line: str) -> tuple[str, str]:
    """Name and share of a line, whichever sign is between them."""
    cells = next(csv.reader([line]))
    pair = (cells[0].strip(), cells[1].strip()) if len(cells) == 2 else _split(line, ",")
    return _split(line, "=") if "=" in line and _number(pair[1]) is None else pair


def _parts(text: str) -> list[str]:
    """Split at commas; a piece without a share belongs to a name that holds a comma."""
    parts: list[str] = []
    for piece in text.removesuffix(",").split(","):
        if parts and _number(_split(parts[-1], "=")[1]) is None:
            parts[-1] += "," + piece
        else:
            parts.append(piece)
    return parts


def _split(text: str, sign: str) -> tuple[str, str]:
    name, _, share = text.rpartition(sign)
    return name.strip(), share.strip()


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
