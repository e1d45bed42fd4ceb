"""The estimate of accuracy: what it rests on, and how often its interval holds."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from ilspace.active import Asked, QuerySelector, estimate_accuracy
from ilspace.active.accuracy import _MEANS, _SPREADS, _posterior, expected_progress, right_chances
from ilspace.baselines import Pooled


def asked(confidence=(), is_right=(), n_learned=None, is_random=True):
    n = len(confidence)
    learned = np.zeros(n) if n_learned is None else np.asarray(n_learned)
    return Asked(np.asarray(confidence), np.asarray(is_right), learned, np.full(n, is_random))


SURE = np.full(400, 0.8)


def test_without_answers_it_rests_on_confidence_with_a_wide_interval():
    found = estimate_accuracy(SURE, asked(), 0)
    assert found.n_labels == 0
    assert found.high - found.low > 0.5
    assert estimate_accuracy(np.full(400, 0.5), asked(), 0).value < found.value
    assert estimate_accuracy(np.full(400, 0.99), asked(), 0).value > found.value


def test_many_random_answers_decide():
    right = np.arange(2000) % 10 < 7
    found = estimate_accuracy(SURE, asked(np.full(2000, 0.8), right, np.full(2000, 2000)), 2000)
    assert found.value == pytest.approx(0.7, abs=0.01)
    assert found.low < 0.7 < found.high
    assert found.high - found.low < 0.1


def test_unsure_rows_tell_less_about_sure_ones():
    """Errors where a model said that it is unsure do not make it bad where it is sure."""
    wrong = np.arange(40) % 2 == 0
    unsure = estimate_accuracy(SURE, asked(np.full(40, 0.5), wrong, np.full(40, 40)), 40)
    sure = estimate_accuracy(SURE, asked(np.full(40, 0.8), wrong, np.full(40, 40)), 40)
    assert unsure.value > sure.value + 0.1
    assert unsure.high - unsure.low > sure.high - sure.low


def test_chosen_rows_are_harder_and_old_errors_count_less():
    right = np.arange(40) % 2 == 0
    given = np.full(40, 0.8)
    random, chosen = (
        estimate_accuracy(SURE, asked(given, right, np.full(40, 40), flag), 40)
        for flag in (True, False)
    )
    old = estimate_accuracy(SURE, asked(given, right, np.zeros(40)), 40)
    assert chosen.value > random.value
    assert old.value > random.value
    assert chosen.high - chosen.low > random.high - random.low


def test_few_rows_are_a_matter_of_chance():
    few, many = (estimate_accuracy(SURE, asked(), 0, n_rows=n) for n in (5, 10**6))
    assert few.high - few.low > many.high - many.low
    assert few.value == many.value


def test_chances_are_those_of_the_estimate():
    confidence = np.linspace(0.3, 0.99, 300)
    right = np.arange(300) % 4 > 0
    given = asked(confidence, right, np.full(300, 300))
    found = right_chances(confidence, given, 300)
    assert (np.diff(found) > 0).all()
    assert found.mean() == pytest.approx(estimate_accuracy(confidence, given, 300).value, abs=0.01)


@pytest.mark.parametrize("seed", range(6))
def test_the_mode_is_that_of_another_optimizer(seed):
    """Also where full Newton steps would go too far: all right, all wrong, or in two halves."""
    rng = np.random.default_rng(seed)
    n = 40
    sure, learned = rng.uniform(0.5, 1, size=n), 5 * (np.arange(n) // 5)
    kinds = (rng.random(n) < 0.7, np.ones(n, bool), np.zeros(n, bool), np.arange(n) < 20)
    right = kinds[seed % 4]
    values = logit(np.clip(sure, 0.005, 0.995))
    progress = np.log((n + 10) / (learned + 10))

    def loss(point):
        scores = point[0] + point[1] * values - point[2] * progress + point[3]
        chances = np.clip(expit(np.where(right, scores, -scores)), 1e-300, 1)
        return -np.log(chances).sum() + np.sum(((point - _MEANS) / _SPREADS) ** 2) / 2

    expected = minimize(loss, np.zeros(4), method="Powell", options={"xtol": 1e-8, "ftol": 1e-14})
    found, _ = _posterior(asked(sure, right, learned, False), n)
    np.testing.assert_allclose(found, expected.x, atol=1e-3)


def test_progress_is_what_the_answers_show():
    """Where later predictions were right more often, more labels are expected to help more."""
    learned = np.repeat([0, 40], 40)
    given = np.full(80, 0.8)
    rising, falling = np.arange(80) >= 40, np.arange(80) < 40
    gains = [
        expected_progress(SURE, asked(given, right, learned), 80, 10) for right in (rising, falling)
    ]
    assert gains[0] > gains[1] >= 0
    more = expected_progress(SURE, asked(given, rising, learned), 80, 20)
    assert gains[0] < more < 2 * gains[0]


def test_level_is_checked_and_widens():
    narrow, wide = (estimate_accuracy(SURE, asked(), 0, level=level) for level in (0.5, 0.95))
    assert wide.low < narrow.low < narrow.high < wide.high
    with pytest.raises(ValueError, match="level"):
        estimate_accuracy(SURE, asked(), 0, level=90)


def test_every_row_labelled_leaves_nothing_to_estimate():
    rng = np.random.default_rng(0)
    y = np.arange(12) % 2
    X = rng.normal(size=(12, 2)) + y[:, None]
    asking = QuerySelector(Pooled(classifier=LogisticRegression())).fit(X, y, X)
    asking.teach(np.arange(12), y)
    with pytest.raises(ValueError, match="every target row has one"):
        asking.estimate_accuracy()


@pytest.mark.slow
def test_interval_holds_as_often_as_it_says_under_its_own_model():
    """Simulation: parameters from the prior, chosen rows that are unsure, batches of five."""
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(600):
        offset, slope, progress, choice = rng.normal(_MEANS, _SPREADS)
        n_labels = int(rng.choice([10, 20, 30, 50]))
        confidence = rng.beta(4, 1.5, size=300)
        sure = np.sort(rng.beta(4, 1.5, size=3 * n_labels))[:n_labels]
        learned = 5 * (np.arange(n_labels) // 5)
        shift = choice - progress * np.log((n_labels + 10) / (learned + 10))
        right = rng.random(n_labels) < expit(offset + slope * logit(sure) + shift)
        truth = np.mean(rng.random(300) < expit(offset + slope * logit(confidence)))
        found = estimate_accuracy(confidence, asked(sure, right, learned, False), n_labels)
        covered.append(found.low <= truth <= found.high)
    assert 0.87 <= np.mean(covered) <= 0.94


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["facility-location", "margin", "random"])
def test_interval_holds_on_rows_that_are_never_asked(strategy):
    """Simulation from data: shifted Gaussian classes, 20 labels, half of the target held out."""
    covered = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y, yt = rng.integers(3, size=120), rng.integers(3, size=300)
        means = rng.normal(size=(3, 6))
        X = rng.normal(size=(120, 6)) + 1.2 * means[y]
        Xt = rng.normal(size=(300, 6)) + 1.2 * (means + 0.7 * rng.normal(size=(3, 6)))[yt]
        held_out = np.arange(150)
        model = Pooled(classifier=LogisticRegression())
        asking = QuerySelector(model, strategy, random_state=seed).fit(X, y, Xt, skip=held_out)
        for _ in range(4):
            rows = asking.query(5)
            asking.teach(rows, yt[rows])
        found = asking.estimate_accuracy()
        truth = np.mean(asking.estimator_.predict(Xt[held_out]) == yt[held_out])
        covered.append(found.low <= truth <= found.high)
    assert np.mean(covered) >= 0.85
