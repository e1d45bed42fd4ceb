"""How ``ilspace bench run`` looks: a bar and a live table, on standard error."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.table import Table

from ilspace.benchmark.kinds import AnyPlan
from ilspace.benchmark.plan_files import load_plan
from ilspace.benchmark.runner import run_cells
from ilspace.benchmark.store import Store, find_results, outdated_sentence
from ilspace.storage import output_folder, whole_file


def _scores(plan: AnyPlan, records: dict[str, list[dict[str, Any]]]) -> Table:
    """Mean accuracy of each method and block, as results come in."""
    table = Table("method", *plan.blocks, "seconds per fit", "failed", box=None)
    for method in plan.methods:
        tried = records[method.name]
        done = [each for each in tried if "accuracy" in each]
        means = []
        for name in plan.blocks:
            found = [each["accuracy"] for each in done if plan.block_of(each["cell"]) == name]
            means.append(f"{np.mean(found):.2f} ({len(found)})" if found else "–")
        seconds = [each["seconds" if "seconds" in each else "fit_seconds"] for each in done]
        took = f"{np.mean(seconds):.2f}" if done else "–"
        n_failed = sum(each.get("error") is not None for each in tried)
        table.add_row(method.name, *means, took, str(n_failed or ""))
    return table


@contextmanager
def _line_ended(console: Console) -> Iterator[None]:
    """Begin a new line after what is shown, as on a terminal, so that no message sticks to it."""
    try:
        yield
    finally:
        if not console.is_terminal:
            console.line()


def run_and_watch(plan: AnyPlan, store: Store, *, jobs: int, dask: str | None) -> int:
    """Run what is left of a plan; the number of cells that failed."""
    cells = list(plan.cells())
    results = find_results(cells, store.records())
    done = [each for each in results.records.values() if each.get("error") is None]
    records: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in done:
        records[record["cell"]["method"]].append(record)
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    progress = Progress(*columns)
    task = progress.add_task(plan.name, total=len(cells), completed=len(done))
    console = Console(stderr=True)
    if results.n_outdated:
        sentence = outdated_sentence(results.n_outdated, "are kept, and the cells computed anew")
        console.print(sentence, highlight=False)

    def show() -> Group:
        return Group(_scores(plan, records), progress)

    with (
        _line_ended(console),
        Live(show(), console=console, refresh_per_second=4, transient=False) as live,
    ):

        def on_record(record: dict[str, Any]) -> None:
            records[record["cell"]["method"]].append(record)
            progress.advance(task)
            live.update(show())

        n_run = run_cells(cells, store, jobs=jobs, dask=dask, on_record=on_record)
    n_left = len(cells) - len(done) - n_run
    if n_left > 0:
        what = "1 cell was" if n_left == 1 else f"{n_left} cells were"
        sentence = f"{what} left to another run on the same store; run it again for what it leaves."
        console.print(sentence, highlight=False)
    n_failed = 0
    for method, tried in records.items():
        errors = [each["error"] for each in tried if each.get("error") is not None]
        n_failed += len(errors)
        if errors:
            last = f"{method} failed {len(errors)} times, last: {errors[-1]}"
            console.print(last, highlight=False)
    return n_failed


def draw_and_write(store: Path, output: Path) -> tuple[list[str], list[Path]]:
    """Draw all figures that have current results; notes on the others, and the files."""
    from ilspace.benchmark.figures import FIGURES, draw_loss

    drawings, notes = {"loss": draw_loss()}, []
    for name in FIGURES:
        cells = load_plan(name).cells()
        found = find_results(cells, Store(store / f"{name}.jsonl").records())
        if found.records:
            drawings[name] = FIGURES[name](store)
        which = f"{'Figure' if found.records else 'No figure'} of {name}"
        if found.n_outdated:
            what = f"are left out: make them anew with `ilspace bench run {name}`"
            notes.append(f"{which}: {outdated_sentence(found.n_outdated, what)}")
        elif not found.records:
            notes.append(f"{which}: run `ilspace bench run {name}` first.")
    paths = []
    with output_folder(output):
        for name, drawing in drawings.items():
            for suffix in ("png", "svg"):
                paths.append(output / f"{name}.{suffix}")
                with whole_file(paths[-1]) as stream:
                    drawing.figure.savefig(stream, format=suffix, dpi=150)
    return notes, paths
