"""Matrices with orthonormal columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Literal

from ilspace._typing import Array
from ilspace.backend import array_namespace, cholesky_frame, dot, spectral_map, symmetric_part


@dataclass(frozen=True)
class Stiefel:
    r"""Matrices with orthonormal columns, :math:`X^\top X = I_p`, shape (n, p).

    Metric: the trace inner product. Transport: projection onto the tangent space of arrival.
    Retraction: the orthonormal factor of :math:`X + \xi`, by Cholesky-QR or polar decomposition.

    Both retractions work on the small matrix :math:`(X+\xi)^\top(X+\xi) = I + \xi^\top\xi`,
    which is never singular for a tangent :math:`\xi`; the result is orthonormal to about
    :math:`\epsilon(1 + \|\xi\|^2)`. The polar form costs an eigendecomposition more and is of
    second order.

    Attributes
    ----------
    n : int
        Number of rows.
    p : int
        Number of columns, at most `n`.
    retraction : {"qr", "polar"}, default="qr"
        ``"qr"`` divides by the Cholesky factor (the cheapest), ``"polar"`` by the square root.
    """

    n: int
    p: int
    retraction: Literal["qr", "polar"] = "qr"

    @property
    def dimension(self) -> int:
        """Number of degrees of freedom."""
        return self.n * self.p - self.p * (self.p + 1) // 2

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        """Trace inner product."""
        return dot(u, v)

    def to_tangent(self, x: Array, g: Array) -> Array:
        """Remove the symmetric part, which would change lengths and angles of the columns."""
        return g - x @ symmetric_part(x.mT @ g)

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        """Project: the metric is the ambient one."""
        return self.to_tangent(x, g)

    def retract(self, x: Array, u: Array) -> Array:
        """Orthonormal factor of ``x + u``."""
        moved = x + u
        gram = moved.mT @ moved
        if self.retraction == "polar":
            return moved @ spectral_map(gram, lambda values: values**-0.5)
        return moved @ cholesky_frame(gram)[1].mT

    def transport(self, x: Array, y: Array, u: Array) -> Array:
        """Project onto the tangent space at `y`."""
        return self.to_tangent(y, u)

    def overlap(self, x: Array, y: Array, u: Array, v: Array) -> Array:
        """Trace inner product: what the projection removes from `u` is orthogonal to `v`."""
        return dot(u, v)

    def combine(self, a: float, u: Array, b: float = 0.0, v: Array | None = None) -> Array:
        """Linear combination of one or two tangent vectors."""
        return a * u if v is None else a * u + b * v

    def mean(self, points: Sequence[Array], weights: Sequence[float]) -> Array:
        r"""Minimiser of :math:`\sum_i w_i\|X - X_i\|_F^2`: polar factor of the weighted sum.

        Parameters
        ----------
        points : sequence of array of shape (n, p)
            Points :math:`X_i`.
        weights : sequence of float
            Their weights, positive.

        Returns
        -------
        array of shape (n, p)
            The mean in the distance of the ambient space, unique where the sum has full rank.
        """
        return self.project(reduce(add, (w * x for w, x in zip(weights, points, strict=True))))

    def project(self, x: Array) -> Array:
        """Polar factor of any matrix of full column rank, by its singular vectors."""
        left, _, right = array_namespace(x).linalg.svd(x, full_matrices=False)
        return left @ right
