"""The field benchmark: draws, cells and table, on made-up tables."""

import csv
import importlib
import json
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from typer.testing import CliRunner

from ilspace.baselines import CORAL
from ilspace.benchmark import methods
from ilspace.benchmark.field import trials
from ilspace.benchmark.field.cells import estimates, scores
from ilspace.benchmark.field.constant import ConstantAnswer
from ilspace.benchmark.field.formats import FIELD_FORMATS
from ilspace.benchmark.field.plan import (
    FieldMethod,
    FieldPlan,
    describe_field_method,
    parse_field_plan,
    parse_setting,
)
from ilspace.benchmark.field.table import make_field_table, numbers
from ilspace.benchmark.field.trials import load_field_trial, load_tables, split_target
from ilspace.benchmark.kinds import load_experiment
from ilspace.benchmark.methods import describe_method, method_digest
from ilspace.benchmark.plan_entries import PlanError
from ilspace.benchmark.plan_files import load_plan
from ilspace.benchmark.report import write_report
from ilspace.benchmark.runner import run_cells
from ilspace.benchmark.store import Store
from ilspace.cli.app import app
from ilspace.datasets import Domain
from ilspace.datasets.table_domains import TABLES
from ilspace.estimators import ILSClassifier
from ilspace.tables import TableClassifier, adapt

PLAN = """
kind = "field"
title = "Toys"
trials = 2
settings = ["none", "9-random", "5-random-rare"]
references = ["plain"]

[[method]]
name = "constant"
estimator = "ConstantAnswer"
given_shares = true

[[method]]
name = "plain"
estimator = "ConstantAnswer"
groups = ["near", "far"]

[[method]]
name = "tables"
estimator = "TableClassifier"
estimates = true

[groups]
near = ["toys/one-two", "toys/two-one"]
far = ["toys/one-few"]
"""


def plan(text: str = PLAN) -> FieldPlan:
    return parse_field_plan("toys", tomllib.loads(text))


def a_table(n: int, seed: int):
    rng = np.random.default_rng(seed)
    y = np.array(["a", "b", "c"], dtype=object)[np.arange(n) % 3]
    size = rng.normal(size=n) + 4 * (y == "b")
    colour = np.where(y == "c", "red", "blue").astype(object)
    colour[rng.random(n) < 0.1] = None
    return pd.DataFrame({"size": size, "colour": colour}), y


@pytest.fixture
def toys(monkeypatch):
    """Three tables, one of which is short."""
    made = {name: a_table(n, i) for i, (name, n) in enumerate([("one", 90), ("two", 99)])}
    made["few"] = a_table(60, 7)
    monkeypatch.setattr(trials, "load_tables", lambda dataset: made)
    return made


# -- plans ---------------------------------------------------------------------------------------


def test_the_shipped_plan():
    shipped = load_experiment("field")
    assert isinstance(shipped, FieldPlan)
    sizes = {name: len(pairs) for name, pairs in shipped.groups.items()}
    assert sizes == {"tables": 20, "sentences": 6, "digits": 2, "surf": 12, "deep": 12}
    cells = list(shipped.cells())
    assert (shipped.trials, shipped.group_trials) == (1, {"tables": 3})
    drawn = [each.is_drawn for each in shipped.settings]
    n_cells = {
        group: len(pairs) * sum(3 if each and group == "tables" else 1 for each in drawn)
        for group, pairs in shipped.groups.items()
    }
    assert len(cells) == sum(
        n_cells[group] for method in shipped.methods for group in method.groups or shipped.groups
    )
    assert len({cell.key for cell in cells}) == len(cells)
    for pair in (*shipped.groups["tables"], *shipped.groups["sentences"]):
        dataset, _, names = pair.partition("/")
        assert set(names.split("-")) <= set(TABLES[dataset]["files"])
    with pytest.raises(PlanError, match="no entry for"):
        load_plan("field")
    assert load_experiment("pie").name == "pie"


