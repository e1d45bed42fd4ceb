"""The one loop: every way to end, and what is left behind."""

import itertools
import math

import numpy as np
import pytest

from ilspace.manifolds import Euclidean, Product
from ilspace.optimizers import (
    SOLVERS,
    Iterate,
    Problem,
    Progress,
    Status,
    descend,
    drive,
    solve,
)
from ilspace.optimizers.solvers import judge

LINE = Problem(Product((Euclidean((2,)),)), lambda point: (np.sum(point[0] ** 2), (2 * point[0],)))
START = (np.asarray([1.0, -2.0]),)


def progress(value, gradient_norm=1.0, step=1.0, evaluations=1):
    return Progress(value, gradient_norm, step, evaluations)


def iterates(*history):
    """Iterates whose points are their numbers; the last one repeats for ever."""
    for count in itertools.count():
        yield Iterate(count, None, None, history[min(count, len(history) - 1)])


@pytest.mark.parametrize(
    ("history", "status"),
    [
        ([progress(3.0), progress(2.0)], Status.RUNNING),
        ([progress(3.0), progress(2.0, gradient_norm=1e-9)], Status.CONVERGED),
        ([progress(3.0, gradient_norm=0.0, step=math.nan)], Status.CONVERGED),
        ([progress(3.0), progress(2.0, step=0.0)], Status.STALLED),
        ([progress(3.0)] + [progress(2.0)] * 4, Status.SETTLED),
        ([progress(9.0 - k) for k in range(6)], Status.EXHAUSTED),
        ([progress(math.nan)], Status.DIVERGED),
        ([progress(3.0), progress(math.inf)], Status.DIVERGED),
        ([progress(3.0), progress(2.0, gradient_norm=math.nan)], Status.DIVERGED),
    ],
)
def test_judge(history, status):
    assert judge(history, tol=1e-6, gradient_tol=1e-8, patience=3, max_iter=5) is status


def test_judge_averages_over_its_patience():
    # no decrease in one step, enough in three
    history = [progress(value) for value in (4.0, 3.0, 3.0, 3.0)]
    options = {"tol": 0.01, "gradient_tol": 0.0, "max_iter": 99}
    assert judge(history, patience=3, **options) is Status.RUNNING
    assert judge(history, patience=2, **options) is Status.SETTLED


@pytest.mark.parametrize("patience", [1, 2, 5])
@pytest.mark.parametrize(("rate", "status"), [(0.9, Status.SETTLED), (1.1, Status.RUNNING)])
def test_an_even_decrease_is_judged_alike_whatever_the_patience(patience, rate, status):
    # after a long way down, per iteration about 1 % of the value that is reached
    history = [progress(1000.0)] + [progress(1.0 + 0.01 * rate * k) for k in range(9, -1, -1)]
    options = {"tol": 0.01, "gradient_tol": 0.0, "max_iter": 99}
    assert judge(history, patience=patience, **options) is status


@pytest.mark.parametrize("unit", [1e-7, 1e7])
@pytest.mark.parametrize("smaller", [1e-9, 1e-7, 1e-5, 1e-3])
@pytest.mark.parametrize("step", [0.0, 1.0])
def test_the_unit_of_the_objective_does_not_matter(unit, smaller, step):
    options = {"tol": 1e-6, "gradient_tol": 1e-8, "patience": 1, "max_iter": 99}

    def verdict(unit):
        history = [progress(3.0 * unit, unit), progress(2.0 * unit, smaller * unit, step)]
        return judge(history, **options)

    assert verdict(unit) is verdict(1.0)


@pytest.mark.parametrize(("smaller", "status"), [(1e-5, Status.CONVERGED), (1e-3, Status.STALLED)])
def test_without_a_way_down_half_the_digits_of_the_gradient_are_enough(smaller, status):
    # near a minimum the value has lost half of its digits when the gradient still has them
    history = [progress(3.0), progress(2.0, gradient_norm=smaller, step=0.0)]
    assert judge(history, tol=0.0, gradient_tol=1e-8, patience=3, max_iter=99) is status


def test_tol_zero_never_settles():
    options = {"tol": 0.0, "gradient_tol": 0.0, "patience": 3, "max_iter": 99}
    assert judge([progress(1.0)] * 50, **options) is Status.RUNNING


def test_converged():
    solution = solve(LINE, START, tol=0.0)
    assert solution.status is Status.CONVERGED
    assert solution.status.is_success
    np.testing.assert_allclose(solution.point[0], 0, atol=1e-7)


def test_settled():
    solution = drive(descend(LINE, START), tol=10.0, patience=1)
    assert solution.status is Status.SETTLED
    assert solution.status.is_success


def test_exhausted():
    slow = Problem(
        Product((Euclidean((2,)),)),
        lambda point: (
            point[0][0] ** 2 + 50 * point[0][1] ** 2,
            (point[0] * np.asarray([2.0, 100.0]),),
        ),
    )
    solution = solve(slow, START, solver="steepest-descent", tol=0.0, max_iter=3)
    assert solution.status is Status.EXHAUSTED
    assert not solution.status.is_success
    assert solution.n_iter == 3
    assert len(solution.history) == 4


@pytest.mark.parametrize("solver", SOLVERS)
def test_stalled(solver):
    # a gradient that points down: every trial goes up
    uphill = Problem(
        Product((Euclidean((2,)),)), lambda point: (np.sum(point[0] ** 2), (-2 * point[0],))
    )
    solution = solve(uphill, START, solver=solver)
    assert solution.status is Status.STALLED
    assert solution.history[-1].step == 0
    np.testing.assert_array_equal(solution.point[0], START[0])


@pytest.mark.parametrize("solver", SOLVERS)
def test_diverged_at_the_start(solver):
    nowhere = Problem(Product((Euclidean((2,)),)), lambda point: (np.nan, (np.nan * point[0],)))
    solution = solve(nowhere, START, solver=solver)
    assert solution.status is Status.DIVERGED
    assert solution.n_iter == 0


def test_diverged_later_leaves_the_last_finite_point():
    solution = drive(iterates(progress(3.0), progress(2.0), progress(math.nan)))
    assert solution.status is Status.DIVERGED
    assert solution.point == 1


def test_stopped_by_the_callback():
    seen = []

    def on_step(count, now):
        seen.append((count, now.progress.value))
        return count == 2

    solution = drive(iterates(*(progress(9.0 - k) for k in range(8))), on_step=on_step)
    assert solution.status is Status.STOPPED
    assert solution.status.is_success
    assert solution.point == 2
    assert seen == [(0, 9.0), (1, 8.0), (2, 7.0)]
    assert tuple(each.value for each in solution.history) == (9.0, 8.0, 7.0)


def test_callback_that_answers_nothing_stops_nothing():
    answers = []
    solution = drive(
        descend(LINE, START), tol=0.0, on_step=lambda count, now: answers.append(count)
    )
    assert solution.status is Status.CONVERGED
    assert answers == list(range(solution.n_iter + 1))


def test_a_verdict_is_not_overruled_by_the_callback():
    solution = drive(descend(LINE, START), tol=0.0, max_iter=0, on_step=lambda *_: True)
    assert solution.status is Status.EXHAUSTED


def test_iterates_must_not_end():
    with pytest.raises(ValueError, match="came to an end"):
        drive(iter([Iterate(0, None, None, progress(1.0))]))


def test_every_status_explains_itself_once():
    assert len({status.value for status in Status}) == len(Status)
    assert {status for status in Status if status.is_success} == {
        Status.CONVERGED,
        Status.SETTLED,
        Status.STOPPED,
    }
