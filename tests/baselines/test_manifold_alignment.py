"""Manifold alignment: the same as dense Laplacians built entry by entry, and optimal."""

import numpy as np
import pytest
from scipy import linalg, sparse
from scipy.stats import ortho_group
from shifted import shifted

from ilspace.baselines.manifold_alignment import (
    ManifoldAlignment,
    alignment_problem,
    graph_spread,
    neighbour_graph,
    smallest_quotients,
)

X, y, Xt, yt = shifted()
FEW = np.where(np.arange(len(yt)) < 9, yt, -1)
NARROW = Xt[:, :4]


def naive_graph(rows, k):
    n = len(rows)
    squares = np.array([[np.sum((a - b) ** 2) for b in rows] for a in rows])
    near = [sorted(set(range(n)) - {i}, key=lambda j, i=i: squares[i, j])[:k] for i in range(n)]
    heat = np.mean([squares[i, j] for i in range(n) for j in near[i]])
    graph = np.zeros((n, n))
    for i in range(n):
        for j in near[i]:
            graph[i, j] = graph[j, i] = np.exp(-squares[i, j] / heat)
    return graph


def naive_laplacians(parts, codes, k):
    """Laplacians of the neighbours, of equal and of different classes, each of total weight 1."""
    n = len(codes)
    near, same, other = (
        linalg.block_diag(*(naive_graph(rows, k) for rows in parts)),
        *np.zeros((2, n, n)),
    )
    for i in range(n):
        for j in range(n):
            if i != j and codes[i] >= 0 and codes[j] >= 0:
                (same if codes[i] == codes[j] else other)[i, j] = 1
    return [
        np.diag(graph.sum(axis=1) / graph.sum()) - graph / graph.sum()
        for graph in (near, same, other)
    ]


def parts_and_codes():
    return [X - X.mean(axis=0), NARROW - NARROW.mean(axis=0)], np.concatenate([y, FEW])


def test_neighbour_graph_is_the_naive_one():
    expected = naive_graph(X, 4)
    np.testing.assert_allclose(neighbour_graph(X, 4).toarray(), expected, rtol=1e-10)


def test_more_neighbours_than_rows_join_all():
    graph = neighbour_graph(X[:5], 50).toarray()
    assert (graph[~np.eye(5, dtype=bool)] > 0).all()
    np.testing.assert_array_equal(np.diag(graph), 0)


def test_equal_rows_are_fully_similar():
    assert set(np.unique(neighbour_graph(np.ones((4, 2)), 2).toarray())) == {0.0, 1.0}


def test_spread_along_a_graph_is_the_mean_over_its_edges():
    rng = np.random.default_rng(0)
    weights = rng.uniform(size=(5, 5)) * (rng.uniform(size=(5, 5)) < 0.5)
    weights = weights + weights.T
    rows = rng.standard_normal((5, 3))
    total = sum(
        weights[i, j] * np.outer(rows[i] - rows[j], rows[i] - rows[j])
        for i in range(5)
        for j in range(5)
    )
    np.testing.assert_allclose(
        graph_spread(rows, sparse.csr_array(weights)), total / weights.sum(), atol=1e-14
    )


def test_problem_is_that_of_the_dense_laplacians():
    parts, codes = parts_and_codes()
    Z = linalg.block_diag(*parts)
    graph = sparse.block_diag([neighbour_graph(rows, 3) for rows in parts], format="csr")
    A, B = alignment_problem(Z, codes, graph, 0.7)
    L, L_s, L_d = naive_laplacians(parts, codes, 3)
    np.testing.assert_allclose(A, 2 * Z.T @ (0.7 * L + L_s) @ Z, atol=1e-12)
    np.testing.assert_allclose(B, 2 * Z.T @ L_d @ Z, atol=1e-12)


def test_fit_solves_the_published_eigenproblem():
    parts, codes = parts_and_codes()
    Z = linalg.block_diag(*parts)
    L, L_s, L_d = naive_laplacians(parts, codes, 5)
    values, vectors = linalg.eigh(Z.T @ (L + L_s) @ Z, Z.T @ L_d @ Z)  # smallest quotients first
    fitted = ManifoldAlignment(3, n_axes=None, ridge=1e-9).fit(X, y, NARROW, FEW)
    np.testing.assert_allclose(fitted.quotients_, 1 / values[:3], rtol=1e-5)
    learned = np.vstack([fitted.source_projection_, fitted.target_projection_])
    for i in range(3):
        cosine = learned[:, i] @ vectors[:, i]
        cosine /= np.linalg.norm(learned[:, i]) * np.linalg.norm(vectors[:, i])
        assert abs(cosine) == pytest.approx(1, abs=1e-6)


