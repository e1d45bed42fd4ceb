"""Read the two tables of a job, be they files of rows or folders of pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ilspace.tables.errors import TableError
from ilspace.tables.labels import LabelledTables, take_source_labels, take_target_labels
from ilspace.tables.partitioned import PartitionedTable
from ilspace.tables.pictures import (
    CLASS,
    Embedder,
    PictureFiles,
    PictureOptions,
    are_pictures,
    find_pictures,
    refuse_folder_without,
)
from ilspace.tables.reading import STANDARD_INPUT, read_table, sha256_of

_SIDES = ("source", "target")


class PicturePair(NamedTuple):
    """Pictures of both domains.

    Attributes
    ----------
    source, target : PictureFiles
        Where they are.
    embedder : Embedder
        What described them.
    """

    source: PictureFiles
    target: PictureFiles
    embedder: Embedder

    def path_of(self, side: str, row: pd.Series) -> Path:
        """File of a row.

        Parameters
        ----------
        side : {"source", "target"}
            Whose row it is.
        row : Series
            A row of the table.

        Returns
        -------
        Path
            Its picture.
        """
        files: PictureFiles = getattr(self, side)
        return files.folder / str(row[files.column])


@dataclass(frozen=True)
class TableInputs:
    """What a job reads.

    Attributes
    ----------
    tables : LabelledTables
        The tables and their labels.
    label : str
        The column of labels.
    ids : tuple of str
        Columns that name rows: those that were named, and the paths of pictures.
    notes : tuple of str
        What is to be known about them.
    files : dict
        Path and digest of each that can be read again.
    whole : PartitionedTable or None
        All rows of the target, where `tables` has a sample of them.
    pictures : PicturePair or None
        Where the pictures of the rows are, if they have some.
    """

    tables: LabelledTables
    label: str
    ids: tuple[str, ...]
    notes: tuple[str, ...]
    files: dict[str, dict[str, Any]]
    whole: PartitionedTable | None = None
    pictures: PicturePair | None = None


def read_inputs(
    source: str | Path,
    target: str | Path,
    *,
    label: str | None,
    ids: Sequence[str] = (),
    seed: int = 0,
    partitioned: bool = False,
    pictures: PictureOptions | None = None,
    on_stage: Callable[[str], object] = lambda stage: None,
    on_count: Callable[[int, int], object] | None = None,
) -> TableInputs:
    """Read two tables.

    Parameters
    ----------
    source, target : str or Path
        Tables, as :func:`~ilspace.tables.read_table` reads them, or folders of pictures.
    label : str or None
        The column of labels; None for folders of pictures, whose folders name the classes.
    ids : sequence of str
        Columns that name rows.
    seed : int, default=0
        Draws the sample of a target on workers.
    partitioned : bool, default=False
        Whether the target stays in its Parquet files, of which a sample is read.
    pictures : PictureOptions, optional
        How pictures become columns.
    on_stage, on_count : callable
        Called with the name of the stage that begins; with how many pictures are done, and of how
        many.

    Returns
    -------
    TableInputs
        The tables.
    """
    paths = {"source": source, "target": target}
    have_pictures = [are_pictures(each, pictures) for each in paths.values()]
    if any(have_pictures):
        if not all(have_pictures) or partitioned:
            for path in paths.values():
                refuse_folder_without(path)
            other = "a table on workers" if partitioned else "a table without"
            raise TableError(
                f"Source and target must both be pictures, but one is {other}: name two folders "
                "of pictures, or the column of their paths with --pictures."
            )
        return _read_pictures(paths, label, ids, pictures or PictureOptions(), on_stage, on_count)
    if label is None:
        raise TableError(
            "The column of labels must be named, unless source and target are folders of "
            "pictures, but is not: add --label."
        )
    notes: list[str] = []
    read = read_table(source, string_columns=ids, label=label)
    source_table, y = take_source_labels(read, label, name=str(source), notes=notes)
    classes, whole = np.unique(y), None
    if partitioned:
        whole = PartitionedTable.of(target, label=label)
        read = whole.sample(seed, string_columns=ids, classes=classes)
        if len(read) < whole.n_rows:
            notes.append(
                f"The target has {whole.n_rows} rows, of which {len(read)} stand for all where "
                "predictions are judged, and in the report."
            )
    else:
        read = read_table(target, string_columns=ids, label=label)
    target_table, yt = take_target_labels(read, label, classes=classes)
    # by which the tables are found again; one on workers is not read as a whole
    files = {
        side: {"path": str(Path(path).absolute()), "sha256": sha256_of(path)}
        for side, path in paths.items()
        if side == "source" or not partitioned
    }
    tables = LabelledTables(source_table, y, target_table, yt)
    _refuse_one_row(tables, target)
    return TableInputs(tables, label, tuple(ids), tuple(notes), files, whole)


def _read_pictures(
    paths: dict[str, str | Path],
    label: str | None,
    ids: Sequence[str],
    options: PictureOptions,
    on_stage: Callable[[str], object],
    on_count: Callable[[int, int], object] | None,
) -> TableInputs:
    """Find the pictures of both domains, and describe them."""
    if label is None:
        tables = [str(each) for each in paths.values() if not Path(each).is_dir()]
        if tables:
            raise TableError(
                f"The column of labels must be named for a table, but is not for {tables[0]}: add "
                "--label."
            )
        label = CLASS
    notes: list[str] = []
    found: dict[str, PictureFiles] = {}
    for side, path in paths.items():
        classes = None
        if side == "target" and label in found["source"].table.columns:
            classes = found["source"].table[label].unique().tolist()
        found[side] = find_pictures(
            path,
            label=label,
            column=options.column,
            string_columns=ids,
            classes=classes,
            notes=notes,
        )
    if found["source"].origin.is_dir() and label not in found["source"].table.columns:
        raise TableError(
            f"The folder {paths['source']} must hold a folder of pictures for each class, but its "
            "pictures lie in none: sort them into folders."
        )
    embedder = Embedder(options, list(found.values()))
    read = {}
    for side, files in found.items():
        on_stage(f"describing {side} pictures")
        read[side] = embedder.table(files, on_count)
    source_table, y = take_source_labels(
        read["source"], label, name=str(paths["source"]), notes=notes
    )
    target_table, yt = take_target_labels(read["target"], label, classes=np.unique(y))
    tables = LabelledTables(source_table, y, target_table, yt)
    _refuse_one_row(tables, paths["target"])
    files = {
        side: {"path": str(each.origin.absolute()), "sha256": each.sha256()}
        for side, each in found.items()
    }
    columns = dict.fromkeys([*ids, *(each.column for each in found.values())])
    notes += embedder.notes()
    pair = PicturePair(found["source"], found["target"], embedder)
    return TableInputs(tables, label, tuple(columns), tuple(notes), files, None, pair)


def _refuse_one_row(tables: LabelledTables, target: str | Path) -> None:
    if len(tables.target) < 2:
        raise TableError(
            f"{target} must have two rows or more, to tell how its columns vary, but has one: add "
            "rows, or label it with ilspace predict and a model of a larger table."
        )


def refuse_two_standard_inputs(source: str | Path, target: str | Path) -> None:
    """Refuse to read both tables from the standard input.

    Parameters
    ----------
    source, target : str or Path
        As they were named.
    """
    if str(source) == str(target) == STANDARD_INPUT:
        raise TableError("One of the tables may be the standard input, but both are: name a file.")
