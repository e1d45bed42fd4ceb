"""Stochastic methods: where they end, what their steps are, and that they never get lost."""

import importlib.util
import math
from itertools import chain, count, islice, repeat

import array_api_strict
import numpy as np
import pytest
from problems import ils_case, orthonormal, positive_definite

from ilspace.backend import to_numpy
from ilspace.manifolds import SPD, Euclidean, Product, Stiefel
from ilspace.objective import DomainData, ILSObjective
from ilspace.optimizers import (
    SOLVERS,
    STOCHASTIC_SOLVERS,
    AdaptiveMoments,
    Momentum,
    Problem,
    Status,
    drive,
    solve,
    stochastic_descent,
)
from ilspace.pairs import AllPairs, RowPairs

RULES = [Momentum(), Momentum(0.0), AdaptiveMoments()]


def noisy(objective, seed=0, size=0.3):
    """Yield the objective with a gradient that is wrong by chance, and right on average."""
    rng = np.random.default_rng(seed)

    def estimate(noise, point):
        value, gradient = objective(point)
        return value, tuple(g + e for g, e in zip(gradient, noise, strict=True))

    def shapes(point):
        return [size * rng.standard_normal(np.shape(each)) for each in point]

    for _ in count():
        yield lambda point: estimate(shapes(point), point)


def flat():
    rng = np.random.default_rng(0)
    hessian, target = positive_definite(rng, 5, 5.0), rng.standard_normal(5)

    def objective(point):
        gap = point[0] - target
        return gap @ hessian @ gap / 2, (hessian @ gap,)

    return Product((Euclidean((5,)),)), objective, (np.zeros(5),), 0.0


def frames():
    # |W - A|², whose minimiser on the Stiefel manifold is the polar factor of A
    rng = np.random.default_rng(1)
    wanted = orthonormal(rng, 8, 3)

    def objective(point):
        gap = point[0] - 2 * wanted
        return np.sum(gap * gap), (2 * gap,)

    start = Stiefel(8, 3).project(wanted + 0.4 * rng.standard_normal((8, 3)))
    return Product((Stiefel(8, 3),)), objective, (start,), 3.0


def metrics():
    # tr(MS) - log det M, whose minimum is at the inverse of S
    s = positive_definite(np.random.default_rng(2), 3, 4.0)

    def objective(point):
        (m,) = point
        return np.sum(m * s) - np.linalg.slogdet(m)[1], (s - np.linalg.inv(m),)

    return Product((SPD(3),)), objective, (np.eye(3),), 3 + np.linalg.slogdet(s)[1]


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("case", [flat, frames, metrics])
def test_the_minimum_is_found_through_noise(case, rule):
    manifold, objective, start, least = case()
    problem = Problem(manifold, objective, noisy(objective))
    solution = drive(stochastic_descent(problem, start, rule=rule), tol=0.0, max_iter=50)
    first = objective(start)[0] - least
    assert objective(solution.point)[0] - least < 0.01 * first
    single = objective(next(iter_points(problem, start, rule)))[0] - least
    assert single > 0.01 * first


def iter_points(problem, start, rule):
    """Points after one step an iterate: too early to be good."""
    for now in islice(stochastic_descent(problem, start, rule=rule, n_steps=1), 1, None):
        yield now.point


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_points_stay_on_the_manifold(rule):
    case = ils_case(2, engine="all", anchor_weights=(1.0, 4.0), metric_weight=3.0)
    problem = Problem(case.manifold, case.objective, noisy(case.objective, size=0.05))
    for now in islice(stochastic_descent(problem, case.point, rule=rule), 15):
        source, target, metric = now.point
        np.testing.assert_allclose(source.T @ source, np.eye(3), atol=1e-12)
        np.testing.assert_allclose(target.T @ target, np.eye(3), atol=1e-12)
        np.testing.assert_allclose(metric, metric.T, atol=1e-14)
        assert np.linalg.eigvalsh(metric)[0] > 0
        for entry, tangent in zip(
            now.gradient, case.manifold.to_tangent(now.point, now.gradient), strict=True
        ):
            np.testing.assert_allclose(entry, tangent, atol=1e-12)


