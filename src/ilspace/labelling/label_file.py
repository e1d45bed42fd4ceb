"""The file of labels: append-only, safe against kills, several programs and a full disk."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from ilspace.labelling.answers import Answers, Event, Kind
from ilspace.tables.answer import LABELS
from ilspace.tables.results import RecordedLabels
from ilspace.tables.values import TableError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_FORMAT = 1
"""Version of the format, in the first line."""

_FAR = 1 << 40
"""A byte that is locked where whole files cannot be."""


class LabelWriteError(OSError):
    """An event could not be written, and nothing of it is in the file."""


class LabelFile:
    """Events on disk, one line of JSON each.

    A program that writes holds a lock on the file, reads what others have written, and appends its
    lines with one system call; `append` returns once they are on disk. A line that was cut off by
    a crash is skipped, and the next event starts a new line. Should writing fail, the file is cut
    back to its former length.

    Parameters
    ----------
    path : Path
        The file; made with the first event.
    about : dict
        What the first line says: of which tables and which column the labels are.
    n_bytes : int, optional
        Where to stop reading: what was written later is left out.

    Attributes
    ----------
    answers : Answers
        What holds after all events that were read.
    start : dict
        What the first line says; empty where there is none.
    """

    def __init__(self, path: Path, about: dict[str, Any], *, n_bytes: int | None = None) -> None:
        self.path = path
        self.about = about
        self._n_bytes = n_bytes
        self.answers = Answers()
        self._read_up_to = 0
        self._inode: int | None = None
        self.start: dict[str, Any] = {}
        self.refresh()

    @property
    def n_read(self) -> int:
        """Bytes that were read, up to the end of a line."""
        return self._read_up_to

    def refresh(self) -> bool:
        """Read what other programs have written.

        Returns
        -------
        bool
            Whether there was anything new.
        """
        try:
            handle = os.open(self.path, os.O_RDONLY)
        except FileNotFoundError:
            return self._forget() if self._inode is not None else False
        try:
            return self._read(handle)
        finally:
            os.close(handle)

    def append(
        self, *events: Event, check: Callable[[Answers], object] = lambda answers: None
    ) -> list[Event]:
        """Write events; they are on disk when this returns.

        Parameters
        ----------
        *events : Event
            All are written, or none.
        check : callable
            Called with what holds just before they are written, while no other program can write;
            if it raises an error, nothing is written.

        Returns
        -------
        list of Event
            Those that were not there before.

        Raises
        ------
        LabelWriteError
            If the disk is full, say; the file is as it was.
        """
        try:
            is_new = not self.path.exists()
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise LabelWriteError(error.errno, error.strerror or str(error)) from error
        try:
            with _locked(handle):
                self._read(handle)
                fresh = [each for each in events if each.event not in self.answers.events]
                if fresh:
                    check(self.answers)
                    self._write(handle, fresh)
                else:  # it is there, but perhaps not on disk
                    os.fsync(handle)
                self._read(handle)
        except OSError as error:
            raise LabelWriteError(error.errno, error.strerror or str(error)) from error
        finally:
            os.close(handle)
        if is_new:
            _synchronise_folder(self.path.parent)
        return fresh

    def _write(self, handle: int, events: Sequence[Event]) -> None:
        size = os.fstat(handle).st_size
        lines = [each.as_dict() for each in events]
        if not self.start:
            lines.insert(0, {"format": _FORMAT, **self.about})
        text = "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in lines)
        if size > self._read_up_to:  # after a line that was cut off
            text = "\n" + text
        try:
            view = memoryview(text.encode())
            while view:
                view = view[os.write(handle, view) :]
            os.fsync(handle)
        except BaseException:
            with suppress(OSError):  # else it is a line that was cut off
                os.ftruncate(handle, size)
            raise

    def _read(self, handle: int) -> bool:
        found = os.fstat(handle)
        if found.st_ino != self._inode or found.st_size < self._read_up_to:
            self._forget()
            self._inode = found.st_ino
        os.lseek(handle, self._read_up_to, os.SEEK_SET)
        parts = []
        while part := os.read(handle, 1 << 20):
            parts.append(part)
        content = b"".join(parts)
        if self._n_bytes is not None:
            content = content[: max(self._n_bytes - self._read_up_to, 0)]
        whole, newline, _ = content.rpartition(b"\n")
        changed = False
        for line in whole.split(b"\n"):
            try:
                content = json.loads(line)
            except ValueError:  # cut off by a crash, or empty
                continue
            if not isinstance(content, dict):
                continue
            if "format" in content:
                self._check(content)
                self.start = content
            event = Event.from_dict(content)
            if event is not None:
                changed |= self.answers.add(event)
        self._read_up_to += len(whole) + len(newline)  # what was refused is refused again
        return changed

    def _check(self, found: dict[str, Any]) -> None:
        """Refuse labels of other rows."""
        if found["format"] != _FORMAT:
            raise TableError(
                f"{self.path} must have the format {_FORMAT}, but has {found['format']!r}: use the "
                "version of ilspace that wrote it."
            )
        for name, wanted in self.about.items():
            if found.get(name) != wanted:
                raise TableError(
                    f"{self.path} must hold labels of this target table, but its {name} is "
                    f"{found.get(name)!r} and not {wanted!r}: move that file away, or label the "
                    "table it belongs to."
                )

    def _forget(self) -> bool:
        self.answers = Answers()
        self._read_up_to, self._inode, self.start = 0, None, {}
        return True


def read_recorded(path: Path, *, n_bytes: int | None = None) -> RecordedLabels:
    """Read a file of labels for ``ilspace adapt``.

    Parameters
    ----------
    path : Path
        The file, or the folder of results that holds it.
    n_bytes : int, optional
        Where to stop reading: what was written later is left out.

    Returns
    -------
    RecordedLabels
        All labels that hold, and what was predicted before.
    """
    if path.is_dir():
        path = path / LABELS
    file = LabelFile(path, {}, n_bytes=n_bytes)
    if not file.start:
        raise TableError(
            f"{path} must hold labels that ilspace label recorded, but holds none: label some "
            "rows, or leave --labels out."
        )
    labels = {row - 1: each for row, each in file.answers.labels.items()}
    predictions = {row - 1: each for row, each in file.answers.predictions().items()}
    others = tuple(row - 1 for row in file.answers.rows(Kind.OTHER))
    n_read = file.n_read
    digest = sha256(path.read_bytes()[:n_read]).hexdigest()
    return RecordedLabels(path, file.start, labels, predictions, others, n_read, digest)


def recorded_again(folder: Path, file: Mapping[str, Any]) -> RecordedLabels:
    """Read the labels that results were made with, without those that came later.

    Parameters
    ----------
    folder : Path
        The results.
    file : mapping
        ``path``, ``bytes`` and ``sha256`` of the labels, as the results tell.

    Returns
    -------
    RecordedLabels
        The labels as they were.
    """
    places = dict.fromkeys([folder / LABELS, Path(file["path"])])
    for each in places:
        if each.is_file() and each.stat().st_size >= file["bytes"]:
            found = read_recorded(each, n_bytes=file["bytes"])
            if found.sha256 == file["sha256"]:
                return found
    raise TableError(
        f"The labels that {folder} was made with must be in {folder / LABELS} or {file['path']}, "
        "but are in neither: put the file back, or run ilspace adapt again."
    )


@contextmanager
def _locked(handle: int) -> Iterator[None]:
    """Let no other program write meanwhile; the lock ends with the process at the latest."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)
        return
    import msvcrt  # Windows

    lock: Any = msvcrt
    while True:
        os.lseek(handle, _FAR, os.SEEK_SET)
        try:
            lock.locking(handle, lock.LK_NBLCK, 1)
            break
        except OSError:
            time.sleep(0.01)
    try:
        yield
    finally:
        os.lseek(handle, _FAR, os.SEEK_SET)
        lock.locking(handle, lock.LK_UNLCK, 1)


def _synchronise_folder(folder: Path) -> None:
    """Make sure that a new file is found after a power cut, where folders can be synchronised."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