@pytest.mark.parametrize(
    ("name", "title", "is_drawn"),
    [
        ("none", "No target labels", False),
        ("none-rare", "No target labels, rare classes", True),
        ("3-random", "3 random target labels", True),
        ("30-random-rare", "30 random target labels, rare classes", True),
    ],
)
def test_settings(name, title, is_drawn):
    setting = parse_setting(name)
    assert (setting.name, setting.title, setting.is_drawn) == (name, title, is_drawn)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("trials = 2", "", "lacks 'trials'"),
        ("trials = 2", "trials = 2\ncolour = 1", "no entry for 'colour'"),
        ("trials = 2", "trials = 2\ngroup_trials = { wide = 3 }", "but name 'wide'"),
        ("trials = 2", "trials = 2\ngroup_trials = { near = 0 }", "a table of whole numbers"),
        ('"none"', '"some"', "A setting must be none"),
        ('"none"', '"0-random"', "A setting must be none"),
        ('"near", "far"', '"wide"', "but name 'wide'"),
        ("toys/two-one", "toys", "DATASET/SOURCE-TARGET"),
        ("toys/two-one", "toys/one-two", "no pair twice"),
        ("estimates = true", "paper = 'SA'", "needs a name and an estimator"),
        ('references = ["plain"]', 'references = ["linear"]', "references be some of them"),
        ('name = "plain"', 'name = "constant"', "different names"),
    ],
)
def test_bad_plans_are_refused(old, new, message):
    with pytest.raises(PlanError, match=message):
        plan(PLAN.replace(old, new))


def test_parts_of_a_plan():
    part = plan().narrowed(
        trials=1, methods=["Tables"], transfers=["near", "toys/one-few"], blocks=["9-random"]
    )
    assert part.groups == plan().groups
    assert [cell.as_dict()["method"] for cell in part.cells()] == ["tables"] * 3
    assert part.references == ()
    assert plan().narrowed(transfers=["TOYS/one-few"]).pairs == ("toys/one-few",)
    with pytest.raises(PlanError, match="no setting 'none-rare'"):
        plan().narrowed(blocks=["none-rare"])
    with pytest.raises(PlanError, match="no pair or group 'x'"):
        plan().narrowed(transfers=["x"])
    with pytest.raises(PlanError, match="1 to 2 trials"):
        plan().narrowed(trials=3)


def test_groups_may_have_trials_of_their_own():
    uneven = plan(PLAN.replace("trials = 2", "trials = 2\ngroup_trials = { far = 4 }"))

    def trials(part, group):
        pairs = part.groups[group]
        return {each.trial for each in part.cells() if each.pair in pairs}

    assert (trials(uneven, "near"), trials(uneven, "far")) == ({0, 1}, {0, 1, 2, 3})
    part = uneven.narrowed(trials=3)
    assert (trials(part, "near"), trials(part, "far")) == ({0, 1}, {0, 1, 2})
    part = uneven.narrowed(transfers=["near"])
    assert part.group_trials == {}
    with pytest.raises(PlanError, match="1 to 2 trials"):
        part.narrowed(trials=3)
    fewer = plan(PLAN.replace("trials = 2", "trials = 2\ngroup_trials = { far = 1 }"))
    with pytest.raises(PlanError, match="1 to 1 trials"):
        fewer.narrowed(transfers=["far"], trials=2)
    paper = load_plan("surf-unsupervised").narrowed(blocks=["l1-zscore"])
    assert paper.blocks == ("l1-zscore",)
    with pytest.raises(PlanError, match="no preprocessing 'l3'"):
        paper.narrowed(blocks=["l3"])


# -- draws ---------------------------------------------------------------------------------------

LABELS = np.array(["a"] * 100 + ["b"] * 100 + ["c"] * 40 + ["d"] * 30 + ["x"] * 5, dtype=object)


def draw(setting: str, trial: int = 0, pair: str = "toys/one-two"):
    known = np.array(["a", "b", "c", "d", "e"], dtype=object)
    return split_target(known, LABELS, setting=parse_setting(setting), pair=pair, trial=trial)


