"""Results of an earlier job: what was asked for, its tables, and labels recorded since."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ilspace.active import Prediction
from ilspace.domains.labels import UNLABELLED
from ilspace.tables.answer import SUMMARY
from ilspace.tables.inputs import Inputs, read_inputs
from ilspace.tables.pictures import PictureOptions
from ilspace.tables.reading import sha256_of
from ilspace.tables.values import TableError

_ASKED = (
    *("files", "label", "method", "own_scaling", "kind", "class_prior", "scaling", "matching"),
    *("ids", "ignored", "keep", "text", "random_state"),
)
"""What the summary of a job says of what was asked for."""


def inputs_of(folder: Path) -> dict[str, Any]:
    """What a job was asked for.

    Parameters
    ----------
    folder : Path
        Its results.

    Returns
    -------
    dict
        As in the summary: files, column of labels, options.
    """
    file = folder / SUMMARY
    if not file.is_file():
        raise TableError(
            f"{folder} must be a folder of results of ilspace adapt, but has no {SUMMARY}: run "
            "ilspace adapt first, or name two files, source and target."
        )
    try:
        inputs = json.loads(file.read_text(encoding="utf-8"))["inputs"]
        for name in _ASKED:
            inputs[name]
        if not isinstance(inputs["files"], dict) or not isinstance(inputs["label"], str):
            raise TypeError
    except (ValueError, KeyError, TypeError, OSError):
        raise TableError(
            f"{file} must say which tables the results came from, but does not: run ilspace adapt "
            "again, with --force."
        ) from None
    return inputs


def located(name: str, file: dict[str, Any], folder: Path, given: str) -> Path:
    """Find a table by its digest, where it was or beside the results.

    Parameters
    ----------
    name : str
        What to call it.
    file : dict
        Path and digest.
    folder : Path
        The results that came from it.
    given : str
        Path as it was given.

    Returns
    -------
    Path
        The table as it was.
    """
    where = Path(file["path"])
    places = dict.fromkeys(
        [where, Path(given), folder.absolute().parent / where.name, folder / where.name]
    )
    there = [each for each in places if each.exists()]
    for each in there:
        if sha256_of(each) == file["sha256"]:
            return each
    if there:
        raise TableError(
            f"The {name} {there[0]} must be as it was when {folder} was written, but has changed: "
            "put the former file back, or run ilspace adapt again."
        )
    raise TableError(
        f"The {name} {where} must be there, as {folder} came from it, but is not: put it back, or "
        "beside that folder."
    )


class InputPaths(NamedTuple):
    """Where the tables of a job are.

    Attributes
    ----------
    sources : tuple of Path
        Of the source, or of each of several.
    target : Path
        Of the target.
    """

    sources: tuple[Path, ...]
    target: Path


def found_again(folder: Path, inputs: dict[str, Any], *, remedy: str) -> InputPaths:
    """Find the tables of a job.

    Parameters
    ----------
    folder : Path
        Its results.
    inputs : dict
        What it was asked for.
    remedy : str
        What to do where one cannot be read again.

    Returns
    -------
    InputPaths
        Source, or sources, and target.
    """
    wanted = [
        (f"source {name!r}", file, file.get("path"))
        for name, file in inputs.get("sources", {}).items()
    ] or [("source", inputs["files"].get("source"), inputs.get("source"))]
    wanted.append(("target", inputs["files"].get("target"), inputs.get("target")))
    found = []
    for name, file, given in wanted:
        if file is None or file.get("sha256") is None:
            raise TableError(
                f"The {name} of {folder} must be a file that can be read again, but was "
                f"{given!r}: {remedy}."
            )
        found.append(located(name, file, folder, str(given)))
    return InputPaths(tuple(found[:-1]), found[-1])


def pictures_of(folder: Path) -> dict[str, Any]:
    """How pictures became columns in a job.

    Parameters
    ----------
    folder : Path
        Where its model is.

    Returns
    -------
    dict
        The backbone, and the column of paths; empty where nothing is known.
    """
    try:
        found = inputs_of(folder).get("pictures")
    except TableError:  # a model may lie alone
        return {}
    return found if isinstance(found, dict) else {}


def read_again(
    folder: Path, inputs: dict[str, Any], paths: InputPaths, *, cache: Path | None = None
) -> Inputs:
    """Read the tables of a job as it did.

    Parameters
    ----------
    folder : Path
        Its results.
    inputs : dict
        What it was asked for.
    paths : InputPaths
        Where the tables are now.
    cache : Path, optional
        Folder that keeps features of pictures; that of the user by default.

    Returns
    -------
    Inputs
        The tables.
    """
    known = pictures_of(folder)
    options = PictureOptions(known.get("column"), known.get("backbone", "auto"))
    if cache is not None:
        options = PictureOptions(options.column, options.backbone, cache)
    return read_inputs(
        paths.sources,
        paths.target,
        label=inputs["label"],
        ids=tuple(inputs["ids"]),
        random_state=inputs["random_state"],
        pictures=options,
    )


def row_called(table: pd.DataFrame, row: int | None, name: str | None, ids: Sequence[str]) -> int:
    """Find a row by its number or by an identifier.

    Parameters
    ----------
    table : DataFrame
        The rows.
    row : int or None
        Its number, from 1.
    name : str or None
        What one of its identifiers is.
    ids : sequence of str
        Columns that name rows.

    Returns
    -------
    int
        Its position, from 0.
    """
    if (row is None) == (name is None):
        flaw = "is not: add" if row is None else "is by both: leave out"
        raise TableError(f"A row must be named by --row or by --id, but {flaw} one of them.")
    if row is not None:
        if row > len(table):
            raise TableError(
                f"The row must be one of the {len(table)} rows of the target, but is {row}: name "
                "another."
            )
        return row - 1
    named = [each for each in ids if each in table.columns]
    found = np.flatnonzero((table[named].astype(str) == name).any(axis=1)) if named else []
    if len(found) != 1:
        raise TableError(
            f"The identifier must be that of one row of the target, but {len(found) or 'none'} "
            f"has {name!r}: check it, or name the number of the row with --row."
        )
    return int(found[0])


# -- labels of ``ilspace label`` -------------------------------------------------------------------


@dataclass(frozen=True)
class RecordedLabels:
    """Labels of target rows, as ``ilspace label`` records them.

    Attributes
    ----------
    path : Path
        The file that holds them.
    about : mapping
        Of which table they are: the ``column`` of labels, the ``sha256`` of the table.
    labels : mapping of int to str
        By row, from 0.
    predictions : mapping of int to Prediction
        Predictions made before the labels were known, by row; rows of no class too.
    of_no_class : tuple of int
        Rows that are of none of the classes.
    n_bytes : int
        Length of the file as it was read; it may grow.
    sha256 : str
        Digest of that much of it.
    """

    path: Path
    about: Mapping[str, Any]
    labels: Mapping[int, str]
    predictions: Mapping[int, Prediction]
    of_no_class: tuple[int, ...] = ()
    n_bytes: int = 0
    sha256: str = ""

    def about_file(self) -> dict[str, Any]:
        """Path, length and digest, by which the labels are found again."""
        where = str(self.path.absolute())
        return {"path": where, "bytes": self.n_bytes, "sha256": self.sha256}

    @property
    def were_chosen(self) -> bool:
        """Whether rows were asked about because a model was unsure of them."""
        return any(not each.is_random for each in self.predictions.values())


def with_recorded(read: Inputs, recorded: RecordedLabels) -> tuple[Inputs, list[str]]:
    """Give target rows the labels that were recorded for them.

    Parameters
    ----------
    read : Inputs
        The tables; a label that is there already is replaced.
    recorded : RecordedLabels
        The labels, which must be of this target.

    Returns
    -------
    read : Inputs
        With these labels.
    notes : list of str
        What is to be known of them.
    """
    pair = read.pair
    about = {"column": pair.label, "sha256": read.files.get("target", {}).get("sha256")}
    for name, wanted in about.items():
        if recorded.about.get(name) != wanted:
            raise TableError(
                f"{recorded.path} must hold labels of this target, but its {name} is "
                f"{recorded.about.get(name)!r} and not {wanted!r}: name the file that belongs to "
                "the target."
            )
    codes = {str(each): code for code, each in enumerate(pair.classes.tolist())}
    others = dict.fromkeys(recorded.of_no_class, None)
    found = others | dict(recorded.labels)
    for row, label in found.items():
        if not 0 <= row < len(pair.known) or not (label is None or label in codes):
            raise TableError(
                f"{recorded.path} must hold classes of the source for rows of the target, but says "
                f"{label or 'other'!r} of row {row + 1}: correct that line."
            )
    known = [UNLABELLED if label is None else codes[label] for label in found.values()]
    notes = []
    if others:
        counted = "1 row is" if len(others) == 1 else f"{len(others)} rows are"
        notes.append(
            f"In {recorded.path} {counted} said to be of none of the classes; the predictions "
            "name one all the same."
        )
    if recorded.were_chosen:
        notes.append(
            "Some labels are of rows that a model was unsure of: judged by these, the expected "
            "accuracy may be too low."
        )
    return replace(read, pair=pair.with_labels([*found], known)), notes
