"""Sentence embeddings as a kind of column."""

import logging
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import ilspace
from ilspace.cli.app import app
from ilspace.tables import TableClassifier, TableError
from ilspace.tables import sentences as module
from ilspace.tables.columns import plan_columns
from ilspace.tables.encoding import fit_encoder
from ilspace.tables.explanation import explain_rows
from ilspace.tables.job import adapt_files
from ilspace.tables.kinds import Text, TextWithEmbeddings
from ilspace.tables.labels import LabelledTables
from ilspace.tables.sentences import DIMENSIONS, Sentences
from ilspace.tables.terms import leading_terms

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
    counted = TableClassifier("linear", text_features="tfidf").fit(*tables)
    assert np.mean(counted.predict(TARGET) == TRUTH) < 0.7
    (each,) = explain_rows(model, tables, [0])
    assert {one.name: one.change for one in each.terms["text"]}[GOOD[3]] > 0.05
    model.save(tmp_path / "model.safetensors")
    loaded = ilspace.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict_proba(TARGET), model.predict_proba(TARGET))


def test_by_default_both_where_there_are_vectors(vectors, monkeypatch):
    plan = plan_columns(SOURCE, TARGET)
    assert type(plan.target[0]) is TextWithEmbeddings
    assert f"n-grams and {DIMENSIONS} dimensions of sentence embeddings (wordllama" in plan.notes[0]
    monkeypatch.setitem(sys.modules, "wordllama", None)
    module._vectors.cache_clear()
    two = SOURCE.assign(other=SOURCE["text"])
    plan = plan_columns(two, two)
    assert [type(each) for each in plan.target] == [Text, Text]
    assert sum("ilspace[sentences]" in each for each in plan.notes) == 1
    asked = plan_columns(SOURCE, TARGET, text_features="tfidf")
    assert type(asked.target[0]) is Text
    assert not any("ilspace[sentences]" in each for each in asked.notes)


