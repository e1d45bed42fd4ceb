"""Cartesian product of manifolds."""

from __future__ import annotations

from dataclasses import dataclass

from ilspace._typing import Array, Manifold, Point


@dataclass(frozen=True)
class Product:
    r"""Cartesian product of manifolds; a point is a tuple with one entry per factor.

    Metric: the weighted sum :math:`\sum_i \langle u_i, v_i\rangle / \omega_i`, under which the
    gradient in factor i is multiplied by its step weight :math:`\omega_i`, a preconditioner.
    All other operations act factor by factor.

    Attributes
    ----------
    factors : tuple of Manifold
        The manifolds.
    step_weights : tuple of float, optional
        One positive number per factor, 1 by default.
    """

    factors: tuple[Manifold, ...]
    step_weights: tuple[float, ...] | None = None

    @property
    def dimension(self) -> int:
        """Number of degrees of freedom."""
        return sum(factor.dimension for factor in self.factors)

    def _each(self, method: str, *points: Point) -> tuple:
        return tuple(
            getattr(factor, method)(*entries)
            for factor, *entries in zip(self.factors, *points, strict=True)
        )

    def _weighted(self, products: tuple[Array, ...]) -> Array:
        """Inner product from those of the factors."""
        total = products[0] / self._weights[0]
        for product, weight in zip(products[1:], self._weights[1:], strict=True):
            total = total + product / weight
        return total

    @property
    def _weights(self) -> tuple[float, ...]:
        return self.step_weights or (1.0,) * len(self.factors)

    def inner(self, x: Point, u: Point, v: Point) -> Array:
        """Weighted sum of the factors' inner products."""
        return self._weighted(self._each("inner", x, u, v))

    def to_tangent(self, x: Point, g: Point) -> Point:
        """Project factor by factor."""
        return self._each("to_tangent", x, g)

    def riemannian_gradient(self, x: Point, g: Point) -> Point:
        """Gradient of each factor, times its step weight."""
        gradients = self._each("riemannian_gradient", x, g)
        if self.step_weights is None:
            return gradients
        return tuple(w * each for w, each in zip(self.step_weights, gradients, strict=True))

    def retract(self, x: Point, u: Point) -> Point:
        """Retract factor by factor."""
        return self._each("retract", x, u)

    def transport(self, x: Point, y: Point, u: Point) -> Point:
        """Transport factor by factor."""
        return self._each("transport", x, y, u)

    def overlap(self, x: Point, y: Point, u: Point, v: Point) -> Array:
        """Weighted sum of the factors' overlaps."""
        return self._weighted(self._each("overlap", x, y, u, v))

    def combine(self, a: float, u: Point, b: float = 0.0, v: Point | None = None) -> Point:
        """Linear combination, factor by factor."""
        if v is None:
            return tuple(
                factor.combine(a, entry) for factor, entry in zip(self.factors, u, strict=True)
            )
        return tuple(
            factor.combine(a, first, b, second)
            for factor, first, second in zip(self.factors, u, v, strict=True)
        )

    def project(self, x: Point) -> Point:
        """Project factor by factor."""
        return self._each("project", x)
