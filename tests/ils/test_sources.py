"""What is found out of several sources without target labels."""

import numpy as np
import pytest
from scipy.linalg import expm

from ilspace.domains import check_domains
from ilspace.ils import (
    SourceEvidence,
    source_evidence,
    weights_of_agreement,
    weights_of_evidence,
)
from ilspace.ils.ridge_rule import TrainingRows

MEANS = 2.5 * np.random.default_rng(0).standard_normal((4, 12))
SKEW = 0.22 * np.random.default_rng(1).standard_normal((12, 12))
TURN = expm(SKEW - SKEW.T)


def domain(seed, n=60, *, turned=False):
    """Classes around the same means, in the columns of the target or turned a little."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 4)
    rows = MEANS[y] + 1.5 * rng.standard_normal((n, 12))
    return (rows @ TURN if turned else rows), y


(X1, Y1), (X2, Y2), (X3, Y3) = domain(1, turned=True), domain(2, turned=True), domain(3)
XT, _ = domain(4, n=80)
SHUFFLED = np.random.default_rng(5).permutation(Y3)


def evidence(*sources):
    rows, labels = map(list, zip(*sources, strict=True))
    return source_evidence(check_domains(rows, labels, XT), 0)


def test_weights_are_odds_to_the_power_three_halves():
    odds = np.array([1.0, 4.0, 9.0])
    weights = weights_of_agreement(odds / (1 + odds))
    np.testing.assert_allclose(weights, np.array([1, 8, 27]) / 36)
    # what is no better than chance is as bad as the worst, and nothing is beyond doubt
    bounded = weights_of_agreement(np.array([-1.0, 0.0, 0.02, 0.98, 1.0]))
    np.testing.assert_allclose(bounded[:3], bounded[0])
    np.testing.assert_allclose(bounded[3:], bounded[4])
    assert bounded.sum() == pytest.approx(1)


def test_what_is_like_the_target_agrees_most():
    found = evidence((X1, Y1), (X2, Y2), (X3, Y3))
    assert found.reliability.min() > 0.8
    assert found.agreement.argmax() == 2
    assert weights_of_agreement(found.agreement)[2] > 0.5


def test_shuffled_labels_next_to_the_target_are_not_believed():
    # the rule of all sources would follow them, since no other rows are so near
    found = evidence((X1, Y1), (X2, Y2), (X3, SHUFFLED))
    assert abs(found.reliability[2]) < 0.25
    assert found.agreement[2] < 0.2
    assert found.agreement[:2].min() > 0.5
    assert weights_of_agreement(found.agreement)[2] < 0.1


def test_of_two_sources_the_one_with_labels_is_believed():
    found = evidence((X1, Y1), (X3, SHUFFLED))
    assert weights_of_agreement(found.agreement)[1] < 0.1


def test_a_source_is_asked_of_its_own_classes_only():
    whole = evidence((X1, Y1), (X3, Y3))
    some, one = Y3 < 2, Y3 == 0
    part = evidence((X1, Y1), (X3[some], Y3[some]))
    assert part.agreement[1] > 0.9 * whole.agreement[1]
    # of a single class nothing is known: neither better nor worse than the others
    alone = evidence((X1, Y1), (X2, Y2), (X3[one], Y3[one]))
    assert alone.agreement[2] == pytest.approx(np.median(alone.agreement[:2]))
    assert alone.reliability[2] == pytest.approx(np.median(alone.reliability[:2]))


def test_weights_of_sources_become_weights_of_rows():
    domains = check_domains([X1, X2, X3], [Y1, Y2, Y3], XT)
    weighed = domains.with_source_weights(np.array([1.0, 16.0, 4.0]))
    assert weighed.source_weights is not None
    np.testing.assert_allclose(weighed.source_weights, np.array([1, 16, 4]) / 21)
    first, second, third = weighed.sources
    np.testing.assert_allclose(first.weights, 0.5)  # (1/16) to the power 1/4
    assert second.weights is None
    np.testing.assert_allclose(third.weights, 0.25**0.25)
    total = 1.5 + 0.25**0.25
    np.testing.assert_allclose(
        weighed.shares_of_discrepancies, [0.5 / total, 1 / total, 0.25**0.25 / total]
    )
    rows = TrainingRows(weighed, np.random.default_rng(0))
    np.testing.assert_allclose(rows.weights[:60], 1 / 16)
    np.testing.assert_allclose(rows.weights[60:120], 1)
    np.testing.assert_allclose(rows.weights[120:180], 1 / 4)
    np.testing.assert_allclose(rows.weights[180:], 0.5)  # unlabelled target rows, once selected


def test_labels_that_a_source_does_not_predict_itself_have_no_weight():
    agreement = np.array([0.4, 0.4, 0.3])
    found = weights_of_evidence(SourceEvidence(np.array([0.8, 0.2, 0.6]), agreement))
    assert found[1] < 1e-5
    rest = weights_of_agreement(agreement)[[0, 2]]
    np.testing.assert_allclose(found[[0, 2]], rest / rest.sum(), rtol=1e-5)
    alike = weights_of_evidence(SourceEvidence(np.array([0.8, 0.3, 0.6]), agreement))
    np.testing.assert_allclose(alike, weights_of_agreement(agreement))
