"""What ``ilspace adapt`` spends on a small table besides fitting and reading; a script.

``python perf/start.py`` runs it seven times on 300 + 300 rows, and prints the least processor time
of the whole process, of its imports, and of what is neither fitting nor reading, in seconds. Names
of folders, such as ``BEFORE/src src``, are versions to run in turns.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

N_ROWS, N_COLUMNS, N_ROUNDS = 300, 8, 7

SCRIPT = """
import json, sys, time
from importlib import import_module
from ilspace.cli import main

spent = {"imports": 0.0, "fitting": 0.0, "reading": 0.0}

def timed(home, name, part):
    function = getattr(home, name)
    def called(*arguments, **options):
        began = time.process_time()
        try:
            return function(*arguments, **options)
        finally:
            spent[part] += time.process_time() - began
    setattr(home, name, called)

class Watch:  # told of each module when it is looked for: the last of the command's own is ready
    def find_spec(self, name, *_):
        if name == "ilspace.tables.outputs":
            sys.meta_path.remove(self)
            job = import_module("ilspace.tables.job")
            timed(job, "read_inputs", "reading")
            timed(import_module("ilspace.tables").TableClassifier, "fit_pair", "fitting")
        return None

sys.meta_path.insert(0, Watch())
sys.argv = ["ilspace", *sys.argv[2:]]
out = OUT
try:
    main()
finally:
    with open(out, "w") as stream:
        json.dump(spent, stream)
"""


def write_tables(folder: Path) -> None:
    """Three classes, and a target that is shifted."""
    rng = np.random.default_rng(0)
    y = np.arange(N_ROWS) % 3
    means = 2 * rng.normal(size=(3, N_COLUMNS))
    names = ",".join(f"x{i}" for i in range(N_COLUMNS))
    for name, shift in (("source", 0.0), ("target", 0.7)):
        rows = rng.normal(size=(N_ROWS, N_COLUMNS)) + means[y] + shift
        lines = [",".join(map(repr, row.tolist())) for row in rows]
        if name == "source":
            lines = [f"{line},{'abc'[code]}" for line, code in zip(lines, y, strict=True)]
        head = f"{names},class" if name == "source" else names
        (folder / f"{name}.csv").write_text("\n".join([head, *lines]) + "\n")


def spent_by(command: list[str], folder: Path, source: str | None) -> float:
    """Processor time of a process and its children."""
    env = os.environ | {"OMP_NUM_THREADS": "1"} | ({"PYTHONPATH": source} if source else {})
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    versions = [str(Path(each).resolve()) for each in sys.argv[1:]] or [None]
    imports = "import ilspace.tables.job, ilspace.tables.outputs"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder)
        found: dict[str | None, list[dict[str, float]]] = {each: [] for each in versions}
        for number in range(N_ROUNDS):
            for place, version in enumerate(versions):
                words = ["adapt", "source.csv", "target.csv", "--label", "class", "-q"]
                words += ["-o", f"out-{number}-{place}"]
                script = SCRIPT.replace("OUT", repr(str(folder / "parts.json")))
                whole = spent_by([sys.executable, "-c", script, "", *words], folder, version)
                parts = json.loads((folder / "parts.json").read_text())
                parts["whole"] = whole
                parts["imports"] = spent_by([sys.executable, "-c", imports], folder, version)
                parts["besides"] = whole - parts["fitting"] - parts["reading"]
                found[version].append(parts)
    for version, runs in found.items():
        least = {part: round(min(run[part] for run in runs), 3) for part in runs[0]}
        print(json.dumps({"version": version, **least}))


if __name__ == "__main__":
    main()
