"""Bounds of trust, against a search over all of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from ilspace.tables.trust import FARTHEST, FEWEST_ROWS, Trust, learn_trust

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
            return threshold
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
    trust = Trust(0.5, 2.0)
    probability, distance = np.array([0.5, 0.4, 0.9, 0.9]), np.array([2.0, 1.0, 2.1, 0.0])
    assert trust(probability, distance).tolist() == [True, False, False, True]


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_all_or_none(share):
    is_right = np.full(20, bool(share))
    trust = learn_trust(np.linspace(0, 1, 20), np.ones(20), is_right=is_right, accuracy=0.9)
    assert trust(np.linspace(0, 1, 20), np.ones(20)).mean() == share
