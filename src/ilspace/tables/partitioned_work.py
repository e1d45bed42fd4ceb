"""Fit a model to all partitions of a table, and label them: maps over the partitions, and trees."""

from __future__ import annotations

import io
from collections.abc import Callable
from copy import copy
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from ilspace.dask.rows import FAN_IN, RowSummary, add_up, summarised, tree
from ilspace.tables.classifier import TableClassifier
from ilspace.tables.encoding import TableEncoder, known_sums, scaled_encoder, unscaled
from ilspace.tables.errors import TableError, as_table_errors
from ilspace.tables.labels import take_target_labels
from ilspace.tables.partitioned import Partition, PartitionedTable, read_partition
from ilspace.tables.prediction import predictions_table, with_given

if TYPE_CHECKING:
    import pandas as pd


def fit_whole(
    model: TableClassifier,
    source: pd.DataFrame,
    y: np.ndarray,
    *,
    target: PartitionedTable,
    sample: pd.DataFrame,
    yt: np.ndarray | None,
) -> None:
    """Fit a model that a sample has prepared to all rows.

    Columns, categories, held-out rows and trust stay those of the sample; what fills missing
    values, scales the columns and is learned from then on is that of all rows.

    Parameters
    ----------
    model : TableClassifier
        Fitted to the source and a sample of the target.
    source : DataFrame
        Rows of the source.
    y : ndarray of shape (n,)
        Their labels.
    target : PartitionedTable
        All rows of the target.
    sample : DataFrame
        Those that the model was fitted to, with all that have a label.
    yt : ndarray or None
        Their labels.
    """
    from dask.array.core import concatenate, from_delayed
    from dask.base import compute
    from dask.delayed import delayed

    encoder = encoder_of_all(model.target_encoder_, target)
    there = delayed(encoder, traverse=False)
    width = len(encoder.names)
    encode, labels = delayed(encode_partition), delayed(labels_of_partition)
    rows = concatenate(
        [
            from_delayed(encode(partition, there), shape=(partition.n_rows, width), dtype=float)
            for partition in target.partitions
        ]
    )
    classes = np.unique(y)
    known = [labels(partition, classes, label=target.label) for partition in target.partitions]
    n_labelled = sum(compute(*(delayed(_count_labels)(each) for each in known)))
    labels_of_all = concatenate(
        [
            from_delayed(each, shape=(partition.n_rows,), dtype=object)
            for each, partition in zip(known, target.partitions, strict=True)
        ]
    )
    own = model.estimator_.callback
    told = model._told("all", model.holdout_score_, own)
    fitted = clone(model.estimator_).set_params(callback=told)
    source_rows = model.source_encoder_.encode(source)
    fitted.fit(source_rows, y, rows, labels_of_all if n_labelled else None)
    model.estimator_ = fitted.set_params(callback=own)
    model.target_encoder_ = encoder
    model._learn_means(source_rows, y, sample, yt)


def label_partitions(
    model: TableClassifier,
    target: PartitionedTable,
    *,
    output: IO[str],
    given: bool,
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
    on_count : callable, optional
        Called with how many partitions are done, and of how many.
    """
    from dask.base import compute
    from dask.delayed import delayed

    light = copy(model)
    # not needed to label rows, and not everything there can be sent
    light.callback = light.estimator = light.search_ = light.holdout_estimator_ = None
    light.estimator_ = copy(model.estimator_).set_params(callback=None)
    label, there = delayed(label_partition), delayed(light, traverse=False)
    first, tasks = 0, []
    for partition in target.partitions:
        tasks.append(label(partition, there, first=first, label=target.label if given else None))
        first += partition.n_rows
    for start in range(0, len(tasks), FAN_IN):
        for text in compute(*tasks[start : start + FAN_IN]):
            output.write(text)
        if on_count is not None:
            on_count(min(start + FAN_IN, len(tasks)), len(tasks))


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
    from dask.base import compute
    from dask.delayed import delayed

    add, encode = delayed(sums_of_partition), delayed(encode_partition)
    ((sums, counts),) = compute(
        tree([add(partition, sampled) for partition in target.partitions], add_up)
    )
    fill = sums / np.maximum(counts, 1)
    first: Any = delayed(unscaled(sampled, fill), traverse=False)
    summary: RowSummary
    (summary,) = compute(summarised([encode(partition, first) for partition in target.partitions]))
    if summary.moments is None:
        raise TableError(
            "The target must hold numbers that can be squared, but its largest is "
            f"{summary.largest:.3g}: scale its columns."
        )
    return scaled_encoder(sampled, fill, moments=summary.moments)


# -- tasks ---------------------------------------------------------------------------------------


def encode_partition(partition: Partition, encoder: TableEncoder) -> np.ndarray:
    """Rows of a partition as numbers.

    Parameters
    ----------
    partition : Partition
        Which one.
    encoder : TableEncoder
        How.

    Returns
    -------
    ndarray of shape (n, n_encoded)
        The numbers.
    """
    return encoder.encode(read_partition(partition, _categories(encoder)))


def labels_of_partition(partition: Partition, classes: np.ndarray, *, label: str) -> np.ndarray:
    """Labels of the rows of a partition, None where there is none.

    Parameters
    ----------
    partition : Partition
        Which one.
    classes : ndarray of str
        The classes of the source.
    label : str
        The column of labels.

    Returns
    -------
    ndarray of object, shape (n,)
        The labels.
    """
    _, yt = take_target_labels(read_partition(partition, (label,)), label, classes=classes)
    return np.full(partition.n_rows, None, dtype=object) if yt is None else yt


def label_partition(
    partition: Partition, model: TableClassifier, *, first: int, label: str | None
) -> str:
    """Predictions for the rows of a partition, as lines of a CSV file.

    Parameters
    ----------
    partition : Partition
        Which one.
    model : TableClassifier
        Fitted.
    first : int
        Number of its first row.
    label : str or None
        The column of labels, to say which rows had one.

    Returns
    -------
    str
        With a header if it is the first partition.
    """
    as_written = (*model.plan_.ids, *_categories(model.target_encoder_))
    table = read_partition(partition, as_written if label is None else (*as_written, label))
    with as_table_errors():
        labelled = model.label_rows(table)
    if label is not None:
        _, yt = take_target_labels(table, label, classes=model.classes_)
        labelled = with_given(labelled, yt)
    text = io.StringIO()
    predictions = predictions_table(table, labelled, model.plan_.ids, first=first)
    predictions.to_csv(text, index=False, header=first == 0, float_format="%.6g")
    return text.getvalue()


def sums_of_partition(partition: Partition, encoder: TableEncoder) -> tuple[np.ndarray, np.ndarray]:
    """Sums and counts of the numbers of a partition that are not missing.

    Parameters
    ----------
    partition : Partition
        Which one.
    encoder : TableEncoder
        Knows the columns.

    Returns
    -------
    sums, counts : ndarray of shape (n_numbers,)
        For the means of the columns.
    """
    return known_sums(read_partition(partition, _categories(encoder)), encoder.columns)


# -- helpers -------------------------------------------------------------------------------------


def _categories(encoder: TableEncoder) -> tuple[str, ...]:
    """Columns of categories, which are compared as they are written."""
    return tuple(each.name for each in encoder.columns if each.categories)


def _count_labels(yt: np.ndarray) -> int:
    return sum(each is not None for each in yt)
