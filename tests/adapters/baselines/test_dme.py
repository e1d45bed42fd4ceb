"""Distribution-matching embedding: values, gradients and minima of its distances."""

import numpy as np
import pytest
from adapters.shifted import shifted
from laws.taylor import taylor_order
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.exceptions import ConvergenceWarning

from ilspace.adapters.baselines.dme import (
    DISCREPANCIES,
    DME,
    gaussian_mmd,
    hellinger,
    match_distributions,
    polynomial_mmd,
    scatter_within,
    with_clusters,
)
from ilspace.manifolds import Stiefel
from ilspace.optimizers import Status

TWO = pytest.approx(2.0, abs=0.1)
X, y, Xt, yt = shifted()


def problem(seed=0, *, n=7, m=9, d=5, p=2):
    rng = np.random.default_rng(seed)
    source, target = rng.standard_normal((n, d)), rng.standard_normal((m, d)) * 1.3 + 0.4
    return source, target, np.linalg.qr(rng.standard_normal((d, p)))[0]


def naive_mmd(source, target, W, kernel):
    """The norm of the difference of two means, expanded, pair by pair."""
    S, T = source @ W, target @ W

    def mean(first, second):
        return sum(kernel(a, b) for a in first for b in second) / len(first) / len(second)

    return mean(S, S) - 2 * mean(S, T) + mean(T, T)


def naive_hellinger(source, target, W, width):
    S, T = source @ W, target @ W

    def density(z, rows):  # with its constant, which must not matter
        constant = (np.pi * width) ** (-W.shape[1] / 2)
        return constant * sum(np.exp(-np.sum((z - row) ** 2) / width) for row in rows) / len(rows)

    total = 0.0
    for rows in (S, T):
        for z in rows:
            share = density(z, S) / (density(z, S) + density(z, T))
            total += (np.sqrt(share) - np.sqrt(1 - share)) ** 2 / len(rows)
    return total


def test_gaussian_mmd_is_the_naive_sum():
    source, target, W = problem()
    expected = naive_mmd(source, target, W, lambda a, b: np.exp(-np.sum((a - b) ** 2) / 1.7))
    assert gaussian_mmd(source, target, 1.7)(W)[0] == pytest.approx(expected)


def test_polynomial_mmd_is_the_naive_sum():
    source, target, W = problem()
    expected = naive_mmd(source, target, W, lambda a, b: (1 + a @ b / 1.7) ** 2)
    assert polynomial_mmd(source, target, 1.7)(W)[0] == pytest.approx(expected)


def test_hellinger_is_the_naive_sum():
    source, target, W = problem()
    expected = naive_hellinger(source, target, W, 1.7)
    assert hellinger(source, target, 1.7)(W)[0] == pytest.approx(expected)


def test_distances_of_two_gaussians_approach_their_closed_forms():
    rng = np.random.default_rng(1)
    source, target = rng.standard_normal((900, 1)), rng.standard_normal((800, 1)) + 1.5
    W = np.eye(1)
    # E exp(-x²/σ) for x of N(μ, 2) is (1 + 4/σ)^(-1/2) exp(-μ²/(σ + 4))
    width = 2.0
    closed = 2 * (1 + 4 / width) ** -0.5 * (1 - np.exp(-(1.5**2) / (width + 4)))
    assert gaussian_mmd(source, target, width)(W)[0] == pytest.approx(closed, rel=0.05)
    # Hellinger: 2 (1 - exp(-μ²/8)), where the densities are hardly smoothed
    closed = 2 * (1 - np.exp(-(1.5**2) / 8))
    assert hellinger(source, target, 0.05)(W)[0] == pytest.approx(closed, rel=0.1)


@pytest.mark.parametrize("name", DISCREPANCIES)
@pytest.mark.parametrize("clusters", [0.0, 0.7])
def test_gradients(name, clusters):
    source, target, W = problem(2)
    objective = DISCREPANCIES[name](source, target, 2.3)
    if clusters:
        objective = with_clusters(objective, scatter_within(source, np.arange(7) % 2), clusters)
    rng = np.random.default_rng(3)
    directions = rng.standard_normal((3, *W.shape))
    slopes = np.array([np.sum(objective(W)[1] * u) for u in directions])

    def along(t):
        return np.array([objective(W + t * u)[0] for u in directions])

    assert taylor_order(along, slopes) == TWO
    assert taylor_order(along, 2 * slopes) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("name", DISCREPANCIES)
def test_laws_of_the_distances(name):
    source, target, W = problem(4)
    make = DISCREPANCIES[name]
    value, gradient = make(source, target, 1.1)(W)
    assert value > 0
    assert make(target, source, 1.1)(W)[0] == pytest.approx(value)
    turn = np.linalg.qr(np.random.default_rng(5).standard_normal((2, 2)))[0]
    turned, turned_gradient = make(source, target, 1.1)(W @ turn)
    assert turned == pytest.approx(value)
    np.testing.assert_allclose(turned_gradient, gradient @ turn, atol=1e-12)
    twice = np.concatenate([source, source])  # as many equal rows more are the same distribution
    same, flat = make(source, twice, 1.1)(W)
    assert same == pytest.approx(0, abs=1e-14)
    np.testing.assert_allclose(flat, 0, atol=1e-12)


@pytest.mark.parametrize("name", ["mmd", "hellinger"])
def test_distances_do_not_see_a_common_shift(name):
    source, target, W = problem(6)
    value = DISCREPANCIES[name](source, target, 1.1)(W)[0]
    assert DISCREPANCIES[name](source + 3, target + 3, 1.1)(W)[0] == pytest.approx(value)


