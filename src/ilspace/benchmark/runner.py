"""Run the cells of a plan on all cores or on a cluster, and keep each result at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

import joblib

from ilspace.backend import one_thread
from ilspace.benchmark.plans import PlanError, Task
from ilspace.benchmark.store import Store
from ilspace.dask import cluster
from ilspace.datasets import DataCorrupt, DataMissing


def _run_alone(cell: Task) -> dict[str, Any]:
    """Run a cell in one thread: cells run in parallel."""
    with one_thread():
        return cell.run()


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
    do not count, and remain in the store. Results do not depend on the number of workers: every
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
    # report errors common to all cells before the first runs
    for cell in {cell.shared_needs: cell for cell in todo}.values():
        _check(cell)
    described = store.methods()
    missing = {
        cell.digest: cell.describe()
        for cell in {cell.digest: cell for cell in todo}.values()
        if cell.digest not in described
    }
    with (
        cluster(dask, n_workers=joblib.effective_n_jobs(jobs)),
        nullcontext() if dask is None else joblib.parallel_config(backend="dask"),
    ):
        parallel = joblib.Parallel(
            n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs", batch_size=1
        )
        for record in parallel(joblib.delayed(_run_alone)(cell) for cell in todo):
            digest = record["cell"]["digest"]
            if digest in missing:
                store.describe(digest, missing.pop(digest))
            store.append(record)
            on_record(record)
    return len(todo)
