"""Parity with pymanopt 2.2: the same geometry, and the same minimum of the same problem."""

import numpy as np
import pytest
from problems import ils_case, orthonormal, positive_definite

from ilspace.manifolds import SPD, Oblique, Stiefel
from ilspace.optimizers import Problem, Status, solve

pymanopt = pytest.importorskip("pymanopt", "2.2")
manifolds = pytest.importorskip("pymanopt.manifolds")
optimizers = pytest.importorskip("pymanopt.optimizers")


@pytest.fixture
def stiefel():
    """A point, a tangent vector there and an ambient vector."""
    rng = np.random.default_rng(0)
    x, g = orthonormal(rng, 9, 4), rng.standard_normal((9, 4))
    return x, manifolds.Stiefel(9, 4).to_tangent_space(x, rng.standard_normal((9, 4))), g


@pytest.mark.parametrize("retraction", ["qr", "polar"])
@pytest.mark.parametrize("length", [0.1, 1.0, 8.0])
def test_stiefel_retraction(stiefel, retraction, length):
    x, u, _ = stiefel
    theirs = manifolds.Stiefel(9, 4, retraction=retraction).retraction(x, length * u)
    ours = Stiefel(9, 4, retraction).retract(x, length * u)
    # pymanopt makes the diagonal of R positive as well, so no sign is left to choose
    np.testing.assert_allclose(ours, theirs, atol=1e-12 * (1 + length**2))


def test_stiefel_gradient_metric_and_transport(stiefel):
    x, u, g = stiefel
    theirs, ours = manifolds.Stiefel(9, 4), Stiefel(9, 4)
    np.testing.assert_allclose(
        ours.riemannian_gradient(x, g), theirs.euclidean_to_riemannian_gradient(x, g), atol=1e-14
    )
    v = ours.to_tangent(x, g)
    assert ours.inner(x, u, v) == pytest.approx(theirs.inner_product(x, u, v), rel=1e-13)
    y = ours.retract(x, u)
    np.testing.assert_allclose(ours.transport(x, y, v), theirs.transport(x, y, v), atol=1e-14)
    assert ours.dimension == theirs.dim


def test_oblique():
    rng = np.random.default_rng(2)
    theirs, ours = manifolds.Oblique(4, 7), Oblique(4, 7)
    x, g = ours.project(rng.standard_normal((4, 7))), rng.standard_normal((4, 7))
    u = ours.riemannian_gradient(x, g)
    np.testing.assert_allclose(u, theirs.euclidean_to_riemannian_gradient(x, g), atol=1e-14)
    y = ours.retract(x, u)
    np.testing.assert_allclose(y, theirs.retraction(x, u), atol=1e-14)
    np.testing.assert_allclose(ours.transport(x, y, u), theirs.transport(x, y, u), atol=1e-14)
    assert ours.dimension == theirs.dim


@pytest.mark.parametrize("condition", [1.0, 1e3])
def test_spd(condition):
    rng = np.random.default_rng(1)
    x, g = positive_definite(rng, 5, condition), rng.standard_normal((5, 5))
    theirs, ours = manifolds.SymmetricPositiveDefinite(5), SPD(5)
    gradient = ours.riemannian_gradient(x, g)
    scale = np.max(np.abs(gradient))
    np.testing.assert_allclose(
        gradient, theirs.euclidean_to_riemannian_gradient(x, g), atol=1e-13 * scale
    )
    u = gradient / np.sqrt(ours.inner(x, gradient, gradient))
    v = ours.riemannian_gradient(x, rng.standard_normal((5, 5)))
    assert ours.inner(x, u, v) == pytest.approx(theirs.inner_product(x, u, v), rel=1e-9)
    moved = ours.retract(x, 1.5 * u)
    np.testing.assert_allclose(moved, theirs.exp(x, 1.5 * u), atol=1e-9 * np.max(moved))
    assert theirs.dist(x, moved) == pytest.approx(1.5, rel=1e-9)
    assert ours.dimension == theirs.dim


@pytest.mark.parametrize(("engine", "labelled"), [("sampled", 6), ("all", 0)])
def test_conjugate_gradient_reaches_the_same_minimum(engine, labelled):
    # anchors and a heavy metric regulariser make one valley, so both must end at its floor
    case = ils_case(
        7,
        widths=(12, 12),
        sizes=(40, 40),
        labelled=labelled,
        p=4,
        engine=engine,
        anchor_weights=(1.0, 4.0),
        metric_weight=10.0,
    )
    factors = [
        manifolds.Stiefel(12, 4),
        manifolds.Stiefel(12, 4),
        manifolds.SymmetricPositiveDefinite(4),
    ]
    product = manifolds.Product(factors)

    @pymanopt.function.numpy(product)
    def cost(*point):
        return float(case.objective(point)[0])

    @pymanopt.function.numpy(product)
    def gradient(*point):
        return list(case.objective(point)[1])

    # the anchors are a start at which nothing is decided yet
    source, target = case.objective.domains
    start = (source.anchor, target.anchor, np.eye(4))
    optimizer = optimizers.ConjugateGradient(
        max_iterations=600, min_gradient_norm=1e-6, min_step_size=1e-14, verbosity=0
    )
    theirs = optimizer.run(
        pymanopt.Problem(product, cost, euclidean_gradient=gradient), initial_point=list(start)
    )
    ours = solve(
        Problem(case.manifold, case.objective),
        start,
        tol=0.0,
        gradient_tol=1e-6,
        max_iter=600,
    )
    assert ours.status is Status.CONVERGED
    assert theirs.gradient_norm < 1e-4
    assert ours.history[-1].value == pytest.approx(theirs.cost, rel=1e-6)
    assert ours.history[-1].value < 0.99 * ours.history[0].value
    for a, b in zip(ours.point, theirs.point, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-3)
