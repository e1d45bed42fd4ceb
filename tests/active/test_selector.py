"""Asking and teaching: what is chosen, kept, skipped and learned."""

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from ilspace import ILSClassifier, TableClassifier
from ilspace.active import NONE_OF_THESE, STRATEGIES, Prediction, QuerySelector
from ilspace.active import pool as pool_module
from ilspace.baselines import CORAL, Pooled

Y = np.arange(60) % 3
NAMES = np.array(["ant", "bee", "cat"])[Y]


def rows(seed, scale=1.0):
    return scale * np.random.default_rng(seed).normal(size=(60, 5)) + 2 * np.eye(5)[Y]


XS, XT = rows(0), rows(1, 1.5) + 1


def selector(strategy: Any = "auto", estimator=None, **options):
    estimator = Pooled(classifier=LogisticRegression()) if estimator is None else estimator
    return QuerySelector(estimator, strategy, random_state=0).fit(XS, NAMES, XT, **options)


PLAIN = sorted(set(STRATEGIES) - {"committee"})


@pytest.mark.parametrize("strategy", [*PLAIN, "auto"])
def test_rows_are_asked_once_until_none_is_left(strategy):
    asking = selector(strategy, skip=[3, 4])
    asked = []
    while len(batch := asking.query(25)):
        asked += batch.tolist()
        asking.teach(batch, NAMES[batch])
    assert sorted(asked) == sorted(set(range(60)) - {3, 4})
    assert asking.expected_gain(5) == 0
    assert (asking.estimator_.predict(XT[asked]) == NAMES[asked]).mean() > 0.5


@pytest.mark.parametrize("strategy", PLAIN)
def test_a_query_is_the_same_until_something_is_taught(strategy):
    first, second = selector(strategy), selector(strategy)
    batch = first.query(7)
    assert batch.tolist() == first.query(7).tolist() == second.query(7).tolist()
    assert set(first.query(7, exclude=batch)).isdisjoint(batch)


def test_other_seeds_ask_about_other_rows():
    found = {
        tuple(
            QuerySelector(ILSClassifier(self_training=0), "random", random_state=seed)
            .fit(XS, NAMES, XT)
            .query(5)
        )
        for seed in range(4)
    }
    assert len(found) == 4


def test_estimator_is_that_of_a_fit_with_the_labels():
    asking = selector()
    batch = asking.query(6)
    asking.teach(batch, NAMES[batch])
    yt = np.full(60, None, dtype=object)
    yt[batch] = NAMES[batch]
    expected = clone(asking.estimator).fit(XS, NAMES, XT, yt)
    np.testing.assert_array_equal(asking.estimator_.predict_proba(XT), expected.predict_proba(XT))
    asking.forget(batch)
    expected = clone(asking.estimator).fit(XS, NAMES, XT)
    np.testing.assert_array_equal(asking.estimator_.predict_proba(XT), expected.predict_proba(XT))
    assert asking.estimate_accuracy().n_labels == 0


def test_several_sources_are_those_of_a_fit_with_a_list():
    parts, names = [XS[:25], XS[25:]], [NAMES[:25], NAMES[25:]]
    asking = QuerySelector(ILSClassifier(self_training=0, random_state=0), random_state=0)
    asking.fit(parts, names, XT, source_names=["north", "south"])
    batch = asking.query(6)
    asking.teach(batch, NAMES[batch])
    yt = np.full(60, None, dtype=object)
    yt[batch] = NAMES[batch]
    expected = clone(asking.estimator).fit(parts, names, XT, yt, source_names=["north", "south"])
    np.testing.assert_array_equal(asking.estimator_.predict_proba(XT), expected.predict_proba(XT))
    assert asking.estimator_.source_names_ == ("north", "south")
    far = XT.copy()
    far[:6] = 20 + XT[:6] / 10
    asking.fit(parts, names, far).teach([0, 1], ["dog", "dog"])
    assert (asking.estimator_.predict(far)[2:6] == "dog").all()
    with pytest.raises(ValueError, match="y must be a list of as many label arrays"):
        asking.fit(parts, NAMES, XT)


def test_labels_given_to_fit_are_not_asked_again():
    yt = np.full(60, None, dtype=object)
    yt[:50] = NAMES[:50]
    asking = QuerySelector(ILSClassifier(self_training=0), random_state=0).fit(XS, NAMES, XT, yt)
    assert set(asking.query(20)) == set(range(50, 60))
    assert asking.estimate_accuracy().n_labels == 0


