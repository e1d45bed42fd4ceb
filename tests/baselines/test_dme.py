"""Distribution-matching embedding: what it minimises, and what its projections show."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist
from shifted import shifted
from sklearn.exceptions import ConvergenceWarning

from ilspace.baselines._discrepancies import DISCREPANCIES
from ilspace.baselines.dme import DME, match_distributions, scatter_within
from ilspace.manifolds import Stiefel
from ilspace.optimizers import Status

X, y, Xt, yt = shifted()


def test_scatter_within_is_the_naive_sum():
    rows = np.random.default_rng(8).standard_normal((12, 5))
    codes = np.array([0, 2, 2, 0, 2, 0, 5, 5, 2, 0, 5, 2])
    total = np.zeros((5, 5))
    for row, code in zip(rows, codes, strict=True):
        offset = row - rows[codes == code].mean(axis=0)
        total += np.outer(offset, offset) / 12
    np.testing.assert_allclose(scatter_within(rows, codes), total, atol=1e-12)


@pytest.mark.parametrize("name", DISCREPANCIES)
def test_descent_is_monotone_and_ends_at_a_critical_point(name):
    rng = np.random.default_rng(9)
    source, target = rng.standard_normal((20, 4)), rng.standard_normal((25, 4)) * 1.3 + 0.4
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
