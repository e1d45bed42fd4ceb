"""Requests that cannot be met: exit code 2, one sentence, and nothing written.

Of a sentence only what any wording of it must name is compared. Nothing here is imported from
inside `ilspace.tables`, so that the answers hold while it is built anew.
"""

import os

import numpy as np
import pytest
from typer.testing import CliRunner

from ilspace import TableClassifier
from ilspace.cli.app import app

ILS = ("--method", "ils")
CLASS = ("--label", "class", *ILS)


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Good and bad files, and the results of a good pair of features."""
    folder = tmp_path_factory.mktemp("bad-input")
    rows = [f"{i % 7}.5,{i % 5},r{i}" for i in range(20)]
    labelled = [f"{row},{'xy'[i % 2]}" for i, row in enumerate(rows)]
    texts = {
        "source.csv": ["a,b,name,class", *labelled],
        "target.csv": ["a,b,name", *rows],
        "one-class.csv": ["a,b,name,class", *labelled[::2]],
        "unlabelled.csv": ["a,b,name,class", *(f"{row}," for row in rows)],
        "one-row.csv": ["a,b,name", rows[0]],
        "empty.csv": [],
        "header.csv": ["a,b,name"],
        "blank.csv": ["a,b", *12 * [","]],
        "nan.csv": ["a,b", *12 * ["NaN,nan"]],
        "other-columns.csv": ["p,q", *(f"{i},{i % 3}" for i in range(12))],
        "other-class.csv": ["a,b,name,class", *(f"{row},z" for row in rows)],
        "ragged.csv": ["a,b", "1,2", "1,2,3", "4,5"],
        "twice.csv": ["a,a", "1,2", "3,4", "5,6"],
        "quantity.csv": ["a,b,class", *(f"{i},{i % 3},{i}.{i % 9 + 1}" for i in range(60))],
        "taken/notes.txt": ["mine"],
    }
    for name, lines in texts.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (folder / "void").mkdir()
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    X = rng.normal(size=(20, 60)) + 3 * y[:, None]
    np.savez(folder / "source.npz", X=X, y=y)
    np.savez(folder / "target.npz", X=X[:12] + 0.1)
    np.savez(folder / "nan.npz", X=np.full((12, 60), np.nan))
    np.savez(folder / "one-row.npz", X=X[:1])
    np.savez(folder / "narrow.npz", X=X[:, :40])
    np.savez(folder / "nameless.npz", rows=X)
    np.savez(folder / "cube.npz", X=X.reshape(20, 6, 10), y=y)
    np.savez(folder / "short.npz", X=X, y=y[1:])
    (folder / "cut.npz").write_bytes((folder / "source.npz").read_bytes()[:100])
    (folder / "cut.mat").write_bytes(b"MATLAB 5.0 MAT-file" + b" " * 200)
    result = run(
        "adapt", folder / "source.npz", folder / "target.npz", *CLASS, "-o", folder / "results"
    )
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    """Files are named without their folder, which must stay as it is."""
    monkeypatch.chdir(folder)
    before = sorted(os.listdir(folder))
    yield
    assert sorted(os.listdir(folder)) == before


def refused(*arguments, names):
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    for name in names:
        assert name in result.stderr


SOURCE, TARGET = "source.csv", "target.csv"


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        # files
        (["nowhere.csv", TARGET, *CLASS], ["nowhere.csv must be a file", "there is none"]),
        ([SOURCE, "nowhere.npz", *CLASS], ["nowhere.npz must be a file", "there is none"]),
        (["empty.csv", TARGET, *CLASS], ["empty.csv must", "is empty"]),
        ([SOURCE, "empty.csv", *CLASS], ["empty.csv must", "is empty"]),
        ([SOURCE, "header.csv", *CLASS], ["header.csv must have rows"]),
        ([SOURCE, "ragged.csv", *CLASS], ["ragged.csv", "line 3"]),
        ([SOURCE, "twice.csv", *CLASS], ["twice.csv", "'a'"]),
        ([SOURCE, "void", *CLASS], ["void"]),
        (["cut.npz", TARGET, *CLASS], ["cut.npz cannot be read"]),
        (["cut.mat", TARGET, *CLASS], ["cut.mat cannot be read"]),
        (["nameless.npz", "target.npz", *CLASS], ["nameless.npz must", "FTS, fea, fts, feas, X"]),
        (["cube.npz", "target.npz", *CLASS], ["X in cube.npz must be a 2-d array", "(20, 6, 10)"]),
        (["short.npz", "target.npz", *CLASS], ["y in short.npz must", "20 rows", "19"]),
        (["-", "-", *CLASS], ["standard input"]),
        # how many
        ([SOURCE, *CLASS], ["one table", "--target"]),
        ([SOURCE, SOURCE, TARGET, *CLASS], ["3 tables", "--target"]),
        ([SOURCE, SOURCE, "--target", TARGET, *CLASS], ["different files", SOURCE]),
        # labels
        ([SOURCE, TARGET, *ILS], ["--label"]),
        ([SOURCE, TARGET, *ILS, "--label", "klass"], [SOURCE, "'klass'", "--label 'class'"]),
        (
            [SOURCE, "other-columns.csv", "--target", TARGET, *CLASS],
            ["other-columns.csv must have the column 'class'", "p, q"],
        ),
        (["one-class.csv", TARGET, *CLASS], ["one-class.csv", "two classes or more", "'x'"]),
        (["unlabelled.csv", TARGET, *CLASS], ["unlabelled.csv", "two classes or more"]),
        (["quantity.csv", TARGET, *CLASS], ["'class'"]),
        ([SOURCE, "other-class.csv", *CLASS], ["classes of the source (x, y)", "'z'"]),
        # rows and columns
        ([SOURCE, "one-row.csv", *CLASS], ["one-row.csv must have two rows or more"]),
        (["source.npz", "one-row.npz", *CLASS], ["one-row.npz must have two rows or more"]),
        ([SOURCE, "nan.csv", *CLASS], ["features"]),
        ([SOURCE, "blank.csv", *CLASS], ["features"]),
        (["source.npz", "nan.npz", *CLASS], ["features"]),
        ([SOURCE, "other-columns.csv", *CLASS], ["label", "same columns"]),
        # options
        ([SOURCE, TARGET, *CLASS, "--id", "nme"], ["'nme'", "check the name"]),
        ([SOURCE, TARGET, *CLASS, "--ignore", "nme"], ["'nme'", "check the name"]),
        ([SOURCE, TARGET, *CLASS, "--ignore", "class"], ["'class'", "--ignore"]),
        ([SOURCE, TARGET, *CLASS, "--id", "class"], ["'class'", "--id"]),
        ([SOURCE, TARGET, "--label", "class", "--method", "ILSS"], ["method", "ils", "'ILSS'"]),
        ([SOURCE, TARGET, *CLASS, "--scaling", "big"], ["--scaling", "'big'"]),
        (["source.npz", "target.npz", *CLASS, "--scaling", "sqrt-zscore-l2"], ["negative"]),
        ([SOURCE, TARGET, *CLASS, "--class-frequencies", "x=0.5,y=0.7"], ["sum to 1", "1.2"]),
        ([SOURCE, TARGET, *CLASS, "--class-frequencies", "x=0.5,z=0.5"], ["'z'", "'y'"]),
        ([SOURCE, TARGET, *CLASS, "--class-frequencies", "half"], ["NAME=SHARE", "'half'"]),
        ([SOURCE, TARGET, *CLASS, "--labels", "void"], ["void", "ilspace label"]),
    ],
)
def test_adapt_refuses(arguments, names):
    refused("adapt", *arguments, "-o", "out", names=names)


def test_adapt_refuses_a_folder_that_exists():
    refused(
        "adapt", SOURCE, TARGET, *CLASS, "-o", "taken", names=["taken must not exist", "--force"]
    )
    assert os.listdir("taken") == ["notes.txt"]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["nowhere", "target.npz"], ["nowhere"]),
        (["source.csv", "target.npz"], ["source.csv"]),
        (["void", "target.npz"], ["void"]),
        (["results", "nowhere.npz"], ["nowhere.npz", "there is none"]),
        (["results", "narrow.npz"], ["column 'x40'", "19 others"]),
        (["results", "empty.csv"], ["empty.csv", "is empty"]),
        (["results", "cut.npz"], ["cut.npz cannot be read"]),
        (["results", "target.npz", "-o", "target.npz"], ["target.npz"]),
        (["results", "target.npz", "-o", "header.csv"], ["header.csv", "--force"]),
        (["results", "target.npz", "-o", "void"], ["void", "folder"]),
        (["results", "target.npz", "-o", "no/labels.csv"], ["folder no "]),
        (["results", "target.npz", "--rows", "0"], ["--rows"]),
    ],
)
def test_predict_refuses(arguments, names):
    refused("predict", *arguments, names=names)


@pytest.mark.parametrize(
    ("method", "y", "yt", "names"),
    [
        ("ILSS", [0, 1] * 10, None, "ILSS"),
        ("ils", [0] * 20, None, "2 classes"),
        ("ils", [0, 1] * 9, None, "inconsistent"),
        ("ils", [0, 1] * 10, [0] * 11, r"yt .*\(11,\)"),
        ("ils", [0, 1] * 10, [2] + [-1] * 11, r"yt .*\[2\]"),
    ],
)
def test_the_library_refuses(method, y, yt, names):
    import pandas as pd

    with np.load("source.npz") as source, np.load("target.npz") as target:
        X, Xt = (pd.DataFrame(each["X"]).add_prefix("x") for each in (source, target))
    with pytest.raises(ValueError, match=names):
        TableClassifier(method=method).fit(X, y, Xt, yt)
