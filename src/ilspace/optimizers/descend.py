"""Line-search methods: a direction and a search, repeated."""

from __future__ import annotations

from collections.abc import Iterator

from ilspace._typing import Point
from ilspace.optimizers.directions import Direction, steepest
from ilspace.optimizers.problem import Problem
from ilspace.optimizers.result import Iterate
from ilspace.optimizers.search import Backtracking, first_iterate


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
    following = search(
        problem,
        now,
        heading,
        getattr(direction, "natural_step", None),
        decrease=0.0 if before is None else before.progress.value - now.progress.value,
        last_step=0.0 if before is None else now.progress.step,
    )
    if following.progress.step == 0 and direction is not steepest:
        downhill = steepest(problem.manifold, before, now)
        following = search(problem, following, downhill)
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
