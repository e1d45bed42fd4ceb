"""One table of manifolds, one list of laws. A new manifold adds one row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import checks
from problems import orthonormal, positive_definite
from scipy import linalg

from ilspace.manifolds import SPD, Euclidean, Oblique, Product, Stiefel

# name -> function of (rng, size, condition) that makes a manifold and one of its points


def _stiefel(retraction):
    def make(rng, size, condition):
        n = size + int(rng.integers(0, 5))
        return Stiefel(n, size, retraction), orthonormal(rng, n, size)

    return make


def _spd(rng, size, condition):
    return SPD(size), positive_definite(rng, size, condition)


def _euclidean(rng, size, condition):
    return Euclidean((size, 3)), condition * rng.standard_normal((size, 3))


def _oblique(rng, size, condition):
    k = size + int(rng.integers(0, 5))  # more columns than rows, too
    manifold = Oblique(size, k)
    return manifold, manifold.project(rng.standard_normal((size, k)))


def _product(step_weights):
    def make(rng, size, condition):
        rows = [_stiefel("qr"), _stiefel("polar"), _spd, _euclidean]
        factors, point = zip(*(row(rng, size, condition) for row in rows), strict=True)
        return Product(factors, step_weights), point

    return make


MANIFOLDS = {
    "stiefel-qr": _stiefel("qr"),
    "stiefel-polar": _stiefel("polar"),
    "spd": _spd,
    "euclidean": _euclidean,
    "oblique": _oblique,
    "product": _product(None),
    "product-step_weights": _product((1.0, 0.2, 3.0, 0.01)),
}

draws = {
    "seed": st.integers(0, 2**32 - 1),
    "size": st.integers(2, 6),
    "condition": st.sampled_from([1.0, 30.0, 1e4]),
}
few = settings(max_examples=8, deadline=None, derandomize=True)


@pytest.mark.parametrize("law", checks.LAWS, ids=lambda law: law.__name__.removeprefix("check_"))
@pytest.mark.parametrize("name", MANIFOLDS)
@few
@given(**draws)
def test_law(name, law, seed, size, condition):
    rng = np.random.default_rng(seed)
    manifold, x = MANIFOLDS[name](rng, size, condition)
    law(manifold, x, rng)


def test_check_manifold_runs_every_law_also_on_the_smallest_sizes():
    rng = np.random.default_rng(0)
    checks.check_manifold(SPD(1), np.asarray([[2.0]]), rng)
    checks.check_manifold(Stiefel(4, 1), orthonormal(rng, 4, 1), rng)
    checks.check_manifold(Stiefel(3, 3), orthonormal(rng, 3, 3), rng)


@pytest.mark.parametrize("name", ["stiefel-polar", "euclidean", "oblique"])
@few
@given(**draws)
def test_retraction_of_second_order(name, seed, size, condition):
    # Absil, Mahony, Sepulchre 2008, proposition 5.5.5, examples 4.1.3 (the polar one) and 4.1.1
    rng = np.random.default_rng(seed)
    manifold, x = MANIFOLDS[name](rng, size, condition)
    checks.check_second_order(manifold, x, rng)


@pytest.mark.parametrize("name", ["spd", "euclidean"])
@few
@given(**draws)
def test_transport_is_isometric(name, seed, size, condition):
    # Sra and Hosseini 2015, section 4: congruence is an isometry of the affine-invariant metric
    rng = np.random.default_rng(seed)
    manifold, x = MANIFOLDS[name](rng, size, condition)
    checks.check_isometry(manifold, x, rng)


@few
@given(**draws)
def test_spd_retraction_is_the_exponential_map(seed, size, condition):
    # Pennec, Fillard, Ayache 2006, section 3.2: the geodesic distance is the norm of the logarithms
    # of the generalised eigenvalues, and the exponential map covers exactly the length of u
    rng = np.random.default_rng(seed)
    manifold, x = _spd(rng, size, condition)
    u = manifold.riemannian_gradient(x, rng.standard_normal(x.shape))
    u *= 2.5 / np.sqrt(manifold.inner(x, u, u))

    def distance(a, b):
        return np.linalg.norm(np.log(linalg.eigvalsh(b, a)))

    half, whole = manifold.retract(x, 0.5 * u), manifold.retract(x, u)
    assert distance(x, whole) == pytest.approx(2.5, rel=1e-8)
    assert distance(x, half) + distance(half, whole) == pytest.approx(2.5, rel=1e-8)


@few
@given(**draws)
def test_affine_invariance(seed, size, condition):
    # Pennec, Fillard, Ayache 2006, section 3.1: <AuA', AvA'> at AxA' is <u, v> at x
    rng = np.random.default_rng(seed)
    manifold, x = _spd(rng, size, condition)
    u, v = (manifold.riemannian_gradient(x, rng.standard_normal(x.shape)) for _ in range(2))
    a = positive_definite(rng, size, 10.0) @ orthonormal(rng, size, size)
    moved = manifold.inner(*(a @ each @ a.T for each in (x, u, v)))
    scale = np.sqrt(manifold.inner(x, u, u) * manifold.inner(x, v, v))
    assert abs(moved - manifold.inner(x, u, v)) <= 1e-8 * scale


@pytest.mark.parametrize("retraction", ["qr", "polar"])
@pytest.mark.parametrize("length", [1e-8, 1.0, 10.0, 1e3])
def test_stiefel_retraction_is_orthonormal_for_any_length(retraction, length):
    rng = np.random.default_rng(1)
    manifold, x = Stiefel(20, 5, retraction), orthonormal(rng, 20, 5)
    u = manifold.to_tangent(x, rng.standard_normal(x.shape))
    y = manifold.retract(x, length / np.linalg.norm(u) * u)
    assert np.max(np.abs(y.T @ y - np.eye(5))) <= 1e-14 * (1 + length**2)


@few
@given(**draws)
def test_stiefel_projection_is_the_nearest_point(seed, size, condition):
    # Absil, Malick 2012, proposition 7: the polar factor is the projection onto St(n, p)
    rng = np.random.default_rng(seed)
    manifold, x = _stiefel("qr")(rng, size, condition)
    ambient = rng.standard_normal(x.shape) @ positive_definite(rng, size, condition)
    nearest = manifold.project(ambient)
    best = np.linalg.norm(ambient - nearest)
    for radius in (1e-3, 1e-1, 1.0, 10.0):
        u = manifold.to_tangent(nearest, rng.standard_normal(x.shape))
        for rival in (manifold.retract(nearest, radius * u), orthonormal(rng, *x.shape)):
            assert best <= np.linalg.norm(ambient - rival) * (1 + 1e-12)


@few
@given(**draws)
def test_oblique_projection_is_the_nearest_point(seed, size, condition):
    rng = np.random.default_rng(seed)
    manifold, x = _oblique(rng, size, condition)
    ambient = condition * rng.standard_normal(x.shape)
    nearest = manifold.project(ambient)
    np.testing.assert_allclose(np.sum(nearest**2, axis=0), 1)
    best = np.linalg.norm(ambient - nearest, axis=0)
    for rival in (x, manifold.retract(nearest, manifold.to_tangent(nearest, x)), -nearest):
        assert np.all(best <= np.linalg.norm(ambient - rival, axis=0) * (1 + 1e-12))


def test_spd_projection_moves_only_what_is_too_small():
    rng = np.random.default_rng(3)
    axes = orthonormal(rng, 4, 4)
    x = (axes * [5.0, 1.0, 1e-12, -2.0]) @ axes.T
    values = np.linalg.eigvalsh(SPD(4, floor=1e-3).project(x))
    assert values == pytest.approx([5e-3, 5e-3, 1.0, 5.0])


def test_step_weights_scales_gradients_and_leaves_the_manifold_alone():
    rng = np.random.default_rng(4)
    slow, x = _product((1.0, 0.2, 3.0, 0.01))(rng, 3, 30.0)
    plain = Product(slow.factors)
    g = tuple(rng.standard_normal(entry.shape) for entry in x)
    pairs = zip(plain.riemannian_gradient(x, g), slow.riemannian_gradient(x, g), strict=True)
    for (ordinary, scaled), step_weights in zip(pairs, slow.step_weights or (), strict=True):
        np.testing.assert_allclose(scaled, step_weights * ordinary)
    u = plain.to_tangent(x, g)
    for a, b in zip(plain.retract(x, u), slow.retract(x, u), strict=True):
        np.testing.assert_array_equal(a, b)
    assert slow.dimension == plain.dimension == sum(each.dimension for each in slow.factors)


class _WrongMetric(SPD):
    """The Euclidean gradient under the affine-invariant metric: the classic mistake."""

    def riemannian_gradient(self, x, g):
        return self.to_tangent(x, g)


class _DoubleStep(Stiefel):
    def retract(self, x, u):
        return super().retract(x, 2 * u)


class _OffTheManifold(Stiefel):
    def retract(self, x, u):
        return x + u


class _UntransportedOverlap(SPD):
    def overlap(self, x, y, u, v):
        return self.inner(y, u, v)


class _HalfProjection(Stiefel):
    def to_tangent(self, x, g):
        return g - x @ (x.T @ g) / 2


@pytest.mark.parametrize(
    ("manifold", "law", "words"),
    [
        (_WrongMetric(3), checks.check_gradient, "dual to the metric"),
        (_UntransportedOverlap(3), checks.check_transport, "transported vector"),
        (_DoubleStep(6, 3), checks.check_retraction, "first order"),
        (_OffTheManifold(6, 3), checks.check_retraction, "stays on"),
        (_HalfProjection(6, 3), checks.check_tangent_projection, "twice"),
        (_HalfProjection(6, 3), checks.check_dimension, "rank"),
        (Stiefel(6, 3), checks.check_isometry, "preserves inner products"),
        (Stiefel(6, 3, "qr"), checks.check_second_order, "second order"),
    ],
)
def test_laws_catch_what_they_are_for(manifold, law, words):
    rng = np.random.default_rng(5)
    x = positive_definite(rng, 3) if isinstance(manifold, SPD) else orthonormal(rng, 6, 3)
    with pytest.raises(AssertionError, match=words):
        law(manifold, x, rng)
