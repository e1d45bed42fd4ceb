"""Why a row has its label: neighbours, columns, words; each found another way as well."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from tables.small_tables import NUMBERS, quick, small_tables

from ilspace.tables import TableClassifier, learning
from ilspace.tables.explanation import explain, nearest_labelled, row_name
from ilspace.tables.learning import PooledRule
from ilspace.tables.pair import as_pair

TABLES = small_tables(missing=0, nt=8)
X, Y, XT = TABLES.features


def fitted(pair, method=None, **options):
    """A model, what it was fitted to, and the rows as numbers: what `explain` takes."""
    model = TableClassifier(quick() if method is None else method, **options)
    return model, pair, model.fit_pair(pair)


def some(n):
    return np.array([each if i < n else None for i, each in enumerate(TABLES.truth)], dtype=object)


@pytest.fixture(scope="module")
def asked():
    return fitted(as_pair(X, Y, XT))


@pytest.fixture(scope="module")
def explained(asked):
    model, pair, encoded = asked
    return explain(model, pair, encoded, [4, 2])


def test_labels_are_those_of_the_model(asked, explained):
    model, *_ = asked
    found = model.predict_proba(XT)
    for row, each in zip([4, 2], explained, strict=True):
        assert (each.row, each.name) == (row + 1, XT["sample"].iloc[row])
        assert each.label == model.predict(XT)[row]
        assert each.probability == pytest.approx(found[row].max())
        assert each.given is None
        (member,) = each.members
        assert member == {"name": "Pipeline", "label": each.label, "probability": each.probability}


def test_members_of_the_committee_say_what_they_say(monkeypatch):
    monkeypatch.setattr(learning, "TREES", 5)
    model, pair, encoded = fitted(as_pair(X, Y, XT), "committee")
    (each,) = explain(model, pair, encoded, [3])
    said = model.member_probabilities(XT)[:, 3]
    assert [member["name"] for member in each.members] == ["boosting", "trees", "linear"]
    for member, own in zip(each.members, said, strict=True):
        assert member["label"] == model.classes_[own.argmax()]
        assert member["probability"] == pytest.approx(own.max())
    (each,) = explain(*fitted(pair, "ils"), [3])
    assert [member["name"] for member in each.members] == ["ILSClassifier"]


@pytest.mark.parametrize("method", [None, "ils"], ids=["pooled", "adapted"])
def test_a_column_does_what_entries_of_other_rows_undo(method):
    """Of eight rows all others take its place."""
    model, pair, encoded = fitted(as_pair(X, Y, XT), method)
    for row, each in zip([4, 2], explain(model, pair, encoded, [4, 2]), strict=True):
        code = list(model.classes_).index(each.label)
        found = {one.name: one for one in each.columns}
        assert set(found) == {*NUMBERS, "colour"}
        for name, one in found.items():
            rows = pd.concat([XT.iloc[[row]]] * 7, ignore_index=True)
            rows[name] = XT[name].drop(row).to_numpy()
            without = model.predict_proba(rows)[:, code].mean()
            assert one.change == pytest.approx(each.probability - without, abs=1e-9)
            entry = XT[name].iloc[row]
            assert one.entry == (f"{entry:.4g}" if name in NUMBERS else entry)


def test_the_most_influential_come_first(explained):
    for each in explained:
        sizes = [abs(one.change) for one in each.columns]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] > 0.01


def test_what_is_known_is_not_asked_again(asked, explained, monkeypatch):
    model, pair, encoded = asked
    votes = model.rule_.votes(encoded.target)
    counts, ask = [], PooledRule.votes

    def counting(self, rows, domain="target"):
        counts.append(len(rows))
        return ask(self, rows, domain)

    monkeypatch.setattr(PooledRule, "votes", counting)
    assert explain(model, pair, encoded, [4, 2], votes=votes[:, [4, 2]]) == explained
    assert counts == [2 * 5 * 7]  # rows, columns, entries in place of theirs
    assert explain(model, pair, encoded, [4, 2]) == explained
    assert counts[1:] == [2, 70]


def test_one_target_row_has_no_others():
    (each,) = explain(*fitted(as_pair(X, Y, XT[:1])), [0])
    assert each.columns == ()
    assert each.neighbours
    assert explain(*fitted(as_pair(X, Y)), [0]) == []
    assert explain(*fitted(as_pair(X, Y, XT)), []) == []


# -- neighbours ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [None, "ils"], ids=["axes", "latent space"])
@pytest.mark.parametrize("n_labels", [0, 6])
def test_neighbours_are_the_nearest_of_all(method, n_labels):
    pair = as_pair(X, Y, XT, some(n_labels) if n_labels else None)
    model, pair, encoded = fitted(pair, method)
    known = [("source", i, y) for i, y in enumerate(Y)]
    known += [("target", i, TABLES.truth[i]) for i in range(n_labels)]
    rows = {"source": model.transform(X, "source"), "target": model.transform(XT)}
    for row, found in zip((1, 7), nearest_labelled(model, pair, encoded, (1, 7), n=4), strict=True):
        by_hand = sorted(
            (float(np.linalg.norm(rows[domain][i] - rows["target"][row])), domain, i, label)
            for domain, i, label in known
            if (domain, i) != ("target", row)
        )[:4]
        assert [(each.domain, each.row, each.position, each.label) for each in found] == [
            (domain, i + 1, i, label) for _, domain, i, label in by_hand
        ]
        np.testing.assert_allclose([each.distance for each in found], [one[0] for one in by_hand])
        tables = {"source": X, "target": XT}
        for each in found:
            name = tables[each.domain]["sample"].iloc[each.position]
            assert each.name == f"{each.domain}, {name}"


def test_neighbours_in_several_sources_are_counted_in_their_own():
    pair = as_pair([X[:12], X[12:]], [Y[:12], Y[12:]], XT, source_names=["north", "south"])
    (found,) = nearest_labelled(*fitted(pair), [0], n=30)
    assert sorted((each.domain, each.row) for each in found) == [
        *(("north", i + 1) for i in range(12)),
        *(("south", i + 1) for i in range(18)),
    ]
    for each in found:
        assert each.position == each.row - 1 + (12 if each.domain == "south" else 0)
        assert each.label == Y[each.position]


def test_without_a_common_space_only_target_rows_are_neighbours():
    other = XT[["depth", "colour"]].set_axis(["p", "q"], axis=1)
    asked = fitted(as_pair(X, Y, other, some(5)), "MMDT")
    found = nearest_labelled(*asked, [0, 6])
    assert {each.domain for near in found for each in near} == {"target"}
    asked = fitted(as_pair(X, Y, other, some(5)), "ils")
    found = nearest_labelled(*asked, [0, 6], n=30)
    assert {each.domain for near in found for each in near} == {"target", "source"}


# -- in words --------------------------------------------------------------------------------------


def test_given_labels_and_lines_of_text():
    (each,) = explain(*fitted(as_pair(X, Y, XT, some(6))), [0])
    assert each.given == TABLES.truth[0]
    lines = each.in_words(n_columns=2)
    assert lines[0] == f"Row 1 (00000): {each.label}, {each.probability:.2f}."
    assert lines[1] == f"It came with the label {TABLES.truth[0]}."
    assert lines[2] == f"Members: Pipeline {each.label} {each.probability:.2f}."
    near = [f"  {e.label}  {e.name}, distance {e.distance:.3g}" for e in each.neighbours]
    assert lines[3:7] == ["Nearest labelled rows:", *near]
    assert lines[7] == f"Columns that decide, by how much lower {each.label} is without:"
    first = each.columns[0]
    assert lines[8] == f"  {first.change:+.3f}  {first.name} = {first.entry}"
    assert len(lines) == 10
    assert len(each.in_words(columns=False)) == 7


def test_rows_without_an_identifier_are_numbered():
    (each,) = explain(*fitted(as_pair(X, Y, XT.drop(columns="sample"))), [2])
    assert each.name == "row 3"
    assert each.in_words()[0].startswith("Row 3: ")
    assert row_name(XT, 2, ("nothing", "sample")) == "00002"
    assert row_name(XT, 2, ()) == ""


# -- words -----------------------------------------------------------------------------------------

FILLERS = ("the thing was there", "we went to see it", "it was on the table", "they said it is so")


def sentences(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    words = np.array(["excellent", "awful"])[y]
    texts = [f"{rng.choice(FILLERS)} {word} {rng.integers(1000)}" for word in words]
    return pd.DataFrame({"text": texts}), np.array(["fine", "poor"])[y]


@pytest.fixture(scope="module")
def of_words():
    source, y = sentences()
    target, _ = sentences(seed=1)
    with pytest.MonkeyPatch.context() as patch:  # letters alone, which take less time
        patch.setattr("ilspace.tables.encoding.why_unavailable", lambda: "not wanted")
        yield fitted(as_pair(source, y, target), LogisticRegression(), text=("text",))


def test_the_word_of_a_row_that_decides_is_named(of_words):
    model, pair, encoded = of_words
    for each, label, word in zip(
        explain(model, pair, encoded, [0, 1]), ("fine", "poor"), ("excellent", "awful"), strict=True
    ):
        assert each.label == label
        assert each.words[0].name == word
        text = pair.target["text"].iloc[each.row - 1]
        code = list(model.classes_).index(label)
        for one in each.words:
            assert one.entry == "text"
            rest = " ".join(" " if part.lower() == one.name else part for part in text.split())
            without = model.predict_proba(pd.DataFrame({"text": [rest]}))[0, code]
            assert one.change == pytest.approx(each.probability - without, abs=1e-5)
        lines = each.in_words()
        assert f"Words that decide, by how much lower {label} is without:" in lines
        assert f"  {each.words[0].change:+.3f}  {word} = text" in lines
        assert all("“" in each.name for each in each.neighbours)  # how their texts begin


def test_a_missing_text_has_no_words(of_words):
    model, pair, _ = of_words
    target = pair.target.copy()
    target.loc[0, "text"] = None
    source = pair.classes[pair.codes]
    (each,) = explain(
        *fitted(as_pair(pair.source, source, target), LogisticRegression(), text=("text",)), [0]
    )
    assert each.words == ()


# -- wide tables -----------------------------------------------------------------------------------


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
    model, pair, encoded = fitted(as_pair(tables[0], y, tables[1]), LogisticRegression())
    ask, counts = PooledRule.votes, []

    def counting(self, rows, domain="target"):
        counts.append(len(rows))
        return ask(self, rows, domain)

    monkeypatch.setattr(PooledRule, "votes", counting)
    (each,) = explain(model, pair, encoded, [0])
    assert {one.name for one in each.columns[:3]} == deciding
    assert max(counts) <= 32 * 10  # groups of columns, entries in place of theirs
    assert sum(counts) < 3000
    sizes = [abs(one.change) for one in each.columns]
    assert sizes == sorted(sizes, reverse=True)
