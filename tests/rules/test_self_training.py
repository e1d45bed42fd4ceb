"""Self-training: which predictions join the labels, with which weights, and when it is undone."""

from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilspace.rules.ridge import KernelExpansion, LandmarkRidge, laplacian_ridge, unit_rows
from ilspace.rules.self_training import (
    Prediction,
    class_targets,
    class_weights,
    empties_a_class,
    held_out_inverse_temperature,
    selective_ridge,
    surest,
)

NOTHING: Any = None


# -- selection -----------------------------------------------------------------------------------


def surest_by_loops(margins, codes, share):
    """The same, one class after the other, with exact arithmetic."""
    chosen = []
    for code in set(codes):
        members = [i for i, each in enumerate(codes) if each == code]
        members.sort(key=lambda i: (-margins[i], i))
        chosen += members[: ceil(share * len(members))]
    return sorted(chosen)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=40),
    st.integers(1, 12).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
)
@settings(max_examples=150, deadline=None)
def test_surest_is_that_of_loops(rows, share):
    codes = np.array([code for code, _ in rows], dtype=int)
    margins = np.array([margin / 7 for _, margin in rows])  # few values, so many ties
    met = surest(margins, codes, share[0] / share[1])
    assert met.tolist() == surest_by_loops(margins, codes.tolist(), Fraction(*share))


@pytest.mark.parametrize(
    ("count", "share", "wanted"),
    [
        (9, 1 / 3, 3),
        (9, 2 / 3, 6),
        (3, 1 / 3, 1),
        (10, 1 / 3, 4),
        (1, 1 / 3, 1),
        (1, 1e-9, 1),
        (7, 0.0, 0),
        (7, 1.0, 7),
        (100, 0.07, 7),  # 100 * 0.07 is a little more than 7
        (30_000, 1 / 3, 10_000),
        (49, 1 / 49, 1),
    ],
)
def test_shares_are_rounded_up_and_no_more(count, share, wanted):
    margins = np.linspace(1, 0, count)
    np.testing.assert_array_equal(surest(margins, np.zeros(count, int), share), np.arange(wanted))


def test_each_class_has_its_share_however_unsure():
    margins = np.array([0.9, 0.8, 0.7, 0.6, 0.01, 0.02])
    codes = np.array([0, 0, 0, 0, 5, 5])  # nobody predicts classes 1 to 4
    assert surest(margins, codes, 0.5).tolist() == [0, 1, 5]


def test_of_equally_sure_rows_the_first_are_selected():
    assert surest(np.zeros(6), np.array([1, 0, 1, 0, 1, 0]), 1 / 3).tolist() == [0, 1]


def test_nothing_to_select_from():
    assert surest(np.zeros(0), np.zeros(0, int), 1.0).tolist() == []


def test_margins_are_the_lead_of_the_best_class():
    scores = np.array([[0.1, 0.9, 0.4], [-1.0, -3.0, -1.5], [2.0, 2.0, 0.0]])
    found = Prediction(NOTHING, scores.argmax(axis=1), scores)
    np.testing.assert_allclose(found.margins, [0.5, 0.5, 0.0], atol=1e-15)
    np.testing.assert_allclose(Prediction(NOTHING, NOTHING, scores[:, :2]).margins, [0.8, 2.0, 0])


# -- collapse ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "n_classes", "wanted"),
    [
        ([0, 1, 2], [0, 1, 1], 3, True),
        ([0, 1, 2], [2, 0, 1], 3, False),
        ([0, 1, 1], [0, 0, 0], 2, True),
        ([0, 0, 0], [0, 0, 0], 2, False),  # the other class had none
        ([0, 0, 0], [1, 1, 1], 2, True),
        ([], [], 3, False),
    ],
)
def test_a_class_that_loses_all_predictions(before, after, n_classes, wanted):
    before, after = (np.array(each, dtype=int) for each in (before, after))
    met = empties_a_class(before, after, n_classes)
    assert met is wanted