def test_abstentions_and_rare_new_classes_are_put_aside():
    asking = selector()
    before = asking.estimator_
    asking.teach([0, 1, 2, 3], [None, NONE_OF_THESE, "dog", NONE_OF_THESE])
    assert asking.estimator_ is before  # nothing to learn from
    assert asking.labels_[:4].tolist() == [None, NONE_OF_THESE, "dog", NONE_OF_THESE]
    assert asking.skipped_[:4].tolist() == [True, False, False, False]
    assert set(asking.query(60)) == set(range(4, 60))
    estimate = asking.estimate_accuracy()
    assert estimate.n_labels == 3
    assert estimate.value < selector().estimate_accuracy().value  # all count as errors


def frames(X):
    return pd.DataFrame(X, columns=list("pqrst"))


@pytest.mark.parametrize(
    "kind", [np.asarray, sparse.csr_array, frames], ids=["array", "sparse", "table"]
)
def test_a_new_class_is_learned(kind):
    far = XT.copy()
    far[:6] = 20 + XT[:6] / 10
    Xs, Xt = kind(XS), kind(far)
    if kind is frames:
        Xt = Xt[list("tsrqp")].assign(extra=1.0)
        model = TableClassifier(LogisticRegression(max_iter=1000))
    else:
        model = Pooled(classifier=LogisticRegression())
    asking = QuerySelector(model, random_state=0).fit(Xs, NAMES, Xt)
    asking.teach([0, 1], ["dog", "dog"])
    assert asking.classes_.tolist() == ["ant", "bee", "cat"]
    assert asking.estimator_.classes_.tolist() == ["ant", "bee", "cat", "dog"]
    assert (asking.estimator_.predict(Xt)[2:6] == "dog").all()
    asking.teach([10], ["bee"])  # what was new is not forgotten
    assert (asking.estimator_.predict(Xt)[2:6] == "dog").all()
    asking.forget([0])
    assert asking.estimator_.classes_.tolist() == ["ant", "bee", "cat"]


def test_a_new_class_is_set_aside_where_it_cannot_be_learned():
    yt = np.full(60, None, dtype=object)
    yt[:9] = NAMES[:9]
    asking = QuerySelector(ILSClassifier(), random_state=0).fit(XS, NAMES, XT[:, :4], yt)
    assert asking.teach([10, 11], ["dog", "dog"]).estimator_.classes_.tolist() == [
        "ant",
        "bee",
        "cat",
    ]
    asking = QuerySelector(Pooled(classifier=LogisticRegression()), new_classes="set-aside")
    asking.fit(XS, NAMES, XT).teach([10, 11], ["dog", "dog"])
    assert asking.estimator_.classes_.tolist() == ["ant", "bee", "cat"]
    asking = QuerySelector(Pooled(classifier=LogisticRegression())).fit(XS, Y, XT)
    asking.teach([10, 11], ["dog", "dog"])  # the others are numbers
    assert asking.estimator_.classes_.tolist() == [0, 1, 2]
    assert asking.labels_[10] == "dog"
    assert asking.teach([12, 13], [7, 7]).estimator_.classes_.tolist() == [0, 1, 2, 7]


def test_cheap_rows_are_asked_first():
    cost = np.where(np.arange(60) < 30, 1.0, 1e6)
    for strategy in sorted(set(PLAIN) - {"random"}):
        assert set(selector(strategy, cost=cost).query(10)) <= set(range(30)), strategy
        assert set(selector(strategy).query(10, cost=cost[::-1])) <= set(range(30, 60)), strategy


@pytest.mark.parametrize("estimator", [ILSClassifier(), CORAL(classifier=LogisticRegression())])
def test_works_with_estimators_of_the_package(estimator):
    asking = QuerySelector(estimator, random_state=0).fit(XS, Y, XT)
    batch = asking.query(6)
    asking.teach(batch, Y[batch])
    assert asking.labels_[batch].tolist() == Y[batch].tolist()
    estimate = asking.estimate_accuracy()
    assert 0 <= estimate.low < estimate.value < estimate.high <= 1
    assert estimate.n_labels == 6
    assert 0 <= asking.expected_gain(5) < 1


def test_works_with_domains_of_different_columns():
    yt = np.full(60, None, dtype=object)
    yt[:9] = NAMES[:9]
    asking = QuerySelector(ILSClassifier(), random_state=0).fit(XS, NAMES, XT[:, :4], yt)
    batch = asking.query(6)
    assert set(batch).isdisjoint(range(9))
    asking.teach(batch, NAMES[batch])
    assert asking.estimate_accuracy().n_labels == 6


