"""What the shell sees: help, completion, a log, and Parquet."""

import logging
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from tables.small_tables import small_tables
from typer.testing import CliRunner

from ilspace import TableClassifier
from ilspace.cli import _log
from ilspace.cli.app import app
from ilspace.tables.answer import predictions_table
from ilspace.tables.formats import write_parquet
from ilspace.tables.outputs import csv_lines

TABLES = small_tables()


def tree(command: Any, path: str) -> list[tuple[str, Any]]:
    children = getattr(command, "commands", {})
    below = [each for name, child in children.items() for each in tree(child, f"{path} {name}")]
    return [(path, command), *below]


@pytest.mark.parametrize(("path", "command"), tree(typer.main.get_command(app), "ilspace"))
def test_every_command_has_examples_of_itself(path, command):
    assert "**Examples**" in command.epilog
    assert f"`{path}" in command.epilog
    options = [each for each in command.params if each.param_type_name == "option"]
    assert all(each.help for each in options)
    assert all("-o" in each.opts for each in options if "--output" in each.opts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shell")
    X, y, Xt = TABLES.features
    TableClassifier().fit(X, y, Xt).save(folder / "model.skops")
    TABLES.target.to_csv(folder / "new.csv", index=False)
    TABLES.target.drop(columns="sample").to_csv(folder / "nameless.csv", index=False)
    TABLES.source.to_csv(folder / "old.csv", index=False)
    return folder


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_predictions_as_parquet_say_what_csv_says(folder):
    for suffix in ("csv", "parquet"):
        output = folder / f"labels.{suffix}"
        result = run("predict", folder, folder / "new.csv", "--rows", "7", "-o", output)
        assert result.exit_code == 0, result.output
    typed = pd.read_parquet(folder / "labels.parquet")
    plain = pd.read_csv(folder / "labels.csv", keep_default_na=False, dtype={"sample": str})
    assert typed["probability"].dtype == float
    assert typed["sure"].dtype == bool
    assert typed.astype(object).to_numpy().tolist() == plain.astype(object).to_numpy().tolist()
    assert list(typed.columns) == list(plain.columns)


def test_a_parquet_file_is_there_whole_or_not_at_all(folder, tmp_path):
    (tmp_path / "bad.csv").write_bytes((folder / "new.csv").read_bytes() + b"1,2,3,4,5,6,7,8,9\n")
    result = run(
        "predict", folder, tmp_path / "bad.csv", "--rows", "10", "-o", tmp_path / "a.parquet"
    )
    assert result.exit_code == 2
    assert os.listdir(tmp_path) == ["bad.csv"]


@pytest.mark.parametrize("ids", [(), ("na\nme", "b")])
def test_names_and_labels_of_all_kinds_survive(tmp_path, ids):
    table = pd.DataFrame({each: ["007", "", 'a "b",\n'] for each in ids}, index=range(3))
    labelled = pd.DataFrame(
        {"label": ["NA", "1", "x,\ny"], "probability": [0.5, 1, 0], "sure": [False, True, False]}
    )
    text = csv_lines(predictions_table(table, labelled, ids), header=True)
    (tmp_path / "a.csv").write_text(text, newline="")
    with open(tmp_path / "a.csv", "rb") as lines, open(tmp_path / "a.parquet", "wb") as output:
        write_parquet(lines, output)
    found = pd.read_parquet(tmp_path / "a.parquet")
    assert found["label"].tolist() == labelled["label"].tolist()
    assert found["row"].tolist() == [1, 2, 3]
    if ids:
        assert found[ids[0]].tolist() == table[ids[0]].tolist()


def test_adapt_writes_parquet_and_a_log(folder, tmp_path):
    out, log = tmp_path / "out", tmp_path / "run.log"
    words = ["adapt", folder / "old.csv", folder / "nameless.csv", "--label", "class"]
    words += ["-o", out, "--format", "parquet", "-q"]
    command = [sys.executable, "-m", "ilspace.cli", "--log-file", log, *words]
    ended = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr
    assert sorted(os.listdir(out)) == [
        "model.skops", "predictions.parquet", "report.html", "summary.json",
    ]  # fmt: skip
    found = pd.read_parquet(out / "predictions.parquet")
    assert found["row"].tolist() == list(np.arange(1, len(TABLES.target) + 1))
    text = log.read_text()
    for word in ("command: ilspace --log-file", "stage: writing", "Labels: ", "INFO    end\n"):
        assert word in text
    assert text.index("command: ") < text.index("stage: ") < text.index("Labels: ")


@pytest.fixture
def log():
    """Take the log down again, as the process goes on."""
    yield
    for logger in (_log.LOG, logging.getLogger("py.warnings")):
        for handler in list(logger.handlers):
            if isinstance(handler, logging.FileHandler):
                logger.removeHandler(handler)
                handler.close()
    logging.captureWarnings(False)
    _log.LOG.propagate = True


def test_a_refusal_is_in_the_log(tmp_path, log):
    result = run("--log-file", tmp_path / "run.log", "predict", tmp_path / "none", "-")
    assert result.exit_code == 2
    text = (tmp_path / "run.log").read_text()
    assert "ERROR   Error: The model" in text
    assert "(exit code 2)" in text


def test_a_log_that_cannot_be_written_is_refused(tmp_path):
    result = run("--log-file", tmp_path / "no such folder" / "run.log", "data", "list")
    assert result.exit_code == 2
    assert "must be a file" in " ".join(result.output.replace("│", " ").split())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_and_options(shell, monkeypatch):
    words = {"bash": "ilspace pre", "zsh": "ilspace pre", "fish": "ilspace pre"}[shell]
    environment = {
        "_ILSPACE_COMPLETE": f"complete_{shell}", "COMP_WORDS": words, "COMP_CWORD": "1",
        "_TYPER_COMPLETE_ARGS": words, "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }  # fmt: skip
    script = "import sys; sys.argv[0] = 'ilspace'; from ilspace.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert "predict" in ended.stdout
    assert "adapt" not in ended.stdout
