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
