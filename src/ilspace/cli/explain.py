"""``ilspace explain``: why a row has its label."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ilspace.cli import loading
from ilspace.cli._pictures import CacheOption
from ilspace.cli._refusals import refusals

EXAMPLES = """**Examples**

- `ilspace explain out/ --row 17`: the 17th row of the target, without its header

- `ilspace explain out/ --id S017 --json`: the row that an identifier names, for a program

**Exit codes**: as for `ilspace adapt`.
"""


def explain(
    folder: Annotated[Path, typer.Argument(help="Folder of results of `ilspace adapt`.")],
    row: Annotated[
        int | None, typer.Option(min=1, help="Number of a row of the target, from 1.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--id", help="What an identifier of the row is, instead.")
    ] = None,
    columns: Annotated[
        int, typer.Option(min=1, help="How many columns, and words of a text, to name.")
    ] = 8,
    neighbours: Annotated[int, typer.Option(min=1, help="How many labelled rows to name.")] = 3,
    cache: CacheOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
) -> None:
    """Say why a row has its label.

    Names the nearest labelled rows; the columns that decide, and the words of texts, by how much
    lower the probability of the label is with entries of other rows in their place; and what each
    model of the committee says. Reads the tables again, which must be as they were.
    """
    with refusals("ilspace explain"):
        with loading():
            from dataclasses import asdict

            from ilspace.cli.predict import loaded_model
            from ilspace.labelling.label_file import recorded_again
            from ilspace.tables.encoding import Encoded
            from ilspace.tables.explanation import explain as explain_rows
            from ilspace.tables.results import (
                found_again,
                inputs_of,
                read_again,
                row_called,
                with_recorded,
            )
            from ilspace.tables.values import as_table_errors

        inputs = inputs_of(folder)
        model = loaded_model(folder)
        paths = found_again(folder, inputs, remedy="explain results of two files")
        read = read_again(folder, inputs, paths, cache=cache)
        if "labels" in inputs:
            read, _ = with_recorded(read, recorded_again(folder, inputs["labels"]))
        pair = read.pair
        position = row_called(pair.target, row, name, model.plan_.ids)
        with as_table_errors():
            encoded = Encoded(model.encode(pair.source, "source"), model.encode(pair.target))
            (found,) = explain_rows(model, pair, encoded, [position], n=neighbours)
        if as_json:
            typer.echo(json.dumps(asdict(found), ensure_ascii=False))
            return
        named = read.pictures is None
        typer.echo("\n".join(found.in_words(n_columns=columns, columns=named)))
