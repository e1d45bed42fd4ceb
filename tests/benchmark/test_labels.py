"""The benchmark of labels: plans, draws, cells, tables, and the commands."""

import json
import tomllib

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ilspace.active import AccuracyEstimate, QuerySelector
from ilspace.benchmark.field import trials as field_trials
from ilspace.benchmark.kinds import load_experiment, summarise, write_table
from ilspace.benchmark.labels.plan import LabelsPlan, parse_labels_plan
from ilspace.benchmark.labels.table import LabelsRow, compare, coverage
from ilspace.benchmark.labels.trials import load_label_trial
from ilspace.benchmark.plan_entries import PlanError
from ilspace.benchmark.report import write_report
from ilspace.benchmark.runner import run_cells
from ilspace.benchmark.store import Store
from ilspace.cli.app import app

PLAN = """
kind = "labels"
title = "Toys"
trials = 2
batch = 2
budgets = [2, 4, 40]
reference = "random"
compared = [2, 4]

[[method]]
name = "default"
strategy = "auto"

[[method]]
name = "random"
strategy = "random"

[[method]]
name = "committee"
strategy = "committee"
groups = ["tables"]

[[group]]
name = "tables"
estimator = "TableClassifier"
parameters = { method = { estimator = "StandardizedLogisticRegression" } }
pairs = ["toys/one-two"]

[[group]]
name = "arrays"
estimator = "Pooled"
preprocessing = "zscore"
pairs = ["toys/one-two", "toys/two-one"]
"""


def plan(text: str = PLAN) -> LabelsPlan:
    return parse_labels_plan("toys", tomllib.loads(text))


def a_table(n, seed):
    y = np.arange(n) % 3
    rows = np.random.default_rng(seed).normal(size=(n, 4)) + 2 * np.eye(4)[y]
    return pd.DataFrame(rows, columns=list("pqrs")), np.array(["a", "b", "c"])[y]


@pytest.fixture
def toys(monkeypatch):
    made = {"one": a_table(36, 0), "two": a_table(39, 1), "some": a_table(30, 2)}
    table, y = made["some"]
    made["some"] = table[y != "c"].reset_index(drop=True), y[y != "c"]
    monkeypatch.setattr(field_trials, "load_tables", lambda dataset: made)
    return made


def test_the_shipped_plan():
    shipped = load_experiment("labels")
    assert isinstance(shipped, LabelsPlan)
    sizes = {group.name: len(group.pairs) for group in shipped.groups}
    assert sizes == {"surf": 12, "deep": 12, "digits": 2}
    assert (shipped.trials, shipped.budgets, shipped.batch) == (10, (10, 20, 30, 50), 10)
    cells = list(shipped.cells())
    assert len({cell.key for cell in cells}) == len(cells) == 10 * 5 * 26
    assert {cell.method.name for cell in cells} == {
        *("default", "clue", "margin", "entropy", "random")
    }


def test_plans_are_narrowed_and_checked():
    few = plan().narrowed(trials=1, methods=["DEFAULT"], blocks=["arrays"])
    assert [cell.pair for cell in few.cells()] == ["toys/one-two", "toys/two-one"]
    assert few.reference == ""
    by_pair = plan().narrowed(transfers=["toys/two-one"])
    assert by_pair.blocks == ("arrays",)
    with pytest.raises(PlanError, match="no method 'nobody'"):
        plan().narrowed(methods=["nobody"])
    with pytest.raises(PlanError, match="1 to 2 trials"):
        plan().narrowed(trials=3)
    for old, new, message in (
        ('strategy = "auto"', 'strategy = "guess"', "guess"),
        ("budgets = [2, 4, 40]", "budgets = [2, 3]", "multiples of the batch"),
        ('reference = "random"', 'reference = "nobody"', "nobody"),
        ("batch = 2", "", "lacks 'batch'"),
        ('preprocessing = "zscore"', 'preprocesing = "zscore"', "preprocesing"),
        ('estimator = "Pooled"', "", "estimator"),
    ):
        with pytest.raises(PlanError, match=message):
            plan(PLAN.replace(old, new))


def test_half_of_the_target_is_held_out_and_drawn_anew(toys):
    first, again, other = (load_label_trial("toys/one-two", trial) for trial in (0, 0, 1))
    assert len(first.held_out) == 39 // 2
    assert first.held_out.tolist() == again.held_out.tolist() != other.held_out.tolist()
    assert first.held_out.tolist() == sorted(set(first.held_out))
    pd.testing.assert_frame_equal(first.X, toys["one"][0])
    few = load_label_trial("toys/one-two", 0, most_rows=12)
    assert (len(few.X), len(few.y), len(few.Xt), len(few.yt)) == (12, 12, 12, 12)
    assert len(few.held_out) == 6
    whole = dict(zip(first.Xt.iloc[:, 0], first.yt, strict=True))
    assert [whole[each] for each in few.Xt.iloc[:, 0]] == few.yt.tolist()
    assert not np.array_equal(few.held_out, np.arange(6))
    missing = load_label_trial("toys/some-two", 0, "zscore")
    assert set(missing.yt) == {"a", "b"}  # the source has no other
    assert missing.Xt.shape == (26, 4)


