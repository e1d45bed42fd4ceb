"""A table that stays in its Parquet files, of which Dask reads a part at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ilspace.tables.binary_files import parquet_blocks
from ilspace.tables.errors import TableError
from ilspace.tables.labels import target_gaps
from ilspace.tables.reading import table_files

if TYPE_CHECKING:
    import pandas as pd

SAMPLE = 20_000
"""Rows that stand for all where the columns are judged, and in the report."""


class Part(NamedTuple):
    """A row group of a Parquet file.

    Attributes
    ----------
    path : str
        The file.
    group : int
        Number of the group.
    n_rows : int
        Its rows.
    """

    path: str
    group: int
    n_rows: int


@dataclass(frozen=True)
class PartedTable:
    """A table in Parquet files.

    Attributes
    ----------
    parts : tuple of Part
        In the order of the rows; none is empty.
    label : str
        The column of labels, which may be missing.
    """

    parts: tuple[Part, ...]
    label: str

    @classmethod
    def of(cls, path: str | Path, *, label: str) -> PartedTable:
        """Look at the files, not at the rows.

        Parameters
        ----------
        path : str or Path
            A Parquet file, or a folder of them, that this machine and all workers can read.
        label : str
            The column of labels.

        Returns
        -------
        PartedTable
            With one row at least.
        """
        parts = tuple(part for file in table_files(path) for part in _parts_of(file))
        if not parts:
            raise TableError(
                f"{path} must hold Parquet files with rows, but has none: check the path."
            )
        return cls(parts, label)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(part.n_rows for part in self.parts)

    def sample(self, seed: int, *, texts: Sequence[str], classes: np.ndarray) -> pd.DataFrame:
        """Rows that stand for all: drawn without favour, and all that have a label.

        Parameters
        ----------
        seed : int
            Same seed, same rows.
        texts : sequence of str
            Columns to keep as they are written.
        classes : ndarray of str
            The classes of the source.

        Returns
        -------
        DataFrame
            The whole table where it is small; else some of its rows, in their order.
        """
        import pandas as pd
        from dask.base import compute
        from dask.delayed import delayed

        ends = np.cumsum([part.n_rows for part in self.parts])
        chosen = np.arange(ends[-1])
        if len(chosen) > SAMPLE:
            chosen = np.sort(np.random.default_rng(seed).choice(chosen, SAMPLE, replace=False))
        shares = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
        read = delayed(sample_part)
        asked = {"texts": tuple(texts), "label": self.label, "gaps": target_gaps(classes)}
        tasks = [
            read(part, share - (end - part.n_rows), **asked)
            for part, share, end in zip(self.parts, shares, ends, strict=True)
        ]
        return pd.concat(compute(*tasks), ignore_index=True)


def read_part(part: Part, texts: Sequence[str]) -> pd.DataFrame:
    """Read a part.

    Parameters
    ----------
    part : Part
        Which one.
    texts : sequence of str
        Columns to keep as they are written.

    Returns
    -------
    DataFrame
        Its rows.
    """
    with open(part.path, "rb") as stream:
        (table,) = parquet_blocks(stream, part.path, texts=texts, n_rows=None, group=part.group)
    return table


def sample_part(
    part: Part, rows: np.ndarray, *, texts: tuple[str, ...], label: str, gaps: frozenset[str]
) -> pd.DataFrame:
    """Some rows of a part, and all that have a label.

    Parameters
    ----------
    part : Part
        Which one.
    rows : ndarray of int
        Numbers of rows.
    texts : tuple of str
        Columns to keep as they are written.
    label : str
        The column of labels.
    gaps : frozenset of str
        What marks a row without one.

    Returns
    -------
    DataFrame
        In the order of the part.
    """
    table = read_part(part, (*texts, label))
    if label in table.columns:
        rows = np.union1d(rows, np.flatnonzero(~table[label].isin(gaps)))
    return table.iloc[rows]


def _parts_of(file: Path) -> Iterator[Part]:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(file) as opened:
            sizes = [
                opened.metadata.row_group(i).num_rows for i in range(opened.metadata.num_row_groups)
            ]
    except (OSError, ArrowException) as error:
        raise TableError(
            f"With --dask the target must be a Parquet file or a folder of them, but {file} cannot "
            f"be read as one ({' '.join(str(error).split())[:120]}): convert it."
        ) from None
    yield from (Part(str(file.resolve()), i, size) for i, size in enumerate(sizes) if size)
