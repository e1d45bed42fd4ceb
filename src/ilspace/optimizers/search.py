"""How far to go along a heading."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ilspace._typing import Point
from ilspace.backend import is_linalg_error
from ilspace.optimizers.problem import Evaluation, Problem
from ilspace.optimizers.result import Iterate, Progress


def look(problem: Problem, point: Point) -> Evaluation | None:
    """Evaluate a point that may lie too far away.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    point : Point
        Where to look.

    Returns
    -------
    Evaluation or None
        None where the objective is not finite, or a matrix there is not definite.
    """
    try:
        seen = problem.evaluate(point)
    except Exception as error:
        if not is_linalg_error(error):
            raise
        return None
    return seen if seen.is_finite else None


def first_iterate(problem: Problem, start: Point) -> Iterate:
    """Evaluate the start.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    start : Point
        Where to begin.

    Returns
    -------
    Iterate
        The start as an iterate; its progress is NaN where the objective cannot be computed.
    """
    seen = look(problem, start)
    if seen is None:
        return Iterate(start, start, None, Progress(math.nan, math.nan, math.nan, 1))
    return Iterate(
        start, seen.gradient, None, Progress(seen.value, seen.gradient_norm, math.nan, 1)
    )


@dataclass(frozen=True)
class Backtracking:
    """Armijo's rule, both ways: shorten a step that is too long, lengthen one that is too short.

    The next trial is the minimum of the parabola through what is known, kept within
    `shortest_cut` and one half of the last. A first trial that decreases the objective by almost
    all that its slope predicts has hardly begun to climb again: it is lengthened, up to tenfold
    at a time, for as long as that pays. Value and gradient come together, so an accepted trial
    costs nothing more.

    Attributes
    ----------
    sufficient : float, default=1e-4
        Share of the predicted decrease that must be reached.
    straight : float, default=0.9
        Share of the predicted decrease from which a first trial counts as too short.
    steep : float, default=1e-10
        Cosine, with the gradient, from which a heading counts as descending.
    change : float, default=1.5
        Greatest ratio of a first trial to the last step: the curvature along headings of
        conjugate gradient changes little, while their decreases jump.
    longest : float, default=10
        Greatest Riemannian length of a step; the retractions are accurate within it.
    shortest_cut : float, default=0.1
        A trial is cut to no less than this share of the one before.
    max_trials : int, default=30
        Give up after so many.
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
        heading: Point,
        step: float | None = None,
        *,
        decrease: float = 0.0,
        last_step: float = 0.0,
    ) -> Iterate:
        """Walk along a heading.

        Parameters
        ----------
        problem : Problem
            What to minimise.
        now : Iterate
            Where we stand.
        heading : Point
            Descending tangent vector at ``now.point``.
        step : float, optional
            First trial, as a multiple of `heading`.
        decrease, last_step : float, default=0
            What the last step achieved, and its multiple. Where no `step` is given the first
            trial is one that may achieve as much again, not far from the last; without either, a
            step of length 1.

        Returns
        -------
        Iterate
            Where the walk ended; where it began, with step 0, if no acceptable step was found.
        """
        manifold, value = problem.manifold, now.progress.value
        slope = float(manifold.inner(now.point, now.gradient, heading))
        length = math.sqrt(max(float(manifold.inner(now.point, heading, heading)), 0.0))
        steep = self.steep * now.progress.gradient_norm * length
        if not (slope < -steep and 0 < length < math.inf):
            return now.stuck(now.progress.evaluations)
        if step is None:
            step = 2 * decrease / -slope if decrease > 0 else 1 / length
            if last_step > 0:
                step = min(max(step, last_step / self.change), last_step * self.change)
        limit = self.longest / length
        step = trial = min(step, limit)
        evaluations = now.progress.evaluations
        for _ in range(self.max_trials):
            seen = self._look(problem, now.point, heading, step)
            evaluations += 1
            if seen is not None and self._is_enough(seen, now, self.sufficient * step * slope):
                break
            step *= self._cut(seen, value, step * slope)
        else:
            return now.stuck(evaluations)
        # the first trial, or one that lengthened it: may it be too short?
        while step == trial < limit and value - seen.value >= -self.straight * step * slope:
            trial = min(step * self._growth(seen, value, step * slope), limit)
            further = self._look(problem, now.point, heading, trial)
            evaluations += 1
            wanted = min(seen.value, value + self.sufficient * trial * slope)
            if further is not None and further.value < wanted:
                seen, step = further, trial
        progress = Progress(seen.value, seen.gradient_norm, step, evaluations)
        return Iterate(seen.point, seen.gradient, heading, progress)

    def _look(
        self, problem: Problem, point: Point, heading: Point, step: float
    ) -> Evaluation | None:
        manifold = problem.manifold
        try:
            reached = manifold.retract(point, manifold.combine(step, heading))
        except Exception as error:
            if not is_linalg_error(error):
                raise
            return None
        return look(problem, reached)

    def _is_enough(self, seen: Evaluation, now: Iterate, wanted: float) -> bool:
        """Tell whether the objective fell as wanted; within rounding only the gradient can say."""
        value = now.progress.value
        if seen.value <= value + wanted:
            return seen.value < value or seen.gradient_norm < now.progress.gradient_norm
        return (
            seen.value <= value + seen.rounding and seen.gradient_norm < now.progress.gradient_norm
        )

    def _growth(self, seen: Evaluation, value: float, predicted: float) -> float:
        """Multiple of the last trial at which the same parabola is lowest."""
        excess = seen.value - value - predicted
        return min(-predicted / (2 * excess), 10.0) if excess > 0 else 10.0

    def _cut(self, seen: Evaluation | None, value: float, predicted: float) -> float:
        """Share of the last trial at which the parabola through three facts is lowest."""
        if seen is None:
            return self.shortest_cut
        lowest = -predicted / (2 * (seen.value - value - predicted))
        return min(max(lowest, self.shortest_cut), 0.5)
