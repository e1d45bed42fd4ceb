"""``ilspace embed``: features of pictures as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ilspace.cli import loading
from ilspace.cli._pictures import BackboneOption, CacheOption, PicturesOption, picture_options
from ilspace.cli._refusals import refusals

EXAMPLES = """**Examples**

- `ilspace embed photos/ -o features.parquet`: paths, the class that a folder names, features

- `ilspace embed photos/ -o features.csv --backbone model.onnx`: by a model of one's own

- `ilspace embed list.csv --pictures file -o features.parquet`: paths in a column

**Exit codes**: as for `ilspace adapt`.
"""


def embed(
    source: Annotated[
        str, typer.Argument(help="Folder of pictures, or a table with a column of paths.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Parquet file, or CSV if it is called so.")
    ],
    label: Annotated[
        str, typer.Option(help="What to call the column of classes that folders name.")
    ] = "class",
    pictures: PicturesOption = None,
    backbone: BackboneOption = "auto",
    cache: CacheOption = None,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Pictures to hold in memory at a time.")
    ] = 32,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress bar and no summary.")
    ] = False,
) -> None:
    """Describe pictures by features, as a table for `ilspace adapt` or any other tool.

    Reads, describes and writes some pictures at a time. Features are kept, so that a job which was
    interrupted goes on where it stopped; broken pictures are named and left out. The file is there
    whole or not at all.
    """
    with refusals("ilspace embed", failure="cannot write its results"):
        with loading():
            from dataclasses import replace

            from rich.console import Console
            from rich.progress import Progress

            from ilspace.tables.pictures import Embedder, find_pictures, write_features

        options = replace(picture_options(pictures, backbone, cache), batch_size=batch_size)
        files = find_pictures(source, label=label, column=pictures)
        console = Console(stderr=True)
        console.quiet = quiet or not console.is_terminal  # where nothing moves, nothing is left
        with Progress(console=console, transient=True) as progress:
            task = progress.add_task("describing pictures", total=len(files.names))

            def count(done: int, total: int) -> None:
                progress.update(task, completed=done, total=total)

            embedder = Embedder(options, [files])
            shape = write_features(files, embedder.blocks(files, count), output, force=force)
        if not quiet:
            said = f"{shape[0]} pictures, {shape[1]} features of {embedder.backbone.name}: {output}"
            typer.echo("\n".join([said, *(f"Note: {each}" for each in embedder.notes())]), err=True)
