"""Read the tables of a job, be they files of rows, DataFrames or folders of pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

from ilspace.domains.labels import encode_source
from ilspace.domains.several import RESERVED
from ilspace.tables.labels import check_label_column, take_source_labels, take_target_labels
from ilspace.tables.pair import Pair, pooled_tables
from ilspace.tables.partitioned import PartitionedTable
from ilspace.tables.pictures import (
    CLASS,
    Embedder,
    PictureFiles,
    PictureOptions,
    PicturePair,
    are_pictures,
    find_pictures,
    refuse_folder_without,
)
from ilspace.tables.reading import STANDARD_INPUT, read_table, sha256_of
from ilspace.tables.values import TableError

if TYPE_CHECKING:
    import pandas as pd

Table: TypeAlias = Union[str, Path, "pd.DataFrame"]
"""A file, or the rows themselves."""

_OWNER = "\0source"
"""A column that no file has."""


@dataclass(frozen=True)
class Inputs:
    """What a job reads.

    Attributes
    ----------
    pair : Pair
        The tables and their labels.
    source_name, target_name : str
        Where they came from; ``"source"`` and ``"target"`` for DataFrames.
    files : dict
        Path and digest of each that can be read again.
    sources : dict
        Path and digest of each source, by its name, where there are several.
    whole : PartitionedTable or None
        All rows of the target, where the pair has a sample of them.
    pictures : PicturePair or None
        Where the pictures of the rows are, if they have some.
    """

    pair: Pair
    source_name: str
    target_name: str
    files: dict[str, dict[str, Any]]
    sources: dict[str, dict[str, Any]] = field(default_factory=dict)
    whole: PartitionedTable | None = None
    pictures: PicturePair | None = None


def read_inputs(
    source: Table | Sequence[Table],
    target: Table,
    *,
    label: str | None,
    ids: Sequence[str] = (),
    random_state: int = 0,
    partitioned: bool = False,
    pictures: PictureOptions | None = None,
    on_stage: Callable[[str], object] = lambda stage: None,
    on_count: Callable[[int, int], object] | None = None,
) -> Inputs:
    """Read two tables, or those of several sources and a target.

    Parameters
    ----------
    source : DataFrame, str or Path, or sequence of them
        Table, as :func:`~ilspace.tables.read_table` reads it, or folder of pictures; or one table
        per source.
    target : DataFrame, str or Path
        Table, or folder of pictures.
    label : str or None
        The column of labels; None for folders of pictures, whose folders name the classes.
    ids : sequence of str
        Columns that name rows.
    random_state : int, default=0
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
    Inputs
        The tables.
    """
    sources = list(source) if isinstance(source, list | tuple) else [source]
    if not sources:
        raise TableError("There must be a source to learn from, but there is none: name a file.")
    paths = [Path(each) for each in (*sources, target) if isinstance(each, str | Path)]
    if list(map(str, paths)).count(STANDARD_INPUT) > 1:
        which = "both are" if len(sources) == 1 else "more are"
        raise TableError(f"One of the tables may be the standard input, but {which}: name a file.")
    have_pictures = [are_pictures(each, pictures) for each in paths]
    if any(have_pictures):
        if len(sources) > 1:
            raise TableError(
                "Several sources must be tables, but there are pictures among them: put the "
                "pictures of all sources into one folder, or make tables of them with ilspace "
                "embed."
            )
        if have_pictures != [True, True] or partitioned:
            _refuse_folders(paths)
            other = "a table on workers" if partitioned else "a table without"
            raise TableError(
                f"Source and target must both be pictures, but one is {other}: name two folders "
                "of pictures, or the column of their paths with --pictures."
            )
        options = pictures or PictureOptions()
        return _read_pictures(paths[0], paths[1], label, ids, options, on_stage, on_count)
    if label is None:
        _refuse_folders(paths)
        raise TableError(
            "The column of labels must be named, unless source and target are folders of "
            "pictures, but is not: add --label."
        )
    notes: list[str] = []
    names = names_of_sources(sources) if len(sources) > 1 else ("source",)
    table, y, owners = _read_sources(sources, names, label, ids, notes)
    classes, codes = encode_source(y)
    whole = None
    if partitioned:
        whole = PartitionedTable.of(_path_of(target), label=label)
        read = whole.sample(random_state, string_columns=ids, classes=classes)
        if len(read) < whole.n_rows:
            notes.append(
                f"The target has {whole.n_rows} rows, of which {len(read)} stand for all where "
                "predictions are judged, and in the report."
            )
    else:
        read = read_table(target, string_columns=ids, label=label, notes=notes)
    rows, known = take_target_labels(read, label, classes=classes)
    # by which the tables are found again; one on workers is not read as a whole
    files = {} if partitioned else _recognised({"target": target})
    if owners is None:
        files = _recognised({"source": sources[0]}) | files
    pair = Pair(
        table.reset_index(drop=True),
        codes,
        rows.reset_index(drop=True),
        known,
        classes,
        owners,
        names,
        label,
        tuple(ids),
        tuple(notes),
    )
    return Inputs(
        _checked(pair, target),
        ", ".join(_called(each, "source") for each in sources),
        _called(target, "target"),
        files,
        {} if owners is None else _recognised(dict(zip(names, sources, strict=True))),
        whole,
    )


def _called(table: Table, side: str) -> str:
    return str(table) if isinstance(table, str | Path) else side


def _path_of(table: Table) -> str | Path:
    if isinstance(table, str | Path):
        return table
    raise TableError("A target on workers must be in Parquet files, but is a DataFrame: save it.")


def _refuse_folders(paths: Sequence[Path]) -> None:
    """Refuse paths with nothing there, and folders without tables or pictures."""
    for path in paths:
        if str(path) != STANDARD_INPUT and not path.exists():
            raise TableError(
                f"{path} must be a file or a folder of pictures, but there is none: check the path."
            )
        refuse_folder_without(path)


def _recognised(tables: dict[str, Table]) -> dict[str, dict[str, Any]]:
    """What tells files again; DataFrames are none."""
    return {
        name: {"path": str(Path(each).absolute()), "sha256": sha256_of(each)}
        for name, each in tables.items()
        if isinstance(each, str | Path)
    }


def names_of_sources(sources: Sequence[Table]) -> tuple[str, ...]:
    """Name several sources.

    Parameters
    ----------
    sources : sequence of DataFrame, str or Path
        The tables; files must be different.

    Returns
    -------
    tuple of str
        Names of the files without their endings; where these are not distinct, or mean something
        else, with them, or the paths. DataFrames are counted.
    """
    tables = [
        each if isinstance(each, str | Path) else f"source {number}"
        for number, each in enumerate(sources, 1)
    ]
    for called in (lambda path: Path(path).name.split(".")[0], lambda path: Path(path).name, str):
        names = tuple(map(called, tables))
        if len(set(names)) == len(names) and set(names).isdisjoint({*RESERVED, ""}):
            return names
    raise TableError(
        f"The sources must be different files, but are {', '.join(map(str, tables))}: name each "
        "once."
    )


def _read_sources(
    sources: Sequence[Table],
    names: Sequence[str],
    label: str,
    ids: Sequence[str],
    notes: list[str],
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray | None]:
    """Rows of all sources, their labels, and the number of the source of each from 0."""
    called = [_called(each, name) for each, name in zip(sources, names, strict=True)]
    tables = [read_table(each, string_columns=ids, label=label, notes=notes) for each in sources]
    if len(sources) == 1:
        return (*take_source_labels(tables[0], label, name=called[0], notes=notes), None)
    for each, name in zip(tables, called, strict=True):
        check_label_column(each, label, name=name)
    pooled, owners, said = pooled_tables(tables, names, label)
    notes += said
    # told by a column of their own, until the rows without a label are gone
    pooled, y = take_source_labels(
        pooled.assign(**{_OWNER: owners}), label, name="The sources", notes=notes
    )
    owners = pooled.pop(_OWNER).to_numpy()
    sizes = np.bincount(owners, minlength=len(names))
    if sizes.min() < 2:
        raise TableError(
            "Every source must have two labelled rows or more, but "
            f"{called[int(sizes.argmin())]} has {sizes.min()}: add rows, or leave it out."
        )
    return pooled, y, owners


def _read_pictures(
    source: Path,
    target: Path,
    label: str | None,
    ids: Sequence[str],
    options: PictureOptions,
    on_stage: Callable[[str], object],
    on_count: Callable[[int, int], object] | None,
) -> Inputs:
    """Find the pictures of both domains, and describe them."""
    if label is None:
        tables = [str(each) for each in (source, target) if not each.is_dir()]
        if tables:
            raise TableError(
                f"The column of labels must be named for a table, but is not for {tables[0]}: add "
                "--label."
            )
        label = CLASS
    notes: list[str] = []
    asked: dict[str, Any] = {"label": label, "column": options.column, "string_columns": ids}
    sides: dict[str, PictureFiles] = {"source": find_pictures(source, **asked, notes=notes)}
    has_classes = label in sides["source"].table.columns
    classes = sides["source"].table[label].unique().tolist() if has_classes else None
    sides["target"] = find_pictures(target, **asked, classes=classes, notes=notes)
    if source.is_dir() and not has_classes:
        raise TableError(
            f"The folder {source} must hold a folder of pictures for each class, but its "
            "pictures lie in none: sort them into folders."
        )
    embedder = Embedder(options, [*sides.values()])
    read = {}
    for side, files in sides.items():
        on_stage(f"describing {side} pictures")
        read[side] = embedder.table(files, on_count)
    table, y = take_source_labels(read["source"], label, name=str(source), notes=notes)
    names, codes = encode_source(y)
    rows, known = take_target_labels(read["target"], label, classes=names)
    pair = Pair(
        table.reset_index(drop=True),
        codes,
        rows,
        known,
        names,
        label=label,
        ids=tuple(dict.fromkeys([*ids, *(each.column for each in sides.values())])),
        notes=(*notes, *embedder.notes()),
    )
    return Inputs(
        _checked(pair, target),
        str(source),
        str(target),
        {
            side: {"path": str(each.origin.absolute()), "sha256": each.sha256()}
            for side, each in sides.items()
        },
        pictures=PicturePair(sides["source"], sides["target"], embedder),
    )


def _checked(pair: Pair, target: Table) -> Pair:
    """Refuse a target of one row."""
    if len(pair.known) < 2:
        raise TableError(
            f"{_called(target, 'The target')} must have two rows or more, to tell how its columns "
            "vary, but has one: add rows, or label it with ilspace predict and a model of a larger "
            "table."
        )
    return pair
