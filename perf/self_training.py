"""Time and memory of self-training as the target grows.

Each size runs in a process of its own, so that its peak of memory is its own.
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

from ilspace import ILSClassifier

N_SOURCE, N_COLUMNS, N_CLASSES, TILE = 2_000, 100, 10, 10_000
SIZES = (500, 2_000, 8_000, 32_000, 100_000)


def made_up(n: int) -> tuple[np.ndarray, ...]:
    """Ten Gaussian classes, and the same through a linear map: X, y, Xt, yt."""
    rng = np.random.default_rng(0)
    centres, turn = rng.normal(size=(N_CLASSES, N_COLUMNS)), rng.normal(size=(N_COLUMNS, N_COLUMNS))
    y, yt = np.arange(N_SOURCE) % N_CLASSES, rng.integers(0, N_CLASSES, n)
    X = centres[y] + 1.5 * rng.normal(size=(N_SOURCE, N_COLUMNS))
    Xt = np.empty((n, N_COLUMNS))
    for top in range(0, n, TILE):
        part = yt[top : top + TILE]
        rows = centres[part] + 1.5 * rng.normal(size=(len(part), N_COLUMNS))
        Xt[top : top + TILE] = rows @ (np.eye(N_COLUMNS) + 0.1 * turn) + 0.5
    return X, y, Xt, yt


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(n: int, device: str) -> dict[str, float]:
    """Fit and predict once."""
    X, y, Xt, yt = made_up(n)
    if device != "cpu":
        import torch

        X, Xt = (torch.as_tensor(each, device=device) for each in (X, Xt))
    ILSClassifier(5).fit(X[:100], y[:100], Xt[:100])  # what loads late is loaded now
    before, begin = peak_mib(), time.perf_counter()
    model = ILSClassifier(random_state=0).fit(X, y, Xt)
    fitted = time.perf_counter()
    right = float(np.mean(model.predict(Xt) == yt))
    return {
        "fit": fitted - begin,
        "predict": time.perf_counter() - fitted,
        "extra_mib": peak_mib() - before,
        "accuracy": right,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rows", type=int, help="measure this size here, and print JSON")
    options = parser.parse_args()
    if options.rows:
        print(json.dumps(measure(options.rows, options.device)))
        return
    print(f"{N_SOURCE:,} source rows, {N_COLUMNS} columns, {N_CLASSES} classes, {options.device}")
    for n in SIZES:
        command = [sys.executable, __file__, "--rows", str(n), "--device", options.device]
        found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        print(
            f"{n:7,d} target rows: fit {found['fit']:6.2f} s, predict {found['predict']:6.2f} s, "
            f"{found['extra_mib']:6.0f} MiB more, accuracy {found['accuracy']:.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
