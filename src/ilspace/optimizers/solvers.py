"""The one loop that drives every method, and the methods by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from ilspace._typing import Point
from ilspace.optimizers.alternating import alternate
from ilspace.optimizers.line_search import LimitedMemory, descend, polak_ribiere, steepest
from ilspace.optimizers.problem import Iterate, Problem, Progress, Solution, Status
from ilspace.optimizers.projected import descend_projected
from ilspace.optimizers.stochastic import AdaptiveMoments, Momentum, stochastic_descent


def judge(
    history: Sequence[Progress], *, tol: float, gradient_tol: float, patience: int, max_iter: int
) -> Status:
    """Decide from its history whether a run has converged, has failed, or goes on.

    Parameters
    ----------
    history : sequence of Progress
        All iterates so far, the initial one first.
    tol : float
        The run has settled once the relative decrease per iteration, averaged over the last
        `patience` iterations, is below this. 0 never settles.
    gradient_tol : float
        The run has converged once the gradient norm relative to the first one is below this, or
        below its square root where no step is found that decreases the objective.
    patience : int
        Number of iterations to average over.
    max_iter : int
        Maximum number of steps.

    Returns
    -------
    Status
        ``Status.RUNNING`` to go on.
    """
    now, n_steps = history[-1], len(history) - 1
    if not (math.isfinite(now.value) and math.isfinite(now.gradient_norm)):
        return Status.DIVERGED
    if now.gradient_norm <= gradient_tol * history[0].gradient_norm:
        return Status.CONVERGED
    if tol and n_steps >= patience:
        decrease = history[-1 - patience].value - now.value
        if decrease <= tol * patience * abs(now.value):
            return Status.SETTLED
    if now.step == 0:
        # no descent found: at a minimum that is convergence, to the accuracy that rounding allows
        at_minimum = now.gradient_norm <= math.sqrt(gradient_tol) * history[0].gradient_norm
        return Status.CONVERGED if at_minimum else Status.STALLED
    return Status.EXHAUSTED if n_steps >= max_iter else Status.RUNNING


def drive(
    iterates: Iterable[Iterate],
    *,
    tol: float = 1e-6,
    gradient_tol: float = 1e-8,
    patience: int = 3,
    max_iter: int = 1000,
    on_step: Callable[[int, Iterate], object] | None = None,
) -> Solution:
    """Consume iterates until a stopping criterion is met.

    Parameters
    ----------
    iterates : iterable of Iterate
        A generator such as :func:`ilspace.optimizers.line_search`.
    tol, gradient_tol : float
        As for :func:`judge`.
    patience, max_iter : int
        As for :func:`judge`.
    on_step : callable, optional
        Called with the number of steps and the iterate, the initial one included; a true return
        value stops the run.

    Returns
    -------
    Solution
        The last finite point, the status and the history.
    """
    history: list[Progress] = []
    point = None
    for count, now in enumerate(iterates):
        history.append(now.progress)
        status = judge(
            history, tol=tol, gradient_tol=gradient_tol, patience=patience, max_iter=max_iter
        )
        if status is not Status.DIVERGED or point is None:
            point = now.point
        if on_step is not None and on_step(count, now) and status is Status.RUNNING:
            status = Status.STOPPED
        if status is not Status.RUNNING:
            return Solution(point, status, tuple(history))
    raise ValueError("The iterates came to an end before the driver did; generators must not.")


Generator = Callable[[Problem, Point], Iterator[Iterate]]

SOLVERS: Mapping[str, Generator] = MappingProxyType(
    {
        "conjugate-gradient": lambda problem, start: descend(
            problem, start, direction=polak_ribiere
        ),
        "steepest-descent": lambda problem, start: descend(problem, start, direction=steepest),
        "lbfgs": lambda problem, start: descend(problem, start, direction=LimitedMemory()),
        "alternating": alternate,
        "projected-gradient": descend_projected,
    }
)
"""Generators of iterates by name; each step uses the whole objective."""

STOCHASTIC_SOLVERS: Mapping[str, Generator] = MappingProxyType(
    {
        "sgd": lambda problem, start: stochastic_descent(problem, start, rule=Momentum()),
        "adam": lambda problem, start: stochastic_descent(problem, start, rule=AdaptiveMoments()),
    }
)
"""Those whose steps use one mini-batch; an iterate is a mean over 20 steps and more."""


def solve(
    problem: Problem, start: Point, *, solver: str = "conjugate-gradient", **stop
) -> Solution:
    """Minimise with a solver chosen by name.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    start : Point
        Initial point.
    solver : str, default="conjugate-gradient"
        A key of :data:`SOLVERS` or :data:`STOCHASTIC_SOLVERS`.
    **stop
        Stopping criteria and callback; see :func:`drive`.

    Returns
    -------
    Solution
        Where it ended.
    """
    generator = {**SOLVERS, **STOCHASTIC_SOLVERS}[solver]
    return drive(generator(problem, start), **stop)
