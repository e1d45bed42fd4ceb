"""A table that stays in its Parquet files: a sample is learned from, Dask labels the partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ilspace.dask.tasks import lazily, results
from ilspace.tables.answer import labelled_rows, predictions_table
from ilspace.tables.formats import parquet_blocks
from ilspace.tables.labels import missing_labels, take_target_labels
from ilspace.tables.reading import table_files
from ilspace.tables.values import TableError, as_table_errors

if TYPE_CHECKING:
    from ilspace.tables.answer import Answer
    from ilspace.tables.classifier import TableClassifier

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

    def map(self, task: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call a function for each partition, later and wherever Dask likes.

        Parameters
        ----------
        task : callable
            Takes a partition first.
        *arguments : object
            What else it takes; sent once.

        Returns
        -------
        list of Delayed
            One per partition.
        """
        return lazily(task, ((each,) for each in self.partitions), *arguments)

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

        ends = np.cumsum([partition.n_rows for partition in self.partitions])
        chosen = np.arange(ends[-1])
        if len(chosen) > SAMPLE:
            chosen = np.sort(np.random.default_rng(seed).choice(chosen, SAMPLE, replace=False))
        shares = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
        items = (
            (partition, share - (end - partition.n_rows))
            for partition, share, end in zip(self.partitions, shares, ends, strict=True)
        )
        asked = tuple(string_columns), self.label, missing_labels(classes)
        return pd.concat(results(lazily(_sample_partition, items, *asked)), ignore_index=True)


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
            stream, partition.path, string_columns=string_columns, group=partition.group
        )
    return table


def _sample_partition(
    partition: Partition,
    rows: np.ndarray,
    string_columns: tuple[str, ...],
    label: str,
    missing: frozenset[str],
) -> pd.DataFrame:
    """Some rows of a partition, and all that have a label."""
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


def label_partitions(
    answer: Answer, on_count: Callable[[int, int], object] = lambda done, total: None
) -> Iterator[pd.DataFrame]:
    """Label all rows of a target of which an answer knows a sample.

    Parameters
    ----------
    answer : Answer
        Of the sample.
    on_count : callable, optional
        Called with how many partitions are done, and of how many.

    Yields
    ------
    DataFrame
        Predictions of one partition after the other.
    """
    target, model = answer.whole, answer.model
    if target is None:
        return
    label = target.label if answer.pair.has_labels.any() else None
    firsts = np.cumsum([0, *(each.n_rows for each in target.partitions)]).tolist()
    tasks = lazily(_label_partition, zip(target.partitions, firsts, strict=False), model, label)
    for done, found in enumerate(results(tasks), 1):
        yield found
        on_count(done, len(tasks))


def _label_partition(
    partition: Partition, first: int, model: TableClassifier, label: str | None
) -> pd.DataFrame:
    """Predictions of a partition; with a label, which rows had one."""
    as_written = model.plan_.as_written
    table = read_partition(partition, as_written if label is None else (*as_written, label))
    known = None
    if label is not None:
        table, known = take_target_labels(table, label, classes=model.classes_)
    with as_table_errors():
        labelled = labelled_rows(model.classes_, model.predict_proba(table), known)
    return predictions_table(table, labelled, model.plan_.ids, first=first)
