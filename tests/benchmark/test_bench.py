"""Plans, the store and the runner: nothing that finished is lost or repeated."""

import json
import lzma
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.io
from typer.testing import CliRunner

from ilspace.benchmark import cells
from ilspace.benchmark.cells import run_cell
from ilspace.benchmark.experiment_names import experiment_names
from ilspace.benchmark.formats import FORMATS
from ilspace.benchmark.methods import describe_method, make_method
from ilspace.benchmark.plan_entries import PlanError
from ilspace.benchmark.plan_files import load_plan, parse_plan
from ilspace.benchmark.runner import run_cells
from ilspace.benchmark.store import Store
from ilspace.benchmark.tables import make_table, paper_table
from ilspace.benchmark.tasks import cell_key
from ilspace.cli.app import app

PLAN = """
dataset = "office-caltech"
features = "surf"
preprocessing = ["l1-zscore"]
setting = "semi-supervised"
trials = 3
transfers = ["DW", "WD"]
paper = "surf-semi-supervised"

[[method]]
name = "1-NN-t"
estimator = "TargetOnly"

[[method]]
name = "ILS"
estimator = "ILSClassifier"
parameters = { n_components = 5, self_training = 0, max_iter = 2, tol = 1.0 }
"""
needs_data = pytest.mark.usefixtures("ilspace_data")


def plan():
    return parse_plan("small", PLAN)


# -- plans ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [each for each in experiment_names() if each not in ("field", "labels")]
)
def test_shipped_experiments_make_sense(name):
    found = load_plan(name)
    every = list(found.cells())
    assert len(every) == len({cell.key for cell in every})
    n_draws = sum(method.trials or found.trials for method in found.methods)
    assert len(every) == n_draws * len(found.transfers) * len(found.preprocessing)
    assert not found.paper or "ILS" in paper_table(found.paper)
    for method in found.methods:
        make_method(method, 0)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda text: text.replace("trials = 3", ""), "lacks 'trials'"),
        (lambda text: "colour = 1\n" + text, "no entry for 'colour'"),
        (lambda text: text.replace("semi-supervised", "magic", 1), "setting must be one of"),
        (lambda text: text.replace("semi-supervised", "full-source", 1), "trials must be 1"),
        (lambda text: text + 'selection = "guess"', "selection must be one of"),
        (lambda text: text + 'selection = "oracle"', "must have a grid"),
        (lambda text: text + "grid = { n_components = [2] }", "must have a grid"),
        (lambda text: text.replace("estimator", "estimate"), "needs a name and an estimator"),
        (lambda text: text[:120], r"lacks '\[\[method\]\]'|must be TOML|lacks"),
        (lambda text: "=" + text, "must be TOML"),
    ],
)
def test_bad_plans_are_refused(spoil, message):
    with pytest.raises(PlanError, match=message):
        parse_plan("small", spoil(PLAN))


def test_parts_of_a_plan():
    part = plan().narrowed(trials=2, methods=["ils"], transfers=["dw"])
    assert [cell.trial for cell in part.cells()] == [0, 1]
    wrongs: list[dict[str, Any]] = [{"methods": ["no"]}, {"transfers": ["XY"]}, {"trials": 9}]
    for wrong in wrongs:
        with pytest.raises(PlanError):
            plan().narrowed(**wrong)
    with pytest.raises(PlanError, match="must be an experiment"):
        load_plan("no-such-thing")


def test_the_papers_means():
    table = paper_table("surf-unsupervised")
    assert np.mean(list(table["ILS"].values())) == pytest.approx(45.99, abs=0.005)
    assert np.mean(list(table["CORAL"].values())) == pytest.approx(46.66, abs=0.02)
    with pytest.raises(PlanError, match="no table"):
        paper_table("colours")


# -- the store -----------------------------------------------------------------------------------


def test_store_skips_what_was_cut_short(tmp_path):
    store = Store(tmp_path / "new" / "store.jsonl")
    assert list(store.records()) == []
    store.append({"cell": {"trial": 0}, "error": None})
    with store.path.open("ab") as stream:
        stream.write(b'{"cell": {"trial": 1}, "err')
    assert [record["cell"]["trial"] for record in store.records()] == [0]
    store.append({"cell": {"trial": 2}, "error": None})
    assert [record["cell"]["trial"] for record in store.records()] == [0, 2]
    assert store.finished() == {'{"trial": 0}', '{"trial": 2}'}