def counts(rows) -> dict:
    return dict(zip(*np.unique(LABELS[rows], return_counts=True), strict=True))


def test_without_labels_all_rows_of_known_classes_take_part():
    split = draw("none")
    np.testing.assert_array_equal(split.rows, np.arange(270))
    assert not split.is_labelled.any()


def test_rare_classes_keep_a_share_and_at_least_ten_rows():
    split = draw("none-rare")
    assert counts(split.rows) == {"a": 100, "b": 15, "c": 40, "d": 10}
    assert (np.diff(split.rows) > 0).all()
    np.testing.assert_array_equal(draw("30-random-rare").rows, split.rows)
    assert set(draw("none-rare", 1).rows) != set(split.rows)


def test_labels_are_of_random_rows():
    split = draw("30-random")
    assert split.is_labelled.sum() == 30
    assert len(counts(split.rows[split.is_labelled])) > 1
    assert draw("300-random").is_labelled.all()
    assert (draw("30-random", 1).is_labelled != split.is_labelled).any()


PINNED_RARE = [102, 107, 110, 122, 128, 132, 135, 136, 142, 169, 171, 179, 189, 196, 197]
PINNED_LABELS = [
    ("12-random", "toys/one-two", 0, [17, 100, 103, 114, 137, 150, 157, 184, 215, 224, 266, 268]),
    ("12-random", "toys/one-two", 1, [71, 109, 120, 126, 138, 161, 175, 197, 218, 223, 235, 269]),
    (
        "12-random",
        "heart/cleveland-va",
        0,
        [3, 24, 32, 61, 74, 76, 123, 198, 204, 206, 229, 246],
    ),
    ("5-random-rare", "toys/one-two", 2, [14, 61, 85, 160, 204]),
]


def test_draws_are_the_same_on_every_machine():
    assert draw("none-rare").rows[100:115].tolist() == PINNED_RARE
    for setting, pair, trial, expected in PINNED_LABELS:
        split = draw(setting, trial, pair)
        assert split.rows[split.is_labelled].tolist() == expected


def test_a_trial_hides_labels(toys):
    trial = load_field_trial("toys/one-two", parse_setting("9-random"), 1)
    assert len(trial.Xt) == 99
    assert trial.yt is not None
    labelled = np.array([each is not None for each in trial.yt])
    assert labelled.sum() == 9
    np.testing.assert_array_equal(trial.yt[labelled], toys["two"][1][labelled])
    pd.testing.assert_frame_equal(trial.X_test, trial.Xt[~labelled].reset_index(drop=True))
    hidden = toys["two"][1][~labelled].tolist()
    assert trial.shares() == {each: hidden.count(each) / 90 for each in "abc"}
    assert load_field_trial("toys/one-two", parse_setting("none"), 0).yt is None


def test_numbers_become_tables(monkeypatch):
    made = Domain("A", np.eye(3, dtype=np.float32), np.arange(3), "made up")
    monkeypatch.setattr(trials, "load_office_caltech", lambda features: {"A": made})
    X, y = load_tables.__wrapped__("office-surf")["A"]
    assert list(X.columns) == ["x0", "x1", "x2"]
    np.testing.assert_array_equal(y, [0, 1, 2])


@pytest.mark.parametrize("name", ["office-colour", "houses"])
def test_unknown_data_are_refused(name):
    with pytest.raises(PlanError, match="data set"):
        load_tables(name)


def test_unknown_domains_are_refused(toys):
    with pytest.raises(PlanError, match="toys has no domain 'three'; it has one, two, few"):
        trials.load_pair("toys/one-three")


# -- cells ---------------------------------------------------------------------------------------


