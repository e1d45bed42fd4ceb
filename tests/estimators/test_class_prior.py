"""Class shares of the target as an input of the estimators: what they weigh, and who is refused."""

import numpy as np
import pytest
from shifted import shifted
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from ilspace import ILSClassifier, ILSTransformer, load
from ilspace.domains import check_class_prior, check_domains
from ilspace.ils.ridge_rule import LABEL_WEIGHT, SELECTED_WEIGHT
from ilspace.rules import self_training

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

DATA = shifted(n=60, nt=48)
X, y, Xt, yt = DATA
SOME = DATA.marked(None)
NAMES = np.array(["cat", "dog", "emu"])
Q = np.array([0.2, 0.7, 0.1])
RULES = ("ridge", "nearest", "linear", LogisticRegression(), KNeighborsClassifier(3))
LEARNED = ("source_projection_", "target_projection_", "metric_", "source_mean_")


def classifier(rule="nearest", **options):
    model = ILSClassifier(3, classifier=rule, self_training=0, random_state=0)
    return model.set_params(**options)


def by_hand(shares=Q, codes=y):
    return (shares / np.bincount(codes) * len(codes))[codes]


def assert_same(found, expected, atol=1e-10):
    for name in LEARNED:
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=atol)
    if hasattr(expected, "predict_proba"):
        np.testing.assert_allclose(found.predict_proba(Xt), expected.predict_proba(Xt), atol=1e-6)


# -- shares become weights -----------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["conjugate-gradient", "adam"])
@pytest.mark.parametrize("given", [(), (SOME,)], ids=["unsupervised", "semi-supervised"])
def test_given_shares_weigh_the_source_in_moments_and_loss(given, solver):
    options = {"solver": solver, "random_state": 0}
    found = ILSTransformer(3, class_prior=Q, **options).fit(X, y, Xt, *given)
    expected = ILSTransformer(3, **options).fit(X, y, Xt, *given, sample_weight=by_hand())
    assert_same(found, expected)
    np.testing.assert_allclose(found.source_mean_, by_hand() @ X / len(X))
    np.testing.assert_allclose(found.class_prior_, Q)


def test_sample_weights_multiply():
    own = np.random.default_rng(0).uniform(0.5, 2, len(X))
    found = ILSTransformer(3, class_prior=Q).fit(X, y, Xt, sample_weight=own)
    shares = np.bincount(y, own) / own.sum()
    expected = ILSTransformer(3).fit(X, y, Xt, sample_weight=own * (Q / shares)[y])
    assert_same(found, expected)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_shares_of_the_source_are_those_of_its_weights(rule):
    own = np.random.default_rng(0).uniform(0.5, 2, len(X))
    shares = np.bincount(y, own) / own.sum()
    asked, given = (
        classifier(rule, class_prior=each).fit(X, y, Xt, sample_weight=own)
        for each in ("source", shares)
    )
    nothing = classifier(rule).fit(X, y, Xt, sample_weight=own)
    np.testing.assert_allclose(asked.class_prior_, shares)
    np.testing.assert_allclose(nothing.class_prior_, shares)
    assert_same(asked, given)
    for name in LEARNED:
        np.testing.assert_array_equal(getattr(asked, name), getattr(nothing, name))


def test_shares_of_the_source_change_only_the_rule_that_made_classes_equal():
    equal = np.full(3, 1 / 3)
    for rule in ("ridge", "linear", "nearest"):
        nothing, same = (classifier(rule, class_prior=each).fit(X, y, Xt) for each in (None, equal))
        assert_same(same, nothing)


@pytest.mark.parametrize(
    ("rule", "rounds"), [("ridge", 1), ("nearest", 0), ("linear", 1), (LogisticRegression(), 0)]
)
def test_classes_in_another_order(rule, rounds):
    order = np.array([2, 0, 1])
    found = classifier(rule, self_training=rounds, class_prior=Q).fit(X, y, Xt, SOME)
    some = [None if each is None else order[each] for each in SOME]
    other = classifier(rule, self_training=rounds, class_prior=Q[np.argsort(order)])
    other.fit(X, order[y], Xt, some)
    np.testing.assert_allclose(
        other.predict_proba(Xt)[:, order], found.predict_proba(Xt), atol=1e-5
    )


