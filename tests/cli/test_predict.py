"""``ilspace predict``: further rows, in blocks, from and to pipes."""

import csv
import io
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from rich.progress import Progress
from tables.small_tables import NUMBERS, PREDICTED, small_tables
from typer.testing import CliRunner

from ilspace import ILSClassifier, TableClassifier
from ilspace.cli.app import app
from ilspace.tables.answer import labelled_rows

TABLES = small_tables()
X, Y, XT = TABLES.features
MODEL = TableClassifier()
FURTHER = small_tables(seed=0, nt=60).target


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predict")
    MODEL.fit(X, Y, XT).save(folder / "model.skops")
    FURTHER.to_csv(folder / "new.csv", index=False)
    return folder


def run(*arguments, stdin=None):
    return CliRunner().invoke(app, ["predict", *map(str, arguments)], input=stdin)


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="module")
def printed(folder):
    result = run(folder / "model.skops", folder / "new.csv", "-q")
    assert result.exit_code == 0, result.output
    return result.stdout


def test_labels_are_those_of_the_library(printed):
    rows = rows_of(printed)
    wanted = labelled_rows(MODEL.classes_, MODEL.predict_proba(FURTHER))
    assert list(rows[0]) == ["sample", *PREDICTED]
    assert [each["sample"] for each in rows] == FURTHER["sample"].tolist()
    assert [each["label"] for each in rows] == wanted["label"].tolist()
    assert [each["sure"] for each in rows] == wanted["sure"].astype(str).tolist()
    met = [float(each["probability"]) for each in rows]
    np.testing.assert_allclose(met, wanted["probability"], rtol=1e-5)


def test_the_folder_of_results_will_do(folder, printed):
    assert run(folder, folder / "new.csv", "-q").stdout == printed


def test_devices_and_pipes_are_written_to_and_read(folder, printed):
    model, new = folder / "model.skops", folder / "new.csv"
    assert run(model, new, "-q", "-o", os.devnull).exit_code == 0
    assert os.path.exists(os.devnull)
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen(["sh", "-c", f"cat '{new}' > '{pipe}'"])
    assert run(model, pipe, "-q").stdout == printed
    assert writer.wait() == 0


