"""Sentence embeddings as a kind of column."""

import sys

import numpy as np
import pandas as pd
import pytest

import ilspace
from ilspace.tables import TableClassifier, TableError
from ilspace.tables import sentences as module
from ilspace.tables.explanation import explain_rows
from ilspace.tables.labels import LabelledTables
from ilspace.tables.sentences import DIMENSIONS, Sentences

GOOD = ("lovely", "wonderful", "delightful", "superb", "pleasant", "excellent")
BAD = ("terrible", "dreadful", "horrible", "awful", "miserable", "disgusting")


def reviews(good, bad, what):
    texts = [
        f"the {what} that we had there was {word} number {i}"
        for i in range(12)
        for word in good + bad
    ]
    return pd.DataFrame({"text": texts}), np.array((["good"] * 3 + ["bad"] * 3) * 12)


SOURCE, Y = reviews(GOOD[:3], BAD[:3], "meal")
TARGET, TRUTH = reviews(GOOD[3:], BAD[3:], "room")


def test_without_the_package_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "wordllama", None)
    module._vectors.cache_clear()
    with pytest.raises(ImportError, match=r"ilspace\[sentences\]"):
        TableClassifier("linear", text_features="wordllama").fit(SOURCE, Y, TARGET)


def test_numbers_are_no_text():
    rows = pd.DataFrame({"a": np.arange(20.0), "b": np.arange(20) % 3})
    with pytest.raises(TableError, match="must hold strings"):
        TableClassifier("linear", text=("a",), text_features="wordllama").fit(rows, Y[:20], rows)


@pytest.fixture
def vectors():
    pytest.importorskip("wordllama")
    module._vectors.cache_clear()


def test_rows_are_directions_and_do_not_depend_on_each_other(vectors):
    column = Sentences("text")
    texts = pd.Series(["good food", None, "", "Good case, Excellent value.", "food"])
    rows = column.read(texts)
    assert rows.shape == (5, DIMENSIONS)
    assert np.isnan(rows).all(axis=1).tolist() == [False, True, True, False, False]
    np.testing.assert_allclose(np.linalg.norm(rows[[0, 3, 4]], axis=1), 1)
    for i in range(5):
        np.testing.assert_array_equal(column.read(texts[[i]])[0], rows[i])


def test_words_that_one_table_alone_has_are_understood(vectors, tmp_path):
    """No word of praise or blame is in both tables, so that their counts tell nothing."""
    tables = LabelledTables(SOURCE, Y, TARGET, None)
    model = TableClassifier("linear", text_features="wordllama").fit(*tables)
    assert model.plan_.target == (Sentences("text"),)
    assert np.mean(model.predict(TARGET) == TRUTH) > 0.9
    counted = TableClassifier("linear").fit(*tables)
    assert np.mean(counted.predict(TARGET) == TRUTH) < 0.7
    (each,) = explain_rows(model, tables, [0])
    assert {one.name: one.change for one in each.terms["text"]}[GOOD[3]] > 0.05
    model.save(tmp_path / "model.safetensors")
    loaded = ilspace.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict_proba(TARGET), model.predict_proba(TARGET))
