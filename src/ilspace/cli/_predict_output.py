"""How ``ilspace predict`` looks: a count on standard error, labels where they are wanted."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import typer
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

import ilspace
from ilspace.storage import whole_file
from ilspace.tables import TableClassifier, TableError
from ilspace.tables.columns import listed
from ilspace.tables.prediction import label_file
from ilspace.tables.result_files import MODEL

STANDARD_OUTPUT = "-"


def run_and_show(
    model: Path, table: str, *, output: str, n_rows: int, force: bool, quiet: bool
) -> None:
    """Load the model, label the rows, write them."""
    loaded = _loaded(model)
    if Path(output).is_file() and Path(table).is_file() and Path(output).samefile(table):
        raise TableError(f"The output {output} must not be the table itself: name another.")
    columns = (TextColumn("labelled {task.completed} rows"), TimeElapsedColumn())
    console = Console(stderr=True, quiet=quiet)
    with (
        Progress(*columns, console=console, transient=True) as progress,
        _opened(output, force=force) as stream,
    ):
        task = progress.add_task("", total=None)
        counts = label_file(
            loaded,
            table,
            output=stream,
            n_rows=n_rows,
            on_rows=lambda done: progress.update(task, completed=done),
        )
    if not quiet:
        doubts = ", ".join(f"{word} {n / counts.rows:.0%}" for word, n in counts.doubts.items())
        typer.echo(
            f"Labelled {counts.rows} rows, {counts.trusted / counts.rows:.0%} trusted"
            f"{f' (doubts: {doubts})' if doubts else ''}.",
            err=True,
        )
        if counts.left_out:
            typer.echo(f"Unknown to the model, and left out: {listed(counts.left_out)}.", err=True)


def _loaded(path: Path) -> TableClassifier:
    if path.is_dir():
        path = path / MODEL  # the folder of results will do
    try:
        model = ilspace.load(path)
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
    """A stream that becomes a file once it is whole."""
    if output == STANDARD_OUTPUT:
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
    with whole_file(path, "w", encoding="utf-8", newline="") as stream:
        yield stream
