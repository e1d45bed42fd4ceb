"""Claims of cells, so that two runs on one store do not compute the same."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: two runs may compute the same cells
    fcntl = None


class Claims:
    """Cells that this process works on: a lock on one byte of a file for each of them.

    The operating system drops the locks of a process that ends, however it ends.

    Parameters
    ----------
    handle : int
        Descriptor of the file of locks; this process must not open the file a second time.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def take(self, key: str) -> bool:
        """Claim a cell.

        Parameters
        ----------
        key : str
            Its unique key.

        Returns
        -------
        bool
            False where another process has it.
        """
        if fcntl is None:
            return True
        try:
            fcntl.lockf(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(key))
        except (BlockingIOError, PermissionError):
            return False
        except OSError:  # a file system without locks
            return True
        return True

    def release(self, key: str) -> None:
        """Give a cell back.

        Parameters
        ----------
        key : str
            Its unique key.
        """
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks
                fcntl.lockf(self._handle, fcntl.LOCK_UN, 1, _place(key))


def _place(key: str) -> int:
    """Byte of a cell; with a million cells two have the same once in ten million stores."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") >> 2


@contextmanager
def claims(path: Path) -> Iterator[Claims]:
    """Claim cells of a store.

    Parameters
    ----------
    path : Path
        The store; the locks are in a hidden file beside it, which stays.

    Yields
    ------
    Claims
        Of this process.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield Claims(handle)
    finally:
        os.close(handle)
