"""``ilspace predict``: label further rows with a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ilspace.cli._refusals import refusals

EXAMPLES = """**Examples**

- `ilspace predict out/model.safetensors new.csv -o labels.csv`

- `ilspace predict out/model.safetensors - < new.csv | head`: from and to a pipe

- `ilspace predict out/model.safetensors new.parquet --rows 50000 -o labels.csv`: larger blocks

**Exit codes**: as for `ilspace adapt`.
"""


def predict(
    model: Annotated[
        Path, typer.Argument(help="What `ilspace adapt` wrote: model.safetensors, or its folder.")
    ],
    table: Annotated[
        str, typer.Argument(help="Rows of the target domain, any format; - for standard input.")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="CSV file; - for standard output.")
    ] = "-",
    rows: Annotated[int, typer.Option(min=1, help="Rows to hold in memory at a time.")] = 10_000,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Label further rows of the target domain.

    Reads and writes a block of rows at a time, so the table may be larger than memory. Columns may
    stand in any order, and others are ignored. The output is as `predictions.csv` of `ilspace
    adapt`; a file is there whole or not at all.
    """
    with refusals("ilspace predict", failure="cannot write its results"):
        from ilspace.cli._predict_output import run_and_show

        run_and_show(model, table, output=output, n_rows=rows, force=force, quiet=quiet)
