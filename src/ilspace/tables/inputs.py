"""Read the tables of a job, be they files of rows or folders of pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ilspace.tables.errors import TableError
from ilspace.tables.labels import (
    LabelledTables,
    check_label_column,
    take_source_labels,
    take_target_labels,
)
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
from ilspace.tables.several import names_of_files, pooled_tables

_OWNER = "\0source"
"""A column that no file has."""


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
    sources : dict
        Path and digest of each source, by its name, where there are several.
    """

    tables: LabelledTables
    label: str
    ids: tuple[str, ...]
    notes: tuple[str, ...]
    files: dict[str, dict[str, Any]]
    whole: PartitionedTable | None = None
    pictures: PicturePair | None = None
    sources: dict[str, dict[str, Any]] = field(default_factory=dict)


def read_inputs(
    source: str | Path | Sequence[str | Path],
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
    """Read two tables, or those of several sources and a target.

    Parameters
    ----------
    source : str or Path, or sequence of them
        Table, as :func:`~ilspace.tables.read_table` reads it, or folder of pictures; or one table
        per source.
    target : str or Path
        Table, or folder of pictures.
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
    sources = [source] if isinstance(source, str | Path) else list(source)
    if not sources:
        raise TableError("There must be a source to learn from, but there is none: name a file.")
    if len(sources) > 1:
        _refuse_several_folders([*sources, target], pictures)
    paths = {"source": sources[0], "target": target}
    have_pictures = [are_pictures(each, pictures) for each in paths.values()]
    if any(have_pictures):
        if not all(have_pictures) or partitioned:
            for path in paths.values():
                _refuse_missing(path)
                refuse_folder_without(path)
            other = "a table on workers" if partitioned else "a table without"
            raise TableError(
                f"Source and target must both be pictures, but one is {other}: name two folders "
                "of pictures, or the column of their paths with --pictures."
            )
        return _read_pictures(paths, label, ids, pictures or PictureOptions(), on_stage, on_count)
    if label is None:
        for path in (*sources, target):
            _refuse_missing(path)
            refuse_folder_without(path)
        raise TableError(
            "The column of labels must be named, unless source and target are folders of "
            "pictures, but is not: add --label."
        )
    notes: list[str] = []
    source_table, y, numbers = _read_sources(sources, label, ids, notes)
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
    files = {} if partitioned else {"target": _recognised(target)}
    several = {}
    if numbers is None:
        files = {"source": _recognised(sources[0])} | files
    else:
        several = dict(zip(names_of_files(sources), map(_recognised, sources), strict=True))
    tables = LabelledTables(source_table, y, target_table, yt, numbers)
    _refuse_one_row(tables, target)
    return TableInputs(tables, label, tuple(ids), tuple(notes), files, whole, None, several)


def _refuse_missing(path: str | Path) -> None:
    if str(path) != STANDARD_INPUT and not Path(path).exists():
        raise TableError(
            f"{path} must be a file or a folder of pictures, but there is none: check the path."
        )


def _recognised(path: str | Path) -> dict[str, str | None]:
    """What tells a file again."""
    return {"path": str(Path(path).absolute()), "sha256": sha256_of(path)}


def _refuse_several_folders(paths: Sequence[str | Path], pictures: PictureOptions | None) -> None:
    if any(are_pictures(each, pictures) for each in paths):
        raise TableError(
            "Several sources must be tables, but there are pictures among them: put the pictures "
            "of all sources into one folder, or make tables of them with ilspace embed."
        )


def _read_sources(
    paths: Sequence[str | Path], label: str, ids: Sequence[str], notes: list[str]
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray | None]:
    """Rows of all sources, their labels, and the number of the source of each from 1."""
    if len(paths) == 1:
        read = read_table(paths[0], string_columns=ids, label=label)
        return (*take_source_labels(read, label, name=str(paths[0]), notes=notes), None)
    names = names_of_files(paths)
    tables = [read_table(path, string_columns=ids, label=label) for path in paths]
    for each, path in zip(tables, paths, strict=True):
        check_label_column(each, label, name=str(path))
    pooled, owners, said = pooled_tables(tables, names)
    notes += said
    # told by a column of their own, until the rows without a label are gone
    pooled, y = take_source_labels(
        pooled.assign(**{_OWNER: owners}), label, name="The sources", notes=notes
    )
    owners = pooled.pop(_OWNER).to_numpy()
    sizes = np.bincount(owners, minlength=len(paths))
    if sizes.min() < 2:
        raise TableError(
            "Every source must have two labelled rows or more, but "
            f"{paths[int(sizes.argmin())]} has {sizes.min()}: add rows, or leave it out."
        )
    return pooled, y, owners + 1


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


def refuse_two_standard_inputs(sources: Sequence[str | Path], target: str | Path) -> None:
    """Refuse to read more than one table from the standard input.

    Parameters
    ----------
    sources : sequence of str or Path
        As they were named.
    target : str or Path
        As it was named.
    """
    if [str(each) for each in (*sources, target)].count(STANDARD_INPUT) > 1:
        which = "both are" if len(sources) == 1 else "more are"
        raise TableError(f"One of the tables may be the standard input, but {which}: name a file.")
