"""Measures of shift, against loops over all pairs and cases with known answers."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from ilspace.tables import shift
from ilspace.tables.shift import a_distance, covariance_shift, measure_shift, mmd_test


def rows(seed, n, p=3, move=0.0):
    return np.random.default_rng(seed).normal(size=(n, p)) + move


def naive_mmd(source, target):
    width = float(np.median(pdist(np.concatenate([source, target]), "sqeuclidean")))

    def mean(one, other):
        total = 0.0
        for x in one:
            for y in other:
                total += math.exp(-sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / width)
        return total / (len(one) * len(other))

    return mean(source, source) + mean(target, target) - 2 * mean(source, target)


def test_mmd_is_that_of_all_pairs():
    source, target = rows(0, 12), rows(1, 9, move=0.5)
    met, _ = mmd_test(source, target, rng=np.random.default_rng(0))
    assert met == pytest.approx(naive_mmd(source, target), rel=1e-10)


def test_the_p_value_counts_divisions_that_differ_as_much(monkeypatch):
    monkeypatch.setattr(shift, "N_PERMUTATIONS", 40)
    source, target = rows(0, 6), rows(1, 5, move=0.8)
    _, p_value = mmd_test(source, target, rng=np.random.default_rng(7))
    rng, both = np.random.default_rng(7), np.concatenate([source, target])
    signs = np.repeat([1 / 6, -1 / 5], [6, 5])
    true, hits = naive_mmd(source, target), 1
    for _ in range(40):
        drawn = rng.permutation(signs)
        hits += naive_mmd(both[drawn > 0], both[drawn < 0]) >= true - 1e-12
    assert p_value == hits / 41


def test_equal_distributions_do_not_differ_and_moved_ones_do():
    rng = np.random.default_rng(0)
    same = [mmd_test(rows(i, 40), rows(i + 100, 30), rng=rng)[1] for i in range(20)]
    assert np.mean(np.array(same) < 0.05) <= 0.2
    assert 0.2 < np.mean(same) < 0.8  # uniform, if there is no difference
    assert measure_shift(rows(0, 60), rows(1, 50, move=2.0)).mmd_p_value == 1 / 1000


def test_stein_of_scaled_rows_has_a_closed_form():
    base = rows(0, 200)
    base = (base - base.mean(axis=0)) / base.std(axis=0)
    whiten = np.linalg.inv(np.linalg.cholesky(np.cov(base.T, bias=True)))
    white = base @ whiten.T  # covariance is the identity, to rounding
    met = covariance_shift(white, 3 * white + 5)
    # log det((I + 9 I) / 2) - log det(9 I) / 2, a dimension; the shrinkage scales with each
    assert met == pytest.approx(math.log(5) - math.log(9) / 2, rel=1e-9)
    assert covariance_shift(white, white[::-1] + 7) == pytest.approx(0, abs=1e-12)


def test_a_distance_from_nothing_to_everything():
    assert a_distance(rows(0, 80), rows(1, 90, move=9.0)) == 2.0
    assert a_distance(rows(0, 400), rows(1, 400)) < 0.3
    assert a_distance(rows(0, 1), rows(1, 5)) == 0.0


@pytest.mark.parametrize("n", [2, 3])
def test_few_rows_equal_rows_and_many_columns_are_no_trouble(n):
    for source, target in (
        (rows(0, n, p=40), rows(1, n, p=40)),
        (np.ones((n, 3)), np.ones((n, 3))),
        (np.ones((n, 3)), rows(1, 30)),
    ):
        met = measure_shift(source, target)
        assert all(math.isfinite(each) for each in vars(met).values())
        assert met.stein >= 0
        assert 0 <= met.a_distance <= 2
    assert measure_shift(np.ones((n, 3)), np.ones((n, 3))).mmd_p_value == 1


def test_same_seed_same_numbers():
    source, target = rows(0, 700), rows(1, 800, move=0.1)
    assert measure_shift(source, target) == measure_shift(source, target)
    assert measure_shift(source, target) != measure_shift(source, target, seed=1)


def test_stein_of_wide_rows_is_found_in_their_span(monkeypatch):
    rng = np.random.default_rng(0)
    narrow = rng.normal(size=(15, 6)), rng.normal(size=(11, 6)) @ np.diag(np.arange(1.0, 7))
    axes = np.linalg.qr(rng.normal(size=(3000, 6)))[0]
    expected = covariance_shift(*narrow)
    sizes = []
    eigh = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda a: sizes.append(len(a)) or eigh(a))
    met = covariance_shift(*(rows @ axes.T for rows in narrow))
    assert met == pytest.approx(expected, rel=1e-9)
    assert max(sizes, default=0) <= 26
