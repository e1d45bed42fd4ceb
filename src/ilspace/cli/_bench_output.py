"""How ``ilspace bench run`` looks: a bar and a live table, on standard error."""

from __future__ import annotations

import io
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from ilspace.benchmark.plans import Plan, cell_key
from ilspace.benchmark.runner import run_cells
from ilspace.benchmark.store import Store
from ilspace.storage import output_folder, write_whole


class _Scores:
    """Mean accuracy of each method and preprocessing, as results come in."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.accuracies: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.failures: dict[str, list[str]] = defaultdict(list)

    def add(self, record: dict[str, Any]) -> None:
        cell = record["cell"]
        if record["error"] is not None:
            self.failures[cell["method"]].append(record["error"])
            return
        self.accuracies[cell["method"], cell["preprocessing"]].append(record["accuracy"])
        self.seconds[cell["method"]].append(record["fit_seconds"])

    def table(self) -> Table:
        table = Table("method", *self.plan.preprocessing, "seconds a fit", "failed", box=None)
        for method in self.plan.methods:
            seconds, failed = self.seconds[method.name], len(self.failures.get(method.name, ()))
            means = (
                f"{np.mean(found):.2f} ({len(found)})" if found else "–"
                for found in (
                    self.accuracies[method.name, each] for each in self.plan.preprocessing
                )
            )
            took = f"{np.mean(seconds):.2f}" if seconds else "–"
            table.add_row(method.name, *means, took, str(failed) if failed else "")
        return table


def run_and_watch(plan: Plan, store: Store, *, jobs: int, dask: str | None) -> int:
    """Run what is left of a plan; the number of cells that failed."""
    scores = _Scores(plan)
    cells = list(plan.cells())
    wanted, finished = {cell.key for cell in cells}, store.finished()
    for record in store.records():
        if record["error"] is None and cell_key(record["cell"]) in wanted:
            scores.add(record)
    done = len(wanted & finished)
    progress = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    )
    task = progress.add_task(plan.name, total=len(cells), completed=done)
    console = Console(stderr=True)

    def show() -> Group:
        return Group(scores.table(), progress)

    with Live(show(), console=console, refresh_per_second=4, transient=False) as live:

        def on_record(record: dict[str, Any]) -> None:
            scores.add(record)
            progress.advance(task)
            live.update(show())

        run_cells(cells, store, jobs=jobs, dask=dask, on_record=on_record)
    failures = sum(map(len, scores.failures.values()))
    for method, errors in scores.failures.items():
        console.print(f"{method} failed {len(errors)} times, last: {errors[-1]}", highlight=False)
    return failures


def draw_and_write(store: Path, output: Path) -> tuple[list[str], list[Path]]:
    """Draw all figures that have their store; the experiments that lack, and the files."""
    from ilspace.benchmark.figures import FIGURES, draw_loss

    there = [name for name in FIGURES if any(Store(store / f"{name}.jsonl").records())]
    drawings = {"loss": draw_loss()} | {name: FIGURES[name](store) for name in there}
    paths = []
    with output_folder(output):
        for name, drawing in drawings.items():
            for suffix in ("png", "svg"):
                stream = io.BytesIO()
                drawing.figure.savefig(stream, format=suffix, dpi=150)
                path = output / f"{name}.{suffix}"
                write_whole(path, stream.getvalue())
                paths.append(path)
    return [name for name in FIGURES if name not in there], paths
