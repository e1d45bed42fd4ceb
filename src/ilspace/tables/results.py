"""Results of an earlier job: what was asked for, and the tables that they came from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ilspace.images.files import holds_pictures, picture_files, sha256_of_pictures
from ilspace.tables.errors import TableError
from ilspace.tables.inputs import TableInputs, read_inputs
from ilspace.tables.pictures import PictureOptions
from ilspace.tables.prediction import SUMMARY
from ilspace.tables.reading import sha256_of


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
        wanted = ("files", "label", "method", "scaling", "columns", "class_frequencies", "seed")
        for name in (*wanted, "id", "ignore", "text"):
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
        if _digest(each) == file["sha256"]:
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


def _digest(path: Path) -> str | None:
    if holds_pictures(path):
        return sha256_of_pictures(path, picture_files(path))
    return sha256_of(path)


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
) -> TableInputs:
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
    TableInputs
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
        ids=tuple(inputs["id"]),
        seed=inputs["seed"],
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
