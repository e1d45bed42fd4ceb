"""``ilspace data``: which data sets there are, where their files are, and how to get them."""

from __future__ import annotations

from typing import Annotated

import typer

from ilspace.cli._refusals import refusals

EXAMPLES = """**Examples**

- `ilspace data list`: which there are, and which are here

- `ilspace data fetch office-caltech-surf`: download one

**Environment**: `ILSPACE_DATA` is a folder to look in before the cache.
"""

data = typer.Typer(
    name="data", no_args_is_help=True, help="Data sets: list, find, download.", epilog=EXAMPLES
)

Name = Annotated[str, typer.Argument(help="A data set; `ilspace data list` names them.")]


LIST_EXAMPLES = """**Examples**

- `ilspace data list`: names, whether the files are here, and what they are

- `ILSPACE_DATA=/mnt/data ilspace data list`: looks there first, then in the cache
"""

WHERE_EXAMPLES = """**Examples**

- `ilspace data where office-caltech-surf`: one path per line, after checking each file

**Exit codes**

- 0: all files are there and as they should be

- 2: the name is unknown, or a file is missing or damaged; the message says how to get it
"""

FETCH_EXAMPLES = """**Examples**

- `ilspace data fetch office-caltech-surf`: from where the authors keep them

- `ilspace data fetch office-caltech-surf --mirror https://example.org/office`: from a copy of yours

**Exit codes**: as for `ilspace data where`.
"""


@data.command("list", epilog=LIST_EXAMPLES)
def list_() -> None:
    """List the data sets, and whether their files are here."""
    from ilspace.datasets.catalogue import DATA_SETS

    width = max(map(len, DATA_SETS))
    for each in DATA_SETS.values():
        typer.echo(f"{each.name:{width}}  {each.state():7}  {each.about}")


@data.command("where", epilog=WHERE_EXAMPLES)
def where(name: Name) -> None:
    """Print the paths of a data set's files, after checking their content."""
    with refusals("ilspace data where", ValueError):  # of a name that is unknown
        from ilspace.datasets.catalogue import find_data_set

        for path in find_data_set(name).located():
            typer.echo(path)


@data.command("fetch", epilog=FETCH_EXAMPLES)
def fetch_(
    name: Name,
    mirror: Annotated[
        str | None,
        typer.Option(
            "--mirror",
            "--from",
            metavar="URL",
            help="Address of a folder with the same files, such as https://example.org/data.",
        ),
    ] = None,
) -> None:
    """Download the files that are missing to the cache, and print their paths.

    Each file is checked against its sha256 and appears in one move, so a download that
    fails or is interrupted leaves nothing of it behind. Files that are here already are not
    fetched again.
    """
    with refusals("ilspace data fetch", ValueError):
        import pooch
        from rich.console import Console
        from rich.progress import Progress

        from ilspace.datasets.catalogue import fetch, find_data_set

        pooch.get_logger().setLevel("WARNING")  # the bar says which file it is
        total = len(find_data_set(name).files)
        console = Console(stderr=True)
        console.quiet = not console.is_terminal  # where nothing moves, nothing is left
        with Progress(console=console, transient=True) as bar:
            task = bar.add_task("", total=total)

            def show(path: str) -> None:
                bar.update(task, description=path.rpartition("/")[2], advance=1)

            paths = fetch(name, mirror=mirror, progress=show)
        for path in paths:
            typer.echo(path)
