"""What ``ilspace adapt`` takes on made-up tables; prints the table of perf/README.md.

``python docs/measurements/adapt_times.py``, or with names of cases. Tables of mixed columns have 22
numbers, 8 categories and two classes; wide ones have numbered columns, which are features.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

MIXED = {"300": 300, "1,500": 1_500, "50,000": 50_000}
WIDE = {"12,000 columns": (300, 12_000), "20,000 columns": (40, 20_000)}


def main() -> None:
    """Measure each case in a process of its own, and print a line."""
    asked = sys.argv[1:] or [*MIXED, *WIDE]
    sys.stdout.write("| | seconds | processor time | model |\n|---|--:|--:|--:|\n")
    for name in asked:
        with tempfile.TemporaryDirectory() as folder:
            write_tables(name, Path(folder))
            command = [sys.executable, "-m", "ilspace.cli", "adapt", "source.csv", "target.csv"]
            command += ["--label", "label", "-o", "out", "--quiet"]
            start, before = time.perf_counter(), processor_time()
            subprocess.run(command, cwd=folder, check=True)
            seconds, spent = time.perf_counter() - start, processor_time() - before
            size = (Path(folder) / "out" / "model.skops").stat().st_size / 1e6
        n_rows, what = rows_of(name)
        said = f"{n_rows:,} + {n_rows:,} rows, {what}"
        sys.stdout.write(f"| {said} | {seconds:.1f} | {spent:.1f} s | {size:.1f} MB |\n")
        sys.stdout.flush()


def rows_of(name: str) -> tuple[int, str]:
    """Rows of each table, and what its columns are."""
    return (WIDE[name][0], name) if name in WIDE else (MIXED[name], "30 mixed columns")


def write_tables(name: str, folder: Path) -> None:
    """Write a source and a target that is shifted."""
    for seed, side in enumerate(("source", "target")):
        rng = np.random.default_rng(seed)
        y = np.arange(rows_of(name)[0]) % 2
        if name in WIDE:
            X = rng.normal(size=WIDE[name]) + 0.2 * y[:, None] + 0.2 * seed
            table = pd.DataFrame(X.round(4), columns=[f"gene{i}" for i in range(X.shape[1])])
        else:
            means = np.random.default_rng(9).normal(size=22)
            X = rng.normal(size=(len(y), 22)) + 0.4 * y[:, None] * means + 0.2 * seed
            table = pd.DataFrame(X.round(4), columns=list("abcdefghijklmnopqrstuv"))
            for each in range(8):
                codes = (rng.integers(0, 6, len(y)) + y * (rng.random(len(y)) < 0.3)) % 6
                table[f"category {'stuvwxyz'[each]}"] = np.array(list("klmnop"))[codes]
        if side == "source":
            table["label"] = np.array(["no", "yes"])[y]
        table.to_csv(folder / f"{side}.csv", index=False)


def processor_time() -> float:
    """Of processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
