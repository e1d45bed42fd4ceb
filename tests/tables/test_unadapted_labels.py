"""Where nothing tells whether adaptation helps: the unadapted labels, in all that a job leaves."""

import io

import numpy as np
import pandas as pd
import pytest

import ilspace
from ilspace.cli.adapt import _say
from ilspace.tables.explanation import explain_rows
from ilspace.tables.job import adapt_files
from ilspace.tables.labels import LabelledTables
from ilspace.tables.outputs import write_outputs
from ilspace.tables.prediction import label_file

SHARES = {"no": 0.2, "yes": 0.8}


def turned_tables(seed=1, n=150):
    """Two classes along one column; in the target turned toward another, and a third moved."""
    rng = np.random.default_rng(seed)
    tables = []
    for angle, shift in ((0.0, 0.0), (0.6, 1.0)):
        y = rng.integers(0, 2, n)
        X = rng.normal(size=(n, 4))
        X[:, 0] += (2 * y - 1) * np.cos(angle)
        X[:, 1] += (2 * y - 1) * np.sin(angle)
        X[:, 2] += shift
        table = pd.DataFrame(X, columns=list("abcd"))
        tables.append(table.assign(kind=np.array(["no", "yes"])[y]))
    return tables


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("turned")
    source, target = turned_tables()
    source.to_csv(folder / "source.csv", index=False)
    target.drop(columns="kind").to_csv(folder / "target.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def job(files):
    done = adapt_files(str(files / "source.csv"), str(files / "target.csv"), label="kind")
    return done, write_outputs(done, files / "out"), files / "out"


def test_the_labels_are_the_unadapted_ones(job):
    done, summary, folder = job
    assert (summary["verdict_word"], summary["recommended"]) == ("cannot-tell", "unadapted")
    found = pd.read_csv(folder / "predictions.csv")
    assert (found["adapted"] != found["unadapted"]).any()  # else nothing is tested here
    assert found["label"].equals(found["unadapted"])
    assert summary["balance"]["predicted"]["yes"] == pytest.approx(np.mean(found["label"] == "yes"))
    text = io.StringIO()
    model = ilspace.load(folder / "model.safetensors")
    label_file(model, folder.parent / "target.csv", output=text)
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(text.getvalue())), found)
    assert done.model.recommended_ == "unadapted"


def test_what_is_said_of_them(job, capsys):
    _, summary, folder = job
    expected = summary["expected_accuracy"]
    assert expected["low"] < expected["unadapted"] < expected["high"]
    _say(summary, folder, quiet=False)
    printed = " ".join(capsys.readouterr().err.split())
    assert "Until more is known, the unadapted labels are given." in printed
    assert f"Expected accuracy: {expected['unadapted']:.0%}" in printed
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert f"{expected['unadapted']:.0%} of the unadapted labels, which are given" in page


def test_they_are_explained_by_what_they_come_from(job):
    done, _, folder = job
    found = pd.read_csv(folder / "predictions.csv")
    row = int(np.flatnonzero(found["adapted"] != found["unadapted"])[0])
    (said,) = explain_rows(
        done.model, LabelledTables(done.source, done.y, done.target, None), [row]
    )
    assert said.label == found["unadapted"][row]
    table = done.target.iloc[[row]]
    code = done.model.classes_.tolist().index(said.label)
    whole = done.model.unadapted_probabilities(table)[0, code]
    for each in said.columns:
        without = done.model.unadapted_probabilities(table.assign(**{each.name: np.nan}))
        assert each.change == pytest.approx(whole - without[0, code])


@pytest.mark.parametrize("wish", [{"class_prior": SHARES}, {"method": "ils"}])
def test_who_asks_for_something_gets_it(files, wish):
    paths = str(files / "source.csv"), str(files / "target.csv")
    done = adapt_files(*paths, label="kind", **wish)
    assert done.diagnosis.verdict.recommended == "adapted"
    assert done.labelled["label"].equals(done.labelled["adapted"].rename("label"))


def test_class_frequencies_count_where_the_tables_do_not_differ(tmp_path):
    source, _ = turned_tables(n=100)
    source[:60].to_csv(tmp_path / "source.csv", index=False)
    source[60:].drop(columns="kind").to_csv(tmp_path / "target.csv", index=False)
    paths = str(tmp_path / "source.csv"), str(tmp_path / "target.csv")
    plain = adapt_files(*paths, label="kind")
    told = adapt_files(*paths, label="kind", class_prior=SHARES)
    words = [each.diagnosis.verdict.word for each in (plain, told)]
    assert words == ["no-difference", "no-difference"]
    given = [each.diagnosis.verdict.recommended for each in (plain, told)]
    assert given == ["unadapted", "adapted"]
