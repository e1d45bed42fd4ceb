"""Commands that are killed: what they leave is old or new, and whole."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import pandas as pd
from storage.test_whole_folders import NEW, OLD, held, make
from storage.test_whole_folders import run as replace_and_die
from tables.small_tables import small_tables, write_csv

MAIN = "import sys; sys.argv[0] = 'ilspace'; from ilspace.cli import main; main()"
PLAN = """
kind = "field"
trials = 1
settings = ["none"]
groups = { tables = ["penguins/adelie-gentoo", "penguins/gentoo-adelie"] }
[[method]]
name = "linear"
estimator = "TableClassifier"
parameters = { method = "linear" }
[[method]]
name = "linear-own"
estimator = "TableClassifier"
parameters = { method = "linear-own" }
"""


def command(*arguments):
    """A command line in a process of its own."""
    script = f"import sys; sys.path[:] = {sys.path!r}\n{MAIN}"
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@cache
def prepared():
    """A folder with tables and a model, and how long each command takes."""
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name)
    paths = write_csv(path, small_tables())
    seconds = {}
    for name, arguments in (
        ("adapt", ["adapt", *paths, "--label", "class", "-o", path / "out", "-q"]),
        ("predict", ["predict", path / "out", paths[1], "-o", path / "p.csv", "-q"]),
    ):
        began = time.monotonic()
        assert command(*arguments).wait() == 0
        seconds[name] = time.monotonic() - began
    return folder, paths, seconds


def killed_after(process, seconds, by):
    """End a process after some time, if it has not ended."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, by)
        process.wait()


def run(seed):
    """Kill something at a random moment."""
    rng = random.Random(seed)
    by = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    kind = rng.choice(["folder", "adapt", "predict", "bench"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if kind == "folder":
            make(folder / "out", OLD)
            replace_and_die(folder / "out", rng.randrange(1, 16), rng.choice(["before", "after"]))
            assert held(folder / "out") in (OLD, NEW)
            return kind
        if kind == "bench":
            (folder / "plan.toml").write_text(PLAN)
            arguments = ["bench", "run", folder / "plan.toml", "--store", folder, "--jobs", "2"]
            killed_after(command(*arguments), rng.uniform(2, 8), signal.SIGKILL)
            store = folder / "plan.jsonl"
            lines = store.read_bytes().split(b"\n")[:-1] if store.exists() else []
            cells = [json.loads(each).get("cell") for each in lines]
            keys = [json.dumps(each, sort_keys=True) for each in cells if each]
            assert len(keys) == len(set(keys)) <= 4
            return kind
        _, paths, seconds = prepared()
        home = Path(paths[0]).parent
        moment = rng.uniform(0, 1.1 * seconds[kind])
        if kind == "adapt":
            out = folder / "out"
            old = {"predictions.csv": "old", "report.html": "old", "notes.txt": "mine"}
            make(out, old)
            arguments = ["adapt", *paths, "--label", "class", "-o", out, "--force", "-q"]
            killed_after(command(*arguments, "--method", "linear"), moment, by)
            met = held(out)
            if met != old:
                assert met.pop("notes.txt") == "mine"
                assert sorted(met) == sorted(json.loads(met["summary.json"])["files"])
                assert met["predictions.csv"].endswith("\n")
            left = [each.name for each in folder.iterdir() if each != out]
            assert by == signal.SIGKILL or not left, left
        else:
            out = folder / "p.csv"
            arguments = ["predict", home / "out", paths[1], "-o", out, "-q"]
            killed_after(command(*arguments), moment, by)
            if out.exists():
                assert len(pd.read_csv(out)) == len(pd.read_csv(paths[1]))
            left = [each.name for each in folder.iterdir() if each != out]
            assert by == signal.SIGKILL or not left, left
    return kind
