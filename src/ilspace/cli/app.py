"""The root of the command line: global options, and the commands."""

from __future__ import annotations

from typing import Annotated

import typer

from ilspace import __version__
from ilspace.cli import adapt as adapting
from ilspace.cli import embed as embedding
from ilspace.cli import explain as explaining
from ilspace.cli import label as labelling
from ilspace.cli import predict as predicting
from ilspace.cli.bench import bench
from ilspace.cli.data import data
from ilspace.cli.demo import EXAMPLES, demo

app = typer.Typer(
    name="ilspace",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog=adapting.EXAMPLES)(adapting.adapt)
app.command(epilog=predicting.EXAMPLES)(predicting.predict)
app.command(epilog=labelling.EXAMPLES)(labelling.label)
app.command(epilog=explaining.EXAMPLES)(explaining.explain)
app.command(epilog=embedding.EXAMPLES)(embedding.embed)
app.command(epilog=EXAMPLES)(demo)
app.add_typer(bench)
app.add_typer(data)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ilspace {__version__}")
        raise typer.Exit


@app.callback(epilog="Your own files: **ilspace adapt --help**. A first look: **ilspace demo**.")
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Domain adaptation with an invariant latent space.

    Learns from a labelled *source* and a *target* with few labels or none, so that a
    nearest-neighbour rule with the source's labels works on the target.
    """