# -- the runner ----------------------------------------------------------------------------------


@pytest.mark.slow
@needs_data
def test_results_do_not_depend_on_the_number_of_workers(tmp_path):
    found = []
    for jobs in (1, 2):
        store = Store(tmp_path / f"{jobs}.jsonl")
        assert run_cells(plan().cells(), store, jobs=jobs) == 12
        assert run_cells(plan().cells(), store, jobs=jobs) == 0
        found.append({cell_key(r["cell"]): r["accuracy"] for r in store.records()})
    assert found[0] == found[1]
    record = next(iter(Store(tmp_path / "1.jsonl").records()))
    assert {"seed", "versions", "fit_seconds", "peak_mib", "status", "converged"} <= set(record)


@needs_data
def test_a_failing_cell_is_recorded_and_tried_again(tmp_path):
    text = PLAN.replace("n_components = 5", "n_components = 5000")
    store = Store(tmp_path / "store.jsonl")
    run_cells(parse_plan("small", text).cells(), store, jobs=1)
    records = list(store.records())
    failed = [record for record in records if record["error"] is not None]
    assert (len(records), len(failed)) == (12, 6)
    assert all("n_components must be at most" in record["error"] for record in failed)
    assert run_cells(parse_plan("small", text).cells(), store, jobs=1) == 6


def test_an_archive_comes_before_the_file(tmp_path):
    cell = {"method": "m", "digest": "d"}
    store = Store(tmp_path / "store.jsonl")
    store.append({"cell": cell | {"trial": 0}, "accuracy": 1.0})
    store.archive.write_bytes(lzma.compress(store.path.read_bytes()))
    store.path.unlink()
    assert [each["accuracy"] for each in store.records()] == [1.0]
    store.append({"cell": cell | {"trial": 1}, "accuracy": 2.0})
    assert [each["accuracy"] for each in store.records()] == [1.0, 2.0]
    for damaged in (store.archive.read_bytes()[:-9], b"no archive"):
        store.archive.write_bytes(damaged)
        with pytest.raises(PlanError, match=r"store\.jsonl\.xz must be intact"):
            list(store.records())


