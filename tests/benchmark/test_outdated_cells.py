"""A cell knows what it ran: results of other parameters or revisions are not taken for its own."""

import importlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from benchmark.test_bench import made_up
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from ilspace.benchmark import cells
from ilspace.benchmark.cells import run_cell
from ilspace.benchmark.formats import FORMATS
from ilspace.benchmark.kinds import load_experiment
from ilspace.benchmark.methods import describe_method, method_digest
from ilspace.benchmark.plan_entries import PlanError
from ilspace.benchmark.plan_files import parse_plan
from ilspace.benchmark.runner import run_cells
from ilspace.benchmark.store import Store, find_results
from ilspace.benchmark.tables import make_table
from ilspace.cli.app import app
from ilspace.estimators import ILSTransformer, ObjectiveSettings

PLAN = """
dataset = "toy"
features = "pixels"
preprocessing = ["l2"]
setting = "unsupervised"
trials = 1
transfers = ["one-two", "two-one"]
columns = ["12", "21"]

[[method]]
name = "1-NN-s"
estimator = "SourceOnly"

[[method]]
name = "ILS"
estimator = "ILSClassifier"
parameters = { n_components = 2, max_iter = 2, tol = 1.0 }
"""
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def invented(tmp_path_factory):
    """Folder of invented data, read once: the domains of a folder are kept."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    (folder / "toy").mkdir()
    labels = np.repeat([1, 2, 3], 10)
    for name in ("one", "two"):
        rows = rng.normal(size=(30, 6)) + 5 * np.eye(3, 6)[labels - 1]
        scipy.io.savemat(folder / "toy" / f"{name}.mat", {"fea": rows, "gnd": labels[:, None]})
    cells._domains.cache_clear()
    yield folder
    cells._domains.cache_clear()


@pytest.fixture
def plan(invented, monkeypatch):
    """A plan of four cells that run in no time, on invented data."""
    monkeypatch.setenv("ILSPACE_DATA", str(invented))
    return parse_plan("toy", PLAN)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results" / "toy.jsonl")


def run(plan, store) -> list[str]:
    """Methods of the cells that ran."""
    ran = []
    run_cells(plan.cells(), store, jobs=1, on_record=lambda each: ran.append(each))
    assert [each["error"] for each in ran] == [None] * len(ran)
    return sorted(each["cell"]["method"] for each in ran)


def forget_digests(store: Store) -> None:
    """Make a store what it was before digests."""
    found = list(store.records())
    for record in found:
        del record["cell"]["digest"]
    store.path.write_text("".join(json.dumps(record) + "\n" for record in found))


def change_default(monkeypatch) -> None:
    monkeypatch.setitem(ObjectiveSettings.__init__.__kwdefaults__, "trade_off", 0.5)


def raise_revision(monkeypatch) -> None:
    monkeypatch.setattr(ILSTransformer, "_revision", ILSTransformer._revision + 1, raising=False)


# -- running -------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [change_default, raise_revision])
def test_cells_of_a_changed_method_run_anew_and_others_do_not(change, plan, store, monkeypatch):
    assert run(plan, store) == ["1-NN-s", "1-NN-s", "ILS", "ILS"]
    assert run(plan, store) == []
    before = store.path.read_bytes()
    with monkeypatch.context() as patch:
        change(patch)
        assert run(plan, store) == ["ILS", "ILS"]
        assert run(plan, store) == []
        assert store.path.read_bytes().startswith(before)  # append-only, as ever
    assert run(plan, store) == []  # the old results count again where the change is undone


def test_parameters_spelled_out_are_the_same_cells(plan, store):
    run(plan, store)
    spelled = PLAN.replace("tol = 1.0 }", "tol = 1.0, objective__trade_off = 1.0, verbose = 0 }")
    assert run(parse_plan("toy", spelled), store) == []
    other = PLAN.replace("tol = 1.0 }", "tol = 1.0, objective__trade_off = 0.5 }")
    assert run(parse_plan("toy", other), store) == ["ILS", "ILS"]
    fixed_seed = PLAN.replace("tol = 1.0 }", "tol = 1.0, random_state = 3 }")
    assert run(parse_plan("toy", fixed_seed), store) == ["ILS", "ILS"]


def test_results_of_a_store_without_digests_are_computed_anew(plan, store):
    run(plan, store)
    forget_digests(store)
    assert len(run(plan, store)) == 4
    assert run(plan, store) == []
    assert len(list(store.records())) == 8


def test_each_method_is_described_once_before_its_records(plan, store):
    run(plan, store)
    lines = [json.loads(line) for line in store.path.read_text().splitlines()]
    known = set()
    for line in lines:
        if "cell" in line:
            assert line["cell"]["digest"] in known
        else:
            assert line["digest"] == method_digest(line["method"]) not in known
            known.add(line["digest"])
    assert len(lines) == 4 + 2
    assert store.methods() == {
        method_digest(each): each for each in map(describe_method, plan.methods)
    }
    assert (
        store.methods()[lines[-1]["cell"]["digest"]]["parameters"]["objective"]["parameters"][
            "trade_off"
        ]
        == 1.0
    )


def test_a_description_that_was_cut_short_is_written_again(plan, store):
    run(plan.narrowed(methods=["ILS"]), store)
    first, *others = store.path.read_bytes().splitlines(keepends=True)
    for end in (b"", b"\n"):
        store.path.write_bytes(others[0] + first[:40] + end)
        assert store.methods() == {}
        assert len(list(store.records())) == 1
        assert run(plan.narrowed(methods=["ILS"]), store) == ["ILS"]
        assert list(store.methods()) == [json.loads(first)["digest"]]
        assert len(list(store.records())) == 2


@given(
    st.lists(
        st.one_of(
            st.integers(0, 5).map(lambda i: {"cell": {"trial": i}, "error": None}),
            st.integers(0, 5).map(lambda i: {"digest": f"{i}", "method": {"revision": i}}),
            st.sampled_from([{}, {"cell": 1}, {"digest": 1, "method": {}}, [], None, "torn"]),
        )
    )
)
def test_both_kinds_of_lines_are_read_among_others(tmp_path_factory, lines):
    store = Store(tmp_path_factory.mktemp("any") / "store.jsonl")
    texts = ['{"cell": {"tri' if line == "torn" else json.dumps(line) for line in lines]
    store.path.write_text("".join(text + "\n" for text in texts))
    whole = [line for line in lines if isinstance(line, dict)]
    assert list(store.records()) == [each for each in whole if isinstance(each.get("cell"), dict)]
    assert set(store.methods()) == {
        each["digest"] for each in whole if isinstance(each.get("digest"), str)
    }


def test_a_worker_with_another_method_says_so_and_records_no_result(plan):
    cell = replace(next(iter(plan.cells())), digest="0" * 16)
    record = run_cell(cell)
    assert "install the same version of ilspace on all workers" in record["error"]
    assert "accuracy" not in record
    with pytest.raises(PlanError, match="0000000000000000"):
        cells.check_cell(cell)


# -- tables, figures, report, docs ---------------------------------------------------------------


def fill(plan, store, accuracy: float) -> None:
    for cell in plan.cells():
        store.append({"cell": cell.as_dict(), "accuracy": accuracy, "error": None})


def test_a_table_is_made_of_current_results_only(plan, store, monkeypatch):
    fill(plan, store, 10.0)
    with monkeypatch.context() as patch:
        change_default(patch)
        fill(plan.narrowed(transfers=["12"]), store, 30.0)
        table = make_table(plan, store.records())
        (block,) = table.blocks
        found = {row.method: row.mean.tolist() for row in block.rows}
        assert found["1-NN-s"] == [30.0, 10.0]
        assert found["ILS"][0] == 30.0
        assert np.isnan(found["ILS"][1])
        assert table.n_outdated == 1
        assert "1 cell has results of other or unrecorded parameters" in FORMATS["md"](table)
    table = make_table(plan, store.records())
    assert {row.method: row.mean.tolist() for row in table.blocks[0].rows}["ILS"] == [10.0, 10.0]
    assert table.n_outdated == 0
    assert "unrecorded" not in FORMATS["md"](table)


def test_a_failure_does_not_hide_what_is_outdated(plan):
    """A cell that failed with the current parameters is failed, not outdated."""
    every = list(plan.cells())
    old = [{"cell": replace(each, digest="old").as_dict(), "error": None} for each in every]
    failed = [{"cell": every[0].as_dict(), "error": "it broke"}]
    assert find_results(every, old).n_outdated == 4
    assert find_results(every, old + failed).n_outdated == 3
    assert make_table(plan, old + failed).n_failed == 1
    broken = [each | {"error": "it broke"} for each in old]
    assert find_results(every, broken).n_outdated == 0  # an old failure is no result


@pytest.mark.parametrize("without_digests", [False, True])
def test_commands_say_what_is_outdated(without_digests, plan, store, tmp_path, monkeypatch):
    (tmp_path / "toy.toml").write_text(PLAN)
    place = [str(tmp_path / "toy.toml"), "--store", str(store.path.parent)]
    fill(plan.narrowed(methods=["ILS"]), store, 10.0)
    if without_digests:
        forget_digests(store)
    else:
        change_default(monkeypatch)
    refused = CliRunner().invoke(app, ["bench", "table", *place])
    assert refused.exit_code == 2
    assert refused.stdout == ""
    assert "with other or unrecorded ones only: make them anew with `ilspace bench" in (
        refused.stderr
    )
    assert not store.path.with_suffix(".md").exists()
    started = CliRunner().invoke(app, ["bench", "run", *place, "--jobs", "1", "--methods", "ils"])
    assert started.exit_code == 0, started.output
    assert "2 cells have results of other" in started.stderr
    fill(plan, store, 10.0)
    assert CliRunner().invoke(app, ["bench", "table", *place]).stderr == ""


def test_a_table_of_some_outdated_cells_says_so_on_standard_error(
    plan, store, tmp_path, monkeypatch
):
    (tmp_path / "toy.toml").write_text(PLAN)
    fill(plan, store, 10.0)
    change_default(monkeypatch)
    command = ["bench", "table", str(tmp_path / "toy.toml"), "--store", str(store.path.parent)]
    result = CliRunner().invoke(app, [*command, "--format", "csv"])
    assert result.exit_code == 0
    assert "2 cells have results of other" in result.stderr
    assert "ILS" not in result.stdout


def test_figures_and_report_leave_outdated_results_out(tmp_path, monkeypatch):
    path = tmp_path / "solvers.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in made_up("solvers")))
    raise_revision(monkeypatch)
    output = tmp_path / "figures"
    command = ["bench", "figures", "--store", str(tmp_path), "--output", str(output)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "No figure of solvers: 240 cells have results of other" in result.stderr
    assert not (output / "solvers.png").exists()
    page = tmp_path / "report.html"
    command = ["bench", "report", "--store", str(tmp_path), "--output", str(page)]
    assert CliRunner().invoke(app, command).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "240 cells with other or unrecorded ones only" in text
    assert "<table" not in text.partition("<script>/*")[0]


def test_numbers_of_the_docs_are_current_ones(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    module = importlib.import_module("stored_results")
    path = tmp_path / "subspaces.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in made_up("subspaces")))
    results = module.StoredResults(tmp_path)
    assert results.text("subspaces/l1-zscore/SA W_s/mean")
    raise_revision(monkeypatch)
    module._summary.cache_clear()
    assert results.text("subspaces/l1-zscore/SA PCA/mean")
    with pytest.raises(LookupError, match=r"no 'SA W_s'.*which are left out: make them anew with"):
        results.text("subspaces/l1-zscore/SA W_s/mean")
    kept = [each for each in made_up("subspaces") if each["cell"]["method"] == "SA PCA"]
    for record in kept:
        del record["cell"]["digest"]
    path.write_text("".join(json.dumps(record) + "\n" for record in kept))
    module._summary.cache_clear()
    with pytest.raises(LookupError, match="unrecorded ones only: make them anew with `ilspace"):
        results.text("subspaces/l1-zscore/SA PCA/mean")
    module._summary.cache_clear()


@pytest.mark.parametrize(
    "path",
    sorted((ROOT / "benchmarks").glob("*.jsonl*")),
    ids=lambda path: path.name.partition(".")[0],
)
def test_published_results_are_current(path):
    """Whoever changes a default or raises a revision publishes the new results with it."""
    name = path.name.partition(".")[0]
    store, every = Store(path.with_name(f"{name}.jsonl")), list(load_experiment(name).cells())
    found = find_results(every, store.records())
    assert (found.n_outdated, len(found.records)) == (0, len(every))
    described = store.methods()
    assert set(described) == {cell.digest for cell in every}
    assert all(method_digest(each) == digest for digest, each in described.items())
