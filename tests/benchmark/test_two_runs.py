"""Two runs on one store share its cells, and workers end with the run that started them."""

import importlib
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from ilspace.benchmark import runner
from ilspace.benchmark.claims import claims
from ilspace.benchmark.store import Store
from ilspace.benchmark.tasks import cell_key


@dataclass(frozen=True)
class SlowCell:
    """A cell that notes who runs it, and takes its time."""

    number: int
    folder: str
    seconds: float = 0.0
    digest: str = "0"

    def as_dict(self):
        return {"number": self.number, "method": "slow", "digest": self.digest}

    @property
    def key(self):
        return cell_key(self.as_dict())

    @property
    def shared_needs(self):
        return ("", "")

    def describe(self):
        return {}

    def check(self):
        pass

    def run(self):
        name = Path(self.folder) / f"{self.number}-{os.getpid()}-{time.monotonic_ns()}"
        name.touch()
        time.sleep(self.seconds)
        return {"cell": self.as_dict(), "accuracy": 1.0}


def cells_in(folder, n=6, seconds=0.0):
    folder.mkdir(exist_ok=True)
    return [SlowCell(i, str(folder), seconds) for i in range(n)]


SCRIPT = """
import sys
sys.path[:] = {path!r}
from pathlib import Path
from benchmark.test_two_runs import cells_in
from ilspace.benchmark.runner import run_cells
from ilspace.benchmark.store import Store
folder, jobs, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
print(run_cells(cells_in(folder / "ran", 6, seconds), Store(folder / "store.jsonl"), jobs=jobs))
"""


def start(folder, *, jobs, seconds):
    script = SCRIPT.format(path=[str(Path(__file__).parents[1]), *sys.path])
    command = [sys.executable, "-c", script, str(folder), str(jobs), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def wait_for(condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("it did not come about in half a minute")


def test_two_runs_share_the_cells(tmp_path):
    runs = [start(tmp_path, jobs=1, seconds=0.1) for _ in range(2)]
    counts = [int(each.communicate()[0]) for each in runs]
    ran = sorted(each.name.partition("-")[0] for each in (tmp_path / "ran").iterdir())
    assert ran == [str(i) for i in range(6)]
    assert sum(counts) == 6
    assert len(Store(tmp_path / "store.jsonl").finished()) == 6


def test_what_another_run_has_is_left_to_it(tmp_path):
    cells, store = cells_in(tmp_path / "ran"), Store(tmp_path / "store.jsonl")
    run = start(tmp_path, jobs=1, seconds=60)  # holds the first cell
    wait_for(lambda: any((tmp_path / "ran").iterdir()))
    n_run = runner.run_cells(cells, store, jobs=1)
    assert 1 <= n_run < 6  # it holds what it will run next too
    run.kill()
    run.communicate()
    assert runner.run_cells(cells, store, jobs=1) == 6 - n_run  # a kill drops its claims
    assert len(store.finished()) == 6


def test_a_cell_that_was_finished_in_the_meantime_is_not_run(tmp_path, monkeypatch):
    cells, store = cells_in(tmp_path / "ran", 3), Store(tmp_path / "store.jsonl")
    other = Store(store.path)
    monkeypatch.setattr(store, "finished", set)  # it looked before the other began
    for cell in cells[:2]:
        other.append({"cell": cell.as_dict(), "accuracy": 1.0})
    assert runner.run_cells(cells, store, jobs=1) == 1


def test_without_locks_every_cell_is_taken(tmp_path, monkeypatch):
    module = importlib.import_module("ilspace.benchmark.claims")

    def without(*_):
        raise OSError(38, "not implemented")

    monkeypatch.setattr(module.fcntl, "lockf", without)
    with claims(tmp_path / "store.jsonl") as own:
        assert own.take("a")
        own.release("a")


def test_claims_are_of_a_process(tmp_path):
    with claims(tmp_path / "store.jsonl") as own:
        assert own.take("a")
        assert own.take("a")
        own.release("a")


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.slow
def test_workers_end_with_a_killed_run(tmp_path):
    run = start(tmp_path, jobs=2, seconds=600)
    wait_for(lambda: len(list((tmp_path / "ran").glob("*"))) >= 2)
    workers = {int(each.name.split("-")[1]) for each in (tmp_path / "ran").iterdir()}
    assert run.pid not in workers
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    wait_for(lambda: not any(map(alive, workers)))


def workers_of(pid):
    """Processes that joblib has started, as Linux tells them."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((each / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and b"LokyProcess" in (each / "cmdline").read_bytes():
                found.append(int(each.name))
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are not told there")
def test_workers_end_though_no_cell_has_begun(tmp_path):
    run = start(tmp_path, jobs=2, seconds=0)
    wait_for(lambda: len(workers_of(run.pid)) == 2)
    workers = workers_of(run.pid)
    os.kill(run.pid, signal.SIGKILL)
    wait_for(lambda: not any(map(alive, workers)))
    run.communicate()
