"""What the methods find, how they get there, and what they say they spent."""

import math

import numpy as np
import pytest
from problems import ils_case, orthonormal, positive_definite

from ilspace.manifolds import SPD, Euclidean, Product, Stiefel
from ilspace.optimizers import (
    SOLVERS,
    Backtracking,
    LimitedMemory,
    Problem,
    Status,
    alternate,
    descend,
    drive,
    polak_ribiere,
    solve,
    steepest,
)
from ilspace.optimizers.line_search import first_iterate

LINE_SEARCH = ("conjugate-gradient", "steepest-descent", "lbfgs")


class Counted:
    """An objective that counts how often it is asked."""

    def __init__(self, objective):
        self.objective, self.calls = objective, 0

    def __call__(self, point):
        self.calls += 1
        return self.objective(point)


def quadratic(condition=20.0):
    """A quadratic in two blocks, with its minimiser."""
    rng = np.random.default_rng(0)
    hessian, target = positive_definite(rng, 7, condition), rng.standard_normal(7)

    def objective(point):
        gap = np.concatenate(point) - target
        slope = hessian @ gap
        return gap @ slope / 2, (slope[:4], slope[4:])

    manifold = Product((Euclidean((4,)), Euclidean((3,))))
    return Problem(manifold, objective), (np.zeros(4), np.zeros(3)), target


def leading_axes(n=12, p=3):
    """Minimise -tr(W'AW) over St(n, p): minus the sum of the largest eigenvalues."""
    rng = np.random.default_rng(1)
    axes, values = orthonormal(rng, n, n), np.linspace(1.0, 8.0, n)
    a = (axes * values) @ axes.T

    def objective(point):
        return -np.sum(point[0] * (a @ point[0])), (-2 * a @ point[0],)

    problem = Problem(Product((Stiefel(n, p),)), objective)
    return problem, (orthonormal(rng, n, p),), -np.sum(values[-p:]), axes[:, -p:]


def ils(**options):
    options = {"anchor_weights": (1.0, 4.0), "metric_weight": 3.0} | options
    case = ils_case(2, engine=options.pop("engine", "all"), **options)
    return Problem(case.manifold, case.objective), case.point


def values(solution):
    return np.asarray([each.value for each in solution.history])


@pytest.mark.parametrize("solver", SOLVERS)
def test_quadratic(solver):
    problem, start, target = quadratic()
    solution = solve(problem, start, solver=solver, tol=0.0, max_iter=2000)
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(np.concatenate(solution.point), target, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_leading_eigenvectors(solver):
    # Ky Fan 1949: the maximum of tr(W'AW) is the sum of the p largest eigenvalues
    problem, start, optimum, axes = leading_axes()
    solution = solve(problem, start, solver=solver, tol=0.0, gradient_tol=1e-6, max_iter=2000)
    assert solution.status in (Status.CONVERGED, Status.STALLED)
    assert solution.history[-1].value == pytest.approx(optimum, rel=1e-9)
    (found,) = solution.point
    np.testing.assert_allclose(found @ found.T, axes @ axes.T, atol=1e-4)
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-12)


def test_metric_of_known_optimum():
    # tr(MS) - log det M is least at the inverse of S: the SPD factor alone
    s = positive_definite(np.random.default_rng(3), 4, 5.0)

    def objective(point):
        (m,) = point
        return np.sum(m * s) - np.linalg.slogdet(m)[1], (s - np.linalg.inv(m),)

    problem = Problem(Product((SPD(4),)), objective)
    for solver in SOLVERS:
        solution = solve(
            problem, (np.eye(4),), solver=solver, tol=0.0, gradient_tol=1e-6, max_iter=500
        )
        np.testing.assert_allclose(solution.point[0] @ s, np.eye(4), atol=1e-4)


