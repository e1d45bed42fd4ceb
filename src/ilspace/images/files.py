"""Picture files in folders."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

SUFFIXES = frozenset(
    (
        *(".png", ".jpg", ".jpeg", ".jfif", ".webp", ".bmp", ".gif", ".tif", ".tiff"),
        *(".pgm", ".ppm", ".pbm", ".avif"),
    )
)
"""How the names of picture files end, in lower case."""


def picture_files(folder: Path) -> list[str]:
    """Pictures in a folder and the folders in it, but for hidden ones.

    Parameters
    ----------
    folder : Path
        Where to look.

    Returns
    -------
    list of str
        Paths from the folder, with forward slashes, sorted.
    """
    found = (each.relative_to(folder) for each in folder.rglob("*") if _is_picture(each))
    return sorted(
        each.as_posix() for each in found if not any(part.startswith(".") for part in each.parts)
    )


def holds_pictures(folder: Path) -> bool:
    """Tell a folder of pictures from one of tables.

    Parameters
    ----------
    folder : Path
        Any path.

    Returns
    -------
    bool
        True for a folder in which there is a picture, and no Parquet file.
    """
    if not folder.is_dir() or next(folder.rglob("*.parquet"), None) is not None:
        return False
    return any(map(_is_picture, folder.rglob("*")))


def _is_picture(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and path.is_file()


def class_folder(name: str) -> str | None:
    """The folder that a picture lies in, which names its class.

    Parameters
    ----------
    name : str
        Path from the folder of all pictures.

    Returns
    -------
    str or None
        The first part of it; None for a picture that lies in no folder of its own.
    """
    parts = PurePosixPath(name).parts
    return parts[0] if len(parts) > 1 else None


def sha256_of_files(folder: Path, names: Iterable[str]) -> str:
    """Digest of files and their names, to recognise them by.

    Parameters
    ----------
    folder : Path
        Where they are.
    names : iterable of str
        Paths from there.

    Returns
    -------
    str
        Hexadecimal.
    """
    total = hashlib.sha256()
    for name in names:
        with (folder / name).open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        total.update(f"{digest}  {name}\n".encode(errors="surrogateescape"))
    return total.hexdigest()
