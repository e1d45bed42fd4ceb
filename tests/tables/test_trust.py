"""Which predictions are trusted: each reason to withhold all, and each doubt of a row."""

import numpy as np
import pytest

from ilspace.tables.agreement import Agreement
from ilspace.tables.trust import Trust, in_words, learn_trust

WELL = Agreement(0.9, 0.8, (0.5, 0.9), 0.72, 0.1, 1.0)
DISTANCES = np.arange(101.0)


def trust_of(agreement=WELL, *, n_members=2, counts=(40, 40), overlap=0.5, probability=0.9):
    return learn_trust(
        agreement,
        DISTANCES,
        n_members=n_members,
        counts=np.array(counts),
        overlap=overlap,
        probability=probability,
    )


def test_bounds():
    trust = trust_of(probability=0.75)
    assert trust == Trust(0.75, 99.0, (), ())  # one row in a hundred lies farther away


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"n_members": 1}, "one method alone has nobody who agrees or disagrees with it"),
        ({"counts": (9, 28)}, "a class is rare in the source: 9 of 37 rows"),
        ({"counts": (4, 13, 10)}, "a class is rare in the source: 4 of 27 rows"),
        ({"counts": (3, 3)}, "a class has fewer than 4 source rows"),
        ({"counts": (1, 99)}, "a class has fewer than 4 source rows"),
        ({"overlap": 0.49}, "the tables hardly overlap, even with other class frequencies"),
    ],
)
def test_each_reason_to_trust_nothing(changes, said):
    trust = trust_of(**changes)
    assert trust.withheld == (said,)
    doubts = trust.doubts(np.ones(3), np.zeros(3), np.zeros(3, int))
    assert in_words(doubts).tolist() == ["withheld"] * 3


@pytest.mark.parametrize("counts", [(10, 10_000), (9, 27), (4, 10, 10), (4, 4)])
def test_few_rows_or_a_rare_class_alone_are_no_reason(counts):
    assert trust_of(counts=counts).withheld == ()


def test_all_reasons_at_once():
    assert len(trust_of(n_members=1, counts=(1, 99), overlap=0.0).withheld) == 3


def test_each_doubt_of_a_row():
    probability, distance = np.array([0.9, 0.89, 1.0, 0.1]), np.array([99.0, 0, 99.1, 200])
    doubts = trust_of().doubts(probability, distance, np.array([0, 1, 0, 1]))
    assert in_words(doubts).tolist() == ["", "unsure", "far", "unsure far"]


def test_a_class_on_which_members_disagree_is_contested():
    trust = trust_of(Agreement(0.9, 0.8, (0.49, 0.5, 0.0), 0.72, 0.1, 1.0))
    assert trust.contested == (0, 2)
    doubts = trust.doubts(np.ones(3), np.zeros(3), np.arange(3))
    assert in_words(doubts).tolist() == ["contested", "", "contested"]
