"""Blocks of rows: who comes how often, and whose pairs they stand for."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import positive_definite

from ilspace.objective import SmoothHinge
from ilspace.pairs import AllPairs, BalancedBatches

SIZES = st.lists(st.integers(1, 30), min_size=1, max_size=6)


def labels(sizes, seed=0):
    """Codes of classes of given sizes, in random order, and two groups."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return codes, rng.integers(2, size=len(codes))


def drawn(sampler, n_batches, seed=0):
    return list(islice(sampler.draw(np.random.default_rng(seed)), n_batches))


@given(sizes=SIZES, batch_size=st.integers(2, 60), seed=st.integers(0, 99))
def test_every_batch_has_the_same_rows_of_each_class_and_group(sizes, batch_size, seed):
    codes, groups = labels(sizes, seed)
    sampler = BalancedBatches(codes, groups, batch_size=batch_size)
    for rows in drawn(sampler, 7, seed):
        np.testing.assert_array_equal(codes[rows], sampler.codes)
        np.testing.assert_array_equal(groups[rows], sampler.groups)
        assert len(set(rows.tolist())) == len(rows)
    order = np.lexsort([sampler.codes, sampler.groups])
    np.testing.assert_array_equal(order, np.arange(len(order)))


@given(sizes=SIZES, batch_size=st.integers(2, 60), n_batches=st.integers(1, 20))
def test_no_row_comes_again_before_all_others_of_its_stratum_have_come(
    sizes, batch_size, n_batches
):
    codes, groups = labels(sizes)
    sampler = BalancedBatches(codes, groups, batch_size=batch_size)
    times = np.zeros(len(codes), dtype=int)
    for rows in drawn(sampler, n_batches):
        times[rows] += 1
    for stratum in {*zip(codes.tolist(), groups.tolist(), strict=True)}:
        within = times[(codes == stratum[0]) & (groups == stratum[1])]
        assert np.ptp(within) <= 1


@given(sizes=SIZES, batch_size=st.integers(2, 200))
def test_classes_are_even_as_far_as_they_have_rows(sizes, batch_size):
    codes, _ = labels(sizes)
    counts = np.bincount(BalancedBatches(codes, batch_size=batch_size).codes)
    used_up = counts == sizes
    assert np.all(counts >= np.minimum(sizes, 2))
    if not used_up.all():
        # those with rows left have equally many, no fewer than any that was used up
        assert np.ptp(counts[~used_up]) == 0
        assert counts[~used_up][0] >= counts.max()
        assert abs(counts.sum() - batch_size) < len(sizes) or counts[~used_up][0] == 2
    assert used_up.all() or batch_size < sum(sizes)


@given(sizes=SIZES, batch_size=st.integers(2, 60))
def test_a_row_weighs_what_it_stands_for(sizes, batch_size):
    codes, groups = labels(sizes)
    sampler = BalancedBatches(codes, groups, batch_size=batch_size)
    key, batch_key = 2 * codes + groups, 2 * sampler.codes + sampler.groups
    stands_for = np.bincount(key)[batch_key] / np.bincount(batch_key)[batch_key]
    if sampler.weights is None:
        np.testing.assert_allclose(stands_for, stands_for[0])
    else:
        np.testing.assert_allclose(sampler.weights, stands_for / stands_for.max())
        assert np.ptp(sampler.weights) > 0


def estimates(sizes, batch_size, *, weighted=True, n_batches=300):
    """Pair sums of many batches, and that of all rows: value and metric gradient in one vector."""
    codes, groups = labels(sizes)
    rng = np.random.default_rng(1)
    # classes of different spread, so that it matters how often each comes
    latent = rng.standard_normal((len(codes), 3)) * (0.3 + codes[:, None]) + codes[:, None]
    metric, hinge = positive_definite(rng, 3), SmoothHinge(0.7)

    def summed(pairs, rows):
        total = pairs.sum(hinge, rows, metric)
        return np.concatenate([[total.value], total.metric_gradient[np.triu_indices(3)]])

    sampler = BalancedBatches(codes, groups, batch_size=batch_size)
    pairs = AllPairs(sampler.codes, sampler.weights if weighted else None, reference=latent)
    met = np.array([summed(pairs, latent[rows]) for rows in drawn(sampler, n_batches)])
    return met, summed(AllPairs(codes, reference=latent), latent), sampler.weights


def test_mean_over_batches_is_the_sum_over_all_pairs():
    met, wanted, _ = estimates((120, 120, 120), 60)
    error = np.std(met, axis=0) / np.sqrt(len(met))
    assert np.all(np.abs(met.mean(axis=0) - wanted) <= 4 * error + 0.005 * np.abs(wanted))


def test_weights_make_up_for_classes_of_different_sizes():
    met, wanted, weights = estimates((40, 120, 400), 90)
    assert weights is not None
    error = np.std(met, axis=0) / np.sqrt(len(met))
    # similar pairs of a class weigh (1 - 1/m) / (1 - 1/n) too little: within a few percent
    assert np.all(np.abs(met.mean(axis=0) - wanted) <= 4 * error + 0.03 * np.abs(wanted))
    without, _, _ = estimates((40, 120, 400), 90, weighted=False)
    assert abs(without[:, 0].mean() / wanted[0] - 1) > 0.1


def test_one_seed_gives_one_stream():
    codes, groups = labels((20, 30, 5))
    sampler = BalancedBatches(codes, groups, batch_size=12)
    first, again, other = (drawn(sampler, 9, seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_batch_of_all_rows_is_all_rows():
    codes, _ = labels((3, 4))
    sampler = BalancedBatches(codes, batch_size=7)
    assert sampler.weights is None
    for rows in drawn(sampler, 3):
        np.testing.assert_array_equal(np.sort(rows), np.arange(7))


@pytest.mark.parametrize("batch_size", [2, 40])
def test_no_class_is_left_out_of_a_small_batch(batch_size):
    sampler = BalancedBatches(np.arange(200) % 50, batch_size=batch_size)
    np.testing.assert_array_equal(np.bincount(sampler.codes), 2)
