"""``ilspace adapt --force``, killed at every change of the file system that it makes."""

import json
import subprocess
import sys

import pytest
from storage.test_whole_folders import can_exchange, held, make
from tables.small_tables import small_tables, write_csv

OLD = {"predictions.csv": "old", "report.html": "old", "notes.txt": "mine"}

# Labels the table once; then, twice, a copy of the process for each change, which runs the command
# with what was found and dies before that change, or after it. Prints how each ended.
SCRIPT = """
import json, os, shutil, signal
from pathlib import Path
from ilspace.cli import main
from ilspace import storage
from ilspace.tables import job
home, source, target = sys.argv[1:]
options = ["--label", "class", "--force", "-q"]
found = job.adapt([source], target, "class")
job.adapt = lambda *_, **__: found
count, fatal, made, when = 0, 0, [], ""  # fatal: of the copies alone

def dying(name, change):
    def changed(*arguments, **others):
        global count
        count += 1
        made.append(name)
        if count == fatal and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            return change(*arguments, **others)
        finally:
            if count == fatal:
                os.kill(os.getpid(), signal.SIGKILL)
    return changed

for name in ("rename", "replace", "link", "mkdir", "rmdir", "unlink"):
    setattr(os, name, dying(name, getattr(os, name)))
storage.exchange = dying("exchange", storage.exchange)
sys.stdout.flush()
told = {}
for when in ("before", "after"):
    number, ended = 0, []
    while True:
        number += 1
        out = f"{home}/{when}/{number}/out"
        shutil.copytree(Path(home) / "old", out)
        made.clear()
        read, write = os.pipe()
        if not (process := os.fork()):
            count, fatal = 0, number
            sys.argv = ["ilspace", "adapt", source, target, *options, "-o", out]
            try:
                main()
            except SystemExit as end:
                os.write(write, json.dumps([end.code or 0, made]).encode())
            os._exit(0)
        os.close(write)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        with os.fdopen(read) as stream:
            said = stream.read()
        ended.append(code)
        if code != -signal.SIGKILL:
            break
    told[when] = {"ended": ended, "said": json.loads(said)}
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def killed_copies(tmp_path_factory):
    """Folder of what was left, and how the copies of the process ended."""
    home = tmp_path_factory.mktemp("killed")
    if not can_exchange(home):
        pytest.skip("this file system cannot exchange two folders")
    paths = write_csv(home, small_tables())
    make(home / "old", OLD)
    script = f"import sys; sys.path[:] = {sys.path!r}\n{SCRIPT}"
    command = [sys.executable, "-c", script, str(home), *paths]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return home, json.loads(done.stdout)


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not copied there")
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_any_change_it_is_old_or_new(killed_copies, when):
    home, told = killed_copies[0] / when, killed_copies[1][when]
    *killed, last = told["ended"]
    code, made = told["said"]
    assert (last, code) == (0, 0)  # the last one met no kill: there are no more changes
    assert len(made) == len(killed)
    assert {"mkdir", "replace", "rename", "link", "exchange", "unlink"} <= set(made), made
    met = [held(home / str(number) / "out") for number in range(1, len(killed) + 2)]
    for each in met:
        if each != OLD:
            assert each["notes.txt"] == "mine"
            files = json.loads(each["summary.json"])["files"]
            assert sorted(each) == sorted([*files, "notes.txt"])
            assert each["predictions.csv"].count("\n") == 25
            assert each["report.html"].rstrip().endswith("</html>")
    assert met[0] == OLD
    assert met[-1] != OLD
    assert sum(each != OLD for each in met) > 1  # killed, and new
