"""``ilspace adapt`` as a user meets it: files, words, exit codes; and what interrupts it."""

import csv
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from rich.progress import Progress
from tables.small_tables import NUMBERS, PREDICTED, small_tables, write_csv
from typer.testing import CliRunner

from ilspace import TableClassifier
from ilspace.cli.adapt import Kind, Matching, Scaling
from ilspace.cli.app import app
from ilspace.tables import TableError, read_table
from ilspace.tables.encoding import SCALINGS

TABLES = small_tables().moved()
FILES = ["model.skops", "predictions.csv", "report.html", "summary.json"]
COMMAND = [sys.executable, "-m", "ilspace.cli", "adapt"]
SINGLE = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def run(*arguments, stdin=None):
    return CliRunner().invoke(app, ["adapt", *map(str, arguments)], input=stdin)


def adapted(folder, source, target, *options):
    result = run(source, target, "--label", "class", "-o", folder / "out", *options)
    assert result.exit_code == 0, result.output
    with open(folder / "out" / "predictions.csv", newline="", encoding="utf-8") as stream:
        return result, list(csv.DictReader(stream))


def library_labels(source, target, yt=None, **options):
    """Labels by the library; those that were given are kept."""
    y = source["class"].to_numpy().astype(str)
    model = TableClassifier(**options).fit(source.drop(columns="class"), y, target, yt)
    found = model.predict(target)
    return (found if yt is None else np.where(pd.isna(yt), found, yt)).tolist()


def labels_of(rows):
    """Labels in a file of predictions."""
    return [each["label"] for each in rows]


def summary_in(folder):
    return json.loads((folder / "out" / "summary.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    folder = tmp_path_factory.mktemp("adapt")
    return folder, *adapted(folder, *write_csv(folder, TABLES))


# -- labels are those of the library --------------------------------------------------------------


def test_labels_are_those_of_the_library(first):
    _, _, rows = first
    assert list(rows[0]) == ["sample", *PREDICTED]
    assert [each["sample"] for each in rows] == TABLES.target["sample"].tolist()
    assert [each["row"] for each in rows] == [str(i + 1) for i in range(len(rows))]
    assert labels_of(rows) == library_labels(TABLES.source, TABLES.target)


def test_probabilities_belong_to_the_label(first):
    _, _, rows = first
    for each in rows:
        assert 1 / 3 <= float(each["probability"]) <= 1
        assert each["sure"] == str(float(each["probability"]) >= 0.9)


def eight_classes(n_labelled=0):
    """Source, target and its true labels: some rows are sure, others nearly so."""
    rng = np.random.default_rng(4)
    means, y = rng.normal(0, 4, (8, 4)), rng.integers(0, 8, 300)
    rows = pd.DataFrame(means[y] + rng.normal(0, 1, (300, 4)), columns=list("abcd"))
    truth = np.array(list("stuvwxyz"))[y]
    source = rows[:150].assign(**{"class": truth[:150]})
    given = [each if i < n_labelled else None for i, each in enumerate(truth[150:])]
    return source, rows[150:].assign(**{"class": given}), truth[150:]


def test_sure_is_a_probability_of_nine_tenths(tmp_path):
    source, target, _ = eight_classes()
    _, rows = adapted(tmp_path, *write_csv(tmp_path, TABLES._replace(source=source), target))
    met = np.array([float(each["probability"]) for each in rows])
    sure = np.array([each["sure"] == "True" for each in rows])
    assert ((met > 0.8) & (met < 0.9)).any()
    assert sure.any()
    np.testing.assert_array_equal(sure, met >= 0.9)
    assert summary_in(tmp_path)["sure_share"] == pytest.approx(sure.mean())


def test_nothing_on_standard_output_but_what_was_asked_for(first):
    folder, result, _ = first
    assert result.stdout == ""
    assert "Note: Taken for identifiers, and copied to the predictions: sample." in result.stderr
    assert result.stderr.startswith("Expected accuracy on the target: ")
    assert "Sure rows: " in result.stderr
    assert f"ilspace label {folder / 'out'}" in result.stderr
    assert str(folder / "out" / "report.html") in result.stderr


def test_terminal_report_and_summary_say_the_same(first):
    folder, result, _ = first
    summary = summary_in(folder)
    assert summary["kind"] == "table"
    assert 0 <= summary["expected_accuracy"] <= 1
    low, high = summary["expected_accuracy_interval"]
    assert low <= summary["expected_accuracy"] <= high
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    for said in (
        f"{summary['expected_accuracy']:.0%}",
        f"{summary['held_out_source_accuracy']:.0%}",
        f"{low:.0%} and {high:.0%}",
        f"{summary['sure_share']:.0%}",
        summary["next_step"],
    ):
        assert said in result.stderr
        assert said in page
    assert summary["n_target_labels"] == 0
    assert {each["column"] for each in summary["drift"]} == {*NUMBERS, "colour"}


def test_the_interval_is_as_wide_as_measured(first):
    """Without target labels 18 points to either side hold nine of ten pairs of tables."""
    folder, _, _ = first
    summary = summary_in(folder)
    low, high = summary["expected_accuracy_interval"]
    assert low == pytest.approx(max(0, summary["expected_accuracy"] - 0.18), abs=0.005)
    assert high == pytest.approx(min(1, summary["expected_accuracy"] + 0.18), abs=0.005)


def test_own_scaling_undoes_a_change_of_units(tmp_path):
    """Every number of the target in another unit: the same labels as in the same one."""
    paths = write_csv(tmp_path, TABLES)
    result, rows = adapted(tmp_path, *paths, "--own-scaling", "--json")
    assert json.loads(result.stdout)["inputs"]["own_scaling"] is True
    assert labels_of(rows) == library_labels(TABLES.source, TABLES.target, own_scaling=True)
    same = small_tables()
    assert labels_of(rows) == library_labels(same.source, same.target, own_scaling=True)


def test_a_target_in_other_units_is_asked_about(first):
    folder, result, _ = first
    share = summary_in(folder)["changed_by_own_scaling"]
    assert f"use --own-scaling: it would change {share:.0%} of the labels" in result.stderr


def test_json_is_the_summary_quiet_is_silent_and_a_seed_repeats(first, tmp_path):
    folder, _, rows = first
    paths = folder / "source.csv", folder / "target.csv"
    result, again = adapted(tmp_path, *paths, "--json", "--quiet", "--seed", "0")
    assert result.stderr == ""
    summary = json.loads(result.stdout)
    assert summary == json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))
    assert again == rows
    expected = json.loads((folder / "out/summary.json").read_text(encoding="utf-8"))
    assert {**summary, "seconds": 0} == {**expected, "seconds": 0}


