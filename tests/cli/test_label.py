"""``ilspace label`` as a user meets it: folders, files, refusals, the end of a sitting."""

import builtins
import http.client
import json
import re
import shutil
import signal
import subprocess
import sys
from urllib.parse import urlsplit

import pandas as pd
import pytest
from labelling.served import SINGLE, Served
from tables.small_tables import small_tables, write_csv
from typer.testing import CliRunner

from ilspace.cli.app import app
from ilspace.labelling.answers import Event, Kind
from ilspace.labelling.job import open_job
from ilspace.tables import TableError
from ilspace.tables.reading import sha256_of

TABLES = small_tables()


def run(*arguments, stdin=None):
    return CliRunner().invoke(app, ["label", *map(str, arguments)], input=stdin)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("label")
    paths = write_csv(folder, TABLES)
    command = ["adapt", *paths, "--label", "class", "--id", "sample", "-o", str(folder / "out")]
    assert CliRunner().invoke(app, [*command, "-q"]).exit_code == 0
    return folder


@pytest.fixture
def folder(original, tmp_path):
    """Results and tables, of which the former say that the latter are elsewhere."""
    for each in ("source.csv", "target.csv"):
        shutil.copy(original / each, tmp_path)
    shutil.copytree(original / "out", tmp_path / "out")
    text = (tmp_path / "out" / "summary.json").read_text(encoding="utf-8")
    text = text.replace(str(original), str(tmp_path))
    (tmp_path / "out" / "summary.json").write_text(text, encoding="utf-8")
    return tmp_path


def refused(*arguments, said, stdin=None):
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert re.search(said, result.stderr), result.stderr


# -- which tables ---------------------------------------------------------------------------------


def test_results_know_their_tables_by_their_digests(folder):
    summary = json.loads((folder / "out" / "summary.json").read_text(encoding="utf-8"))
    files = summary["inputs"]["files"]
    for name in ("source", "target"):
        path = folder / f"{name}.csv"
        assert files[name] == {"path": str(path), "sha256": sha256_of(path)}
    job = open_job([folder / "out"])
    assert job.answer is not None
    assert job.answer.method == "committee"
    assert job.ids == ("sample",)
    assert job.labels_path == folder / "out" / "labels.jsonl"
    pd.testing.assert_frame_equal(job.target, TABLES.target, check_dtype=False)


def test_tables_that_moved_along_are_found_and_changed_ones_are_not_taken(folder, tmp_path):
    moved = tmp_path / "moved"
    moved.mkdir()
    for each in ("source.csv", "target.csv", "out"):
        shutil.move(folder / each, moved / each)
    assert open_job([moved / "out"]).paths[1] == moved / "target.csv"
    with (moved / "target.csv").open("a") as stream:
        stream.write("red,x,1,1,1,1\n")
    refused(moved / "out", said="The target .*target.csv must be as it was .*but has changed")
    (moved / "target.csv").unlink()
    refused(moved / "out", said="The target .* must be there, .* but is not: put it back")


def test_folders_of_parquet_files_have_a_digest_too(tmp_path):
    table = tmp_path / "t"
    table.mkdir()
    TABLES.target.to_parquet(table / "a.parquet")
    before = sha256_of(table)
    assert before == sha256_of(table)
    TABLES.target[:5].to_parquet(table / "b.parquet")
    assert sha256_of(table) != before
    assert sha256_of("-") is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "must be a folder of results of ilspace adapt, but has no summary.json"),
        ("{", "must say which tables the results came from"),
        ('{"inputs": {"label": "class"}}', "must say which tables the results came from"),
        ("[]", "must say which tables"),
    ],
)
def test_folders_that_are_no_results(tmp_path, content, said):
    if content is not None:
        (tmp_path / "summary.json").write_text(content)
    refused(tmp_path, said=said)