@pytest.mark.parametrize(("n_rare", "wanted"), [(9, False), (10, True), (11, True)])
def test_a_class_that_had_less_than_a_tenth_of_its_share_may_vanish(n_rare, wanted):
    # of 300 rows in 3 classes an equal share is 100
    before = np.r_[np.zeros(n_rare, int), np.arange(300 - n_rare) % 2 + 1]
    after = np.where(before == 0, 1, before)
    assert empties_a_class(before, after, 3) is wanted


# -- weights and targets -------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(-1, 4), st.floats(0.01, 100)), min_size=1, max_size=30).filter(
        lambda rows: any(code >= 0 for code, _ in rows)
    )
)
@settings(max_examples=80, deadline=None)
def test_classes_weigh_the_same_and_the_total_stays(rows):
    codes, weights = (np.array(each) for each in zip(*rows, strict=True))
    met = class_weights(codes, weights, 6)
    present = np.unique(codes[codes >= 0])
    total = weights[codes >= 0].sum()
    for code in present:
        members = codes == code
        assert met[members].sum() == pytest.approx(total / len(present))
        # within a class the proportions stay
        ratios = met[members] / weights[members]
        np.testing.assert_allclose(ratios, ratios[0])
    assert (met[codes < 0] == 0).all()


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_targets_sum_to_zero(n_classes):
    codes = np.r_[np.arange(n_classes), -1]
    targets = class_targets(codes, n_classes)
    assert targets.shape == (n_classes + 1, n_classes)
    np.testing.assert_allclose(targets[:-1].sum(axis=1), 0, atol=1e-15)
    assert targets[:-1].argmax(axis=1).tolist() == list(range(n_classes))
    np.testing.assert_array_equal(np.diag(targets), 1.0)


# -- steps ---------------------------------------------------------------------------------------


class Scripted:
    """A ridge that gives scores that were written before, and remembers what it was asked."""

    def __init__(self, *scores):
        self.scores = [np.asarray(each, dtype=float) for each in scores]
        self.weights: list[np.ndarray] = []
        self.targets: list[np.ndarray] = []

    def fit(self, weights, targets):
        step = len(self.weights)
        self.weights.append(weights.copy())
        self.targets.append(targets.copy())
        expansion = KernelExpansion(np.full((1, 1), step), np.zeros((1, targets.shape[1])), 1.0)
        return expansion, self.scores[min(step, len(self.scores) - 1)]

    def learned_from(self, step):
        """Rows of positive weight in a step, and the classes that were their targets."""
        rows = np.flatnonzero(self.weights[step] > 0)
        return dict(
            zip(rows.tolist(), self.targets[step][rows].argmax(axis=1).tolist(), strict=True)
        )


def scores_of(codes, margins):
    """Scores of two classes that predict given classes with given margins."""
    lead = np.asarray(margins) * np.where(np.asarray(codes) == 1, 1, -1)
    return np.stack([-lead / 2, lead / 2], axis=1)


KNOWN = np.array([0, 1, -1, -1, -1, -1, -1, -1])


def test_shares_grow_and_rows_are_chosen_anew():
    first = scores_of([1, 0, 0, 0, 0, 1, 1, 1], [9, 9, 3, 2, 1, 3, 2, 1])
    second = scores_of([1, 0, 0, 0, 0, 1, 1, 1], [9, 9, 1, 2, 3, 1, 2, 3])
    third = scores_of([1, 0, 1, 0, 0, 0, 1, 1], [9, 9, 1, 2, 3, 1, 2, 3])
    last = scores_of([1, 0, 0, 1, 0, 1, 0, 1], [9, 9, 1, 2, 3, 1, 2, 3])
    ridge = Scripted(first, second, third, last)
    found = selective_ridge(ridge, KNOWN, np.ones(8), 2)
    known = {0: 0, 1: 1}  # whatever the scores say of them
    assert ridge.learned_from(0) == known
    assert ridge.learned_from(1) == known | {2: 0, 5: 1}
    assert ridge.learned_from(2) == known | {4: 0, 3: 0, 7: 1, 6: 1}  # rows 2 and 5 are out again
    assert ridge.learned_from(3) == known | {2: 1, 3: 0, 4: 0, 5: 0, 6: 1, 7: 1}
    assert len(ridge.weights) == 4
    assert found.codes.tolist() == [0, 1, 0, 1, 0, 1, 0, 1]
    assert found.scores is ridge.scores[3]
    assert found.expansion.landmarks.item() == 3
    assert KNOWN.tolist() == [0, 1, -1, -1, -1, -1, -1, -1]