def test_a_mapping_a_series_and_an_array_agree():
    pd = pytest.importorskip("pandas")
    by_class = {"emu": 0.1, "cat": 0.2, "dog": 0.7}
    found = [
        classifier(class_prior=each).fit(X, NAMES[y], Xt)
        for each in (Q, Q.tolist(), by_class, pd.Series(by_class), 1.005 * Q)
    ]
    for each in found[1:]:
        np.testing.assert_allclose(each.class_prior_, Q)
        assert_same(each, found[0])


# -- prediction ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "rounds"),
    [("ridge", 0), ("ridge", 2), ("nearest", 0), ("linear", 0), (LogisticRegression(), 0)],
)
def test_a_class_of_a_larger_share_is_more_likely(rule, rounds):
    few, many = (
        classifier(rule, self_training=rounds, class_prior=[share, 0.95 - share, 0.05])
        .fit(X, y, Xt, SOME)
        .predict_proba(Xt)[:, 0]
        for share in (0.05, 0.9)
    )
    assert many.mean() > few.mean()


@pytest.mark.parametrize(("rule", "rounds"), [*((rule, 0) for rule in RULES), ("ridge", 2)])
def test_a_class_of_share_0_is_as_if_it_had_no_rows(rule, rounds):
    shares = np.array([0.4, 0.0, 0.6])
    found = classifier(rule, self_training=rounds, class_prior=shares).fit(X, NAMES[y], Xt)
    left = y != 1
    alone = classifier(rule, self_training=rounds, class_prior=shares[[0, 2]])
    alone.fit(X[left], NAMES[y[left]], Xt)
    np.testing.assert_array_equal(found.classes_, NAMES)
    np.testing.assert_array_equal(found.predict(Xt), alone.predict(Xt))
    probabilities = found.predict_proba(Xt)
    np.testing.assert_array_equal(probabilities[:, 1], 0)
    np.testing.assert_allclose(probabilities[:, [0, 2]], alone.predict_proba(Xt))
    assert [each[1] for each in found._class_counts] == [0, 0]
    if rule == "nearest":
        assert np.isinf(found.class_distances(Xt)[:, 1]).all()
        labels, odds, _ = found.nearest(Xt)
        np.testing.assert_array_equal(labels, found.predict(Xt))
        np.testing.assert_array_equal(odds, probabilities)


def test_odds_of_the_nearest_rows_are_multiplied():
    nothing = classifier().fit(X, y, Xt, sample_weight=by_hand())
    odds = nothing.predict_proba(Xt) * (Q * 3)
    found = classifier(class_prior=Q).fit(X, y, Xt)
    wanted = odds / odds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.predict_proba(Xt), wanted, atol=1e-10)
    np.testing.assert_allclose(found.class_distances(Xt), nothing.class_distances(Xt))


def test_masses_of_all_labelled_and_selected_rows_are_the_shares(monkeypatch):
    met, fit = [], self_training.class_weights

    def spied(codes, weights, n_classes, class_prior=None):
        found = fit(codes, weights, n_classes, class_prior)
        if len(codes) == len(X) + len(Xt):
            met.append((np.bincount(codes[codes >= 0], found[codes >= 0]), weights))
        return found

    monkeypatch.setattr(self_training, "class_weights", spied)
    classifier("ridge", self_training=1, class_prior=Q).fit(X, y, Xt, SOME)
    assert len(met) > 3
    for masses, weights in met:
        np.testing.assert_allclose(masses / masses.sum(), Q)
        assert set(weights[len(X) :]) <= {LABEL_WEIGHT, SELECTED_WEIGHT}


@pytest.mark.parametrize("rounds", [0, 2])
def test_a_linear_rule_weighs_labels_of_both_domains_as_the_shares(rounds):
    found = classifier("linear", self_training=rounds, class_prior=Q).fit(X, y, Xt, SOME)
    rows = np.concatenate([found.transform(X, "source"), found.transform(Xt[:6])])
    codes = np.concatenate([y, yt[:6]])
    source = by_hand()
    masses = np.bincount(codes, np.concatenate([source, np.ones(6)]))
    weights = np.concatenate([source, np.ones(6)]) * (Q * 66 / masses)[codes]
    scale = 1 / np.sqrt(np.mean(rows**2))
    alone = LogisticRegression(max_iter=1000).fit(scale * rows, codes, weights)
    expected = alone.predict_proba(scale * found.transform(Xt))
    np.testing.assert_allclose(found.predict_proba(Xt), expected, atol=1e-6)


