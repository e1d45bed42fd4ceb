"""The matrix that keeps margins best, against liblinear and a general solver."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from ilspace.baselines._max_margin import max_margin_matrix, one_against_rest


def problem(n, p, q, n_classes=3, seed=0):
    """Rows, factors, sides, costs and offsets of one step."""
    rng = np.random.default_rng(seed)
    signs = one_against_rest(rng.integers(n_classes, size=n), n_classes)
    return (
        rng.standard_normal((n, p)),
        rng.standard_normal((n_classes, q)),
        signs,
        rng.uniform(0.2, 2, n),
        rng.standard_normal((n, n_classes)),
    )


def liblinear(rows, signs, costs):
    """Primal solution of one linear machine with a squared hinge and no intercept."""
    machine = LinearSVC(dual=False, fit_intercept=False, tol=1e-12, max_iter=100_000)
    return machine.fit(rows, signs, sample_weight=costs).coef_[0]


def naive_objective(rows, factors, signs, costs, weight, offsets, matrix):
    """The formula, term by term."""
    value = weight / 2 * sum(entry**2 for entry in matrix.ravel())
    for i, row in enumerate(rows):
        for k, factor in enumerate(factors):
            margin = signs[i, k] * (offsets[i, k] + row @ matrix @ factor)
            value += costs[i] * max(0.0, 1 - margin) ** 2
    return value


@pytest.mark.parametrize("n", [6, 40])
def test_hyperplanes_are_liblinear_s(n):
    rows, _, signs, costs, _ = problem(n, 8, 3)
    planes = max_margin_matrix(rows, np.eye(3), signs, costs)
    expected = [liblinear(rows, side, costs) for side in signs.T]
    np.testing.assert_allclose(planes.T, expected, atol=1e-6)


@pytest.mark.parametrize(("n", "q"), [(5, 7), (30, 2)])
def test_transform_is_liblinear_s_on_kronecker_products(n, q):
    rows, factors, signs, costs, _ = problem(n, 6, q)
    weight = 2.5
    matrix = max_margin_matrix(rows, factors, signs, costs, weight=weight)
    products = np.einsum("ip,kq->ikpq", rows, factors).reshape(signs.size, -1)
    cost = np.repeat(costs, signs.shape[1]) / weight
    expected = liblinear(products, signs.ravel(), cost).reshape(matrix.shape)
    np.testing.assert_allclose(matrix, expected, atol=1e-6)


def test_offsets():
    rows, factors, signs, costs, offsets = problem(7, 3, 4)
    matrix = max_margin_matrix(rows, factors, signs, costs, weight=0.7, offsets=offsets)

    def objective(flat):
        given = rows, factors, signs, costs, 0.7, offsets, flat.reshape(matrix.shape)
        return naive_objective(*given)

    other = minimize(objective, np.zeros(matrix.size), method="BFGS")
    assert objective(matrix.ravel()) <= other.fun + 1e-9
    np.testing.assert_allclose(matrix.ravel(), other.x, atol=1e-4)


def test_start_does_not_matter():
    rows, factors, signs, costs, offsets = problem(20, 5, 4)
    expected = max_margin_matrix(rows, factors, signs, costs, offsets=offsets)
    start = np.random.default_rng(1).standard_normal((5, 4))
    found = max_margin_matrix(rows, factors, signs, costs, offsets=offsets, start=start)
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("weight", [1e-6, 1.0, 1e6])
def test_stationary_whatever_the_weight(weight):
    rows, factors, signs, costs, offsets = problem(25, 5, 4)
    matrix = max_margin_matrix(rows, factors, signs, costs, weight=weight, offsets=offsets)
    lack = np.maximum(0, 1 - signs * (offsets + rows @ matrix @ factors.T))
    pull = 2 * rows.T @ (costs[:, None] * signs * lack) @ factors
    at_zero = 2 * rows.T @ (costs[:, None] * signs * np.maximum(0, 1 - signs * offsets))
    size = np.linalg.norm(at_zero @ factors)
    assert np.linalg.norm(weight * matrix - pull) <= 2e-8 * size


def test_margins_kept_from_the_start_ask_for_nothing():
    rows, factors, signs, costs, _ = problem(10, 3, 2)
    matrix = max_margin_matrix(rows, factors, signs, costs, offsets=2 * signs)
    np.testing.assert_array_equal(matrix, 0)
