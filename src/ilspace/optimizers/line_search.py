"""Line-search methods: a search direction and a line search along it, repeated."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ilspace._typing import Manifold, Point
from ilspace.backend import is_linalg_error
from ilspace.optimizers.problem import Evaluation, Iterate, Problem, Progress

Direction = Callable[[Manifold, "Iterate | None", Iterate], Point]
"""Takes the manifold, the previous iterate (None at first) and the current one; returns a search
direction."""


def steepest(manifold: Manifold, before: Iterate | None, now: Iterate) -> Point:
    """Negative gradient.

    Parameters
    ----------
    manifold : Manifold
        Where the iterates live.
    before : Iterate or None
        Not used.
    now : Iterate
        The current iterate.

    Returns
    -------
    Point
        The search direction, tangent at ``now.point``.
    """
    return manifold.combine(-1.0, now.gradient)


def polak_ribiere(manifold: Manifold, before: Iterate | None, now: Iterate) -> Point:
    r"""Conjugate gradient with the non-negative Polak-Ribière rule.

    .. math:: \beta = \max\Bigl(0,
       \frac{\langle g, g - \mathcal T g_-\rangle}{\|g_-\|^2}\Bigr)

    Where this is no descent direction, the line search rejects it and steepest descent is tried.

    Parameters
    ----------
    manifold : Manifold
        Where the iterates live.
    before : Iterate or None
        The previous iterate, None at first.
    now : Iterate
        The current iterate.

    Returns
    -------
    Point
        The search direction, tangent at ``now.point``.
    """
    descent = steepest(manifold, before, now)
    if before is None or now.direction is None:
        return descent
    square = now.progress.gradient_norm**2
    overlap = float(manifold.overlap(before.point, now.point, before.gradient, now.gradient))
    beta = (square - overlap) / before.progress.gradient_norm**2
    if beta <= 0:
        return descent
    direction = manifold.transport(before.point, now.point, now.direction)
    return manifold.combine(1.0, descent, beta, direction)


class LimitedMemory:
    """Limited-memory BFGS: curvature from the last few steps, carried along by transport.

    Steps without positive curvature are skipped, so that every direction is a descent direction.
    An instance remembers one run: make a new one for each.

    Parameters
    ----------
    memory : int, default=10
        How many steps to remember.
    """

    natural_step = 1.0

    def __init__(self, memory: int = 10) -> None:
        self._steps: deque[tuple[Point, Point, float]] = deque(maxlen=memory)

    def __call__(self, manifold: Manifold, before: Iterate | None, now: Iterate) -> Point:
        """Two-loop recursion at ``now.point``.

        Parameters
        ----------
        manifold : Manifold
            Where the iterates live.
        before : Iterate or None
            The previous iterate, None at first.
        now : Iterate
            The current iterate.

        Returns
        -------
        Point
            The search direction, tangent at ``now.point``.
        """
        if before is not None and now.direction is not None:
            self._remember(manifold, before, now)
        if not self._steps:
            direction = steepest(manifold, before, now)
            return manifold.combine(1 / max(now.progress.gradient_norm, 1.0), direction)

        def inner(u: Point, v: Point) -> float:
            return float(manifold.inner(now.point, u, v))

        direction, shares = now.gradient, []
        for step, change, curvature in reversed(self._steps):
            share = inner(step, direction) / curvature
            direction = manifold.combine(1.0, direction, -share, change)
            shares.append(share)
        _, change, curvature = self._steps[-1]
        scale = curvature / inner(change, change)
        direction = manifold.combine(scale, direction)
        for (step, change, curvature), share in zip(self._steps, reversed(shares), strict=True):
            share -= inner(change, direction) / curvature
            direction = manifold.combine(1.0, direction, share, step)
        return manifold.combine(-1.0, direction)

    def _remember(self, manifold: Manifold, before: Iterate, now: Iterate) -> None:
        def carry(vector: Point) -> Point:
            return manifold.transport(before.point, now.point, vector)

        kept = [(carry(step), carry(change)) for step, change, _ in self._steps]
        step = carry(manifold.combine(now.progress.step, now.direction))
        kept.append((step, manifold.combine(1.0, now.gradient, -1.0, carry(before.gradient))))
        self._steps.clear()
        for step, change in kept:
            curvature = float(manifold.inner(now.point, step, change))
            size = float(manifold.inner(now.point, step, step))
            # transport changes the stored pairs: keep those whose curvature is still positive
            if curvature > 1e-8 * size:
                self._steps.append((step, change, curvature))


def try_evaluate(problem: Problem, point: Point) -> Evaluation | None:
    """Evaluate a point where the objective may be undefined.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    point : Point
        Where to evaluate.

    Returns
    -------
    Evaluation or None
        None where the objective is not finite, or a matrix there is not positive definite.
    """
    try:
        seen = problem.evaluate(point)
    except Exception as error:
        if not is_linalg_error(error):
            raise
        return None
    return seen if seen.is_finite else None


def first_iterate(problem: Problem, start: Point) -> Iterate:
    """Evaluate the initial point.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    start : Point
        Initial point.

    Returns
    -------
    Iterate
        Its progress is NaN where the objective cannot be computed.
    """
    seen = try_evaluate(problem, start)
    if seen is None:
        return Iterate(start, start, None, Progress(math.nan, math.nan, math.nan, 1))
    return Iterate(
        start, seen.gradient, None, Progress(seen.value, seen.gradient_norm, math.nan, 1)
    )


@dataclass(frozen=True)
class Backtracking:
    """Armijo line search by quadratic interpolation, which may also lengthen the first trial.

    The next trial is the minimum of the interpolating parabola, kept between `shortest_cut` and
    one half of the last. A first trial that decreases the objective by almost all that its slope
    predicts is too short: it is lengthened, up to tenfold at a time, as long as the objective
    decreases. Value and gradient come together, so an accepted trial costs nothing more.

    Attributes
    ----------
    sufficient : float, default=1e-4
        Fraction of the predicted decrease that must be reached (Armijo condition).
    straight : float, default=0.9
        Fraction of the predicted decrease from which a first trial counts as too short.
    steep : float, default=1e-10
        Cosine with the negative gradient above which a direction is a descent direction.
    change : float, default=1.5
        Greatest ratio of a first trial to the last step: along conjugate directions the curvature
        changes little, while the decreases jump.
    longest : float, default=10
        Greatest Riemannian length of a step; the retractions are accurate within it.
    shortest_cut : float, default=0.1
        A trial is shortened to no less than this fraction of the one before.
    max_trials : int, default=30
        Maximum number of trials.
    """

    sufficient: float = 1e-4
    straight: float = 0.9
    steep: float = 1e-10
    change: float = 1.5
    longest: float = 10.0
    shortest_cut: float = 0.1
    max_trials: int = 30

    def __call__(
        self,
        problem: Problem,
        now: Iterate,
        direction: Point,
        step: float | None = None,
        *,
        decrease: float = 0.0,
        last_step: float = 0.0,
    ) -> Iterate:
        """Line search along a direction.

        Parameters
        ----------
        problem : Problem
            What to minimise.
        now : Iterate
            The current iterate.
        direction : Point
            Descent direction, tangent at ``now.point``.
        step : float, optional
            First trial, as a multiple of `direction`.
        decrease, last_step : float, default=0
            Decrease of the objective in the last step, and its step size. Where no `step` is
            given the first trial is one that predicts the same decrease, not far from the last
            step size; without either, a step of length 1.

        Returns
        -------
        Iterate
            The next one; the same point, with step 0, if no acceptable step was found.
        """
        manifold, value = problem.manifold, now.progress.value
        slope = float(manifold.inner(now.point, now.gradient, direction))
        length = math.sqrt(max(float(manifold.inner(now.point, direction, direction)), 0.0))
        steep = self.steep * now.progress.gradient_norm * length
        if not (slope < -steep and 0 < length < math.inf):
            return now.stalled(now.progress.evaluations)
        if step is None:
            step = 2 * decrease / -slope if decrease > 0 else 1 / length
            if last_step > 0:
                step = min(max(step, last_step / self.change), last_step * self.change)
        limit = self.longest / length
        step = trial = min(step, limit)
        evaluations = now.progress.evaluations
        for _ in range(self.max_trials):
            seen = self._try_step(problem, now.point, direction, step)
            evaluations += 1
            if seen is not None and self._is_enough(seen, now, self.sufficient * step * slope):
                break
            step *= self._cut(seen, value, step * slope)
        else:
            return now.stalled(evaluations)
        # is the first trial, or one that lengthened it, too short?
        while step == trial < limit and value - seen.value >= -self.straight * step * slope:
            trial = min(step * self._growth(seen, value, step * slope), limit)
            further = self._try_step(problem, now.point, direction, trial)
            evaluations += 1
            wanted = min(seen.value, value + self.sufficient * trial * slope)
            if further is not None and further.value < wanted:
                seen, step = further, trial
        progress = Progress(seen.value, seen.gradient_norm, step, evaluations)
        return Iterate(seen.point, seen.gradient, direction, progress)

    def _try_step(
        self, problem: Problem, point: Point, direction: Point, step: float
    ) -> Evaluation | None:
        manifold = problem.manifold
        try:
            reached = manifold.retract(point, manifold.combine(step, direction))
        except Exception as error:
            if not is_linalg_error(error):
                raise
            return None
        return try_evaluate(problem, reached)

    def _is_enough(self, seen: Evaluation, now: Iterate, wanted: float) -> bool:
        """Armijo condition; within rounding of the value the gradient norm decides."""
        value = now.progress.value
        if seen.value <= value + wanted:
            return seen.value < value or seen.gradient_norm < now.progress.gradient_norm
        return (
            seen.value <= value + seen.rounding and seen.gradient_norm < now.progress.gradient_norm
        )

    def _growth(self, seen: Evaluation, value: float, predicted: float) -> float:
        """Multiple of the last trial at which the interpolating parabola is lowest."""
        excess = seen.value - value - predicted
        return min(-predicted / (2 * excess), 10.0) if excess > 0 else 10.0

    def _cut(self, seen: Evaluation | None, value: float, predicted: float) -> float:
        """Fraction of the last trial at which the interpolating parabola is lowest."""
        if seen is None:
            return self.shortest_cut
        lowest = -predicted / (2 * (seen.value - value - predicted))
        return min(max(lowest, self.shortest_cut), 0.5)


def advance(
    problem: Problem,
    before: Iterate | None,
    now: Iterate,
    direction: Direction,
    search: Backtracking,
) -> Iterate:
    """One step: choose a search direction, line search, evaluate.

    Where the line search finds no step, steepest descent is tried before giving up.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    before : Iterate or None
        The previous iterate, None at first.
    now : Iterate
        The current iterate.
    direction : Direction
        Chooses the search direction.
    search : Backtracking
        The line search.

    Returns
    -------
    Iterate
        The next one; the same point with step 0 if no acceptable step was found.
    """
    tangent = direction(problem.manifold, before, now)
    following = search(
        problem,
        now,
        tangent,
        getattr(direction, "natural_step", None),
        decrease=0.0 if before is None else before.progress.value - now.progress.value,
        last_step=0.0 if before is None else now.progress.step,
    )
    if following.progress.step == 0 and direction is not steepest:
        descent = steepest(problem.manifold, before, now)
        following = search(problem, following, descent)
    return following


def descend(
    problem: Problem,
    start: Point,
    *,
    direction: Direction = steepest,
    search: Backtracking | None = None,
) -> Iterator[Iterate]:
    """Yield iterates of a line-search method, without end.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    start : Point
        Initial point.
    direction : Direction, default=steepest
        Chooses the search directions: :func:`steepest`, :func:`polak_ribiere` or a new
        :class:`LimitedMemory`.
    search : Backtracking, optional
        The line search.

    Yields
    ------
    Iterate
        The initial one, then one per step.
    """
    search = search or Backtracking()
    before, now = None, first_iterate(problem, start)
    while True:
        yield now
        before, now = now, advance(problem, before, now, direction, search)