def test_scores_by_hand():
    probabilities = np.array([[0.9, 0.1, 0.0], [0.6, 0.4, 0.0], [0.2, 0.8, 0.0], [1.0, 0.0, 0.0]])
    truth = np.array(["a", "a", "b", "b"], dtype=object)
    found = scores(truth, probabilities, np.array(["a", "b", "c"], dtype=object))
    assert found == {
        "accuracy": 75.0,
        "balanced": 75.0,
        "log_loss": round(-np.mean(np.log([0.9, 0.6, 0.8, 1e-6])), 4),
        "n_test": 4,
        "sure": 2,
        "sure_right": 1,
    }


def test_the_constant_answer():
    fitted = ConstantAnswer({"a": 0.2, "b": 0.8}).fit(None, ["a", "a", "b", "c"])
    np.testing.assert_array_equal(fitted.predict_proba([1, 2]), [[0.2, 0.8, 0.0]] * 2)
    assert fitted.predict([1]).tolist() == ["b"]
    assert ConstantAnswer().fit(None, ["a", "a", "b"]).predict([1]).tolist() == ["a"]


def test_the_estimates_are_those_of_adapt(toys):
    trial = load_field_trial("toys/one-two", parse_setting("9-random"), 0)
    found = estimates(TableClassifier().fit(trial.X, trial.y, trial.Xt, trial.yt), trial)
    target = trial.Xt.assign(label=trial.yt)
    said = adapt(trial.X.assign(label=trial.y), target, "label", own_scaling=False).summary
    low, high = said["expected_accuracy_interval"]
    assert found == {
        "expected": pytest.approx(100 * said["expected_accuracy"], abs=0.01),
        "low": pytest.approx(100 * low, abs=0.01),
        "high": pytest.approx(100 * high, abs=0.01),
        "held_out": pytest.approx(100 * said["held_out_source_accuracy"], abs=0.01),
        "told_apart": pytest.approx(said["tables_told_apart"], abs=1e-4),
        "n_labels": 9,
    }


class Spy(BaseEstimator):
    """Keeps what it is given."""

    seen: list = []

    def __init__(self, class_prior=None, fails=False):
        self.class_prior, self.fails = class_prior, fails

    def fit(self, X, y, Xt, yt):
        if self.fails:
            raise RuntimeError("no luck")
        self.classes_ = np.unique(y)
        Spy.seen.append((self.class_prior, yt))
        return self

    def predict_proba(self, X):
        return np.full((len(X), 3), 1 / 3)


def test_what_an_estimator_is_given(toys, tmp_path, monkeypatch):
    monkeypatch.setitem(methods.KINDS, "Spy", Spy)
    monkeypatch.setattr(Spy, "seen", [])
    text = PLAN.replace('estimator = "ConstantAnswer"', 'estimator = "Spy"')
    text = text.replace('groups = ["near", "far"]', "parameters = { fails = true }")
    spied = plan(text).narrowed(
        methods=["constant", "plain"], blocks=["5-random-rare"], transfers=["toys/one-two"]
    )
    store = Store(tmp_path / "toys.jsonl")
    assert run_cells(spied.cells(), store, jobs=1) == 4
    (prior, yt), _ = Spy.seen
    assert sum(prior.values()) == pytest.approx(1)
    assert prior["b"] < 0.2 < prior["a"]  # b is rare
    assert sum(each is not None for each in yt) == 5
    failed = [record for record in store.records() if record.get("error")]
    assert [each["error"] for each in failed] == ["RuntimeError: no luck"] * 2
    assert run_cells(spied.cells(), store, jobs=1) == 2  # those that failed, again
    assert make_field_table(spied, store.records()).n_failed == 2


@pytest.mark.parametrize(
    ("option", "message"),
    [("given_shares", "no parameter class_prior"), ("estimates", "SourceOnly does not know")],
)
def test_what_a_method_cannot_do_is_not_asked(option, message):
    text = PLAN.replace('"TableClassifier"\nestimates', f'"SourceOnly"\n{option}')
    with pytest.raises(PlanError, match=message):
        list(plan(text).cells())


