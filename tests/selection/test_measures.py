"""The measures against loops, closed forms and laws."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import log_loss

from ilspace.selection import (
    calibrated,
    confidence,
    controlled_risk,
    density_ratio,
    information,
    neighbourhood_density,
    weighted_accuracy,
)

seeds = st.integers(0, 2**32 - 1)


def some_predictions(seed, n=12, n_classes=4):
    return np.random.default_rng(seed).dirichlet(np.full(n_classes, 0.5), size=n)


# -- measures of target predictions --------------------------------------------------------------


def test_confidence_and_information_against_scipy():
    predictions = some_predictions(0)
    each = [entropy(row) for row in predictions]
    assert confidence(predictions) == pytest.approx(-np.mean(each))
    joint = predictions / len(predictions)  # row and class; their mutual information
    expected = entropy(joint.sum(axis=0)) + entropy(joint.sum(axis=1)) - entropy(joint.ravel())
    assert information(predictions) == pytest.approx(expected)


def test_density_against_loops():
    predictions = some_predictions(1, n=7)
    total = 0.0
    for i, row in enumerate(predictions):
        others = [other for j, other in enumerate(predictions) if j != i]
        cosines = [row @ each / math.sqrt((row @ row) * (each @ each)) for each in others]
        odds = [math.exp(each / 0.1) for each in cosines]
        shares = [each / sum(odds) for each in odds]
        total -= sum(share * math.log(share) for share in shares)
    assert neighbourhood_density(predictions, temperature=0.1) == pytest.approx(total / 7)


def test_density_in_tiles(monkeypatch):
    predictions = some_predictions(2, n=23)
    whole = neighbourhood_density(predictions)
    monkeypatch.setattr("ilspace.selection.measures._TILE", 50)
    assert neighbourhood_density(predictions) == pytest.approx(whole)


@given(seeds)
@settings(max_examples=25)
def test_bounds_and_blindness_to_order(seed):
    predictions = some_predictions(seed)
    n, n_classes = predictions.shape
    rng = np.random.default_rng(seed)
    bounds = {
        confidence: (-math.log(n_classes), 0),
        information: (0, math.log(n_classes)),
        neighbourhood_density: (0, math.log(n - 1)),
    }
    for measure, (low, high) in bounds.items():
        value = measure(predictions)
        assert low - 1e-12 <= value <= high + 1e-12
        shuffled = predictions[rng.permutation(n)][:, rng.permutation(n_classes)]
        assert measure(shuffled) == pytest.approx(value)


def test_sure_predictions_of_one_class_and_of_all():
    one, all_ = np.eye(4)[np.zeros(12, dtype=int)], np.eye(4)[np.arange(12) % 4]
    assert confidence(one) == confidence(all_) == 0
    assert information(one) == 0
    assert information(all_) == pytest.approx(math.log(4))
    assert neighbourhood_density(one) == pytest.approx(math.log(11))
    assert neighbourhood_density(all_) == pytest.approx(math.log(2), abs=1e-6)


@pytest.mark.parametrize("measure", [confidence, information, neighbourhood_density])
@pytest.mark.parametrize("shape", [(4,), (0, 3)])
def test_what_are_no_predictions(measure, shape):
    with pytest.raises(ValueError, match=r"must have shape \(n, n_classes\)"):
        measure(np.ones(shape))


def test_one_row_has_no_neighbours():
    with pytest.raises(ValueError, match="at least 2 rows, but there is 1"):
        neighbourhood_density([[0.5, 0.5]])


# -- calibration ---------------------------------------------------------------------------------


def noisy_case(seed=5, n=400, n_classes=3):
    """Predictions that are right with the probability they say, and their true classes."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(n_classes), size=n)
    return truth, np.array([rng.choice(n_classes, p=row) for row in truth])


@pytest.mark.parametrize("exponent", [0.2, 1.0, 5.0])
def test_calibration_undoes_a_temperature(exponent):
    truth, codes = noisy_case()
    raised = truth**exponent / np.sum(truth**exponent, axis=1, keepdims=True)
    found = calibrated(raised, known=raised, codes=codes)
    np.testing.assert_allclose(found, calibrated(truth, known=truth, codes=codes), atol=1e-4)
    np.testing.assert_allclose(found, truth, atol=0.1)


def test_calibration_changes_no_prediction_and_has_the_least_loss():
    predictions, codes = some_predictions(6, n=50), np.arange(50) % 4
    found = calibrated(predictions, known=predictions, codes=codes)
    np.testing.assert_array_equal(found.argmax(axis=1), predictions.argmax(axis=1))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for exponent in (0.9, 1.1):
        other = found**exponent / np.sum(found**exponent, axis=1, keepdims=True)
        assert log_loss(codes, other) > log_loss(codes, found)


