"""A table that stays in its Parquet files: Dask fits and labels a partition at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd

from ilspace.dask.tasks import lazily, results, summary, total
from ilspace.tables.binary_files import parquet_blocks
from ilspace.tables.classifier import TableClassifier
from ilspace.tables.encoding import TableEncoder, known_sums, scaled_encoder, unscaled
from ilspace.tables.errors import TableError, as_table_errors
from ilspace.tables.labels import LabelledTables, missing_labels, take_target_labels
from ilspace.tables.prediction import csv_lines, with_given
from ilspace.tables.reading import table_files

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


def fit_whole(model: TableClassifier, sampled: LabelledTables, target: PartitionedTable) -> None:
    """Fit a model that a sample has prepared to all rows.

    Columns, categories and the rows that are learned from stay those of the sample; what fills
    missing values and scales the columns is that of all rows.

    Parameters
    ----------
    model : TableClassifier
        Fitted to the source and a sample of the target.
    sampled : LabelledTables
        What the model was fitted to: the source, and a sample of the target with all rows that
        have a label.
    target : PartitionedTable
        All rows of the target.
    """
    model.refit(*sampled, target_encoder=encoder_of_all(model.target_encoder_, target))


def label_partitions(
    model: TableClassifier,
    target: PartitionedTable,
    *,
    output: IO[str],
    given: bool,
    spreadsheet: bool = False,
    on_count: Callable[[int, int], object] | None = None,
) -> None:
    """Label all rows, and write the predictions a few partitions at a time.

    Parameters
    ----------
    model : TableClassifier
        Fitted.
    target : PartitionedTable
        The rows.
    output : file
        Text, to which the predictions are written as CSV.
    given : bool
        Whether to say which rows had a label.
    spreadsheet : bool, default=False
        As for :func:`~ilspace.tables.prediction.csv_lines`.
    on_count : callable, optional
        Called with how many partitions are done, and of how many.
    """
    light = copy(model)
    # not needed to label rows, and not everything there can be sent
    light.callback = light.prior_estimate_ = None
    light.method = "committee"
    firsts = np.cumsum([0, *(each.n_rows for each in target.partitions)]).tolist()
    items = zip(target.partitions, firsts, strict=False)
    tasks = lazily(_label_partition, items, light, target.label if given else None, spreadsheet)
    for done, text in enumerate(results(tasks), 1):
        output.write(text)
        if on_count is not None:
            on_count(done, len(tasks))


def encoder_of_all(sampled: TableEncoder, target: PartitionedTable) -> TableEncoder:
    """Give the encoder of a sample the numbers of all rows.

    Parameters
    ----------
    sampled : TableEncoder
        Knows the columns and categories.
    target : PartitionedTable
        All rows.

    Returns
    -------
    TableEncoder
        With what fills missing values and scales columns in all rows.
    """
    sums, counts = total(target.map(_sums_of_partition, sampled))
    fill = sums / np.maximum(counts, 1)
    found = summary(target.map(_encode_partition, unscaled(sampled, fill)))
    if found.moments is None:
        raise TableError(
            "The target must hold numbers that can be squared, but its largest is "
            f"{found.largest:.3g}: scale its columns."
        )
    mean, std = found.moments.mean, np.sqrt(np.diagonal(found.moments.covariance))
    return scaled_encoder(sampled, fill, mean, std, n_rows=found.moments.n_rows)


# -- tasks ---------------------------------------------------------------------------------------


def _sums_of_partition(partition: Partition, encoder: TableEncoder) -> Any:
    """Sums and counts of the numbers that are not missing."""
    return known_sums(encoder.read(read_partition(partition, encoder.as_written)).values)


def _encode_partition(partition: Partition, encoder: TableEncoder) -> np.ndarray:
    return encoder.encode(read_partition(partition, encoder.as_written))


def _label_partition(
    partition: Partition,
    first: int,
    model: TableClassifier,
    label: str | None,
    spreadsheet: bool,
) -> str:
    """Predictions as lines of a CSV file; with a label, which rows had one."""
    as_written = (*model.plan_.ids, *model.target_encoder_.as_written)
    table = read_partition(partition, as_written if label is None else (*as_written, label))
    with as_table_errors():
        labelled = model.label_rows(table)
    if label is not None:
        _, yt = take_target_labels(table, label, classes=model.classes_)
        labelled = with_given(labelled, yt)
    return csv_lines(table, labelled, model.plan_.ids, first=first, spreadsheet=spreadsheet)
