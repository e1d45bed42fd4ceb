"""Atomic file writes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from ilspace.storage.drafts import collect_drafts, draft_of, locked


@contextmanager
def whole_file(path: Path, mode: str = "wb", **open_options: Any) -> Iterator[IO[Any]]:
    """Open a temporary file that replaces the target once it is written completely.

    Parameters
    ----------
    path : Path
        The file; an existing one is replaced.
    mode : {"wb", "w"}, default="wb"
        Binary or text mode.
    **open_options
        Further parameters of :func:`open`, such as `encoding`.

    Yields
    ------
    stream
        To write to. After an error or Ctrl-C, the temporary file is removed and the file unchanged.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    """
    if path.is_symlink():  # the link stays, and leads to the file
        path = Path(os.path.realpath(path))
    draft = draft_of(path)
    collect_drafts(path)
    try:
        with (
            _created(draft, path, mode.replace("w", "x"), **open_options) as stream,
            locked(stream.fileno()),
        ):
            yield stream
            stream.flush()
            os.fsync(stream.fileno())  # some file systems report only here that they are full
        os.replace(draft, path)
    except BaseException:  # Ctrl-C too
        with suppress(OSError):
            os.unlink(draft)
        raise


def _created(draft: Path, path: Path, mode: str, **open_options: Any) -> IO[Any]:
    """Open the temporary file; errors name the target."""
    try:
        return open(draft, mode, **open_options)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"The folder {path.parent} must exist to hold {path.name}, but does not: make it."
        ) from None
    except OSError as error:
        error.filename = str(path)
        raise


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically.

    Parameters
    ----------
    path : Path
        The file; an existing one is replaced.
    content : bytes
        The content.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    """
    with whole_file(path) as stream:
        stream.write(content)


@contextmanager
def output_folder(path: Path) -> Iterator[Path]:
    """Create a folder, and remove it after an error if it is empty.

    Parameters
    ----------
    path : Path
        The folder; an existing one is used.

    Yields
    ------
    Path
        The same.
    """
    is_new = not path.exists()
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield path
    except BaseException:  # Ctrl-C too
        if is_new:
            with suppress(OSError):  # not empty: keep complete files
                path.rmdir()
        raise