@pytest.mark.parametrize("slack", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
def test_history_decreases_and_counts(solver, slack):
    problem, start = ils(slack=slack, engine="sampled")
    counted = Counted(problem.objective)
    # a generator suspended at its last yield has done nothing that its iterate does not count
    solution = solve(Problem(problem.manifold, counted), start, solver=solver, tol=0.0, max_iter=40)
    met = values(solution)
    assert solution.n_iter > 1
    assert np.all(np.diff(met) <= 4 * np.finfo(float).eps * np.abs(met[:-1]))
    assert met[-1] < met[0]
    assert solution.history[-1].evaluations == counted.calls
    assert np.all(np.diff([each.evaluations for each in solution.history]) >= 1)
    assert solution.history[0].evaluations == 1
    assert math.isnan(solution.history[0].step)
    assert all(each.step > 0 for each in solution.history[1:])


@pytest.mark.parametrize("solver", SOLVERS)
def test_failed_trials_are_counted_too(solver):
    counted = Counted(lambda x: (np.sum(x[0] ** 2), (-2 * x[0],)))
    problem = Problem(Product((Euclidean((2,)),)), counted)
    solution = solve(problem, (np.ones(2),), solver=solver)
    assert solution.status is Status.STALLED
    assert solution.history[-1].evaluations == counted.calls


@pytest.mark.parametrize("solver", SOLVERS)
def test_solution_is_what_the_history_says(solver):
    problem, start = ils()
    solution = solve(problem, start, solver=solver, max_iter=10)
    seen = problem.evaluate(solution.point)
    assert seen.value == pytest.approx(solution.history[-1].value, rel=1e-14)
    assert seen.gradient_norm == pytest.approx(solution.history[-1].gradient_norm, rel=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_start_is_left_alone(solver):
    problem, start = ils()
    copies = [entry.copy() for entry in start]
    for entry in start:
        entry.flags.writeable = False
    solve(problem, start, solver=solver, max_iter=5)
    for entry, copy in zip(start, copies, strict=True):
        np.testing.assert_array_equal(entry, copy)


def test_curvature_pays():
    hard, origin, _ = quadratic(300.0)
    for problem, start in (ils(), (hard, origin)):
        steps = {
            solver: solve(
                problem, start, solver=solver, tol=0.0, gradient_tol=1e-6, max_iter=3000
            ).n_iter
            for solver in LINE_SEARCH
        }
        assert steps["lbfgs"] < steps["steepest-descent"]
        assert steps["conjugate-gradient"] < steps["steepest-descent"]


def test_all_solvers_agree_on_an_anchored_problem():
    problem, start = ils()
    found = {
        solver: solve(problem, start, solver=solver, tol=1e-10, max_iter=1000).history[-1].value
        for solver in SOLVERS
    }
    best = min(found.values())
    assert found == pytest.approx(dict.fromkeys(found, best), rel=1e-6)


def test_alternation_moves_one_factor_at_a_time():
    problem, start = ils()
    points = []

    def objective(point):
        points.append(point)
        return problem.objective(point)

    drive(alternate(Problem(problem.manifold, objective), start), tol=0.0, max_iter=3)
    for before, now in zip(points, points[1:], strict=False):
        changed = [np.max(np.abs(a - b)) > 1e-12 for a, b in zip(before, now, strict=True)]
        assert sum(changed) <= 2  # one, or two where a rejected trial is followed by another factor


def test_alternation_leaves_the_other_factors_when_one_cannot_move():
    # the first block's gradient is wrong, so only the second may move, by itself
    def objective(point):
        return np.sum(point[0] ** 2) + np.sum(point[1] ** 2), (-2 * point[0], 2 * point[1])

    problem = Problem(Product((Euclidean((2,)), Euclidean((2,)))), objective)
    start = (np.ones(2), np.ones(2))
    solution = drive(alternate(problem, start), tol=0.0, gradient_tol=0.0, max_iter=20)
    np.testing.assert_array_equal(solution.point[0], start[0])
    np.testing.assert_allclose(solution.point[1], 0, atol=1e-6)
    assert solution.history[1].step > 0


def test_alternation_takes_several_steps_a_turn():
    problem, start = ils()
    one = drive(alternate(problem, start), tol=0.0, max_iter=3)
    three = drive(alternate(problem, start, n_inner=3), tol=0.0, max_iter=3)
    assert three.history[-1].value < one.history[-1].value
    assert three.history[-1].evaluations > one.history[-1].evaluations


@pytest.mark.parametrize("bad", ["nan", "inf", "gradient", "error"])
def test_search_steps_back_from_where_the_objective_is_not_finite(bad):
    # -log(1 - x) beyond its pole, where libraries answer in different ways
    visited = []

    def objective(point):
        (x,) = point
        visited.append(x)
        if np.any(x >= 1):
            if bad == "error":
                raise np.linalg.LinAlgError("not positive definite")
            if bad == "gradient":
                return -1e9, (np.full_like(x, np.nan),)
            return {"nan": np.nan, "inf": -np.inf}[bad], (np.ones_like(x),)
        return -np.sum(3 * x) - np.sum(np.log(1 - x)), (-3 + 1 / (1 - x),)

    problem = Problem(Product((Euclidean((2,)),)), objective)
    now = first_iterate(problem, (np.zeros(2),))
    following = Backtracking()(problem, now, steepest(problem.manifold, None, now), 5.0)
    assert np.any(visited[1] >= 1)
    assert following.progress.step > 0
    assert np.all(following.point[0] < 1)
    solution = solve(problem, (np.zeros(2),), tol=0.0)
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(solution.point[0], 2 / 3, atol=1e-6)


def test_search_does_not_swallow_other_errors():
    def objective(point):
        if np.any(point[0]):
            raise ZeroDivisionError
        return 1.0, (np.ones(2),)

    problem = Problem(Product((Euclidean((2,)),)), objective)
    with pytest.raises(ZeroDivisionError):
        solve(problem, (np.zeros(2),))


def test_search_gives_up_where_there_is_no_way_down():
    problem, start, _ = quadratic()
    now = first_iterate(problem, start)
    uphill = problem.manifold.combine(-1.0, steepest(problem.manifold, None, now), 0.0, start)
    following = Backtracking()(problem, now, uphill, None)
    assert following.progress.step == 0
    assert following.point is now.point
    assert following.progress.evaluations == 1  # the slope says it, without a trial


def test_search_takes_no_step_longer_than_the_longest():
    problem, start, _ = quadratic()
    now = first_iterate(problem, start)
    direction = steepest(problem.manifold, None, now)
    following = Backtracking(longest=0.05)(problem, now, direction, 1e6)
    length = np.linalg.norm(np.concatenate(following.point))
    assert length == pytest.approx(0.05)


def test_armijo_holds_at_every_step():
    problem, start = ils()
    sufficient, before = 0.3, None
    search = Backtracking(sufficient=sufficient)
    for count, now in enumerate(descend(problem, start, search=search)):
        if before is not None:
            slope = float(problem.manifold.inner(before.point, before.gradient, now.direction))
            bound = before.progress.value + sufficient * now.progress.step * slope
            assert now.progress.value <= bound + 1e-14
        before = now
        if count == 15:
            break


@pytest.mark.parametrize("direction", [polak_ribiere, LimitedMemory()])
def test_directions_descend_and_are_tangent(direction):
    problem, start = ils()
    before = None
    for count, now in enumerate(descend(problem, start, direction=direction)):
        if before is not None:
            manifold = problem.manifold
            assert float(manifold.inner(before.point, before.gradient, now.direction)) < 0
            flat = manifold.to_tangent(before.point, now.direction)
            for a, b in zip(flat, now.direction or (), strict=True):
                np.testing.assert_allclose(a, b, atol=1e-12)
        before = now
        if count == 15:
            break


def test_conjugate_gradient_on_a_quadratic_ends_after_as_many_steps_as_dimensions():
    # with a near-exact search: Hestenes, Stiefel 1952
    problem, start, _ = quadratic(4.0)
    search = Backtracking(sufficient=0.499)  # only the exact minimum of a parabola passes
    solution = drive(
        descend(problem, start, direction=polak_ribiere, search=search), tol=0.0, max_iter=100
    )
    assert solution.status is Status.CONVERGED
    assert solution.n_iter <= 25


def test_step_weights_slows_a_factor():
    problem, start, _ = quadratic()
    slow = Product((Euclidean((4,)), Euclidean((3,))), (1.0, 1e-6))
    solution = solve(Problem(slow, problem.objective), start, tol=0.0, max_iter=3)
    assert np.linalg.norm(solution.point[1]) < 1e-3 * np.linalg.norm(solution.point[0])


def test_unknown_solver():
    problem, start, _ = quadratic()
    with pytest.raises(KeyError, match="newton"):
        solve(problem, start, solver="newton")
