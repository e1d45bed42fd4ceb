"""The one loop: record, report, judge, stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from ilspace.optimizers.result import Iterate, Progress, Solution, Status


def judge(
    history: Sequence[Progress], *, tol: float, gradient_tol: float, patience: int, max_iter: int
) -> Status:
    """Say from its history whether a run is good enough, hopeless, or at its end.

    Parameters
    ----------
    history : sequence of Progress
        All iterates so far, the start first.
    tol : float
        The run has settled once the objective decreases by less than this share of its value an
        iteration, on average over the last `patience` iterations. 0 never settles.
    gradient_tol : float
        The run has converged once the gradient norm falls below this share of the first one, or
        below the square root of it where no step is found that decreases the objective.
    patience : int
        How many iterations to average over.
    max_iter : int
        Most steps to take.

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
        # no way down from here: at a minimum that is success, within what rounding lets one see
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
    """Consume iterates until one is good enough, hopeless, or the last.

    Parameters
    ----------
    iterates : iterable of Iterate
        A generator such as :func:`ilspace.optimizers.descend`.
    tol, gradient_tol : float
        As for :func:`judge`.
    patience, max_iter : int
        As for :func:`judge`.
    on_step : callable, optional
        Called with the number of steps and the iterate, the start included; a true answer stops
        the run.

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
