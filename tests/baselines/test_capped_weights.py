"""Weights between 0 and 1 of given sums: the nearest, and those of least quadratic value."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from ilspace.baselines._capped_weights import minimise_capped, project_capped


class TestProjection:
    @pytest.mark.parametrize("seed", range(3))
    def test_nearest_feasible_point(self, seed):
        rng = np.random.default_rng(seed)
        values, groups = 2 * rng.standard_normal(9), np.arange(9) % 2
        totals = np.array([2.0, 1.7])
        found = project_capped(values, groups, totals)
        expected = minimize(
            lambda weights: np.sum((weights - values) ** 2),
            np.full(9, 0.4),
            bounds=[(0, 1)] * 9,
            constraints=LinearConstraint(groups == np.arange(2)[:, None], totals, totals),
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(found, expected.x, atol=1e-6)
        np.testing.assert_allclose(np.bincount(groups, found), totals)
        np.testing.assert_allclose(project_capped(found, groups, totals), found, atol=1e-12)

    def test_full_and_empty_groups(self):
        found = project_capped(np.array([-3.0, 5.0, 0.2]), np.array([0, 0, 2]), np.array([2, 0, 0]))
        np.testing.assert_allclose(found, [1, 1, 0], atol=1e-12)
        assert len(project_capped(np.zeros(0), np.zeros(0, dtype=int), np.zeros(2))) == 0


def test_value_decreases_and_the_end_is_told():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((20, 8))
    hessian, linear = root @ root.T, rng.standard_normal(20)
    groups, totals = np.arange(20) % 2, np.array([3.0, 4.0])
    how = {"curvatures": np.diag(hessian), "tol": 1e-8}

    def at(n_steps):
        weights, is_solved = minimise_capped(
            hessian.dot, linear, groups, totals, max_iter=n_steps, **how
        )
        return weights @ hessian @ weights / 2 + linear @ weights, is_solved

    values, solved = zip(*(at(n_steps) for n_steps in range(1, 40)), strict=True)
    assert (np.diff(values) <= 1e-12).all()
    assert not solved[0]
    assert at(5000)[1]
