"""Types that layers share: arrays, points, and protocols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

Array = Any
"""An array of any library that follows the Array API standard."""

Namespace = Any
"""The module whose functions work on an :data:`Array`, such as ``numpy``."""

Point = Any
"""A point of a manifold, or a tangent vector there: an array, or a tuple of them on a product."""


@runtime_checkable
class Manifold(Protocol):
    """What an optimizer needs of a manifold; see :mod:`ilspace.manifolds` for those we have."""

    @property
    def dimension(self) -> int:
        """Number of degrees of freedom."""
        ...

    def inner(self, x: Point, u: Point, v: Point) -> Array:
        """Riemannian inner product of two tangent vectors at `x`, an array of shape ()."""
        ...

    def to_tangent(self, x: Point, g: Point) -> Point:
        """Orthogonal projection of an ambient vector onto the tangent space at `x`."""
        ...

    def riemannian_gradient(self, x: Point, g: Point) -> Point:
        """Riemannian gradient of a function with the Euclidean gradient `g`."""
        ...

    def retract(self, x: Point, u: Point) -> Point:
        """Move from `x` along the tangent vector `u`, staying on the manifold."""
        ...

    def transport(self, x: Point, y: Point, u: Point) -> Point:
        """Transport the tangent vector `u` at `x` to the tangent space at `y`."""
        ...

    def overlap(self, x: Point, y: Point, u: Point, v: Point) -> Array:
        """Inner product at `y` of `u`, transported from `x`, with `v`."""
        ...

    def combine(self, a: float, u: Point, b: float = 0.0, v: Point | None = None) -> Point:
        """Linear combination ``a u + b v`` of tangent vectors of one space; ``a u`` without `v`."""
        ...

    def project(self, x: Point) -> Point:
        """Nearest point of the manifold to an ambient one."""
        ...


class Objective(Protocol):
    """A function of a point that returns its value and its Euclidean gradient together."""

    def __call__(self, point: Point) -> tuple[Array, Point]:
        """Evaluate at `point`."""
        ...


class PairSum(NamedTuple):
    """A weighted sum over pairs of rows, with its gradients.

    Attributes
    ----------
    value : array of shape ()
        The sum.
    latent_gradient : array of shape (n, p)
        Its gradient in the latent rows.
    metric_gradient : array of shape (p, p)
        Its gradient in the metric.
    slack_gradient : array of shape (n_pairs,) or None
        Its gradient in the slacks, where there are slacks.
    """

    value: Array
    latent_gradient: Array
    metric_gradient: Array
    slack_gradient: Array | None = None


class PairLoss(NamedTuple):
    """A loss summed over pairs of labelled rows, with its gradients.

    Attributes
    ----------
    value : array of shape ()
        The sum.
    gradients : list of array of shape (k, p)
        Its gradient in the projection of each domain: owned arrays, which may be modified.
    metric_gradient : array of shape (p, p)
        Its gradient in the metric.
    slack_gradient : array of shape (n_pairs,) or None
        Its gradient in the logarithms of the slacks, where there are slacks.
    """

    value: Array
    gradients: list[Array]
    metric_gradient: Array
    slack_gradient: Array | None = None


class PowerMoments(NamedTuple):
    r"""Moments of centred rows x with powers of :math:`u = d^\top x`, for some directions d.

    Attributes
    ----------
    first, second, third : array of shape (k, n_directions)
        :math:`E[xu]`, :math:`E[xu^2]` and :math:`E[xu^3]`.
    """

    first: Array
    second: Array
    third: Array


class ProjectedRows(Protocol):
    """All rows of all domains, wherever they are."""

    def __call__(self, directions: Sequence[Array]) -> list[PowerMoments]:
        """Moments of the rows of each domain along its directions."""
        ...


class Hinge(Protocol):
    """A loss of a pair's margin violation."""

    def __call__(self, violation: Array) -> tuple[Array, Array]:
        """Values and slopes at every entry of `violation`."""
        ...

    def weighted_sum(self, excess: Array, pulls: Array) -> tuple[Array, Array]:
        """Weighted sum over many pairs, and its slopes in their squared distances.

        Parameters
        ----------
        excess : array of any shape
            By how much the squared distances exceed the margin.
        pulls : array of the same shape
            Half the weight of each pair, negative for dissimilar ones.

        Returns
        -------
        value : array of shape ()
            The sum.
        slopes : array of the same shape
            One per pair.
        """
        ...


@runtime_checkable
class UniformHinge(Protocol):
    """A loss that is summed in given memory over pairs of one kind."""

    def uniform_sum(
        self, excess: Array, pull: float, out: Array, others: tuple[Array, float] | None = None
    ) -> tuple[float, Array]:
        """Weighted sum over pairs of one kind and weight, and slopes to be multiplied by it.

        Parameters
        ----------
        excess : ndarray of shape (n, m)
            By how much the squared distances exceed the margin; overwritten.
        pull : float
            Half the weight of each pair, negative for dissimilar ones.
        out : ndarray of shape (n, m)
            Receives the slopes.
        others : tuple of ndarray and float, optional
            Flat positions of a few pairs of another kind, and their pull.

        Returns
        -------
        value : float
            The sum.
        slopes : ndarray of shape (n, m)
            `out`; slopes in the squared distances, over half the weight of a pair.
        """
        ...


class Pairs(Protocol):
    """A choice of pairs of labelled rows, able to sum a hinge over them."""

    def sum(
        self, hinge: Hinge, latent: Array, metric: Array, slack: Array | None = None
    ) -> PairSum:
        """Sum the hinge of every pair's margin violation."""
        ...


class PairTerm(Protocol):
    """A loss over pairs of labelled rows, which the term owns."""

    def __call__(
        self, projections: Sequence[Array], metric: Array, log_slack: Array | None = None
    ) -> PairLoss:
        """Sum the loss over the pairs, with one projection per domain."""
        ...
