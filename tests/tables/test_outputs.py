"""What a job leaves behind: all files or none, ids as they were, rows of further files."""

import csv
import io
import json
import os

import numpy as np
import pandas as pd
import pytest
from tables.small_tables import PREDICTED, quick, small_tables, write_csv

import ilspace
from ilspace import storage
from ilspace.tables import TableError
from ilspace.tables.answer import predictions_table
from ilspace.tables.outputs import check_folder, csv_lines, label_blocks, staged, write_outputs
from ilspace.tables.reading import read_chunks
from ilspace.tables.results import RecordedLabels

TABLES = small_tables()
FILES = ["model.skops", "predictions.csv", "report.html", "summary.json"]


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """An answer, its summary, and where its files are."""
    folder = tmp_path_factory.mktemp("job")
    answer = ilspace.adapt(*write_csv(folder, TABLES), "class", method=quick())
    return answer, write_outputs(answer, folder / "out"), folder / "out"


# -- files -----------------------------------------------------------------------------------------


def test_files(job):
    answer, summary, folder = job
    assert sorted(each.name for each in folder.iterdir()) == FILES == sorted(summary["files"])
    assert sorted(each.name for each in folder.parent.iterdir()) == [
        "out",
        "source.csv",
        "target.csv",
    ]
    text = (folder / "summary.json").read_text(encoding="utf-8")
    assert json.loads(text) == json.loads(json.dumps(summary))
    assert "élan" in text
    predictions = pd.read_csv(folder / "predictions.csv", dtype={"sample": str})
    assert list(predictions) == ["sample", *PREDICTED]
    assert predictions["sample"].tolist() == TABLES.target["sample"].tolist()  # 00000, 00001, …
    expected = answer.predictions.assign(
        probability=[float(f"{each:.6g}") for each in answer.predictions["probability"]]
    )
    pd.testing.assert_frame_equal(predictions, expected, check_dtype=False)
    again = ilspace.load(folder / "model.skops")
    assert again.predict(TABLES.target).tolist() == predictions["label"].tolist()


def test_the_summary_is_that_of_the_answer(job):
    answer, summary, folder = job
    own = answer.summary_for(folder)
    assert summary | {"inputs": None} == own | {"inputs": None}
    assert summary["inputs"] == own["inputs"] | {"format": "csv", "spreadsheet": False}
    assert summary["inputs"]["label"] == "class"
    assert summary["inputs"]["ids"] == ()


def test_predictions_as_parquet(tmp_path):
    answer = ilspace.adapt(TABLES.source, TABLES.labelled(3), "class", method=quick())
    summary = write_outputs(answer, tmp_path / "out", as_parquet=True)
    assert summary["files"][0] == "predictions.parquet"
    assert not (tmp_path / "out" / "predictions.csv").exists()
    assert summary["inputs"]["format"] == "parquet"
    table = pd.read_parquet(tmp_path / "out" / "predictions.parquet")
    assert list(table) == ["sample", *PREDICTED, "given"]
    assert [str(table[each].dtype) for each in (*PREDICTED[::2], "sure", "given")] == [
        *("int64", "float64", "bool", "bool"),
    ]
    assert table["sample"].tolist() == TABLES.target["sample"].tolist()
    assert table["label"].tolist() == answer.predictions["label"].tolist()


def test_labels_that_were_recorded_go_with_the_results(tmp_path):
    path = tmp_path / "labels.jsonl"
    path.write_text("as they were\n")
    source, target = write_csv(tmp_path, TABLES)
    plain = ilspace.adapt(source, target, "class", method=quick())
    about = {"column": "class", "sha256": plain.inputs["files"]["target"]["sha256"]}
    recorded = RecordedLabels(path, about, {4: "bee"}, {})
    answer = ilspace.adapt(source, target, "class", method=quick(), recorded=recorded)
    assert answer.inputs["labels"]["path"] == str(path)
    write_outputs(answer, tmp_path / "out")
    assert (tmp_path / "out" / "labels.jsonl").read_text() == "as they were\n"