def test_columns_are_matched_by_name(first, tmp_path):
    _, _, rows = first
    target = TABLES.target[np.random.default_rng(0).permutation(TABLES.target.columns)]
    _, shuffled = adapted(tmp_path, *write_csv(tmp_path, TABLES, target))
    assert shuffled == rows


def as_parquet(table, path):
    table.to_parquet(path)


def as_semicolons(table, path):
    table.to_csv(path, index=False, sep=";", decimal=",", encoding="utf-8-sig")


def as_gzip(table, path):
    table.to_csv(path, index=False, compression="gzip")


@pytest.mark.parametrize(
    "write",
    [
        as_parquet,
        *(pytest.param(each, marks=pytest.mark.slow) for each in (as_semicolons, as_gzip)),
    ],
)
def test_formats_make_no_difference(first, tmp_path, write):
    _, _, rows = first
    write(TABLES.source, tmp_path / "s")
    write(TABLES.target, tmp_path / "t")
    _, met = adapted(tmp_path, tmp_path / "s", tmp_path / "t")
    assert met == rows


def test_the_target_from_standard_input(first, tmp_path):
    folder, _, rows = first
    text = (folder / "target.csv").read_bytes()
    out = tmp_path / "out"
    result = run(folder / "source.csv", "-", "--label", "class", "-o", out, stdin=text)
    assert result.exit_code == 0, result.output
    assert (out / "predictions.csv").read_bytes() == (folder / "out/predictions.csv").read_bytes()


def test_arrays(tmp_path):
    numbers = [each[list(NUMBERS)].fillna(0).to_numpy() for each in TABLES[:2]]
    np.savez(tmp_path / "s.npz", X=numbers[0], y=TABLES.source["class"].to_numpy(str))
    np.savez(tmp_path / "t.npz", X=numbers[1])
    _, rows = adapted(tmp_path, tmp_path / "s.npz", tmp_path / "t.npz")
    tables = [pd.DataFrame(each).add_prefix("x") for each in numbers]
    source = tables[0].assign(**{"class": TABLES.source["class"]})
    assert labels_of(rows) == library_labels(source, tables[1])
    assert summary_in(tmp_path)["kind"] == "features"
    assert [each["row"] for each in rows] == [str(i + 1) for i in range(len(rows))]


