"""Folders whose files appear together: all, or none of them."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ilspace.storage.drafts import REPLACED, collect_drafts, draft_of, holds_replaced, locked


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
