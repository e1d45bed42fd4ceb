"""What learns from encoded rows: against scikit-learn and the estimators themselves, by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from tables.small_tables import NUMBERS, quick, small_tables

from ilspace import ILSClassifier, TableClassifier
from ilspace.baselines import CORAL
from ilspace.tables import TableError, learning
from ilspace.tables.encoding import DomainScaler, Encoded
from ilspace.tables.learning import AdaptedRule, PooledRule, make_committee, probabilities
from ilspace.tables.pair import as_pair

TABLES = small_tables()
X, Y, XT = TABLES.features
SOME = np.array([each if i < 9 else None for i, each in enumerate(TABLES.truth)], dtype=object)
CODES = np.unique(Y, return_inverse=True)[1]
PRIOR = np.array([0.2, 0.3, 0.5])
OTHER = XT[["depth", "colour"]].set_axis(["p", "q"], axis=1)  # nothing in common


@pytest.fixture
def few_trees(monkeypatch):
    monkeypatch.setattr(learning, "TREES", 10)


def filled(seed=0, **sizes):
    """Numbers without missing values, as encoded rows; their labels; the true target codes."""
    tables = small_tables(seed, missing=0, **sizes)
    rows = [each[list(NUMBERS)].to_numpy() for each in (tables.source, tables.target)]
    pair = as_pair(rows[0], tables.source["class"], rows[1])
    return Encoded(*rows), pair, np.searchsorted(pair.classes, tables.truth)


ROWS, PAIR, TRUTH = filled()


# -- the committee ---------------------------------------------------------------------------------


def test_the_committee_is_the_mean_of_three_named_models(few_trees):
    model = TableClassifier("committee", random_state=3).fit(X, Y, XT, SOME)
    members = model.rule_.members_
    assert {name: type(each).__name__ for name, each in members.items()} == {
        "boosting": "HistGradientBoostingClassifier",
        "trees": "ExtraTreesClassifier",
        "linear": "Pipeline",
    }
    votes = model.member_probabilities(XT)
    np.testing.assert_allclose(model.predict_proba(XT), votes.mean(axis=0), rtol=1e-15)
    assert model.predict(XT).tolist() == model.classes_[votes.mean(axis=0).argmax(axis=1)].tolist()
    # each of them by hand, on the encoded rows of both tables that have a label
    rows = np.concatenate([model.encode(X, "source"), model.encode(XT)[:9]])
    codes = np.concatenate([CODES, np.searchsorted(model.classes_, SOME[:9].astype(str))])
    by_hand = {
        "boosting": HistGradientBoostingClassifier(random_state=3),
        "trees": ExtraTreesClassifier(10, min_samples_leaf=2, random_state=3),
        "linear": make_committee()["linear"],
    }
    assert isinstance(by_hand["linear"][-1], LogisticRegression)
    for own, alone in zip(votes, by_hand.values(), strict=True):
        expected = alone.fit(rows, codes).predict_proba(model.encode(XT))
        np.testing.assert_allclose(own, expected, rtol=1e-9)


def test_trees_see_a_sample_where_there_are_many_rows():
    few, many = (make_committee(n)["trees"] for n in (10_000, 10_001))
    assert (few.n_estimators, few.bootstrap, few.max_samples) == (200, False, None)
    assert (many.n_estimators, many.bootstrap, many.max_samples) == (200, True, 10_000)


def test_of_many_rows_one_may_be_alone_in_its_class(monkeypatch):
    """Gradient boosting would hold out rows of each class to stop early."""
    monkeypatch.setattr(learning, "TREES", 1)
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, size=(10_001, 1)).astype(float)
    y = np.where(rows[:, 0] > 0, "p", "q").astype(object)
    y[0] = "a typo"
    found = PooledRule().fit(Encoded(rows, rows[:2]), as_pair(rows, y, rows[:2]))
    assert not found.members_["boosting"].do_early_stopping_
    assert found.votes(rows[:5]).shape == (3, 5, 3)
    y[1] = "a typo"
    again = PooledRule().fit(Encoded(rows, rows[:2]), as_pair(rows, y, rows[:2]))
    assert again.members_["boosting"].do_early_stopping_


def test_a_class_without_a_row_has_probability_zero(few_trees):
    """As where a sample or a fold has none of it."""
    some = PAIR.take(np.flatnonzero(PAIR.codes != 1))
    for classifier in (None, quick()):
        rule = PooledRule(classifier).fit(ROWS.take(PAIR.codes != 1), some)
        votes = rule.votes(ROWS.target)
        assert votes.shape[1:] == (24, 3)
        assert not votes[:, :, 1].any()
        np.testing.assert_allclose(votes.sum(axis=-1), 1)


def test_a_column_without_numbers_in_the_labelled_rows_says_nothing(few_trees):
    source = np.c_[ROWS.source, np.full(30, np.nan)]
    target = np.c_[ROWS.target, np.arange(24.0)]
    for own_scaling in (False, True):
        plain, odd = (
            PooledRule(own_scaling=own_scaling).fit(rows, PAIR)
            for rows in (ROWS, Encoded(source, target))
        )
        for name in ("boosting", "linear"):  # trees draw other columns
            i = list(plain.members_).index(name)
            expected = plain.votes(ROWS.target)[i]
            np.testing.assert_allclose(odd.votes(target)[i], expected, atol=1e-6)


# -- target labels, and shares of classes ----------------------------------------------------------


@pytest.mark.parametrize("n_labels", [0, 9, 24])
def test_target_labels_are_rows_like_others(n_labels):
    pair = PAIR.with_labels(range(n_labels), TRUTH[:n_labels]) if n_labels else PAIR
    rule = PooledRule(quick()).fit(ROWS, pair)
    rows = np.concatenate([ROWS.source, ROWS.target[:n_labels]])
    alone = quick().fit(rows, np.concatenate([PAIR.codes, TRUTH[:n_labels]]))
    np.testing.assert_allclose(rule.votes(ROWS.target)[0], alone.predict_proba(ROWS.target))
    shares = np.bincount(np.concatenate([PAIR.codes, TRUTH[:n_labels]])) / (30 + n_labels)
    np.testing.assert_allclose(rule.class_prior_, shares)


@pytest.mark.parametrize("n_labels", [0, 9])
@pytest.mark.parametrize(
    "given", [PRIOR, dict(zip(["élan", "bee", "ant"], PRIOR[::-1], strict=True))]
)
def test_given_shares_correct_the_probabilities_of_target_rows(given, n_labels):
    """Gaussian naive Bayes takes shares of classes itself."""
    pair = PAIR.with_labels(range(n_labels), TRUTH[:n_labels]) if n_labels else PAIR
    rule = PooledRule(GaussianNB(), class_prior=given).fit(ROWS, pair)
    rows = np.concatenate([ROWS.source, ROWS.target[:n_labels]])
    codes = np.concatenate([PAIR.codes, TRUTH[:n_labels]])
    corrected = GaussianNB(priors=PRIOR).fit(rows, codes).predict_proba(ROWS.target)
    np.testing.assert_allclose(rule.votes(ROWS.target)[0], corrected, rtol=1e-9, atol=1e-300)
    plain = GaussianNB().fit(rows, codes).predict_proba(ROWS.source)
    np.testing.assert_array_equal(rule.votes(ROWS.source, "source")[0], plain)
    np.testing.assert_allclose(rule.class_prior_, PRIOR)


@pytest.mark.parametrize("prior", ["auto", "source", None])
def test_shares_are_not_estimated_for_tables(prior):
    plain = PooledRule(quick()).fit(ROWS, PAIR).votes(ROWS.target)
    rule = PooledRule(quick(), class_prior=prior).fit(ROWS, PAIR)
    np.testing.assert_array_equal(rule.votes(ROWS.target), plain)


@pytest.mark.parametrize("method", [quick(), "ils"], ids=["table", "features"])
def test_a_class_of_share_0_is_never_predicted(method):
    shares = {"ant": 0.5, "bee": 0.5, "élan": 0.0}
    model = TableClassifier(method, class_prior=shares).fit(X, Y, XT)
    assert set(model.predict(XT)) <= {"ant", "bee"}
    assert not model.predict_proba(XT)[:, 2].any()
    assert model.classes_.tolist() == ["ant", "bee", "élan"]
    with pytest.raises(ValueError, match="élan"):
        TableClassifier(method, class_prior=shares).fit(X, Y, XT, ["élan", *[None] * 23])


@pytest.mark.parametrize("method", [quick(), "ils"], ids=["table", "features"])
@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ({"ant": 0.5, "wasp": 0.5}, "wasp"),
        ({"ant": 0.5, "bee": 0.2, "élan": 0.2}, "sum"),
        ({"ant": 1.0, "bee": 0.0, "élan": 0.0}, "At least 2 classes"),
        ([0.5, 0.5], "one share for each of the 3 classes"),
    ],
)
def test_shares_that_will_not_do(method, shares, said):
    with pytest.raises(ValueError, match=said):
        TableClassifier(method, class_prior=shares).fit(X, Y, XT)


# -- ranks within each table -----------------------------------------------------------------------

MONOTONE = {"exp": np.exp, "cube": lambda x: x**3, "unit": lambda x: 1000 + 25 * x}


@pytest.mark.parametrize("name", MONOTONE)
def test_own_scaling_is_blind_to_a_monotone_change_of_the_target(name):
    source, y, target = small_tables(missing=0).features
    moved = target.assign(**{each: MONOTONE[name](target[each]) for each in NUMBERS})
    own, alike = TableClassifier(quick(), own_scaling=True), TableClassifier(quick())
    expected = own.fit(source, y, target).predict_proba(target)
    found = own.fit(source, y, moved).predict_proba(moved)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    # which is not so where all are scaled alike
    expected = alike.fit(source, y, target).predict_proba(target)
    assert np.abs(alike.fit(source, y, moved).predict_proba(moved) - expected).max() > 0.1


def test_own_scaling_is_blind_to_units_where_values_are_missing():
    """Ranks between two quantiles are interpolated, so that other changes are seen a little."""
    own = TableClassifier(quick(), own_scaling=True)
    moved = XT.assign(**{each: 25 * XT[each] + 1000 for each in NUMBERS})
    expected = own.fit(X, Y, XT).predict_proba(XT)
    np.testing.assert_allclose(own.fit(X, Y, moved).predict_proba(moved), expected, atol=1e-5)


def test_ranks_are_of_each_table_by_itself():
    rule = PooledRule(quick(), own_scaling=True).fit(ROWS, PAIR)
    ranked = [rule._view(ROWS.source, "source"), rule._view(ROWS.target, "target")]
    for values, ranks in zip((ROWS.source, ROWS.target), ranked, strict=True):
        expected = pd.DataFrame(values).rank().to_numpy() - 1
        np.testing.assert_allclose(ranks * (len(values) - 1), expected, atol=1e-6)
    alone = quick().fit(ranked[0], PAIR.codes)
    np.testing.assert_array_equal(rule.votes(ROWS.target)[0], alone.predict_proba(ranked[1]))


def test_with_own_scaling_it_learns_again_from_the_surest_half_of_its_predictions():
    pair = PAIR.with_labels(range(5), TRUTH[:5])
    rule = PooledRule(quick(), own_scaling=True).fit(ROWS, pair)
    assert list(rule.members_) == ["Pipeline", "Pipeline, self-trained"]
    ranked = [rule._view(ROWS.source, "source"), rule._view(ROWS.target, "target")]
    rows, codes = np.r_[ranked[0], ranked[1][:5]], np.r_[CODES, TRUTH[:5]]
    first = quick().fit(rows, codes)
    found = pd.DataFrame(first.predict_proba(ranked[1][5:]), index=range(5, 24))
    guessed, sure = found.idxmax(axis=1), found.max(axis=1)
    sizes = guessed.groupby(guessed).transform("size")
    places = sure.groupby(guessed).rank(ascending=False)
    chosen = np.flatnonzero(places <= np.ceil(sizes / 2)) + 5
    assert 0.4 < len(chosen) / 19 < 0.6
    second = quick().fit(np.r_[rows, ranked[1][chosen]], np.r_[codes, guessed[chosen]])
    expected = [each.predict_proba(ranked[1]) for each in (first, second)]
    np.testing.assert_allclose(rule.votes(ROWS.target), expected, rtol=1e-6)
    # where no row is left there is nothing to learn
    whole = PooledRule(quick(), own_scaling=True).fit(ROWS, PAIR.with_labels(range(24), TRUTH))
    assert list(whole.members_) == ["Pipeline"]


def test_missing_values_have_no_rank():
    model = TableClassifier(quick(), own_scaling=True).fit(X, Y, XT)
    encoded = model.encode(XT)
    assert np.isnan(encoded).any()
    np.testing.assert_array_equal(np.isnan(model.rule_._view(encoded, "target")), np.isnan(encoded))


def test_without_a_target_ranks_are_those_of_the_source():
    model = TableClassifier(quick(), own_scaling=True).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(X, "source"))
    np.testing.assert_array_equal(model.fit_transform(X, Y), model.transform(X))


# -- other methods ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "classifier",
    [
        DecisionTreeClassifier(random_state=0),
        quick(),
        make_pipeline(StandardScaler(), RidgeClassifier()),
        VotingClassifier(
            [("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=1))],
            voting="soft",
            weights=[5, 1],
        ),
    ],
    ids=["tree", "pipeline", "without probabilities", "weighted committee"],
)
def test_a_classifier_of_scikit_learn_is_a_method(classifier):
    filled = X.fillna(X.mean(numeric_only=True)), XT.fillna(XT.mean(numeric_only=True))
    model = TableClassifier(classifier).fit(filled[0], Y, filled[1])
    assert model.method is classifier
    assert not hasattr(classifier, "classes_")  # it is a copy that learns
    alone = clone(classifier).fit(model.encode(filled[0], "source"), CODES)
    expected = alone.predict(model.encode(filled[1]))
    assert model.predict(filled[1]).tolist() == model.classes_[expected].tolist()
    if hasattr(alone, "predict_proba"):
        found = alone.predict_proba(model.encode(filled[1]))
        np.testing.assert_allclose(model.predict_proba(filled[1]), found)
    assert len(model.member_probabilities(filled[1])) == 1


@pytest.mark.parametrize("method", ["CORAL", CORAL()], ids=["name", "estimator"])
def test_a_baseline_is_a_method(method):
    model = TableClassifier(method).fit(X, Y, XT)
    scaled = [
        DomainScaler().fit(rows).transform(rows)
        for rows in (model.encode(X, "source"), model.encode(XT))
    ]
    alone = CORAL().fit(scaled[0], Y, scaled[1])
    assert model.predict(XT).tolist() == alone.predict(scaled[1]).tolist()
    assert model.rule_.adapts


def test_ils_is_what_it_is_on_rows_that_each_domain_scales():
    model = TableClassifier("ils", class_prior=PRIOR, random_state=1).fit(X, Y, XT, SOME)
    encoded = [model.encode(X, "source"), model.encode(XT)]
    weights = (PRIOR / np.bincount(CODES))[CODES]
    source = DomainScaler().fit(encoded[0], sample_weight=weights).transform(encoded[0])
    target = DomainScaler().fit(encoded[1]).transform(encoded[1])
    alone = ILSClassifier(class_prior=PRIOR, random_state=1).fit(source, Y, target, SOME)
    np.testing.assert_allclose(model.predict_proba(XT), alone.predict_proba(target), atol=1e-9)
    np.testing.assert_allclose(model.transform(XT), alone.transform(target), atol=1e-9)
    found = model.transform(X, "source")
    np.testing.assert_allclose(found, alone.transform(source, "source"), atol=1e-9)


def test_an_estimator_of_ones_own():
    own = ILSClassifier(2, classifier="nearest", self_training=0, random_state=0)
    model = TableClassifier(own, class_prior=None).fit(X, Y, XT)
    assert model.rule_.estimator_ is not own
    assert model.rule_.estimator_.get_params() == own.get_params()
    assert model.transform(XT).shape == (24, 2)


@pytest.mark.parametrize(
    ("method", "target", "labels", "said"),
    [
        ("magic", XT, None, "must be one of auto, committee, ils, .*CORAL.*, but is 'magic'"),
        ("committee", OTHER, SOME, "committee needs tables that share their columns.*use ils"),
        (quick(), OTHER, SOME, "Pipeline needs tables that share their columns"),
        ("CORAL", None, None, "adapts to a target, but there is none"),
        ("ils", None, None, "adapts to a target, but there is none"),
    ],
)
def test_methods_that_will_not_do(method, target, labels, said):
    with pytest.raises(TableError, match=said):
        TableClassifier(method).fit(X, Y, target, labels)


@pytest.mark.parametrize("method", ["auto", "ils"])
def test_different_columns_go_to_ils_and_need_labels(method):
    other = XT[["depth", "weight", "colour"]].set_axis(["p", "q", "r"], axis=1)
    for labels in (None, [None] * 24, [-1] * 24):
        with pytest.raises(TableError, match="related by labels alone, but no target row has one"):
            TableClassifier(method).fit(X, Y, other, labels)
    model = TableClassifier(method).fit(X, Y, other, SOME)
    assert not model.plan_.are_shared
    assert (model.kind_, model.rule_.adapts) == ("table", True)
    assert model.encode(other).shape[1] == 5
    assert np.mean(model.predict(other) == TABLES.truth) > 0.6


# -- a space to look at ----------------------------------------------------------------------------


def test_without_a_latent_space_rows_lie_on_principal_axes():
    rule = PooledRule(quick()).fit(ROWS, PAIR)
    scaled = StandardScaler().fit(ROWS.source)
    for rows, domain in ((ROWS.source, "source"), (ROWS.target, "target")):
        found, expected = rule.latent(rows, domain), scaled.transform(rows)
        assert found.shape == (len(rows), 4)
        # all axes of four columns: distances are those of the standardized rows
        for a, b in ((0, 1), (3, 9)):
            distance = np.linalg.norm(expected[a] - expected[b])
            assert np.linalg.norm(found[a] - found[b]) == pytest.approx(distance)
    variances = rule.latent(ROWS.source, "source").var(axis=0)
    assert (np.diff(variances) <= 1e-9).all()
    expected = np.linalg.eigvalsh(np.corrcoef(ROWS.source.T))[::-1]
    np.testing.assert_allclose(variances, expected)


def test_equal_rows_have_a_place_too():
    rows = np.ones((6, 2))
    pair = as_pair(rows, list("ababab"), rows)
    rule = PooledRule(quick()).fit(Encoded(rows, rows), pair)  # without a warning
    assert not rule.latent(rows).any()


# -- probabilities of any classifier ---------------------------------------------------------------


class Silent(BaseEstimator):
    """Without probabilities and scores."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[np.arange(len(X)) % len(self.classes_)]


def test_probabilities_of_classifiers_that_have_none():
    ridge = RidgeClassifier().fit(ROWS.source, CODES)
    expected = softmax(ridge.decision_function(ROWS.target), axis=1)
    np.testing.assert_allclose(probabilities(ridge, ROWS.target), expected)
    two = LinearSVC(random_state=0).fit(ROWS.source, CODES == 1)
    found = probabilities(two, ROWS.target)
    logistic = 1 / (1 + np.exp(-two.decision_function(ROWS.target)))
    np.testing.assert_allclose(found, np.c_[1 - logistic, logistic])
    silent = Silent().fit(ROWS.source, CODES)
    assert probabilities(silent, ROWS.target[:4]).tolist() == np.eye(3)[[0, 1, 2, 0]].tolist()


def test_rules_are_estimators():
    for rule in (PooledRule(quick(), own_scaling=True), AdaptedRule(ILSClassifier(2))):
        again = clone(rule)
        assert repr(again.get_params()) == repr(rule.get_params())
