"""Run the cells of a plan on all cores or on a cluster, and keep each result at once."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import Any

import joblib

from ilspace.backend import one_thread
from ilspace.benchmark.claims import Claims, claims
from ilspace.benchmark.plan_entries import PlanError
from ilspace.benchmark.store import Store
from ilspace.benchmark.tasks import Task, cell_key
from ilspace.dask import cluster
from ilspace.datasets import DataCorrupt, DataMissing

_SECONDS = 1.0
"""Between two looks of a worker at the process that started it."""


def _run_alone(cell: Task) -> dict[str, Any]:
    """Run a cell in one thread: cells run in parallel."""
    with one_thread():
        return cell.run()


def _watch(parent: int) -> None:
    """Let a worker, before its first cell, look whether the process that started it lives."""
    threading.Thread(target=_end_with, args=[parent], daemon=True).start()


def _end_with(parent: int) -> None:
    """End this worker when the process that started it has ended, killed or not."""
    while os.getppid() == parent:
        time.sleep(_SECONDS)
    os._exit(1)


def _check(cell: Task) -> None:
    try:
        cell.check()
    except (PlanError, DataMissing, DataCorrupt):
        raise
    except ValueError as error:  # of a loader
        raise PlanError(f"{' '.join(str(error).split())}: correct the plan.") from error


def run_cells(
    cells: Iterable[Task],
    store: Store,
    *,
    jobs: int = -1,
    dask: str | None = None,
    on_record: Callable[[dict[str, Any]], object] = lambda record: None,
) -> int:
    """Run the cells that the store has no result of.

    Each record is in the store as soon as its cell has finished, after a description of its method
    where the store has none. Results of other parameters, or of another revision of the method,
    do not count, and remain in the store. A cell that another run on the same store works on is
    left to it. Results do not depend on the number of workers: every
    cell has its own seed, and works in one thread.

    Parameters
    ----------
    cells : iterable of Task
        What to run.
    store : Store
        Where results are, and go.
    jobs : int, default=-1
        Processes; -1 for one per core.
    dask : str, optional
        Address of a Dask scheduler, or ``"local"`` for a cluster on this machine.
    on_record : callable, optional
        Called with each record, after it was stored.

    Returns
    -------
    int
        How many cells ran.

    Raises
    ------
    PlanError, DataMissing, DataCorrupt
        Before anything runs, where the plan cannot be carried out.
    """
    finished = store.finished()
    todo = [cell for cell in cells if cell.key not in finished]
    if not todo:
        return 0
    # report errors common to all cells before the first runs
    for cell in {cell.shared_needs: cell for cell in todo}.values():
        _check(cell)
    described = store.methods()
    missing = {
        cell.digest: cell.describe()
        for cell in {cell.digest: cell for cell in todo}.values()
        if cell.digest not in described
    }
    n_run = 0
    with (
        claims(store.path) as own,
        cluster(dask, n_workers=joblib.effective_n_jobs(jobs)),
        nullcontext() if dask is None else joblib.parallel_config(backend="dask"),
    ):
        parallel = joblib.Parallel(
            n_jobs=jobs,
            return_as="generator_unordered",
            pre_dispatch="2*n_jobs",
            batch_size=1,
            # workers of a cluster have other parents
            **({"initializer": _watch, "initargs": [os.getpid()]} if dask is None else {}),
        )
        run = joblib.delayed(_run_alone)
        for record in parallel(run(cell) for cell in _claimed(todo, store, own)):
            digest = record["cell"]["digest"]
            if digest in missing:
                store.describe(digest, missing.pop(digest))
            store.append(record)
            own.release(cell_key(record["cell"]))
            on_record(record)
            n_run += 1
    return n_run


def _claimed(todo: Iterable[Task], store: Store, own: Claims) -> Iterator[Task]:
    """Cells that no other run works on, or has finished since this one began."""
    for cell in todo:
        if not own.take(cell.key):
            continue
        if cell.key in store.finished_lately():
            own.release(cell.key)
            continue
        yield cell
