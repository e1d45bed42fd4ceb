"""Symmetric positive definite matrices."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from ilspace._typing import Array
from ilspace.backend import (
    array_namespace,
    cholesky_frame,
    dot,
    spectral_map,
    symmetric_exponential,
    symmetric_part,
)


@dataclass(frozen=True)
class SPD:
    r"""Symmetric positive definite matrices of shape (p, p).

    Metric: affine invariant, :math:`\langle u, v\rangle_X = \mathrm{tr}(X^{-1}uX^{-1}v)`.
    Retraction: the exponential map,
    :math:`X^{1/2}\exp(X^{-1/2}\xi X^{-1/2})X^{1/2}`. Transport: the isometry
    :math:`u \mapsto (KL^{-1})\,u\,(KL^{-1})^\top` between the Cholesky frames
    :math:`X = LL^\top` and :math:`Y = KK^\top`.

    Attributes
    ----------
    p : int
        Number of rows and of columns.
    floor : float, default=1e-8
        Smallest eigenvalue, relative to the largest, after :meth:`project`: the set is open, so
        there is no nearest point.
    """

    p: int
    floor: float = 1e-8

    _frames: deque = field(
        default_factory=lambda: deque(maxlen=2), init=False, repr=False, compare=False
    )

    def _frame(self, x: Array) -> tuple[Array, Array]:
        """Cholesky factor and its inverse; cached for the last two points of an optimizer."""
        for known, frame in self._frames:
            if known is x:
                return frame
        frame = cholesky_frame(x)
        self._frames.append((x, frame))
        return frame

    def _seen(self, x: Array, u: Array) -> Array:
        """A tangent vector in the Cholesky frame of its point, where the metric is Euclidean."""
        _, unroot = self._frame(x)
        return unroot @ u @ unroot.mT

    @property
    def dimension(self) -> int:
        """Number of degrees of freedom."""
        return self.p * (self.p + 1) // 2

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        """Affine-invariant inner product, taken in the Cholesky frame."""
        seen = self._seen(x, u)
        return dot(seen, seen if v is u else self._seen(x, v))

    def to_tangent(self, x: Array, g: Array) -> Array:
        """Symmetric part."""
        return symmetric_part(g)

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        """Raise the index with the affine-invariant metric."""
        return x @ symmetric_part(g) @ x

    def retract(self, x: Array, u: Array) -> Array:
        """Exponential map, in the Cholesky frame: it is the same for every root of `x`."""
        root, _ = self._frame(x)
        seen = symmetric_part(self._seen(x, u))
        # a square, and so positive definite up to rounding
        half = root @ symmetric_exponential(seen / 2)
        return symmetric_part(half @ half.mT)

    def transport(self, x: Array, y: Array, u: Array) -> Array:
        """Change of Cholesky frame, an isometry."""
        change = self._frame(y)[0] @ self._frame(x)[1]
        return symmetric_part(change @ u @ change.mT)

    def overlap(self, x: Array, y: Array, u: Array, v: Array) -> Array:
        """Product of both, each in its own Cholesky frame: the transport is an isometry."""
        return dot(self._seen(x, u), self._seen(y, v))

    def combine(self, a: float, u: Array, b: float = 0.0, v: Array | None = None) -> Array:
        """Linear combination of one or two tangent vectors."""
        return a * u if v is None else a * u + b * v

    def project(self, x: Array) -> Array:
        """Raise small eigenvalues to the floor."""
        xp = array_namespace(x)

        def lifted(values: Array) -> Array:
            return xp.maximum(values, self.floor * xp.max(xp.abs(values)))

        return symmetric_part(spectral_map(symmetric_part(x), lifted))
