"""Why a row has its label: neighbours, columns, words; each found another way as well."""

import numpy as np
import pandas as pd
import pytest
from tables.small_tables import small_tables

from ilspace.tables import TableClassifier
from ilspace.tables.explanation import explain_rows, in_words
from ilspace.tables.labels import LabelledTables
from ilspace.tables.neighbours import nearest_labelled
from ilspace.tables.terms import leading_terms

TABLES = small_tables(missing=0)
NUMBERS = ["height", "width", "depth", "weight"]


def labelled(n_labels=0):
    X, y, Xt = TABLES.features
    yt = None
    if n_labels:
        yt = np.array(
            [each if i < n_labels else None for i, each in enumerate(TABLES.truth)], object
        )
    return LabelledTables(X, y, Xt, yt)


@pytest.fixture(scope="module")
def model():
    return TableClassifier().fit(*labelled())


@pytest.fixture(scope="module")
def explained(model):
    return explain_rows(model, labelled(), [4, 2])


def test_labels_are_those_of_the_model(model, explained):
    said = model.label_rows(TABLES.target)
    plain = model.unadapted_probabilities(TABLES.target)
    for row, each in zip([4, 2], explained, strict=True):
        assert (each.row, each.name) == (row, TABLES.target["sample"].iloc[row])
        assert [each.label, each.adapted, each.unadapted, each.doubts] == said.iloc[row][
            ["label", "adapted", "unadapted", "doubts"]
        ].tolist()
        assert each.probability == pytest.approx(said["probability"].iloc[row])
        assert each.unadapted_probability == pytest.approx(plain[row].max())
        assert each.given is None


def test_a_number_does_what_its_absence_undoes(model, explained):
    """An entry that is really missing gives the probability that occlusion promises."""
    for each in explained:
        table = TABLES.target.iloc[[each.row]]
        code = list(model.classes_).index(each.label)
        found = {one.name: one.change for one in each.columns}
        assert set(found) == {*NUMBERS, "colour"}
        for name in NUMBERS:
            without = model.predict_proba(table.assign(**{name: np.nan}))[0, code]
            assert found[name] == pytest.approx(each.probability - without, abs=1e-9)


def test_a_category_is_replaced_by_the_shares_of_all(model, explained):
    """Of a model that is linear in the rows the mean of the target is the mean of its rows."""
    linear = TableClassifier("linear-own", scaling="zscore").fit(*labelled())
    (each,) = explain_rows(linear, labelled(), [4])
    code = list(linear.classes_).index(each.label)
    colours = TABLES.target["colour"]
    rows = pd.concat([TABLES.target.iloc[[4]]] * len(colours)).assign(colour=colours.to_numpy())
    scores = np.log(linear.member_probabilities(rows)[0])
    # scores up to a constant of each row, which their differences do not have
    scores = (scores - scores[:, [0]]).mean(axis=0)
    mean = np.exp(scores) / np.exp(scores).sum()
    power = linear.agreement_.inverse_temperature
    raised = mean**power / (mean**power).sum()
    change = next(one.change for one in each.columns if one.name == "colour")
    assert each.probability - change == pytest.approx(raised[code], abs=1e-9)


def test_the_most_influential_come_first(explained):
    for each in explained:
        sizes = [abs(one.change) for one in each.columns]
        assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("method", ["committee", "linear"])
@pytest.mark.parametrize("n_labels", [0, 6])
def test_neighbours_are_the_nearest_of_all(method, n_labels):
    tables = labelled(n_labels)
    model = TableClassifier(method).fit(*tables)
    view = model.transform if model.ils_ is not None else model.encode
    known = [("source", i, y) for i, y in enumerate(tables.y)]
    known += [("target", i, TABLES.truth[i]) for i in range(n_labels)]
    rows = {"source": view(tables.source, "source"), "target": view(tables.target)}
    for row, found in zip((1, 9), nearest_labelled(model, tables, (1, 9), n=4), strict=True):
        by_hand = sorted(
            (float(np.linalg.norm(rows[domain][i] - rows["target"][row])), domain, i, label)
            for domain, i, label in known
            if (domain, i) != ("target", row)
        )[:4]
        assert [(each.domain, each.row, each.label) for each in found] == [
            (domain, i, label) for _, domain, i, label in by_hand
        ]
        np.testing.assert_allclose([each.distance for each in found], [one[0] for one in by_hand])


