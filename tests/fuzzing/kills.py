"""Commands that are killed: what they leave is old or new, and whole.

A command runs in a copy of a process that has loaded all there is, so that a kill meets its work;
one in sixteen starts as a user's does. Half of the kills wait until something is written. A command
that ended before is no case: then None is returned.
"""

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

import pandas as pd
from storage.test_whole_folders import NEW, OLD, held, make
from storage.test_whole_folders import run as replace_and_die
from tables.small_tables import small_tables, write_csv

from ilspace.cli import main

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
LONGEST = 120.0
"""Seconds after which a command hangs."""

LOADED = ["pytest", "scipy.io", "joblib", "rich.progress", "ilspace.baselines", "ilspace.cli.app"]
LOADED += ["ilspace.benchmark.field", "ilspace.benchmark.runner", "ilspace.cli._bench_output"]
LOADED += ["ilspace.dask", "ilspace.tables.job", "ilspace.tables.outputs"]
"""Modules that are there when a command begins."""

PLAN = """
kind = "field"
trials = 1
settings = ["none"]
groups = { tables = ["penguins/adelie-gentoo", "penguins/gentoo-adelie"] }
[[method]]
name = "coral"
estimator = "TableClassifier"
parameters = { method = "CORAL" }
[[method]]
name = "alignment"
estimator = "TableClassifier"
parameters = { method = "SubspaceAlignment" }
[[method]]
name = "ils"
estimator = "TableClassifier"
parameters = { method = "ils" }
[[method]]
name = "ils-scaled"
estimator = "TableClassifier"
parameters = { method = "ils", scaling = "zscore-l2" }
"""
N_CELLS = 8


def run_command(arguments):
    """Be the command line, in silence."""
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(silence, descriptor)
    sys.argv = ["ilspace", *arguments]
    main()


class Command:
    """A command that runs, in a copy of a process that has loaded all there is, or a fresh one."""

    def __init__(self, arguments, *, is_fresh=False):
        arguments = list(map(str, arguments))
        if is_fresh:
            script = f"import sys; sys.path[:] = {sys.path!r}\n"
            script += "from ilspace.cli import main; sys.argv[0] = 'ilspace'; main()"
            command, quiet = [sys.executable, "-c", script, *arguments], subprocess.DEVNULL
            process = subprocess.Popen(command, stdout=quiet, stderr=quiet)
            self.code = process.poll
        else:
            context = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload(LOADED)
            process = context.Process(target=run_command, args=(arguments,))
            process.start()
            self.code = lambda: process.exitcode
        self.pid: int = process.pid or 0


def watch(process, signs: Callable[[], bool] = bool, *, from_start=LONGEST, from_sign=LONGEST):
    """Wait for the end of a command, or until it is time; seconds from its start and first sign."""
    began, first = time.monotonic(), None
    while process.code() is None:
        now = time.monotonic()
        if first is None and signs():
            first = now
        assert now - began < LONGEST, "it hangs"
        if now - began >= from_start or (first is not None and now - first >= from_sign):
            break
        time.sleep(0.0005)
    now = time.monotonic()
    return now - began, 0 if first is None else now - first


def kill(rng, kind, arguments, folder):
    """Start a command and kill it at a random moment; tell whether that came in time, and how."""
    by = signal.SIGKILL if kind == "bench" else rng.choice(SIGNALS)
    whole, writing = prepared()[kind]
    from_start, from_sign = rng.uniform(0, whole), max(rng.uniform(0, writing), 1e-9)
    if rng.random() < 0.5:
        from_start = LONGEST
    else:
        from_sign = LONGEST
    process, signs = (
        Command(arguments, is_fresh=rng.random() < 1 / 16),
        partial(SIGNS[kind], folder),
    )
    watch(process, signs, from_start=from_start, from_sign=from_sign)
    in_time = process.code() is None
    if in_time:
        os.kill(process.pid, by)
        watch(process)
    else:
        assert process.code() == 0, "a command that was let alone failed"
    return in_time, by


def adapt_arguments(paths, out):
    """Replace results, by a method that takes little time."""
    return ["adapt", *paths, "--label", "class", "-o", out, "--force", "-q", "--method", "CORAL"]


def bench_arguments(folder, jobs=1):
    """Run a small plan."""
    (folder / "plan.toml").write_text(PLAN)
    return ["bench", "run", folder / "plan.toml", "--store", folder, "--jobs", jobs]