@pytest.mark.parametrize(
    ("code", "reason"),
    [("raise OSError('no libtokenizers')", "OSError: no libtokenizers"), ("", "no attribute")],
)
def test_a_broken_package_is_no_obstacle_unless_it_is_asked_for(
    monkeypatch, tmp_path, code, reason
):
    (tmp_path / "wordllama.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    for name in [each for each in sys.modules if each.partition(".")[0] == "wordllama"]:
        monkeypatch.delitem(sys.modules, name)
    module._vectors.cache_clear()
    plan = plan_columns(SOURCE, TARGET)
    assert type(plan.target[0]) is Text
    assert f"cannot be loaded ({reason}" in plan.notes[-1] or reason in plan.notes[-1]
    with pytest.raises(ImportError, match="cannot be loaded"):
        TableClassifier("linear", text_features="both").fit(SOURCE, Y, TARGET)
    sys.modules.pop("wordllama", None)


def test_the_logging_of_a_program_stays_as_it_is(vectors):
    root = logging.getLogger()
    before = root.level, list(root.handlers)
    for name in [each for each in sys.modules if each.partition(".")[0] == "wordllama"]:
        del sys.modules[name]
    module.why_unavailable()
    assert (root.level, list(root.handlers)) == before


def test_one_long_text_does_not_make_all_long(vectors, monkeypatch):
    shapes = []
    model = module._vectors()
    pool = type(model).avg_pool
    monkeypatch.setattr(
        type(model),
        "avg_pool",
        staticmethod(lambda rows, mask: (shapes.append(rows.shape), pool(rows, mask))[1]),
    )
    texts = ["a short one"] * 80 + ["word " * 10_000]
    rows = Sentences("text").read(pd.Series(texts))
    assert max(n * length for n, length, _ in shapes) <= 2 * module._BATCH_CHARACTERS
    np.testing.assert_array_equal(rows[80], Sentences("text").read(pd.Series(texts[-1:]))[0])
    np.testing.assert_array_equal(rows[0], Sentences("text").read(pd.Series(texts[:1]))[0])


def test_results_say_what_was_used_and_predictions_what_they_need(vectors, monkeypatch, tmp_path):
    for name, table in (("a", SOURCE.assign(class_=Y)), ("b", TARGET)):
        table.rename(columns={"class_": "class"}).to_csv(tmp_path / f"{name}.csv", index=False)
    found = adapt_files(tmp_path / "a.csv", tmp_path / "b.csv", label="class", method="linear")
    assert found.inputs["text_features"] == "both"
    found.model.save(tmp_path / "model.safetensors")
    monkeypatch.setitem(sys.modules, "wordllama", None)
    module._vectors.cache_clear()
    command = ["predict", str(tmp_path / "model.safetensors"), str(tmp_path / "b.csv")]
    said = CliRunner().invoke(app, [*command, "-o", str(tmp_path / "labels.csv")])
    assert said.exit_code == 1
    assert 'pip install "ilspace[sentences]"' in said.stderr
    assert not (tmp_path / "labels.csv").exists()


def test_both_are_the_two_side_by_side_and_vary_alike(vectors):
    (both,) = plan_columns(SOURCE, TARGET, text_features="both").target
    assert isinstance(both, TextWithEmbeddings)
    ngrams = Text("text", both.words, both.characters)
    texts = pd.Series(["the room was superb", "", None, "Δ", "the room"])
    values = both.read(texts)
    parts = ngrams.read(texts), Sentences("text").read(texts)
    np.testing.assert_array_equal(values, np.hstack(parts))
    assert values.shape == (5, len(both.names))
    assert len(set(both.names)) == len(both.names)
    assert both.known(values).tolist() == [True, False, False, True, True]  # "Δ": a token
    _, rows = fit_encoder(TARGET, [both], scaling="zscore")
    n = len(ngrams.names)
    variances = rows.var(axis=0)
    np.testing.assert_allclose([variances[:n].sum(), variances[n:].sum()], [4, 4])


def test_n_grams_and_embeddings_are_scaled_apart():
    (ngrams,) = plan_columns(SOURCE, TARGET, text_features="tfidf").target
    assert isinstance(ngrams, Text)
    both = TextWithEmbeddings("text", ngrams.words, ngrams.characters)
    assert both.pools == [*ngrams.pools, DIMENSIONS]
    assert sum(both.pools) == len(both.names)


def test_without_words_in_common_embeddings_remain(vectors):
    table, other = (
        pd.DataFrame({"text": [f"{word * 3} {word * 4} {word * 5} {word * 6}" for word in letters]})
        for letters in ("abcdefghijkl", "mnopqrstuvwx")
    )
    plan = plan_columns(table, other, text=["text"], text_features="both")
    assert plan.target == (Sentences("text"),)
    own = plan_columns(table, other, text=["text"], text_features="both", matching="none")
    assert [type(each) for each in (*own.source, *own.target)] == [Sentences] * 2
    assert f"{DIMENSIONS} dimensions of sentence embeddings" in plan.notes[0]


def test_both_are_saved_and_their_words_named(vectors, tmp_path):
    tables = LabelledTables(SOURCE, Y, TARGET, None)
    model = TableClassifier("linear", text_features="both").fit(*tables)
    assert np.mean(model.predict(TARGET) == TRUTH) > 0.9
    (each,) = explain_rows(model, tables, [0])
    assert {one.name: one.change for one in each.terms["text"]}[GOOD[3]] > 0.05
    (column,) = model.plan_.target
    assert isinstance(column, TextWithEmbeddings)
    # of the words that both tables have none tells the classes apart: so little is left of them
    words = leading_terms(model, SOURCE, column)
    assert not {*words["good"], *words["bad"]} & {*GOOD, *BAD}
    alike = TableClassifier("linear", text_features="both").fit(SOURCE, Y, SOURCE)
    (column,) = alike.plan_.target
    assert isinstance(column, TextWithEmbeddings)
    words = leading_terms(alike, SOURCE, column, n=3)
    for name, own in (("good", GOOD), ("bad", BAD)):
        telling = {word for each in words[name] for word in each.split()} & {*GOOD, *BAD}
        assert telling
        assert telling <= set(own)
    model.save(tmp_path / "model.safetensors")
    loaded = ilspace.load(tmp_path / "model.safetensors")
    assert loaded.plan_.target == model.plan_.target
    np.testing.assert_array_equal(loaded.predict_proba(TARGET), model.predict_proba(TARGET))
