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

from ilspace.benchmark.plans import Plan, load_plan
from ilspace.benchmark.runner import run_cells
from ilspace.benchmark.store import Store, find_results, outdated_sentence
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
        table = Table("method", *self.plan.preprocessing, "seconds per fit", "failed", box=None)
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
    results = find_results(cells, store.records())
    done = [each for each in results.records.values() if each["error"] is None]
    for record in done:
        scores.add(record)
    progress = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    )
    task = progress.add_task(plan.name, total=len(cells), completed=len(done))
    console = Console(stderr=True)
    if results.n_outdated:
        sentence = outdated_sentence(results.n_outdated, "are kept, and the cells computed anew")
        console.print(sentence, highlight=False)

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
    """Draw all figures that have current results; notes on the others, and the files."""
    from ilspace.benchmark.figures import FIGURES, draw_loss

    there, notes = [], []
    for name in FIGURES:
        cells = load_plan(name).cells()
        found = find_results(cells, Store(store / f"{name}.jsonl").records())
        if found.records:
            there.append(name)
        which = f"{'Figure' if found.records else 'No figure'} of {name}"
        if found.n_outdated:
            what = f"are left out: make them anew with `ilspace bench run {name}`"
            notes.append(f"{which}: {outdated_sentence(found.n_outdated, what)}")
        elif not found.records:
            notes.append(f"{which}: run `ilspace bench run {name}` first.")
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
    return notes, paths
