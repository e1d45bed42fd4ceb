"""Label the rows of a file, a block at a time."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import pandas as pd

from ilspace.backend import one_thread, threads_allowed
from ilspace.tables.binary_files import write_out
from ilspace.tables.classifier import TableClassifier
from ilspace.tables.errors import as_table_errors
from ilspace.tables.pictures import Embedder, find_pictures
from ilspace.tables.reading import read_chunks
from ilspace.tables.values import is_number

PREDICTIONS = "predictions.csv"
MODEL = "model.safetensors"
REPORT = "report.html"
SUMMARY = "summary.json"
LABELS = "labels.jsonl"

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a formula begins, as spreadsheets see it."""

_FEW_ROWS = 6_000
"""Up to so many rows one thread is faster than several."""

_FEW_THREADS = 2
"""Up to so many threads one is used for any number of rows: two gain little, and where other work
shares the processor they wait for each other longer than they work."""

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""How a user asks for a number of threads."""


class Counts(NamedTuple):
    """What was said of the rows of a file.

    Attributes
    ----------
    rows, trusted : int
        How many there are, and how many of the predictions are trusted.
    doubts : dict of str to int
        How many predictions each doubt concerns, the most frequent first.
    left_out : tuple of str
        Columns of the file that the model does not know.
    """

    rows: int
    trusted: int
    doubts: dict[str, int]
    left_out: tuple[str, ...]


def doubts_in_words(shares: dict[str, float]) -> str:
    """Doubts of predictions as a remark within a sentence.

    Parameters
    ----------
    shares : dict of str to float
        Share of the rows that each concerns.

    Returns
    -------
    str
        In brackets, after a space; empty if there are none.
    """
    listed = ", ".join(f"{word} {share:.0%}" for word, share in shares.items())
    return f" (doubts: {listed})" if listed else ""


def predictions_table(
    table: pd.DataFrame, labelled: pd.DataFrame, ids: Sequence[str], *, first: int = 0
) -> pd.DataFrame:
    """Put identifiers beside predictions.

    Parameters
    ----------
    table : DataFrame
        Rows as they were read.
    labelled : DataFrame
        What :meth:`TableClassifier.label_rows` says of them.
    ids : sequence of str
        Columns to hand on; without any, the rows are numbered.
    first : int, default=0
        Number of the first row.

    Returns
    -------
    DataFrame
        Identifiers, then the columns of `labelled`.
    """
    kept = [each for each in ids if each in table.columns]
    handed_on = write_out(table[kept].reset_index(drop=True), kept)
    clashes = {each: f"{each} (given)" for each in handed_on.columns if each in labelled.columns}
    handed_on = handed_on.rename(columns=clashes)
    if handed_on.shape[1] == 0:
        handed_on = pd.DataFrame({"row": np.arange(first + 1, first + 1 + len(labelled))})
    return pd.concat([handed_on, labelled.reset_index(drop=True)], axis=1)


def with_given(labelled: pd.DataFrame, yt: np.ndarray | None) -> pd.DataFrame:
    """Keep the labels that rows came with, and say which they are.

    Parameters
    ----------
    labelled : DataFrame
        What :meth:`TableClassifier.label_rows` says of some rows.
    yt : ndarray of shape (n,) or None
        Their own labels, None for a row without; None if no row has one.

    Returns
    -------
    DataFrame
        With the column ``given``; where it is true, the label is certain and beyond doubt.
    """
    given = np.broadcast_to(pd.notna(yt), len(labelled))
    labelled = labelled.assign(given=given)
    if yt is not None:
        labelled.loc[given, "label"] = yt[given]
        labelled.loc[given, ["probability", "trusted", "doubts"]] = [1.0, True, ""]
    return labelled


def new_rows(labelled: pd.DataFrame) -> pd.DataFrame:
    """Rows that had no label; all, if all had one.

    Parameters
    ----------
    labelled : DataFrame
        From :meth:`TableClassifier.label_rows` or :func:`with_given`.

    Returns
    -------
    DataFrame
        Some of its rows.
    """
    if "given" not in labelled or labelled["given"].all():
        return labelled
    return labelled[~labelled["given"]]


def csv_lines(
    table: pd.DataFrame,
    labelled: pd.DataFrame,
    ids: Sequence[str],
    *,
    first: int = 0,
    spreadsheet: bool = False,
) -> str:
    """Lines of the file of predictions: whole ones, should it be a pipe that closes.

    Parameters
    ----------
    table : DataFrame
        The rows, with their identifiers.
    labelled : DataFrame
        What :meth:`TableClassifier.label_rows` says of them.
    ids : sequence of str
        Columns to hand on.
    first : int, default=0
        Number of rows before them.
    spreadsheet : bool, default=False
        Whether to put an apostrophe before strings that a spreadsheet takes for formulas.

    Returns
    -------
    str
        CSV, with a header above the first row of the table.
    """
    predictions = predictions_table(table, labelled, ids, first=first)
    if spreadsheet:
        predictions = without_formulas(predictions)
    return predictions.to_csv(index=False, header=first == 0, float_format="%.6g")


def without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Put an apostrophe before strings that a spreadsheet takes for formulas.

    Parameters
    ----------
    table : DataFrame
        Strings, numbers and booleans.

    Returns
    -------
    DataFrame
        Numbers, also in strings, are as they were; so is all that begins otherwise.
    """

    def safe(entry: object) -> object:
        is_formula = isinstance(entry, str) and entry.startswith(_FORMULA) and not is_number(entry)
        return f"'{entry}" if is_formula else entry

    return table.map(safe).rename(columns=safe)


