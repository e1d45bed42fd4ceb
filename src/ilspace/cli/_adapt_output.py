"""How ``ilspace adapt`` looks: a bar on standard error, the summary on standard output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ilspace.dask import cluster
from ilspace.tables.classifier import Step
from ilspace.tables.job import Listener, adapt_files
from ilspace.tables.outputs import check_folder, write_outputs
from ilspace.tables.result_files import PREDICTIONS, REPORT


def run_and_show(
    source: str,
    target: str,
    *,
    output: Path,
    force: bool,
    as_json: bool,
    quiet: bool,
    dask: str | None,
    **options: Any,
) -> None:
    """Do the job, write the files, say what came of it."""
    check_folder(output, force=force)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[known]}"),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True, quiet=quiet)
    # the cluster ends after the bar, and however the job ends
    with cluster(dask), Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None, known="")

        def stage(name: str) -> None:
            progress.update(task, description=name, total=None, completed=0, known="")

        def step(now: Step) -> None:
            accuracy = "" if now.accuracy is None else f", held-out accuracy {now.accuracy:.0%}"
            known = f"{now.iteration}: {now.objective:.4g}{accuracy}"
            progress.update(task, known=known)

        def count(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total, known=f"{done}/{total}")

        listener = Listener(stage, step, count)
        adaptation = adapt_files(
            source, target, partitioned=dask is not None, listener=listener, **options
        )
        stage("writing")
        summary = write_outputs(adaptation, output, force=force, on_count=count)
    if as_json:
        typer.echo(json.dumps(summary, ensure_ascii=False))
    if not quiet:
        _closing_words(summary, output)


def _doubts(shares: dict[str, float]) -> str:
    listed = ", ".join(f"{word} {share:.0%}" for word, share in shares.items())
    return f" (doubts: {listed})" if listed else ""


def _closing_words(summary: dict[str, Any], output: Path) -> None:
    for note in summary["notes"]:
        typer.echo(f"Note: {note}", err=True)
    typer.echo(summary["verdict"], err=True)
    accuracy = summary["held_out_source_accuracy"]
    target = summary["target"]
    n_new = (target["rows"] - target["labelled"]) or target["rows"]
    if accuracy is not None:
        typer.echo(
            f"Held-out source rows: {accuracy:.0%} right. Trusted predictions: "
            f"{summary['trusted']['share']:.0%} of {n_new}{_doubts(summary['trusted']['doubts'])}.",
            err=True,
        )
    typer.echo(f"Labels: {output / PREDICTIONS}   to look at: {output / REPORT}", err=True)