@pytest.mark.slow
def test_a_folder_of_poses(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    (tmp_path / "pie").mkdir()
    gnd = np.repeat(np.arange(1, 6), 30)  # ILS has 100 components there
    for pose in ("27", "09", "05", "37", "25", "02"):
        pixels = rng.normal(size=(150, 1024)) + 60 * np.eye(5, 1024)[gnd - 1]
        scipy.io.savemat(tmp_path / "pie" / f"PIE{pose}.mat", {"fea": pixels, "gnd": gnd[:, None]})
    monkeypatch.setenv("ILSPACE_DATA", str(tmp_path))
    pie = load_plan("pie").narrowed(methods=["ils"])
    store = Store(tmp_path / "store.jsonl")
    run_cells(pie.cells(), store, jobs=1)
    (block,) = make_table(pie, store.records()).blocks
    assert block.rows[0].paper is not None
    assert block.rows[0].average > 90


@pytest.mark.parametrize("setting", ["unsupervised", "full-source"])
def test_without_official_splits_every_source_row_is_labelled(setting, monkeypatch):
    (X, y), (Xt, yt) = ((np.eye(n, 3), np.arange(n) % 2) for n in (7, 5))
    monkeypatch.setattr(cells, "_domains", lambda *names: {"D": (X, y), "W": (Xt, yt)})
    cell = replace(next(iter(plan().cells())), dataset="toy", setting=setting)
    given, hidden = cells.load_trial(cell)
    for found, expected in zip(given + hidden, (X, y, Xt, None, Xt, yt), strict=True):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(PlanError, match="no official splits.*full-source or unsupervised"):
        cells.load_trial(replace(cell, setting="semi-supervised"))
    with pytest.raises(PlanError, match="with one trial"):
        cells.load_trial(replace(cell, trial=1))


@needs_data
def test_nearest_neighbours_of_the_full_source_are_as_published():
    published = {"CA": 23.70, "AC": 26.00, "WD": 59.24, "DW": 63.39}  # Long et al. (2013)
    found = load_plan("surf-full-source").narrowed(transfers=list(published), methods=["1-nn-s"])
    block = replace(found, preprocessing=("l1-zscore",))
    accuracy = {
        record["cell"]["source"] + record["cell"]["target"]: record["accuracy"]
        for record in map(run_cell, block.cells())
    }
    assert accuracy == pytest.approx(published, abs=0.005)


@needs_data
def test_a_subspace_that_ils_learned():
    found = load_plan("subspaces").narrowed(
        trials=1, transfers=["WD"], methods=["SA PCA", "SA W_s"]
    )
    records = [run_cell(cell) for cell in found.cells()]
    assert [record["error"] for record in records] == [None] * 4
    assert records[0]["accuracy"] != records[1]["accuracy"]
    assert records[1]["status"] == "SETTLED"


@needs_data
@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_stopped(tmp_path, ilspace_data):
    text = PLAN.replace("trials = 3", "trials = 20").replace(", max_iter = 2, tol = 1.0", "")
    (tmp_path / "long.toml").write_text(text)
    command = [sys.executable, "-m", "ilspace.cli", "bench", "run", "long.toml", "--jobs", "2"]
    environment = os.environ | {"ILSPACE_DATA": str(ilspace_data), "OPENBLAS_NUM_THREADS": "1"}
    path, before = tmp_path / "results" / "long.jsonl", b""
    for n_wanted in (5, 20):
        process = subprocess.Popen(
            command,
            cwd=tmp_path,
            env=environment,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if path.is_file() and path.read_bytes().count(b"\n") >= n_wanted:
                break
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(10)
        os.killpg(process.pid, signal.SIGKILL)  # its workers would linger
        now = path.read_bytes()
        assert now.startswith(before)  # nothing that was stored is touched
        assert n_wanted <= now.count(b"\n") < 80
        before = now
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert path.read_bytes().startswith(before)
    keys = [cell_key(record["cell"]) for record in Store(path).records()]
    assert len(keys) == len(set(keys)) == 80


@needs_data
@pytest.mark.slow
def test_a_cluster_gives_the_same_results(tmp_path, ilspace_data):
    (tmp_path / "small.toml").write_text(PLAN)
    found = []
    for options in (["--jobs", "1"], ["--jobs", "2", "--dask", "local"]):
        store = Store(tmp_path / options[1] / "small.jsonl")
        command = [sys.executable, "-m", "ilspace.cli", "bench", "run", "small.toml", *options]
        subprocess.run(
            [*command, "--store", str(store.path.parent)],
            cwd=tmp_path,
            env=os.environ | {"ILSPACE_DATA": str(ilspace_data)},
            check=True,
            capture_output=True,
        )
        found.append({cell_key(r["cell"]): r["accuracy"] for r in store.records()})
    assert len(found[0]) == 12
    assert found[0] == found[1]


# -- tables and commands -------------------------------------------------------------------------


def records(accuracy):
    for cell in plan().cells():
        value = accuracy(cell)
        error = None if value is not None else "it broke"
        yield {"cell": cell.as_dict(), "accuracy": value, "error": error}


def test_table_of_known_numbers():
    made = make_table(
        plan(), records(lambda cell: 50.0 + 10 * cell.trial + 5 * (cell.method == "ILS"))
    )
    (block,) = made.blocks
    target_only, ils = block.rows
    np.testing.assert_allclose(target_only.mean, 60)
    np.testing.assert_allclose(target_only.std, 10)
    assert (ils.average, ils.n_trials) == (65, 3)
    assert ils.difference == pytest.approx(65 - (80.1 + 70.8) / 2)
    np.testing.assert_array_equal(block.ranks, [2, 1])
    text = FORMATS["md"](made)
    assert "**65.0 ± 10.0**" in text
    assert "*60.0 ± 10.0*" in text
    assert "80.1" in text
    assert "\\textbf{65.0}" in FORMATS["latex"](made)
    assert "l1-zscore,ILS,paper,DW,65.0,10.0,3,80.1" in FORMATS["csv"](made)


CHOSEN = """
[[method]]
name = "ILS oracle"
estimator = "ILSClassifier"
parameters = { max_iter = 2, tol = 1.0 }
selection = "oracle"
grid = { n_components = [2, 5] }
trials = 2
"""


def test_chosen_parameters_are_not_ranked_with_fixed_ones():
    chosen = parse_plan("small", PLAN + CHOSEN)
    found = [
        {"cell": cell.as_dict(), "accuracy": 99.0 if cell.grid else 40.0, "error": None}
        for cell in chosen.cells()
    ]
    (block,) = make_table(chosen, found).blocks
    assert [row.selection for row in block.rows] == ["paper", "paper", "oracle"]
    np.testing.assert_array_equal(block.ranks, [1.5, 1.5, np.nan])
    assert block.p_values[2] is None
    text = FORMATS["md"](make_table(chosen, found))
    assert "**40.0" in text
    assert "**99.0" not in text
    assert "over 3 trials (ILS oracle: 2)" in text


@needs_data
def test_parameters_are_chosen_with_and_without_target_labels():
    text = PLAN + CHOSEN + CHOSEN.replace("oracle", "label-free")
    part = parse_plan("small", text).narrowed(trials=1, transfers=["DW"])
    _, fixed, oracle, label_free = (run_cell(cell) for cell in part.cells())
    assert (oracle["error"], label_free["error"]) == (None, None)
    assert oracle["chosen"]["n_components"] in (2, 5)
    assert label_free["chosen"]["n_components"] in (2, 5)
    assert oracle["accuracy"] >= max(fixed["accuracy"], label_free["accuracy"])
    assert fixed["chosen"] is None


def test_cells_of_fixed_parameters_are_known_by_the_same_name_as_ever():
    cell = next(iter(plan().cells()))
    assert "grid" not in cell.as_dict()


def test_failed_and_missing_cells_are_left_out():
    some = [r for r in records(lambda cell: None if cell.trial == 1 else 40.0)][:-1]
    made = make_table(plan(), some)
    assert made.n_failed == 4
    assert [row.n_trials for row in made.blocks[0].rows] == [2, 1]
    assert "4 cells failed" in FORMATS["md"](made)


def test_table_alone_is_on_standard_output(tmp_path):
    (tmp_path / "small.toml").write_text(PLAN)
    store = Store(tmp_path / "small.jsonl")
    for record in records(lambda cell: 50.0):
        store.append(record)
    command = ["bench", "table", str(tmp_path / "small.toml"), "--store", str(tmp_path)]
    result = CliRunner().invoke(app, [*command, "--format", "csv"])
    assert result.exit_code == 0, result.output
    assert result.stdout == (tmp_path / "small.csv").read_text()
    assert (tmp_path / "small.md").read_text().startswith("# small")
    assert "tabular" in (tmp_path / "small.tex").read_text()


def made_up(name):
    """Records of an experiment, with invented numbers."""
    for i, cell in enumerate(load_plan(name).cells()):
        if cell.trial < 2:
            objective = [2.0, 1.5, 1.2 + 0.001 * (i % 7)]
            record = {"accuracy": 40.0 + i % 13, "error": None, "objective": objective}
            yield {"cell": cell.as_dict()} | record


@pytest.mark.slow
def test_figures_of_the_stores_that_are_there(tmp_path):
    for name in ("trade-off", "orthogonality", "solvers", "subspaces"):
        store = Store(tmp_path / f"{name}.jsonl")
        store.path.write_text("".join(json.dumps(record) + "\n" for record in made_up(name)))
    output = tmp_path / "figures"
    command = ["bench", "figures", "--store", str(tmp_path), "--output", str(output)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "No figure of pie: run" in result.stderr
    names = sorted(path.name for path in output.iterdir())
    assert names == sorted(line.rpartition("/")[2] for line in result.stdout.splitlines())
    assert len(names) == 10
    assert (output / "solvers.png").read_bytes().startswith(b"\x89PNG")
    assert (output / "solvers.svg").read_text().startswith("<?xml")


def test_report_is_one_whole_page(tmp_path):
    for name in ("trade-off", "solvers"):
        store = Store(tmp_path / f"{name}.jsonl")
        store.path.write_text("".join(json.dumps(record) + "\n" for record in made_up(name)))
    page = tmp_path / "report.html"
    result = CliRunner().invoke(
        app, ["bench", "report", "--store", str(tmp_path), "--output", str(page)]
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == str(page)
    text = page.read_text(encoding="utf-8")
    assert len(text) < 6_000_000
    own = text.partition("<script>/*")[0]
    assert own.count("<table") == 4
    assert own.count('class="chart plotly"') == 5
    assert "src=" not in own
    assert "http" not in own.replace("http-equiv", "")
    for chart in re.findall(r'<script type="application/json">(.*?)</script>', own, re.S):
        assert json.loads(chart)["data"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["run", "no-such-thing"], "must be an experiment"),
        (["run", "surf-unsupervised", "--methods", "nothing"], "has no method 'nothing'"),
        (["table", "surf-unsupervised", "--store", "nowhere"], "ilspace bench run"),
    ],
)
def test_impossible_requests_end_with_a_sentence(options, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["bench", *options])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_missing_data_are_said_once_and_first(monkeypatch, tmp_path):
    monkeypatch.setenv("ILSPACE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cells._domains.cache_clear()
    command = ["bench", "run", "surf-unsupervised", "--store", str(tmp_path / "results")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    assert "amazon_SURF_L10.mat must be in $ILSPACE_DATA" in result.stderr.replace("\n", " ")
    assert not (tmp_path / "results").exists()


def test_a_broken_cell_does_not_raise():
    record = run_cell(replace(next(iter(plan().cells())), estimator="Nothing"))
    assert "There is no estimator 'Nothing'" in record["error"]
    json.dumps(record, allow_nan=False)


def test_a_failure_is_recorded_without_folders(monkeypatch):
    monkeypatch.setattr(cells, "load_trial", lambda *_: 1 / 0)
    record = run_cell(next(iter(plan().cells())))
    assert record["error"].startswith("ZeroDivisionError")
    assert record["places"][0].startswith("cells.py:")
    assert not any("/" in each or "\\" in each for each in record["places"])


def test_a_trial_of_several_sources_has_the_rows_of_each_transfer(ilspace_data):
    cell = next(iter(load_plan("several-sources").narrowed(transfers=["d"]).cells()))
    (X, y, Xt, yt), _ = cells.load_trial(cell)
    assert (cell.source, cell.target, yt) == ("A+W+C", "D", None)
    for name, rows, labels in zip("AWC", X, y, strict=True):
        (own, own_labels, target, _), _ = cells.load_trial(replace(cell, source=name))
        np.testing.assert_array_equal(rows, own)
        np.testing.assert_array_equal(labels, own_labels)
        np.testing.assert_array_equal(Xt, target)
    with pytest.raises(PlanError, match="no domain 'X'"):
        cells.load_trial(replace(cell, source="A+X"))


def test_an_unseen_target_is_neither_given_nor_used_for_scaling(ilspace_data, monkeypatch):
    cell = next(iter(load_plan("unseen-domain").narrowed(transfers=["d"]).cells()))
    (X, y, Xt, yt), (X_new, y_new) = cells.load_trial(cell)
    assert (Xt, yt) == (None, None)
    assert [len(each) for each in y] == [200, 80, 200]
    (_, labels, _, _), (_, hidden) = cells.load_trial(replace(cell, setting="unsupervised"))
    np.testing.assert_array_equal(np.concatenate(y), np.concatenate(labels))  # the same draws
    np.testing.assert_array_equal(y_new, hidden)
    whole = cells._domains("office-caltech", "surf", "none")
    half = {**whole, "D": tuple(each[:50] for each in whole["D"])}
    monkeypatch.setattr(cells, "_domains", lambda *given: half)
    (fewer, _, _, _), (few_new, _) = cells.load_trial(cell)
    np.testing.assert_array_equal(np.vstack(fewer), np.vstack(X))
    np.testing.assert_array_equal(few_new, X_new[:50])


def test_an_estimator_within_an_estimator_has_the_seed_of_its_cell():
    rows = {method.name: method for method in load_plan("several-sources").methods}
    made = make_method(rows["pooled CORAL self-training"], 7)
    assert repr(made.estimator) == "SelfTraining(adapter=CORAL(), random_state=7)"
    described = describe_method(rows["pooled CORAL self-training"])
    assert described["parameters"]["estimator"]["parameters"]["adapter"]["estimator"] == "CORAL"
