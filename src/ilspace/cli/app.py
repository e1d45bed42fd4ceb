"""The root of the command line: global options, and the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ilspace import __version__
from ilspace.cli import adapt as adapting
from ilspace.cli import demo as showing
from ilspace.cli import embed as embedding
from ilspace.cli import explain as explaining
from ilspace.cli import label as labelling
from ilspace.cli import predict as predicting
from ilspace.cli._log import start_log
from ilspace.cli.bench import bench
from ilspace.cli.data import data

app = typer.Typer(
    name="ilspace",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog=adapting.EXAMPLES)(adapting.adapt)
app.command(epilog=predicting.EXAMPLES)(predicting.predict)
app.command(epilog=labelling.EXAMPLES)(labelling.label)
app.command(epilog=explaining.EXAMPLES)(explaining.explain)
app.command(epilog=embedding.EXAMPLES)(embedding.embed)
app.command(epilog=showing.EXAMPLES)(showing.demo)
app.add_typer(bench)
app.add_typer(data)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ilspace {__version__}")
        raise typer.Exit


EXAMPLES = """**Examples**

- `ilspace adapt old.csv new.csv --label class -o out`: label the rows of a file

- `ilspace predict out more.csv -o labels.csv`: and further ones, later

- `ilspace adapt photos-2024 photos-2025 -o out`: the same for pictures

- `ilspace label out`: which rows to label by hand

- `ilspace demo`: a first look, on real digits

- `ilspace --log-file run.log adapt old.csv new.csv --label class -o out`: with a
  record of what happened

**Environment**: `ILSPACE_DATA` is the folder of the benchmark's data sets. `NO_COLOR=1`
switches colors off.

`ilspace COMMAND --help` has the options, examples and exit codes of each command.
"""


def _start_log(path: Path | None) -> None:
    if path is not None:
        start_log(path, __version__)


@app.callback(epilog=EXAMPLES)
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    log_file: Annotated[
        Path | None,
        typer.Option(
            "--log-file",
            metavar="FILE",
            dir_okay=False,
            callback=_start_log,
            help="Append to this file what was asked, what happened when, warnings and errors.",
        ),
    ] = None,
) -> None:
    """Domain adaptation with an invariant latent space.

    Learns from a labelled *source* and a *target* with few labels or none, and labels the target.
    """
