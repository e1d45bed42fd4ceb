"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that nobody ever sees a part of it.

    Parameters
    ----------
    path : Path
        Where; a file that is there is replaced.
    content : bytes
        What.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        umask = os.umask(0)  # there is no other way to read it
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)  # mkstemp's file is for its owner only
        os.replace(name, path)
    except BaseException:  # Ctrl-C too
        with suppress(OSError):
            os.unlink(name)
        raise


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
