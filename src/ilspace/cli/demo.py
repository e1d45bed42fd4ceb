"""``ilspace demo``: adapt between two sets of real digits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ilspace.cli import loading
from ilspace.cli._refusals import refusals

EXAMPLES = """**Examples**

- `ilspace demo`: everything, in less than two minutes

- `ilspace demo --quick --trials 2`: fewer rows, for a first look

- `ilspace demo --seed 7 --output other-draws`: other rows, to another folder
"""


def demo(
    trials: Annotated[int, typer.Option(min=1, help="Draws of rows for each experiment.")] = 5,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            file_okay=False,
            help="Folder for the files; those of the same name are replaced.",
        ),
    ] = Path("ilspace-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same rows and results.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows: faster, noisier.")] = False,
) -> None:
    """Adapt between two sets of real handwritten digits, and show what comes of it.

    scikit-learn's digits (8x8 pixels) and MNIST (28x28, 5,000 of them) come with Python packages,
    so nothing is downloaded. Both directions are tried without target labels, with three labels per
    class, and with images of different sizes. Prints a table, and writes pictures, `results.csv`
    and `summary.md` to a folder, whose path is the last line printed.
    """
    with refusals("ilspace demo"):
        with loading():
            from ilspace.cli._demo_output import run_and_show

        run_and_show(n_trials=trials, output=output, seed=seed, quick=quick)
    typer.echo(output)