# -- identifiers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "wanted"),
    [
        (["007", "08"], ["007", "08"]),
        ([12345678, 12345679], ["12345678", "12345679"]),
        ([12345678.0, None], ["12345678", ""]),
        ([None, "x"], ["", "x"]),
    ],
)
def test_identifiers_are_not_rounded(ids, wanted):
    labelled = pd.DataFrame({"label": ["a", "b"], "probability": [0.123456789, 1.0]})
    table = pd.DataFrame({"id": pd.Series(ids), "x": [1, 2]})
    lines = csv_lines(predictions_table(table, labelled, ["id", "gone"]), header=True)
    rows = list(csv.DictReader(io.StringIO(lines)))
    assert [each["id"] for each in rows] == wanted
    assert [each["row"] for each in rows] == ["1", "2"]
    assert lines.splitlines()[1].endswith("1,a,0.123457")


def test_an_identifier_called_label_is_told_from_the_label():
    labelled = pd.DataFrame({"label": ["a"], "sure": [True]})
    table = pd.DataFrame({"label": ["old"], "sure": ["ja"], "row": ["7"]})
    met = predictions_table(table, labelled, ["label", "sure", "row"])
    assert list(met) == ["label (given)", "sure (given)", "row (given)", "row", "label", "sure"]
    assert met.iloc[0].tolist() == ["old", "ja", "7", 1, "a", True]


def test_rows_are_always_numbered():
    labelled = pd.DataFrame({"label": ["a", "b"]}, index=[5, 9])
    met = predictions_table(pd.DataFrame({"x": [1, 2]}), labelled, ["id"], first=10)
    assert list(met) == ["row", "label"]
    assert met["row"].tolist() == [11, 12]
    assert met["label"].tolist() == ["a", "b"]


# -- all or none ---------------------------------------------------------------------------------


def replace_by_new(folder, names):
    with staged(folder, force=True) as draft:
        for name in names:
            (draft / name).write_text("new")


def fail_half_way(folder, error, **options):
    with staged(folder, **options) as draft:
        (draft / "predictions.csv").write_text("half")
        raise error


@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt()])
def test_failure_leaves_nothing_new_and_the_old_whole(tmp_path, error):
    with pytest.raises(type(error)):
        fail_half_way(tmp_path / "made" / "deep" / "out", error, force=False)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "predictions.csv").write_text("old")
    with pytest.raises(type(error)):
        fail_half_way(tmp_path, error, force=True)
    assert [each.name for each in tmp_path.iterdir()] == ["predictions.csv"]
    assert (tmp_path / "predictions.csv").read_text() == "old"


@pytest.mark.parametrize("failing", range(1, 6))
def test_force_replaces_all_results_or_none(tmp_path, monkeypatch, failing):
    for name in ("a", "b"):
        (tmp_path / name).write_text("old")
    calls, replace = iter(range(1, 100)), os.replace

    def fail_once(*paths):
        if next(calls) == failing:
            raise OSError(5, "Input/output error")
        replace(*paths)

    monkeypatch.setattr(os, "replace", fail_once)
    monkeypatch.setattr(storage, "exchange", lambda *_: False)  # as on some file systems
    with pytest.raises(OSError, match="Input/output"):
        replace_by_new(tmp_path, ("a", "b", "c"))
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"a": "old", "b": "old"}


def test_force_replaces_results_and_leaves_other_files(tmp_path):
    for name in ("predictions.csv", "notes.txt"):
        (tmp_path / name).write_text("old")
    link = tmp_path.with_name(f"{tmp_path.name}-link")
    link.symlink_to(tmp_path)
    with staged(link, force=True) as draft:
        (draft / "predictions.csv").write_text("new")
    assert (tmp_path / "predictions.csv").read_text() == "new"
    assert (tmp_path / "notes.txt").read_text() == "old"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["notes.txt", "predictions.csv"]


