"""``ilspace adapt --labels``: what ``ilspace label`` recorded is learned from, and kept."""

import json
import re
import shutil

import pandas as pd
import pytest
from tables.small_tables import small_tables, write_csv
from typer.testing import CliRunner

from ilspace.active import Prediction
from ilspace.cli.app import app
from ilspace.labelling.answers import Event, Kind
from ilspace.labelling.job import open_job
from ilspace.labelling.label_file import read_recorded
from ilspace.tables.inputs import read_inputs
from ilspace.tables.reading import sha256_of
from ilspace.tables.results import RecordedLabels, with_recorded

TABLES = small_tables(nt=60)
ROWS = range(1, 13)


def run(command, *arguments):
    return CliRunner().invoke(app, [command, *map(str, arguments)])


def adapt(folder, output, *options):
    paths = folder / "source.csv", folder / "target.csv"
    fixed = ["--label", "class", "--id", "sample", "-q"]
    return run("adapt", *paths, *fixed, "-o", folder / output, *options)


def summary(folder):
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Tables, and the results of adapting them."""
    folder = tmp_path_factory.mktemp("results")
    write_csv(folder, TABLES)
    assert adapt(folder, "out").exit_code == 0
    return folder


@pytest.fixture
def folder(results, tmp_path):
    """Results with a dozen labels, half of which the model had guessed."""
    shutil.copytree(results, tmp_path, dirs_exist_ok=True)
    events = []
    for row in ROWS:
        truth = str(TABLES.truth[row - 1])
        guess = truth if row % 2 else next(each for each in ("ant", "bee") if each != truth)
        told = {"guess": guess, "probability": 0.6, "learned": 0}
        events.append(Event(f"e{row}", Kind.LABEL, row, truth, **told))
    open_job([tmp_path / "out"]).open_labels().append(*events)
    return tmp_path


def test_labels_are_learned_from_and_go_on_with_the_results(folder):
    result = adapt(folder, "better", "--labels", folder / "out")
    assert result.exit_code == 0, result.output
    found = summary(folder / "better")
    assert found["n_target_labels"] == len(ROWS)
    labels = folder / "out" / "labels.jsonl"
    told = {"path": str(labels), "bytes": labels.stat().st_size, "sha256": sha256_of(labels)}
    assert found["inputs"]["labels"] == told
    assert any("rows that a model was unsure of" in each for each in found["notes"])
    predictions = pd.read_csv(folder / "better" / "predictions.csv", dtype=str)
    assert predictions["label"][: len(ROWS)].tolist() == TABLES.truth[: len(ROWS)].tolist()
    assert predictions["given"].tolist() == ["True"] * len(ROWS) + ["False"] * (60 - len(ROWS))
    job = open_job([folder / "better"])
    assert sorted(job.open_labels().answers.labels) == list(ROWS)
    told = run("explain", folder / "better", "--row", 1, "--json")
    assert json.loads(told.stdout)["given"] == TABLES.truth[0]


def test_the_file_of_a_folder_that_is_written_to_again_stays(folder):
    labels = folder / "out" / "labels.jsonl"
    before = labels.read_bytes()
    labels.write_bytes(before + b'{"event":"late","kind":"label","row":13,"label":"bee"}\n')
    former = folder / "former.jsonl"
    former.write_bytes(before)
    result = adapt(folder, "out", "--labels", former, "--force")
    assert result.exit_code == 0, result.output
    assert summary(folder / "out")["n_target_labels"] == len(ROWS)
    assert labels.read_bytes() != before


def test_an_explanation_knows_the_labels_of_the_fit_and_no_later_ones(folder):
    assert adapt(folder, "better", "--labels", folder / "out").exit_code == 0
    open_job([folder / "better"]).open_labels().append(
        Event("later", Kind.LABEL, 20, str(TABLES.truth[19]))
    )

    def given(row):
        told = run("explain", folder / "better", "--row", row, "--json", "--neighbours", 60)
        assert told.exit_code == 0, told.output
        found = json.loads(told.stdout)
        return found["given"], {each["row"] for each in found["neighbours"] if is_target(each)}

    def is_target(each):
        return each["domain"] == "target"

    assert given(20) == (None, set(ROWS))
    # the file of the results is gone: that which the labels came from has them
    (folder / "better" / "labels.jsonl").unlink()
    assert given(20) == (None, set(ROWS))
    (folder / "out" / "labels.jsonl").unlink()
    refused = run("explain", folder / "better", "--row", 1)
    assert refused.exit_code == 2
    assert "The labels that" in refused.stderr


def test_rows_of_no_class_are_told_and_not_learned(folder):
    told = {"guess": "ant", "probability": 0.6, "learned": 0}
    file = open_job([folder / "out"]).open_labels()
    file.append(*(Event(f"o{row}", Kind.OTHER, row, **told) for row in (30, 31)))
    assert adapt(folder, "better", "--labels", folder / "out").exit_code == 0
    found = summary(folder / "better")
    assert found["n_target_labels"] == len(ROWS)
    (note,) = (each for each in found["notes"] if "of none of the classes" in each)
    assert "2 rows are" in note
    recorded = read_recorded(folder / "out")
    assert recorded.of_no_class == (29, 30)
    assert {29, 30} <= set(recorded.predictions)
    # and where nothing else is known
    read = read_inputs(folder / "source.csv", folder / "target.csv", label="class")
    said = dict.fromkeys(range(30, 36), Prediction("ant", 0.6, 0))
    alone = RecordedLabels(recorded.path, recorded.about, {}, said, tuple(said))
    read, (note, _) = with_recorded(read, alone)
    assert not read.pair.has_labels.any()
    assert "6 rows are" in note


def test_labels_of_random_rows_need_no_allowance(folder):
    path = folder / "out" / "labels.jsonl"
    lines = path.read_text(encoding="utf-8").replace('"learned": 0', '"learned": 0, "random": true')
    path.write_text(lines, encoding="utf-8")
    assert not read_recorded(path).were_chosen
    assert adapt(folder, "better", "--labels", path).exit_code == 0
    assert not any("unsure of" in each for each in summary(folder / "better")["notes"])


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ("empty", "must hold labels that ilspace label recorded, but holds none"),
        ("other.jsonl", "must hold labels of this target, but its column is 'kind'"),
        ("moved.jsonl", "must hold labels of this target, but its sha256 is"),
        ("wrong.jsonl", "says 'wasp' of row 1"),
        ("far.jsonl", "says 'bee' of row 61"),
        ("beyond.jsonl", "says 'other' of row 61"),
    ],
)
def test_labels_of_something_else_are_refused(folder, labels, said):
    (folder / "empty").mkdir()
    text = (folder / "out" / "labels.jsonl").read_text(encoding="utf-8")
    start, first, *_ = text.splitlines()
    (folder / "other.jsonl").write_text(text.replace('"class"', '"kind"'), encoding="utf-8")
    moved = re.sub(r'"sha256": "\w+"', '"sha256": "0"', text)
    (folder / "moved.jsonl").write_text(moved, encoding="utf-8")
    wrong = re.sub(r'"label": "\w+"', '"label": "wasp"', first)
    (folder / "wrong.jsonl").write_text(f"{start}\n{wrong}\n", encoding="utf-8")
    far = re.sub(r'"label": "\w+"', '"label": "bee"', first.replace('"row": 1,', '"row": 61,'))
    (folder / "far.jsonl").write_text(f"{start}\n{far}\n", encoding="utf-8")
    beyond = '{"event":"o","kind":"other","row":61}'
    (folder / "beyond.jsonl").write_text(f"{start}\n{beyond}\n", encoding="utf-8")
    result = adapt(folder, "better", "--labels", folder / labels)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert not (folder / "better").exists()


def test_a_cluster_reads_no_recorded_labels(folder):
    result = adapt(folder, "better", "--labels", folder / "out", "--dask", "local")
    assert result.exit_code == 2
    assert "leave one of --labels and --dask out" in result.stderr
