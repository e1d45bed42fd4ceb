"""Finished cells, a line of JSON each, never rewritten."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ilspace.benchmark.plans import cell_key


class Store:
    """An append-only file of records.

    A record is written with one system call and is on the disk before :meth:`append` returns, so
    a process that is killed loses no record that it finished. A line that was cut short by a crash
    of the machine is skipped, and the next record begins on a line of its own.

    Parameters
    ----------
    path : Path
        The file; its folder is made when the first record comes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def records(self) -> Iterator[dict[str, Any]]:
        """Read the records, in the order in which they came.

        Yields
        ------
        dict
            One a whole line.
        """
        if not self.path.is_file():
            return
        with self.path.open("rb") as stream:
            for line in stream:
                if not line.endswith(b"\n"):
                    return
                try:
                    record = json.loads(line)
                except ValueError:
                    continue
                if isinstance(record, dict) and "cell" in record:
                    yield record

    def finished(self) -> set[str]:
        """Keys of the cells that have a result; those that failed are to be tried again."""
        return {
            cell_key(record["cell"]) for record in self.records() if record.get("error") is None
        }

    def append(self, record: dict[str, Any]) -> None:
        """Add a record.

        Parameters
        ----------
        record : dict
            Plain data.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps(record, sort_keys=True, allow_nan=False).encode() + b"\n"
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
