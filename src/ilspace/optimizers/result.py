"""What an optimization is while it runs, and what it leaves behind."""

from __future__ import annotations

import enum
from typing import NamedTuple

from ilspace._typing import Point


class Status(enum.Enum):
    """Why a run stopped; the value is a sentence for people."""

    RUNNING = "still running"
    CONVERGED = "the gradient vanished, relative to the first one"
    SETTLED = "the objective no longer decreases by more than tol"
    STALLED = "the search found no acceptable step"
    STOPPED = "the callback asked to stop"
    EXHAUSTED = "max_iter was reached before the objective settled"
    DIVERGED = "a value stopped being finite"

    @property
    def is_success(self) -> bool:
        """Whether the run ended where its stopping rule wanted it to."""
        return self in (Status.CONVERGED, Status.SETTLED, Status.STOPPED)


class Progress(NamedTuple):
    """One line of history: host scalars only, cheap to keep, plot and serialise.

    Attributes
    ----------
    value : float
        The objective.
    gradient_norm : float
        Riemannian norm of its gradient.
    step : float
        Multiple of the heading that was walked to get here; NaN at the start, 0 where no
        acceptable step was found.
    evaluations : int
        How often the objective had been evaluated by then.
    """

    value: float
    gradient_norm: float
    step: float
    evaluations: int


class Iterate(NamedTuple):
    """Where an optimizer stands.

    Attributes
    ----------
    point : Point
        The point.
    gradient : Point
        Riemannian gradient there.
    heading : Point or None
        The tangent vector that led here, at the point left behind; None at the start.
    progress : Progress
        Its line of history.
    """

    point: Point
    gradient: Point
    heading: Point | None
    progress: Progress

    def stuck(self, evaluations: int) -> Iterate:
        """The same point, from which no acceptable step was found.

        Parameters
        ----------
        evaluations : int
            How often the objective had been evaluated by then.

        Returns
        -------
        Iterate
            With step 0.
        """
        return self._replace(progress=self.progress._replace(step=0.0, evaluations=evaluations))


class Solution(NamedTuple):
    """Where an optimization ended, why, and by which way.

    Attributes
    ----------
    point : Point
        The last point with a finite value.
    status : Status
        Why it stopped.
    history : tuple of Progress
        One line an iterate, the start included.
    """

    point: Point
    status: Status
    history: tuple[Progress, ...]

    @property
    def n_iter(self) -> int:
        """Number of steps taken."""
        return len(self.history) - 1
