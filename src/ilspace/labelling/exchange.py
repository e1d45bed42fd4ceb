"""Labels made elsewhere: rows to ask about go out as a file, labels come back as one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ilspace.labelling.answers import Event, Kind, new_id, now
from ilspace.labelling.job import LabellingJob
from ilspace.labelling.learner import Learner, Task
from ilspace.tables.labels import missing_labels
from ilspace.tables.reading import read_table
from ilspace.tables.values import TableError, write_out

OTHER = "(not one of these)"
"""Says in a file of labels that a row is of none of the classes."""

_ROW, _GUESS, _PROBABILITY = "row", "guess", "probability"


def choose_batch(job: LabellingJob, n: int, *, strategy: str = "auto") -> pd.DataFrame:
    """Choose rows to label elsewhere.

    Parameters
    ----------
    job : LabellingJob
        The tables; labels in its file are learned from first.
    n : int
        How many.
    strategy : str, default="auto"
        As for :class:`~ilspace.active.QuerySelector`.

    Returns
    -------
    DataFrame
        The number of each row from 1, an empty column of labels, the guess and its probability,
        and the row itself; best first, fewer than n if no more are left.
    """
    learner = Learner(job, strategy)
    try:
        found = next(learner.learn(Task.of(job.open_labels().answers), n_ahead=n))
    except TypeError as error:  # a strategy that this model cannot serve
        raise TableError(f"{error}") from None
    rows = found.queue[:n]
    table = job.target.iloc[rows].reset_index(drop=True)
    front = pd.DataFrame(
        {
            _free_name(_ROW, job): rows + 1,
            job.label: [""] * len(rows),
            _free_name(_GUESS, job): [job.classes[code] for code in found.codes[rows]],
            _free_name(_PROBABILITY, job): found.probability[rows].astype(float).round(4),
        }
    )
    return pd.concat([front, write_out(table, job.ids)], axis=1)


def take_labels(job: LabellingJob, path: Path) -> dict[str, int]:
    """Take labels over from a file.

    Parameters
    ----------
    job : LabellingJob
        The tables.
    path : Path
        A table as :func:`choose_batch` makes it, with labels; blank where there is none, and
        ``(not one of these)`` for rows of no class.

    Returns
    -------
    dict of str to int
        How many labels were ``new``, had been ``known`` before, took the place of another
        (``changed``), and how many rows were left ``blank``.
    """
    key = _free_name(_ROW, job)
    table = read_table(path, string_columns=(key, *job.ids), label=job.label)
    for name in (key, job.label):
        if name not in table.columns:
            raise TableError(
                f"{path} must have the column {name!r}, as ilspace label --batch writes it, but "
                f"has {', '.join(map(str, table.columns[:10]))}: keep that column."
            )
    rows = _row_numbers(job, table[key], path)
    _check_identifiers(job, table, rows, path)
    file = job.open_labels()
    missing = missing_labels(np.array(job.classes))
    whole = {f"{each}.0": each for each in job.classes if f"{each}.0" not in job.classes}
    counts: dict[str, int] = dict.fromkeys(("new", "known", "changed", "blank"), 0)
    events = []
    for row, written in zip(rows, table[job.label].astype(str), strict=True):
        label = whole.get(written.strip(), written.strip())
        if label in missing and label not in job.classes:
            counts["blank"] += 1
            continue
        if label != OTHER and label not in job.classes:
            raise TableError(
                f"Labels must be classes of the source ({', '.join(job.classes[:10])}) or {OTHER}, "
                f"but row {row} of {path} has {label!r}: correct or blank it."
            )
        kind = Kind.OTHER if label == OTHER else Kind.LABEL
        before = file.answers.by_row.get(row)
        if before is not None and (before.kind, before.label or OTHER) == (kind, label):
            counts["known"] += 1
            continue
        is_change = before is not None and before.kind is not Kind.SKIP
        counts["changed" if is_change else "new"] += 1
        given = label if kind is Kind.LABEL else None
        events.append(Event(new_id(), kind, row, given, by="import", at=now()))
    if events:
        file.append(*events)
    return counts


def labelled_table(job: LabellingJob) -> pd.DataFrame:
    """The target with all labels so far.

    Parameters
    ----------
    job : LabellingJob
        The tables.

    Returns
    -------
    DataFrame
        All rows and columns, and the column of labels, blank where there is none: what ``ilspace
        adapt`` takes for a target.
    """
    labels = job.given | job.open_labels().answers.labels
    column = [labels.get(row, "") for row in range(1, job.n_rows + 1)]
    return write_out(job.target, job.ids).assign(**{job.label: column})


def _free_name(name: str, job: LabellingJob) -> str:
    """A name that no column of the target has."""
    taken = {*map(str, job.target.columns), job.label}
    return name if name not in taken else _free_name(f"{name} (ilspace)", job)


def _row_numbers(job: LabellingJob, column: pd.Series, path: Path) -> list[int]:
    rows = []
    for entry in column.astype(str).str.strip():
        number = entry.removesuffix(".0")  # as some spreadsheets write it
        is_row = number.isascii() and number.isdigit() and 0 < int(number) <= job.n_rows
        if not is_row or int(number) in rows:
            raise TableError(
                f"The column {column.name!r} of {path} must hold different rows, 1 to "
                f"{job.n_rows}, but has {entry!r}{' twice' if is_row else ''}: leave it as ilspace "
                "label --batch wrote it."
            )
        rows.append(int(number))
    return rows


def _check_identifiers(job: LabellingJob, table: pd.DataFrame, rows: list[int], path: Path) -> None:
    """Refuse a file whose rows are not those of the target."""
    places = np.array(rows, dtype=np.intp) - 1
    for name in job.ids:
        if name not in table.columns:
            continue
        wanted = write_out(job.target.iloc[places][[name]], [name])[name].astype(str)
        for row, met, own in zip(rows, table[name].astype(str), wanted, strict=True):
            if met.strip().removesuffix(".0") != own.strip().removesuffix(".0"):
                raise TableError(
                    f"Row {row} of the target must have the {name} {own!r}, but has {met!r} in "
                    f"{path}: use a file that was written for this target."
                )
