"""Folders that appear whole, whatever happens to the process that writes them."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from ilspace import storage
from ilspace.storage import whole_file, whole_folder

OLD = {"a": "old", "b": "old", "notes.txt": "mine", "sub/deep": "mine"}
NEW = OLD | {"a": "new", "b": "new", "c": "new"}

# Dies before, or after, the k-th change of the file system; counts them if k is 0.
SCRIPT = """
import os, shutil, signal, sys
from pathlib import Path
from ilspace import storage
folder, number, after = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "after"
count = 0

def dying(change):
    def changed(*arguments, **options):
        global count
        count += 1
        if count == number and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            return change(*arguments, **options)
        finally:
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)
    return changed

for name in ("rename", "replace", "link", "mkdir", "rmdir", "unlink"):
    setattr(os, name, dying(getattr(os, name)))
storage.exchange = dying(storage.exchange)
with storage.whole_folder(folder, replace=True) as draft:
    for name in "abc":
        (draft / name).write_text("new")
print(count)
"""


def make(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def held(folder):
    return {
        str(each.relative_to(folder)): each.read_text(errors="replace")
        for each in folder.rglob("*")
        if each.is_file()
    }


def run(folder, number, when):
    script = f"import sys; sys.path[:] = {sys.path!r}\n{SCRIPT}"
    command = [sys.executable, "-c", script, str(folder), str(number), when]
    return subprocess.run(command, capture_output=True, text=True)


def can_exchange(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    done = storage.exchange(tmp_path / "one", tmp_path / "other")
    for name in ("one", "other"):
        (tmp_path / name).rmdir()
    return done


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_any_change_it_is_old_or_new(tmp_path, when):
    if not can_exchange(tmp_path):
        pytest.skip("this file system cannot exchange two folders")
    make(tmp_path / "count", OLD)
    total = int(run(tmp_path / "count", 0, when).stdout)
    assert held(tmp_path / "count") == NEW
    assert total >= 8
    met = []
    for number in range(1, total + 1):
        folder = tmp_path / str(number)
        make(folder, OLD)
        assert run(folder, number, when).returncode == -signal.SIGKILL
        met.append(held(folder))
        assert met[-1] in (OLD, NEW), number
        for each in tmp_path.glob(".*"):
            os.utime(each, (0, 0))
        with whole_folder(folder, replace=True):  # the next one finds it, and takes drafts away
            pass
        assert held(folder) == met[-1]
    assert OLD in met
    assert NEW in met
    assert sorted(each.name for each in tmp_path.glob(".*")) == []


def test_the_second_of_two_is_refused(tmp_path):
    folder = tmp_path / "out"
    with whole_folder(folder) as first:
        (first / "a").write_text("first")
        with whole_folder(tmp_path / "other"):
            pass
        second = whole_folder(folder)
        draft = second.__enter__()
        (draft / "a").write_text("second")
    with pytest.raises(FileExistsError):
        second.__exit__(None, None, None)
    assert held(tmp_path) == {"out/a": "first"}
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other", "out"]


def test_an_empty_folder_is_used_and_keeps_its_permissions(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir(mode=0o750)
    with whole_folder(folder) as draft:
        (draft / "a").write_text("new")
    assert held(folder) == {"a": "new"}
    assert folder.stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize("files", [{}, OLD])
def test_the_working_directory_stays_itself(tmp_path, monkeypatch, files):
    make(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    before = tmp_path.stat().st_ino
    with whole_folder(tmp_path, replace=bool(files)) as draft:
        for name in "abc":
            (draft / name).write_text("new")
    assert tmp_path.stat().st_ino == before
    assert held(tmp_path) == (NEW if files else dict.fromkeys("abc", "new"))


def test_a_link_without_its_folder_leads_to_one(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there")
    with whole_folder(link) as draft:
        (draft / "a").write_text("new")
    assert link.is_symlink()
    assert held(tmp_path / "there") == {"a": "new"}


def test_a_link_without_its_file_leads_to_one(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there")
    with whole_file(link, "w") as stream:
        stream.write("new")
    assert link.is_symlink()
    assert (tmp_path / "there").read_text() == "new"


def killed(code, tmp_path):
    """Run lines that kill their process, then let a minute pass for what it left."""
    script = f"import sys; sys.path[:] = {sys.path!r}\n" + textwrap.dedent(code)
    command = [sys.executable, "-c", script, str(tmp_path)]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    left = list(tmp_path.glob(".*"))
    for each in left:
        os.utime(each, (0, 0))
    return left


def test_what_a_killed_process_left_is_collected_and_no_more(tmp_path):
    begin = """
        import os, signal
        from pathlib import Path
        from ilspace.storage import whole_file, whole_folder
        path = Path(sys.argv[1]) / "out"
        with {}(path) as draft:
            os.kill(os.getpid(), signal.SIGKILL)
    """
    mine = tmp_path / ".out-notes"
    mine.write_text("mine")
    for kind in ("whole_file", "whole_folder"):
        left = killed(begin.format(kind), tmp_path)
        assert len(left) == 2
        with whole_file(tmp_path / "other"):  # of another place: stays
            pass
        with whole_file(tmp_path / "out") as stream:
            assert sorted(tmp_path.glob(".*")) == sorted([mine, tmp_path / stream.name])
        (tmp_path / "out").unlink()
    assert mine.read_text() == "mine"


def test_drafts_of_the_living_and_the_young_stay(tmp_path):
    with whole_file(tmp_path / "out", "w") as first:
        os.utime(first.fileno(), (0, 0))
        with whole_file(tmp_path / "out", "w") as second:
            second.write("second")
        first.write("first")
    assert (tmp_path / "out").read_text() == "first"
    young = tmp_path / f".out-{'0' * 16}"
    young.write_text("")
    storage.collect_drafts(tmp_path / "out")
    assert young.exists()
    past = time.time() - 61
    os.utime(young, (past, past))
    storage.collect_drafts(tmp_path / "out")
    assert not young.exists()


def test_what_came_meanwhile_stays(tmp_path, monkeypatch):
    make(tmp_path / "out", OLD)
    change = storage.exchange

    def late(one, other):
        (other / "late.txt").write_text("mine")
        return change(one, other)

    monkeypatch.setattr(storage, "exchange", late)
    with whole_folder(tmp_path / "out", replace=True) as draft:
        (draft / "a").write_text("new")
    assert (tmp_path / "out" / "late.txt").read_text() == "mine"
    assert (tmp_path / "out" / "a").read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_a_folder_with_a_mount_inside_is_not_exchanged(tmp_path, monkeypatch):
    make(tmp_path / "out", OLD)
    point = str(tmp_path / "out" / "sub").replace("-", r"\055")
    line = f"36 35 98:0 / {point} rw - ext3 /dev/x rw\n"
    real = storage.Path.read_bytes
    monkeypatch.setattr(
        storage.Path,
        "read_bytes",
        lambda self: line.encode() if str(self) == "/proc/self/mountinfo" else real(self),
    )
    monkeypatch.setattr(storage, "exchange", lambda *_: pytest.fail("it was exchanged"))
    with whole_folder(tmp_path / "out", replace=True) as draft:
        (draft / "a").write_text("new")
    assert (tmp_path / "out" / "a").read_text() == "new"
    assert (tmp_path / "out" / "sub" / "deep").read_text() == "mine"


def test_files_that_cannot_be_put_back_are_kept(tmp_path, monkeypatch):
    make(tmp_path / "out", {"a": "old", "b": "old"})
    monkeypatch.setattr(storage, "exchange", lambda *_: False)
    real, calls = os.replace, []

    def failing(*names):
        calls.append(names)
        if len(calls) in (4, 5):  # the last file to come, and the first to go back
            raise OSError(5, "input/output error")
        return real(*names)

    monkeypatch.setattr(os, "replace", failing)

    def write():
        with whole_folder(tmp_path / "out", replace=True) as draft:
            make(draft, {"a": "new", "b": "new"})

    with pytest.raises(OSError, match="input/output"):
        write()
    places = [tmp_path / "out", *tmp_path.glob(".out-*/replaced")]
    kept = {each.name: each.read_text() for place in places for each in place.iterdir()}
    assert kept == {"a": "old", "b": "old"}