@pytest.mark.parametrize("n_steps", [1, 2, 5])
def test_the_shares_of_other_numbers_of_steps(n_steps):
    codes = np.r_[0, 1, np.full(60, -1)]
    ridge = Scripted(scores_of(np.arange(62) % 2, np.arange(62.0)))
    selective_ridge(ridge, codes, np.ones(62), 2, n_steps=n_steps)
    counts = [len(ridge.learned_from(step)) - 2 for step in range(n_steps + 1)]
    assert counts == [2 * ceil(Fraction(30 * step, n_steps)) for step in range(n_steps + 1)]


def test_selected_rows_have_their_own_weights_and_classes_the_same():
    codes = np.array([0, 0, 0, 1, -1, -1])
    weights = np.array([1.0, 1.0, 2.0, 3.0, 0.5, 0.5])
    ridge = Scripted(scores_of([0, 0, 0, 1, 1, 1], np.ones(6)))
    selective_ridge(ridge, codes, weights, 2, n_steps=1)
    np.testing.assert_allclose(ridge.weights[0], [0.875, 0.875, 1.75, 3.5, 0, 0])
    np.testing.assert_allclose(ridge.weights[1], [1, 1, 2, 3, 0.5, 0.5])
    np.testing.assert_array_equal(ridge.targets[0][:4], [[1, -1], [1, -1], [1, -1], [-1, 1]])


def test_known_classes_never_change():
    wrong = scores_of([1, 0, 0, 1, 0, 1, 0, 1], np.full(8, 5.0))
    ridge = Scripted(wrong)
    found = selective_ridge(ridge, KNOWN, np.ones(8), 2)
    assert found.codes[:2].tolist() == [0, 1]
    for step in range(4):
        assert [ridge.learned_from(step)[row] for row in (0, 1)] == [0, 1]


@pytest.mark.parametrize(("codes", "n_steps"), [([0, 1, 1, 0], 3), ([0, 1, -1, -1], 0)])
def test_one_fit_where_nothing_can_be_selected(codes, n_steps):
    ridge = Scripted(scores_of([1, 0, 0, 1], np.ones(4)))
    found = selective_ridge(ridge, np.array(codes), np.ones(4), 2, n_steps=n_steps)
    assert len(ridge.weights) == 1
    predicted = [1, 0, 0, 1]
    assert found.codes.tolist() == [
        p if c < 0 else c for c, p in zip(codes, predicted, strict=True)
    ]


@pytest.mark.parametrize("bad", [1, 2, 3])
def test_a_step_that_empties_a_class_is_not_taken(bad):
    good = scores_of([0, 1, 0, 0, 0, 1, 1, 1], np.arange(8.0))
    ridge = Scripted(*[good] * bad, scores_of(np.ones(8), np.ones(8)), good)
    found = selective_ridge(ridge, KNOWN, np.ones(8), 2)
    assert len(ridge.weights) == bad + 1  # none after the collapse
    assert found.expansion.landmarks.item() == bad - 1
    assert found.codes.tolist() == [0, 1, 0, 0, 0, 1, 1, 1]


def test_a_collapse_at_once_is_all_there_is():
    ridge = Scripted(scores_of(np.ones(8), np.ones(8)))
    found = selective_ridge(ridge, KNOWN, np.ones(8), 2)
    assert found.codes.tolist() == [0, 1, 1, 1, 1, 1, 1, 1]
    assert len(ridge.weights) == 4


def test_known_classes_do_not_count_against_a_collapse():
    # class 0 keeps a known row, but none of the predictions
    good = scores_of([0, 1, 0, 0, 0, 1, 1, 1], np.arange(8.0))
    bad = scores_of([0, 1, 1, 1, 1, 1, 1, 1], np.arange(8.0))
    found = selective_ridge(Scripted(good, bad), KNOWN, np.ones(8), 2)
    assert found.scores.tolist() == good.tolist()


