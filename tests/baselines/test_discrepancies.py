"""Distances between distributions: values, gradients and laws."""

import numpy as np
import pytest
from laws.taylor import taylor_order

from ilspace.baselines._discrepancies import (
    DISCREPANCIES,
    gaussian_mmd,
    hellinger,
    polynomial_mmd,
)
from ilspace.baselines.dme import scatter_within, with_clusters

TWO = pytest.approx(2.0, abs=0.1)


def problem(seed=0, *, n=7, m=9, d=5, p=2):
    rng = np.random.default_rng(seed)
    source, target = rng.standard_normal((n, d)), rng.standard_normal((m, d)) * 1.3 + 0.4
    return source, target, np.linalg.qr(rng.standard_normal((d, p)))[0]


def naive_mmd(source, target, W, kernel):
    """The norm of the difference of two means, expanded, pair by pair."""
    S, T = source @ W, target @ W

    def mean(first, second):
        return sum(kernel(a, b) for a in first for b in second) / len(first) / len(second)

    return mean(S, S) - 2 * mean(S, T) + mean(T, T)


def naive_hellinger(source, target, W, width):
    S, T = source @ W, target @ W

    def density(z, rows):  # with its constant, which must not matter
        constant = (np.pi * width) ** (-W.shape[1] / 2)
        return constant * sum(np.exp(-np.sum((z - row) ** 2) / width) for row in rows) / len(rows)

    total = 0.0
    for rows in (S, T):
        for z in rows:
            share = density(z, S) / (density(z, S) + density(z, T))
            total += (np.sqrt(share) - np.sqrt(1 - share)) ** 2 / len(rows)
    return total


def test_gaussian_mmd_is_the_naive_sum():
    source, target, W = problem()
    expected = naive_mmd(source, target, W, lambda a, b: np.exp(-np.sum((a - b) ** 2) / 1.7))
    assert gaussian_mmd(source, target, 1.7)(W)[0] == pytest.approx(expected)


def test_polynomial_mmd_is_the_naive_sum():
    source, target, W = problem()
    expected = naive_mmd(source, target, W, lambda a, b: (1 + a @ b / 1.7) ** 2)
    assert polynomial_mmd(source, target, 1.7)(W)[0] == pytest.approx(expected)


def test_hellinger_is_the_naive_sum():
    source, target, W = problem()
    expected = naive_hellinger(source, target, W, 1.7)
    assert hellinger(source, target, 1.7)(W)[0] == pytest.approx(expected)


def test_distances_of_two_gaussians_approach_their_closed_forms():
    rng = np.random.default_rng(1)
    source, target = rng.standard_normal((900, 1)), rng.standard_normal((800, 1)) + 1.5
    W = np.eye(1)
    # E exp(-x²/σ) for x of N(μ, 2) is (1 + 4/σ)^(-1/2) exp(-μ²/(σ + 4))
    width = 2.0
    closed = 2 * (1 + 4 / width) ** -0.5 * (1 - np.exp(-(1.5**2) / (width + 4)))
    assert gaussian_mmd(source, target, width)(W)[0] == pytest.approx(closed, rel=0.05)
    # Hellinger: 2 (1 - exp(-μ²/8)), where the densities are hardly smoothed
    closed = 2 * (1 - np.exp(-(1.5**2) / 8))
    assert hellinger(source, target, 0.05)(W)[0] == pytest.approx(closed, rel=0.1)


@pytest.mark.parametrize("name", DISCREPANCIES)
@pytest.mark.parametrize("clusters", [0.0, 0.7])
def test_gradients(name, clusters):
    source, target, W = problem(2)
    objective = DISCREPANCIES[name](source, target, 2.3)
    if clusters:
        objective = with_clusters(objective, scatter_within(source, np.arange(7) % 2), clusters)
    rng = np.random.default_rng(3)
    directions = rng.standard_normal((3, *W.shape))
    slopes = np.array([np.sum(objective(W)[1] * u) for u in directions])

    def along(t):
        return np.array([objective(W + t * u)[0] for u in directions])

    assert taylor_order(along, slopes) == TWO
    assert taylor_order(along, 2 * slopes) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("name", DISCREPANCIES)
def test_laws_of_the_distances(name):
    source, target, W = problem(4)
    make = DISCREPANCIES[name]
    value, gradient = make(source, target, 1.1)(W)
    assert value > 0
    assert make(target, source, 1.1)(W)[0] == pytest.approx(value)
    turn = np.linalg.qr(np.random.default_rng(5).standard_normal((2, 2)))[0]
    turned, turned_gradient = make(source, target, 1.1)(W @ turn)
    assert turned == pytest.approx(value)
    np.testing.assert_allclose(turned_gradient, gradient @ turn, atol=1e-12)
    twice = np.concatenate([source, source])  # as many equal rows more are the same distribution
    same, flat = make(source, twice, 1.1)(W)
    assert same == pytest.approx(0, abs=1e-14)
    np.testing.assert_allclose(flat, 0, atol=1e-12)


@pytest.mark.parametrize("name", ["mmd", "hellinger"])
def test_distances_do_not_see_a_common_shift(name):
    source, target, W = problem(6)
    value = DISCREPANCIES[name](source, target, 1.1)(W)[0]
    assert DISCREPANCIES[name](source + 3, target + 3, 1.1)(W)[0] == pytest.approx(value)


def test_hellinger_of_domains_far_apart_is_two_and_finite():
    source, target, W = problem(7)
    value, gradient = hellinger(source, target + 1e4, 1.0)(W)
    assert value == pytest.approx(2)
    assert np.isfinite(gradient).all()
