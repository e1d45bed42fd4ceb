"""A function to minimise on a manifold, the iterates of an optimizer, and its solution."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ilspace._typing import Manifold, Objective, Point
from ilspace.backend import spacing


class Evaluation(NamedTuple):
    """The objective at a point.

    Attributes
    ----------
    point : Point
        The point.
    value : float
        The objective there, NaN where it could not be computed.
    gradient : Point
        Its Riemannian gradient.
    gradient_norm : float
        Riemannian norm of the gradient.
    rounding : float
        Changes of the value below this are rounding errors of its floating type.
    """

    point: Point
    value: float
    gradient: Point
    gradient_norm: float
    rounding: float

    @property
    def is_finite(self) -> bool:
        """Whether value and gradient are usable."""
        return math.isfinite(self.value) and math.isfinite(self.gradient_norm)


@dataclass(frozen=True)
class Problem:
    """Minimise an objective over a manifold.

    Attributes
    ----------
    manifold : Manifold
        Where the points live.
    objective : Objective
        Value and Euclidean gradient of the function.
    batches : iterator of Objective, optional
        Mini-batch objectives without end, for the stochastic solvers; the others do not use
        them. By default the objective itself.
    """

    manifold: Manifold
    objective: Objective
    batches: Iterator[Objective] | None = None

    def evaluate(self, point: Point) -> Evaluation:
        """Value, Riemannian gradient and its norm.

        Parameters
        ----------
        point : Point
            A point of the manifold.

        Returns
        -------
        Evaluation
            The values there.
        """
        value, gradient = self.objective(point)
        gradient = self.manifold.riemannian_gradient(point, gradient)
        square = float(self.manifold.inner(point, gradient, gradient))
        norm = math.sqrt(max(square, 0.0)) if math.isfinite(square) else math.nan
        return Evaluation(point, float(value), gradient, norm, 4 * spacing(value))


class Status(enum.Enum):
    """Why a run stopped; the value is a sentence for users."""

    RUNNING = "still running"
    CONVERGED = "the gradient vanished, relative to the first one"
    SETTLED = "the objective no longer decreases by more than tol"
    STALLED = "the search found no acceptable step"
    STOPPED = "the callback asked to stop"
    EXHAUSTED = "max_iter was reached before the objective settled"
    DIVERGED = "a value stopped being finite"

    @property
    def is_success(self) -> bool:
        """Whether a stopping criterion was met."""
        return self in (Status.CONVERGED, Status.SETTLED, Status.STOPPED)

    @classmethod
    def _missing_(cls, value: object) -> Status | None:
        """Find a status by its name too, which files keep: sentences may change."""
        return cls.__members__.get(str(value))

    def __reduce__(self):
        """Say how a file restores it."""
        return Status, (self.name,)


class Progress(NamedTuple):
    """One line of history: host scalars only, cheap to keep, plot and serialise.

    Attributes
    ----------
    value : float
        The objective.
    gradient_norm : float
        Riemannian norm of its gradient.
    step : float
        Step size, as a multiple of the search direction; NaN at the initial point, 0 where no
        acceptable step was found.
    evaluations : int
        How often the objective had been evaluated by then.
    """

    value: float
    gradient_norm: float
    step: float
    evaluations: int


class Iterate(NamedTuple):
    """One iterate of an optimizer.

    Attributes
    ----------
    point : Point
        The point.
    gradient : Point
        Riemannian gradient there.
    direction : Point or None
        Search direction that led here, tangent at the previous point; None at the initial one.
    progress : Progress
        Its line of history.
    """

    point: Point
    gradient: Point
    direction: Point | None
    progress: Progress

    def stalled(self, evaluations: int) -> Iterate:
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
    """Where an optimization ended, why, and its history.

    Attributes
    ----------
    point : Point
        The last point with a finite value.
    status : Status
        Why it stopped.
    history : tuple of Progress
        One line per iterate, the initial one included.
    """

    point: Point
    status: Status
    history: tuple[Progress, ...]

    @property
    def n_iter(self) -> int:
        """Number of steps taken."""
        return len(self.history) - 1
