"""The fused kernels on a GPU beside what they replace, with several sizes of blocks, in one run.

    python perf/gpu.py                      100,000 rows in pairs, a million beside a million
    python perf/gpu.py --seconds 100        leave out what does not fit

Prints a table for each kernel: times, and the greatest error beside double precision. What fails
is named and left out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import torch
from needed import use_copies_where_missing

use_copies_where_missing()

from ilspace.objective import SmoothHinge  # noqa: E402
from ilspace.pairs import AllPairs, flash_by_class  # noqa: E402
from ilspace.pairs.flash import FlashPairs  # noqa: E402
from ilspace.rules import flash as nearest  # noqa: E402
from ilspace.rules import neighbors  # noqa: E402

PAIR_LAUNCHES = [
    {"ROWS": rows, "COLUMNS": columns, "STEPS": 32, "num_warps": warps, "num_stages": stages}
    for (rows, warps), columns, stages in product(((64, 4), (128, 8), (128, 4)), (32, 64), (2, 3))
]

NEAREST_LAUNCHES = [
    {"ROWS": rows, "COLUMNS": columns, "num_warps": warps, "num_stages": stages}
    for (rows, warps), columns, stages in product(((64, 4), (128, 8), (128, 4)), (64, 128), (2, 3))
]


def seconds_of(action: Callable[[], Any], device: str, n_rounds: int) -> float:
    """Median time of a call, after one that warms up."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    times = []
    for _ in range(n_rounds + 1):
        wait()
        start = time.perf_counter()
        action()
        wait()
        times.append(time.perf_counter() - start)
    return float(np.median(times[1:] if n_rounds > 1 else times[-1:]))


def attempt(name: str, action: Callable[[], tuple[float, float]], scale: float = 1.0) -> float:
    """Print one line of a table: the time, and the error."""
    try:
        taken, error = action()
    except Exception as failure:
        first = (str(failure).strip() or " ").splitlines()[0][:90]
        print(f"| {name} | failed: {type(failure).__name__}: {first} | |", flush=True)
        return float("inf")
    print(f"| {name} | {1e3 * scale * taken:.2f} ms | {error:.1e} |", flush=True)
    return scale * taken


def described(launch: dict[str, int]) -> str:
    """The sizes of a launch, in words."""
    rest = f"{launch['num_warps']} warps, {launch['num_stages']} stages"
    return f"fused, blocks of {launch['ROWS']} × {launch['COLUMNS']}, {rest}"


def pair_rows(n: int, p: int, device: str):
    """Rows in ten classes, shuffled, and a metric; double precision."""
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.arange(n) % 10)
    rows = rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(10, p))[codes]
    root = rng.normal(size=(p, p)) / p
    metric = 2 / p * np.eye(p) + 0.2 * root @ root.T
    return codes, *(torch.asarray(each, device=device) for each in (rows, metric))


def gap(found: Any, wanted: Any) -> float:
    """Greatest relative error of value and gradients."""
    pairs = zip(found[:3], wanted[:3], strict=True)
    return max(
        float(torch.linalg.norm(a.double() - b) / torch.linalg.norm(b.double())) for a, b in pairs
    )


