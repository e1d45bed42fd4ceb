"""The published objective of landmark selection, and its two exact steps."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, approx_fprime, minimize

from ilspace.baselines._capped_weights import project_capped
from ilspace.baselines._landmarks import Landmarks


def problem(seed=0, n=9, n_labelled=4, n_unlabelled=7, d=4, m=3, n_classes=2, share=0.5):
    rng = np.random.default_rng(seed)

    def codes(size):
        return np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, size)])[:size]

    sizes = (n, n_labelled, n_unlabelled)
    source_codes, labelled_codes, pseudo_codes = (codes(size) for size in sizes)
    return Landmarks(
        source=rng.standard_normal((n, d)) + source_codes[:, None],
        labelled=rng.standard_normal((n_labelled, m)) - labelled_codes[:, None],
        unlabelled=rng.standard_normal((n_unlabelled, m)) - pseudo_codes[:, None],
        source_codes=source_codes,
        labelled_codes=labelled_codes,
        pseudo_codes=pseudo_codes,
        n_classes=n_classes,
        share=share,
        regularization=0.3,
    )


def feasible(given, seed=0):
    """Weights that satisfy the constraints."""
    rng = np.random.default_rng(seed)
    weights = []
    for codes in (given.source_codes, given.pseudo_codes):
        totals = given.share * np.bincount(codes, minlength=given.n_classes)
        weights.append(project_capped(rng.random(len(codes)), codes, totals))
    return weights


def naive(given, transform, source_weights, target_weights):
    """The published objective, row by row and pair by pair."""
    sent = [w * transform.T @ x for w, x in zip(source_weights, given.source, strict=True)]
    shown = [w * u for w, u in zip(target_weights, given.unlabelled, strict=True)]
    known, share = list(given.labelled), given.share

    def gap(of_source, of_known, of_shown):
        mean = sum(of_source) / (share * len(of_source))
        total = sum(of_known) + sum(of_shown)
        return np.sum((mean - total / (len(of_known) + share * len(of_shown))) ** 2)

    value = gap(sent, known, shown) + given.regularization * np.sum(transform**2)
    for c in range(given.n_classes):
        a = [v for v, code in zip(sent, given.source_codes, strict=True) if code == c]
        b = [v for v, code in zip(known, given.labelled_codes, strict=True) if code == c]
        u = [v for v, code in zip(shown, given.pseudo_codes, strict=True) if code == c]
        if len(b) + len(u) == 0:
            continue
        value += gap(a, b, u)
        pairs = share * len(a) * len(b) + share * len(b) * len(u) + share**2 * len(u) * len(a)
        for first, second in ((a, b), (b, u), (u, a)):
            value += sum(np.sum((v - w) ** 2) for v in first for w in second) / pairs
    return value


class TestObjective:
    @pytest.mark.parametrize("share", [0.3, 1.0])
    @pytest.mark.parametrize("n_classes", [2, 4])
    def test_equals_naive_sums(self, share, n_classes):
        # of four classes, some have no labelled or no pseudo-labelled row
        given = problem(n_classes=n_classes, n_labelled=2, n_unlabelled=3, share=share)
        transform = np.random.default_rng(1).standard_normal((4, 3))
        weights = feasible(given)
        expected = naive(given, transform, *weights)
        np.testing.assert_allclose(given.value(transform, *weights), expected)

    def test_rows_without_pseudo_labels_count_in_the_means_of_the_domains_only(self):
        given = problem(share=1.0)
        without = replace(given, pseudo_codes=np.full(7, -1))
        transform = np.random.default_rng(1).standard_normal((4, 3))
        ones = np.ones(9), np.ones(7)
        alone = replace(given, unlabelled=np.zeros((0, 3)), pseudo_codes=np.zeros(0, dtype=int))
        means = np.vstack([given.labelled, given.unlabelled]).mean(axis=0), given.labelled.mean(0)
        sent = (given.source @ transform).mean(axis=0)
        difference = np.sum((sent - means[0]) ** 2) - np.sum((sent - means[1]) ** 2)
        expected = alone.value(transform, ones[0], np.zeros(0)) + difference
        np.testing.assert_allclose(without.value(transform, *ones), expected)

    def test_quadratic_is_half_the_objective(self):
        given, transform = problem(), np.random.default_rng(1).standard_normal((4, 3))
        rows = np.vstack([given.source @ transform, given.unlabelled])
        product, linear, curvatures = given.quadratic(rows)

        def half(weights):
            joined = np.concatenate(weights)
            return joined @ product(joined) / 2 + joined @ linear

        first, second = feasible(given, 1), feasible(given, 2)
        change = given.value(transform, *first) - given.value(transform, *second)
        np.testing.assert_allclose(2 * (half(first) - half(second)), change)
        hessian = np.array([product(unit) for unit in np.eye(16)])
        np.testing.assert_allclose(hessian, hessian.T, atol=1e-12)
        np.testing.assert_allclose(np.diag(hessian), curvatures)
        assert np.linalg.eigvalsh(hessian)[0] > -1e-10


class TestTransform:
    def test_closed_form_is_stationary_and_a_minimum(self):
        given = problem()
        weights = feasible(given)
        best = given.best_transform(*weights)

        def value(flat):
            return naive(given, flat.reshape(best.shape), *weights)

        np.testing.assert_allclose(approx_fprime(best.ravel(), value, 1e-6), 0, atol=1e-4)
        rng = np.random.default_rng(0)
        for _ in range(5):
            assert value(best.ravel() + 0.1 * rng.standard_normal(best.size)) > value(best.ravel())


class TestWeights:
    def test_equal_a_general_solver(self):
        given, transform = problem(), np.random.default_rng(1).standard_normal((4, 3))
        first, second, is_solved = given.best_weights(transform, tol=1e-9)
        codes = np.concatenate([given.source_codes, 2 + given.pseudo_codes])
        members = codes == np.arange(4)[:, None]
        totals = given.share * members.sum(axis=1)
        expected = minimize(
            lambda w: naive(given, transform, w[:9], w[9:]),
            np.full(16, 0.5),
            bounds=[(0, 1)] * 16,
            constraints=LinearConstraint(members, totals, totals),
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 500},
        )
        assert is_solved
        np.testing.assert_allclose(np.concatenate([first, second]), expected.x, atol=1e-4)

    def test_optimality_conditions(self):
        given = problem(n=60, n_labelled=12, n_unlabelled=80, d=8, m=5, n_classes=4)
        transform = given.best_transform(np.ones(60), np.ones(80))
        first, second, _ = given.best_weights(transform, tol=1e-9)
        weights = np.concatenate([first, second])
        product, linear, curvatures = given.quadratic(
            np.vstack([given.source @ transform, given.unlabelled])
        )
        slopes = (product(weights) + linear) / curvatures.mean()
        groups = np.concatenate([given.source_codes, 4 + given.pseudo_codes])
        np.testing.assert_allclose(
            np.bincount(groups, weights), given.share * np.bincount(groups), rtol=1e-8
        )
        assert ((weights >= 0) & (weights <= 1)).all()
        assert (weights == 0).any()
        assert (weights == 1).any()
        for group in range(8):
            inside = (groups == group) & (weights > 1e-6) & (weights < 1 - 1e-6)
            level = slopes[inside].mean()  # the multiplier of the sum
            np.testing.assert_allclose(slopes[inside], level, atol=1e-6)
            assert (slopes[(groups == group) & (weights <= 1e-6)] >= level - 1e-6).all()
            assert (slopes[(groups == group) & (weights >= 1 - 1e-6)] <= level + 1e-6).all()

    def test_share_of_one_keeps_all_rows(self):
        given = problem(share=1.0)
        transform = given.best_transform(np.ones(9), np.ones(7))
        first, second, is_solved = given.best_weights(transform)
        assert is_solved
        np.testing.assert_allclose(first, 1)
        np.testing.assert_allclose(second, 1)


@pytest.mark.parametrize("seed", range(3))
def test_objective_never_grows_for_fixed_pseudo_labels(seed):
    given = problem(seed, n=40, n_labelled=9, n_unlabelled=50, d=10, m=6, n_classes=3)
    weights = np.full(40, 0.5), np.full(50, 0.5)
    values = []
    for _ in range(8):
        transform = given.best_transform(*weights)
        values.append(naive(given, transform, *weights))
        *weights, _ = given.best_weights(transform, tol=1e-7)
        values.append(naive(given, transform, *weights))
    assert (np.diff(values) <= 1e-9 * values[0]).all()
    assert values[-1] < 0.98 * values[0]
