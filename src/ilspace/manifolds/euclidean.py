"""The flat space."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ilspace._typing import Array
from ilspace.backend import dot


@dataclass(frozen=True)
class Euclidean:
    """Arrays of one shape, without constraint.

    Metric: the sum of products. Retraction: addition. Transport: the identity.

    Attributes
    ----------
    shape : tuple of int
        Shape of the points.
    """

    shape: tuple[int, ...]

    @property
    def dimension(self) -> int:
        """Number of degrees of freedom."""
        return math.prod(self.shape)

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        """Sum of products."""
        return dot(u, v)

    def to_tangent(self, x: Array, g: Array) -> Array:
        """Every vector is tangent."""
        return g

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        """The Euclidean gradient itself."""
        return g

    def retract(self, x: Array, u: Array) -> Array:
        """Add the step."""
        return x + u

    def transport(self, x: Array, y: Array, u: Array) -> Array:
        """The identity."""
        return u

    def overlap(self, x: Array, y: Array, u: Array, v: Array) -> Array:
        """Sum of products."""
        return dot(u, v)

    def combine(self, a: float, u: Array, b: float = 0.0, v: Array | None = None) -> Array:
        """Linear combination of one or two tangent vectors."""
        return a * u if v is None else a * u + b * v

    def project(self, x: Array) -> Array:
        """Every array is a point."""
        return x