def test_a_table_from_the_standard_input_is_asked_for(folder):
    file = folder / "out" / "summary.json"
    summary = json.loads(file.read_text(encoding="utf-8"))
    summary["inputs"]["files"]["source"]["sha256"] = None
    file.write_text(json.dumps(summary), encoding="utf-8")
    refused(folder / "out", said="name two files, ilspace label SOURCE TARGET --label class")


def test_requests_that_make_no_sense(folder):
    source, target, out = folder / "source.csv", folder / "target.csv", folder / "out"
    refused(source, target, said="--label must name the column of labels")
    refused(source, target, "--label", "klass", said="must have the column 'klass'")
    refused(source, target, target, "--label", "class", said="but 3 is")
    refused(out, "--label", "class", said="leave --label, --id")
    refused(out, "--strategy", "guess", said="must be one of auto, facility-location")
    refused(out, "--batch", "3", said="--batch and --output belong together")
    refused(out, "--terminal", "--batch", "3", "-o", "x", said="--terminal and --batch")
    refused("-", target, "--label", "class", said="standard input")
    refused(out, "--batch", "3", "-o", folder, said="is a folder")
    refused(out, "--batch", "3", "-o", target, said="must not be a table itself")
    refused(out, "--batch", "3", "-o", folder / "no" / "x", said="must exist")
    refused(out, "--import", folder / "nothing.csv", said="must be a file")


def test_two_files_have_their_labels_beside_the_target(folder):
    paths = folder / "source.csv", folder / "target.csv"
    job = open_job(paths, label="class")
    assert job.labels_path == folder / "target.csv.labels.jsonl"
    assert run(*paths, "--label", "class", "--batch", 2, "-o", folder / "two.csv").exit_code == 0
    table = pd.read_csv(folder / "two.csv", dtype={"sample": str})
    table.assign(**{"class": "bee"}).to_csv(folder / "labels.csv", index=False)
    result = run(*paths, "--label", "class", "--import", folder / "labels.csv")
    assert result.stderr == (
        f"2 new labels in {job.labels_path}.\n"
        f"To use them: ilspace adapt with --labels {job.labels_path}.\n"
    )
    with pytest.raises(TableError, match="given to --id too"):
        open_job(
            [folder / "source.csv", folder / "target.csv"],
            label="class",
            options={"ids": ["class"]},
        )


# -- files, terminal ------------------------------------------------------------------------------


def test_batch_import_export(folder, monkeypatch):
    out = folder / "out"
    result = run(out, "--batch", "4", "-o", folder / "to_label.csv")
    assert result.exit_code == 0, result.output
    assert "4 rows in" in result.stderr
    then = f"ilspace label {out} --import {folder / 'to_label.csv'}"
    assert result.stderr.endswith(f"then: {then}\n")
    assert result.stdout == ""
    table = pd.read_csv(folder / "to_label.csv", dtype={"sample": str})
    table["class"] = TABLES.truth[table["row"] - 1]
    table.to_csv(folder / "labels.csv", index=False)
    monkeypatch.chdir(out)
    result = run("--import", folder / "labels.csv")  # the folder of results is this one
    assert result.exit_code == 0, result.output
    first, second, accuracy, *_, last = result.stderr.splitlines()
    assert first == "4 new labels in labels.jsonl."
    assert second == "The results in . know all labels now."
    written = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert written["n_target_labels"] == 4
    expected = f"{written['expected_accuracy']:.0%}"
    assert accuracy.startswith(f"Expected accuracy on the target: {expected}. ")
    assert last.endswith("ilspace label .")
    said = pd.read_csv(out / "predictions.csv", dtype=str)
    given = said.iloc[table["row"] - 1]
    assert given["label"].tolist() == table["class"].tolist()
    assert set(given["given"]) == {"True"}
    assert (said["given"] == "True").sum() == 4
    again = run("--import", folder / "labels.csv")  # the results know them
    assert again.stderr == "0 new labels in labels.jsonl; 4 were known.\n"
    result = run(out, "--export", folder / "labelled.csv")
    assert "4 of 24 rows of" in result.stderr
    again = pd.read_csv(folder / "labelled.csv", dtype={"sample": str})
    assert again["class"].notna().sum() == 4
    assert again["sample"].tolist() == TABLES.target["sample"].tolist()
    refused(out, "--export", folder / "labelled.csv", said="--force")
    assert run(out, "--export", folder / "labelled.csv", "--force").exit_code == 0


