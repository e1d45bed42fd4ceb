"""Landmark selection: its objective against naive loops, its steps against their conditions."""

import numpy as np
import pytest
from adapters.shifted import shifted
from scipy.optimize import minimize

from ilspace.adapters.baselines.cdls import CDLS, Landmarks, minimise_capped, project_capped

DATA = shifted()
FEW = np.where(np.arange(len(DATA.yt)) < 9, DATA.yt, -1)


def landmarks(share=0.5, seed=0):
    rng = np.random.default_rng(seed)
    return Landmarks(
        source=rng.normal(size=(12, 5)),
        labelled=rng.normal(size=(6, 3)),
        unlabelled=rng.normal(size=(10, 3)),
        source_codes=np.arange(12) % 3,
        labelled_codes=np.arange(6) % 3,
        pseudo_codes=np.array([0, 0, 1, 1, 1, 2, 2, 2, 2, 0]),
        n_classes=3,
        share=share,
        regularization=0.3,
    )


def naive(problem, transform, alpha, beta):
    """The objective of :class:`Landmarks`, pair by pair."""
    share, sent = problem.share, alpha[:, None] * (problem.source @ transform)
    shown = beta[:, None] * problem.unlabelled

    def gap(a, b, c):
        target = (b.sum(axis=0) + c.sum(axis=0)) / (len(b) + share * len(c))
        return np.sum((a.sum(axis=0) / (share * len(a)) - target) ** 2)

    total = gap(sent, problem.labelled, shown) + 0.3 * np.sum(transform**2)
    for k in range(3):
        a, b = sent[problem.source_codes == k], problem.labelled[problem.labelled_codes == k]
        c = shown[problem.pseudo_codes == k]
        total += gap(a, b, c)
        pairs = sum(np.sum((x - z) ** 2) for x in a for z in b)
        pairs += sum(np.sum((z - u) ** 2) for z in b for u in c)
        pairs += sum(np.sum((u - x) ** 2) for u in c for x in a)
        n, m, o = len(a), len(b), len(c)
        total += pairs / (share * n * m + share * m * o + share**2 * o * n)
    return total


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_objective_is_the_naive_one(share):
    problem, rng = landmarks(share), np.random.default_rng(1)
    transform, alpha, beta = rng.normal(size=(5, 3)), rng.random(12), rng.random(10)
    assert problem.value(transform, alpha, beta) == pytest.approx(
        naive(problem, transform, alpha, beta), rel=1e-12
    )


def test_the_map_is_stationary_and_best():
    problem, rng = landmarks(), np.random.default_rng(2)
    alpha, beta = rng.random(12), rng.random(10)
    best = problem.best_transform(alpha, beta)
    found = minimize(
        lambda flat: problem.value(flat.reshape(5, 3), alpha, beta), np.zeros(15), tol=1e-12
    )
    np.testing.assert_allclose(best.ravel(), found.x, atol=1e-4)
    for _ in range(20):
        other = best + 1e-3 * rng.normal(size=best.shape)
        assert problem.value(other, alpha, beta) > problem.value(best, alpha, beta)


def test_weights_satisfy_the_conditions_of_the_program():
    problem = landmarks()
    transform = problem.best_transform(np.ones(12), np.ones(10))
    alpha, beta, is_solved = problem.best_weights(transform, tol=1e-7, max_iter=20_000)
    assert is_solved
    weights = np.concatenate([alpha, beta])
    groups = np.concatenate([problem.source_codes, 3 + problem.pseudo_codes])
    assert ((weights >= 0) & (weights <= 1)).all()
    np.testing.assert_allclose(np.bincount(groups, weights), 0.5 * np.bincount(groups), atol=1e-9)
    gradient = np.array(
        [
            (
                problem.value(transform, *np.split(weights + step, [12]))
                - problem.value(transform, *np.split(weights - step, [12]))
            )
            / 2e-5
            for step in 1e-5 * np.eye(22)
        ]
    )
    # within a group: equal where free, larger at 0, smaller at 1
    for group in range(6):
        inside = groups == group
        free = inside & (weights > 1e-6) & (weights < 1 - 1e-6)
        if free.any():
            level = gradient[free].mean()
            np.testing.assert_allclose(gradient[free], level, atol=1e-4)
            assert (gradient[inside & (weights <= 1e-6)] >= level - 1e-4).all()
            assert (gradient[inside & (weights >= 1 - 1e-6)] <= level + 1e-4).all()


def test_alternation_never_goes_up():
    problem = landmarks()
    alpha, beta = np.full(12, 0.5), np.full(10, 0.5)
    values = []
    for _ in range(6):
        transform = problem.best_transform(alpha, beta)
        values.append(problem.value(transform, alpha, beta))
        alpha, beta, _ = problem.best_weights(transform, tol=1e-8, max_iter=20_000)
        values.append(problem.value(transform, alpha, beta))
    assert (np.diff(values) <= 1e-8 * values[0]).all()
    assert values[-1] < values[0]


def test_projection_is_the_nearest_point():
    rng = np.random.default_rng(3)
    values, groups = 2 * rng.normal(size=9), np.arange(9) % 2
    totals = np.array([2.0, 1.5])
    near = project_capped(values, groups, totals)
    np.testing.assert_allclose(np.bincount(groups, near), totals, atol=1e-12)
    constraints = [
        {"type": "eq", "fun": lambda w, k=k: w[groups == k].sum() - totals[k]} for k in range(2)
    ]
    found = minimize(
        lambda w: np.sum((w - values) ** 2),
        np.full(9, 0.4),
        bounds=[(0, 1)] * 9,
        constraints=constraints,
        tol=1e-12,
    )
    np.testing.assert_allclose(near, found.x, atol=1e-5)


def test_program_says_when_it_ran_out():
    hessian = np.diag([1.0, 100.0, 3.0])
    weights, is_solved = minimise_capped(
        lambda v: hessian @ v,
        np.array([-1.0, 2.0, 0.5]),
        np.zeros(3, int),
        np.array([1.0]),
        np.diag(hessian),
        tol=0.0,
        max_iter=1,
    )
    assert not is_solved
    assert weights.sum() == pytest.approx(1)


def test_all_rows_where_the_share_is_one():
    fitted = CDLS(share=1.0).fit(DATA.X, DATA.y, DATA.Xt, FEW)
    np.testing.assert_allclose(fitted.source_weights_, 1, atol=1e-9)
    np.testing.assert_allclose(fitted.target_weights_, 1, atol=1e-9)


def test_half_of_the_rows_by_default():
    fitted = CDLS().fit(DATA.X, DATA.y, DATA.Xt, FEW)
    for code in range(3):
        assert fitted.source_weights_[DATA.y == code].sum() == pytest.approx(5, abs=1e-6)
    assert (fitted.target_weights_[FEW >= 0] == 1).all()


def test_units_and_rotations_do_not_matter():
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    first = CDLS().fit(DATA.X, DATA.y, DATA.Xt, FEW)
    second = CDLS().fit(50 * DATA.X @ turned, DATA.y, 0.01 * DATA.Xt, FEW)
    np.testing.assert_array_equal(first.predict(DATA.Xt), second.predict(0.01 * DATA.Xt))
    np.testing.assert_allclose(first.source_weights_, second.source_weights_, atol=1e-3)
