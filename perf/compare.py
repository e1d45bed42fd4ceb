"""Two versions of the package side by side: each case in turn by one and by the other, in one run.

    git worktree add ../before COMMIT
    python perf/compare.py ../before/src src
    python perf/compare.py ../before/src src --rounds 9 --only semi-supervised

Prints the processor time of each case, its least over the rounds, since other work on the machine
only adds to it, and the ratio. One thread. Each version has a process of its own, which does a case
when asked. For memory see growth.py.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

LARGE = ("a million unlabelled rows", "stochastic, 300,000 labelled rows")
"""Cases that are done a few times only."""


def rows_of(n: int, d: int, *, seed: int = 0, n_classes: int = 10, kind: Any = np.float64):
    """Rows in classes, and their classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    centres = 2 * np.random.default_rng(9).normal(size=(n_classes, d))
    X = rng.standard_normal((n, d), dtype=np.float32)
    X += centres[y].astype(np.float32)
    return X.astype(kind, copy=False), y


def fit(given: tuple, **parameters: Any) -> Any:
    """Fit a classifier."""
    from ilspace import ILSClassifier

    return ILSClassifier(random_state=0, **parameters).fit(*given)


def surf(*, labels: bool) -> tuple:
    """Amazon → Caltech, or random rows of its shape."""
    sys.path.insert(0, str(Path(__file__).parent))
    from problem import surf_like_problem, surf_problem

    try:
        return surf_problem("A", "C", labels).given
    except Exception:
        return surf_like_problem().given


def prepared(name: str) -> Callable[[], Any]:
    """What to time in a case; the data are made before."""
    once = {"self_training": 0}
    if name in ("unsupervised", "semi-supervised"):
        given = surf(labels=name != "unsupervised")
        return lambda: fit(given, **once)
    if name in ("30 iterations, unsupervised", "30 iterations, semi-supervised"):
        given = surf(labels="semi" in name)
        return lambda: fit(given, max_iter=30, tol=0, **once)
    if name == "self-training":
        given = surf(labels=False)
        return lambda: fit(given)
    if name == "all pairs of 3,000 rows":
        given = (*rows_of(3000, 30), rows_of(1000, 30, seed=1)[0])
        return lambda: fit(given, max_iter=20, **once)
    if name == "all pairs of 500 rows":
        given = (*rows_of(500, 30), rows_of(500, 30, seed=1)[0])
        return lambda: fit(given, max_iter=20, **once)
    if name == "3,000 columns":
        given = (*rows_of(300, 3000), rows_of(600, 3000, seed=1)[0])
        return lambda: fit(given, **once)
    if name == "labelling 20,000 rows":
        X, y = rows_of(20_000, 30)
        model = fit((X, y, X[:500]), solver="adam", max_iter=2, **once)
        return lambda: model.predict(X)
    if name == "a table of 300 rows":
        import pandas as pd

        from ilspace import TableClassifier

        (X, y), (Xt, _) = rows_of(300, 8, n_classes=3), rows_of(300, 8, seed=1, n_classes=3)
        tables = [pd.DataFrame(each, columns=list("abcdefgh")) for each in (X, Xt)]
        return lambda: TableClassifier(random_state=0).fit(tables[0], y, tables[1])
    if name == "ilspace adapt, 300 rows":
        return adapt_files
    if name == "a million unlabelled rows":
        given = (
            *rows_of(1000, 64, kind=np.float32),
            rows_of(1_000_000, 64, seed=1, kind=np.float32)[0],
        )
        return lambda: fit(given, **once)
    if name == "stochastic, 300,000 labelled rows":
        given = (
            *rows_of(300_000, 64, kind=np.float32),
            rows_of(2000, 64, seed=1, kind=np.float32)[0],
        )
        return lambda: fit(given, solver="adam", **once)
    raise ValueError(f"There is no case {name!r}.")


CASES = (
    "unsupervised",
    "30 iterations, unsupervised",
    "semi-supervised",
    "30 iterations, semi-supervised",
    "self-training",
    "all pairs of 500 rows",
    "all pairs of 3,000 rows",
    "3,000 columns",
    "labelling 20,000 rows",
    "a table of 300 rows",
    "ilspace adapt, 300 rows",
    *LARGE,
)


def adapt_files() -> None:
    """The command on two files, in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        paths = []
        for i in range(2):
            X, y = rows_of(300, 8, seed=i, n_classes=3)
            table = np.column_stack([X, y]) if i == 0 else X
            names = list("abcdefgh") + ["label"] * (i == 0)
            paths.append(Path(name) / f"{i}.csv")
            np.savetxt(paths[-1], table, delimiter=",", header=",".join(names), comments="")
        main = "import sys; sys.argv[0] = 'ilspace'; from ilspace.cli import main; main()"
        arguments = ["adapt", *map(str, paths), "--label", "label", "-o", f"{name}/out", "-q"]
        subprocess.run([sys.executable, "-c", main, *arguments], check=True)


def processor_time() -> float:
    """Of this process and those it has waited for."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def serve() -> None:
    """Do the cases that are asked for, line by line."""
    warnings.simplefilter("ignore")
    known = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in known:
            known[name] = prepared(name)
            known[name]()
        start = processor_time()
        known[name]()
        print(json.dumps(processor_time() - start), flush=True)


def started(tree: str) -> subprocess.Popen:
    """A process that serves one version."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    paths = os.pathsep.join([str(Path(tree).resolve()), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, __file__, "--serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | threads | {"PYTHONPATH": paths},
    )


def ask(server: subprocess.Popen, name: str) -> float:
    """Have a case done once."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(name + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


def close(server: subprocess.Popen) -> None:
    """End a process that serves."""
    assert server.stdin is not None
    server.stdin.close()
    server.wait()


def compare(trees: list[str], name: str, n_rounds: int) -> None:
    """Measure one case and print a line."""
    found: list[list[float]] = [[], []]
    servers = [started(tree) for tree in trees]
    for i in range(min(n_rounds, 3) if name in LARGE else n_rounds):
        for side in (0, 1) if i % 2 == 0 else (1, 0):
            found[side].append(ask(servers[side], name))
    for server in servers:
        close(server)
    before, after = (1e3 * min(side) for side in found)
    print(f"| {name} | {before:.0f} | {after:.0f} | {after / before:.2f} |", flush=True)


def main() -> None:
    """Compare all cases."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trees", nargs="*", help="folders that hold the package: before, after")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=CASES)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    print("| case | before, ms | after, ms | ratio |")
    print("|---|--:|--:|--:|")
    for name in options.only:
        compare(options.trees, name, options.rounds)


if __name__ == "__main__":
    main()
