"""Features that were computed before, on disk."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from ilspace.datasets import search_roots
from ilspace.images.errors import PictureError

_SECONDS = 60
"""How long to wait for another process that writes."""

_ASKED = 500
"""Pictures that are looked up in one question; SQLite takes a thousand."""


def default_cache() -> Path:
    """The folder of features in the user's cache."""
    return search_roots()[-1] / "features"


class FeatureCache:
    """Features of pictures by one model, kept in a file of SQLite.

    The key of a picture is the digest of its content, so that one which is moved or renamed is
    known, and one that is changed is not. Each batch is kept as soon as it is there: a job that was
    interrupted goes on where it stopped. The file may be deleted at any time.

    Parameters
    ----------
    folder : Path
        Where the file is; made if need be.
    key : str
        What tells the model, and how pictures are prepared for it, from all others.
    """

    def __init__(self, folder: Path, key: str):
        name = hashlib.sha256(key.encode()).hexdigest()[:32]
        self.path = folder / f"{name}.sqlite"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            try:
                self._open(key)
            except sqlite3.OperationalError:  # locked, or not to be written
                raise
            except sqlite3.DatabaseError:  # a damaged file is no loss
                self._connection.close()
                self.path.unlink(missing_ok=True)
                self._open(key)
        except (sqlite3.OperationalError, OSError) as error:
            raise PictureError(
                f"The cache of features {folder} must be a folder that can be written to, but is "
                f"not ({error}): name another with --cache."
            ) from None

    def _open(self, key: str) -> None:
        self._connection = sqlite3.connect(self.path, timeout=_SECONDS)
        with self._connection:
            self._connection.execute("create table if not exists about (key text primary key)")
            self._connection.execute(
                "create table if not exists features (picture blob primary key, row blob)"
            )
            self._connection.execute("insert or ignore into about values (?)", (key,))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()

    def get(self, pictures: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        """Features that are known.

        Parameters
        ----------
        pictures : sequence of bytes
            Digests.

        Returns
        -------
        dict of bytes to ndarray of float32, shape (n_features,)
            By digest; those that are not known are not in it.
        """
        found = {}
        for start in range(0, len(pictures), _ASKED):
            asked = list(pictures[start : start + _ASKED])
            marks = ",".join("?" * len(asked))
            question = f"select picture, row from features where picture in ({marks})"
            with closing(self._connection.execute(question, asked)) as rows:
                found |= {bytes(each): np.frombuffer(row, np.float32) for each, row in rows}
        return found

    def put(self, pictures: Sequence[bytes], features: np.ndarray) -> None:
        """Keep features.

        Parameters
        ----------
        pictures : sequence of bytes
            Digests.
        features : ndarray of float32, shape (n, n_features)
            A row for each.
        """
        rows = [
            (each, row.tobytes())
            for each, row in zip(pictures, np.asarray(features, np.float32), strict=True)
        ]
        with self._connection:
            self._connection.executemany("insert or replace into features values (?, ?)", rows)
