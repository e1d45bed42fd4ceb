"""How the cost of a fit grows: seconds and peak memory against rows and columns.

    python perf/growth.py                  all series, each point in a process of its own
    python perf/growth.py --most 100000    smaller sizes only

Prints a table a series and the slopes of its last points in a log-log plot: 1 is linear. Memory is
what the process holds at most, less the data and what an idle process holds.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings

import numpy as np

N_CLASSES = 10

SERIES = {
    "labelled rows, all pairs": ("n_labelled", [1_000, 3_000, 10_000, 30_000], {}),
    "labelled rows, stochastic": (
        "n_labelled",
        [1_000, 10_000, 100_000, 1_000_000],
        {"solver": "adam"},
    ),
    "unlabelled rows": ("n_unlabelled", [1_000, 10_000, 100_000, 1_000_000, 10_000_000], {}),
    "columns": ("n_columns", [100, 300, 1_000, 3_000, 10_000], {}),
}
"""What grows, through which sizes, and parameters of the estimator."""

USUAL = {"n_labelled": 1_000, "n_unlabelled": 2_000, "n_columns": 64}


def made_up(n: int, d: int, seed: int, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows in classes, single precision; a part at a time, so that making them takes no memory."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, N_CLASSES, size=n)
    X = np.empty((n, d), dtype=np.float32)
    for start in range(0, n, 100_000):
        part = slice(start, min(start + 100_000, n))
        X[part] = rng.standard_normal((part.stop - start, d), dtype=np.float32)
        X[part] += directions[y[part]]
    return X, y


def measure_one(sizes: dict[str, int], parameters: dict[str, str]) -> dict[str, float]:
    """Fit once; seconds, and memory beyond the data."""
    from ilspace import ILSClassifier

    d = sizes["n_columns"]
    directions = 2 * np.random.default_rng(9).normal(size=(N_CLASSES, d)).astype(np.float32)
    directions[:, 20:] *= 0.1
    X, y = made_up(sizes["n_labelled"], d, 0, directions)
    Xt, _ = made_up(sizes["n_unlabelled"], d, 1, 1.1 * directions + 0.5)
    small = slice(0, 200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one_fit = ILSClassifier(5, self_training=0)
        one_fit.fit(X[small], y[small], Xt[small])  # what loads late is loaded now
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.perf_counter()
        fitted = ILSClassifier(random_state=0, self_training=0, **parameters).fit(X, y, Xt)
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "seconds": seconds,
        "extra_mib": (peak - before) / 1024,
        "data_mib": (X.nbytes + Xt.nbytes) / 2**20,
        "iterations": fitted.n_iter_,
    }


def in_its_own_process(sizes: dict[str, int], parameters: dict[str, str]) -> dict[str, float]:
    """Measure where nothing else has touched memory."""
    request = json.dumps([sizes, parameters])
    done = subprocess.run(
        [sys.executable, __file__, "--one", request], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def slope(sizes: list[int], values: list[float]) -> float:
    """Slope of the last three points, log against log."""
    kept = [(n, v) for n, v in zip(sizes, values, strict=True) if v > 0][-3:]
    if len(kept) < 2:
        return float("nan")
    logs = np.log(np.array(kept))
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def main() -> None:
    """Measure all series."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--most", type=int, default=10**9, help="leave larger sizes out")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure_one(*json.loads(options.one))))
        return
    for title, (name, sizes, parameters) in SERIES.items():
        sizes = [each for each in sizes if each <= options.most]
        print(f"\n{title} (others: {', '.join(f'{k} {v}' for k, v in USUAL.items() if k != name)})")
        print("| size | seconds | iterations | data, MiB | memory beside, MiB |")
        print("|--:|--:|--:|--:|--:|")
        found = []
        for size in sizes:
            found.append(in_its_own_process(USUAL | {name: size}, parameters))
            met = found[-1]
            print(
                f"| {size:,} | {met['seconds']:.2f} | {met['iterations']} | {met['data_mib']:.0f} "
                f"| {met['extra_mib']:.0f} |",
                flush=True,
            )
        each_step = [met["seconds"] / max(1, met["iterations"]) for met in found]
        print(
            f"Slopes: seconds {slope(sizes, [met['seconds'] for met in found]):.2f}, seconds an "
            f"iteration {slope(sizes, each_step):.2f}, memory beside the data "
            f"{slope(sizes, [met['extra_mib'] for met in found]):.2f}."
        )


if __name__ == "__main__":
    main()
