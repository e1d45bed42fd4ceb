"""Transforms and metrics learned from pairs: optimality, and naive solvers."""

from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from ilspace.baselines._pair_transforms import asymmetric_transform, symmetric_metric


def tiny(seed=0, n=7, nt=5, p=3, q=3):
    rng = np.random.default_rng(seed)
    classes, others = np.arange(n) % 2, np.arange(nt) % 2
    rows = rng.standard_normal((n, p)) + classes[:, None]
    target = rng.standard_normal((nt, q)) - others[:, None]
    return rows, target, classes[:, None] == others


class TestAsymmetric:
    HOW: ClassVar[dict[str, Any]] = {"lower": -0.3, "upper": 0.7, "penalty": 0.8}

    @staticmethod
    def value(transform, rows, target, same, prior, lower, upper, penalty):
        """The published objective, pair by pair."""
        total = np.sum((transform - prior) ** 2) / 2
        for i, j in np.ndindex(same.shape):
            similarity = rows[i] @ transform @ target[j]
            gap = max(0, upper - similarity) if same[i, j] else max(0, similarity - lower)
            total += penalty / 2 * gap**2
        return total

    @pytest.mark.parametrize("q", [2, 3])
    def test_equals_a_naive_dense_solve(self, q):
        rows, target, same = tiny(q=q)
        prior = np.eye(3, q)
        found = asymmetric_transform(rows, target, same, prior=prior, tol=1e-15, **self.HOW)
        expected = minimize(
            lambda flat: self.value(flat.reshape(3, q), rows, target, same, prior, **self.HOW),
            np.zeros(3 * q),
            method="BFGS",
            options={"gtol": 1e-7},
        )
        assert found.is_solved
        np.testing.assert_allclose(found.matrix.ravel(), expected.x, atol=1e-5)

    @pytest.mark.parametrize("penalty", [0.1, 100.0])
    def test_stationary_with_dual_variables_of_the_right_sign(self, penalty):
        rows, target, same = tiny(1, n=30, nt=20, p=8, q=6)
        prior = np.zeros((8, 6))
        found = asymmetric_transform(
            rows, target, same, prior=prior, lower=-0.1, upper=0.5, penalty=penalty, tol=1e-16
        ).matrix
        similarity = rows @ found @ target.T
        # what each pair pushes: up where a pair of a class is too far apart, down for the others
        push = penalty * np.where(
            same, np.clip(0.5 - similarity, 0, None), np.clip(-0.1 - similarity, None, 0)
        )
        assert (push[same] >= 0).all()
        assert (push[~same] <= 0).all()
        np.testing.assert_allclose(found, prior + rows.T @ push @ target, atol=2e-4)

    def test_bounds_hold_where_they_can(self):
        rng = np.random.default_rng(0)
        rows, target = rng.standard_normal((12, 20)), rng.standard_normal((9, 15))
        same = (np.arange(12) % 3)[:, None] == np.arange(9) % 3
        found = asymmetric_transform(
            rows,
            target,
            same,
            prior=np.zeros((20, 15)),
            lower=-0.2,
            upper=0.4,
            penalty=1e4,
            tol=1e-12,
        )
        similarity = rows @ found.matrix @ target.T
        assert similarity[same].min() > 0.4 - 1e-3
        assert similarity[~same].max() < -0.2 + 1e-3

    def test_bounds_that_hold_already_leave_the_prior(self):
        rows, target, same = tiny()
        prior = np.eye(3)
        how: dict[str, Any] = {"lower": 100.0, "upper": -100.0, "penalty": 1.0}
        found = asymmetric_transform(rows, target, same, prior=prior, **how)
        np.testing.assert_array_equal(found.matrix, prior)
        how = {"lower": 0.0, "upper": 1.0, "penalty": 0.0}
        found = asymmetric_transform(rows, target, same, prior=prior, **how)
        np.testing.assert_array_equal(found.matrix, prior)


class TestSymmetric:
    HOW: ClassVar[dict[str, Any]] = {"near": 1.0, "far": 6.0, "penalty": 0.4}

    @staticmethod
    def value(metric, rows, target, same, near, far, penalty):
        """Information-theoretic metric learning with the best slacks, pair by pair."""
        total = np.trace(metric) - np.linalg.slogdet(metric)[1]
        for i, j in np.ndindex(same.shape):
            gap = rows[i] - target[j]
            distance, bound = gap @ metric @ gap, near if same[i, j] else far
            slack = max(distance, bound) if same[i, j] else min(distance, bound)
            total += penalty * (slack / bound - np.log(slack / bound) - 1)
        return total

    @staticmethod
    def projections(rows, target, same, near, far, penalty, sweeps=3000):
        """The cyclic Bregman projections of Davis et al. (2007), one pair at a time."""
        metric = np.eye(rows.shape[1])
        slacks, duals = np.where(same, near, far).astype(float), np.zeros(same.shape)
        for _ in range(sweeps):
            for pair in np.ndindex(same.shape):
                gap = rows[pair[0]] - target[pair[1]]
                sign = 1 if same[pair] else -1
                distance = gap @ metric @ gap
                share = penalty / (1 + penalty)  # printed as 1/2, which is right for a penalty of 1
                alpha = min(duals[pair], sign * share * (1 / distance - 1 / slacks[pair]))
                beta = sign * alpha / (1 - sign * alpha * distance)
                slacks[pair] *= penalty / (penalty + sign * alpha * slacks[pair])
                duals[pair] -= alpha
                sent = metric @ gap
                metric = metric + beta * np.outer(sent, sent)
        return metric

    def test_objective_decreases_to_a_minimum(self):
        rows, target, same = tiny()
        root = symmetric_metric(rows, target, same, tol=1e-16, **self.HOW).matrix
        metric = root @ root.T

        def value(flat):
            given = flat.reshape(3, 3)
            return self.value((given + given.T) / 2, rows, target, same, **self.HOW)

        slope = approx_fprime(metric.ravel(), value, 1e-7)
        np.testing.assert_allclose(slope, 0, atol=1e-4)
        assert value(metric.ravel()) < value(np.eye(3).ravel()) - 0.1

    def test_equals_cyclic_projections(self):
        rows, target, same = tiny(2, n=4, nt=3)
        expected = self.projections(rows, target, same, **self.HOW)
        root = symmetric_metric(rows, target, same, tol=1e-16, **self.HOW).matrix
        np.testing.assert_allclose(root @ root.T, expected, atol=1e-3)

    def test_bounds_hold_where_they_can(self):
        rng = np.random.default_rng(0)
        classes, others = np.arange(8) % 2, np.arange(6) % 2
        rows = rng.standard_normal((8, 10)) + 3 * classes[:, None]
        target = rng.standard_normal((6, 10)) + 3 * others[:, None]
        same = classes[:, None] == others
        root = symmetric_metric(
            rows, target, same, near=4.0, far=30.0, penalty=1e3, tol=1e-12
        ).matrix
        distances = np.sum(((rows[:, None] - target) @ root) ** 2, axis=2)
        assert distances[same].max() < 4.1
        assert distances[~same].min() > 29