def doubt_shares(doubts: pd.Series) -> dict[str, float]:
    """Share of the predictions that each doubt concerns.

    Parameters
    ----------
    doubts : Series of str
        As :meth:`TableClassifier.label_rows` gives them.

    Returns
    -------
    dict of str to float
        The most frequent first.
    """
    counts = doubts.str.split().explode().dropna().value_counts()
    return {str(word): float(count / len(doubts)) for word, count in counts.items()}


def threads_for_rows(n_rows: int) -> AbstractContextManager[None]:
    """Limit what is done with tables to one thread where several would not pay.

    Parameters
    ----------
    n_rows : int
        Rows of all tables together.

    Returns
    -------
    context manager
        One thread for few rows, and where there would be two that nobody asked for; else no limit.
    """
    are_asked_for = any(each in os.environ for each in _THREADS)
    is_small = n_rows <= _FEW_ROWS or (threads_allowed() <= _FEW_THREADS and not are_asked_for)
    return one_thread() if is_small else nullcontext()


def label_file(
    model: TableClassifier,
    path: str | Path,
    *,
    output: IO[str],
    pictures: Embedder | None = None,
    n_rows: int = 10_000,
    spreadsheet: bool = False,
    on_rows: Callable[[int], object] | None = None,
) -> Counts:
    """Label the rows of a file without holding all of them.

    Parameters
    ----------
    model : TableClassifier
        Fitted.
    path : str or Path
        A table of the target domain, as :func:`~ilspace.tables.read_chunks` reads it, or a folder
        of pictures.
    output : file
        Text, to which the predictions are written as CSV.
    pictures : Embedder, optional
        What describes the pictures of rows, if they are some.
    n_rows : int, default=10000
        Rows to hold at a time.
    spreadsheet : bool, default=False
        As for :func:`csv_lines`.
    on_rows : callable, optional
        Called with the number of rows labelled so far.

    Returns
    -------
    Counts
        Of what was said.
    """
    done, trusted, doubts = 0, 0, Counter[str]()
    known = {*model.plan_.ids, *(each.name for each in model.plan_.target)}
    left_out: tuple[str, ...] = ()
    # as written: of categories 1, 2 and x, a block with missing values and no x makes 1.0 and 2.0
    as_written = (*model.plan_.ids, *model.target_encoder_.as_written)
    blocks = read_chunks(path, string_columns=as_written, n_rows=n_rows)
    if pictures is not None:
        column = pictures.options.column
        files = find_pictures(path, label="", column=column, string_columns=as_written, classes=())
        blocks = pictures.blocks(files)
    for block in blocks:
        left_out = tuple(str(each) for each in block.columns if each not in known)
        with as_table_errors(), threads_for_rows(len(block)):
            labelled = model.label_rows(block)
        lines = csv_lines(block, labelled, model.plan_.ids, first=done, spreadsheet=spreadsheet)
        output.write(lines)
        done += len(block)
        trusted += int(labelled["trusted"].sum())
        doubts.update(word for each in labelled["doubts"] for word in each.split())
        if on_rows is not None:
            on_rows(done)
    return Counts(done, trusted, dict(doubts.most_common()), left_out)
