"""Tables of pictures: a folder of them, or a column of paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ilspace.images import Backbone, Embedded, embed_files, make_backbone
from ilspace.images.backbones import AUTO
from ilspace.images.cache import default_cache
from ilspace.images.embedding import BATCH_SIZE
from ilspace.images.files import class_folder, holds_pictures, picture_files, sha256_of_files
from ilspace.tables.reading import STANDARD_INPUT, read_table, sha256_of
from ilspace.tables.values import TableError, listed

if TYPE_CHECKING:
    import pandas as pd

PICTURE = "picture"
"""Column of the paths of pictures that come from a folder."""

CLASS = "class"
"""Column of labels of pictures that come from a folder, unless it is called otherwise."""


@dataclass(frozen=True)
class PictureOptions:
    """How pictures become columns.

    Attributes
    ----------
    column : str or None
        Column of paths in tables; None where tables have none.
    backbone : str
        As for :func:`~ilspace.images.make_backbone`.
    cache : Path or None
        Folder in which features are kept; None for none.
    batch_size : int
        Pictures to hold in memory at a time.
    """

    column: str | None = None
    backbone: str = AUTO
    cache: Path | None = field(default_factory=default_cache)
    batch_size: int = BATCH_SIZE


@dataclass(frozen=True)
class PictureFiles:
    """Where the pictures of rows are.

    Attributes
    ----------
    folder : Path
        What paths start from.
    column : str
        Column of paths.
    table : DataFrame
        A row per picture: paths, labels if there are any, and other columns.
    origin : Path
        The folder or table they were found in.
    """

    folder: Path
    column: str
    table: pd.DataFrame
    origin: Path

    @cached_property
    def names(self) -> list[str]:
        """Paths of all pictures, as written."""
        return [str(each) for each in self.table[self.column]]

    @cached_property
    def paths(self) -> list[Path]:
        """Their files."""
        return [self.folder / each for each in self.names]

    def sha256(self) -> str | None:
        """Digest of the pictures, or of the table that names them."""
        if self.origin.is_dir():
            return sha256_of_files(self.folder, self.names)
        return sha256_of(self.origin)


def are_pictures(path: str | Path, options: PictureOptions | None) -> bool:
    """Tell whether rows are pictures.

    Parameters
    ----------
    path : str or Path
        A table or a folder.
    options : PictureOptions or None
        What is known of them.

    Returns
    -------
    bool
        True for a folder of pictures, and where a column of paths is named.
    """
    if options is not None and options.column is not None:
        return True
    return str(path) != STANDARD_INPUT and holds_pictures(Path(path))


def find_pictures(
    path: str | Path,
    *,
    label: str,
    column: str | None = None,
    string_columns: Sequence[str] = (),
    classes: Sequence[str] | None = None,
    notes: list[str] | None = None,
) -> PictureFiles:
    """Find pictures, and what is known of each.

    Parameters
    ----------
    path : str or Path
        A folder, in which the first folder on the way to a picture names its class; or a table.
    label : str
        The column of labels.
    column : str, optional
        The column of paths of a table; they start from its folder.
    string_columns : sequence of str
        Further columns to keep as they are written.
    classes : sequence of str, optional
        The only folders that name a class; all, by default.
    notes : list of str, optional
        Gets sentences about what was decided.

    Returns
    -------
    PictureFiles
        The pictures.
    """
    import pandas as pd

    if str(path) == STANDARD_INPUT:
        raise TableError(
            "Paths of pictures start from the folder of their table, but the table is the standard "
            "input: name a file."
        )
    path = Path(path)
    if not holds_pictures(path):
        if column is None:
            refuse_folder_without(path)
        return _named_in_table(path, column, label, string_columns)
    names = picture_files(path)
    found = [class_folder(each) for each in names]
    if classes is not None:
        others = sorted({each for each in found if each is not None}.difference(classes))
        found = [each if each in set(classes) else None for each in found]
        if others and notes is not None:
            notes.append(f"Folders that name no class of the source: {listed(others)}.")
    table = pd.DataFrame({PICTURE: pd.Series(names, dtype=object)})
    if any(each is not None for each in found):
        if label == PICTURE:
            raise TableError(
                f"The column of labels must not be called {label!r}, as that of the paths is: name "
                "it otherwise with --label."
            )
        table[label] = pd.Series([each or "" for each in found], dtype=object)
    return PictureFiles(path, PICTURE, table, path)


def refuse_folder_without(path: str | Path) -> None:
    """Refuse a folder in which there are neither pictures nor tables.

    Parameters
    ----------
    path : str or Path
        A folder, or anything else.
    """
    path = Path(path)
    is_folder = path.is_dir() and next(path.rglob("*.parquet"), None) is None
    if is_folder and not holds_pictures(path):
        raise TableError(f"The folder {path} must hold pictures, but has none: name another.")


def _named_in_table(
    path: Path, column: str | None, label: str, string_columns: Sequence[str]
) -> PictureFiles:
    if column is None:
        raise TableError(
            f"Pictures must be in a folder, or their paths in a column that --pictures names, but "
            f"{path} is a table and no column is named: add --pictures."
        )
    table = read_table(path, string_columns=(*string_columns, column), label=label)
    if column not in table.columns:
        raise TableError(
            f"{path} must have the column {column!r} of paths, but has "
            f"{listed([str(each) for each in table.columns], 10)}: name the right one with "
            "--pictures."
        )
    if column == label:
        raise TableError(
            f"The column of labels must not be that of the paths, but {label!r} is both: name "
            "another."
        )
    folder = path if path.is_dir() else path.parent
    return PictureFiles(folder, column, table, path)


def feature_names(n_features: int, table: pd.DataFrame) -> list[str]:
    """Names of the columns of features.

    Parameters
    ----------
    n_features : int
        How many there are.
    table : DataFrame
        What stands beside them.

    Returns
    -------
    list of str
        ``x0``, ``x1``, …; with another letter if the table has such columns.
    """
    taken = {str(each) for each in table.columns}
    letter = next(
        each
        for each in ("x", "picture_x", "picture_feature_")
        if not any(f"{each}{i}" in taken for i in range(n_features))
    )
    return [f"{letter}{i}" for i in range(n_features)]


class Embedder:
    """Adds features to pictures, and remembers which were broken.

    Parameters
    ----------
    options : PictureOptions
        How.
    files : sequence of PictureFiles
        Some of the pictures, by which the backbone is chosen unless it is named.
    """

    def __init__(self, options: PictureOptions, files: Sequence[PictureFiles] = ()):
        self.options = options
        self.backbone: Backbone = make_backbone(
            options.backbone, [each for some in files for each in some.paths]
        )
        self.broken: dict[str, str] = {}

    def blocks(
        self, files: PictureFiles, on_count: Callable[[int, int], object] | None = None
    ) -> Iterator[pd.DataFrame]:
        """Tables of some pictures at a time, with their features.

        Parameters
        ----------
        files : PictureFiles
            The pictures.
        on_count : callable, optional
            Called with how many files are done, and of how many.

        Yields
        ------
        DataFrame
            Columns of the table, then features in single precision.
        """
        is_empty = True
        for found in self._embedded(files, on_count):
            self.broken |= {str(files.paths[each.position]): each.reason for each in found.broken}
            if len(found.positions):
                is_empty = False
                yield _with_features(files.table.iloc[found.positions], found.features)
        if is_empty:
            reason = next(iter(self.broken.values()), "there are none")
            raise TableError(
                f"{files.origin} must have pictures that can be read, but has none ({reason}): "
                "check the paths and the files."
            )

    def _embedded(
        self, files: PictureFiles, on_count: Callable[[int, int], object] | None
    ) -> Iterator[Embedded]:
        options = self.options
        return embed_files(
            files.paths,
            self.backbone,
            cache=options.cache,
            batch_size=options.batch_size,
            on_count=on_count,
        )

    def table(
        self, files: PictureFiles, on_count: Callable[[int, int], object] | None = None
    ) -> pd.DataFrame:
        """One table of all pictures that can be read.

        Parameters
        ----------
        files : PictureFiles
            The pictures.
        on_count : callable, optional
            Called with how many files are done, and of how many.

        Returns
        -------
        DataFrame
            As :meth:`blocks` gives them.
        """
        import pandas as pd

        return pd.concat(self.blocks(files, on_count), ignore_index=True)

    def notes(self) -> list[str]:
        """Sentences about pictures that are left out."""
        if not self.broken:
            return []
        said = [f"{path} ({reason})" for path, reason in self.broken.items()]
        return [f"Broken pictures, and left out: {listed(said)}."]

    def about(self) -> dict[str, Any]:
        """What the summary says of it."""
        return {"backbone": self.backbone.name, "broken": dict(self.broken)}


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


def _with_features(table: pd.DataFrame, features: np.ndarray) -> pd.DataFrame:
    import pandas as pd

    names = feature_names(features.shape[1], table)
    return pd.concat([table, pd.DataFrame(features, table.index, names)], axis=1)


def write_features(
    files: PictureFiles, blocks: Iterator[pd.DataFrame], output: Path, *, force: bool = False
) -> tuple[int, int]:
    """Write tables of pictures to one file, each as it comes.

    Parameters
    ----------
    files : PictureFiles
        The pictures.
    blocks : iterator of DataFrame
        From :meth:`Embedder.blocks`.
    output : Path
        CSV if it is called so, else Parquet.
    force : bool, default=False
        Whether to replace a file.

    Returns
    -------
    n_rows, n_features : int
        What was written.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    from ilspace.storage import whole_file

    check_file(output, force=force)
    n_rows, n_features = 0, 0
    with ExitStack() as stack:
        draft: Any = None
        writer: Any = None
        for block in blocks:
            n_rows += len(block)
            names = block.columns[files.table.shape[1] :]
            n_features = len(names)
            if output.suffix.lower() == ".csv":
                if draft is None:
                    options = {"encoding": "utf-8", "newline": ""}
                    draft = stack.enter_context(whole_file(output, "w", **options))
                block.to_csv(draft, index=False, header=n_rows == len(block))
                continue
            if writer is None:
                beside = pa.Schema.from_pandas(files.table, preserve_index=False)
                schema = pa.schema([*beside, *(pa.field(each, pa.float32()) for each in names)])
                draft = stack.enter_context(whole_file(output, "wb"))
                writer = stack.enter_context(ParquetWriter(draft, schema))
            rows = pa.Table.from_pandas(block, schema=writer.schema, preserve_index=False)
            writer.write_table(rows)
    return n_rows, n_features


def check_file(output: Path, *, force: bool) -> None:
    """Refuse a file that must not be written, before work is spent.

    Parameters
    ----------
    output : Path
        Where results are to go.
    force : bool
        Whether an existing file may be replaced.
    """
    if output.is_dir():
        raise TableError(f"The output {output} must be a file, but is a folder: name another.")
    if output.exists() and not force:
        raise TableError(
            f"The output {output} must not exist, but does: name another, or add --force to "
            "replace it."
        )
    if not output.parent.is_dir():
        raise TableError(f"The folder {output.parent} must exist, but does not: make it.")
