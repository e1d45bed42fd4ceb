"""The README says what is so: its numbers are made, and its code runs as it stands."""

import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ilspace.benchmark.kinds import load_experiment
from ilspace.benchmark.store import Store

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def test_numbers_are_those_of_the_stores(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "measurements"))
    front_page = importlib.import_module("front_page")
    assert front_page.renewed(README) == README


def test_a_number_that_was_typed_is_noticed(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "measurements"))
    front_page = importlib.import_module("front_page")
    wrong = re.sub(r"\*\*\d\d\.\d\*\*", "**99.9**", README, count=1)
    assert wrong != README
    assert front_page.renewed(wrong) == README


def test_the_front_page_of_the_docs_has_the_same_numbers():
    page = (ROOT / "docs" / "index.md").read_text()
    for name in ("pays", "accuracy", "speed"):
        assert f':start-after: "<!-- {name}: begin -->"' in page
        assert f':end-before: "<!-- {name}: end -->"' in page
    assert not re.findall(r"\d\d\.\d", page), "a number that is typed"


@pytest.mark.usefixtures("mnist_once")
def test_the_first_lines_of_python_run_as_they_stand(capsys):
    (code, *_) = re.findall(r"^```python\n(.*?)^```$", README, re.M | re.S)
    assert len([line for line in code.splitlines() if line]) == 6
    exec(code, {"__name__": "__main__"})
    said = capsys.readouterr().out
    promised = re.search(r"# (0\.\d\d);", code)
    assert promised is not None
    assert float(said) == pytest.approx(float(promised[1]), abs=0.01)
    shown = re.search(r"with ilspace (\d\d) %", README)
    assert shown is not None
    assert int(shown[1]) == round(100 * float(promised[1]))


# -- does it pay? --------------------------------------------------------------------------------


@pytest.fixture
def does_it_pay(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "measurements"))
    return importlib.import_module("does_it_pay")


def test_of_pairs_at_random_only_the_half_to_report_counts(does_it_pay, tmp_path):
    lines = ["pair,half,method,labels,accuracy"]
    for pair, half, more in (("a", "report", 0), ("b", "report", 4), ("c", "choose", 40)):
        for method, n, accuracy in (
            *(("boosting", 0, 50), ("linear", 0, 51), ("committee", 0, 52)),
            *(("boosting", 30, 60), ("committee", 30, 61)),
        ):
            lines.append(f"{pair},{half},{method},{n},{accuracy + more}")
    store = tmp_path / "other-tables.csv"
    store.write_text("\n".join(lines))
    assert does_it_pay.of_other_tables(tmp_path) == ["52.0", "53.0", "**54.0**", "63.0", "2"]
    store.write_text("\n".join(line for line in lines if "report" not in line))
    cells = ["⟨report⟩", "⟨report⟩", "**⟨report⟩**", "⟨report⟩", "⟨report⟩"]
    assert does_it_pay.of_other_tables(tmp_path) == cells


def test_rows_of_the_field_benchmark_are_means_over_pairs(does_it_pay, tmp_path):
    plan: Any = load_experiment("field").narrowed(trials=1, blocks=("none", "30-random"))
    store, accuracies = Store(tmp_path / "field.jsonl"), {}
    for number, cell in enumerate(plan.cells()):
        accuracies[cell.setting, cell.method.name, cell.pair] = accuracy = 40 + number % 17
        scores = {"accuracy": accuracy, "balanced": 1, "log_loss": 1, "seconds": 1}
        rows = {"n_test": 100, "sure": 0, "sure_right": 0}
        skipped = cell.pair == "students/town-country" and cell.setting == "30-random"
        found = {"skipped": 40} if skipped else scores | rows
        store.append({"cell": cell.as_dict()} | found)

    def mean(setting, method, groups):
        pairs = [pair for each in groups for pair in plan.groups[each]]
        pairs = [each for each in pairs if each != "students/town-country"]
        return f"{np.mean([accuracies[setting, method, each] for each in pairs]):.1f}"

    features, ours = ("digits", "surf", "deep"), "committee, own scaling"
    assert does_it_pay.of_field(tmp_path, features, "ils") == [
        "–",  # boosting takes no part in one of the groups
        mean("none", "linear", features),
        f"**{mean('none', 'ils', features)}**",
        mean("30-random", "ils", features),
        "26",
    ]
    assert does_it_pay.of_field(tmp_path, ("tables",), ours) == [
        mean("none", "boosting", ("tables",)),
        mean("none", "linear", ("tables",)),
        f"**{mean('none', ours, ('tables',))}**",
        mean("30-random", ours, ("tables",)),
        "19",  # one pair has too few test rows in one of the settings
    ]
    assert "⟨field⟩" in does_it_pay.of_field(tmp_path / "nowhere", features, "ils")