def test_two_chains_are_told_apart_by_their_own_predictions():
    # two chains of rows, one label each: only neighbours know where a chain leads
    angles = np.linspace(0, 1.2, 60)
    one = np.stack([np.cos(angles), np.sin(angles), np.full(60, 0.3)], axis=1)
    rows = unit_rows(np.concatenate([one, one * [1, 1, -1]]))
    truth, codes = np.repeat([0, 1], 60), np.full(120, -1)
    codes[[0, 119]] = 0, 1
    for n_landmarks in (120, 40):
        ridge = laplacian_ridge(rows, n_landmarks, np.random.default_rng(0))
        assert isinstance(ridge, LandmarkRidge) == (n_landmarks == 40)
        alone = selective_ridge(ridge, codes, np.ones(120), 2, n_steps=0)
        found = selective_ridge(ridge, codes, np.ones(120), 2, n_steps=6)
        assert np.mean(found.codes == truth) > np.mean(alone.codes == truth) + 0.1


# -- inverse temperature -------------------------------------------------------------------------


@pytest.mark.parametrize(("n_right", "size"), [(8, 1.0), (7, 0.25), (10, 3.0)])
def test_inverse_temperature_is_that_of_the_share_of_right_scores(n_right, size):
    # 30 known rows, of which 10 are hidden, all with the same margin; n_right of these are right
    codes = np.r_[np.zeros(15, int), np.ones(15, int), np.full(5, -1)]
    hidden = np.flatnonzero((np.arange(35) % 15 % 3 == 2) & (codes >= 0))
    said = codes.copy()
    said[hidden[n_right:]] = 1 - said[hidden[n_right:]]
    met = held_out_inverse_temperature(
        Scripted(scores_of(said, np.full(35, size))), codes, np.ones(35), 2
    )
    # with one row of both classes, half each, the least log-loss is at this probability
    share = (n_right + 0.5) / 11
    assert met == pytest.approx(np.log(share / (1 - share)) / size, rel=1e-3)


def test_a_third_of_each_class_is_hidden_and_then_predicted():
    codes = np.array([2, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, -1, 2])
    ridge = Scripted(np.eye(3)[[2, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 2]])
    held_out_inverse_temperature(ridge, codes, np.ones(13), 3)
    hidden = {4, 9, 6}  # the third and the sixth of class 0, the third of class 1
    assert set(ridge.learned_from(0)) == set(range(13)) - hidden - {11}
    # the last step learns from all predictions, as for target rows
    assert ridge.learned_from(3) == dict(enumerate([2, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 2]))
    assert len(ridge.weights) == 4


def test_hidden_rows_weigh_as_much_as_selected_ones():
    codes = np.arange(12) % 2
    ridge = Scripted(np.eye(2)[codes])
    held_out_inverse_temperature(
        ridge, codes, np.full(12, 3.0), 2, selected_weights=np.full(12, 0.5)
    )
    hidden = [4, 5, 10, 11]
    known = [each for each in range(12) if each not in hidden]
    last = ridge.weights[-1]
    np.testing.assert_allclose(last[hidden] / last[known[0]], 1 / 6)
    np.testing.assert_allclose(last[known], last[known[0]])


@pytest.mark.parametrize("counts", [(1, 1), (2, 2), (2, 1, 2)])
def test_the_only_rows_of_a_class_are_never_hidden(counts):
    codes = np.r_[np.repeat(np.arange(len(counts)), counts), -1, -1]
    ridge = Scripted(np.zeros((len(codes), len(counts))))
    assert held_out_inverse_temperature(ridge, codes, np.ones(len(codes)), len(counts)) == 4.0
    assert ridge.weights == []


def test_inverse_temperature_has_bounds():
    codes = np.repeat([0, 1], 9)
    wrong = held_out_inverse_temperature(
        Scripted(scores_of(1 - codes, np.ones(18))), codes, np.ones(18), 2
    )
    right = held_out_inverse_temperature(
        Scripted(scores_of(codes, np.full(18, 1e-3))), codes, np.ones(18), 2
    )
    assert 0 < wrong < 0.02
    assert 50 < right < 55
