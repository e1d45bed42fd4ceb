"""Line-search methods: a direction and a search, repeated."""

from __future__ import annotations

from collections.abc import Iterator

from ilspace._typing import Point
from ilspace.optimizers.directions import Direction, steepest
from ilspace.optimizers.problem import Problem
from ilspace.optimizers.result import Iterate
from ilspace.optimizers.search import Backtracking, first_iterate


def guess_step(
    problem: Problem, before: Iterate | None, now: Iterate, heading: Point
) -> float | None:
    """First trial that would decrease the objective as much as the last step did.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    before : Iterate or None
        The iterate before, None at the start.
    now : Iterate
        Where we stand.
    heading : Point
        Where we go.

    Returns
    -------
    float or None
        A multiple of `heading`; None at the start, where nothing is known.
    """
    if before is None:
        return None
    slope = float(problem.manifold.inner(now.point, now.gradient, heading))
    decrease = before.progress.value - now.progress.value
    return 2 * decrease / -slope if slope < 0 < decrease else None


def advance(
    problem: Problem,
    before: Iterate | None,
    now: Iterate,
    direction: Direction,
    search: Backtracking,
) -> Iterate:
    """One step: pick a heading, walk along it, look around.

    Where the heading leads nowhere the steepest one is tried before giving up.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    before : Iterate or None
        The iterate before, None at the start.
    now : Iterate
        Where we stand.
    direction : Direction
        Picks the heading.
    search : Backtracking
        Walks along it.

    Returns
    -------
    Iterate
        The next one; the same point with step 0 if there was no way down.
    """
    heading = direction(problem.manifold, before, now)
    step = getattr(direction, "natural_step", None) or guess_step(problem, before, now, heading)
    following = search(problem, now, heading, step)
    if following.progress.step == 0 and direction is not steepest:
        downhill = steepest(problem.manifold, before, now)
        following = search(problem, following, downhill, None)
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
        Where to begin.
    direction : Direction, default=steepest
        Picks the headings: :func:`steepest`, :func:`polak_ribiere` or a fresh
        :class:`LimitedMemory`.
    search : Backtracking, optional
        Walks along them.

    Yields
    ------
    Iterate
        The start, then one a step.
    """
    search = search or Backtracking()
    before, now = None, first_iterate(problem, start)
    while True:
        yield now
        before, now = now, advance(problem, before, now, direction, search)
