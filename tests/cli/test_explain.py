"""``ilspace explain`` as a user meets it."""

import json
import shutil

import pytest
from tables.small_tables import small_tables, write_csv
from typer.testing import CliRunner

from ilspace.cli.app import app

TABLES = small_tables()


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("explain")
    paths = write_csv(where, TABLES, TABLES.labelled(3))
    result = run("adapt", *paths, "--label", "class", "-o", where / "out")
    assert result.exit_code == 0, result.output
    return where


def test_a_row_in_words_and_as_data(folder):
    result = run("explain", folder / "out", "--row", 5, "--neighbours", 2)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Row 5 (00004): ")
    assert "Members: boosting " in result.stdout
    assert result.stdout.count(", distance ") == 2
    named = run("explain", folder / "out", "--id", "00004", "--json", "--neighbours", 2)
    found = json.loads(named.stdout)
    assert found["row"] == 5
    assert f"{found['label']}, {found['probability']:.2f}" in result.stdout.splitlines()[0]
    assert len(found["neighbours"]) == 2


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--row", "99"], "one of the 24 rows"),
        (["--id", "nobody"], "check it"),
        ([], "--row or by --id, but is not: add"),
        (["--row", "1", "--id", "00004"], "--row or by --id, but is by both: leave out"),
    ],
)
def test_rows_that_are_not_there(folder, options, reason):
    result = run("explain", folder / "out", *options)
    assert result.exit_code == 2
    assert reason in result.stderr


def test_a_table_that_has_changed_is_refused(folder, tmp_path):
    shutil.copytree(folder / "out", tmp_path / "out")
    shutil.copy(folder / "source.csv", tmp_path)
    TABLES.target.head(9).to_csv(tmp_path / "target.csv", index=False)
    summary = tmp_path / "out" / "summary.json"
    told = summary.read_text(encoding="utf-8").replace(str(folder), str(tmp_path))
    summary.write_text(told, encoding="utf-8")
    result = run("explain", tmp_path / "out", "--row", 1)
    assert result.exit_code == 2
    assert "has changed" in result.stderr


def test_what_is_no_folder_of_results(tmp_path):
    result = run("explain", tmp_path, "--row", 1)
    assert result.exit_code == 2
    assert "summary.json" in result.stderr
