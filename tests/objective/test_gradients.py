"""Every gradient is the derivative of its value: Taylor's remainder has order 2."""

from dataclasses import replace

import numpy as np
import pytest
from laws.taylor import line, taylor_order
from problems import ils_case, orthonormal, positive_definite

from ilspace.objective import (
    SmoothHinge,
    anchor_penalty,
    metric_penalty,
    projected_discrepancy,
    slack_penalty,
    stein_divergence,
)
from ilspace.pairs import AllPairs, SampledPairs, sample_pairs

TWO = pytest.approx(2.0, abs=0.1)


def like_point(rng, point):
    """A random direction; in symmetric blocks a symmetric one, for that is where they live."""
    drawn = [rng.standard_normal(np.shape(x)) for x in point]
    return tuple(
        (u + u.T) / 8 if u.ndim == 2 and u.shape[0] == u.shape[1] and u.shape[0] < 4 else u / 2
        for u in drawn
    )


def only(block, direction):
    """One block of a direction, or all of them if `block` is None."""
    return tuple(u if block in (i, None) else 0 * u for i, u in enumerate(direction))


def euclidean(g, u):
    return sum(np.sum(first * second) for first, second in zip(g, u, strict=True))


def assert_gradients(f, point, *, seed=0):
    """Order 2 along random directions, in each block alone and in all together.

    `f` takes the blocks of `point` and returns the value and one gradient a block.
    """
    rng = np.random.default_rng(seed)
    _, *gradients = f(*point)
    for block in [*range(len(point)), None]:
        directions = [only(block, like_point(rng, point)) for _ in range(3)]
        slopes = np.asarray([euclidean(gradients, u) for u in directions])

        def along(t, directions=directions):
            return np.asarray([float(f(*line(point, u, t))[0]) for u in directions])

        assert taylor_order(along, slopes) == TWO, f"block {block}"


def test_smooth_hinge():
    violation = np.random.default_rng(0).standard_normal(8)
    hinge = SmoothHinge(1.7)

    def total(v):
        losses, slopes = hinge(v)
        return np.sum(losses), slopes

    assert_gradients(total, (violation,))


def test_smooth_hinge_far_out_is_the_hinge_without_overflow():
    values, slopes = SmoothHinge(50.0)(np.asarray([-1e6, -30.0, 0.0, 30.0, 1e6]))
    np.testing.assert_allclose(values, [0, 0, np.log(2) / 50, 30, 1e6])
    np.testing.assert_allclose(slopes, [0, 0, 0.5, 1, 1], atol=1e-300)


@pytest.mark.parametrize("beta", [0.3, 50.0])
def test_weighted_sum_is_the_sum_of_the_losses(beta):
    rng = np.random.default_rng(0)
    excess = rng.normal(scale=[[0.01], [1.0], [100.0], [1e6]], size=(4, 50))
    signs, weights = rng.choice([-1.0, 1.0], (4, 50)), rng.uniform(size=(4, 50))
    hinge = SmoothHinge(beta)
    losses, slopes = hinge(signs * excess)
    value, forces = hinge.weighted_sum(excess, signs * weights / 2)
    assert float(value) == pytest.approx(np.sum(weights * losses), rel=1e-14)
    np.testing.assert_allclose(forces, signs * weights * slopes, atol=1e-15)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("engine", ["sampled", "sampled-slack", "tile", "tiles"])
def test_pair_sum(engine, weighted):
    rng = np.random.default_rng(1)
    codes = np.arange(11) % 3
    latent, metric = rng.standard_normal((11, 3)), positive_definite(rng, 3, 4.0)
    weights = rng.uniform(0.2, 2.5, 11) if weighted else None
    hinge = SmoothHinge(0.8)
    if engine.startswith("sampled"):
        first, second, signs = sample_pairs(codes, rng)
        pairs = SampledPairs(first, second, signs, weights, n_rows=11, reference=latent)
        slack = rng.uniform(0.1, 1.0, len(first))
    else:
        pairs = AllPairs(codes, weights, reference=latent, tile=4 if engine == "tiles" else 64)
        slack = None
    point = (latent, metric, slack) if engine == "sampled-slack" else (latent, metric)
    assert_gradients(lambda *blocks: pairs.sum(hinge, *blocks)[: len(point) + 1], point)


@pytest.mark.parametrize("p", [1, 3])
def test_metric_penalty(p):
    rng = np.random.default_rng(2)
    assert_gradients(metric_penalty, (positive_definite(rng, p, 20.0),))


def test_slack_penalty():
    assert_gradients(slack_penalty, (np.random.default_rng(3).normal(-1.0, 0.7, 9),))


def test_anchor_penalty():
    rng = np.random.default_rng(4)
    anchor = orthonormal(rng, 6, 2)
    assert_gradients(lambda w: anchor_penalty(w, anchor), (orthonormal(rng, 6, 2),))


