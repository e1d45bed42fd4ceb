"""The laws that any manifold must obey; run them on a manifold of your own.

Each law is a function of a manifold, one of its points and a random generator. It returns
nothing, and raises an :class:`AssertionError` that names the law, the manifold and the size of
the violation.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ilspace._typing import Array, Manifold, Point
from ilspace.backend import like, to_numpy

__all__ = [
    "LAWS",
    "check_combination",
    "check_dimension",
    "check_gradient",
    "check_inner",
    "check_isometry",
    "check_manifold",
    "check_projection",
    "check_retraction",
    "check_second_order",
    "check_tangent_projection",
    "check_transport",
]

_STEPS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)  # to fit an order: small, yet far above rounding


def check_tangent_projection(
    manifold: Manifold, x: Point, rng: np.random.Generator, *, tol: float = 1e-10
) -> None:
    r"""``to_tangent`` is an orthogonal projection: idempotent, self-adjoint and linear.

    Absil, Mahony and Sepulchre (2008), section 3.6.1.

    Parameters
    ----------
    manifold : Manifold
        The manifold.
    x : Point
        One of its points.
    rng : Generator
        Source of the vectors to try.
    tol : float, default=1e-10
        Largest violation allowed, relative to the vectors.
    """
    g, h = _ambient(x, rng), _ambient(x, rng)
    once = manifold.to_tangent(x, g)
    _agree(manifold.to_tangent(x, once), once, manifold, "to_tangent twice is to_tangent once", tol)
    left, right = _dot(once, h), _dot(g, manifold.to_tangent(x, h))
    _close(left, right, _size(g) * _size(h), manifold, "to_tangent is self-adjoint", tol)
    _agree(
        manifold.to_tangent(x, manifold.combine(2.0, g, -3.0, h)),
        manifold.combine(2.0, once, -3.0, manifold.to_tangent(x, h)),
        manifold,
        "to_tangent is linear",
        tol,
    )


def check_inner(
    manifold: Manifold, x: Point, rng: np.random.Generator, *, tol: float = 1e-10
) -> None:
    """The metric is symmetric, linear in each argument and positive.

    Absil, Mahony and Sepulchre (2008), section 3.6.

    Parameters
    ----------
    manifold : Manifold
        The manifold.
    x : Point
        One of its points.
    rng : Generator
        Source of the vectors to try.
    tol : float, default=1e-10
        Largest violation allowed, relative to the lengths of the vectors.
    """
    u, v, w = (_tangent(manifold, x, rng) for _ in range(3))

    def inner(first: Point, second: Point) -> float:
        return float(manifold.inner(x, first, second))

    squares = [inner(each, each) for each in (u, v, w)]
    if min(squares) <= 0:
        _fail(manifold, "inner is positive", f"met {min(squares):.3g}")
    scale = max(squares)
    _close(inner(u, v), inner(v, u), scale, manifold, "inner is symmetric", tol)
    mixed = inner(manifold.combine(2.0, u, -3.0, w), v)
    _close(mixed, 2 * inner(u, v) - 3 * inner(w, v), scale, manifold, "inner is linear", tol)


def check_gradient(
    manifold: Manifold, x: Point, rng: np.random.Generator, *, tol: float = 1e-8
) -> None:
    r"""The Riemannian gradient is tangent and represents the differential in the metric.

    :math:`\langle \mathrm{grad} f, u\rangle_x = \mathrm Df(x)[u]` for every tangent u; Absil,
    Mahony and Sepulchre (2008), equation 3.31.

    Parameters
    ----------
    manifold : Manifold
        The manifold.
    x : Point
        One of its points.
    rng : Generator
        Source of the Euclidean gradient and of the directions to try.
    tol : float, default=1e-8
        Largest violation allowed, relative to the lengths of the vectors.
    """
    g = _ambient(x, rng)
    gradient = manifold.riemannian_gradient(x, g)
    _agree(manifold.to_tangent(x, gradient), gradient, manifold, "the gradient is tangent", tol)
    for _ in range(3):
        u = _tangent(manifold, x, rng)
        scale = math.sqrt(
            float(manifold.inner(x, gradient, gradient)) * float(manifold.inner(x, u, u))
        )
        left, right = float(manifold.inner(x, gradient, u)), _dot(g, u)
        _close(left, right, scale, manifold, "the gradient is dual to the metric", tol)


def check_retraction(
    manifold: Manifold, x: Point, rng: np.random.Generator, *, tol: float = 1e-8
) -> None:
    r"""A retraction stays on the manifold, fixes x at 0 and leaves it in the given direction.

    :math:`R_x(0) = x` and :math:`R_x(tu) = x + tu + O(t^2)`; Absil, Mahony and Sepulchre (2008),
    definition 4.1.1. A point is on the manifold if ``project`` leaves it where it is.

    Parameters
    ----------
    manifold : Manifold
        The manifold.
    x : Point
        One of its points.
    rng : Generator
        Source of the directions to try.
    tol : float, default=1e-8
        Largest violation allowed, relative to the points.
    """
    u = _unit(manifold, x, rng)
    nothing = manifold.combine(0.0, u)
    _agree(manifold.retract(x, nothing), x, manifold, "retracting 0 stays", tol)
    for length in (0.1, 1.0, 5.0):
        y = manifold.retract(x, manifold.combine(length, u))
        _agree(manifold.project(y), y, manifold, f"a step of length {length} stays on", tol)
    errors = [_size(_beyond_first_order(manifold, x, u, step)) for step in _STEPS]
    _order_at_least(2.0, errors, _size(x), manifold, "retract agrees to first order")


def check_second_order(manifold: Manifold, x: Point, rng: np.random.Generator) -> None:
    r"""Where the metric is the ambient one: the retraction has no tangential acceleration.

    :math:`P_x(R_x(tu) - x - tu) = O(t^3)`; Absil, Mahony and Sepulchre (2008), proposition 5.5.5.
    Not a law: retractions of first order are retractions too.

    Parameters
    ----------
    manifold : Manifold
        The manifold.
    x : Point
        One of its points.
    rng : Generator
        Source of the direction to try.
    """
    u = _unit(manifold, x, rng)
    errors = [
        _size(manifold.to_tangent(x, _beyond_first_order(manifold, x, u, step))) for step in _STEPS
    ]
    _order_at_least(3.0, errors, _size(x), manifold, "retract agrees to second order")


def check_transport(
    manifold: Manifold, x: Point, rng: np.random.Generator, *, tol: float = 1e-8
) -> None:
    """Transport is linear, into the tangent space of arrival, and the identity from x to itself.

    ``overlap`` is the inner product of the transported vector with one there.

    Absil, Mahony and Sepulchre (2008), definition 8.1.1.

    Parameters
    ----------
    manifold : Manifold
        The manifold.
    x : Point
        One of its points.
    rng : Generator
        Source of the points and vectors to try.
    tol : float, default=1e-8
        Largest violation allowed, relative to the vectors.
    """
    y = manifold.retract(x, _unit(manifold, x, rng))
    u, v = _tangent(manifold, x, rng), _tangent(manifold, x, rng)
    moved = manifold.transport(x, y, u)
    _agree(manifold.to_tangent(y, moved), moved, manifold, "transport lands tangent", tol)
    _agree(manifold.transport(x, x, u), u, manifold, "transport to x itself is the identity", tol)
    _agree(
        manifold.transport(x, y, manifold.combine(2.0, u, -3.0, v)),
        manifold.combine(2.0, moved, -3.0, manifold.transport(x, y, v)),
        manifold,
        "transport is linear",
        tol,
    )
    there = _tangent(manifold, y, rng)
    wanted = float(manifold.inner(y, moved, there))
    size = abs(float(manifold.inner(y, moved, moved) * manifold.inner(y, there, there))) ** 0.5
    met = float(manifold.overlap(x, y, u, there))
    _close(met, wanted, size, manifold, "overlap is that of the transported vector", tol)


def check_isometry(
    manifold: Manifold, x: Point, rng: np.random.Generator, *, tol: float = 1e-8
) -> None:
    """Transport preserves inner products, where it is an isometry.

    Not a law: most transports are not.

    Parameters
    ----------
    manifold : Manifold
        The manifold.
    x : Point
        One of its points.
    rng : Generator
        Source of the points and vectors to try.
    tol : float, default=1e-8
        Largest violation allowed, relative to the lengths of the vectors.
    """
    y = manifold.retract(x, _unit(manifold, x, rng))
    u, v = _unit(manifold, x, rng), _unit(manifold, x, rng)
    before = float(manifold.inner(x, u, v))
    after = float(manifold.inner(y, manifold.transport(x, y, u), manifold.transport(x, y, v)))
    _close(after, before, 1.0, manifold, "transport preserves inner products", tol)


def check_dimension(
    manifold: Manifold, x: Point, rng: np.random.Generator, *, tol: float = 1e-8
) -> None:
    """The dimension is the rank of sampled tangent vectors.

    Absil, Mahony and Sepulchre (2008), section 3.5.

    Parameters
    ----------
    manifold : Manifold
        The manifold.
    x : Point
        One of its points.
    rng : Generator
        Source of the vectors to try.
    tol : float, default=1e-8
        Singular values below this fraction of the largest count as 0.
    """
    sampled = np.stack([_vector(_tangent(manifold, x, rng)) for _ in range(manifold.dimension + 3)])
    rank = int(np.linalg.matrix_rank(sampled, rtol=tol))
    if rank != manifold.dimension:
        _fail(manifold, "dimension is the rank of the tangent space", f"sampled rank {rank}")


def check_projection(
    manifold: Manifold, x: Point, rng: np.random.Generator, *, tol: float = 1e-8
) -> None:
    """``project`` leaves points where they are, and is idempotent.

    Absil and Malick (2012), section 3.1.

    Parameters
    ----------
    manifold : Manifold
        The manifold.
    x : Point
        One of its points.
    rng : Generator
        Source of the ambient points to try.
    tol : float, default=1e-8
        Largest violation allowed, relative to the points.
    """
    _agree(manifold.project(x), x, manifold, "project leaves points where they are", tol)
    once = manifold.project(_ambient(x, rng))
    _agree(manifold.project(once), once, manifold, "project twice is project once", tol)


def check_combination(
    manifold: Manifold, x: Point, rng: np.random.Generator, *, tol: float = 1e-12
) -> None:
    """``combine`` is the linear combination of the arrays.

    Absil, Mahony and Sepulchre (2008), section 3.5: a tangent space is a vector space.

    Parameters
    ----------
    manifold : Manifold
        The manifold.
    x : Point
        One of its points.
    rng : Generator
        Source of the vectors to try.
    tol : float, default=1e-12
        Largest violation allowed, relative to the vectors.
    """
    u, v = _tangent(manifold, x, rng), _tangent(manifold, x, rng)
    error = _vector(manifold.combine(2.0, u, -3.0, v)) - (2 * _vector(u) - 3 * _vector(v))
    _close(
        float(np.max(np.abs(error))), 0.0, _size(u) + _size(v), manifold, "combine is linear", tol
    )


LAWS: tuple[Callable[..., None], ...] = (
    check_tangent_projection,
    check_inner,
    check_gradient,
    check_retraction,
    check_transport,
    check_dimension,
    check_projection,
    check_combination,
)
"""Every law that holds on every manifold."""


def check_manifold(manifold: Manifold, x: Point, rng: np.random.Generator) -> None:
    """Check all laws at one point.

    Parameters
    ----------
    manifold : Manifold
        The manifold.
    x : Point
        One of its points.
    rng : Generator
        Source of everything to try.
    """
    for law in LAWS:
        law(manifold, x, rng)


def _entries(x: Point) -> tuple[Array, ...]:
    return x if isinstance(x, tuple) else (x,)


def _vector(u: Point) -> np.ndarray:
    """All entries of a point, in one host vector."""
    return np.concatenate([np.reshape(to_numpy(entry), -1) for entry in _entries(u)])


def _dot(u: Point, v: Point) -> float:
    return float(np.sum(_vector(u) * _vector(v)))


def _size(u: Point) -> float:
    return float(np.linalg.norm(_vector(u)))


def _ambient(x: Point, rng: np.random.Generator) -> Point:
    """Random arrays shaped like a point."""
    drawn = tuple(like(rng.standard_normal(entry.shape), entry) for entry in _entries(x))
    return drawn if isinstance(x, tuple) else drawn[0]


def _tangent(manifold: Manifold, x: Point, rng: np.random.Generator) -> Point:
    return manifold.to_tangent(x, _ambient(x, rng))


def _unit(manifold: Manifold, x: Point, rng: np.random.Generator) -> Point:
    """A random tangent vector of length 1: a gradient, so that it scales with the metric."""
    u = manifold.riemannian_gradient(x, _ambient(x, rng))
    return manifold.combine(1 / math.sqrt(float(manifold.inner(x, u, u))), u, 0.0, u)


def _beyond_first_order(manifold: Manifold, x: Point, u: Point, step: float) -> Point:
    """Compute R_x(t u) - x - t u; points and vectors have the same shape, so combine does it."""
    moved = manifold.retract(x, manifold.combine(step, u))
    return manifold.combine(1.0, manifold.combine(1.0, moved, -1.0, x), -step, u)


def _agree(met: Point, wanted: Point, manifold: Manifold, law: str, tol: float) -> None:
    error = float(np.linalg.norm(_vector(met) - _vector(wanted)))
    _close(error, 0.0, _size(wanted), manifold, law, tol)


def _close(
    met: float, wanted: float, scale: float, manifold: Manifold, law: str, tol: float
) -> None:
    error = abs(met - wanted)
    if not error <= tol * scale:  # NaN fails too
        _fail(manifold, law, f"off by {error:.3g}, allowed {tol:.3g} of {scale:.3g}")


def _order_at_least(
    order: float, errors: list[float], scale: float, manifold: Manifold, law: str
) -> None:
    rounding = 1e-14 * scale
    kept = [
        (step, error) for step, error in zip(_STEPS, errors, strict=True) if error > 10 * rounding
    ]
    if len(kept) < 2:
        return  # equal to rounding
    steps, errors_kept = np.log(np.asarray(kept)).T
    met = float(np.polyfit(steps, errors_kept, 1)[0])
    if not met >= order - 0.1:
        _fail(manifold, law, f"the error shrinks with order {met:.2f}, wanted {order:.0f}")


def _fail(manifold: Manifold, law: str, met: str) -> None:
    raise AssertionError(f"Law broken by {manifold}: {law}; {met}.")
