"""As a new user would: Office+Caltech10 in two CSV files, labels as the library gives them."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from ilspace import TableClassifier
from ilspace.benchmark.protocols import hoffman_splits
from ilspace.cli.app import app
from ilspace.datasets import load_office_caltech, preprocess

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("ilspace_data")]

NAMES = np.array(
    ["backpack", "bike", "calculator", "headphones", "keyboard"]
    + ["laptop", "monitor", "mouse", "mug", "projector"]
)


def named(domain):
    words = [f"word{i}" for i in range(domain.X.shape[1])]
    return pd.DataFrame(domain.X, columns=words), NAMES[domain.y - 1]


@pytest.fixture(scope="module")
def surf(ilspace_data):
    """Source of the first split of A → C with 20 rows a class, and the whole target."""
    data, split = load_office_caltech("surf"), hoffman_splits("A", "C")[0]
    (source, y), (target, truth) = named(data["A"]), named(data["C"])
    source, y = source.iloc[split.source], y[split.source]
    target.insert(0, "image", [f"{i:05d}" for i in range(len(target))])
    return source, y, target, truth


def adapted(folder, source, target, *options):
    """Write both files, adapt, and read what came of it."""
    for name, table in (("s.csv", source), ("t.csv", target)):
        table.to_csv(folder / name, index=False)
    command = ["adapt", str(folder / "s.csv"), str(folder / "t.csv"), "--label", "class", "--json"]
    result = CliRunner().invoke(app, [*command, "-o", str(folder / "out"), "-q", *options])
    assert result.exit_code == 0, result.output
    with open(folder / "out" / "predictions.csv", newline="", encoding="utf-8") as stream:
        return json.loads(result.stdout), list(csv.DictReader(stream))


def labels_of(rows):
    return np.array([each["label"] for each in rows])


def test_two_files(tmp_path, surf):
    source, y, target, truth = surf
    summary, rows = adapted(tmp_path, source.assign(**{"class": y}), target)
    assert (summary["kind"], summary["method"]) == ("features", "ils")
    assert summary["identifiers"] == ["image"]
    assert [each["image"] for each in rows] == target["image"].tolist()
    model = TableClassifier().fit(source, y, target)
    assert (labels_of(rows) == model.predict(target)).all()
    wide = [
        preprocess(each.to_numpy(), "sqrt-zscore-l2") for each in (source, target[source.columns])
    ]
    plain = LogisticRegression(max_iter=300).fit(wide[0], y).score(wide[1], truth)
    assert np.mean(labels_of(rows) == truth) > max(0.35, plain)
    alone = TableClassifier("ils", class_prior="source").fit(source, y, target).rule_
    for domain, values, expected in (
        ("source", source, wide[0]),
        ("target", target[source.columns], wide[1]),
    ):
        scaled = alone.scalers_[domain].transform(values.to_numpy(float))
        np.testing.assert_allclose(scaled, expected, atol=1e-12)

    # the model labels the same rows as it did, and shuffled columns make no difference
    order = np.random.default_rng(0).permutation(target.columns)
    target[order].to_csv(tmp_path / "shuffled.csv", index=False)
    arguments = [str(tmp_path / "out"), str(tmp_path / "shuffled.csv")]
    result = CliRunner().invoke(app, ["predict", *arguments, "-q"])
    predicted = (tmp_path / "out" / "predictions.csv").read_text(encoding="utf-8")
    assert result.stdout == predicted


def test_shuffled_columns(tmp_path, surf):
    source, y, target, _ = surf
    order = np.random.default_rng(1).permutation(target.columns)
    _, rows = adapted(tmp_path, source.assign(**{"class": y}), target[order])
    expected = TableClassifier().fit(source, y, target).predict(target)
    assert labels_of(rows).tolist() == expected.tolist()


def test_missing_values_in_a_third_of_the_entries(tmp_path, surf):
    source, y, target, truth = surf
    rng = np.random.default_rng(0)
    source, words = source.mask(rng.random(source.shape) < 0.3), target.drop(columns="image")
    words = words.mask(rng.random(words.shape) < 0.3)
    _, rows = adapted(tmp_path, source.assign(**{"class": y}), words)
    expected = TableClassifier().fit(source, y, words).predict(words)
    assert (labels_of(rows) == expected).all()
    assert np.mean(expected == truth) > 0.25  # of ten classes


def test_other_columns_and_three_labels_a_class(tmp_path, surf):
    source, y, _, _ = surf
    deep = load_office_caltech("decaf6")["W"]
    target, truth = named(deep)
    some = np.full(len(truth), None, dtype=object)
    for each in NAMES:
        some[np.flatnonzero(truth == each)[:3]] = each
    file = target.add_prefix("unit ").assign(**{"class": some})
    summary, rows = adapted(tmp_path, source.assign(**{"class": y}), file)
    assert summary["n_target_labels"] == 30
    assert summary["columns_are_shared"] is False
    assert summary["drift"] == []
    model = TableClassifier().fit(source, y, target.add_prefix("unit "), some)
    expected = model.predict(target.add_prefix("unit "))
    hidden = np.array([each is None for each in some])
    assert (labels_of(rows)[hidden] == expected[hidden]).all()
    assert (labels_of(rows)[~hidden] == some[~hidden]).all()
    assert np.mean((expected == truth)[hidden]) > 0.6
