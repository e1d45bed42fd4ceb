"""Joint and balanced distribution adaptation, against dense solvers of the definition and loops."""

import numpy as np
import pytest
from baselines.discrepancies_by_loops import naive_mmd
from scipy import linalg
from shifted import shifted

from ilspace.baselines import BDA, JDA
from ilspace.baselines.tca import transfer_components

X, y, Xt, yt = shifted()
ROWS = np.vstack([X, Xt])
N, NT = len(X), len(Xt)
FEW = np.where(np.arange(NT) < 9, yt, -1)
FORMS = [
    JDA(3, regularization=0.5, max_iter=50),
    JDA(3, kernel="rbf", gamma=0.7, max_iter=50),
    BDA(3, balance=0.2, max_iter=50),
    BDA(3, balance=0.0, kernel="rbf", max_iter=50),
    BDA(3, max_iter=50),
]


def unit(rows):
    return np.array([row / np.linalg.norm(row) for row in rows])


def kernel_of(fitted, rows, others):
    """Kernel of rows of unit length, one pair at a time."""
    mean = ROWS.mean(axis=0)
    result = np.empty((len(rows), len(others)))
    for i, row in enumerate(unit(rows - mean)):
        for j, other in enumerate(unit(others - mean)):
            if fitted.kernel == "linear":
                result[i, j] = row @ other
            else:
                result[i, j] = np.exp(-fitted.gamma * np.sum((row - other) ** 2))
    return result


@pytest.fixture(params=FORMS, ids=str)
def case(request):
    """A fit whose labels have converged, and the matrices A and B of its problem."""
    fitted = request.param.fit(X, y, Xt, FEW)
    assert fitted.n_iter_ < fitted.max_iter
    K = kernel_of(fitted, ROWS, ROWS)
    H = np.eye(N + NT) - 1 / (N + NT)
    M = naive_mmd(y, fitted.pseudo_labels_, 3, fitted.balance_)
    return fitted, K @ H @ K, K @ M @ K + fitted.regularization * np.eye(N + NT), K


class TestDefinition:
    def test_components_are_the_leading_eigenvectors(self, case):
        fitted, A, B, _ = case
        values = linalg.eigvals(np.linalg.solve(B, A)).real
        np.testing.assert_allclose(fitted.eigenvalues_, np.sort(values)[: -3 - 1 : -1], rtol=1e-8)
        W = fitted.weights_
        np.testing.assert_allclose(A @ W, B @ W * fitted.eigenvalues_, atol=1e-8 * values.max())
        np.testing.assert_allclose(np.linalg.norm(W, axis=0), 1)

    def test_no_perturbation_improves_the_quotient(self, case):
        fitted, A, B, _ = case

        def quotient(W):
            return np.trace(np.linalg.solve(W.T @ B @ W, W.T @ A @ W))

        best = quotient(fitted.weights_)
        rng = np.random.default_rng(0)
        for size in (1e-6, 1e-3, 0.1):
            for _ in range(20):
                step = rng.standard_normal(fitted.weights_.shape)
                assert quotient(fitted.weights_ + size * step) <= best * (1 + 1e-12)

    def test_rows_seen_or_not_go_through_the_kernel(self, case):
        fitted, _, _, K = case
        np.testing.assert_allclose(fitted.transform(ROWS), unit(K @ fitted.weights_), atol=1e-8)
        others = np.random.default_rng(1).standard_normal((5, 6))
        expected = unit(kernel_of(fitted, others, ROWS) @ fitted.weights_)
        for domain in ("source", "target"):
            np.testing.assert_allclose(fitted.transform(others, domain), expected, atol=1e-8)


def test_half_the_balance_is_joint_adaptation():
    joint, balanced = (each.fit(X, y, Xt).transform(Xt) for each in (JDA(4), BDA(4, balance=0.5)))
    np.testing.assert_array_equal(joint, balanced)


def test_without_classes_it_is_transfer_component_analysis():
    fitted = BDA(3, balance=0.0, kernel="rbf").fit(X, y, Xt)
    gaps = np.repeat([1 / N, -1 / NT], [N, NT])
    kernel = kernel_of(fitted, ROWS, ROWS)
    expected, _ = transfer_components(kernel, gaps / np.linalg.norm(gaps), 3, mu=1.0)
    expected /= np.linalg.norm(expected, axis=0)
    signs = np.sign(np.sum(expected * fitted.weights_, axis=0))
    np.testing.assert_allclose(fitted.weights_, expected * signs, atol=1e-8)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((100, 6)))[0].T
    wide, narrow = (JDA(3).fit(X @ each, y, Xt @ each) for each in (turn, np.eye(6)))
    np.testing.assert_allclose(wide.eigenvalues_, narrow.eigenvalues_, rtol=1e-8)
    np.testing.assert_array_equal(wide.pseudo_labels_, narrow.pseudo_labels_)


@pytest.mark.parametrize("kind", [JDA, BDA])
class TestLabels:
    def test_known_labels_stay_even_if_wrong(self, kind):
        wrong = np.where(np.arange(NT) < 5, (yt + 1) % 3, -1)
        fitted = kind().fit(X, y, Xt, wrong)
        np.testing.assert_array_equal(fitted.pseudo_labels_[:5], wrong[:5])

    def test_a_class_that_the_target_does_not_have(self, kind):
        only = Xt[yt == 0]
        fitted = kind().fit(X, y, only)
        assert np.isfinite(fitted.transform(only)).all()

    def test_rounds_bring_the_class_means_together(self, kind):
        def gap(fitted):
            ours, theirs = fitted.transform(X, "source"), fitted.transform(Xt)
            means = [(ours[y == c].mean(0), theirs[yt == c].mean(0)) for c in range(3)]
            return np.mean([np.sum((a - b) ** 2) for a, b in means])

        assert gap(kind(3).fit(X, y, Xt, yt)) < gap(kind(3, max_iter=1).fit(X, y, Xt))
