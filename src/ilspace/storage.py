"""Files and folders that appear whole, or not at all.

They are written as drafts beside their place and moved there once complete. A draft is locked while
its process lives. One that a killed process left is not, and whoever writes to the same place next
takes it away.
"""

from __future__ import annotations

import ctypes
import errno
import glob
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

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


# -- files ---------------------------------------------------------------------------------------


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


# -- folders -------------------------------------------------------------------------------------


@contextmanager
def whole_folder(folder: Path, *, replace: bool = False) -> Iterator[Path]:
    """Write files beside a folder, and move them there once all are whole.

    A folder that is there is exchanged for the new one in one step, so that a process that is
    killed leaves all of the old files or all of the new ones. Where the folder must stay itself (a
    mount point, the working directory) or the file system cannot exchange, its files are moved one
    by one; then the old ones come back after an error, but not after a kill.

    Parameters
    ----------
    folder : Path
        Where they go. Other files that are in it stay.
    replace : bool, default=False
        Whether files of the same names may be replaced.

    Yields
    ------
    Path
        A folder of its own, on the same file system.

    Raises
    ------
    FileExistsError
        If the folder has files, and they must not be replaced. It is left as it is.
    """
    place = Path(os.path.realpath(folder))  # a link leads to where the folder is, or is to be
    made = [each for each in place.parents if not each.exists()]
    is_inside = place.is_dir() and not _may_be_exchanged(place)
    draft = place / draft_of(place).name if is_inside else draft_of(place)
    collect_drafts(place)
    collect_drafts(place, place)
    try:
        draft.mkdir(parents=True)
        with _open_folder(draft) as descriptor, locked(descriptor):
            yield draft
            for file in draft.iterdir():
                with file.open("rb+") as stream:
                    os.fsync(stream.fileno())  # some file systems notice only here they are full
            _move(draft, place, is_inside=is_inside, replace=replace)
    except BaseException:  # Ctrl-C too
        _remove(draft, *made)
        raise
    _remove(draft)


@contextmanager
def _open_folder(folder: Path) -> Iterator[int]:
    if sys.platform == "win32":  # folders cannot be opened there, and drafts not be locked
        yield -1
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _may_be_exchanged(place: Path) -> bool:
    """Tell whether another folder may take its place, unnoticed by who works in it."""
    here = Path.cwd()
    return (
        place not in (here, *here.parents)
        and not place.is_mount()
        and os.access(place.parent, os.W_OK)
        and not _has_mounts(place)
    )


def _has_mounts(place: Path) -> bool:
    """Tell whether something is mounted inside: it would be emptied with the old folder."""
    try:
        lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError:
        return any(each.is_mount() for each in place.iterdir())
    named = (line.split()[4] for line in lines)
    points = [re.sub(rb"\\([0-7]{3})", lambda code: bytes([int(code[1], 8)]), n) for n in named]
    return any(each.startswith(os.fsencode(place) + b"/") for each in points)


def _move(draft: Path, place: Path, *, is_inside: bool, replace: bool) -> None:
    """Move a whole draft to its place."""
    names = sorted(each.name for each in draft.iterdir())
    if not replace and any(each != draft for each in _entries(place)):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place))
    if not is_inside:
        if place.is_dir():
            shutil.copymode(place, draft)
        try:
            os.rename(draft, place)  # nothing is there, or an empty folder
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            if not replace:  # of another process, since we looked
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place)) from None
        else:
            return
        _link_others(place, draft)
        if exchange(draft, place):
            _save_late_ones(draft, place)
            return
    _move_files(draft, place, names)


def _entries(place: Path) -> list[Path]:
    return list(place.iterdir()) if place.is_dir() else []


def _link_others(place: Path, draft: Path) -> None:
    """Give a draft what its folder holds besides, without a second copy where that can be."""
    for each in place.iterdir():
        new = draft / each.name
        if new.exists() or new.is_symlink():
            continue
        if each.is_dir() and not each.is_symlink():
            shutil.copytree(each, new, symlinks=True, copy_function=_link)
        else:
            _link(each, new)


def _save_late_ones(old: Path, place: Path) -> None:
    """Move what came into a folder while another took its place."""
    for each in old.iterdir():
        if not os.path.lexists(place / each.name):
            os.rename(each, place / each.name)


def _link(old: str | Path, new: str | Path) -> None:
    try:
        os.link(old, new, follow_symlinks=False)
    except OSError:  # a file system without links
        shutil.copy2(old, new, follow_symlinks=False)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step.

    Parameters
    ----------
    one, other : Path
        On one file system.

    Returns
    -------
    bool
        False where it cannot be done; then nothing has changed.
    """
    swapping, here = 2, -100  # RENAME_EXCHANGE and RENAME_SWAP; AT_FDCWD
    library = None if sys.platform == "win32" else ctypes.CDLL(None, use_errno=True)
    first, second = os.fsencode(one), os.fsencode(other)
    if call := getattr(library, "renameat2", None):  # Linux
        return call(here, first, here, second, swapping) == 0
    if call := getattr(library, "renamex_np", None):  # macOS
        return call(first, second, swapping) == 0
    return False


def _move_files(draft: Path, folder: Path, names: list[str]) -> None:
    """Move files to where others of their names may be: all, or the others stay."""
    kept = draft / REPLACED
    kept.mkdir()
    try:
        for name in names:
            if (folder / name).exists():
                os.replace(folder / name, kept / name)
            os.replace(draft / name, folder / name)
    except BaseException:
        for name in names:
            with suppress(
                OSError
            ):  # one that stays where it is must not keep others from returning
                if not (draft / name).exists():
                    (folder / name).unlink(missing_ok=True)
                if (kept / name).exists():
                    os.replace(kept / name, folder / name)
        raise
    shutil.rmtree(kept)


def _remove(draft: Path, *folders: Path) -> None:
    """Leave nothing of what was made."""
    if holds_replaced(draft):  # the only copies of earlier files that could not be put back
        return
    with suppress(OSError):  # it may have become the folder of results
        shutil.rmtree(draft)
    with suppress(OSError):
        for each in folders:
            each.rmdir()
