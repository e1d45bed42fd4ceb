"""``ilspace predict``: label further rows with a model."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from ilspace.cli import loading
from ilspace.cli._log import note, say
from ilspace.cli._pictures import CacheOption, PicturesOption, picture_options
from ilspace.cli._refusals import refusals

if TYPE_CHECKING:
    from ilspace.tables import TableClassifier
    from ilspace.tables.pictures import Embedder

EXAMPLES = """**Examples**

- `ilspace predict out/model.skops new.csv -o labels.csv`

- `ilspace predict out new.parquet -o labels.parquet`: the folder will do; Parquet by its suffix

- `ilspace predict out/model.skops - < new.csv | head`: from and to a pipe

- `ilspace predict out/ photos-2026/ -o labels.csv`: pictures, if it was trained with some

- `ilspace predict out/model.skops new.parquet --rows 50000 -o labels.csv`: larger blocks

**Exit codes**: as for `ilspace adapt`.
"""


def predict(
    model: Annotated[
        Path, typer.Argument(help="What `ilspace adapt` wrote: model.skops, or its folder.")
    ],
    table: Annotated[
        str,
        typer.Argument(
            help="Rows of the target domain, any format; - for standard input. Or a folder of "
            "pictures."
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="CSV file, or Parquet if it ends in .parquet; - for standard output.",
        ),
    ] = "-",
    rows: Annotated[int, typer.Option(min=1, help="Rows to hold in memory at a time.")] = 10_000,
    pictures: PicturesOption = None,
    backbone: Annotated[
        str | None,
        typer.Option(
            help="What described the pictures that the model was trained with; known where its "
            "summary.json lies beside it.",
            metavar="NAME",
        ),
    ] = None,
    cache: CacheOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    spreadsheet: Annotated[
        bool,
        typer.Option(
            "--spreadsheet",
            help="Put an apostrophe before labels and identifiers that a spreadsheet would take "
            "for formulas.",
        ),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Label further rows of the target domain.

    Reads and writes a block of rows at a time, so the table may be larger than memory. Columns may
    stand in any order, and others are ignored. The output is as `predictions.csv` of `ilspace
    adapt`; a file is there whole or not at all.
    """
    with refusals("ilspace predict", failure="cannot write its results"):
        with loading():
            from rich.console import Console
            from rich.progress import Progress, TextColumn, TimeElapsedColumn

            from ilspace.tables import read_chunks
            from ilspace.tables.outputs import label_blocks
            from ilspace.tables.pictures import find_pictures
            from ilspace.tables.values import TableError, listed

        loaded = loaded_model(model)
        embedder = _embedder(model, table, pictures, backbone, cache)
        if Path(output).is_file() and Path(table).is_file() and Path(output).samefile(table):
            raise TableError(f"The output {output} must not be the table itself: name another.")
        columns = (TextColumn("labelled {task.completed} rows"), TimeElapsedColumn())
        console = Console(stderr=True)
        console.quiet = quiet or not console.is_terminal  # where nothing moves, nothing is left
        with (
            Progress(*columns, console=console, transient=True) as progress,
            _opened(output, force=force) as stream,
        ):
            task = progress.add_task("", total=None)

            def show(done: int) -> None:
                progress.update(task, completed=done)

            # as written: of categories 1, 2 and x, a block with missing values and no x makes 1.0
            as_written = loaded.plan_.as_written
            if embedder is None:
                blocks = read_chunks(table, string_columns=as_written, n_rows=rows)
            else:
                column = embedder.options.column
                found = find_pictures(
                    table, label="", column=column, string_columns=as_written, classes=()
                )
                blocks = embedder.blocks(found)
            counts = label_blocks(
                loaded, blocks, output=stream, spreadsheet=spreadsheet, on_rows=show
            )
        tell = note if quiet else say
        tell(f"Labelled {counts.rows} rows, {counts.sure / counts.rows:.0%} of the labels sure.")
        if counts.left_out:
            tell(f"Not used by the model, and left out: {listed(counts.left_out)}.")
        for each in embedder.notes() if embedder is not None else ():
            tell(each)


def _embedder(
    model: Path, table: str, column: str | None, backbone: str | None, cache: Path | None
) -> Embedder | None:
    """What describes the pictures of a table, if it has some: the same as in training."""
    from ilspace.tables import TableError
    from ilspace.tables.pictures import Embedder, are_pictures
    from ilspace.tables.results import pictures_of

    known = pictures_of(model if model.is_dir() else model.parent)
    options = picture_options(column or known.get("column"), backbone or "", cache)
    if not are_pictures(table, options):
        return None
    name = backbone or known.get("backbone")
    if name is None:
        raise TableError(
            "The backbone that the model was trained with must be known, but no summary.json "
            "beside it names one: add --backbone."
        )
    return Embedder(replace(options, backbone=name))


def loaded_model(path: Path) -> TableClassifier:
    """Load a model of tables.

    Parameters
    ----------
    path : Path
        Its file, or the folder of results that it is in.

    Returns
    -------
    TableClassifier
        Fitted.
    """
    from ilspace import load
    from ilspace.tables import TableClassifier, TableError
    from ilspace.tables.answer import MODEL

    if path.is_dir():
        path = path / MODEL  # the folder of results will do
    try:
        model = load(path)
    except OSError as error:
        raise TableError(
            f"The model {path} must be a file that can be read, but is not "
            f"({error.strerror or error}): check the path."
        ) from None
    if not isinstance(model, TableClassifier):
        raise TableError(
            f"The model {path} must be one of tables, as ilspace adapt writes it, but is an "
            f"{type(model).__name__}: use ilspace.load in Python."
        )
    return model


@contextmanager
def _opened(output: str, *, force: bool) -> Iterator[IO[str]]:
    """A stream of lines that becomes a file once it is whole."""
    from ilspace.storage import whole_file
    from ilspace.tables.formats import PARQUET, write_parquet
    from ilspace.tables.values import TableError

    if output == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    path = Path(output)
    if path.is_dir():
        raise TableError(f"The output {path} must be a file, but is a folder: name another.")
    if path.exists() and not path.is_file():  # a pipe or a device is written to, not replaced
        with open(path, "w", encoding="utf-8", newline="") as stream:
            yield stream
        return
    if path.exists() and not force:
        raise TableError(
            f"The output {path} must not exist, but does: name another, or add --force to replace "
            "it."
        )
    if not path.parent.is_dir():
        raise TableError(f"The folder {path.parent} must exist, but does not: make it.")
    if path.suffix.lower() != PARQUET:
        with whole_file(path, "w", encoding="utf-8", newline="") as stream:
            yield stream
        return
    with tempfile.TemporaryFile() as lines:
        stream = io.TextIOWrapper(lines, encoding="utf-8", newline="")
        yield stream
        stream.detach()
        lines.seek(0)
        with whole_file(path, "wb") as file:
            write_parquet(lines, file)
