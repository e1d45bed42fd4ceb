"""Columns of free text: recognised, encoded row by row, saved and labelled."""

from copy import deepcopy
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from tables.small_tables import write_csv

import ilspace
from ilspace.estimators.persistence import estimator_of, state_of
from ilspace.storage import ModelFileError
from ilspace.tables import TableClassifier, TableError, free_text
from ilspace.tables import columns as column_plans
from ilspace.tables.encoding import fit_encoder
from ilspace.tables.job import adapt_files
from ilspace.tables.kinds import Category, Number, Text
from ilspace.tables.outputs import write_outputs
from ilspace.tables.prediction import label_file

GOOD = ("great", "lovely", "excellent", "wonderful", "splendid")
BAD = ("awful", "terrible", "boring", "dreadful", "useless")
FILLING = ("it", "was", "really", "and", "so", "quite", "the", "whole", "time", "for", "us")


def sentences(topics, n=40, seed=0):
    """Opinions, every second one good, about some things; each is different."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        words = [rng.choice(topics), *rng.choice(FILLING, 5), *rng.choice((GOOD, BAD)[i % 2], 2)]
        rows.append(f"The {' '.join(rng.permutation(words))}, number {i}.")
    return pd.DataFrame({"opinion": rows, "class": ["good", "bad"] * (n // 2)})


SOURCE = sentences(("film", "actor", "scene"))
TARGET = sentences(("phone", "battery", "screen"), n=30, seed=1)
X, Y, XT = SOURCE[["opinion"]], SOURCE["class"].to_numpy(str), TARGET[["opinion"]]


plan_columns = partial(column_plans.plan_columns, text_features="tfidf")


def entries(template, n=30):
    return pd.Series([template.format(i, chr(97 + i % 26)) for i in range(n)])


@pytest.fixture(scope="module")
def fitted():
    return TableClassifier(text_features="tfidf").fit(X, Y, XT)


# -- recognition ---------------------------------------------------------------------------------


def test_sentences_are_no_identifiers():
    plan = plan_columns(X, XT)
    (column,) = plan.source
    assert isinstance(column, Text)
    assert plan.source is plan.target
    assert plan.ids == ()
    assert plan.notes[0].startswith("Taken for free text")
    assert "opinion (--ignore leaves it out" in plan.notes[0]
    assert column.names[0] == "opinion: dimension 1"
    assert {"great", "it was"} & set(column.words.vocabulary)
    assert "film" not in column.words.vocabulary  # of one table alone


@pytest.mark.parametrize(
    ("column", "is_text"),
    [
        (entries("we had to wait for it, {}"), True),
        (entries("Ça marche très bien depuis {} jours"), True),
        (entries("Der Akku hält nur {} Stunden, schade um das Gerät"), True),
        (entries("यह फ़ोन बहुत अच्छा है और {}"), True),
        (entries("Main Street {}, Berlin"), False),
        (entries("{} Main Street, Springfield, IL 62704, USA"), False),
        (entries("Dr. Maria Teresa Lopez y Garcia {}"), False),
        (entries("The Return of the Living Dead {}"), False),
        (entries("run {} of sample {}"), False),
        (entries("/data/of/the/run/{}/as it was.csv"), False),
        (entries("http://example.org/a-page-of-words?n={}"), False),
        (entries("{} 2 3 4 5 6"), False),
        (entries("one of a few kinds of thing") + [str(i % 4) for i in range(30)], False),
        (entries("it was a good one {}", 6), False),
    ],
)
def test_what_is_free_text(column, is_text):
    table = pd.DataFrame({"t": column, "x": np.arange(len(column)) % 7})
    plan = plan_columns(table, table)
    found = {each.name: type(each) for each in plan.source}
    assert (found.get("t") is Text) is is_text
    assert ("t" in plan.ids) is (not is_text and column.nunique() > 10)


def test_what_is_called_an_identifier_is_one():
    table = X.assign(x=1.0).rename(columns={"opinion": "id"})
    assert plan_columns(table, table).ids == ("id",)
    assert isinstance(plan_columns(table, table, text=["id"]).source[0], Text)


def test_text_can_be_asked_for_left_out_or_handed_on():
    short, x = entries("{}x {}y", 20), np.arange(20) % 3
    table = pd.DataFrame({"t": short, "x": x})
    assert plan_columns(table, table).ids == ("t",)
    assert [type(each) for each in plan_columns(table, table, text=["t"]).source] == [Text, Number]
    both = X.assign(x=1.5), XT.assign(x=1.5)
    assert plan_columns(*both, ids=["opinion"]).ids == ("opinion",)
    assert plan_columns(*both, ignored=["opinion"]).source == (Number("x"),)
    kinds = pd.DataFrame({"t": ["red or so", "blue or so"] * 10})
    assert isinstance(plan_columns(kinds, kinds).source[0], Category)
    assert isinstance(plan_columns(kinds, kinds, text=["t"]).source[0], Text)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"text": ["nothing"]}, "'nothing' must be in a table"),
        ({"text": ["x"]}, "must hold strings, but 'x' holds numbers or dates: take it out"),
        ({"text": ["digits"]}, "must hold strings, but 'digits' holds numbers"),
        ({"text": ["day"]}, "must hold strings, but 'day' holds numbers or dates"),
        ({"text": ["opinion"], "ids": ["opinion"]}, "'opinion' is also an identifier"),
        ({"text": ["opinion"], "ignored": ["opinion"]}, "'opinion' is also .* ignored: name it"),
    ],
)
def test_text_must_be_asked_for_rightly(options, said):
    odd = {"x": 1.5, "digits": "12", "day": pd.Timestamp("2024-05-01")}
    with pytest.raises(TableError, match=said):
        plan_columns(X.assign(**odd), XT.assign(**odd), **options)


def test_text_that_says_nothing_is_left_out():
    table = pd.DataFrame({"x": np.arange(20.0), "t": entries("{} {}", 20)})
    other = table.assign(t="ЖЖЖ щщщ")
    plan = plan_columns(table, other, text=["t"])
    assert plan.source == (Number("x"),)
    assert "Without words that both tables have, and left out: t." in plan.notes
    assert (
        "Without any value, and left out: t."
        in plan_columns(table, table.assign(t=" "), text=["t"]).notes
    )
    alone = plan_columns(
        table, table[["x"]].set_axis(["y"], axis=1).assign(t="!?"), text=["t"], matching="none"
    )
    assert "Without words that recur, and left out: t." in alone.notes


def test_tables_without_common_columns_have_their_own_words():
    plan = plan_columns(X, XT.set_axis(["said"], axis=1))
    first, second = plan.source[0], plan.target[0]
    assert isinstance(first, Text)
    assert isinstance(second, Text)
    assert "film" in first.words.vocabulary
    assert "phone" in second.words.vocabulary


def test_languages_without_spaces_have_characters():
    chinese = pd.DataFrame(
        {"t": [f"这部电影{'很好看' if i % 2 else '不好看'}第{i}次" for i in range(30)]}
    )
    assert plan_columns(chinese.assign(x=1.5), chinese.assign(x=1.5)).ids == ("t",)
    (column,) = plan_columns(chinese, chinese, text=["t"]).source
    assert isinstance(column, Text)
    assert "很好看" in column.characters.vocabulary
    _, rows = fit_encoder(chinese, [column], scaling="zscore")
    assert np.isfinite(rows).all()
    assert np.ptp(rows[:, 0]) > 0


# -- encoding ------------------------------------------------------------------------------------


def test_rows_keep_the_products_of_their_tf_idf():
    (column,) = plan_columns(X, XT).source
    assert isinstance(column, Text)
    texts = [*X["opinion"], *XT["opinion"]]
    rows = sparse.hstack(
        [
            TfidfVectorizer(
                analyzer=each.analyzer,
                ngram_range=free_text.N_GRAMS[each.analyzer],
                sublinear_tf=True,
                vocabulary=each.vocabulary,
            ).fit_transform(texts)
            for each in (column.words, column.characters)
        ]
    )
    values = column.read(pd.Series(texts))
    assert values.shape[1] == len(texts) - 1  # all but the last of the axes
    np.testing.assert_allclose(values @ values.T, (rows @ rows.T).toarray(), atol=0.05)


def test_dimensions_keep_their_proportions_and_weigh_as_four_numbers():
    columns = plan_columns(X.assign(x=1.5), XT.assign(x=1.5)).source
    table = X.assign(x=np.arange(len(X)))
    encoder, rows = fit_encoder(table, columns, scaling="zscore")
    assert encoder.names[:2] == ["x", "opinion: dimension 1"]
    spread = rows[:, 1:].var(axis=0)
    assert spread.sum() == pytest.approx(Text.weight)
    assert rows[:, 0].var() == pytest.approx(1)
    raw = encoder.read(table).values[:, 1:].var(axis=0)
    np.testing.assert_allclose(spread / spread.sum(), raw / raw.sum())
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-12)


def test_a_row_does_not_depend_on_the_others_bit_for_bit(monkeypatch):
    columns = plan_columns(X, XT).target
    encoder, rows = fit_encoder(XT, columns, scaling="zscore-l2")
    alone = np.concatenate([encoder.encode(XT.iloc[[i]]) for i in range(len(XT))])
    np.testing.assert_array_equal(alone, rows)
    monkeypatch.setattr(free_text, "_BLOCK", 7)
    np.testing.assert_array_equal(encoder.encode(XT), rows)
    assert plan_columns(X, XT).target == columns  # deterministic


def test_missing_texts_pull_nowhere():
    columns = plan_columns(X, XT).target
    encoder, _ = fit_encoder(XT, columns, scaling="zscore")
    nothing = pd.DataFrame({"opinion": [None, np.nan, " ", "NA", "?", "щ", "\ud800"]}, dtype=object)
    entries = encoder.read(nothing)
    assert np.abs(encoder.scale_entries(entries)).max() < 1e-14
    assert not entries.n_known.any()
    assert encoder.read(XT).n_known.all()


def test_many_rows_are_sampled_and_long_texts_cut_off(monkeypatch):
    monkeypatch.setattr(free_text, "_MOST_ROWS", 20)
    monkeypatch.setattr(free_text, "MOST_N_GRAMS", 50)
    monkeypatch.setattr(free_text, "MOST_DIMENSIONS", 8)
    (column,) = plan_columns(X, XT).source
    assert isinstance(column, Text)
    assert len(column.characters.vocabulary) == 50
    assert column.read(X["opinion"]).shape == (len(X), 8)
    monkeypatch.setattr(free_text, "_MOST_CHARACTERS", 300)
    n_characters = sum(map(len, free_text._drawn(X["opinion"])))
    assert 300 <= n_characters < 400


# -- all together --------------------------------------------------------------------------------


def test_opinions_on_other_things_are_told_apart(fitted):
    assert fitted.score(XT, TARGET["class"]) > 0.9
    assert fitted.target_encoder_.scaling == "zscore-l2"


def test_a_saved_model_answers_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "model.safetensors")
    again = ilspace.load(tmp_path / "model.safetensors")
    assert again.plan_ == fitted.plan_
    assert len({*again.plan_.source, *fitted.plan_.source}) == 1
    pd.testing.assert_frame_equal(again.label_rows(XT), fitted.label_rows(XT), check_exact=True)


def test_damaged_texts_are_refused(fitted):
    state = state_of(fitted)
    column = fitted.plan_.target[0]
    n, width = column.words.axes.shape
    for place, value, said in (
        ("words/vocabulary", [*column.words.vocabulary[1:], 3], r"should be of type str"),
        ("words/vocabulary", [*column.words.vocabulary[1:], "it"], "should be distinct"),
        ("words/vocabulary", list(column.words.vocabulary[1:]), rf"shape \({n - 1},\)"),
        ("words/idf", np.zeros(n), "should lie between 1 and 99"),
        ("words/idf", np.full(n, np.nan), "should be finite"),
        ("words/axes", np.zeros((n, width)), "unit vectors in single precision"),
        ("words/axes", np.full((n, width), 2, np.float32), "unit vectors"),
        ("words/axes", np.zeros((n, 0), np.float32), "unit vectors"),
        ("words/axes", np.zeros((n, width + 1), np.float32), "axes should have shape"),
        ("words", None, "should have the entries vocabulary, idf, axes"),
        ("name", None, "should be of type str"),
    ):
        changed = deepcopy(state)
        *holders, last = place.split("/")
        holder = changed["fitted"]["target_encoder_"]["columns"][0]
        for key in holders:
            holder = holder[key]
        holder[last] = value
        with pytest.raises(ModelFileError, match=said):
            estimator_of(changed)
    changed = deepcopy(state)
    changed["fitted"]["target_encoder_"]["columns"][0]["words"]["idf"] = column.words.idf + 1
    with pytest.raises(ModelFileError, match="should share"):
        estimator_of(changed)


def test_two_texts_of_different_sizes_are_saved(tmp_path):
    here = X.assign(other=entries("we had to wait for it, {}", len(X)), x=np.arange(len(X)))
    there = XT.set_axis(["said"], axis=1)
    some = [each if i < 6 else None for i, each in enumerate(TARGET["class"])]
    model = TableClassifier(text_features="tfidf").fit(here, Y, there, some)
    model.save(tmp_path / "m")
    assert ilspace.load(tmp_path / "m").plan_ == model.plan_


class Files:
    """What `write_csv` takes."""

    source, target = SOURCE, TARGET[["opinion"]]


@pytest.mark.parametrize("is_partitioned", [False, True])
def test_files_with_text(tmp_path, is_partitioned):
    paths = list(write_csv(tmp_path, Files))
    if is_partitioned:
        pytest.importorskip("dask.array")
        pytest.importorskip("pyarrow")
        (tmp_path / "parts").mkdir()
        paths[1] = str(tmp_path / "parts")
        XT.to_parquet(tmp_path / "parts" / "0.parquet", row_group_size=13)
    adaptation = adapt_files(*paths, label="class", text=("opinion",), partitioned=is_partitioned)
    summary = write_outputs(adaptation, tmp_path / "out")
    assert summary["inputs"]["text"] == ["opinion"]
    rows = pd.read_csv(tmp_path / "out" / "predictions.csv")
    assert np.mean(rows["label"] == TARGET["class"]) > 0.9
    with (tmp_path / "again.csv").open("w") as output:
        label_file(adaptation.model, paths[1], output=output, n_rows=7)
    again = pd.read_csv(tmp_path / "again.csv")
    assert again["label"].tolist() == rows["label"].tolist()
    with pytest.raises(TableError, match="'class' is given to --text too"):
        adapt_files(*paths, label="class", text=("class",))
