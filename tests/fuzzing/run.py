"""Throw hostile input at everything; a script.

``make fuzz ARGS="--seconds 600"`` draws cases of each family in turn, prints how many there were
and what came of them as JSON, and ends with 1 and the trace of the first finding, if there is one.
``--counts arrays=50000,files=10000,kills-adapt=100`` runs so many of these families instead,
``--jobs 2`` shares them between two processes; a command that ended before it was killed is told
but not counted. A case is its family and a seed: ``--only arrays --seed 17 --cases 1`` runs one
again, and ``corpus.json`` lists those that once were findings.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import traceback
from collections import Counter
from importlib import import_module
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is loaded

TESTS = Path(__file__).resolve().parents[1]
sys.path[0] = str(TESTS)


FAMILIES = {
    "arrays": ("arrays.run", 200),
    "files": ("files.run_files", 100),
    "tables": ("files.run_tables", 20),
    "plans": ("files.run_plans", 50),
    "models": ("models.run", 1),
    "kills-adapt": ("kills.run_adapt", 1),
    "kills-predict": ("kills.run_predict", 1),
    "kills-bench": ("kills.run_bench", 1),
    "kills-folder": ("kills.run_folder", 1),
}
"""What runs a case of each family, and how many are run in turn.

Imported where they run: a command that is killed begins by loading this file again.
"""

TOO_LATE = "ended before"
"""What is said of a command that was not killed."""


def imported(name):
    """Function of a module beside this one."""
    home, _, name = name.partition(".")
    return getattr(import_module(f"fuzzing.{home}"), name)


def n_counted(found):
    """Cases that count: a kill that came too late is none."""
    return found.total() - found[TOO_LATE]


def draw(counts, wanted, first, seconds):
    """Run cases until enough have been run, time is up, or something is found."""
    functions = {name: imported(FAMILIES[name][0]) for name in counts}
    findings, began, told = [], time.monotonic(), time.monotonic()

    def is_over():
        if wanted:
            return all(n_counted(found) >= wanted[name] for name, found in counts.items())
        return time.monotonic() - began > seconds

    while not is_over() and not findings:
        for name, found in counts.items():
            run, n_in_turn = functions[name], FAMILIES[name][1]
            for _ in range(n_in_turn):
                if is_over() or (wanted and n_counted(found) >= wanted[name]):
                    break
                seed = first + found.total()
                try:
                    found[run(seed) or TOO_LATE] += 1
                except BaseException as error:
                    found["FINDING"] += 1
                    findings.append([name, seed])
                    traceback.print_exc()
                    if not isinstance(error, Exception):
                        raise
                    break
        if time.monotonic() - told > 60:
            told = time.monotonic()
            so_far = ", ".join(f"{name} {n_counted(found)}" for name, found in counts.items())
            print(f"{told - began:.0f} s: {so_far}", file=sys.stderr, flush=True)
    return findings


def share(options, wanted, first):
    """Let several processes do it, each with seeds of its own; add up what they say."""
    processes = []
    for place in range(options.jobs):
        shares = {name: (n + place) // options.jobs for name, n in wanted.items()}
        command = [sys.executable, __file__, "--seed", str(first + place * 10**9)]
        command += ["--only", options.only, "--seconds", str(options.seconds)]
        if shares:
            command += ["--counts", ",".join(f"{name}={n}" for name, n in shares.items())]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    counts, findings = {name: Counter() for name in wanted or options.only.split(",")}, []
    for process in processes:
        said = json.loads(process.communicate()[0])
        findings += said["findings"]
        for name, found in counts.items():
            found.update(said[name])
    return counts, findings


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None, help="of the first case; else the time")
    parser.add_argument("--cases", type=int, default=None, help="of each family, however long")
    parser.add_argument("--counts", default="", help="NAME=CASES,..., of these alone, however long")
    parser.add_argument("--only", default=",".join(FAMILIES), help="families, with commas")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    first = int(time.time()) * 1000 if options.seed is None else options.seed
    wanted = {name: int(n) for name, n in (e.split("=") for e in options.counts.split(",") if e)}
    if options.cases is not None:
        wanted = dict.fromkeys(options.only.split(","), options.cases) | wanted
    if unknown := {*wanted, *options.only.split(",")} - {*FAMILIES}:
        parser.error(f"there are the families {', '.join(FAMILIES)}, not {', '.join(unknown)}")
    began = time.monotonic()
    if options.jobs > 1:
        counts, findings = share(options, wanted, first)
    else:
        counts = {name: Counter() for name in wanted or options.only.split(",")}
        findings = draw(counts, wanted, first, options.seconds)
    report = {name: dict(each) for name, each in counts.items()}
    seconds = round(time.monotonic() - began, 1)
    print(json.dumps({"seed": first, "seconds": seconds, **report, "findings": findings}))
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