def test_labels_are_utf8_wherever_they_go(folder):
    command = [sys.executable, "-m", "ilspace.cli", "predict", folder, folder / "new.csv"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    ended = subprocess.run([*map(str, command)], capture_output=True, env=environment, check=True)
    assert "élan" in ended.stdout.decode("utf-8")
    said = ended.stderr.decode()
    assert said.startswith(f"Labelled {len(FURTHER)} rows, ")
    assert said.endswith("of the labels sure.\n")


def test_columns_that_the_model_does_not_use_are_named(folder, tmp_path, printed):
    FURTHER.assign(ticket=range(60), depht=0.0).to_csv(tmp_path / "more.csv", index=False)
    result = run(folder, tmp_path / "more.csv", "--rows", "25")
    assert result.stdout == printed
    assert result.stderr.endswith("Not used by the model, and left out: ticket, depht.\n")
    assert "left out" not in run(folder, folder / "new.csv").stderr
    assert run(folder, tmp_path / "more.csv", "-q").stderr == ""


@pytest.mark.parametrize(
    ("column", "entry", "said"),
    [
        ("width", "1,5", "'width' must hold numbers, but has the entry '1,5'"),
        ("width", "2024-05-03", "'width' must hold numbers, as in training, but holds dates"),
    ],
)
def test_columns_that_changed_their_kind_are_refused(folder, tmp_path, column, entry, said):
    FURTHER.assign(**{column: entry}).to_csv(tmp_path / "new.csv", index=False)
    refused(folder / "model.skops", tmp_path / "new.csv", said=said)


@pytest.mark.parametrize("n_rows", [7, 1000])
def test_words_among_numbers_are_gaps_in_any_block(folder, tmp_path, n_rows):
    words = FURTHER.astype({"height": object})
    words.loc[10:19, "height"] = "n.m."
    words.to_csv(tmp_path / "words.csv", index=False)
    words.replace("n.m.", None).to_csv(tmp_path / "missing.csv", index=False)
    met = [
        run(folder / "model.skops", tmp_path / name, "-q", "--rows", n_rows).stdout
        for name in ("words.csv", "missing.csv")
    ]
    assert met[0] == met[1]
    assert len(rows_of(met[0])) == len(FURTHER)


def test_giants_are_gaps(folder, tmp_path):
    FURTHER.assign(width=1e80).to_csv(tmp_path / "new.csv", index=False)
    assert run(folder / "model.skops", tmp_path / "new.csv", "-q").exit_code == 0


@pytest.mark.parametrize("n_rows", [1, 7, 60, 1000])
def test_blocks_make_no_difference(folder, printed, n_rows):
    result = run(folder / "model.skops", folder / "new.csv", "-q", "--rows", n_rows)
    assert result.stdout == printed


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_formats_pipes_and_files(folder, printed, kind, tmp_path):
    model, out = folder / "model.skops", tmp_path / "labels.csv"
    table = tmp_path / "new"
    getattr(FURTHER, f"to_{kind}")(table, index=False)
    assert run(model, table, "-o", out).exit_code == 0
    assert out.read_text(encoding="utf-8") == printed
    piped = run(model, "-", "-o", "-", "-q", stdin=table.read_bytes())
    assert piped.stdout == printed


def test_columns_in_any_order_others_ignored_identifiers_missing(folder, printed):
    table = FURTHER[FURTHER.columns[::-1]].assign(extra="x").drop(columns="sample")
    result = run(folder / "model.skops", "-", "-q", stdin=table.to_csv(index=False))
    rows = rows_of(result.stdout)
    assert [each["row"] for each in rows] == [str(i + 1) for i in range(60)]
    assert [each["label"] for each in rows] == [each["label"] for each in rows_of(printed)]


def test_numbers_among_categories_are_the_same_in_every_block(tmp_path):
    """A block of a column that holds 1, 2 and x may hold numbers only, and with a gap floats."""
    rng = np.random.default_rng(0)
    codes = np.array(["1", "2", "x"])
    source, target = (
        each.assign(code=rng.permutation(codes.repeat(20))[: len(each)]) for each in (X, XT)
    )
    fitted = TableClassifier().fit(source, Y, target)
    fitted.save(tmp_path / "m")
    table = target.assign(code=["1", "", *["2"] * 10, *["x"] * 12])
    table.to_csv(tmp_path / "t.csv", index=False)
    whole, blocks = (run(tmp_path / "m", tmp_path / "t.csv", "-q", "--rows", n) for n in (99, 6))
    assert whole.exit_code == 0
    assert whole.stdout == blocks.stdout
    wanted = fitted.predict_proba(table.assign(code=table["code"].replace("", None)))
    met = [float(each["probability"]) for each in rows_of(whole.stdout)]
    np.testing.assert_allclose(met, wanted.max(axis=1), rtol=1e-5)


def test_labels_in_arrays_are_not_taken_for_identifiers(tmp_path):
    numbers = [each[list(NUMBERS)].fillna(0).to_numpy() for each in (X, XT)]
    tables = [pd.DataFrame(each).add_prefix("x") for each in numbers]
    tables[1]["id"] = np.arange(len(XT))
    TableClassifier(ids=["id"]).fit(tables[0], Y, tables[1]).save(tmp_path / "m")
    np.savez(tmp_path / "new.npz", X=numbers[1], y=np.full(len(XT), 7))
    rows = rows_of(run(tmp_path / "m", tmp_path / "new.npz", "-q").stdout)
    assert list(rows[0])[:2] == ["row", "label"]


# -- refusals ------------------------------------------------------------------------------------


def refused(*arguments, said, stdin=None):
    result = run(*arguments, "-q", stdin=stdin)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert said in result.stderr


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (FURTHER.drop(columns=["depth", "colour"]), "must have the column 'depth'"),
        (FURTHER[:0], "must have rows"),
    ],
)
def test_tables_that_will_not_do(folder, tmp_path, table, said):
    table.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "labels.csv"
    refused(folder / "model.skops", tmp_path / "t.csv", "-o", out, said=said)
    assert [each.name for each in tmp_path.iterdir()] == ["t.csv"]


def test_a_table_that_breaks_off_late_leaves_nothing(folder, tmp_path):
    text = (folder / "new.csv").read_bytes() + b"1,2,3,4,5,6,7,8,9\n"
    (tmp_path / "t.csv").write_bytes(text)
    arguments = folder / "model.skops", tmp_path / "t.csv", "--rows", "10"
    refused(*arguments, "-o", tmp_path / "labels.csv", said="must have as many entries")
    assert [each.name for each in tmp_path.iterdir()] == ["t.csv"]


def test_models_that_will_not_do(folder, tmp_path):
    new = folder / "new.csv"
    refused(tmp_path / "nothing", new, said="must be a file that can be read")
    refused(tmp_path, new, said="model.skops must be a file that can be read")
    (tmp_path / "garbage").write_bytes(os.urandom(1000))
    refused(tmp_path / "garbage", new, said="garbage")
    rows = X[list(NUMBERS)].fillna(0)
    ILSClassifier(2).fit(rows, Y, rows + 1).save(tmp_path / "other")
    refused(tmp_path / "other", new, said="must be one of tables")
    whole = (folder / "model.skops").read_bytes()
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    refused(tmp_path / "cut", new, said="cut")
    header = b'{"__metadata__":{"format":"ilspace"}}'
    (tmp_path / "old").write_bytes(len(header).to_bytes(8, "little") + header)
    refused(tmp_path / "old", new, said="an earlier version of ilspace")


