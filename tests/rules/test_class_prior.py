"""Shares of the classes in the target: counted, or estimated from rows without a label."""

import numpy as np
import pytest

from ilspace.rules.class_prior import (
    counted_class_prior,
    estimate_class_prior,
    in_source_scale,
    mixture_of_classes,
)

MEANS = np.random.default_rng(1).normal(size=(3, 4)) * 4


def drawn(counts, seed, d=4):
    rng, codes = np.random.default_rng(seed), np.repeat(np.arange(len(counts)), counts)
    return rng.normal(size=(len(codes), d)) + MEANS[codes, :d], codes


def estimate(X, codes, Xt, known=None, n_classes=3, **options):
    known = np.full(len(Xt), -1) if known is None else known
    rng = np.random.default_rng(0)
    return estimate_class_prior(X, codes, Xt, known, n_classes, rng=rng, **options)


X, Y = drawn([100, 100, 100], 0)
XT, YT = drawn([40, 200, 60], 2)
TRUTH = np.array([40, 200, 60]) / 300


def total_variation(shares, others):
    return np.abs(shares - others).sum() / 2


def test_a_shift_of_shares_is_found():
    found = estimate(X, Y, XT)
    assert not found.counted
    assert found.overlap > 0.95
    assert total_variation(found.shares, TRUTH) < 0.08
    assert (found.low <= TRUTH).all()
    assert (found.high >= TRUTH).all()
    assert found.shares.sum() == pytest.approx(1)
    assert (found.shares > 0).all()


def test_a_rule_that_collapsed_is_not_believed():
    elsewhere = 4 * XT + 15  # other units: every prediction is of one class or two
    found = estimate(X, Y, elsewhere)
    assert found.overlap == 0
    np.testing.assert_allclose(found.shares, 1 / 3)
    assert (found.high - found.low).max() > 0.5


def test_a_small_sample_of_a_mixture_is_believed():
    few = np.random.default_rng(0).permutation(300)[:3]
    assert estimate(X, Y, XT[few]).overlap == 1


def test_shares_between_those_of_the_source_and_of_the_rule():
    shares = [estimate(X, Y, XT + step).overlap for step in (0.0, 1.0, 2.0, 4.0)]
    assert all(after <= before for before, after in zip(shares, shares[1:], strict=False))
    assert 0 < shares[1] < 1


def test_classes_in_another_order():
    order = np.array([2, 0, 1])
    found, permuted = estimate(X, Y, XT), estimate(X, order[Y], XT)
    for name in ("shares", "low", "high"):
        expected = getattr(found, name)
        np.testing.assert_allclose(getattr(permuted, name)[order], expected, atol=1e-3)


def test_random_labels_are_counted():
    known = np.full(300, -1)
    known[::10] = YT[::10]
    counts = np.bincount(known[known >= 0], minlength=3)
    found = estimate(X[:, :2], Y, XT, known)  # which needs no columns in common
    assert found.counted
    assert found.overlap == 1
    np.testing.assert_allclose(found.shares, (counts + 0.5) / 31.5)
    assert (found.low < counts / 30).all()
    assert (counts / 30 < found.high).all()
    more = counted_class_prior(100 * counts)
    assert more is not None
    assert (more.high - more.low < (found.high - found.low) / 5).all()


@pytest.mark.parametrize("counts", [[9, 5, 5], [7, 7, 7], [0, 0, 0]])
def test_few_labels_and_labels_chosen_by_class_are_not_counted(counts):
    assert counted_class_prior(np.array(counts)) is None


def test_a_target_that_is_known_is_counted_however_small():
    known = np.arange(6) % 3
    assert estimate(X, Y, XT[:6], known).counted


def test_an_interval_of_counts_holds_what_it_says():
    rng, truth = np.random.default_rng(0), np.array([0.1, 0.3, 0.6])
    counts = rng.multinomial(50, truth, size=400)
    found = [counted_class_prior(each) for each in counts]
    held = [(each.low <= truth) & (truth <= each.high) for each in found if each is not None]
    np.testing.assert_allclose(np.mean(held, axis=0), 0.95, atol=0.04)


