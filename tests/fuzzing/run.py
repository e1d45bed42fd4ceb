"""Throw hostile input at everything, for some time; a script.

``make fuzz ARGS="--seconds 600"`` draws cases of each family in turn, prints how many there were
and what came of them as JSON, and ends with 1 and the trace of the first finding, if there is one.
A case is its family and a seed: ``--only arrays --seed 17 --cases 1`` runs one again, and
``corpus.json`` lists those that once were findings.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[0] = str(TESTS)

from fuzzing import arrays, files, kills  # noqa: E402


def run_models(seed):
    """Load 200 damaged models in a process that may not take much memory."""
    from tables.small_tables import small_tables

    from ilspace import ILSClassifier, TableClassifier

    with tempfile.TemporaryDirectory() as name:
        X, y, Xt = small_tables().features
        if seed % 2:
            model, script = TableClassifier("linear").fit(X, y, Xt), "tables/fuzz.py"
        else:
            rows = X[["height", "width"]].fillna(0), y, Xt[["height", "width"]].fillna(0)
            model, script = ILSClassifier(2).fit(*rows), "storage/fuzz.py"
        model.save(Path(name) / "model.safetensors")
        model.save(Path(name) / "other.safetensors")
        command = [sys.executable, str(TESTS / script), name, "200", str(seed)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert json.loads(ended.stdout)["wrong"] == []
    return "200 damaged"


FAMILIES = {
    "arrays": (arrays.run, 200),
    "files": (files.run_files, 100),
    "tables": (files.run_tables, 20),
    "plans": (files.run_plans, 50),
    "models": (run_models, 1),
    "kills": (kills.run, 1),
}
"""What runs a case of each family, and how many are run in turn."""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None, help="of the first case; else the time")
    parser.add_argument("--cases", type=int, default=None, help="of each family, however long")
    parser.add_argument("--only", default=",".join(FAMILIES), help="families, with commas")
    options = parser.parse_args()
    first = int(time.time()) * 1000 if options.seed is None else options.seed
    counts = {name: Counter() for name in options.only.split(",")}
    findings, began = [], time.monotonic()

    def is_over():
        if options.cases is not None:
            return all(sum(each.values()) >= options.cases for each in counts.values())
        return time.monotonic() - began > options.seconds

    while not is_over() and not findings:
        for name, found in counts.items():
            run, n_in_turn = FAMILIES[name]
            for _ in range(n_in_turn):
                if is_over() or sum(found.values()) == options.cases:
                    break
                seed = first + sum(found.values())
                try:
                    found[run(seed)] += 1
                except BaseException as error:
                    found["FINDING"] += 1
                    findings.append([name, seed])
                    traceback.print_exc()
                    if not isinstance(error, Exception):
                        raise
                    break
    report = {name: dict(each) for name, each in counts.items()}
    seconds = round(time.monotonic() - began, 1)
    print(json.dumps({"seed": first, "seconds": seconds, **report, "findings": findings}))
    sys.exit(bool(findings))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