def test_an_output_that_exists_needs_force(folder, tmp_path, printed):
    model, new, out = folder / "model.skops", folder / "new.csv", tmp_path / "labels.csv"
    out.write_text("old")
    refused(model, new, "-o", out, said="--force")
    assert out.read_text() == "old"
    assert run(model, new, "-o", out, "--force", "-q").exit_code == 0
    assert out.read_text(encoding="utf-8") == printed
    for option in ("--force", "-q"):
        refused(model, new, "-o", tmp_path, option, said="is a folder")
    refused(model, new, "-o", new, "--force", said="must not be the table itself")
    refused(model, new, "-o", tmp_path / "no" / "labels.csv", said="must exist")


def test_a_device_is_written_to_and_not_replaced(folder):
    before = os.stat("/dev/null")
    arguments = folder / "model.skops", folder / "new.csv"
    assert run(*arguments, "-o", "/dev/null", "--force").exit_code == 0
    assert os.stat("/dev/null").st_rdev == before.st_rdev


def test_an_interrupt_leaves_the_old_file(folder, tmp_path, monkeypatch):
    out = tmp_path / "labels.csv"
    out.write_text("old")
    update = Progress.update

    def interrupted(self, *arguments, completed=0, **fields):
        if completed > 20:
            raise KeyboardInterrupt
        return update(self, *arguments, completed=completed, **fields)

    monkeypatch.setattr(Progress, "update", interrupted)
    arguments = folder / "model.skops", folder / "new.csv", "--rows", 10
    result = run(*arguments, "-o", out, "--force")
    assert result.exit_code == 130
    assert [each.name for each in tmp_path.iterdir()] == ["labels.csv"]
    assert out.read_text() == "old"


def test_a_reader_that_has_seen_enough(folder):
    child = subprocess.Popen(
        [sys.executable, "-m", "ilspace.cli", "predict", str(folder / "model.skops"), "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()  # before a line is written
    child.stdin.write(pd.concat([FURTHER] * 50).to_csv(index=False).encode())
    child.stdin.close()
    said = child.stderr.read()
    assert child.wait() == 0
    assert b"Traceback" not in said
    assert b"Error" not in said
    child.stderr.close()


def test_help_teaches():
    result = CliRunner().invoke(app, ["predict", "--help"])
    assert result.exit_code == 0
    assert "labels.csv" in result.stdout


# -- in bounded memory -----------------------------------------------------------------------------

MEASURE = r"""
import re, sys
from ilspace.cli import main
try:
    main()
finally:  # not getrusage, which counts what the parent had before the program was replaced
    status = open("/proc/self/status").read()
    print(int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) // 1024, file=sys.stderr)
"""


def write_rows(path, n_rows, n_columns=500):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    names = [f"feature {i}" for i in range(n_columns)]
    with open(path, "wb") as stream:
        writer = None
        for top in range(0, n_rows, 10_000):
            block = pd.DataFrame(rng.normal(size=(10_000, n_columns)).round(5), columns=names)
            if path.suffix == ".csv":
                stream.write(block.to_csv(index=False, header=top == 0).encode())
                continue
            table = pa.Table.from_pandas(block)
            writer = writer or pq.ParquetWriter(stream, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak as Linux tells it")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_many_rows_in_bounded_memory(tmp_path, kind, capsys):
    rng = np.random.default_rng(1)
    model = str(tmp_path / "model")
    names = [f"feature {i}" for i in range(500)]
    y = np.arange(400) % 4
    source = pd.DataFrame(rng.normal(size=(400, 500)) + y[:, None], columns=names)
    target = pd.DataFrame(rng.normal(size=(400, 500)) + y[:, None] + 1, columns=names)
    TableClassifier().fit(source, y.astype(str), target).save(model)
    peaks = {}
    for n_rows in (20_000, 100_000):
        path, out = tmp_path / f"{n_rows}.{kind}", tmp_path / f"labels-{n_rows}"
        write_rows(path, n_rows)
        start = time.monotonic()
        ended = subprocess.run(
            [sys.executable, "-c", MEASURE, "predict", model, str(path), "-o", str(out), "-q"],
            capture_output=True,
            text=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )
        took = time.monotonic() - start
        assert ended.returncode == 0, ended.stderr
        peaks[n_rows] = int(ended.stderr.split()[-1])
        with capsys.disabled():
            sys.stdout.write(
                f"\n{kind}: {n_rows} rows x 500 columns, {n_rows / took:.0f} rows/s, "
                f"peak {peaks[n_rows]} MB\n"
            )
        with open(out) as stream:
            assert sum(1 for _ in stream) == n_rows + 1
        path.unlink()
    assert peaks[100_000] <= 1.3 * peaks[20_000]
