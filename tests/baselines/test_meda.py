"""Manifold embedded distribution alignment, against its linear system and objective by loops."""

import numpy as np
import pytest
from baselines.discrepancies_by_loops import naive_mmd
from scipy.linalg import null_space, sqrtm
from shifted import shifted
from sklearn.decomposition import PCA

from ilspace.baselines import GFK, MEDA
from ilspace.baselines._pseudo_labels import mean_discrepancies
from ilspace.baselines.meda import aligned_ridge
from ilspace.rules.ridge import graph_laplacian

X, y, Xt, yt = shifted()
N, NT = len(X), len(Xt)
FEW = np.where(np.arange(NT) < 9, yt, -1)
FORMS = [
    MEDA(3, max_iter=50),
    MEDA(2, balance=0.3, discrepancy_weight=3.0, manifold_weight=0.5, max_iter=50),
    MEDA(3, balance=1.0, regularization=0.7, n_neighbors=4, gamma=2.0, max_iter=50),
]


def manifold_features(p):
    """Rows times the square root of the geodesic flow kernel, of unit length."""
    G = GFK(p, source_basis=PCA(p).fit(X).components_.T).fit(X, y, Xt).factor_
    root = sqrtm(G @ G.T).real
    rows = np.vstack([X - X.mean(axis=0), Xt - Xt.mean(axis=0)]) @ root
    return np.array([row / np.linalg.norm(row) for row in rows])


def naive_laplacian(rows, n_neighbors):
    n = len(rows)
    cosines = np.array([[a @ b for b in rows] for a in rows])
    weights = np.zeros((n, n))
    for i in range(n):
        for j in [j for j in np.argsort(-cosines[i]) if j != i][:n_neighbors]:
            weights[i, j] = weights[j, i] = max(cosines[i, j], 0)
    degrees = weights.sum(axis=1)
    return np.eye(n) - weights / np.sqrt(np.outer(degrees, degrees))


@pytest.fixture(params=FORMS, ids=str)
def case(request):
    """A fit whose labels have converged, and the matrices A, Y, K, M and L of its problem."""
    fitted = request.param.fit(X, y, Xt, FEW)
    assert fitted.n_iter_ < fitted.max_iter
    rows = manifold_features(fitted.n_components)
    squares = np.array([[np.sum((a - b) ** 2) for b in rows] for a in rows])
    labels = np.concatenate([y, FEW])
    Y = np.array([[float(label == c) for c in range(3)] for label in labels])
    M = naive_mmd(y, fitted.pseudo_labels_, 3, fitted.balance_)
    L = naive_laplacian(rows, fitted.n_neighbors)
    return fitted, np.diag((labels >= 0) * 1.0), Y, np.exp(-fitted.gamma * squares), M, L


class TestDefinition:
    def test_coefficients_solve_the_dense_system(self, case):
        fitted, A, Y, K, M, L = case
        system = (A + fitted.discrepancy_weight * M + fitted.manifold_weight * L) @ K
        system += fitted.regularization * np.eye(N + NT)
        expected = np.linalg.solve(system, A @ Y)
        np.testing.assert_allclose(fitted.coefficients_, expected, atol=1e-10)

    def test_no_perturbation_improves_the_objective(self, case):
        fitted, A, Y, K, M, L = case

        def objective(beta):
            F = K @ beta
            misfit = np.sum((A @ (Y - F)) ** 2)
            size = fitted.regularization * np.trace(beta.T @ F)
            apart = fitted.discrepancy_weight * np.trace(F.T @ M @ F)
            return misfit + size + apart + fitted.manifold_weight * np.trace(F.T @ L @ F)

        best, rng = objective(fitted.coefficients_), np.random.default_rng(0)
        for size in (1e-4, 1e-2, 1.0):
            for _ in range(20):
                step = rng.standard_normal(fitted.coefficients_.shape)
                assert objective(fitted.coefficients_ + size * step) > best

    def test_scores_are_the_kernel_expansion(self, case):
        fitted, _, _, K, _, _ = case
        scores = K @ fitted.coefficients_
        np.testing.assert_allclose(fitted.decision_function(Xt), scores[N:], atol=1e-10)
        np.testing.assert_allclose(fitted.decision_function(X, "source"), scores[:N], atol=1e-10)
        known = FEW >= 0
        np.testing.assert_array_equal(fitted.pseudo_labels_[known], FEW[known])
        np.testing.assert_array_equal(
            fitted.pseudo_labels_[~known], scores[N:][~known].argmax(axis=1)
        )


def test_rows_never_seen_are_scored_by_what_the_subspaces_hold_of_them():
    fitted = MEDA(2).fit(X, y, Xt, FEW)
    moved = fitted.decision_function(Xt + 1e-7)
    np.testing.assert_allclose(moved, fitted.decision_function(Xt), atol=1e-5)
    away = 10 * null_space(fitted.factor_.T)[:, 0]
    far = fitted.decision_function(Xt + away)
    np.testing.assert_allclose(far, fitted.decision_function(Xt), atol=1e-8)


def test_laplacian_is_that_of_loops_and_positive():
    rows = manifold_features(3)
    found = graph_laplacian(rows, 4).toarray()
    np.testing.assert_allclose(found, naive_laplacian(rows, 4), atol=1e-10)
    assert np.linalg.eigvalsh(found).min() > -1e-12


def test_opposite_rows_are_no_neighbours():
    rows = np.array([[1.0, 0.0], [-1.0, 0.0]])
    found = graph_laplacian(rows, 10).toarray()
    assert np.isfinite(found).all()
    assert found[0, 1] == found[1, 0] == 0


def test_without_weights_it_is_kernel_ridge():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((12, 3))
    kernel, targets = rows @ rows.T, np.eye(3)[np.arange(12) % 3]
    solve = aligned_ridge(
        kernel,
        targets,
        graph_laplacian(rows / np.linalg.norm(rows, axis=1, keepdims=True), 3),
        discrepancy_weight=0.0,
        manifold_weight=0.0,
        regularization=0.5,
    )
    expected = np.linalg.solve(kernel + 0.5 * np.eye(12), targets)
    factor = mean_discrepancies(np.arange(6) % 3, np.arange(6) % 3, 3)
    np.testing.assert_allclose(solve(factor), expected, atol=1e-10)


def test_two_classes_have_one_score():
    two, known = y < 2, yt < 2
    fitted = MEDA(3).fit(X[two], y[two], Xt[known])
    scores = fitted.decision_function(Xt[known])
    assert scores.shape == (known.sum(),)
    np.testing.assert_array_equal(fitted.predict(Xt[known]), (scores > 0).astype(int))


def test_labelled_target_rows_teach():
    wrong = np.where(np.arange(NT) < 15, (yt + 1) % 3, -1)
    fitted = MEDA(3).fit(X, y, Xt, wrong)
    np.testing.assert_array_equal(fitted.pseudo_labels_[:15], wrong[:15])
    plain = MEDA(3).fit(X, y, Xt)
    assert np.mean(fitted.predict(Xt[15:]) == yt[15:]) < plain.score(Xt[15:], yt[15:])


@pytest.mark.parametrize("balance", ["auto", 0.0, 1.0])
def test_a_class_that_the_target_does_not_have(balance):
    only = Xt[yt == 0]
    fitted = MEDA(balance=balance).fit(X, y, only)
    assert np.isfinite(fitted.decision_function(only)).all()
