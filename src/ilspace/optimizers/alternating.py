"""The alternating scheme: one factor of the product at a time, the others fixed."""

from __future__ import annotations

from collections.abc import Iterator

from ilspace._typing import Point
from ilspace.optimizers.line_search import Backtracking, first_iterate
from ilspace.optimizers.problem import Iterate, Problem


def alternate(
    problem: Problem, start: Point, *, n_inner: int = 1, search: Backtracking | None = None
) -> Iterator[Iterate]:
    """Yield iterates that minimise over each factor of a product in turn, without end.

    Each turn is a few steps of steepest descent in one factor: source projection, target
    projection, metric, slacks. One iterate is yielded per round through all factors.

    Parameters
    ----------
    problem : Problem
        What to minimise, over a product of manifolds.
    start : tuple of array
        Initial point.
    n_inner : int, default=1
        Steps per turn.
    search : Backtracking, optional
        The line search.

    Yields
    ------
    Iterate
        The initial one, then one per round.
    """
    search = search or Backtracking()
    now = first_iterate(problem, start)
    lasts: list[dict[str, float]] = [{} for _ in start]
    while True:
        yield now
        moved = False
        for factor in range(len(start)):
            for _ in range(n_inner):
                direction = _only(factor, now.gradient)
                following = search(problem, now, direction, **lasts[factor])
                if following.progress.step:
                    lasts[factor] = {
                        "decrease": now.progress.value - following.progress.value,
                        "last_step": following.progress.step,
                    }
                    now, moved = following, True
                else:  # the other factors may still move
                    spent = now.progress._replace(evaluations=following.progress.evaluations)
                    now = now._replace(progress=spent)
        if not moved:
            now = now.stalled(now.progress.evaluations)


def _only(factor: int, gradient: Point) -> Point:
    """Steepest descent in one factor."""
    return tuple(
        -entry if position == factor else 0 * entry for position, entry in enumerate(gradient)
    )