def test_labels_of_the_target_are_used_without_a_flag(tmp_path):
    """And kept, also one that the model does not believe."""
    tables = small_tables(nt=60)
    given = tables._replace(truth=np.where(np.arange(60) == 3, "élan", tables.truth))
    result, rows = adapted(tmp_path, *write_csv(tmp_path, tables, given.labelled(15)), "--json")
    assert json.loads(result.stdout)["n_target_labels"] == 15
    yt = [each if i < 15 else None for i, each in enumerate(given.truth)]
    X, y, Xt = tables.features
    found = TableClassifier().fit(X, y, Xt, yt).predict(Xt).tolist()
    assert found[3] != yt[3]
    assert labels_of(rows) == [*yt[:15], *found[15:]]
    assert list(rows[0]) == ["sample", *PREDICTED, "given"]


@pytest.mark.parametrize("n_labelled", [6, 12])
def test_other_columns_in_each_file(tmp_path, n_labelled):
    target = TABLES.labelled(n_labelled)[["sample", "depth", "weight", "class"]]
    target = target.rename(columns={"depth": "p", "weight": "q"})
    paths = write_csv(tmp_path, TABLES, target)
    result, rows = adapted(tmp_path, *paths, "--json")
    assert json.loads(result.stdout)["columns_are_shared"] is False
    yt = [each if i < n_labelled else None for i, each in enumerate(TABLES.truth)]
    assert labels_of(rows) == library_labels(TABLES.source, target.drop(columns="class"), yt)
    for i, each in enumerate(rows):
        assert each["given"] == str(i < n_labelled)
        if i < n_labelled:  # a label that is given stays
            assert (each["probability"], each["sure"]) == ("1", "True")
            assert each["label"] == TABLES.truth[i]


def test_options_reach_the_library(tmp_path):
    paths = write_csv(tmp_path, TABLES)
    options = ["--id", "colour", "--ignore", "width", "--method", "ils", "--scaling", "l2"]
    options += ["--class-frequencies", "source", "--columns", "by-name", "--json"]
    options += ["--kind", "features", "--keep", "depth", "--no-own-scaling"]
    result, rows = adapted(tmp_path, *paths, *options)
    summary = json.loads(result.stdout)
    assert list(rows[0])[:4] == ["colour", "sample", "row", "label"]
    assert (summary["method"], summary["kind"]) == ("ils", "features")
    asked = {"scaling": "l2", "kind": "features", "keep": ["depth"], "own_scaling": False}
    assert {name: summary["inputs"][name] for name in asked} == asked
    assert summary["source"]["columns"] == 3
    assert summary["class_frequencies"] == pytest.approx(
        {"ant": 1 / 3, "bee": 1 / 3, "élan": 1 / 3}
    )


@pytest.mark.parametrize("method", ["ils", "CORAL"])
def test_one_method_instead_of_the_committee(tmp_path, method):
    _, rows = adapted(tmp_path, *write_csv(tmp_path, TABLES), "--method", method)
    assert labels_of(rows) == library_labels(TABLES.source, TABLES.target, method=method)
    assert list(rows[0]) == ["sample", *PREDICTED]
    summary = summary_in(tmp_path)
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == FILES
    assert sorted(summary["files"]) == FILES
    assert summary["method"] == method


def test_class_frequencies_in_all_forms(tmp_path):
    paths = write_csv(tmp_path, TABLES)
    shares = {"ant": 0.2, "bee": 0.3, "élan": 0.5}
    (tmp_path / "shares.csv").write_text(
        "class,share\nélan,0.5\nant,0.2\nbee,0.3\n", encoding="utf-8"
    )
    found = {}
    for given in ("ant=0.2,bee=0.3,élan=0.5", tmp_path / "shares.csv", "source", "auto"):
        options = ["--force", "-q", "--class-frequencies", given]
        _, rows = adapted(tmp_path, *paths, *options)
        found[str(given)] = rows, summary_in(tmp_path)["class_frequencies"]
    inline, file, source, auto = found.values()
    assert inline == file
    assert inline[1] == pytest.approx(shares)
    assert labels_of(inline[0]) == library_labels(TABLES.source, TABLES.target, class_prior=shares)
    assert source[1] == pytest.approx(dict.fromkeys(shares, 1 / 3))
    assert auto == source  # those of tables are not estimated