# -- estimated -----------------------------------------------------------------------------------


def shifted_shares():
    data = shifted(n=150, nt=240)
    kept = np.concatenate([np.flatnonzero(data.yt == c)[:n] for c, n in enumerate((70, 20, 10))])
    target = data.Xt[kept] - data.Xt.mean(axis=0) + data.X.mean(axis=0)
    return data.X, data.y, target, data.yt[kept]


def test_estimated_shares():
    source, labels, target, _ = shifted_shares()
    model = classifier(class_prior="auto").fit(source, labels, target)
    estimate = model.class_prior_estimate_
    assert estimate is not None
    assert not estimate.counted
    np.testing.assert_array_equal(model.class_prior_, estimate.shares)
    assert model.class_prior_.argmax() == 0
    assert_same_predictions(model, classifier(class_prior=estimate.shares), shifted_shares())
    assert classifier(class_prior=Q).fit(X, y, Xt).class_prior_estimate_ is None


def assert_same_predictions(model, other, data):
    source, labels, target, _ = data
    other.fit(source, labels, target)
    np.testing.assert_allclose(other.predict_proba(target), model.predict_proba(target))


def test_labels_are_counted_for_other_columns_too():
    source, labels, target, truth = shifted_shares()
    some = [each if i % 4 == 0 else None for i, each in enumerate(truth.tolist())]
    model = classifier(class_prior="auto").fit(source, labels, target[:, :4], some)
    assert model.class_prior_estimate_ is not None
    assert model.class_prior_estimate_.counted
    np.testing.assert_allclose(model.class_prior_, (np.array([18, 5, 2]) + 0.5) / 26.5)
    with pytest.raises(ValueError, match="different columns .* can only be counted.*there are 6"):
        classifier(class_prior="auto").fit(
            source, labels, target[:, :4], [*truth[:6], *[None] * 94]
        )


# -- batches -------------------------------------------------------------------------------------


def pieces(labels=y):
    order = np.random.default_rng(0).permutation(len(X))
    for rows, others in zip(np.split(order, 3), np.split(np.arange(len(Xt)), 3), strict=True):
        yield X[rows], labels[rows], Xt[others]


@pytest.mark.parametrize("rule", ["nearest", "linear"])
@pytest.mark.parametrize("prior", [Q, [0.4, 0.0, 0.6], "source"], ids=str)
def test_batches_with_shares(rule, prior):
    model = classifier(rule, class_prior=prior)
    for batch in pieces():
        model.partial_fit(*batch, classes=[0, 1, 2])
    at_once = classifier(rule, class_prior=prior, solver="adam").fit(X, y, Xt)
    np.testing.assert_allclose(model.source_mean_, at_once.source_mean_)
    np.testing.assert_allclose(model.class_prior_, at_once.class_prior_)
    assert np.mean(model.predict(Xt) == at_once.predict(Xt)) > 0.9
    if not isinstance(prior, str):
        np.testing.assert_array_equal(model.predict_proba(Xt)[:, np.array(prior) == 0], 0)


def test_batches_that_are_refused():
    model = classifier(class_prior="auto")
    with pytest.raises(ValueError, match='class_prior="auto" needs all of them'):
        model.partial_fit(X, y, Xt)
    model = classifier(class_prior=Q).partial_fit(X, y, Xt)
    for other in (None, Q[::-1], "source"):
        with pytest.raises(ValueError, match="must be that of the first call"):
            model.set_params(class_prior=other).partial_fit(X, y, Xt)
    model.set_params(class_prior=Q).partial_fit(X, y, Xt)
    only = classifier(class_prior=[0.5, 0, 0.5])
    with pytest.raises(ValueError, match="At least 2 classes with source rows.*but 1 has"):
        only.partial_fit(X[y < 2], y[y < 2], Xt, classes=[0, 1, 2])


def test_a_batch_of_rows_of_share_0_only():
    model = classifier(class_prior=[0.4, 0, 0.6]).partial_fit(X, y, Xt)
    before = model.source_mean_
    model.partial_fit(X[y == 1], y[y == 1])
    np.testing.assert_allclose(model.source_mean_, before)


# -- files, and who is refused -------------------------------------------------------------------