def test_a_function_may_be_the_strategy():
    def last(pool, n, *, random_state):
        return pool.candidates[::-1][:n]

    assert selector(last, skip=[59]).query(3).tolist() == [58, 57, 56]


def test_what_an_earlier_session_predicted_is_learned_from():
    first = selector()
    chosen = first.query(6)
    said = first.estimator_.predict_proba(XT[chosen])
    earlier = {
        int(row): Prediction(str(first.estimator_.classes_[each.argmax()]), float(each.max()), 0)
        for row, each in zip(chosen, said, strict=True)
    }
    first.teach(chosen, NAMES[chosen])
    second = selector(yt=None).teach(chosen[:2], NAMES[chosen[:2]])
    second.teach(chosen[2:], NAMES[chosen[2:]], predicted=earlier)
    assert second.estimate_accuracy() == first.estimate_accuracy()
    wrong = {row: each._replace(label="none") for row, each in earlier.items()}
    doubted = selector().teach(chosen, NAMES[chosen], predicted=wrong)
    assert doubted.estimate_accuracy().value < first.estimate_accuracy().value


def test_parameters_follow_scikit_learn():
    asking = selector("clue")
    again = clone(asking)
    assert not hasattr(again, "estimator_")
    assert again.get_params()["strategy"] == "clue"
    assert again.set_params(estimator__classifier=None).estimator.classifier is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda each: each.query(0), "positive integer"),
        (lambda each: each.teach([0, 0], ["ant", "bee"]), "named twice"),
        (lambda each: each.teach([60], ["ant"]), "60 is not"),
        (lambda each: each.teach([0, 1], ["ant"]), "one label per row"),
        (lambda each: each.skip([0.5]), "pass integers"),
        (lambda each: each.query(1, cost=np.zeros(60)), "positive and finite"),
        (lambda each: each.query(1, cost=np.ones(3)), r"shape \(60,\)"),
        (lambda each: each.fit(XS, NAMES, XT, ["ant"]), "one label per row"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(selector("random"))


def test_an_estimator_without_probabilities_is_refused():
    with pytest.raises(TypeError, match="predict_proba"):
        QuerySelector(Pooled(classifier=LinearSVC())).fit(XS, NAMES, XT).query(1)


def test_disagreement_needs_members():
    with pytest.raises(TypeError, match="members"):
        selector("committee").query(1)


def test_of_many_rows_each_query_looks_at_a_sample(monkeypatch):
    monkeypatch.setattr(pool_module, "MAX_POOL", 12)
    asking = selector(skip=range(20))
    looked = []
    for _ in range(4):
        batch = asking.query(10)
        assert len(set(batch)) == 10
        looked += batch.tolist()
        asking.teach(batch, NAMES[batch])
    assert sorted(looked) == list(range(20, 60))


def test_answers_are_learned_after_a_fit_that_failed(monkeypatch):
    asking = selector()
    before, fit = asking.estimator_, Pooled.fit

    def fails(self, *given):
        raise MemoryError("too little of it")

    monkeypatch.setattr(Pooled, "fit", fails)
    with pytest.raises(MemoryError):
        asking.teach([0, 1], NAMES[[0, 1]])
    monkeypatch.setattr(Pooled, "fit", fit)
    assert asking.estimator_ is before
    assert asking.labels_[[0, 1]].tolist() == NAMES[[0, 1]].tolist()
    assert asking.teach([0, 1], NAMES[[0, 1]]).estimator_ is not before


@pytest.mark.slow
@pytest.mark.parametrize("strategy", PLAIN)
def test_two_hundred_thousand_rows_take_little_memory(strategy):
    rng = np.random.default_rng(0)
    y, many = np.arange(300) % 3, np.arange(200_000) % 3
    X = rng.normal(size=(300, 10)) + 2 * np.eye(10)[y]
    Xt = rng.normal(size=(200_000, 10)) + 2 * np.eye(10)[many]
    model = Pooled(classifier=LogisticRegression())
    asking = QuerySelector(model, strategy, random_state=0).fit(X, y, Xt)
    tracemalloc.start()
    try:
        batch = asking.query(20)
        asking.teach(batch, many[batch])
        asking.estimate_accuracy()
        asking.expected_gain(20)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(set(batch)) == 20
    assert peak < 300 * 2**20  # all pairs of rows would take 300 GiB


def test_minus_one_is_no_answer_where_it_is_no_class():
    asking = selector()
    rows = asking.query(2)
    asking.teach(rows, [-1, -1])
    assert asking.skipped_[rows].all()
    assert -1 not in asking.classes_.tolist()