def test_other_columns_need_labels():
    with pytest.raises(ValueError, match="20 randomly chosen target labels.*4 and 2 columns"):
        estimate(X, Y, XT[:, :2])


def test_weights_count_as_rows():
    weights = np.where(Y == 0, 3.0, 1.0)
    twice = np.repeat(np.arange(300), weights.astype(int))
    found, expected = estimate(X, Y, XT, weights=weights), estimate(X[twice], Y[twice], XT)
    np.testing.assert_allclose(found.shares, expected.shares, atol=0.01)


def test_many_rows_are_sampled():
    many, codes = drawn([5000, 5000, 6], 3)
    found = estimate(many, codes, drawn([8000, 1000, 1000], 4)[0])
    assert total_variation(found.shares, np.array([0.8, 0.1, 0.1])) < 0.15


def test_many_columns_and_a_class_without_rows():
    rng = np.random.default_rng(0)
    wide, target = (np.c_[each, rng.normal(size=(300, 146))] for each in (X, XT))
    found = estimate(
        *in_source_scale(wide, target)[:1], Y, in_source_scale(wide, target)[1], None, 4
    )
    assert found.shares.shape == (4,)
    assert found.shares[3] == 0
    assert found.shares.argmax() == 1


def test_a_mixture_of_the_classes_is_recognised():
    rng = np.random.default_rng(0)
    chosen = np.concatenate(
        [rng.permutation(100)[:n] + 100 * c for c, n in enumerate((20, 90, 40))]
    )
    shares, unexplained, noise = mixture_of_classes(X, Y, X[chosen], rng=rng)
    np.testing.assert_allclose(shares, np.array([20, 90, 40]) / 150, atol=0.05)
    assert unexplained < noise
    _, elsewhere, noise = mixture_of_classes(X, Y, X[chosen] + 20, rng=rng)
    assert elsewhere - noise > 0.9


def test_scaled_as_the_source_says():
    constant = np.c_[X, np.full(300, 7.0)]
    found, target = in_source_scale(constant, np.c_[XT, np.full(300, 9.0)])
    np.testing.assert_allclose(found[:, :4].std(axis=0), 1)
    np.testing.assert_allclose(target[:, :4] * X.std(axis=0) + X.mean(axis=0), XT)
    assert not target[:, 4].any()


def known_of_each_class(n):
    known = np.full(300, -1)
    for code in range(3):
        known[np.flatnonzero(code == YT)[:n]] = code
    return known


def test_labels_that_are_predicted_right_halve_the_doubt():
    moved = XT + 1.0
    doubts = [1 - estimate(X, Y, moved, known_of_each_class(n)).overlap for n in (0, 1, 2, 3)]
    assert doubts[0] > 0.1
    # unlabelled rows are fewer each time, so that the discrepancy is not quite the same
    np.testing.assert_allclose(doubts, doubts[0] * 0.5 ** np.arange(4), rtol=0.15)


def test_labels_do_not_speak_for_a_rule_that_collapsed():
    alike = 15 + 1e-3 * XT  # far away, and all in one place: all are of one class
    found = estimate(X, Y, alike, known_of_each_class(3))
    assert found.overlap == 0


def test_labels_of_some_classes_do_not_speak_for_the_rule():
    moved = XT + 1.0
    known = known_of_each_class(3)
    known[known == 1] = -1
    found, without = estimate(X, Y, moved, known), estimate(X, Y, moved)
    assert found.overlap == pytest.approx(without.overlap, rel=0.15)


def test_labels_in_another_order():
    known, order = known_of_each_class(4), np.random.default_rng(5).permutation(300)
    found, permuted = (
        estimate(X, Y, XT[rows] + 1.0, known[rows]) for rows in (np.arange(300), order)
    )
    np.testing.assert_allclose(permuted.shares, found.shares, atol=1e-3)