def test_a_cell_asks_for_rows_that_are_not_held_out(toys, monkeypatch):
    asked = []
    teach = QuerySelector.teach

    def noted(self, rows, labels):
        asked.extend(rows.tolist())
        return teach(self, rows, labels)

    monkeypatch.setattr(QuerySelector, "teach", noted)
    cell = next(iter(plan().cells()))
    record = cell.run()
    data = load_label_trial(cell.pair, cell.trial)
    assert record.get("error") is None
    assert set(asked).isdisjoint(data.held_out)
    assert [step["n"] for step in record["steps"]] == [0, 2, 4]  # 40 are more than half of 20
    assert record["accuracy"] == pytest.approx(
        np.mean([step["accuracy"] for step in record["steps"][1:]]), abs=0.01
    )
    assert (record["n_pool"], record["n_test"], len(asked)) == (20, 19, 4)
    assert json.loads(json.dumps(record)) == record


def test_a_run_fills_the_store_the_table_and_the_report(toys, tmp_path, monkeypatch):
    store = Store(tmp_path / "toys.jsonl")
    few = plan().narrowed(methods=["default", "random"], blocks=["arrays"])
    assert run_cells(few.cells(), store, jobs=1) == 8
    assert run_cells(few.cells(), store, jobs=1) == 0
    table = summarise(few, store.records())
    text = write_table(table, "md")
    assert "## arrays (Pooled; 2 pairs, 2 trials)" in text
    assert "2 labels reach" in text
    assert write_table(table, "latex").count("begin{tabular}") == 2
    lines = write_table(table, "csv").splitlines()
    assert len(lines) == 1 + sum(len(each["steps"]) for each in store.records())
    path = tmp_path / "toys.toml"
    path.write_text(PLAN)
    shown = CliRunner().invoke(
        app, ["bench", "table", str(path), "--store", str(tmp_path), "--blocks", "arrays"]
    )
    assert shown.exit_code == 0
    assert "| random |" in shown.output
    names = "ilspace.benchmark.report.experiment_names"
    monkeypatch.setattr(names, lambda: (str(path),))
    (tmp_path / f"{path}.jsonl").write_bytes(store.path.read_bytes())
    assert "arrays (Pooled" in write_report(tmp_path)


def test_an_error_is_recorded(toys):
    (cell, *_) = plan().narrowed(methods=["committee"]).cells()
    assert "members" in cell.run()["error"]  # one method alone has none


def row(accuracies, **step):
    """A row of one pair and several trials with one step of 10 labels."""
    steps = {"n": 10, "value": 50.0, "low": 40.0, "high": 60.0, "gain": 1.0} | step
    records = {
        ("toys/one-two", trial): {
            "accuracy": accuracy,
            "seconds": 1.0,
            "steps": [steps | {"accuracy": accuracy}],
        }
        for trial, accuracy in enumerate(accuracies)
    }
    return LabelsRow(plan().methods[0], records)


def test_coverage_counts_the_intervals_that_hold_the_accuracy():
    found = coverage(row([39.9, 40.0, 55.0, 60.0, 60.1]), [10], 2)
    assert found.covered == pytest.approx(60)
    assert found.width == pytest.approx(20)
    assert found.bias == pytest.approx(-1)
    assert np.isnan(found.gain)


def test_accuracies_are_compared_on_the_same_pairs():
    def steps(*numbers):
        return [{"n": 10 * i, "accuracy": each} for i, each in enumerate(numbers)]

    records = {
        ("toys/long", 0): {"accuracy": 0.0, "steps": steps(10.0, 20.0, 30.0)},
        ("toys/short", 0): {"accuracy": 0.0, "steps": steps(50.0, 60.0)},
    }
    found = LabelsRow(plan().methods[0], records)
    assert found.accuracy(10) == 40
    assert found.accuracy(10, having=20) == 20
    assert np.isnan(found.accuracy(30))


def test_worse_pairs_are_found_by_their_trials():
    better = compare(row([52.0] * 8), row([50.0] * 8))
    assert (better.difference, better.worse) == (2.0, ())
    assert better.p_value < 0.05
    assert compare(row([50.0] * 8), row([52.0] * 8)).worse == ("toys/one-two",)
    same = compare(row([50.0] * 8), row([50.0] * 8))
    assert same.worse == ()
    assert np.isnan(same.p_value)


def test_the_store_holds_the_estimates(toys, monkeypatch):
    said = AccuracyEstimate(0.625, 0.5, 0.75, 0.9, 0)
    monkeypatch.setattr(QuerySelector, "estimate_accuracy", lambda self: said)
    record = next(iter(plan().cells())).run()
    assert {(step["value"], step["low"], step["high"]) for step in record["steps"]} == {
        (62.5, 50.0, 75.0)
    }
