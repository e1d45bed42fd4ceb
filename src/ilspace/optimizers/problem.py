"""A function on a manifold."""

from __future__ import annotations

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
        Changes of the value below this mean nothing, in the floating type it was computed in.
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
    blocks : iterator of Objective, optional
        Cheap estimates of the function, one after another without end, for the stochastic
        solvers; the others do not look at them. Without, the function is its own estimate.
    """

    manifold: Manifold
    objective: Objective
    blocks: Iterator[Objective] | None = None

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