def test_a_method_takes_part_in_its_groups():
    far = plan(PLAN.replace('groups = ["near", "far"]', 'groups = ["far"]'))
    assert {cell.pair for cell in far.cells() if cell.method.name == "plain"} == {"toys/one-few"}
    assert {cell.pair for cell in far.cells() if cell.method.name == "tables"} == set(far.pairs)


@pytest.fixture
def store(toys, tmp_path):
    """Results of all cells."""
    made = Store(tmp_path / "toys.jsonl")
    assert run_cells(plan().cells(), made, jobs=1) == 45
    return made


@pytest.mark.slow
def test_run_table_and_report(store, tmp_path, toys):
    assert run_cells(plan().cells(), store, jobs=1) == 0
    assert all(len(line) < 420 for line in store.path.read_text().splitlines() if '"cell"' in line)
    table = make_field_table(plan(), store.records())
    assert {(pair, setting) for pair, setting, _ in table.skipped} == {
        ("toys/one-few", "5-random-rare")  # 60 rows, of which 50 - 5 are test
    }
    none, nine, rare = table.blocks
    constant, plain, tables = none.rows
    np.testing.assert_allclose(constant.accuracy, 100 / 3, atol=0.01)
    assert tables.accuracy.min() > 80
    assert tables.n_trials.tolist() == [1, 1, 1]
    assert nine.rows[2].n_trials.tolist() == [2, 2, 2]
    assert rare.counts.tolist() == [True, True, False]
    assert (tables.means["held_out"] > 80).all()
    assert np.isnan(constant.means["held_out"]).all()
    assert nine.rows[2].means["n_labels"].tolist() == [9.0] * 3
    text = FIELD_FORMATS["md"](table)
    assert "| constant (oracle shares) | 33.3 / 33.3 / 1.10 |" in text
    assert "| method | near (2) | far (0) | all (2) |" in text
    assert "Skipped, with fewer than 50 test rows: toys/one-few (5-random-rare 45)" in text
    lines = list(csv.DictReader(FIELD_FORMATS["csv"](table).splitlines()))
    assert len(lines) == 3 * (3 + 3 + 2)
    assert "tabular" in FIELD_FORMATS["latex"](table)


def test_the_report_shows_the_field_benchmark(tmp_path, monkeypatch):
    shipped = load_experiment("field")
    cell = next(iter(shipped.cells()))
    store = Store(tmp_path / "field.jsonl")
    store.append({"cell": cell.as_dict() | {"digest": "0"}, "accuracy": 1.0})
    assert "must hold results of field" in write_report(tmp_path)
    store.append(a_record(cell, 71.24))
    assert "No target labels" in write_report(tmp_path)


def test_from_the_command_line(toys, tmp_path):
    (tmp_path / "toys.toml").write_text(PLAN)
    options = [str(tmp_path / "toys.toml"), "--store", str(tmp_path), "--methods", "constant,plain"]
    result = CliRunner().invoke(app, ["bench", "run", *options, "--jobs", "1"])
    assert result.exit_code == 0, result.output
    result = CliRunner().invoke(app, ["bench", "table", *options, "--blocks", "none"])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("# Toys\n\n## No target labels\n")
    assert (tmp_path / "toys.tex").read_text().startswith("% No target labels")
    assert (tmp_path / "toys.csv").read_text().count("\n") == 7
    result = CliRunner().invoke(app, ["bench", "table", *options, "--blocks", "all"])
    assert result.exit_code == 2
    assert "no setting 'all'" in result.stderr


# -- digests -------------------------------------------------------------------------------------


def test_what_a_method_makes_for_itself_counts(monkeypatch):
    parameters = ({}, {"method": "ils"}, {"method": "CORAL"}, {"method": "committee"})
    made = [FieldMethod("tables", "TableClassifier", each) for each in parameters]
    before = [method_digest(describe_method(each)) for each in made]

    def changed():
        now = [method_digest(describe_method(each)) for each in made]
        return [a != b for a, b in zip(now, before, strict=True)]

    monkeypatch.setattr(ILSClassifier, "_revision", 99)
    assert changed() == [True, True, False, False]
    monkeypatch.setattr(CORAL, "_revision", 99, raising=False)
    assert changed() == [True, True, True, False]
    monkeypatch.setattr(TableClassifier, "_revision", 99)
    assert changed() == [True] * 4


