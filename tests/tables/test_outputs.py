"""What a job leaves behind: all files or none, ids as they were, a page that says what happened."""

import html
import io
import json
import os
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tables.small_tables import PREDICTED, small_tables, write_csv

import ilspace
from ilspace.storage import whole_folders
from ilspace.tables import TableError, read_table
from ilspace.tables.diagnosis import diagnose
from ilspace.tables.job import Listener, adapt_files
from ilspace.tables.labels import take_source_labels, take_target_labels
from ilspace.tables.members import MEMBERS
from ilspace.tables.outputs import check_folder, staged, summary_of, write_outputs
from ilspace.tables.prediction import csv_lines, predictions_table
from ilspace.tables.verdict import Word

TABLES = small_tables().moved()
TOLD = {"stages": [], "steps": []}
FILES = ["model.safetensors", "predictions.csv", "report.html", "summary.json"]


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    listener = Listener(TOLD["stages"].append, TOLD["steps"].append)
    adaptation = adapt_files(*write_csv(folder, TABLES), label="class", listener=listener)
    return adaptation, write_outputs(adaptation, folder / "out"), folder / "out"


def test_files(job):
    adaptation, summary, folder = job
    assert sorted(each.name for each in folder.iterdir()) == FILES == sorted(summary["files"])
    assert sorted(each.name for each in folder.parent.iterdir()) == [
        "out",
        "source.csv",
        "target.csv",
    ]
    assert json.loads((folder / "summary.json").read_text(encoding="utf-8")) == summary
    predictions = pd.read_csv(folder / "predictions.csv", dtype={"sample": str})
    assert list(predictions) == ["sample", *PREDICTED]
    assert predictions["sample"].tolist() == TABLES.target["sample"].tolist()  # 00000, 00001, …
    again = ilspace.load(folder / "model.safetensors")
    assert again.label_rows(TABLES.target)["label"].tolist() == predictions["label"].tolist()
    assert again.predict(TABLES.target).tolist() == predictions["adapted"].tolist()
    assert adaptation.labelled["trusted"].tolist() == predictions["trusted"].tolist()


def test_summary(job):
    adaptation, summary, _ = job
    model, verdict = adaptation.model, adaptation.diagnosis.verdict
    assert summary["setting"] == "unsupervised"
    assert summary["source"] == {"rows": 30, "columns": 5}
    assert summary["target"] == {"rows": 24, "columns": 5, "labelled": 0}
    assert summary["identifiers"] == ["sample"]
    assert summary["verdict_word"] in list(Word)
    assert (summary["verdict"], summary["reason"]) == (verdict.sentence, verdict.reason)
    assert summary["judged"] == {
        "by": "agreement",
        "labels": 0,
        "probability_adapted_better": None,
        "label_more_rows": verdict.n_more,
        "accuracy": {},
    }
    expected = summary["expected_accuracy"]
    assert expected["adapted"] == pytest.approx(model.agreement_.expected_accuracy, abs=1e-6)
    assert expected["low"] < expected["adapted"] < expected["high"]
    assert expected["unadapted"] <= expected["adapted"]
    assert expected["reliable"] == (not summary["trusted"]["withheld"])
    assert [each["name"] for each in summary["members"]] == list(MEMBERS)
    assert all(0 <= each["agrees"] <= 1 for each in summary["members"])
    shares = summary["class_frequencies"]
    assert list(shares["assumed"].values()) == model.class_prior_.tolist()
    assert all(shares["low"][each] <= shares["assumed"][each] for each in shares["low"])
    for when in ("before", "after"):
        assert set(summary["shift"][when]) == {"stein", "mmd", "mmd_p_value", "a_distance"}
    assert sum(summary["balance"]["predicted"].values()) == pytest.approx(1)
    assert summary["latent_space"]["status"] in ("CONVERGED", "SETTLED")
    assert summary["trusted"]["withheld"] == list(model.trust_.withheld)
    assert "hardly overlap" in summary["trusted"]["withheld"][0]
    assert summary["notes"][0] == "Taken for identifiers: sample."
    assert summary["notes"][1].startswith("No prediction is trusted: the tables hardly overlap")


def test_the_page_says_all_of_it(job):
    _, summary, folder = job
    page = (folder / "report.html").read_text(encoding="utf-8")
    for said in (
        html.escape(summary["verdict"]),
        html.escape(summary["reason"]),
        *(html.escape(each["about"]) for each in summary["members"]),
        "of the adapted labels, which are given, are expected to be right",
        "Of the unadapted ones, ",
        "It is unreliable here",
        "The class frequencies assumed for the target are "
        f"{summary['class_frequencies']['overlap']:.0%} an estimate",
        "No prediction is trusted",
        "Stein divergence",
        "p-value of the MMD",
        "proxy A-distance",
        "Share of each class",
        "Before adaptation",
        "After adaptation",
        summary["latent_space"]["reason"],
        "columns that weigh most",
        "colour=green",
    ):
        assert said in page, said
    assert page.index(html.escape(summary["verdict"])) < page.index("Learned from")
    assert len(re.findall(r'role="img"', page)) == 5
    assert len(re.findall(r'role="img" aria-label="[^"]+"', page)) == 5