def test_calibration_of_sure_predictions():
    """All right, all wrong, and zeros: nothing but numbers comes out."""
    sure, codes = np.eye(3)[np.arange(9) % 3], np.arange(9) % 3
    np.testing.assert_allclose(calibrated(sure, known=sure, codes=codes), sure, atol=1e-9)
    doubtful = calibrated(sure, known=sure, codes=(codes + 1) % 3)
    assert np.isfinite(doubtful).all()


# -- measures of source rows ---------------------------------------------------------------------


def test_a_weight_is_a_number_of_copies():
    rng = np.random.default_rng(3)
    correct, weights = rng.integers(0, 2, 20), rng.integers(0, 4, 20)
    assert weighted_accuracy(correct, weights) == pytest.approx(np.repeat(correct, weights).mean())


@given(seeds, st.floats(0, 10))
@settings(max_examples=25)
def test_a_risk_that_is_the_same_everywhere_needs_no_weights(seed, loss):
    weights = np.random.default_rng(seed).lognormal(size=15)
    assert controlled_risk(np.full(15, loss), weights) == pytest.approx(-loss, abs=1e-9)


def test_the_control_variate_is_the_one_of_least_variance():
    rng = np.random.default_rng(4)
    losses, weights = rng.uniform(size=30), rng.lognormal(size=30)
    slope = -np.cov(weights * losses, weights)[0, 1] / np.var(weights, ddof=1)
    values = weights * losses + slope * (weights - 1)
    assert controlled_risk(losses, weights) == pytest.approx(-values.mean())
    for other in (slope - 0.1, slope + 0.1):
        assert np.var(weights * losses + other * (weights - 1)) > np.var(values)


def test_equal_weights_control_nothing():
    losses = np.array([0.0, 1.0, 1.0])
    assert controlled_risk(losses, np.full(3, 0.3)) == pytest.approx(-0.2)


def test_a_column_of_weights_is_refused():
    for measure in (controlled_risk, weighted_accuracy):
        with pytest.raises(ValueError, match="must be 1-d"):
            measure(np.ones(3), np.ones((3, 1)))


# -- density ratio -------------------------------------------------------------------------------


def gaussians(seed=0, n=1500, nt=1000, shift=0.8):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)), rng.standard_normal((nt, 2)) + np.array([shift, 0])


@pytest.mark.parametrize("across", [False, True])
def test_ratio_of_shifted_gaussians(across):
    source, target = gaussians()
    at = gaussians(1)[0] if across else None
    ratio = density_ratio(source, target, at=at)
    rows = source if at is None else at
    truth = np.exp(0.8 * rows[:, 0] - 0.8**2 / 2)  # spreads over e to the 3 and the -3
    np.testing.assert_allclose(np.log(ratio), np.log(truth), atol=0.6)
    assert ratio.mean() == pytest.approx(1, abs=0.1)


def test_ratio_weighs_source_means_towards_the_target():
    source, target = gaussians()
    shifted = np.average(source[:, 0], weights=density_ratio(source, target))
    assert shifted == pytest.approx(target[:, 0].mean(), abs=0.1)


def test_ratio_stays_tame_where_the_domains_are_far_apart():
    rng = np.random.default_rng(0)
    source, target = rng.standard_normal((20, 100)), rng.standard_normal((50, 100)) + 3
    ratio = density_ratio(source, target)
    assert np.isfinite(ratio).all()
    assert ratio.sum() ** 2 / (ratio**2).sum() > 3  # rows that count


def test_ratio_of_sparse_rows():
    from scipy import sparse

    source, target = gaussians(n=60, nt=50)
    dense = density_ratio(source, target)
    np.testing.assert_allclose(
        density_ratio(sparse.csr_matrix(source), sparse.csr_matrix(target)), dense, rtol=1e-2
    )


def test_columns_that_come_twice_do_not_make_the_domains_differ_more():
    source, target = gaussians(n=60, nt=50)
    twice = density_ratio(np.tile(source, 3), np.tile(target, 3))
    np.testing.assert_allclose(twice, density_ratio(source, target), rtol=1e-3)


class KnownOdds(ClassifierMixin, BaseEstimator):
    """Tells the domains apart by odds that stand in the first column."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        odds = X[:, 0]
        return np.stack([1 / (1 + odds), odds / (1 + odds)], axis=1)


def test_one_row_has_no_more_than_the_root_of_their_number_of_mean_weights():
    odds = np.r_[np.ones(99), 9901.0][:, None]  # 100 on average
    ratio = density_ratio(odds, np.ones((100, 1)), at=odds, classifier=KnownOdds())
    np.testing.assert_allclose(ratio, np.r_[np.ones(99), 1000.0])


def test_ratio_needs_rows():
    with pytest.raises(ValueError, match="at least 2 rows, but they have 1 and 5"):
        density_ratio(np.ones((1, 2)), np.ones((5, 2)))