def test_all_principal_axes_are_as_good_as_all_columns():
    full = ManifoldAlignment(3, n_axes=None, ridge=1e-9).fit(X, y, NARROW, FEW)
    axes = ManifoldAlignment(3, n_axes=30, ridge=1e-9).fit(X, y, NARROW, FEW)
    np.testing.assert_allclose(axes.quotients_, full.quotients_, rtol=1e-5)
    np.testing.assert_array_equal(axes.predict(NARROW), full.predict(NARROW))


def test_directions_satisfy_the_eigenproblem_and_are_optimal():
    rng = np.random.default_rng(1)
    factors = rng.standard_normal((2, 9, 9))
    A, B = factors[0] @ factors[0].T, factors[1][:, :4] @ factors[1][:, :4].T  # B is singular
    ridge = 0.01
    quotients, V = smallest_quotients(A, B, 3, ridge)
    regular = A + ridge * np.trace(A) / 9 * np.eye(9)
    np.testing.assert_allclose(B @ V, regular @ V * quotients, atol=1e-8 * np.abs(B).max())
    np.testing.assert_allclose(V.T @ regular @ V, np.eye(3), atol=1e-10)
    best = np.trace(np.linalg.solve(V.T @ regular @ V, V.T @ B @ V))
    for scale in (0.03, 0.3, 3.0):
        for _ in range(10):
            other = V + scale * rng.standard_normal(V.shape) * np.abs(V).max()
            assert np.trace(np.linalg.solve(other.T @ regular @ other, other.T @ B @ other)) < best


def gap_of_means(first, second, classes=(0, 1, 2)):
    """Distance of the class means of two domains, against the distances between the classes."""
    means = [np.array([z[c == k].mean(axis=0) for k in classes]) for z, c in (first, second)]
    spread = np.linalg.norm(means[0] - means[0].mean(axis=0))
    return np.linalg.norm(means[0] - means[1]) / spread


def test_class_means_of_a_rotated_copy_coincide_after_the_alignment():
    turn = ortho_group.rvs(6, random_state=0)
    copy = X @ turn
    fitted = ManifoldAlignment(2).fit(X, y, copy, np.where(np.arange(30) < 15, y, -1))
    before = gap_of_means((X - X.mean(axis=0), y), (copy - copy.mean(axis=0), y))
    after = gap_of_means((fitted.transform(X, "source"), y), (fitted.transform(copy), y))
    assert after < 0.3 * before
    assert fitted.score(copy, y) == 1


def test_rotation_and_scale_of_the_target_change_nothing():
    turned = 7 * NARROW @ ortho_group.rvs(4, random_state=1) + 2
    first = ManifoldAlignment(3).fit(X, y, NARROW, FEW)
    second = ManifoldAlignment(3).fit(X, y, turned, FEW)
    np.testing.assert_allclose(first.quotients_, second.quotients_, rtol=1e-8)
    np.testing.assert_allclose(
        np.abs(first.transform(NARROW)), np.abs(second.transform(turned)), atol=1e-8
    )


def test_order_of_the_rows_does_not_matter():
    order = np.random.default_rng(2).permutation(len(NARROW))
    first = ManifoldAlignment().fit(X, y, NARROW, FEW)
    second = ManifoldAlignment().fit(X, y, NARROW[order], FEW[order])
    np.testing.assert_array_equal(first.predict(NARROW), second.predict(NARROW))


def test_neighbours_hold_the_unlabelled_rows_together():
    # their share of the spread falls as their weight grows
    spreads = []
    for weight in (0.0, 1.0, 100.0):
        fitted = ManifoldAlignment(2, neighbour_weight=weight).fit(X, y, Xt, FEW)
        Z = fitted.transform(Xt)
        near = graph_spread(Z, neighbour_graph(Xt - Xt.mean(axis=0), 5))
        spreads.append(np.trace(near) / np.trace(np.cov(Z.T)))
    assert spreads[0] > spreads[1] > spreads[2]
