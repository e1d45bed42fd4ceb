"""Members of the committee against scikit-learn and the baselines."""

import numpy as np
import pytest
from shifted import shifted
from sklearn.linear_model import LogisticRegression

from ilspace.baselines import SelfTraining
from ilspace.tables.members import MEMBERS, LogisticRule, PlainSelfTraining, probabilities

DATA = shifted(d=5)
NAMES = np.array(["ant", "bee", "elk"])
SOME = np.array([NAMES[each] if i < 5 else None for i, each in enumerate(DATA.yt)], dtype=object)


def by_hand(X, codes, weights=None, *, more=(), more_codes=()):
    """Logistic regression by scikit-learn; rows have a mean squared length of d, or 100."""
    rows = np.concatenate([X, np.reshape(more, (-1, X.shape[1]))])
    factor = np.sqrt(min(X.shape[1], 100) / np.mean(np.sum(rows**2, axis=1)))
    labels = np.concatenate([codes, more_codes]).astype(int)
    rule = LogisticRegression(max_iter=300).fit(factor * rows, labels, weights)
    return lambda Z: rule.predict_proba(factor * Z)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logistic_regression_of_scaled_rows(n_classes):
    chosen = n_classes > DATA.y
    X, y = 40 * DATA.X[chosen], NAMES[DATA.y[chosen]]
    rule = LogisticRule().fit(X, y)
    wanted = by_hand(X, DATA.y[chosen])(DATA.Xt)
    np.testing.assert_allclose(rule.predict_proba(DATA.Xt), wanted, rtol=1e-6, atol=1e-9)
    assert rule.predict(DATA.Xt).tolist() == NAMES[wanted.argmax(axis=1)].tolist()
    np.testing.assert_array_equal(
        rule.predict_proba(DATA.Xt, "source"), rule.predict_proba(DATA.Xt)
    )


def test_many_columns_count_as_a_hundred():
    X = np.random.default_rng(0).normal(size=(40, 150)) + np.arange(40)[:, None] % 2
    wanted = by_hand(X, np.arange(40) % 2)(X)
    rule = LogisticRule().fit(X, np.arange(40) % 2)
    np.testing.assert_allclose(rule.predict_proba(X), wanted, rtol=1e-4, atol=1e-8)


def test_a_target_label_weighs_as_three_source_labels():
    rule = LogisticRule().fit(DATA.X, NAMES[DATA.y], DATA.Xt, SOME)
    weights = [1.0] * 30 + [3.0] * 5
    wanted = by_hand(DATA.X, DATA.y, weights, more=DATA.Xt[:5], more_codes=DATA.yt[:5])(DATA.Xt)
    np.testing.assert_allclose(rule.predict_proba(DATA.Xt), wanted, rtol=1e-6, atol=1e-9)


def test_class_shares_weigh_the_rows():
    X, y = DATA.X[:25], DATA.y[:25]  # 9, 8 and 8 rows
    shares = np.array([0.1, 0.3, 0.6])
    rule = LogisticRule(shares).fit(X, NAMES[y])
    weights = 25 * shares[y] / np.bincount(y)[y]
    wanted = by_hand(X, y, weights)(DATA.Xt)
    np.testing.assert_allclose(rule.predict_proba(DATA.Xt), wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["linear", "self-training", "self-training-own"])
def test_a_class_of_share_0_is_never_predicted(name):
    member = MEMBERS[name].make(class_prior=np.array([0.5, 0.0, 0.5]), random_state=0)
    member.fit(DATA.X, NAMES[DATA.y], DATA.Xt)
    assert member.classes_.tolist() == NAMES.tolist()
    assert "bee" not in member.predict(DATA.Xt)
    found = member.predict_proba(DATA.Xt)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    if name == "linear":
        assert found[:, 1].max() == 0


def test_self_training_is_that_of_the_baselines():
    member = PlainSelfTraining(random_state=0).fit(DATA.X, NAMES[DATA.y], DATA.Xt)
    alone = SelfTraining(random_state=0).fit(DATA.X, NAMES[DATA.y], DATA.Xt)
    assert member.predict(DATA.Xt).tolist() == alone.predict(DATA.Xt).tolist()
    assert member.predict(DATA.X, "source").tolist() == alone.predict(DATA.X, "source").tolist()
    found = member.predict_proba(DATA.Xt)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    member = PlainSelfTraining(random_state=0).fit(DATA.X, NAMES[DATA.y], DATA.Xt, SOME)
    assert member.predict(DATA.Xt[:5]).tolist() == SOME[:5].tolist()


class Said:
    """An estimator that repeats what it was given."""

    def __init__(self, n_classes=3, **answers):
        self.classes_ = NAMES[:n_classes]
        for name, answer in answers.items():
            setattr(self, name, lambda rows, domain, answer=answer: answer)


def test_probabilities_of_estimators_that_tell_none():
    rows = np.zeros((2, 3))
    scores = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]])
    said = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(
        probabilities(Said(predict_proba=said, decision_function=scores), rows, "target"), said
    )
    powers = np.exp(scores)
    np.testing.assert_allclose(
        probabilities(Said(decision_function=scores), rows, "target"),
        powers / powers.sum(axis=1, keepdims=True),
    )
    # two classes have one score: the log-odds of the second
    np.testing.assert_allclose(
        probabilities(Said(2, decision_function=np.log([3.0, 1 / 4])), rows, "target"),
        [[0.25, 0.75], [0.8, 0.2]],
    )
    np.testing.assert_array_equal(
        probabilities(Said(predict=np.array(["elk", "ant"])), rows, "target"),
        [[0, 0, 1], [1, 0, 0]],
    )