def batches_of(case, seed=0, size=9):
    """The objective over the pairs of random rows, each domain its share."""
    rng = np.random.default_rng(seed)
    n_source = len(case.rows[0])
    while True:
        rows = np.sort(rng.choice(len(case.codes), size, replace=False))
        parts = rows[rows < n_source], rows[rows >= n_source] - n_source
        drawn = tuple(each[part] for each, part in zip(case.rows, parts, strict=True))
        pairs = AllPairs(case.codes[rows], reference=drawn[0])
        term = RowPairs(drawn, pairs, case.objective.pair_loss.hinge)
        yield ILSObjective(case.objective.domains, term)


def test_without_momentum_it_is_plain_stochastic_descent():
    case = ils_case(3, engine="all")
    manifold, horizon = case.manifold, 30
    rule = Momentum(0.0)
    problem = Problem(manifold, case.objective, batches_of(case))
    iterates = stochastic_descent(problem, case.point, rule=rule, n_steps=4, horizon=horizon)
    _, met = islice(iterates, 2)

    batches = batches_of(case)
    next(batches)  # the line search saw it
    rate = met.progress.step * (1 + 4 / horizon)
    point, trail = case.point, []
    for t in range(4):
        gradient = manifold.riemannian_gradient(point, next(batches)(point)[1])
        point = manifold.retract(point, tuple(-rate / (1 + t / horizon) * g for g in gradient))
        trail.append(point)
    # the weights of the mean: t (t + 1) (t + 2), which grow as the third power
    shares = np.array([t * (t + 1) * (t + 2) for t in range(1, 5)], dtype=float)
    shares /= shares.sum()
    mean = tuple(
        sum(w * x for w, x in zip(shares, xs, strict=True)) for xs in zip(*trail, strict=True)
    )
    for a, b in zip(met.point, manifold.project(mean), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_adaptive_steps_are_of_one_length_in_every_factor():
    manifold = Product((Euclidean((2,)), Euclidean((3,))), (1.0, 0.25))
    point = (np.zeros(2), np.zeros(3))
    for factor in (1.0, 1e4):
        gradient = (factor * np.array([3.0, 4.0]), np.array([0.0, 1.0, 0.0]))
        direction, past = AdaptiveMoments(floor=0.0)(manifold, point, gradient, None)
        lengths = [
            math.sqrt(manifold.inner(point, each, each))
            for each in ((direction[0], point[1]), (point[0], direction[1]))
        ]
        np.testing.assert_allclose(lengths, 1.0)
        assert past.count == 1
    # with a floor, a factor whose gradient is small beside the other's moves little
    direction, _ = AdaptiveMoments(floor=0.01)(manifold, point, gradient, None)
    assert np.linalg.norm(direction[1]) < 0.01 * np.linalg.norm(direction[0])


@pytest.mark.parametrize("solver", STOCHASTIC_SOLVERS)
def test_without_batches_the_objective_itself_is_minimised(solver):
    case = ils_case(2, engine="all", anchor_weights=(1.0, 4.0), metric_weight=3.0)
    problem = Problem(case.manifold, case.objective)
    batch = solve(problem, case.point, tol=1e-8)
    met = solve(problem, case.point, solver=solver, tol=1e-6, max_iter=200)
    assert met.status is Status.SETTLED
    assert met.history[-1].value == pytest.approx(batch.history[-1].value, rel=1e-3)
    values = [each.value for each in met.history]
    assert np.all(np.diff(values) <= 0)
    assert problem.evaluate(met.point).value == values[-1]


@pytest.mark.parametrize("solver", STOCHASTIC_SOLVERS)
def test_evaluations_are_counted(solver):
    case = ils_case(2, engine="all")
    calls = []

    def objective(point):
        calls.append(point)
        return case.objective(point)

    solution = solve(Problem(case.manifold, objective), case.point, solver=solver, max_iter=3)
    assert solution.history[0].evaluations == 1
    assert solution.history[-1].evaluations == len(calls)


@pytest.mark.parametrize("solver", STOCHASTIC_SOLVERS)
def test_what_gets_worse_is_undone(solver):
    # the batches agree with the objective at first, then lead away from its minimum, then to NaN
    manifold, objective, start, _ = flat()

    def uphill(point):
        value, (gradient,) = objective(point)
        return value, (-100 * gradient,)

    def nowhere(point):
        return math.nan, (np.full(5, np.nan),)

    def broken(point):
        raise np.linalg.LinAlgError("not positive definite")

    for bad in (uphill, nowhere, broken):
        batches = iter([objective] * 21 + [bad] * 400)
        problem = Problem(manifold, objective, batches)
        solution = solve(problem, start, solver=solver, max_iter=6, tol=1e-12)
        values = [each.value for each in solution.history]
        assert solution.status is Status.SETTLED
        assert values[1] < values[0]
        np.testing.assert_array_equal(values[1:], values[1])
        assert solution.history[3].step == solution.history[2].step / 2
        assert problem.evaluate(solution.point).value == values[-1]


@pytest.mark.parametrize("solver", STOCHASTIC_SOLVERS)
@pytest.mark.parametrize("case", [frames, metrics])
def test_numbers_that_are_not_finite_are_left_behind(case, solver):
    manifold, objective, start, _ = case()

    def nowhere(point):
        return math.nan, tuple(np.full_like(each, np.nan) for each in point)

    batches = chain(repeat(objective, 30), repeat(nowhere, 11), repeat(objective))
    problem = Problem(manifold, objective, batches)
    solution = solve(problem, start, solver=solver, max_iter=20, tol=0.0)
    values = [each.value for each in solution.history]
    assert values[2] == values[1] < values[0]
    assert values[-1] < values[2]


def test_other_errors_are_not_swallowed():
    manifold, objective, start, _ = flat()

    def wrong(point):
        raise ZeroDivisionError

    problem = Problem(manifold, objective, iter([objective, wrong]))
    with pytest.raises(ZeroDivisionError):
        solve(problem, start, solver="sgd")


@pytest.mark.parametrize("solver", STOCHASTIC_SOLVERS)
def test_no_way_down_and_no_value(solver):
    manifold = Product((Euclidean((2,)),))
    start = (np.ones(2),)
    lying = Problem(manifold, lambda point: (np.sum(point[0] ** 2), (-2 * point[0],)))
    assert solve(lying, start, solver=solver).status is Status.STALLED
    nowhere = Problem(manifold, lambda point: (math.nan, (point[0],)))
    assert solve(nowhere, start, solver=solver).status is Status.DIVERGED
    hidden = Problem(
        manifold, lambda point: (np.sum(point[0] ** 2), (2 * point[0],)), repeat(nowhere.objective)
    )
    assert solve(hidden, start, solver=solver).status is Status.STALLED


def test_names_differ_from_those_of_the_batch_solvers():
    assert not set(SOLVERS) & set(STOCHASTIC_SOLVERS)


LIBRARIES = ["strict", *(["torch"] if importlib.util.find_spec("torch") else [])]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("solver", STOCHASTIC_SOLVERS)
def test_every_library_takes_the_same_steps(library, solver):
    if library == "torch":
        make = importlib.import_module("torch").asarray
    else:
        make = array_api_strict.asarray
    case = ils_case(4, engine="all", anchor_weights=(1.0, 4.0), metric_weight=3.0)

    def moved(objective):
        domains = tuple(
            DomainData(make(each.covariance), make(each.anchor), each.anchor_weight)
            for each in objective.domains
        )
        rows = tuple(make(each) for each in case.rows)
        pairs = AllPairs(case.codes, reference=rows[0])
        term = RowPairs(rows, pairs, objective.pair_loss.hinge)
        return ILSObjective(domains, term, metric_weight=3.0)

    stop = {"solver": solver, "tol": 0.0, "max_iter": 4}
    wanted = solve(Problem(case.manifold, case.objective), case.point, **stop)
    problem = Problem(case.manifold, moved(case.objective))
    met = solve(problem, tuple(make(each) for each in case.point), **stop)
    for a, b in zip(met.point, wanted.point, strict=True):
        assert type(a) is type(make(b))
        np.testing.assert_allclose(to_numpy(a), b, atol=1e-9)
    np.testing.assert_allclose(
        [each.value for each in met.history], [each.value for each in wanted.history], rtol=1e-9
    )
