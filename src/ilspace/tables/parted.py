"""A table that stays in its Parquet files, of which Dask reads a part at a time."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ilspace.scale.dask_rows import FAN_IN, RowSummary, add_up, summarised, tree
from ilspace.tables.binary_files import parquet_blocks
from ilspace.tables.classifier import TableClassifier
from ilspace.tables.encoding import TableEncoder, known_sums, scaled_encoder, unscaled
from ilspace.tables.errors import TableError, as_table_errors
from ilspace.tables.labels import take_target_labels, target_gaps
from ilspace.tables.prediction import predictions_table, with_given
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


def fit_whole(
    model: TableClassifier,
    source: pd.DataFrame,
    y: np.ndarray,
    *,
    target: PartedTable,
    sample: pd.DataFrame,
    yt: np.ndarray | None,
) -> None:
    """Fit a model that a sample has prepared to all rows.

    Columns, categories, held-out rows and trust stay those of the sample; what fills gaps, scales
    the columns and is learned from then on is that of all rows.

    Parameters
    ----------
    model : TableClassifier
        Fitted to the source and a sample of the target.
    source : DataFrame
        Rows of the source.
    y : ndarray of shape (n,)
        Their labels.
    target : PartedTable
        All rows of the target.
    sample : DataFrame
        Those that the model was fitted to, with all that have a label.
    yt : ndarray or None
        Their labels.
    """
    from dask.array.core import concatenate, from_delayed
    from dask.base import compute
    from dask.delayed import delayed

    encoder = _encoder_of_all(model.target_encoder_, target)
    there = delayed(encoder, traverse=False)
    width = len(encoder.names)
    encode, labels = delayed(encode_part), delayed(labels_of_part)
    rows = concatenate(
        [
            from_delayed(encode(part, there), shape=(part.n_rows, width), dtype=float)
            for part in target.parts
        ]
    )
    classes = np.unique(y)
    known = [labels(part, classes, label=target.label) for part in target.parts]
    n_labelled = sum(compute(*(delayed(_count_labels)(each) for each in known)))
    labels_of_all = concatenate(
        [
            from_delayed(each, shape=(part.n_rows,), dtype=object)
            for each, part in zip(known, target.parts, strict=True)
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


def label_parts(
    model: TableClassifier,
    target: PartedTable,
    *,
    output: IO[str],
    given: bool,
    on_count: Callable[[int, int], object] | None = None,
) -> None:
    """Label all rows, and write the predictions a few parts at a time.

    Parameters
    ----------
    model : TableClassifier
        Fitted.
    target : PartedTable
        The rows.
    output : file
        Text, to which the predictions are written as CSV.
    given : bool
        Whether to say which rows had a label.
    on_count : callable, optional
        Called with how many parts are done, and of how many.
    """
    from dask.base import compute
    from dask.delayed import delayed

    light = copy(model)
    # not needed to label rows, and not everything there can be sent
    light.callback = light.estimator = light.search_ = light.holdout_estimator_ = None
    light.estimator_ = copy(model.estimator_).set_params(callback=None)
    label, there = delayed(label_part), delayed(light, traverse=False)
    first, tasks = 0, []
    for part in target.parts:
        tasks.append(label(part, there, first=first, label=target.label if given else None))
        first += part.n_rows
    for start in range(0, len(tasks), FAN_IN):
        for text in compute(*tasks[start : start + FAN_IN]):
            output.write(text)
        if on_count is not None:
            on_count(min(start + FAN_IN, len(tasks)), len(tasks))


# -- tasks ---------------------------------------------------------------------------------------


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


def encode_part(part: Part, encoder: TableEncoder) -> np.ndarray:
    """Rows of a part as numbers.

    Parameters
    ----------
    part : Part
        Which one.
    encoder : TableEncoder
        How.

    Returns
    -------
    ndarray of shape (n, n_encoded)
        The numbers.
    """
    return encoder.encode(read_part(part, _categories(encoder)))


def labels_of_part(part: Part, classes: np.ndarray, *, label: str) -> np.ndarray:
    """Labels of the rows of a part, None where there is none.

    Parameters
    ----------
    part : Part
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
    _, yt = take_target_labels(read_part(part, (label,)), label, classes=classes)
    return np.full(part.n_rows, None, dtype=object) if yt is None else yt


def label_part(part: Part, model: TableClassifier, *, first: int, label: str | None) -> str:
    """Predictions for the rows of a part, as lines of a CSV file.

    Parameters
    ----------
    part : Part
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
        With a heading if it is the first part.
    """
    texts = (*model.plan_.ids, *_categories(model.target_encoder_))
    table = read_part(part, texts if label is None else (*texts, label))
    with as_table_errors():
        labelled = model.label_rows(table)
    if label is not None:
        _, yt = take_target_labels(table, label, classes=model.classes_)
        labelled = with_given(labelled, yt)
    text = io.StringIO()
    predictions = predictions_table(table, labelled, model.plan_.ids, first=first)
    predictions.to_csv(text, index=False, header=first == 0, float_format="%.6g")
    return text.getvalue()


def sums_of_part(part: Part, encoder: TableEncoder) -> tuple[np.ndarray, np.ndarray]:
    """Sums and counts of the known numbers of a part.

    Parameters
    ----------
    part : Part
        Which one.
    encoder : TableEncoder
        Knows the columns.

    Returns
    -------
    sums, counts : ndarray of shape (n_numbers,)
        For the means of the columns.
    """
    return known_sums(read_part(part, _categories(encoder)), encoder.columns)


# -- helpers -------------------------------------------------------------------------------------


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


def _categories(encoder: TableEncoder) -> tuple[str, ...]:
    """Columns of categories, which are compared as they are written."""
    return tuple(each.name for each in encoder.columns if each.categories)


def _count_labels(yt: np.ndarray) -> int:
    return sum(each is not None for each in yt)


def _encoder_of_all(sampled: TableEncoder, target: PartedTable) -> TableEncoder:
    """The encoder of a sample with the numbers of all rows."""
    from dask.base import compute
    from dask.delayed import delayed

    add, encode = delayed(sums_of_part), delayed(encode_part)
    ((sums, counts),) = compute(tree([add(part, sampled) for part in target.parts], add_up))
    fill = sums / np.maximum(counts, 1)
    first: Any = delayed(unscaled(sampled, fill), traverse=False)
    summary: RowSummary
    (summary,) = compute(summarised([encode(part, first) for part in target.parts]))
    if summary.moments is None:
        raise TableError(
            "The target must hold numbers that can be squared, but its largest is "
            f"{summary.largest:.3g}: scale its columns."
        )
    return scaled_encoder(sampled, fill, moments=summary.moments)
