"""Which way to go: headings made of the gradient and of the way that led here."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ilspace._typing import Manifold, Point
from ilspace.optimizers.result import Iterate

Direction = Callable[[Manifold, "Iterate | None", Iterate], Point]
"""Takes the manifold, the iterate before (None at the start) and the one now; returns a heading."""


def steepest(manifold: Manifold, before: Iterate | None, now: Iterate) -> Point:
    """Against the gradient.

    Parameters
    ----------
    manifold : Manifold
        Where the iterates live.
    before : Iterate or None
        Not looked at.
    now : Iterate
        Where we stand.

    Returns
    -------
    Point
        The heading, tangent at ``now.point``.
    """
    return manifold.combine(-1.0, now.gradient)


def polak_ribiere(manifold: Manifold, before: Iterate | None, now: Iterate) -> Point:
    r"""Conjugate gradient with the non-negative Polak-Ribière rule.

    .. math:: \beta = \max\Bigl(0,
       \frac{\langle g, g - \mathcal T g_-\rangle}{\|g_-\|^2}\Bigr)

    Where the heading would not descend, the search refuses it and the steepest one is tried.

    Parameters
    ----------
    manifold : Manifold
        Where the iterates live.
    before : Iterate or None
        The iterate before, None at the start.
    now : Iterate
        Where we stand.

    Returns
    -------
    Point
        The heading, tangent at ``now.point``.
    """
    downhill = steepest(manifold, before, now)
    if before is None or now.heading is None:
        return downhill
    square = now.progress.gradient_norm**2
    overlap = float(manifold.overlap(before.point, now.point, before.gradient, now.gradient))
    beta = (square - overlap) / before.progress.gradient_norm**2
    if beta <= 0:
        return downhill
    heading = manifold.transport(before.point, now.point, now.heading)
    return manifold.combine(1.0, downhill, beta, heading)


class LimitedMemory:
    """Limited-memory BFGS: curvature from the last few steps, carried along by transport.

    Steps along which the gradient does not grow are left out, so that every heading descends.
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
            The iterate before, None at the start.
        now : Iterate
            Where we stand.

        Returns
        -------
        Point
            The heading, tangent at ``now.point``.
        """
        if before is not None and now.heading is not None:
            self._remember(manifold, before, now)
        if not self._steps:
            heading = steepest(manifold, before, now)
            return manifold.combine(1 / max(now.progress.gradient_norm, 1.0), heading)

        def inner(u: Point, v: Point) -> float:
            return float(manifold.inner(now.point, u, v))

        heading, shares = now.gradient, []
        for step, change, curvature in reversed(self._steps):
            share = inner(step, heading) / curvature
            heading = manifold.combine(1.0, heading, -share, change)
            shares.append(share)
        _, change, curvature = self._steps[-1]
        scale = curvature / inner(change, change)
        heading = manifold.combine(scale, heading)
        for (step, change, curvature), share in zip(self._steps, reversed(shares), strict=True):
            share -= inner(change, heading) / curvature
            heading = manifold.combine(1.0, heading, share, step)
        return manifold.combine(-1.0, heading)

    def _remember(self, manifold: Manifold, before: Iterate, now: Iterate) -> None:
        def carry(vector: Point) -> Point:
            return manifold.transport(before.point, now.point, vector)

        kept = [(carry(step), carry(change)) for step, change, _ in self._steps]
        step = carry(manifold.combine(now.progress.step, now.heading))
        kept.append((step, manifold.combine(1.0, now.gradient, -1.0, carry(before.gradient))))
        self._steps.clear()
        for step, change in kept:
            curvature = float(manifold.inner(now.point, step, change))
            size = float(manifold.inner(now.point, step, step))
            # transport bends the remembered pairs: keep those whose curvature is still positive
            if curvature > 1e-8 * size:
                self._steps.append((step, change, curvature))