def test_folders_that_will_not_do(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for folder, said in (
        (tmp_path, "must not exist"),
        (tmp_path / "file", "is a file"),
        (tmp_path / "file" / "out", "is a file"),
    ):
        with pytest.raises(TableError, match=said):
            check_folder(folder, force=False)
    check_folder(tmp_path, force=True)
    check_folder(tmp_path / "a" / "b", force=False)
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write anywhere
    with pytest.raises(TableError, match="must be writable"):
        check_folder(tmp_path / "out", force=False)


def test_an_empty_folder_may_be_used(tmp_path):
    check_folder(tmp_path, force=False)
    (tmp_path / "file").touch()
    with pytest.raises(TableError, match="must not exist, but does"):
        check_folder(tmp_path, force=False)


FORMULAS = ["=HYPERLINK(1)", "+cmd", "-x", "@y", "-1.5", "+3", "plain", "a=b", "1e5", ""]


def test_formulas_are_escaped_where_it_is_asked_for():
    labelled = pd.DataFrame({"label": FORMULAS, "sure": True})
    found = predictions_table(pd.DataFrame({"=name": FORMULAS}), labelled, ["=name"])
    plain = pd.read_csv(io.StringIO(csv_lines(found, header=True)), dtype=str)
    assert plain["label"].fillna("").tolist() == plain["=name"].fillna("").tolist() == FORMULAS
    text = csv_lines(found, header=True, spreadsheet=True)
    escaped = pd.read_csv(io.StringIO(text), dtype=str).fillna("")
    assert list(escaped) == ["'=name", "row", "label", "sure"]
    for old, new in zip(FORMULAS, escaped["label"], strict=True):
        assert new == (f"'{old}" if old in FORMULAS[:4] else old)
    assert escaped["'=name"].tolist() == escaped["label"].tolist()


# -- rows of further files -------------------------------------------------------------------------


def test_further_rows_are_labelled_block_by_block(job, tmp_path):
    answer, _, folder = job
    path = tmp_path / "more.csv"
    TABLES.target.assign(comment="new", colour="mauve").to_csv(path, index=False)
    model = ilspace.load(folder / "model.skops")
    kept = model.plan_.as_written
    texts, told = [], []
    for n_rows in (5, 100):
        output = io.StringIO()
        blocks = read_chunks(path, string_columns=kept, n_rows=n_rows)
        counts = label_blocks(model, blocks, output=output, on_rows=told.append)
        texts.append(output.getvalue())
    assert told == [5, 10, 15, 20, 24, 24]
    assert texts[0] == texts[1]
    rows = pd.read_csv(io.StringIO(texts[0]), dtype={"sample": str})
    expected = model.predict_proba(TABLES.target.assign(colour="mauve"))
    assert rows["row"].tolist() == list(range(1, 25))
    assert rows["sample"].tolist() == TABLES.target["sample"].tolist()
    assert rows["label"].tolist() == model.classes_[expected.argmax(axis=1)].tolist()
    np.testing.assert_allclose(rows["probability"], expected.max(axis=1), rtol=1e-5)
    assert counts == (24, rows["sure"].sum(), ("comment",))


def test_missing_values_are_missing_however_a_file_is_read(job, tmp_path):
    answer, _, folder = job
    sparse = TABLES.target.copy()
    sparse[["height", "width", "colour"]] = None
    sparse.to_csv(tmp_path / "sparse.csv", index=False)
    output = io.StringIO()
    blocks = read_chunks(tmp_path / "sparse.csv", string_columns=answer.model.plan_.as_written)
    label_blocks(answer.model, blocks, output=output)
    met = pd.read_csv(io.StringIO(output.getvalue()))
    assert met["label"].tolist() == answer.model.predict(sparse).tolist()
