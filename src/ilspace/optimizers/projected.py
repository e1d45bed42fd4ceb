"""Projected gradient descent, the method that the paper compares with."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ilspace._typing import Array, Point
from ilspace.backend import dot
from ilspace.optimizers.line_search import first_iterate, try_evaluate
from ilspace.optimizers.problem import Iterate, Problem, Progress


def descend_projected(
    problem: Problem, start: Point, *, sufficient: float = 1e-4, max_trials: int = 40
) -> Iterator[Iterate]:
    """Yield iterates of projected gradient descent with backtracking, without end.

    A step leaves the manifold along the Euclidean gradient and returns by the nearest-point
    projection; it is halved until the objective has decreased enough, and the next one begins
    at twice its length.

    Parameters
    ----------
    problem : Problem
        What to minimise, over a product of manifolds.
    start : tuple of array
        Initial point.
    sufficient : float, default=1e-4
        Fraction of the decrease predicted by the Euclidean gradient that must be reached.
    max_trials : int, default=40
        Maximum number of halvings per step.

    Yields
    ------
    Iterate
        The initial one, then one per step.
    """
    manifold, step = problem.manifold, None
    now = first_iterate(problem, start)
    while True:
        yield now
        _, gradient = problem.objective(now.point)
        evaluations = now.progress.evaluations + 1
        square = sum(_square(entry) for entry in gradient)
        step = 2 * step if step else 1 / math.sqrt(square) if square else 1.0
        for _ in range(max_trials):
            ambient = tuple(x - step * g for x, g in zip(now.point, gradient, strict=True))
            reached = manifold.project(ambient)
            seen = try_evaluate(problem, reached)
            evaluations += 1
            moved = sum(_square(x - y) for x, y in zip(reached, now.point, strict=True))
            if seen and seen.value <= now.progress.value - sufficient * moved / step:
                progress = Progress(seen.value, seen.gradient_norm, step, evaluations)
                now = Iterate(seen.point, seen.gradient, None, progress)
                break
            step /= 2
        else:
            now = now.stalled(evaluations)


def _square(entry: Array) -> float:
    """Sum of the squares of an array's entries."""
    return float(dot(entry, entry))