def test_options_are_those_of_the_library():
    assert [each.value for each in Scaling] == ["auto", *SCALINGS]
    allowed = TableClassifier._parameter_constraints["matching"][0].options
    assert {each.value for each in Matching} == allowed
    allowed = TableClassifier._parameter_constraints["kind"][0].options
    assert {each.value for each in Kind} == allowed


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_teaches(option):
    result = CliRunner().invoke(app, ["adapt", option])
    assert result.exit_code == 0
    for taught in (
        "Examples",
        "--method",
        "--own-scaling",
        "--kind",
        "--class-frequencies",
        "Exit codes",
        "130",
        "predictions.csv",
    ):
        assert taught in result.stdout


# -- refusals: one sentence, exit code 2, nothing written ------------------------------------------


def no_common_columns(folder):
    return write_csv(folder, TABLES, TABLES.target[["depth"]].set_axis(["p"], axis=1))


def no_label_column(folder):
    return write_csv(folder, TABLES._replace(source=TABLES.source.drop(columns="class")))


def one_class(folder):
    return write_csv(folder, TABLES._replace(source=TABLES.source.assign(**{"class": "ant"})))


def no_labels(folder):
    return write_csv(folder, TABLES._replace(source=TABLES.source.assign(**{"class": None})))


def nan_everywhere(folder):
    target = TABLES.target.assign(**dict.fromkeys([*NUMBERS, "colour"]))
    return write_csv(folder, TABLES, target)


def unknown_class(folder):
    return write_csv(folder, TABLES, TABLES.target.assign(**{"class": "wasp"}))


def one_row(folder):
    return write_csv(folder, TABLES, TABLES.target[:1])


def content(data):
    def write(folder):
        source, target = write_csv(folder, TABLES)
        with open(target, "wb") as stream:
            stream.write(data)
        return source, target

    return write


def empty_folder(folder):
    (folder / "empty").mkdir()
    return write_csv(folder, TABLES)[0], folder / "empty"


def nowhere(folder):
    return write_csv(folder, TABLES)[0], folder / "nowhere.csv"


def both_from_standard_input(folder):
    return "-", "-"


BAD = {
    no_common_columns: "label a few target rows",
    no_label_column: "must have the column 'class' of labels",
    one_class: "two classes or more, but holds one, 'ant'",
    no_labels: "two classes or more, but holds none",
    nan_everywhere: "must have a column of features with values",
    unknown_class: "'wasp' is not",
    one_row: "must have two rows or more",
    content(b""): "is empty",
    content(b"\x00\xff\x00"): "binary data",
    content("é,b\n1,2\n".encode("latin-1")): "must be UTF-8",
    empty_folder: "must hold Parquet files",
    nowhere: "there is none",
    both_from_standard_input: "but both are",
}


@pytest.mark.parametrize("make", BAD)
def test_refused_in_one_sentence(tmp_path, make):
    source, target = make(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    result = run(source, target, "--label", "class", "-o", tmp_path / "made" / "out", "--quiet")
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert BAD[make] in result.stderr
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--method", "magic"], "must be one of auto, committee, ils, "),
        (["--class-frequencies", "nothing"], "'nothing' is none of these"),
        (["--class-frequencies", "ant=0.5,wasp=0.5"], "wasp"),
        (["--class-frequencies", "ant=0.5,bee=0.2,élan=0.2"], "sum"),
        (["--class-frequencies", "ant=1,bee=0,élan=0"], "At least 2 classes"),
        (["--id", "nothing"], "'nothing' must be in a table"),
        (["--method", "ils", "--scaling", "sqrt-zscore-l2"], "negative numbers"),
        (["--label", "nothing"], "must have the column 'nothing'"),
        (["--label", "Clas"], "name the right one with --label 'class'"),
        (["--label", "class", "--id", "class"], "'class' is given to --id too"),
        (["--label", "class", "--ignore", "class"], "'class' is given to --ignore too"),
        (["--label", "class", "--text", "class"], "'class' is given to --text too"),
        (["--text", "nothing"], "'nothing' must be in a table"),
        (["--text", "width"], "must hold strings, but 'width' holds numbers or dates"),
    ],
)
def test_options_that_make_no_sense(tmp_path, options, said):
    paths = write_csv(tmp_path, TABLES)
    result = run(*paths, "--label", "class", "-o", tmp_path / "out", "-q", *options)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert said in result.stderr
    assert not (tmp_path / "out").exists()


