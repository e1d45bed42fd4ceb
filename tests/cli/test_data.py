"""``ilspace data``: files are found, fetched whole, or missed in one sentence."""

import contextlib
import functools
import gc
import hashlib
import http.server
import io
import os
import subprocess
import sys
import threading
import warnings
from types import MappingProxyType

import pytest
from typer.testing import CliRunner

from ilspace.cli.app import app
from ilspace.datasets import catalogue
from ilspace.datasets._files import PUBLIC_COPIES

CONTENT = {"one.mat": b"1" * 5000, "two.mat": b"2" * 70_000}


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """A data set of two small files, an empty cache, and a server that has the files."""
    files = {f"toys/{name}": hashlib.sha256(text).hexdigest() for name, text in CONTENT.items()}
    toys = catalogue.DataSet("toys", "two files", MappingProxyType(files))
    monkeypatch.setattr(catalogue, "DATA_SETS", MappingProxyType({"toys": toys}))
    monkeypatch.delenv("ILSPACE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    served = tmp_path / "served"
    served.mkdir()
    for name, text in CONTENT.items():
        (served / name).write_bytes(text)
    asked = []

    with serve(served, asked) as address:
        yield address, served, tmp_path / "cache" / "ilspace", asked


@contextlib.contextmanager
def serve(folder, asked):
    """A server of the files in a folder; a name that begins with `cut` ends in mid-file."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format, *arguments):
            asked.append(arguments[0])

        def copyfile(self, source, outputfile):
            if self.path.startswith("/cut"):
                source = io.BytesIO(source.read(1000))  # fewer than Content-Length has promised
            super().copyfile(source, outputfile)

    handler = functools.partial(Handler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = False  # closing then waits for them, and they for their sockets
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join(5)
    server.server_close()
    with warnings.catch_warnings():  # the client leaves the answer to a failed request open
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def run(*options):
    return CliRunner().invoke(app, ["data", *options])


def test_fetch_brings_what_is_missing_once(shelf):
    address, _, cache, asked = shelf
    result = run("fetch", "toys", "--mirror", address)
    assert result.exit_code == 0, result.output
    paths = [cache / "toys" / name for name in CONTENT]
    assert result.stdout.split() == [str(path) for path in paths]
    assert [path.read_bytes() for path in paths] == list(CONTENT.values())
    assert run("where", "toys").stdout == result.stdout
    n_asked = len(asked)
    assert run("fetch", "toys", "--from", address).exit_code == 0
    assert len(asked) == n_asked


def test_a_changed_copy_is_not_kept(shelf):
    address, served, cache, _ = shelf
    (served / "two.mat").write_bytes(b"something else")
    result = run("fetch", "toys", "--from", address)
    assert result.exit_code == 2
    assert "the copy has changed; it was not kept" in result.stderr
    assert sorted(path.name for path in cache.rglob("*.mat")) == ["one.mat"]
    assert [path for path in cache.rglob("*") if path.is_file()] == [cache / "toys" / "one.mat"]


def fails_and_leaves_nothing(tmp_path, address):
    result = run("fetch", "toys", "--mirror", address)
    assert (result.exit_code, result.stdout) == (2, "")
    assert not (tmp_path / "cache").exists()
    (said,) = result.stderr.splitlines()
    return said


def test_a_changed_first_file_leaves_nothing(shelf, tmp_path):
    address, served, _, _ = shelf
    (served / "one.mat").write_bytes(b"something else")
    assert "the copy has changed" in fails_and_leaves_nothing(tmp_path, address)


def test_a_missing_file_leaves_nothing(shelf, tmp_path):
    address, served, _, _ = shelf
    (served / "one.mat").unlink()
    said = fails_and_leaves_nothing(tmp_path, address)
    assert "one.mat cannot be read: 404" in said


def test_a_broken_connection_leaves_nothing(shelf, tmp_path):
    address, served, _, asked = shelf
    cut = served / "cut"
    cut.mkdir()
    (served / "one.mat").rename(cut / "one.mat")
    said = fails_and_leaves_nothing(tmp_path, f"{address}/cut")
    assert "one.mat cannot be read" in said
    assert asked == ["GET /cut/one.mat HTTP/1.1"]


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "127.0.0.1/data", "ftp://127.0.0.1"])
def test_no_server_leaves_nothing(tmp_path, address):
    assert "cannot be read" in fails_and_leaves_nothing(tmp_path, address)


def test_folders_that_were_there_stay(shelf, tmp_path):
    _, _, cache, _ = shelf
    cache.mkdir(parents=True)
    result = run("fetch", "toys", "--mirror", "http://127.0.0.1:9")
    assert result.exit_code == 2
    assert list((tmp_path / "cache").rglob("*")) == [cache]


def test_an_unwritable_cache_is_not_blamed_on_the_address(shelf, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    result = run("fetch", "toys", "--mirror", shelf[0])
    assert result.exit_code == 1
    assert "cannot read or write a file" in result.stderr


def test_the_command_fetches_a_real_data_set(tmp_path, ilspace_data):
    """A process of its own, an empty cache, and a mirror of the true files."""
    wanted = catalogue.find_data_set("tables-penguins")
    environment = {key: value for key, value in os.environ.items() if key != "ILSPACE_DATA"}
    environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    command = [sys.executable, "-m", "ilspace.cli", "data", "fetch", wanted.name, "--mirror"]
    with serve(ilspace_data, []) as address:
        ended = subprocess.run(
            [*command, f"{address}/{wanted.folder}/"],
            env=environment,
            capture_output=True,
            text=True,
        )
    assert ended.returncode == 0, ended.stderr
    copies = [tmp_path / "cache" / "ilspace" / path for path in wanted.files]
    assert ended.stdout.splitlines() == [str(path) for path in copies]
    for copy, path in zip(copies, wanted.files, strict=True):
        assert copy.read_bytes() == (ilspace_data / path).read_bytes()


@pytest.mark.usefixtures("shelf")
def test_what_has_no_public_copy_says_so():
    result = run("fetch", "toys")
    assert result.exit_code == 2
    assert "has no public copy: put its files into $ILSPACE_DATA/toys" in result.stderr
    assert run("where", "nothing").exit_code == 2
    missing = run("where", "toys")
    assert missing.exit_code == 2
    assert "set ILSPACE_DATA" in missing.stderr


@pytest.mark.usefixtures("ilspace_data")
def test_list_and_public_addresses():
    result = run("list")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) == 11
    assert all(" here " in line for line in lines)
    copy = PUBLIC_COPIES["office_caltech_surf"]
    assert copy.address.endswith(f"{copy.commit}/ToRelease_GFK/data")
