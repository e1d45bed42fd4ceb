"""Matrices with columns of length 1."""

from __future__ import annotations

from dataclasses import dataclass

from ilspace._typing import Array
from ilspace.backend import array_namespace, dot


@dataclass(frozen=True)
class Oblique:
    r"""Matrices with columns of length 1, shape (n, k): a product of k spheres.

    Metric: the trace inner product. Retraction: the columns of :math:`X + \xi` divided by their
    lengths, which are never below 1 for a tangent :math:`\xi`; of second order. Transport:
    projection onto the tangent space of arrival.

    Attributes
    ----------
    n : int
        Number of rows.
    k : int
        Number of columns, any number.
    """

    n: int
    k: int

    @property
    def dimension(self) -> int:
        """Number of degrees of freedom."""
        return (self.n - 1) * self.k

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        """Trace inner product."""
        return dot(u, v)

    def to_tangent(self, x: Array, g: Array) -> Array:
        """Remove what would change the length of a column."""
        return g - x * array_namespace(x).sum(x * g, axis=0)[None, :]

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        """Project: the metric is the ambient one."""
        return self.to_tangent(x, g)

    def retract(self, x: Array, u: Array) -> Array:
        """Divide each column of ``x + u`` by its length."""
        return self.project(x + u)

    def transport(self, x: Array, y: Array, u: Array) -> Array:
        """Project onto the tangent space at `y`."""
        return self.to_tangent(y, u)

    def overlap(self, x: Array, y: Array, u: Array, v: Array) -> Array:
        """Trace inner product: what the projection removes from `u` is orthogonal to `v`."""
        return dot(u, v)

    def combine(self, a: float, u: Array, b: float = 0.0, v: Array | None = None) -> Array:
        """Linear combination of one or two tangent vectors."""
        return a * u if v is None else a * u + b * v

    def project(self, x: Array) -> Array:
        """Divide each column by its length, which must not be 0."""
        return x / array_namespace(x).linalg.vector_norm(x, axis=0)[None, :]