def test_given_labels_and_plain_data():
    tables = labelled(6)
    model = TableClassifier("linear").fit(*tables)
    (each,) = explain_rows(model, tables, [0])
    assert each.given == TABLES.truth[0]
    plain = each.as_dict()
    assert plain["row"] == 1
    assert plain["neighbours"][0]["row"] == each.neighbours[0].row + 1
    text = "\n".join(in_words(each, tables, model.plan_.ids, n_columns=2))
    assert f"It came with the label {TABLES.truth[0]}." in text
    assert text.count("  +0.") + text.count("  -0.") == 2


# -- words ----------------------------------------------------------------------------------------

FILLERS = ("the thing was there", "we went to see it", "it was on the table", "they said it is so")


def sentences(good, bad, n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    texts = [f"{rng.choice(FILLERS)} {bad if each else good} {rng.integers(100)}" for each in y]
    return pd.DataFrame({"text": texts}), np.array(["fine", "poor"])[y]


@pytest.fixture(scope="module")
def of_words():
    source, y = sentences("excellent", "awful")
    target, _ = sentences("excellent", "awful", seed=1)
    tables = LabelledTables(source, y, target, None)
    return TableClassifier(text=("text",)).fit(*tables), tables


def test_the_word_that_tells_the_classes_apart_is_named(of_words):
    model, tables = of_words
    (column,) = model.plan_.target
    found = leading_terms(model, tables.target, column, n=1)
    assert found == {"fine": ["excellent"], "poor": ["awful"]}


def test_the_word_of_a_row_that_decides_is_named(of_words):
    model, tables = of_words
    good, bad = explain_rows(model, tables, [0, 1])
    for each, label, word in ((good, "fine", "excellent"), (bad, "poor", "awful")):
        assert each.label == label
        first = each.terms["text"][0]
        assert first.name == word
        assert first.change > 0.2
        text = tables.target["text"].iloc[each.row]
        without = model.predict_proba(pd.DataFrame({"text": [text.replace(word, " ")]}))[0]
        code = list(model.classes_).index(label)
        assert first.change == pytest.approx(each.probability - without[code], abs=1e-9)
    assert "“" in "\n".join(in_words(good, tables, model.plan_.ids))


def test_a_missing_text_has_no_words(of_words):
    model, tables = of_words
    target = tables.target.copy()
    target.loc[0, "text"] = None
    (each,) = explain_rows(model, tables._replace(target=target), [0])
    assert each.terms == {}


def test_in_wide_tables_few_predictions_find_the_columns_that_decide(monkeypatch):
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(3000)]
    deciding = {"c17", "c1500", "c2999"}
    y = np.arange(40) % 2
    tables = []
    for _ in range(2):
        table = pd.DataFrame(rng.normal(scale=0.01, size=(40, 3000)), columns=names)
        for name in deciding:
            table[name] = np.where(y, 1.0, -1.0)
        tables.append(table)
    source, target = tables
    model = TableClassifier("linear", scaling="none").fit(source, y.astype(str), target)
    ask, asked = TableClassifier.predict_entries, []

    def counting(self, entries):
        asked.append(len(entries.values))
        return ask(self, entries)

    monkeypatch.setattr(TableClassifier, "predict_entries", counting)
    (each,) = explain_rows(model, LabelledTables(source, y.astype(str), target, None), [0])
    assert {one.name for one in each.columns[:3]} == deciding
    without = model.predict_proba(target.iloc[[0]].assign(c17=np.nan))[0]
    change = each.probability - without[list(model.classes_).index(each.label)]
    assert {one.name: one.change for one in each.columns}["c17"] == pytest.approx(change, abs=1e-9)
    assert max(asked) <= 33
    assert sum(asked) < 300
    assert each.columns == tuple(sorted(each.columns, key=lambda one: -abs(one.change)))
