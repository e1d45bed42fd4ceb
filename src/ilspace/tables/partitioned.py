"""A table that stays in its Parquet files, of which Dask reads a partition at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ilspace.tables.binary_files import parquet_blocks
from ilspace.tables.errors import TableError
from ilspace.tables.labels import missing_labels
from ilspace.tables.reading import table_files

if TYPE_CHECKING:
    import pandas as pd

SAMPLE = 20_000
"""Rows that stand for all where the columns are judged, and in the report."""


class Partition(NamedTuple):
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
class PartitionedTable:
    """A table in Parquet files.

    Attributes
    ----------
    partitions : tuple of Partition
        In the order of the rows; none is empty.
    label : str
        The column of labels, which may be absent.
    """

    partitions: tuple[Partition, ...]
    label: str

    @classmethod
    def of(cls, path: str | Path, *, label: str) -> PartitionedTable:
        """Look at the files, not at the rows.

        Parameters
        ----------
        path : str or Path
            A Parquet file, or a folder of them, that this machine and all workers can read.
        label : str
            The column of labels.

        Returns
        -------
        PartitionedTable
            With one row at least.
        """
        partitions = tuple(
            partition for file in table_files(path) for partition in _partitions_of(file)
        )
        if not partitions:
            raise TableError(
                f"{path} must hold Parquet files with rows, but has none: check the path."
            )
        return cls(partitions, label)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(partition.n_rows for partition in self.partitions)

    def sample(
        self, seed: int, *, string_columns: Sequence[str], classes: np.ndarray
    ) -> pd.DataFrame:
        """Rows that stand for all: a uniform sample, and all that have a label.

        Parameters
        ----------
        seed : int
            Same seed, same rows.
        string_columns : sequence of str
            Columns to keep as strings, as they are written.
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

        ends = np.cumsum([partition.n_rows for partition in self.partitions])
        chosen = np.arange(ends[-1])
        if len(chosen) > SAMPLE:
            chosen = np.sort(np.random.default_rng(seed).choice(chosen, SAMPLE, replace=False))
        shares = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
        read = delayed(sample_partition)
        asked = {"string_columns": tuple(string_columns), "label": self.label}
        asked["missing"] = missing_labels(classes)
        tasks = [
            read(partition, share - (end - partition.n_rows), **asked)
            for partition, share, end in zip(self.partitions, shares, ends, strict=True)
        ]
        return pd.concat(compute(*tasks), ignore_index=True)


def read_partition(partition: Partition, string_columns: Sequence[str]) -> pd.DataFrame:
    """Read a partition.

    Parameters
    ----------
    partition : Partition
        Which one.
    string_columns : sequence of str
        Columns to keep as strings, as they are written.

    Returns
    -------
    DataFrame
        Its rows.
    """
    with open(partition.path, "rb") as stream:
        (table,) = parquet_blocks(
            stream,
            partition.path,
            string_columns=string_columns,
            n_rows=None,
            group=partition.group,
        )
    return table


def sample_partition(
    partition: Partition,
    rows: np.ndarray,
    *,
    string_columns: tuple[str, ...],
    label: str,
    missing: frozenset[str],
) -> pd.DataFrame:
    """Some rows of a partition, and all that have a label.

    Parameters
    ----------
    partition : Partition
        Which one.
    rows : ndarray of int
        Numbers of rows.
    string_columns : tuple of str
        Columns to keep as strings, as they are written.
    label : str
        The column of labels.
    missing : frozenset of str
        Markers of a missing label.

    Returns
    -------
    DataFrame
        In the order of the partition.
    """
    table = read_partition(partition, (*string_columns, label))
    if label in table.columns:
        rows = np.union1d(rows, np.flatnonzero(~table[label].isin(missing)))
    return table.iloc[rows]


def _partitions_of(file: Path) -> Iterator[Partition]:
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
    yield from (Partition(str(file.resolve()), i, size) for i, size in enumerate(sizes) if size)
