"""A file is there whole or not at all, whatever happens."""

import errno
import os
import stat
import subprocess
import sys

import pytest

from ilspace import storage
from ilspace.storage import output_folder, whole_file, write_whole


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "results.csv"
    write_whole(path, b"old")
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["results.csv"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize(
    "trouble", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")], ids=repr
)
def test_trouble_leaves_the_old_file(tmp_path, monkeypatch, step, trouble):
    path = tmp_path / "results.csv"
    write_whole(path, b"old")

    def fail(*_):
        assert len(os.listdir(tmp_path)) == 2  # the draft is written beside the file
        raise trouble

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(trouble)) as caught:
        write_whole(path, b"new")
    assert caught.value is trouble
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["results.csv"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_the_content_is_on_the_disk_before_it_replaces(tmp_path, monkeypatch):
    """A real full disk: what is written to the draft goes to a device without space."""
    path = tmp_path / "results.csv"
    write_whole(path, b"old")
    monkeypatch.setattr(
        "builtins.open", lambda *_: os.fdopen(os.open("/dev/full", os.O_WRONLY), "wb")
    )
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"


def test_a_missing_folder_is_named_and_no_draft(tmp_path):
    path = tmp_path / "nowhere" / "results.csv"
    with pytest.raises(FileNotFoundError, match=r"folder .*nowhere must exist .*: make it") as met:
        write_whole(path, b"new")
    assert "results.csv" in str(met.value)
    assert f".{path.name}" not in str(met.value)


def test_a_file_where_the_folder_should_be_is_named_and_no_draft(tmp_path):
    path = tmp_path / "file" / "results.csv"
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError) as met:
        write_whole(path, b"new")
    assert met.value.filename == str(path)


def test_lines_of_text_as_they_come(tmp_path):
    path = tmp_path / "results.csv"
    write_whole(path, b"old")
    with whole_file(path, "w", encoding="utf-8", newline="") as stream:
        stream.write("größer\r\n")
        assert path.read_bytes() == b"old"
        stream.write("kleiner\n")
    assert path.read_bytes() == "größer\r\nkleiner\n".encode()
    assert os.listdir(tmp_path) == ["results.csv"]


def test_what_goes_wrong_among_the_lines_leaves_the_old_file(tmp_path):
    path, trouble = tmp_path / "results.csv", FileNotFoundError(errno.ENOENT, "no", "another file")
    write_whole(path, b"old")
    with pytest.raises(FileNotFoundError) as met, whole_file(path) as stream:  # noqa: PT012
        stream.write(b"new")
        raise trouble
    assert met.value is trouble
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["results.csv"]


def test_a_folder_that_may_not_be_written(tmp_path):
    path = tmp_path / "results.csv"
    write_whole(path, b"old")
    is_root = os.geteuid() == 0  # to whom nothing is forbidden
    tmp_path.chmod(0o555)
    if is_root:
        os.seteuid(65534)
    try:
        with pytest.raises(PermissionError):
            write_whole(path, b"new")
    finally:
        if is_root:
            os.seteuid(0)
        tmp_path.chmod(0o755)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["results.csv"]


def test_others_may_read_what_the_umask_lets_them(tmp_path):
    for mask in (0o022, 0o077):
        path = tmp_path / f"{mask}"
        old = os.umask(mask)
        try:
            write_whole(path, b"")
        finally:
            os.umask(old)
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_a_name_may_be_as_long_as_names_can_be(tmp_path):
    path = tmp_path / ("n" * 255)
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"


def test_two_writers_and_a_reader(tmp_path):
    """Whoever looks sees the whole file of one of two processes, never a mixture."""
    path = tmp_path / "shared"
    size = 300_000
    write_whole(path, b"a" * size)
    # the module by itself: it imports nothing of the package, which takes seconds
    script = f"""
import runpy, sys
from pathlib import Path
write_whole = runpy.run_path({storage.__file__!r})["write_whole"]
for _ in range(100):
    write_whole(Path(sys.argv[1]), sys.argv[2].encode() * int(sys.argv[3]))
"""
    writers = [
        subprocess.Popen([sys.executable, "-c", script, str(path), letter, str(size)])
        for letter in "ab"
    ]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        content = path.read_bytes()
        assert len(content) == size
        seen.add(content[:1])
        assert content == content[:1] * size
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen <= {b"a", b"b"}
    assert os.listdir(tmp_path) == ["shared"]


def test_a_new_folder_without_files_is_taken_away(tmp_path):
    old = tmp_path / "old"
    old.mkdir()
    for folder in (old, tmp_path / "new"):
        with pytest.raises(KeyboardInterrupt), output_folder(folder):
            raise KeyboardInterrupt
    assert os.listdir(tmp_path) == ["old"]