def test_the_page_without_its_extra_says_which(folder, monkeypatch):
    imported = builtins.__import__

    def lacking(name, *arguments, **options):
        if name.partition(".")[0] == "uvicorn":
            raise ModuleNotFoundError("No module named 'uvicorn'", name="uvicorn")
        return imported(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", lacking)
    result = run(folder / "out")
    assert result.exit_code == 1
    assert result.stderr == (
        "The page of ilspace label needs uvicorn, which is not installed: pip install "
        '"ilspace[label]", or use --terminal.\n'
    )


# -- processes ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_sitting_in_a_terminal_goes_on_after_the_end_of_its_input(folder):
    command = [sys.executable, "-m", "ilspace.cli", "label", str(folder / "out"), "--terminal"]
    first, second = (
        subprocess.run(
            command, input=keys, capture_output=True, text=True, env=SINGLE, encoding="utf-8"
        )
        for keys in ("1\n2\n", "3\nu\nu\n")
    )
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    where = folder / "out" / "labels.jsonl"
    said = f"2 labels in {where}. To go on, start ilspace label again.\n"
    assert f"{said}The results in {folder / 'out'} know all labels now.\n" in first.stderr
    written = json.loads((folder / "out" / "summary.json").read_text(encoding="utf-8"))
    assert written["n_target_labels"] == 1
    assert "2 labelled, 22 left" in second.stdout
    answers = open_job([folder / "out"]).open_labels().answers
    assert list(answers.labels.values()) == ["ant"]  # the last two were taken back


def refuses_strangers(server):
    """The same refusals as in the fast tests, through the real server."""
    where, big = urlsplit(server.address), b" " * 10_000_000
    own = {"Origin": f"http://{where.netloc}", "Content-Type": "application/json"}
    for method, path, headers, body, statuses in (
        ("GET", where.path, {"Host": f"evil.example:{where.port}"}, None, {403}),
        ("GET", where.path, {"Origin": "http://evil.example"}, None, {403}),
        ("GET", "/", {}, None, {403}),
        ("GET", f"{where.path}../../../../etc/passwd", {}, None, {404}),
        ("GET", f"/x/..{where.path}", {}, None, {403}),
        ("GET", f"{where.path}api/picture?row=../1&column=../x", {}, None, {400}),
        ("POST", f"{where.path}api/answer", own, big, {413, None}),
        ("GET", f"{where.path}api/state?window=w", {}, None, {200}),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", where.port or 0, timeout=20)
        try:
            connection.request(method, path, body, headers)
            status = connection.getresponse().status
        except ConnectionError:  # closed before all of the body was sent
            status = None
        finally:
            connection.close()
        assert status in statuses, path


@pytest.mark.slow
def test_the_page_listens_on_the_loopback_address_until_it_is_interrupted(folder):
    open_job([folder / "out"]).open_labels().append(Event("a", Kind.LABEL, 1, "bee"))
    with Served(folder / "out") as server:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{30,}/", server.address)
        assert server.ask("state?window=w")["progress"]["labelled"] == 1
        refuses_strangers(server)
        server.process.send_signal(signal.SIGINT)
        said = server.stderr.read()
        assert server.process.wait() == 0
    where = folder / "out" / "labels.jsonl"
    ended = f"1 label in {where}. To go on, start ilspace label again.\n"
    assert f"{ended}The results in {folder / 'out'} know all labels now.\n" in said
    written = json.loads((folder / "out" / "summary.json").read_text(encoding="utf-8"))
    assert written["n_target_labels"] == 1
