"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


@contextmanager
def whole_file(path: Path, mode: str = "wb", **open_options: Any) -> Iterator[IO[Any]]:
    """Open a draft that becomes a file once all is written, so that nobody sees a part of it.

    Parameters
    ----------
    path : Path
        Where; a file that is there is replaced.
    mode : {"wb", "w"}, default="wb"
        Whether bytes or text will be written.
    **open_options
        What else :func:`open` takes, such as `encoding`.

    Yields
    ------
    stream
        To write to. After an error, Ctrl-C too, the draft is gone and the file as it was.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    """
    # beside the file: a rename across file systems would copy. The name is cut, as `path` may
    # already be as long as names can be.
    draft = path.with_name(f".{path.name[:20]}-{secrets.token_hex(8)}")
    try:
        with _created(draft, path, mode.replace("w", "x"), **open_options) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())  # some file systems notice only here that they are full
        os.replace(draft, path)
    except BaseException:  # Ctrl-C too
        with suppress(OSError):
            os.unlink(draft)
        raise


def _created(draft: Path, path: Path, mode: str, **open_options: Any) -> IO[Any]:
    """Open a draft; errors name the file that was asked for."""
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
    """Write a file so that nobody ever sees a part of it.

    Parameters
    ----------
    path : Path
        Where; a file that is there is replaced.
    content : bytes
        What.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    """
    with whole_file(path) as stream:
        stream.write(content)


@contextmanager
def output_folder(path: Path) -> Iterator[Path]:
    """Make a folder, and take it away again if nothing came to be in it.

    Parameters
    ----------
    path : Path
        The folder; one that is there is used as it is.

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
            with suppress(OSError):  # not empty: keep what is whole
                path.rmdir()
        raise