def time_pairs(n: int, p: int, device: str, end: float) -> None:
    """Value and gradient of all pairs."""
    codes, rows, metric = pair_rows(n, p, device)
    few = slice(0, min(n, 20_000))
    hinge, single, small = SmoothHinge(0.7), rows.float(), metric.float()
    wanted = AllPairs(codes[few], reference=rows, tile=4096).sum(hinge, rows[few], metric)
    print(f"\nAll pairs of {n:,} rows, {p} dimensions, single precision\n")
    print(f"| | value and gradient | error at {few.stop:,} rows |\n|---|--:|--:|")
    some = single[few]
    attempt(
        "two products",
        lambda: (seconds_of(lambda: (some @ some.T) @ some, device, 5), 0.0),
        (n / few.stop) ** 2,
    )

    def measured(by_class: bool) -> tuple[float, float]:
        engines = [FlashPairs(each, reference=single) for each in (codes[few], codes)]
        if not by_class:
            for engine in engines:
                engine._by_class = None
        error = gap(engines[0].sum(hinge, some, small), wanted)
        taken = seconds_of(lambda: engines[1].sum(hinge, single, small), device, 9)
        return taken, error

    attempt("fused, rows in any order", lambda: measured(False))
    default = flash_by_class.LAUNCH
    for launch in PAIR_LAUNCHES:
        if time.perf_counter() > end:
            print("| the rest was left out: no time | | |")
            break
        flash_by_class.LAUNCH = launch
        attempt(described(launch), lambda: measured(True))
    flash_by_class.LAUNCH = default


def time_nearest(n: int, p: int, device: str, end: float) -> None:
    """Distances to the nearest rows of 20 classes."""
    rng = torch.Generator(device).manual_seed(0)
    centres = torch.randn(20, p, generator=rng, device=device)
    codes = torch.randint(20, (n,), generator=rng, device=device)
    rows = centres[codes] + torch.randn(n, p, generator=rng, device=device)
    queries = centres[codes.flip(0)] + torch.randn(n, p, generator=rng, device=device)
    host = codes.cpu().numpy()
    some = queries[: max(1, n // 8)]
    few = queries[:1000]
    neighbors._WORTH_FUSING = float("inf")
    wanted = neighbors.class_distances(few.double(), rows.double(), host, 20)
    print(f"\nNearest of {n:,} rows, for as many, {p} dimensions, 20 classes\n")
    print("| | time | error, relative to the mean distance |\n|---|--:|--:|")

    def error(found: torch.Tensor) -> float:
        return float(torch.max(torch.abs(found.double() - wanted)) / torch.mean(wanted))

    def products() -> None:
        for left in range(0, n, 2**16):
            some[:512] @ rows[left : left + 2**16].T

    attempt("products alone", lambda: (seconds_of(products, device, 3), 0.0), n / len(some[:512]))

    def tiles() -> tuple[float, float]:
        found = error(neighbors.class_distances(few, rows, host, 20))
        part = some[: max(1, len(some) // 2)]
        act = lambda: neighbors.class_distances(part, rows, host, 20)  # noqa: E731
        return n / len(part) * seconds_of(act, device, 1), found

    attempt("tiles", tiles)

    def fused() -> tuple[float, float]:
        found = error(nearest.fused_class_distances(few, rows, host, 20))
        act = lambda: nearest.fused_class_distances(some, rows, host, 20)  # noqa: E731
        return n / len(some) * seconds_of(act, device, 1), found

    taken = {}
    for launch in NEAREST_LAUNCHES:
        if time.perf_counter() > end:
            print("| the rest was left out: no time | | |")
            break
        nearest.LAUNCH = launch
        taken[attempt(described(launch) + f", from {len(some):,} queries", fused)] = launch
    nearest.LAUNCH = taken[min(taken)]

    def whole() -> tuple[float, float]:
        act = lambda: nearest.fused_class_distances(queries, rows, host, 20)  # noqa: E731
        return seconds_of(act, device, 1), error(act()[:1000])

    attempt(described(nearest.LAUNCH) + ", all queries", whole)


def main() -> None:
    """Measure both kernels."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    start = time.perf_counter()
    if options.device == "cuda":
        print(torch.cuda.get_device_name(), torch.__version__)
    for act, n, p, share in (
        (time_pairs, options.pairs, 20, 0.5),
        (time_nearest, options.rows, 30, 1.0),
    ):
        try:
            act(n, p, options.device, start + share * options.seconds)
        except Exception as failure:
            print(f"{act.__name__} failed: {failure!r}", flush=True)
    print(f"\n{time.perf_counter() - start:.0f} s in all")


if __name__ == "__main__":
    main()
