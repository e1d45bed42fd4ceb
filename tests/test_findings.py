"""The numbers of the docs come from the stores, and so do the verdicts of the page of findings."""

import importlib
import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from ilspace.benchmark.plans import FIXED
from ilspace.benchmark.store import Store

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
GENERATED = {"_generated", "auto_examples", "generated", "backreferences"}
PAGES = [
    path
    for path in sorted(DOCS.rglob("*.md"))
    if GENERATED.isdisjoint(path.relative_to(DOCS).parts)
]

needs_stores = pytest.mark.skipif(
    not (ROOT / "benchmarks").is_dir(), reason="the results of the benchmark are not here"
)


@pytest.fixture
def results(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    return importlib.import_module("stored_results").StoredResults(ROOT / "benchmarks")


@needs_stores
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_numbers_that_a_page_asks_for_are_there(page, results):
    for name in re.findall(r"\{bench\}`([^`]+)`", page.read_text()):
        assert results.text(name) != "–", name
    for name in re.findall(r"\{benchmark-(?:table|figure)\} (\S+)", page.read_text()):
        assert results.table(name).blocks


def test_no_number_of_ours_is_typed():
    text = re.sub(r"`[^`]*`", "", (DOCS / "reproduction.md").read_text())
    assert not re.findall(r"\d\.\d", text)


@needs_stores
def test_a_number_by_its_name(results):
    """Against the records themselves, averaged in another order."""
    accuracies: dict[tuple, list[float]] = {}
    latest = {str(each["cell"]): each for each in Store(results.store("subspaces")).records()}
    for record in latest.values():
        cell = record["cell"]
        if record.get("error") is None and cell["preprocessing"] == "l1-zscore":
            place = cell["method"], cell["source"] + cell["target"]
            accuracies.setdefault(place, []).append(record["accuracy"])

    def mean(method: str) -> float:
        return float(np.mean([np.mean(v) for (name, _), v in accuracies.items() if name == method]))

    assert results.text("subspaces/l1-zscore/SA PCA/mean") == f"{mean('SA PCA'):.1f}"
    gain = mean("SA W_s") - mean("SA PCA")
    assert results.text("subspaces/l1-zscore/SA W_s - SA PCA/mean") == f"{gain:+.1f}"
    assert (
        results.text("subspaces/l1-zscore/SA PCA/AW")
        == f"{np.mean(accuracies['SA PCA', 'AW']):.1f}"
    )


@needs_stores
def test_columns_are_counted(results):
    table = results.table("surf-unsupervised")
    rows = [row for row in table.blocks[0].rows if row.selection == FIXED]
    firsts = {
        row.method: int(results.text(f"surf-unsupervised/l1-zscore/{row.method}/firsts"))
        for row in rows
    }
    assert sum(firsts.values()) == len(table.transfers)  # no two share a place here
    ours = next(row for row in rows if row.method == "ILS")
    lost = [
        transfer
        for j, transfer in enumerate(table.transfers)
        if any(row.paper is not None and row.paper[j] >= ours.mean[j] for row in rows)
    ]
    said = results.text("surf-unsupervised/l1-zscore/ILS/above paper")
    assert int(said) == len(table.transfers) - len(lost)
    assert results.text("deep-unsupervised/l2-zscore-l2/ILS/above paper") == "–"


@needs_stores
@pytest.mark.parametrize(
    "name",
    [
        "subspaces/l1-zscore/SA PCA",
        "subspaces/l1-zscore/no such/mean",
        "subspaces/no such/SA PCA/mean",
        "subspaces/l1-zscore/SA PCA/no such",
    ],
)
def test_a_name_that_leads_to_no_number_is_refused(results, name):
    with pytest.raises(LookupError, match="but"):
        results.text(name)


def test_an_experiment_that_was_not_run_says_how_to_run_it(results, tmp_path):
    with pytest.raises(LookupError, match="ilspace bench run pie"):
        type(results)(tmp_path).table("pie")


# -- verdicts: what "yes" and "no" on the page of findings claim, read from the stores ------------


def means(results, experiment: str) -> list[dict[str, float]]:
    """Mean accuracy by method of fixed parameters, one dictionary a preprocessing."""
    blocks = results.table(experiment).blocks
    return [
        {row.method: row.average for row in block.rows if row.selection == FIXED}
        for block in blocks
    ]


@needs_stores
@pytest.mark.parametrize(
    "experiment",
    [
        "surf-unsupervised",
        "surf-semisupervised",
        "deep-unsupervised",
        "deep-semisupervised",
        "surf-full-source",
    ],
)
def test_ils_has_the_best_mean(results, experiment):
    for found in means(results, experiment):
        assert max(found, key=lambda method: found[method]) == "ILS"


@needs_stores
def test_our_coral_is_below_the_papers_on_its_features(results):
    rows = {row.method: row for row in results.table("surf-unsupervised").blocks[0].rows}
    assert rows["CORAL"].difference < 0


@needs_stores
@pytest.mark.parametrize("experiment", ["deep-unsupervised", "deep-semisupervised"])
def test_the_lead_on_deep_features_is_significant(results, experiment):
    assert float(results.text(f"{experiment}/l2-zscore-l2/best other/p")) < 0.05


@needs_stores
@pytest.mark.parametrize("method", ["GFK", "SA"])
def test_learned_subspace_beats_pls_and_pls_beats_pca(results, method):
    for found in means(results, "subspaces"):
        assert found[f"{method} W_s"] > found[f"{method} PLS"] > found[f"{method} PCA"]


@needs_stores
def test_trade_off_matters_only_beyond_one(results):
    for found in means(results, "trade-off"):
        small = [found[f"ILS λ={each}"] for each in ("0", "0.01", "0.1", "1")]
        assert np.ptp(small) < 0.5
        assert abs(found["as in the paper λ=0"] - found["as in the paper λ=1"]) < 0.5
        assert min(small) - 0.5 > found["ILS λ=10"] > found["ILS λ=100"]


@needs_stores
def test_orthonormality_matters_to_the_papers_objective_only(results):
    for found in means(results, "orthogonality"):
        assert found["as in the paper"] - found["as in the paper, free"] > 0.5
        assert abs(found["ILS"] - found["ILS, free"]) < 0.5


@needs_stores
def test_solvers_rank_as_the_page_says(results):
    """By the share of the decrease that is left after 30 iterations, median over the runs."""
    left: dict[str, list[float]] = {}
    records = [each for each in Store(results.store("solvers")).records() if each.get("objective")]

    def case(record) -> tuple:
        return tuple(record["cell"][key] for key in ("preprocessing", "source", "target", "trial"))

    for _, runs in itertools.groupby(sorted(records, key=case), key=case):
        runs = list(runs)
        lowest = min(min(run["objective"]) for run in runs)
        for run in runs:
            values = run["objective"]
            share = (values[min(30, len(values) - 1)] - lowest) / (values[0] - lowest)
            left.setdefault(run["cell"]["method"], []).append(share)
    medians = {method: float(np.median(shares)) for method, shares in left.items()}
    order = ["L-BFGS", "conjugate gradient", "alternating", "projected gradient"]
    assert sorted(order, key=lambda method: medians[method]) == order


@needs_stores
@pytest.mark.parametrize(
    "path", sorted((ROOT / "benchmarks").glob("*.jsonl*")), ids=lambda p: p.name.partition(".")[0]
)
def test_no_published_cell_failed(path):
    store = Store(path.with_name(f"{path.name.partition('.')[0]}.jsonl"))
    failed = [each["cell"] for each in store.records() if each.get("error") is not None]
    assert failed == []
