"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
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
    # beside the file: a rename across file systems would copy. The name is cut, as `path` may
    # already be as long as names can be.
    draft = path.with_name(f".{path.name[:20]}-{secrets.token_hex(8)}")
    try:
        with open(draft, "xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())  # some file systems notice only here that they are full
        os.replace(draft, path)
    except BaseException:  # Ctrl-C too
        with suppress(OSError):
            os.unlink(draft)
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
