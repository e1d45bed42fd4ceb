"""What makes the Stein divergence a divergence (Sra 2016, section 3)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import orthonormal, positive_definite

from ilspace.objective import metric_penalty, projected_discrepancy, stein_divergence

draws = {
    "seed": st.integers(0, 2**32 - 1),
    "p": st.integers(1, 6),
    "condition": st.sampled_from([1.0, 1e2, 1e5]),
}
few = settings(max_examples=30, deadline=None, derandomize=True)


def two(seed, p, condition):
    rng = np.random.default_rng(seed)
    first = positive_definite(rng, p, condition)
    return rng, first, rng.uniform(0.1, 10.0) * positive_definite(rng, p, condition)


@few
@given(**draws)
def test_symmetric(seed, p, condition):
    _, a, b = two(seed, p, condition)
    value, slope_a, slope_b = stein_divergence(a, b)
    mirrored, slope_b_again, slope_a_again = stein_divergence(b, a)
    assert float(value) == pytest.approx(float(mirrored), rel=1e-12)
    np.testing.assert_array_equal(slope_a, slope_a_again)
    np.testing.assert_array_equal(slope_b, slope_b_again)


@few
@given(**draws)
def test_zero_if_and_only_if_equal(seed, p, condition):
    _, a, b = two(seed, p, condition)
    value, *slopes = stein_divergence(a, a)
    assert abs(float(value)) <= 1e-12
    for slope in slopes:
        np.testing.assert_allclose(a @ slope, 0, atol=1e-9)
    gap = np.linalg.norm(np.linalg.inv(np.linalg.cholesky(a)) @ (a - b), 2)
    if gap > 1e-3:
        assert float(stein_divergence(a, b)[0]) > 0


@few
@given(**draws)
def test_blind_to_congruence(seed, p, condition):
    # delta(CAC', CBC') = delta(A, B) for regular C
    rng, a, b = two(seed, p, condition)
    c = orthonormal(rng, p, p) @ positive_definite(rng, p, 50.0)
    moved = stein_divergence(c @ a @ c.T, c @ b @ c.T)[0]
    assert float(moved) == pytest.approx(float(stein_divergence(a, b)[0]), rel=1e-7, abs=1e-9)


@few
@given(**draws)
def test_blind_to_inversion(seed, p, condition):
    _, a, b = two(seed, p, condition)
    inverted = stein_divergence(np.linalg.inv(a), np.linalg.inv(b))[0]
    assert float(inverted) == pytest.approx(float(stein_divergence(a, b)[0]), rel=1e-6, abs=1e-8)


@given(a=st.floats(1e-6, 1e6), b=st.floats(1e-6, 1e6))
@few
def test_closed_form_of_numbers(a, b):
    # p = 1: the logarithm of arithmetic over geometric mean
    value = stein_divergence(np.asarray([[a]]), np.asarray([[b]]))[0]
    assert float(value) == pytest.approx(np.log((a + b) / 2 / np.sqrt(a * b)), abs=1e-12)


@few
@given(**draws)
def test_a_sum_over_generalised_eigenvalues(seed, p, condition):
    # two Gaussians: simultaneous diagonalisation leaves p numbers, each with the closed form above
    from scipy.linalg import eigvalsh

    _, a, b = two(seed, p, condition)
    ratios = eigvalsh(a, b)
    wanted = np.sum(np.log((1 + ratios) / 2) - np.log(ratios) / 2)
    assert float(stein_divergence(a, b)[0]) == pytest.approx(wanted, rel=1e-7, abs=1e-9)


def test_nan_and_no_exception_outside_the_cone():
    value, *_ = stein_divergence(np.diag([1.0, -0.5]), np.eye(2))
    assert np.isnan(value)


def test_metric_penalty_is_zero_at_the_identity_and_counts_a_dimension():
    assert float(metric_penalty(np.eye(5))[0]) == pytest.approx(0.0, abs=1e-14)
    one, many = (float(metric_penalty(3.0 * np.eye(p))[0]) for p in (1, 6))
    assert one == pytest.approx(many, rel=1e-12)


@few
@given(**draws)
def test_discrepancy_is_blind_to_a_shared_rotation_of_the_latent_space(seed, p, condition):
    rng = np.random.default_rng(seed)
    covariances = positive_definite(rng, p + 3, 100.0), positive_definite(rng, p + 2, 100.0)
    ws, wt = orthonormal(rng, p + 3, p), orthonormal(rng, p + 2, p)
    turn = orthonormal(rng, p, p)
    value = projected_discrepancy(*covariances, ws, wt)[0]
    turned = projected_discrepancy(*covariances, ws @ turn, wt @ turn)[0]
    assert float(turned) == pytest.approx(float(value), rel=1e-9, abs=1e-11)