@pytest.mark.parametrize(("method", "is_saved"), [("linear", True), ("CORAL", False)])
def test_one_method_alone(tmp_path, method, is_saved):
    adaptation = adapt_files(*write_csv(tmp_path, TABLES), label="class", method=method)
    summary = write_outputs(adaptation, tmp_path / "out")
    wanted = FILES if is_saved else FILES[1:]
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == wanted
    assert sorted(summary["files"]) == wanted
    assert [each["name"] for each in summary["members"]] == [method]
    assert summary["latent_space"] is None
    assert summary["shift"]["after"] is None
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Convergence" not in page
    assert summary["inputs"]["method"] == method


@pytest.mark.parametrize("column", ["adapted", "unadapted"])
def test_the_label_is_what_the_verdict_recommends(tmp_path, monkeypatch, column):
    def judged(model, tables, **options):
        found = diagnose(model, tables, **options)
        return replace(found, verdict=replace(found.verdict, recommended=column))

    monkeypatch.setattr("ilspace.tables.job.diagnose", judged)
    paths = write_csv(tmp_path, TABLES, TABLES.labelled(1))
    adaptation = adapt_files(*paths, label="class", method="linear-own")
    labelled = adaptation.labelled
    assert (labelled["adapted"] != labelled["unadapted"]).any()
    assert labelled["label"][1:].tolist() == labelled[column][1:].tolist()
    assert labelled["label"][0] == TABLES.truth[0]  # given
    model = adaptation.model
    assert model.label_rows(TABLES.target)["label"].tolist() == labelled[column].tolist()


def test_semi_supervised_needs_no_flag(tmp_path):
    paths = write_csv(tmp_path, TABLES, TABLES.labelled(12))
    summary = write_outputs(adapt_files(*paths, label="class"), tmp_path / "out")
    assert summary["setting"] == "semi-supervised"
    assert summary["target"]["labelled"] == 12
    assert set(summary["judged"]["accuracy"]) == {
        *("adapted", "unadapted", "linear-target"),
        *MEMBERS,
    }
    assert summary["judged"]["labels"] == 12
    assert 0 <= summary["judged"]["probability_adapted_better"] <= 1
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "linear-target" in page


def target_labels(folder, classes, entries) -> Any:
    """What comes of labels that a target has on disk."""
    path = folder / "target.csv"
    TABLES.target.assign(**{"class": entries}).to_csv(path, index=False)
    table = read_table(path, label="class")
    return take_target_labels(table, "class", classes=np.unique(classes))[1]


def test_labels_with_decimals_as_pandas_writes_them(tmp_path):
    some = np.where(np.arange(24) < 6, np.arange(24) % 3, np.nan)  # 0.0, 1.0, …
    met = target_labels(tmp_path, ["0", "1", "2"], some)
    assert met.tolist() == ["0", "1", "2", "0", "1", "2"] + [None] * 18
    assert target_labels(tmp_path, ["0.0", "0"], some * 0)[0] == "0.0"


@pytest.mark.parametrize("gap", ["", "NA", "nan", "?", "-1", "null"])
def test_target_labels_that_are_all_gaps_are_none(tmp_path, gap):
    assert target_labels(tmp_path, ["a", "b"], [gap] * 24) is None


def test_gaps_among_the_labels_of_the_source(tmp_path):
    met = target_labels(tmp_path, ["None", "x"], ["NA", "None", "x"] + ["nan"] * 21)
    assert met.tolist() == [None, "None", "x"] + [None] * 21
    path = tmp_path / "source.csv"
    path.write_text("x,class\n1,NA\n2,None\n3,\n4,b\n")
    notes = []
    read = read_table(path, label="class")
    table, y = take_source_labels(read, "class", name="it", notes=notes)
    assert y.tolist() == ["None", "b"]
    assert table["x"].tolist() == [2, 4]  # a row without a label is of no use
    assert notes == ["Without a label ('NA'), and left out: 2 rows of it."]


def test_identifiers_in_place_of_labels_are_wondered_at(tmp_path):
    path = tmp_path / "source.csv"
    path.write_text("x,name\n" + "".join(f"1,n{i // 3 if i < 6 else i}\n" for i in range(12)))
    notes = []
    take_source_labels(read_table(path, label="name"), "name", name="it", notes=notes)
    assert notes == ["Most rows of it are a class of their own: is 'name' the column of labels?"]


def test_whole_labels_of_a_source_with_gaps(tmp_path):
    path = tmp_path / "source.csv"
    path.write_text("x,class\n1,0.0\n2,1.0\n3,\n")
    _, y = take_source_labels(read_table(path, label="class"), "class", name="it")
    assert y.tolist() == ["0", "1"]


def test_stages_and_steps_are_told(job):
    stages = ["reading", "fitting", "fitting ils", "judging", "labelling"]
    assert TOLD["stages"] == stages
    assert all(np.isfinite(each.objective) for each in TOLD["steps"])