def test_an_output_folder_that_exists_needs_force(first, tmp_path):
    folder, *_ = first
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("kept")
    paths = folder / "source.csv", folder / "target.csv"
    # at once, before any work: the source is not even read
    refused = run("nowhere.csv", paths[1], "--label", "class", "-o", out)
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert [each.name for each in out.iterdir()] == ["mine.txt"]
    adapted(tmp_path, *paths, "--force")
    assert sorted(each.name for each in out.iterdir()) == sorted([*FILES, "mine.txt"])


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions as on Unix")
def test_a_file_that_may_not_be_read(tmp_path):
    _, target = write_csv(tmp_path, TABLES)
    os.chmod(target, 0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)  # root may read anything
    try:
        with pytest.raises(TableError, match="this user may not read it: change its permissions"):
            read_table(target)
    finally:
        os.seteuid(user)


# -- when something else goes wrong ----------------------------------------------------------------


@pytest.fixture
def small_files():
    """As on a disk that is nearly full: no file may grow beyond 10 kB; the report does."""
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, handler)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 40 kB, where one may be mounted; the results have more."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", str(disk)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this user may not mount a file system")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.slow
def test_a_disk_that_is_full_indeed(first, small_disk):
    folder, *_ = first
    paths = str(folder / "source.csv"), str(folder / "target.csv")
    command = [*COMMAND, *paths, "--label", "class", "-q", "-o", str(small_disk / "out")]
    for options in ([], ["--force"]):
        ended = subprocess.run([*command, *options], capture_output=True, text=True, env=SINGLE)
        assert ended.returncode == 1
        assert "No space left on device" in ended.stderr
        assert ended.stderr.count("\n") == 1
        left = [each.read_text() for each in small_disk.rglob("*") if each.is_file()]
        assert left == (["old"] if options else [])
        (small_disk / "out").mkdir(exist_ok=True)
        (small_disk / "out" / "predictions.csv").write_text("old")


def test_a_full_disk_leaves_the_old_results_whole(first, tmp_path, small_files):
    folder, *_ = first
    out = tmp_path / "out"
    out.mkdir()
    for name in FILES:
        (out / name).write_text(f"old {name}")
    paths = folder / "source.csv", folder / "target.csv"
    result = run(*paths, "--label", "class", "-o", out, "--force", "-q")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "cannot write its results" in result.stderr
    assert sorted(each.name for each in out.iterdir()) == FILES
    assert all((out / name).read_text() == f"old {name}" for name in FILES)
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("stage", ["reading", "fitting", "writing"])
def test_an_interrupt_at_any_stage_leaves_nothing(first, tmp_path, monkeypatch, stage):
    folder, *_ = first
    update = Progress.update

    def interrupted(self, *arguments, description="", **fields):
        if description == stage:
            raise KeyboardInterrupt
        return update(self, *arguments, description=description, **fields)

    monkeypatch.setattr(Progress, "update", interrupted)
    paths = folder / "source.csv", folder / "target.csv"
    result = run(*paths, "--label", "class", "-o", tmp_path / "out")
    assert result.exit_code == 130
    assert "Interrupted" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_real_signals_at_many_moments(first, tmp_path):
    folder, *_ = first
    paths = str(folder / "source.csv"), str(folder / "target.csv")
    start = time.monotonic()
    command = [*COMMAND, *paths, "--label", "class", "-q", "-o"]
    subprocess.run([*command, str(tmp_path / "timed")], check=True, env=SINGLE)
    took = time.monotonic() - start
    codes = []

    def listen():  # a shell lets those that run in the background ignore it
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    for moment, share in enumerate(np.linspace(0.1, 1.05, 12)):
        out = tmp_path / f"out{moment}"
        child = subprocess.Popen(
            [*command, str(out)],
            stderr=subprocess.PIPE,
            env=SINGLE,
            preexec_fn=listen,
        )
        time.sleep(share * took)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate()
        codes.append(child.returncode)
        # the last: while Python starts or ends, and nobody can listen
        assert child.returncode in (0, 130, -signal.SIGINT), said.decode()
        if child.returncode == 130:
            assert said == b"Interrupted; no file was left half-written.\n"
        if child.returncode == 0:
            assert sorted(each.name for each in out.iterdir()) == FILES
        else:
            assert not out.exists() or sorted(each.name for each in out.iterdir()) == FILES
        assert not [each for each in tmp_path.iterdir() if each.name.startswith(".")]
    assert 130 in codes
