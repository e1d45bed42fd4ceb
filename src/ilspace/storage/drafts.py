"""Drafts: files and folders that are written beside their place, and moved there once whole.

A draft is locked while its process lives. One that a killed process left is not, and whoever writes
to the same place next takes it away.
"""

from __future__ import annotations

import glob
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: drafts of killed processes stay
    fcntl = None

_RANDOM = re.compile(r"[0-9a-f]{16}")

_SECONDS = 60
"""Age from which on a draft without a lock is old: one that is being made has none yet."""


def draft_of(path: Path) -> Path:
    """Name of a draft, in the same folder: a rename across file systems would copy.

    Parameters
    ----------
    path : Path
        What it is a draft of.

    Returns
    -------
    Path
        A new name; shortened, as that of `path` may have the maximum length.
    """
    return path.with_name(f"{_prefix(path)}{secrets.token_hex(8)}")


REPLACED = "replaced"
"""Folder of a draft with earlier files of the names of new ones, until these are in place."""


def _prefix(path: Path) -> str:
    return f".{path.name[:20]}-"


@contextmanager
def locked(descriptor: int) -> Iterator[None]:
    """Mark a draft as being written, until its process ends.

    Parameters
    ----------
    descriptor : int
        Of the open draft.

    Yields
    ------
    None
        While it is locked.
    """
    if fcntl is not None:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    yield


def collect_drafts(path: Path, folder: Path | None = None) -> None:
    """Remove drafts of killed processes.

    Parameters
    ----------
    path : Path
        What they are drafts of.
    folder : Path, optional
        Where they are; by default that of `path`.
    """
    prefix = _prefix(path)
    for name in glob.glob(f"{glob.escape(prefix)}*", root_dir=folder or path.parent):
        if _RANDOM.fullmatch(name.removeprefix(prefix)):
            with suppress(OSError):
                _collect((folder or path.parent) / name)


def holds_replaced(draft: Path) -> bool:
    """Tell whether a draft holds earlier files that new ones were to replace.

    Parameters
    ----------
    draft : Path
        A folder.

    Returns
    -------
    bool
        Then it must not be removed.
    """
    kept = draft / REPLACED
    return kept.is_dir() and any(kept.iterdir())


def _collect(draft: Path) -> None:
    if holds_replaced(draft):
        return
    if fcntl is None or time.time() - draft.lstat().st_mtime < _SECONDS:
        return
    descriptor = os.open(draft, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its process lives
        if draft.is_dir():
            shutil.rmtree(draft)
        else:
            draft.unlink()
    finally:
        os.close(descriptor)