def test_fits_without_some_labels_are_told(tmp_path):
    stages = []
    listener = Listener(on_stage=stages.append)
    paths = write_csv(tmp_path, TABLES, TABLES.labelled(12))
    adapt_files(*paths, label="class", listener=listener)
    told = [each for each in stages if each.startswith("fitting ils")]
    assert told == ["fitting ils"] + [f"fitting ils, labels held out {i} of 3" for i in (1, 2, 3)]


def test_shares_of_columns_in_directions(job):
    adaptation, *_ = job
    directions = adaptation.diagnosis.directions
    shares = [each.share for each in directions]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) <= 1 + 1e-9
    model = adaptation.model
    latent = model.transform(adaptation.target)
    variance = np.sort(np.linalg.eigvalsh(np.cov(latent.T)))[::-1]
    np.testing.assert_allclose(shares, (variance / variance.sum())[: len(shares)], rtol=1e-6)
    # a move of a row along a column moves it in a direction by the weight of that column
    names = model.target_encoder_.names
    assert all(name in names for each in directions for name, _ in each.features)


# -- identifiers ---------------------------------------------------------------------------------


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
    met = predictions_table(table, labelled, ["id", "gone"])
    text = met.to_csv(index=False, float_format="%.6g").splitlines()
    assert [each.split(",")[0].strip('"') for each in text[1:]] == wanted
    assert text[1].endswith("a,0.123457")


def test_an_identifier_called_label_is_told_from_the_label():
    labelled = pd.DataFrame({"label": ["a"], "trusted": [True]})
    table = pd.DataFrame({"label": ["old"], "trusted": ["ja"]})
    met = predictions_table(table, labelled, ["label", "trusted"])
    assert list(met) == ["label (given)", "trusted (given)", "label", "trusted"]


def test_rows_without_identifiers_are_numbered():
    labelled = pd.DataFrame({"label": ["a", "b"]})
    met = predictions_table(pd.DataFrame({"x": [1, 2]}), labelled, ["id"], first=10)
    assert met["row"].tolist() == [11, 12]


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
    monkeypatch.setattr(whole_folders, "exchange", lambda *_: False)  # as on some file systems
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


def test_given_labels_are_told_from_predictions(tmp_path):
    source, target = write_csv(tmp_path, TABLES)
    table = pd.read_csv(target, dtype=str)
    table["class"] = [*pd.read_csv(source)["class"][:2], *[None] * (len(table) - 2)]
    table.to_csv(target, index=False)
    adaptation = adapt_files(source, target, label="class")
    assert adaptation.labelled["given"].tolist() == [True, True] + [False] * (len(table) - 2)
    assert len(adaptation.predicted) == len(table) - 2
    summary = summary_of(adaptation)
    assert summary["inputs"]["label"] == "class"
    assert summary["trusted"]["share"] == adaptation.predicted["trusted"].mean()


def test_an_empty_folder_may_be_used(tmp_path):
    check_folder(tmp_path, force=False)
    (tmp_path / "file").touch()
    with pytest.raises(TableError, match="must not exist, but does"):
        check_folder(tmp_path, force=False)


FORMULAS = ["=HYPERLINK(1)", "+cmd", "-x", "@y", "-1.5", "+3", "plain", "a=b", "1e5", ""]


def test_formulas_are_escaped_where_it_is_asked_for():
    labelled = pd.DataFrame({"label": FORMULAS, "trusted": True})
    table = pd.DataFrame({"=name": FORMULAS})
    plain = pd.read_csv(io.StringIO(csv_lines(table, labelled, ["=name"])), dtype=str)
    assert plain["label"].fillna("").tolist() == plain["=name"].fillna("").tolist() == FORMULAS
    text = csv_lines(table, labelled, ["=name"], spreadsheet=True)
    escaped = pd.read_csv(io.StringIO(text), dtype=str).fillna("")
    assert list(escaped) == ["'=name", "label", "trusted"]
    for old, new in zip(FORMULAS, escaped["label"], strict=True):
        assert new == (f"'{old}" if old in FORMULAS[:4] else old)
    assert escaped["'=name"].tolist() == escaped["label"].tolist()


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (
            [f"{i / 7:.3f}" for i in range(1, 31)],
            "must hold classes, but holds 30 different numbers",
        ),
        ([f"{i}e-3" for i in range(1, 31)], "must hold classes, but holds 30 different numbers"),
        ([str(i) for i in range(30)], None),  # may be names
        ([f"{i % 5}.5" for i in range(30)], None),  # grades
        ([f"v{i / 7:.3f}" for i in range(30)], None),
    ],
)
def test_measurements_are_no_labels(labels, said):
    table = pd.DataFrame({"class": labels, "x": range(30)})
    if said is None:
        assert len(take_source_labels(table, "class", name="it")[1]) == 30
    else:
        with pytest.raises(TableError, match=said):
            take_source_labels(table, "class", name="it")