def test_estimators_of_other_packages_are_described_by_what_is_set():
    field = load_experiment("field")
    assert isinstance(field, FieldPlan)
    shipped = {each.name: each for each in field.methods}
    described = {name: describe_field_method(each) for name, each in shipped.items()}
    boosting, linear = (described[name]["parameters"]["method"] for name in ("boosting", "linear"))
    assert boosting["estimator"] == "HistGradientBoostingClassifier"
    assert boosting["parameters"] == {}  # the seed is that of a cell
    steps = {each["estimator"]: each["parameters"] for _, each in linear["parameters"]["steps"]}
    assert list(steps) == ["SimpleImputer", "StandardScaler", "LogisticRegression"]
    assert steps["LogisticRegression"] == {"max_iter": 1000}


def test_given_shares_are_part_of_the_method():
    plain = FieldMethod("constant", "ConstantAnswer")
    given = FieldMethod("constant", "ConstantAnswer", given_shares=True)
    assert describe_field_method(given) == describe_field_method(plain) | {"given_shares": True}
    asked, others = (FieldMethod("tables", "TableClassifier", estimates=e) for e in (True, False))
    assert describe_field_method(asked) == describe_field_method(others) | {"estimates": True}


# -- the table, from invented records ------------------------------------------------------------


def a_record(cell, accuracy: float, **said) -> dict:
    found = {"accuracy": accuracy, "balanced": 50.0, "log_loss": 0.5, "seconds": 1.0}
    counts = {"n_test": 200, "sure": 20, "sure_right": 19}
    return {"cell": cell.as_dict()} | found | counts | said


RIVALS = """
kind = "field"
trials = 1
settings = ["none"]
references = ["linear", "boosting"]

[[method]]
name = "constant"
estimator = "ConstantAnswer"
given_shares = true

[[method]]
name = "linear"
estimator = "ConstantAnswer"

[[method]]
name = "boosting"
estimator = "ConstantAnswer"
groups = ["tables"]

[[method]]
name = "committee"
estimator = "TableClassifier"
estimates = true

[groups]
tables = ["heart/a-b", "heart/b-a"]
images = ["surf/A-B"]
"""
ACCURACY = {
    "constant": [90.0, 90.0, 90.0],
    "linear": [60.0, 70.0, 80.0],
    "boosting": [66.0, 62.0],
    "committee": [65.0, 68.8, 79.0],
}
SAID = [
    {"expected": 75.0, "low": 66.0, "high": 84.0},
    {"expected": 65.8, "low": 55.0, "high": 75.0},
    {"expected": None, "low": None, "high": None},
]


def rivals():
    made = plan(RIVALS)
    records = []
    for cell in made.cells():
        place, said = made.pairs.index(cell.pair), {}
        if cell.method.name == "committee":
            said = SAID[place] | {"held_out": 88.0, "told_apart": 0.9, "n_labels": 0}
            said |= {"sure": 10 * place, "sure_right": 9 * place}
        records.append(a_record(cell, ACCURACY[cell.method.name][place], **said))
    return made, records


def test_differences_to_the_references():
    made, records = rivals()
    table = make_field_table(made, records)
    text = FIELD_FORMATS["md"](table)
    linear, boosting = (
        text.partition(f"Accuracy minus that of {name} ")[2].partition(":")[2].partition(":\n")[0]
        for name in made.references
    )
    # by pair +5.0, -1.2 and -1.0 to linear; -1.0 and +6.8 to boosting, which is on tables alone
    assert "| committee | +1.9 / 50 | -1.0 / 0 | +0.9 / 33 |" in linear
    assert "| committee | +2.9 / 0 | – / – | – / – |" in boosting
    assert "| linear |" not in linear
    assert "| linear | +1.0 / 50 | – / – | – / – |" in boosting
    latex = FIELD_FORMATS["latex"](table)
    assert "& +2.9 / 0 & -- / -- & -- / -- \\\\" in latex


