"""What a job leaves behind, all of it or nothing; and labels of further rows, block by block."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd

from ilspace.backend import threads_for_rows
from ilspace.storage import whole_folder
from ilspace.tables.answer import (
    LABELS,
    MODEL,
    PREDICTIONS,
    REPORT,
    SUMMARY,
    Answer,
    labelled_rows,
    predictions_table,
)
from ilspace.tables.classifier import TableClassifier
from ilspace.tables.formats import PARQUET, write_parquet
from ilspace.tables.partitioned import label_partitions
from ilspace.tables.report import report_page
from ilspace.tables.values import TableError, as_table_errors, is_number

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a formula begins, as spreadsheets see it."""


def write_outputs(
    answer: Answer,
    folder: Path,
    *,
    force: bool = False,
    spreadsheet: bool = False,
    as_parquet: bool = False,
    on_count: Callable[[int, int], object] = lambda done, total: None,
) -> dict[str, Any]:
    """Write the predictions, the model, the report and the summary, all or none.

    Parameters
    ----------
    answer : Answer
        The job.
    folder : Path
        Where; a new folder, unless `force`.
    force : bool, default=False
        Whether to replace the files of an earlier job; others in the folder stay.
    spreadsheet : bool, default=False
        Whether to put an apostrophe before strings that a spreadsheet takes for formulas.
    as_parquet : bool, default=False
        Whether the predictions are written as Parquet instead of CSV.
    on_count : callable, optional
        Called with how many partitions are labelled, and of how many, where the target has some.

    Returns
    -------
    dict
        The summary.
    """
    with threads_for_rows(len(answer.pair.codes) + len(answer.pair.known)):
        page = report_page(answer, folder)
    summary = answer.summary_for(folder)
    form = "parquet" if as_parquet else "csv"
    summary["inputs"] = answer.inputs | {"format": form, "spreadsheet": spreadsheet}
    with staged(folder, force=force) as draft:
        with open(draft / PREDICTIONS, "w", encoding="utf-8", newline="") as output:
            blocks: Iterable[pd.DataFrame] = [answer.predictions]
            if answer.whole is not None:
                blocks = label_partitions(answer, on_count)
            for number, block in enumerate(blocks):
                output.write(csv_lines(block, header=number == 0, spreadsheet=spreadsheet))
        if as_parquet:
            place = (draft / PREDICTIONS).with_suffix(PARQUET)
            with open(draft / PREDICTIONS, "rb") as lines, open(place, "wb") as stream:
                write_parquet(lines, stream)
            (draft / PREDICTIONS).unlink()
            summary["files"][0] = place.name
        answer.model.save(draft / MODEL)
        if "labels" in answer.inputs and not (folder / LABELS).exists():
            # so that labelling goes on from these results
            shutil.copyfile(answer.inputs["labels"]["path"], draft / LABELS)
        (draft / REPORT).write_text(page, encoding="utf-8")
        text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False)
        (draft / SUMMARY).write_text(text + "\n", encoding="utf-8")
    return summary


def check_folder(folder: Path, *, force: bool) -> None:
    """Refuse a folder that must not be written to, before work is spent.

    Parameters
    ----------
    folder : Path
        Where results are to go.
    force : bool
        Whether an existing folder may be used.
    """
    if folder.exists() and not folder.is_dir():
        raise TableError(f"The output {folder} must be a folder, but is a file: name another.")
    if folder.exists() and not force and any(folder.iterdir()):
        raise TableError(
            f"The output folder {folder} must not exist, but does: name another, or add --force to "
            "replace the results in it."
        )
    parent = next(each for each in (folder, *folder.resolve().parents) if each.exists())
    if not parent.is_dir():
        raise TableError(f"{parent} must be a folder, but is a file: name another output folder.")
    if not os.access(parent, os.W_OK):
        raise TableError(f"{parent} must be writable, but is not: name another output folder.")


@contextmanager
def staged(folder: Path, *, force: bool) -> Iterator[Path]:
    """Write results beside a folder, and move them there once all are whole.

    Parameters
    ----------
    folder : Path
        Where they go.
    force : bool
        Whether an existing folder may be used.

    Yields
    ------
    Path
        A folder of its own, on the same file system.
    """
    check_folder(folder, force=force)
    try:
        with whole_folder(folder, replace=force) as draft:
            yield draft
    except FileExistsError:
        raise TableError(
            f"The output folder {folder} must not exist, but was made in the meantime: name "
            "another, or add --force to replace the results in it."
        ) from None


def csv_lines(predictions: pd.DataFrame, *, header: bool, spreadsheet: bool = False) -> str:
    """Lines of the file of predictions: whole ones, should it be a pipe that closes.

    Parameters
    ----------
    predictions : DataFrame
        From :func:`~ilspace.tables.answer.predictions_table`.
    header : bool
        Whether they begin with the names of the columns.
    spreadsheet : bool, default=False
        Whether to put an apostrophe before strings that a spreadsheet takes for formulas.

    Returns
    -------
    str
        CSV.
    """
    if spreadsheet:
        predictions = predictions.map(_no_formula).rename(columns=_no_formula)
    return predictions.to_csv(index=False, header=header, float_format="%.6g")


def _no_formula(entry: Any) -> Any:
    """An entry with an apostrophe before it if it is a formula; numbers are none."""
    is_formula = isinstance(entry, str) and entry.startswith(_FORMULA) and not is_number(entry)
    return f"'{entry}" if is_formula else entry


class Counts(NamedTuple):
    """What was said of the rows of a file.

    Attributes
    ----------
    rows, sure : int
        How many there are, and how many of the labels are sure.
    left_out : tuple of str
        Columns of the file that the model does not know.
    """

    rows: int
    sure: int
    left_out: tuple[str, ...]


def label_blocks(
    model: TableClassifier,
    blocks: Iterable[pd.DataFrame],
    *,
    output: IO[str],
    spreadsheet: bool = False,
    on_rows: Callable[[int], object] = lambda done: None,
) -> Counts:
    """Label the rows of a table that comes in blocks, without holding all of them.

    Parameters
    ----------
    model : TableClassifier
        Fitted.
    blocks : iterable of DataFrame
        Rows of the target domain.
    output : file
        Text, to which the predictions are written as CSV.
    spreadsheet : bool, default=False
        As for :func:`csv_lines`.
    on_rows : callable, optional
        Called with the number of rows labelled so far.

    Returns
    -------
    Counts
        Of what was said.
    """
    done, sure, left_out = 0, 0, ()
    known = {*model.plan_.ids, *model.plan_.target}
    for block in blocks:
        left_out = tuple(str(each) for each in block.columns if each not in known)
        with as_table_errors(), threads_for_rows(len(block)):
            labelled = labelled_rows(model.classes_, model.predict_proba(block))
        found = predictions_table(block, labelled, model.plan_.ids, first=done)
        output.write(csv_lines(found, header=done == 0, spreadsheet=spreadsheet))
        done += len(block)
        sure += int(np.sum(labelled["sure"]))
        on_rows(done)
    return Counts(done, sure, left_out)
