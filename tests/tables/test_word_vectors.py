"""Word vectors of texts, beside their n-grams."""

import logging
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from skrub import StringEncoder

import ilspace
from ilspace import TableClassifier
from ilspace.tables import word_vectors as module
from ilspace.tables.columns import plan_columns
from ilspace.tables.encoding import TableEncoder
from ilspace.tables.explanation import explain
from ilspace.tables.pair import as_pair
from ilspace.tables.word_vectors import WordVectors

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
TEXTS = pd.Series(["good food", None, "", "Good case, Excellent value.", "food"], name="text")


@pytest.fixture(autouse=True)
def _load_again():
    module.vectors.cache_clear()
    yield
    module.vectors.cache_clear()


@pytest.fixture
def vectors():
    pytest.importorskip("wordllama")


@pytest.fixture
def not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "wordllama", None)


def fitted(texts):
    return WordVectors(StringEncoder(2, random_state=0)).fit(texts)


@pytest.mark.usefixtures("vectors")
def test_rows_are_directions_beside_components_and_do_not_depend_on_each_other():
    column = fitted(TEXTS)
    rows = column.transform(TEXTS)
    assert rows.shape == (5, 258)
    encoded = np.asarray(column.encoder_.transform(TEXTS), float)
    np.testing.assert_allclose(rows[:, :2] * column.scales_[0], encoded, rtol=1e-12)
    for block in (rows[:, :2], rows[:, 2:]):  # neither outweighs the other
        assert block.var(axis=0).sum() == pytest.approx(1)
    lengths = np.linalg.norm(rows[:, 2:], axis=1) * column.scales_[1]
    np.testing.assert_allclose(lengths, [1, 0, 0, 1, 1])
    for i in range(5):
        np.testing.assert_allclose(column.transform(TEXTS[[i]])[0], rows[i], atol=1e-7)
        np.testing.assert_array_equal(column.transform(TEXTS[[i]])[0, 2:], rows[i, 2:])
    assert rows[0, 2:] @ rows[4, 2:] > 0.5  # of what is meant


@pytest.mark.usefixtures("vectors")
def test_each_column_of_text_has_vectors_with_its_name():
    tables = [each.assign(other=each["text"].str.upper()) for each in (SOURCE, TARGET)]
    encoder = TableEncoder(plan_columns(*tables))
    source, _ = encoder.fit_transform(*tables)
    assert len(set(encoder.names_)) == len(encoder.names_) == source.shape[1]
    for name in ("text", "other"):
        own = [encoder.names_[i] for i in encoder.blocks_[name]]
        assert sum(f"{name}: word vector" in each for each in own) == 256
        assert len(own) > 256  # and n-grams


@pytest.mark.usefixtures("vectors")
def test_words_that_one_table_alone_has_are_understood(monkeypatch, tmp_path):
    """No word of praise or blame is in both tables, so that their letters tell little."""
    pair = as_pair(SOURCE, Y, TARGET)
    model = TableClassifier(LogisticRegression())
    encoded = model.fit_pair(pair)
    assert model.plan_.texts == ("text",)
    assert np.mean(model.predict(TARGET) == TRUTH) > 0.9
    for row, word in ((0, GOOD[3]), (3, BAD[3])):
        (each,) = explain(model, pair, encoded, [row])
        changes = {one.name: one.change for one in each.words}
        assert changes[word] > 2 * np.mean(list(changes.values()))
    model.save(tmp_path / "model.skops")
    loaded = ilspace.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict_proba(TARGET), model.predict_proba(TARGET))
    monkeypatch.setattr("ilspace.tables.encoding.why_unavailable", lambda: "not installed")
    counted = TableClassifier(LogisticRegression()).fit(SOURCE, Y, TARGET)
    assert np.mean(counted.predict(TARGET) == TRUTH) < 0.8


@pytest.mark.usefixtures("not_installed")
def test_without_the_package_texts_are_n_grams():
    assert 'pip install "ilspace[sentences]"' in module.why_unavailable()
    encoder = TableEncoder(plan_columns(SOURCE, TARGET))
    encoder.fit_transform(SOURCE, TARGET)
    assert not any("word vector" in each for each in encoder.names_)


@pytest.mark.usefixtures("vectors")
def test_predictions_need_what_the_fit_had(monkeypatch):
    model = TableClassifier("ils").fit(SOURCE, Y, TARGET)
    monkeypatch.setitem(sys.modules, "wordllama", None)
    module.vectors.cache_clear()
    with pytest.raises(ImportError, match=r'pip install "ilspace\[sentences\]"'):
        model.predict(TARGET)


@pytest.mark.parametrize(
    ("code", "reason"),
    [("raise OSError('no libtokenizers')", "OSError: no libtokenizers"), ("", "no attribute")],
)
def test_a_broken_package_is_no_obstacle(monkeypatch, tmp_path, code, reason):
    (tmp_path / "wordllama.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    for name in [each for each in sys.modules if each.partition(".")[0] == "wordllama"]:
        monkeypatch.delitem(sys.modules, name)
    assert "cannot be loaded" in module.why_unavailable()
    assert reason in module.why_unavailable()
    TableEncoder(plan_columns(SOURCE, TARGET)).fit_transform(SOURCE, TARGET)
    with pytest.raises(ImportError, match="cannot be loaded"):
        fitted(TEXTS)
    sys.modules.pop("wordllama", None)


@pytest.mark.usefixtures("vectors")
def test_the_logging_of_a_program_stays_as_it_is(monkeypatch):
    root = logging.getLogger()
    before = root.level, list(root.handlers)
    for name in [each for each in sys.modules if each.partition(".")[0] == "wordllama"]:
        monkeypatch.delitem(sys.modules, name)
    assert module.why_unavailable() == ""
    assert (root.level, list(root.handlers)) == before


@pytest.mark.usefixtures("vectors")
def test_one_long_text_does_not_make_all_long(monkeypatch):
    shapes = []
    model = module.vectors()
    pool = type(model).avg_pool
    monkeypatch.setattr(
        type(model),
        "avg_pool",
        staticmethod(lambda rows, mask: (shapes.append(rows.shape), pool(rows, mask))[1]),
    )
    texts = pd.Series(["a short one"] * 80 + ["word " * 10_000])
    column = fitted(texts)
    rows = column.transform(texts)[:, 2:]
    assert max(n * length for n, length, _ in shapes) <= 2 * module._BATCH_CHARACTERS
    np.testing.assert_array_equal(rows[80], column.transform(texts[-1:])[0, 2:])
    np.testing.assert_array_equal(rows[0], column.transform(texts[:1])[0, 2:])