def test_hellinger_of_domains_far_apart_is_two_and_finite():
    source, target, W = problem(7)
    value, gradient = hellinger(source, target + 1e4, 1.0)(W)
    assert value == pytest.approx(2)
    assert np.isfinite(gradient).all()


def test_scatter_within_is_the_naive_sum():
    rows, codes = problem(8, n=12)[0], np.array([0, 2, 2, 0, 2, 0, 5, 5, 2, 0, 5, 2])
    total = np.zeros((5, 5))
    for row, code in zip(rows, codes, strict=True):
        offset = row - rows[codes == code].mean(axis=0)
        total += np.outer(offset, offset) / 12
    np.testing.assert_allclose(scatter_within(rows, codes), total, atol=1e-12)


@pytest.mark.parametrize("name", DISCREPANCIES)
def test_descent_is_monotone_and_ends_at_a_critical_point(name):
    source, target, _ = problem(9, n=20, m=25, d=4)
    objective = DISCREPANCIES[name](source, target, 3.0)
    start = np.eye(4, 2)
    solution = match_distributions(objective, start, tol=0.0, max_iter=300)
    values = np.array([each.value for each in solution.history])
    assert (np.diff(values) <= 1e-15).all()
    assert values[-1] < 0.7 * values[0]
    W = solution.point
    np.testing.assert_allclose(W.T @ W, np.eye(2), atol=1e-12)
    norms = [
        np.linalg.norm(Stiefel(4, 2).riemannian_gradient(point, objective(point)[1]))
        for point in (start, W)
    ]
    assert norms[1] < 1e-3 * norms[0]


@pytest.mark.parametrize("embedding", ["linear", "rbf"])
@pytest.mark.parametrize("name", DISCREPANCIES)
def test_fit_lowers_the_distance(name, embedding):
    fitted = DME(3, discrepancy=name, embedding=embedding, cluster_weight=0.0).fit(X, y, Xt)
    before, after = (
        DISCREPANCIES[name](S, T, fitted.bandwidth_)(np.eye(3))[0]
        for S, T in (
            (each.transform(X, "source"), each.transform(Xt))
            for each in (
                DME(3, embedding=embedding, max_iter=0).fit(X, y, Xt),
                fitted,
            )
        )
    )
    assert fitted.solution_ is not None
    history = fitted.solution_.history
    assert before == pytest.approx(history[0].value)
    assert after == pytest.approx(history[-1].value)
    assert after < 0.5 * before
    assert fitted.solution_.status is Status.STOPPED
    assert fitted.n_iter_ == len(history) - 1 > 3


def test_projection_turns_away_from_a_shift():
    rng = np.random.default_rng(10)
    codes = np.arange(60) % 2
    rows = rng.standard_normal((60, 6))
    rows[:, 0] += 5 * codes
    shift = np.array([0, 4.0, 3.0, 0, 0, 0])
    target = rng.standard_normal((50, 6)) + shift
    target[:, 0] += 5 * (np.arange(50) % 2)
    fitted = DME(2).fit(rows, codes, target)
    W = fitted.projection_
    np.testing.assert_allclose(W.T @ W, np.eye(2), atol=1e-12)
    assert np.linalg.norm(shift @ W) < 0.1 * np.linalg.norm(shift)
    assert np.linalg.norm(W[0]) > 0.9  # the classes still differ
    assert fitted.score(target, np.arange(50) % 2) > 0.95


def test_clusters_tighten_the_source_classes():
    spreads = []
    for weight in (0.0, 0.01, 0.1):
        Z = DME(2, cluster_weight=weight).fit(X, y, Xt).transform(X, "source")
        spreads.append(np.trace(scatter_within(Z, y)))
    assert spreads[0] > spreads[1] > spreads[2]


def test_bandwidth_is_a_multiple_of_the_median_between_source_rows():
    fitted = DME(3, bandwidth_scale=2.5, max_iter=0).fit(X, y, Xt)
    median = np.median(pdist(fitted.transform(X, "source"), "sqeuclidean"))
    assert fitted.bandwidth_ == pytest.approx(2.5 * median)


def test_running_out_of_iterations_is_told_with_a_remedy():
    with pytest.warns(ConvergenceWarning, match="max_iter was reached.*raise max_iter or tol"):
        DME(3, max_iter=2, tol=0.0).fit(X, y, Xt)


@pytest.mark.parametrize("parameters", [{}, {"embedding": "rbf"}])
def test_nothing_to_optimise(parameters):
    # one domain, all directions kept, or domains that agree already
    assert DME(2, **parameters).fit(X, y).solution_ is None
    assert DME(2, **parameters).fit(X, y, X[::-1]).solution_ is None
    if not parameters:
        assert DME(6).fit(X, y, Xt).solution_ is None


@pytest.mark.parametrize("embedding", ["linear", "rbf"])
def test_rows_of_other_kinds(embedding):
    fitted = DME(3, embedding=embedding).fit(X, y, Xt)
    expected = fitted.transform(Xt)
    np.testing.assert_allclose(fitted.transform(sparse.csr_array(Xt)), expected, atol=1e-10)
    single = fitted.transform(Xt.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=1e-4)


def test_kernel_embedding_sees_what_no_projection_does():
    # a class inside a ring of the other, around different centres in the domains
    rng = np.random.default_rng(11)
    codes = np.arange(80) % 2
    angles = rng.uniform(0, 2 * np.pi, 80)
    ring = (0.3 + 2 * codes)[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rows = ring + 0.1 * rng.standard_normal((80, 2))
    target = rows[::-1] + 0.3
    bent = DME(5, embedding="rbf", classifier="svm").fit(rows, codes, target)
    straight = DME(1, classifier="svm").fit(rows, codes, target)
    assert bent.score(target, codes[::-1]) > 0.95
    assert straight.score(target, codes[::-1]) < 0.8
