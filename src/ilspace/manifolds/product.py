"""Several manifolds side by side."""

from __future__ import annotations

from dataclasses import dataclass

from ilspace._typing import Array, Manifold, Point


@dataclass(frozen=True)
class Product:
    r"""Cartesian product of manifolds; a point is a tuple with one entry a factor.

    Metric: the weighted sum :math:`\sum_i \langle u_i, v_i\rangle / \omega_i`, under which the
    gradient in factor i is multiplied by its mobility :math:`\omega_i`: a factor of small
    mobility moves slowly. Everything else is done factor by factor.

    Attributes
    ----------
    factors : tuple of Manifold
        The manifolds.
    mobility : tuple of float, optional
        One positive number a factor, 1 by default.
    """

    factors: tuple[Manifold, ...]
    mobility: tuple[float, ...] | None = None

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
        total = products[0] / self._mobility[0]
        for product, mobility in zip(products[1:], self._mobility[1:], strict=True):
            total = total + product / mobility
        return total

    @property
    def _mobility(self) -> tuple[float, ...]:
        return self.mobility or (1.0,) * len(self.factors)

    def inner(self, x: Point, u: Point, v: Point) -> Array:
        """Weighted sum of the factors' inner products."""
        return self._weighted(self._each("inner", x, u, v))

    def to_tangent(self, x: Point, g: Point) -> Point:
        """Project factor by factor."""
        return self._each("to_tangent", x, g)

    def riemannian_gradient(self, x: Point, g: Point) -> Point:
        """Gradient of each factor, times its mobility."""
        gradients = self._each("riemannian_gradient", x, g)
        if self.mobility is None:
            return gradients
        return tuple(w * each for w, each in zip(self.mobility, gradients, strict=True))

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
