"""Append-only store of finished cells, as JSON lines."""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ilspace.benchmark.plan_entries import PlanError
from ilspace.benchmark.tasks import Task, cell_key, cell_place


class Store:
    """An append-only file of records, and of the methods that made them.

    A line is a record, ``{"cell": ..., "accuracy": ..., ...}``, or describes the method of the
    cells with some digest, ``{"digest": ..., "method": ...}``, once for all of them.

    Lines may also be kept in an archive beside the file, ``NAME.jsonl.xz``, a tenth of its size:
    these come first. New ones go to the file itself.

    Each line is written by one system call and synchronised to disk, so a killed process loses no
    finished record. A line truncated by a crash is skipped, and the next record starts a new line.

    Parameters
    ----------
    path : Path
        The file; its folder is created with the first record.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.archive = path, archive_of(path)
        self._read_up_to, self._finished = 0, set[str]()

    def records(self) -> Iterator[dict[str, Any]]:
        """Read the records, in the order of writing.

        Returns
        -------
        iterator of dict
            One per whole line.
        """
        return (line for line in self._lines() if isinstance(line.get("cell"), dict))

    def methods(self) -> dict[str, dict[str, Any]]:
        """Read the descriptions of methods.

        Returns
        -------
        dict
            For each digest what :func:`~ilspace.benchmark.methods.describe_method` returned.
        """
        return {
            line["digest"]: line["method"]
            for line in self._lines()
            if isinstance(line.get("digest"), str) and isinstance(line.get("method"), dict)
        }

    def finished(self) -> set[str]:
        """Keys of the cells that have a result; failed cells are run again."""
        self._read_up_to, self._finished = 0, set()
        return {
            cell_key(record["cell"]) for record in self.records() if record.get("error") is None
        }

    def finished_lately(self) -> set[str]:
        """As :meth:`finished`, of the file alone; reads what was added since the last time."""
        if self.path.is_file():
            with self.path.open("rb") as stream:
                stream.seek(self._read_up_to)
                for line in stream:
                    if not line.endswith(b"\n"):  # it is being written
                        break
                    self._read_up_to += len(line)
                    content = _parsed(line)
                    if isinstance(content.get("cell"), dict) and content.get("error") is None:
                        self._finished.add(cell_key(content["cell"]))
        return self._finished

    def append(self, record: dict[str, Any]) -> None:
        """Add a record.

        Parameters
        ----------
        record : dict
            Plain data.
        """
        self._write(record)

    def describe(self, digest: str, method: dict[str, Any]) -> None:
        """Add the description of a method.

        Parameters
        ----------
        digest : str
            Digest of the description.
        method : dict
            The description. Duplicates, such as by two processes, are harmless.
        """
        self._write({"digest": digest, "method": method})

    def _lines(self) -> Iterator[dict[str, Any]]:
        for path, opened in ((self.archive, lzma.open), (self.path, open)):
            if not path.is_file():
                continue
            try:
                with opened(path, "rb") as stream:
                    for line in stream:
                        if not line.endswith(b"\n"):
                            break
                        if content := _parsed(line):
                            yield content
            except (lzma.LZMAError, EOFError) as error:
                raise PlanError(
                    f"The archive {path} must be intact, but {error or 'it ends early'}: fetch it "
                    "again, or remove it."
                ) from None

    def _write(self, content: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(content, sort_keys=True, allow_nan=False, separators=(",", ":"))
        line = text.encode() + b"\n"
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            size = os.fstat(handle).st_size
            if size and os.pread(handle, 1, size - 1) != b"\n":
                line = b"\n" + line
            view = memoryview(line)
            while view:
                view = view[os.write(handle, view) :]
            os.fsync(handle)
        finally:
            os.close(handle)


def archive_of(path: Path) -> Path:
    """Archive of a store.

    Parameters
    ----------
    path : Path
        The file of the store.

    Returns
    -------
    Path
        The same with ``.xz`` added, whether or not it exists.
    """
    return path.with_name(f"{path.name}.xz")


def _parsed(line: bytes) -> dict[str, Any]:
    """What a line holds; nothing, if it is damaged."""
    try:
        content = json.loads(line)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


@dataclass(frozen=True)
class Results:
    """Results of the cells of a plan.

    Attributes
    ----------
    records : mapping
        The last record of each cell that has one, by the cell's key, in the order of the cells.
    n_outdated : int
        Cells without a record whose place in the table has results of other parameters or of
        another revision of the method. Tables leave them out; a run computes them again.
    """

    records: Mapping[str, dict[str, Any]]
    n_outdated: int


def find_results(cells: Iterable[Task], records: Iterable[dict[str, Any]]) -> Results:
    """Select the records of given cells.

    Parameters
    ----------
    cells : iterable of Task
        Which cells count.
    records : iterable of dict
        Records of these cells or others.

    Returns
    -------
    Results
        Those of the cells' own digests, and how many cells have others only.
    """
    records = list(records)
    last = {cell_key(each["cell"]): each for each in records}
    found, missing = {}, []
    for cell in cells:
        key = cell.key
        if key in last:
            found[key] = last[key]
        else:
            missing.append(cell_place(cell.as_dict()))
    n_outdated = 0
    if missing:
        places = {cell_place(each["cell"]) for each in records if each.get("error") is None}
        n_outdated = sum(place in places for place in missing)
    return Results(found, n_outdated)


def outdated_sentence(n_outdated: int, what: str) -> str:
    """Message about outdated results.

    Parameters
    ----------
    n_outdated : int
        Cells that have results of other parameters or revisions of the method only, or of a store
        that did not record them.
    what : str
        What happens to them, such as ``"are left out"``.

    Returns
    -------
    str
        One sentence.
    """
    cells = "1 cell has" if n_outdated == 1 else f"{n_outdated} cells have"
    return f"{cells} results of other or unrecorded parameters or revisions only, which {what}."