@pytest.mark.parametrize(
    "prior", [None, "source", "auto", Q, [0.4, 0.0, 0.6], {0: 0.2, 1: 0.7, 2: 0.1}], ids=str
)
@pytest.mark.parametrize("rule", ["ridge", "nearest", "linear"])
def test_what_is_saved_comes_back(rule, prior, tmp_path):
    given = (X, y, Xt) if isinstance(prior, list) else (X, y, Xt, SOME)
    model = classifier(rule, class_prior=prior).fit(*given)
    model.save(tmp_path / "model")
    back = load(tmp_path / "model")
    np.testing.assert_array_equal(back.predict_proba(Xt), model.predict_proba(Xt))
    np.testing.assert_array_equal(back.class_prior_, model.class_prior_)
    assert (back.class_prior_estimate_ is None) == (model.class_prior_estimate_ is None)
    again = classifier(rule, class_prior=back.class_prior).fit(*given)
    np.testing.assert_allclose(again.predict_proba(Xt), model.predict_proba(Xt), atol=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([0.2, 0.3, 0.4], "must sum to 1, up to 1 %, but sum to 0.9"),
        ([0.5, 0.5], r"one share for each of the 3 classes .* but has shape \(2,\)"),
        ([-0.1, 0.6, 0.5], "shares between 0 and 1, but holds"),
        ([np.nan, 0.5, 0.5], "shares between 0 and 1"),
        (["few", "some", "many"], "must hold numbers"),
        ([1.0, 0.0, 0.0], "At least 2 classes"),
        ({"cat": 0.5, "dog": 0.5}, r"must have a share .* but lacks \['emu'\]"),
        ({"cat": 0.5, "dog": 0.3, "emu": 0.1, "fox": 0.1}, r"has unknown ones \['fox'\]"),
        ({"cat": 0.5, "dgo": 0.3, "emu": 0.2}, r"unknown ones \['dgo'\] and lacks \['dog'\]"),
    ],
)
def test_shares_that_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        check_class_prior(given, NAMES)
    with pytest.raises(ValueError, match=message):
        classifier(class_prior=given).fit(X, NAMES[y], Xt)


def test_contradictions_are_refused():
    with pytest.raises(ValueError, match="1 has share 0 in class_prior and yt labels 2 rows so"):
        classifier(class_prior=[0.5, 0, 0.5]).fit(X, y, Xt, SOME)
    with pytest.raises(ValueError, match="class shares of a target, but there is none: pass Xt"):
        classifier(class_prior="auto").fit(X, y)
    with pytest.raises(ValueError, match="class_prior"):
        classifier(class_prior="target").fit(X, y, Xt)


def test_a_class_whose_rows_weigh_nothing_has_no_share():
    weights = np.where(y == 1, 0.0, 1.0)
    model = classifier("linear", class_prior="source").fit(X, y, Xt, sample_weight=weights)
    np.testing.assert_allclose(model.class_prior_, [0.5, 0, 0.5])
    assert not (model.predict(Xt) == 1).any()
    nothing = classifier("linear").fit(X, y, Xt, sample_weight=weights)
    np.testing.assert_array_equal(nothing.predict(Xt), model.predict(Xt))
    with pytest.raises(ValueError, match="At least 2 classes with source rows"):
        classifier(class_prior=[0.5, 0.5, 0]).fit(X, y, Xt, sample_weight=weights)


def test_domains_are_not_changed():
    domains = check_domains(X, y, Xt)
    weighed = domains.with_class_prior(Q)
    assert domains.sources[0].weights is None
    assert domains.class_prior is None
    np.testing.assert_allclose(weighed.source_shares, Q)
    np.testing.assert_allclose(weighed.sources[0].weights.sum(), len(X))
    assert weighed.target is domains.target


# -- other engines -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "prior"),
    [("ridge", Q), ("nearest", "auto"), ("nearest", [0.4, 0.0, 0.6]), ("linear", "source")],
)
def test_another_array_library_gives_the_same(rule, prior):
    xp = pytest.importorskip("array_api_strict")
    expected = classifier(rule, class_prior=prior).fit(X, y, Xt)
    found = classifier(rule, class_prior=prior).fit(xp.asarray(X.copy()), y, xp.asarray(Xt.copy()))
    probabilities = found.predict_proba(xp.asarray(Xt.copy()))
    np.testing.assert_allclose(
        np.asarray(probabilities, dtype=float), expected.predict_proba(Xt), atol=1e-6
    )
    np.testing.assert_allclose(found.class_prior_, expected.class_prior_)