@pytest.mark.parametrize("p", [1, 3])
def test_stein_divergence(p):
    rng = np.random.default_rng(5)
    assert_gradients(
        stein_divergence, (positive_definite(rng, p, 9.0), 2 * positive_definite(rng, p, 4.0))
    )


@pytest.mark.parametrize(
    "kinds", [("full", "full"), ("full", "diagonal"), ("diagonal", "diagonal")]
)
def test_projected_discrepancy(kinds):
    rng = np.random.default_rng(6)
    covariances = [
        rng.uniform(0.2, 3.0, d) if kind == "diagonal" else positive_definite(rng, d, 8.0)
        for kind, d in zip(kinds, (7, 5), strict=True)
    ]
    projections = (orthonormal(rng, 7, 3), orthonormal(rng, 5, 3))
    assert_gradients(lambda *w: projected_discrepancy(*covariances, *w), projections)


def test_projected_discrepancy_of_a_diagonal_is_that_of_the_matrix():
    rng = np.random.default_rng(7)
    first, second = rng.uniform(0.2, 3.0, 7), rng.uniform(0.2, 3.0, 5)
    projections = (orthonormal(rng, 7, 3), orthonormal(rng, 5, 3))
    slim = projected_discrepancy(first, second, *projections)
    full = projected_discrepancy(np.diag(first), np.diag(second), *projections)
    for a, b in zip(slim, full, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


SETTINGS = {
    "unsupervised": {"labelled": 0},
    "semi-supervised": {},
    "same width": {"widths": (8, 8)},
    "one domain": {"widths": (8,)},
    "slack": {"slack": True, "slack_weight": 2.0},
    "anchors": {"anchor_weights": (1.0, 4.0), "metric_weight": 10.0},
    "diagonal": {"diagonal": True, "trade_off": 3.0},
    "all pairs": {"engine": "all", "anchor_weights": (0.5, 0.0)},
    "all pairs, unsupervised": {"engine": "all", "labelled": 0},
    "no regularisers": {"trade_off": 0.0, "metric_weight": 0.0},
    "three domains": {"widths": (8, 7, 6), "sizes": (9, 8, 7), "anchor_weights": (0.0, 1.0, 2.0)},
    "everything": {"slack": True, "anchor_weights": (1.0, 4.0), "trade_off": 0.3},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_ils_objective(name):
    case = ils_case(11, **SETTINGS[name])

    def flat(*point):
        value, gradient = case.objective(point)
        return value, *gradient

    assert_gradients(flat, case.point)


@pytest.mark.parametrize("retraction", ["qr", "polar"])
@pytest.mark.parametrize("name", SETTINGS)
def test_along_retraction_curves(name, retraction):
    # f(R(tu)) = f(x) + t <grad f, u>_x + O(t²); Absil, Mahony, Sepulchre 2008, section 4.1
    case = ils_case(12, retraction=retraction, **SETTINGS[name])
    manifold, point, rng = case.manifold, case.point, np.random.default_rng(1)
    gradient = manifold.riemannian_gradient(point, case.objective(point)[1])
    for block in [*range(len(point)), None]:
        directions = []
        for _ in range(3):
            drawn = tuple(rng.standard_normal(np.shape(x)) for x in point)
            u = only(block, manifold.riemannian_gradient(point, drawn))
            length = np.sqrt(manifold.inner(point, u, u))
            directions.append(manifold.combine(1.5 / length, u, 0.0, u))
        slopes = np.asarray([manifold.inner(point, gradient, u) for u in directions])

        def along(t, directions=directions):
            moves = [manifold.combine(t, u, 0.0, u) for u in directions]
            return np.asarray([case.objective(manifold.retract(point, u))[0] for u in moves])

        assert taylor_order(along, slopes) == TWO, f"block {block}"


def test_gradient_in_the_metric_is_symmetric():
    for engine in ("sampled", "all"):
        case = ils_case(13, engine=engine)
        gradient = case.objective(case.point)[1][2]
        np.testing.assert_allclose(gradient, gradient.T, atol=1e-14)


def test_taylor_order_notices_a_factor_of_two():
    case = ils_case(14)
    direction = like_point(np.random.default_rng(0), case.point)
    _, gradient = case.objective(case.point)
    slope = euclidean(gradient, direction)

    def along(t):
        return float(case.objective(line(case.point, direction, t))[0])

    assert taylor_order(along, slope) == TWO
    assert taylor_order(along, 2 * slope) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("engine", ["all", "sampled"])
def test_objective_of_several_sources(engine):
    widths = (9, 7, 8, 6)
    case = ils_case(
        6, widths=widths, sizes=(12, 10, 9, 8), engine=engine, anchor_weights=(1.0, 0.5, 2.0, 4.0)
    )
    shares = (0.1, 0.3, 0.6, 1.0)
    domains = tuple(
        replace(each, share=share)
        for each, share in zip(case.objective.domains, shares, strict=True)
    )
    objective = replace(case.objective, domains=domains)

    def value_and_gradients(*point):
        value, gradients = objective(point)
        return value, *gradients

    assert_gradients(value_and_gradients, case.point)
