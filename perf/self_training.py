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


def measure(n: int, device: str, dtype: str) -> dict[str, float]:
    """Fit and predict once."""
    X, y, Xt, yt = made_up(n)
    X, Xt = X.astype(dtype), Xt.astype(dtype)
    torch = None
    if device != "cpu":
        import torch

        X, Xt = (torch.as_tensor(each, device=device) for each in (X, Xt))
    ILSClassifier(5).fit(X[:100], y[:100], Xt[:100])  # what loads late is loaded now
    held = 0
    if torch is not None:
        torch.cuda.synchronize()
        held = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
    before, begin = peak_mib(), time.perf_counter()
    model = ILSClassifier(random_state=0).fit(X, y, Xt)
    fitted = time.perf_counter()
    right = float(np.mean(model.predict(Xt) == yt))
    found = {
        "fit": fitted - begin,
        "predict": time.perf_counter() - fitted,
        "extra_mib": peak_mib() - before,
        "accuracy": right,
    }
    if torch is not None:
        found["gpu_mib"] = (torch.cuda.max_memory_allocated() - held) / 2**20
    return found


def slope(seconds: list[float]) -> float:
    """Slope of the last three sizes, log against log."""
    return float(np.polyfit(np.log(SIZES[-3:]), np.log(seconds[-3:]), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", help="cpu, or a GPU of torch such as cuda")
    parser.add_argument("--dtype", default="float64", choices=["float64", "float32"])
    parser.add_argument("--rows", type=int, help="measure this size here, and print JSON")
    options = parser.parse_args()
    chosen = ["--device", options.device, "--dtype", options.dtype]
    if options.rows:
        print(json.dumps(measure(options.rows, options.device, options.dtype)))
        return
    print(f"{N_SOURCE:,} source rows, {N_COLUMNS} columns, {N_CLASSES} classes, {chosen[1::2]}")
    results = []
    for n in SIZES:
        command = [sys.executable, __file__, "--rows", str(n), *chosen]
        found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        on_gpu = f", {found['gpu_mib']:.0f} MiB more on the GPU" if "gpu_mib" in found else ""
        print(
            f"{n:7,d} target rows: fit {found['fit']:6.2f} s, predict {found['predict']:6.2f} s, "
            f"{found['extra_mib']:6.0f} MiB more{on_gpu}, accuracy {found['accuracy']:.4f}",
            flush=True,
        )
        results.append(found)
    for part in ("fit", "predict"):
        print(f"slope of {part}: {slope([each[part] for each in results]):.2f}")


if __name__ == "__main__":
    main()