def test_what_methods_say_of_themselves():
    made, records = rivals()
    text = FIELD_FORMATS["md"](make_field_table(made, records))
    # 0, 10 and 20 sure rows of 200 each; none of the first pair
    assert "| committee | 2.5 / 90.0 | 10.0 / 90.0 | 5.0 / 90.0 |" in text
    assert "| constant (oracle shares) | 10.0 / 95.0 | 10.0 / 95.0 | 10.0 / 95.0 |" in text
    # 10 and 3 points off, the first below its interval; then no number
    assert "| committee | 100 / 50 / 6.5 | 0 / 0 / – | 67 / 33 / 6.5 |" in text
    fewer = [each for each in records if each["cell"]["pair"] != "heart/a-b"]
    assert "| committee | – / – / – | 0 / 0 / – | – / – / – |" in (
        FIELD_FORMATS["md"](make_field_table(made, fewer))
    )
    (line,) = [
        each
        for each in csv.DictReader(
            FIELD_FORMATS["csv"](make_field_table(made, records)).splitlines()
        )
        if (each["method"], each["pair"]) == ("committee", "surf/A-B")
    ]
    assert (line["accuracy"], line["held_out"], line["group"]) == ("79", "88", "images")
    assert (line["expected"], line["error"], line["close"]) == ("", "", "0")


def test_numbers_that_follow_from_a_record():
    cell = next(iter(plan().cells()))
    expected = {"expected": 60.0, "low": 50.0, "high": 70.0}
    found = numbers(a_record(cell, 70.0, **expected))
    assert (found["error"], found["close"], found["covered"]) == (10.0, 100.0, 100.0)
    assert found["sure_share"] == 10.0
    found = numbers(a_record(cell, 70.1, **expected))
    assert (found["close"], found["covered"]) == (0.0, 0.0)
    assert "close" not in numbers(a_record(cell, 70.0))


def test_a_missing_pair_is_not_averaged_away():
    made, records = rivals()
    kept = [each for each in records if each["cell"]["pair"] != "heart/a-b"]
    text = FIELD_FORMATS["md"](make_field_table(made, kept))
    assert "| committee | – / – / – | 79.0 / 50.0 / 0.50 | – / – / – |" in text
    assert make_field_table(made, []).blocks == ()


def test_outdated_results_are_left_out():
    made, records = rivals()
    records = json.loads(json.dumps(records))
    for record in records:
        if record["cell"]["method"] == "committee":
            record["cell"]["digest"] = "0" * 16
    table = make_field_table(made, records)
    assert table.n_outdated == 3
    assert "3 cells have results of other" in FIELD_FORMATS["md"](table)
    assert len(table.blocks[0].rows) == 3


def test_numbers_for_the_docs(tmp_path, monkeypatch):
    made, records = rivals()
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "docs" / "_ext"))
    stored_results = importlib.import_module("stored_results")
    monkeypatch.setattr(stored_results, "load_experiment", lambda name: made)
    store = Store(tmp_path / "rivals.jsonl")
    for record in records:
        store.append(record)
    results = stored_results.StoredResults(tmp_path)
    assert results.text("rivals/none/committee/tables") == "66.9"
    assert results.text("rivals/none/committee/all log_loss") == "0.50"
    assert results.text("rivals/none/committee - linear/images") == "-1.0"
    assert results.text("rivals/none/committee/tables below linear") == "50.0"
    assert results.text("rivals/none/committee/tables below boosting") == "0.0"
    assert results.text("rivals/none/committee/images sure") == "10.0"
    for wrong in (
        "none/committee/colours",
        "some/committee/all",
        "none/ILS/all",
        "none/linear/all x",
    ):
        with pytest.raises(stored_results.NoSuchNumberError):
            results.text(f"rivals/{wrong}")
