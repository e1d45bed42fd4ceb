"""Bounds of trust, against a search over all of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from ilspace.tables.trust import (
    FARTHEST,
    FEWEST_ROWS,
    LEAST_CONFIDENCE,
    Trust,
    in_words,
    learn_trust,
)

HELD_OUT = st.lists(
    st.tuples(st.integers(0, 8).map(lambda each: each / 8), st.booleans()), min_size=1, max_size=60
)


def naive_confidence(probability, is_right, accuracy):
    """The least threshold of all that keeps enough rows and is right often enough."""
    for threshold in sorted({0.0, *probability}):
        kept = [right for p, right in zip(probability, is_right, strict=True) if p >= threshold]
        if len(kept) < FEWEST_ROWS:
            continue
        found = binomtest(sum(kept), len(kept)).proportion_ci(0.5, method="wilson")
        if found.low >= accuracy - 1e-12:
            return max(threshold, min(LEAST_CONFIDENCE, accuracy))
    return np.inf


@settings(max_examples=100, deadline=None)
@given(rows=HELD_OUT, accuracy=st.sampled_from([0.0, 0.5, 0.9, 1.0]))
def test_the_widest_bounds_that_are_right_often_enough(rows, accuracy):
    probability, is_right = (np.array(each) for each in zip(*rows, strict=True))
    distance = np.arange(len(rows), dtype=float)
    trust = learn_trust(probability, distance, is_right=is_right, accuracy=accuracy)
    assert trust.confidence == naive_confidence(probability, is_right, accuracy)
    assert trust.distance == np.quantile(distance, FARTHEST)


@pytest.mark.parametrize("accuracy", [0.75, 0.8, 0.9])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_many_rows_that_are_as_right_as_they_are_sure(seed, accuracy):
    rng = np.random.default_rng(seed)
    probability = rng.uniform(0.3, 1.0, 300)
    is_right = rng.random(300) < probability
    trust = learn_trust(probability, np.ones(300), is_right=is_right, accuracy=accuracy)
    assert trust.confidence == naive_confidence(probability, is_right, accuracy)
    assert 0.3 < trust.confidence < 1


@pytest.mark.parametrize(("n_rows", "is_enough"), [(9, False), (10, True)])
def test_a_confidence_is_backed_by_ten_rows(n_rows, is_enough):
    right = np.full(n_rows, True)
    trust = learn_trust(np.ones(n_rows), np.ones(n_rows), is_right=right, accuracy=0.9)
    assert np.isfinite(trust.confidence) == is_enough


def test_both_bounds_count():
    probability, distance = np.array([0.5, 0.4, 0.9, 0.3]), np.array([2.0, 1.0, 2.1, 9.0])
    doubts = Trust(0.5, 2.0).doubts(probability, distance)
    assert in_words(doubts).tolist() == ["", "unsure", "far", "unsure far"]


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_all_or_none(share):
    is_right = np.full(20, bool(share))
    probability = np.linspace(0.8, 1, 20)
    trust = learn_trust(probability, np.ones(20), is_right=is_right, accuracy=0.9)
    assert (in_words(trust.doubts(probability, np.ones(20))) == "").mean() == share