@cache
def tables_and_model():
    """A folder with two tables, and results of theirs."""
    folder = tempfile.TemporaryDirectory()
    paths = write_csv(Path(folder.name), small_tables())
    process = Command(adapt_arguments(paths, Path(folder.name) / "out"))
    watch(process)
    assert process.code() == 0
    return folder, paths, Path(folder.name) / "out"


SIGNS = {
    "adapt": lambda folder: any(each.name.startswith(".") for each in folder.iterdir()),
    "predict": lambda folder: any(each.name != "out" for each in folder.iterdir()),
    "bench": lambda folder: (folder / "plan.jsonl").exists(),
}
"""How it is seen that a command has begun to write."""


@cache
def prepared():
    """How long each command takes, and how long it writes."""
    _, paths, model = tables_and_model()
    with tempfile.TemporaryDirectory() as name:
        folders = {kind: Path(name) / kind for kind in SIGNS}
        for folder in folders.values():
            make(folder / "out", {"notes.txt": "mine"})
        predictions = folders["predict"] / "p.csv"
        arguments = {
            "adapt": adapt_arguments(paths, folders["adapt"] / "out"),
            "predict": ["predict", model, paths[1], "-o", predictions, "-q"],
            "bench": bench_arguments(folders["bench"]),
        }
        return {
            kind: watch(Command(arguments[kind]), partial(SIGNS[kind], folder))
            for kind, folder in folders.items()
        }


def run_folder(seed):
    """Kill a process that replaces a folder, at one of its changes of the file system."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "out"
        make(folder, OLD)
        ended = replace_and_die(folder, rng.randrange(1, 16), rng.choice(["before", "after"]))
        assert held(folder) in (OLD, NEW)
    return "killed" if ended.returncode == -signal.SIGKILL else None


def run_adapt(seed):
    """Kill ``ilspace adapt --force``: the folder holds old results or new ones."""
    rng = random.Random(seed)
    _, paths, _ = tables_and_model()
    with tempfile.TemporaryDirectory() as name:
        folder, out = Path(name), Path(name) / "out"
        old = {"predictions.csv": "old", "report.html": "old", "notes.txt": "mine"}
        make(out, old)
        in_time, by = kill(rng, "adapt", adapt_arguments(paths, out), folder)
        met = held(out)
        if met != old or not in_time:
            assert met.pop("notes.txt") == "mine"
            assert sorted(met) == sorted(json.loads(met["summary.json"])["files"])
            assert met["predictions.csv"].count("\n") == 1 + len(pd.read_csv(paths[1]))
        left = [each.name for each in folder.iterdir() if each != out]
        assert (in_time and by == signal.SIGKILL) or not left, left
    return f"killed, {'old' if met == old else 'new'}" if in_time else None


def run_predict(seed):
    """Kill ``ilspace predict``: its file is whole, or is not there."""
    rng = random.Random(seed)
    _, paths, model = tables_and_model()
    with tempfile.TemporaryDirectory() as name:
        folder, out = Path(name), Path(name) / "p.csv"
        arguments = ["predict", model, paths[1], "-o", out, "-q"]
        in_time, by = kill(rng, "predict", arguments, folder)
        is_there = out.exists()
        assert is_there or in_time
        if is_there:
            assert len(pd.read_csv(out)) == len(pd.read_csv(paths[1]))
        left = [each.name for each in folder.iterdir() if each != out]
        assert (in_time and by == signal.SIGKILL) or not left, left
    return f"killed, {'new' if is_there else 'none'}" if in_time else None


def run_bench(seed):
    """Kill ``ilspace bench run``, and run it again: every cell is there once."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jobs = rng.choice([1, 1, 1, 1, 1, 2])
        arguments = bench_arguments(folder, jobs)
        in_time, _ = kill(rng, "bench", arguments, folder)
        before = cells_in(folder / "plan.jsonl")
        assert len(before) == len(set(before)) <= N_CELLS
        assert in_time or len(before) == N_CELLS
        process = Command(bench_arguments(folder))
        watch(process)
        assert process.code() == 0
        after = cells_in(folder / "plan.jsonl")
        assert len(after) == len(set(after)) == N_CELLS
        assert after[: len(before)] == before  # no result was lost
    has = "all" if len(before) == N_CELLS else "some" if before else "none"
    return f"killed, {has}" if in_time else None


def cells_in(store):
    """Cells of the lines of a store, in their order; a torn line has none."""
    cells = []
    for line in store.read_bytes().split(b"\n")[:-1] if store.exists() else []:
        with suppress(ValueError):
            cells.append(json.loads(line).get("cell"))
    return [json.dumps(each, sort_keys=True) for each in cells if each]
