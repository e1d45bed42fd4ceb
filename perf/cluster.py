"""Ten million target rows out of core, with one worker process and with two.

    python perf/cluster.py                    10,000,000 x 64 rows, 20,000 labelled ones
    python perf/cluster.py --rows 1000000     fewer

Prints seconds of one pass over all rows (mean and covariance) and of one evaluation of the
objective, the peak memory of the workers, and how many times faster two workers are than one. The
rows are made up when a block is asked for, so they are nowhere all at once. A worker has one
thread.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
import warnings
from typing import NamedTuple

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from sklearn.exceptions import ConvergenceWarning

from ilspace import ILSClassifier
from ilspace.dask.rows import row_blocks, summarised

N_CLASSES = 10


class Measured(NamedTuple):
    """Seconds of a pass over the rows and of an evaluation, and gibibytes at the peak."""

    moments: float
    evaluation: float
    memory: float


def made_up(n: int, d: int, *, chunk: int, target: bool) -> da.Array:
    """Rows of one domain; a row's number tells its class."""
    means = 0.5 * np.random.default_rng(0).normal(size=(N_CLASSES, d)).astype(np.float32)

    def block(block_info=None):
        (start, stop), _ = block_info[None]["array-location"]
        rng = np.random.default_rng([start, target])
        rows = rng.standard_normal((stop - start, d), dtype=np.float32)
        rows += means[np.arange(start, stop) % N_CLASSES]
        return 1.2 * rows + np.float32(0.3) if target else rows

    sizes = tuple(min(chunk, n - start) for start in range(0, n, chunk))
    return da.map_blocks(block, chunks=(sizes, (d,)), dtype=np.float32, meta=np.empty((0, 0)))


def peak_memory() -> float:
    """Gibibytes that this process has used at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(n_workers: int, options: argparse.Namespace) -> Measured:
    """One pass, a few iterations, and what the workers needed for them."""
    X = made_up(options.labelled, options.columns, chunk=5000, target=False)
    Xt = made_up(options.rows, options.columns, chunk=options.chunk, target=True)
    y = np.arange(options.labelled) % N_CLASSES
    ticks = []
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        begin = time.perf_counter()
        summarised(row_blocks(Xt)).compute()
        moments = time.perf_counter() - begin
        model = ILSClassifier(
            20, max_iter=3, tol=0.0, callback=lambda *_: ticks.append(time.perf_counter())
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # three iterations are meant
            model.fit(X, y, Xt)
        history = model.solution_.history
        n_evaluations = history[-1].evaluations - history[0].evaluations
        some = Xt[: options.chunk]
        right = np.mean(model.predict(some).compute() == np.arange(len(some)) % N_CLASSES)
        memory = max(client.run(peak_memory).values())
    print(
        f"{n_workers} worker(s): moments {moments:.1f} s, evaluation "
        f"{(ticks[-1] - ticks[0]) / n_evaluations:.2f} s, peak {memory:.2f} GiB per worker, "
        f"accuracy {100 * right:.1f} %",
        flush=True,
    )
    return Measured(moments, (ticks[-1] - ticks[0]) / n_evaluations, memory)


def main() -> None:
    """Measure one worker and two, in turns."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--labelled", type=int, default=20_000)
    parser.add_argument("--chunk", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start", flush=True)
    one, two = [], []
    for _ in range(options.repeats):
        one.append(measure(1, options))
        two.append(measure(2, options))
    for name in ("moments", "evaluation"):
        ratio = min(getattr(each, name) for each in one) / min(getattr(each, name) for each in two)
        print(f"{name}: two workers are {ratio:.2f} times as fast as one")
    print(f"peak memory of a worker: {max(each.memory for each in [*one, *two]):.2f} GiB")


if __name__ == "__main__":
    main()
