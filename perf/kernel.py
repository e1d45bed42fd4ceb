"""Value and gradient of all pairs beside the two matrix products they contain, in one run.

    python perf/kernel.py                 3,000 labelled rows, 20 dimensions
    python perf/kernel.py --rows 3000 10000 --threads 1 2 4 8 16
    python perf/kernel.py --device cuda   100,000 rows in single precision, on a GPU

Both sides take turns; medians of the rounds. The products are those of one dense evaluation,
Z Zᵀ and C Z with a matrix C of all pairs; the engine needs them and the losses of all pairs.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from needed import use_copies_where_missing
from threadpoolctl import threadpool_limits

use_copies_where_missing()

from ilspace.objective import SmoothHinge  # noqa: E402
from ilspace.pairs import AllPairs, all_pairs, sorted_tiles  # noqa: E402

N_CLASSES = 10


def rows_and_metric(n: int, p: int, device: str):
    """Rows in classes, and a metric."""
    rng = np.random.default_rng(0)
    codes = np.arange(n) % N_CLASSES
    rows = rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(N_CLASSES, p))[codes]
    metric = 2 / p * np.eye(p)
    if device == "cpu":
        return codes, rows, metric, lambda: None
    import torch

    made = (torch.asarray(each, dtype=torch.float32, device=device) for each in (rows, metric))
    return codes, *made, torch.cuda.synchronize


def milliseconds(action, wait, n_rounds: int) -> list[float]:
    """Times of a call, after one that warms up."""
    times = []
    for _ in range(n_rounds + 1):
        wait()
        start = time.perf_counter()
        action()
        wait()
        times.append(1e3 * (time.perf_counter() - start))
    return times[1:]


def measure(n: int, options: argparse.Namespace) -> None:
    """Measure one size and print a line."""
    codes, rows, metric, wait = rows_and_metric(n, options.dimensions, options.device)
    engine, hinge = all_pairs(codes, reference=rows), SmoothHinge(0.7)
    # a GPU could not hold all pairs of many rows: time a part, of which there are (n / part)²
    part = min(n, 20_000)
    repeats = (n / part) ** 2
    some = rows[:part]
    pairs, products, plain = [], [], []
    for _ in range(options.rounds):
        pairs += milliseconds(lambda: engine.sum(hinge, rows, metric), wait, 1)
        products += milliseconds(lambda: (some @ some.T) @ some, wait, 1)
        if options.device == "cpu":
            one = AllPairs(codes, reference=rows)
            plain += milliseconds(lambda: one.sum(hinge, rows, metric), wait, 1)  # noqa: B023
    ours, floor = float(np.median(pairs)), repeats * float(np.median(products))
    beside = f", tiles in one thread {np.median(plain):.2f} ms" if plain else ""
    print(
        f"{type(engine).__name__}, {n} rows, {options.dimensions} dimensions, {rows.dtype}: value "
        f"and gradient {ours:.2f} ms, its two products {floor:.2f} ms, ratio {ours / floor:.2f}"
        + beside,
        flush=True,
    )


def main() -> None:
    """Measure all sizes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=None)
    parser.add_argument("--dimensions", type=int, default=20)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, nargs="+", default=[None])
    parser.add_argument("--most-threads", type=int, default=sorted_tiles.MOST_THREADS)
    options = parser.parse_args()
    sorted_tiles.MOST_THREADS = options.most_threads
    for n_threads in options.threads:
        with threadpool_limits(n_threads):
            if n_threads is not None:
                print(f"{n_threads} threads")
            for n in options.rows or [3_000 if options.device == "cpu" else 100_000]:
                measure(n, options)


if __name__ == "__main__":
    main()
