"""Transfer components, against dense solvers of the definition, loops and closed forms."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy import linalg
from shifted import shifted
from sklearn.decomposition import PCA

from ilspace.baselines.tca import TCA, neighbour_laplacian, transfer_components

X, y, Xt, yt = shifted()
ROWS = np.vstack([X, Xt])
N, NT = len(X), len(Xt)
FEW = np.where(np.arange(NT) < 9, yt, -1)
FORMS = [
    {},
    {"label_weight": 0.5},
    {"manifold_weight": 50.0},
    {"label_weight": 0.3, "manifold_weight": 10.0, "n_neighbors": 4},
    {"kernel": "rbf", "gamma": 0.05},
    {"kernel": "rbf", "label_weight": 0.7, "manifold_weight": 10.0},
]


def kernel_of(fitted, rows, others):
    """Kernel of centred rows, one pair at a time."""
    mean = ROWS.mean(axis=0)
    result = np.empty((len(rows), len(others)))
    for i, row in enumerate(rows):
        for j, other in enumerate(others):
            if fitted.kernel == "linear":
                result[i, j] = fitted.gamma_ * np.dot(row - mean, other - mean)
            else:
                result[i, j] = np.exp(-fitted.gamma_ * np.sum((row - other) ** 2))
    return result


def naive_laplacian(gamma, n_neighbors):
    n = len(ROWS)
    squares = np.array([[np.sum((a - b) ** 2) for b in ROWS] for a in ROWS])
    weights = np.zeros((n, n))
    for i in range(n):
        for j in [j for j in np.argsort(squares[i]) if j != i][:n_neighbors]:
            weights[i, j] = weights[j, i] = np.exp(-gamma * squares[i, j])
    return np.diag(weights.sum(axis=1)) - weights


def definition(fitted, codes):
    """The matrices A and B of the problem, written out densely."""
    n = len(ROWS)
    K = kernel_of(fitted, ROWS, ROWS)
    L = np.empty((n, n))
    L[:N, :N], L[N:, N:] = 1 / N**2, 1 / NT**2
    L[:N, N:] = L[N:, :N] = -1 / (N * NT)
    H = np.eye(n) - np.ones((n, n)) / n
    same = (codes[:, None] == codes) & (codes[:, None] >= 0)
    weight = fitted.label_weight
    A = K @ H @ (weight * same + (1 - weight) * np.eye(n)) @ H @ K
    graph = naive_laplacian(fitted.gamma_, fitted.n_neighbors)
    cost = L + fitted.manifold_weight / n**2 * graph
    return A, K @ cost @ K + fitted.mu * np.eye(n), K


@pytest.fixture(params=FORMS, ids=lambda form: "-".join(map(str, form)) or "plain")
def case(request):
    fitted = TCA(3, mu=0.5, **request.param).fit(X, y, Xt, FEW)
    return fitted, *definition(fitted, np.concatenate([y, FEW]))


class TestDefinition:
    def test_components_are_the_leading_eigenvectors(self, case):
        fitted, A, B, _ = case
        values, vectors = linalg.eig(np.linalg.solve(B, A))
        best = np.argsort(-values.real)[:3]
        np.testing.assert_allclose(fitted.eigenvalues_, values[best].real, rtol=1e-8)
        expected = vectors[:, best].real
        found = fitted.weights_ / np.linalg.norm(fitted.weights_, axis=0)
        signs = np.sign(np.sum(found * expected, axis=0))
        np.testing.assert_allclose(found, expected * signs, atol=1e-8)

    def test_lengths_are_those_promised(self, case):
        fitted, A, B, _ = case
        W = fitted.weights_
        np.testing.assert_allclose(W.T @ B @ W, fitted.mu * np.eye(3), atol=1e-8)
        scatter = np.diag(fitted.mu * fitted.eigenvalues_)
        np.testing.assert_allclose(W.T @ A @ W, scatter, atol=1e-8 * scatter.max())

    def test_no_perturbation_improves_the_quotient(self, case):
        fitted, A, B, _ = case

        def quotient(W):
            return np.trace(np.linalg.solve(W.T @ B @ W, W.T @ A @ W))

        best = quotient(fitted.weights_)
        assert best == pytest.approx(fitted.eigenvalues_.sum())
        rng = np.random.default_rng(0)
        for size in (1e-6, 1e-3, 0.1):
            for _ in range(20):
                step = rng.standard_normal(fitted.weights_.shape)
                assert quotient(fitted.weights_ + size * step) <= best * (1 + 1e-12)

    def test_rows_seen_or_not_go_through_the_kernel(self, case):
        fitted, _, _, K = case
        seen = fitted.transform(ROWS)
        embedded = K @ fitted.weights_
        np.testing.assert_allclose(seen, embedded - embedded.mean(axis=0), atol=1e-8)
        others = np.random.default_rng(1).standard_normal((5, 6))
        expected = kernel_of(fitted, others, ROWS) @ fitted.weights_ - embedded.mean(axis=0)
        for domain in ("source", "target"):
            np.testing.assert_allclose(fitted.transform(others, domain), expected, atol=1e-8)


def test_whitened_components_satisfy_the_constraint():
    fitted = TCA(3, mu=0.5, whiten=True).fit(X, y, Xt)
    latent = fitted.transform(ROWS)
    np.testing.assert_allclose(latent.T @ latent, np.eye(3), atol=1e-8)
    plain = TCA(3, mu=0.5).fit(X, y, Xt).transform(ROWS)
    np.testing.assert_allclose(latent * np.linalg.norm(plain, axis=0), plain, atol=1e-8)


def test_whitened_components_without_scatter_are_zero():
    fitted = TCA(10, whiten=True).fit(X, y, Xt)  # a linear kernel of 6 columns has 6 at most
    latent = fitted.transform(Xt)
    assert np.isfinite(latent).all()
    np.testing.assert_allclose(latent[:, 6:], 0, atol=1e-6)
    assert np.abs(latent[:, :6]).max(axis=0).min() > 1e-3


def test_a_small_weight_brings_the_means_together():
    far, gaps = X + 5, []
    for mu in (1e3, 1.0, 1e-3, 1e-6):
        fitted = TCA(3, mu=mu, whiten=True).fit(X, y, far)
        gap = fitted.transform(X).mean(axis=0) - fitted.transform(far).mean(axis=0)
        gaps.append(np.linalg.norm(gap))
    assert np.all(np.diff(gaps) < 0)
    assert gaps[-1] < 1e-3 * gaps[0]


def test_one_domain_alone_with_a_linear_kernel_gives_principal_components():
    fitted = TCA(3).fit(X, y)
    scores = PCA(3).fit_transform(X)
    latent = fitted.transform(X)
    # a component is counted once more by the length of its scores
    expected = scores * fitted.gamma_ * np.linalg.norm(scores, axis=0)
    signs = np.sign(np.sum(latent * expected, axis=0))
    np.testing.assert_allclose(latent, expected * signs, atol=1e-8)


def test_the_same_rows_twice_differ_by_nothing():
    twice, once = (TCA(2).fit(X, y, *other).transform(Xt) for other in ((X,), ()))
    np.testing.assert_allclose(twice, np.sqrt(2) * once, atol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_neither_units_nor_origin_matter(kernel):
    plain = TCA(3, kernel=kernel).fit(X, y, Xt)
    other = TCA(3, kernel=kernel).fit(100 * X + 7, y, 100 * Xt + 7)
    np.testing.assert_allclose(other.transform(100 * Xt + 7), plain.transform(Xt), atol=1e-7)


def test_labels_pull_classes_together():
    def spread(fitted):
        latent = fitted.transform(noise, "source")
        means = np.array([latent[y == k].mean(axis=0) for k in range(3)])
        return np.sum((latent - means[y]) ** 2) / np.sum((latent - latent.mean(axis=0)) ** 2)

    rng = np.random.default_rng(0)
    noise, target = (np.hstack([rows, 8 * rng.standard_normal((len(rows), 3))]) for rows in (X, Xt))
    spreads = [
        spread(TCA(2, label_weight=weight).fit(noise, y, target)) for weight in (0.0, 0.5, 0.9, 1.0)
    ]
    assert np.all(np.diff(spreads) < 0)
    assert spreads[-1] < 0.8 * spreads[0]


def test_the_graph_keeps_neighbours_together():
    def roughness(fitted):
        latent = fitted.transform(ROWS)
        graph = naive_laplacian(fitted.gamma_, fitted.n_neighbors)
        return np.trace(latent.T @ graph @ latent) / np.trace(latent.T @ latent)

    rough, smooth = (
        roughness(TCA(2, kernel="rbf", manifold_weight=weight).fit(X, y, Xt))
        for weight in (0.0, 1e4)
    )
    assert smooth < rough


def test_laplacian_is_that_of_loops():
    found = neighbour_laplacian(ROWS, 4, 0.05).toarray()
    np.testing.assert_allclose(found, naive_laplacian(0.05, 4), atol=1e-10)


def test_more_neighbours_than_rows():
    fitted = TCA(2, manifold_weight=1.0, n_neighbors=1000).fit(X, y, Xt)
    assert np.isfinite(fitted.transform(Xt)).all()


def test_the_metric_of_the_columns():
    fitted = TCA(3).fit(X, y, Xt)
    metric, offsets = fitted.get_mahalanobis_matrix(), Xt[:5] - Xt[5:10]
    pairs = np.stack([Xt[:5], Xt[5:10]], axis=1)
    expected = np.sqrt(np.einsum("ni,ij,nj->n", offsets, metric, offsets))
    np.testing.assert_allclose(fitted.pair_distance(pairs), expected)
    with pytest.raises(AttributeError):
        TCA(kernel="rbf").fit(X, y, Xt).get_mahalanobis_matrix()


def test_components_without_labels_ignore_them():
    kernel = ROWS @ ROWS.T
    shares = np.repeat([1 / N, -1 / NT], [N, NT])
    plain = transfer_components(kernel, shares, 2, mu=1.0)
    labelled = transfer_components(kernel, shares, 2, mu=1.0, indicators=np.eye(N + NT))
    for found, expected in zip(labelled, plain, strict=True):
        np.testing.assert_array_equal(found, expected)


_SKADA = """
import numpy as np
from shifted import shifted
from scipy.linalg import subspace_angles
from skada._subspace import TransferComponentAnalysisAdapter
from ilspace.baselines.tca import TCA

X, y, Xt, yt = shifted()

def both(Xt):
    rows, domain = np.vstack([X, Xt]), np.repeat([1, -2], [len(X), len(Xt)])
    theirs = TransferComponentAnalysisAdapter("rbf", 3, mu=2.0).fit(rows, sample_domain=domain)
    ours = TCA(3, kernel="rbf", gamma=1 / 6, mu=0.5).fit(X, y, Xt)
    return theirs, ours

# without a difference of the means its matrix is symmetric, and its solver the right one
theirs, ours = both(X + 0.0)
lengths = np.linalg.norm(ours.weights_, axis=0)
expected = theirs.eigvects_ * np.sign(np.sum(theirs.eigvects_ * ours.weights_, axis=0))
np.testing.assert_allclose(lengths, 1, atol=1e-8)
np.testing.assert_allclose(ours.weights_, expected, atol=1e-8)

# with one it is not, and the columns are no eigenvectors; if they are one day, compare them above
theirs, ours = both(Xt)
n, nt, K = len(X), len(Xt), theirs.K_
difference = K @ np.repeat([1 / n, -1 / nt], [n, nt])
cost = np.eye(n + nt) + 2.0 * np.outer(difference, difference)
matrix = np.linalg.solve(cost, (K - K.mean(axis=0)).T @ (K - K.mean(axis=0)))

def residual(W):
    return np.linalg.norm(matrix @ W - W @ np.linalg.lstsq(W, matrix @ W)[0])

assert np.abs(matrix - matrix.T).max() > 1e-3 * np.abs(matrix).max()
assert residual(theirs.eigvects_) > 1e-3
assert residual(ours.weights_) < 1e-8
"""


@pytest.mark.skipif(find_spec("skada") is None, reason="SKADA is not installed")
@pytest.mark.slow
def test_against_skada_where_its_solver_holds():
    path = [str(Path(__file__).parents[1]), *sys.path]  # importing SKADA changes scikit-learn
    script = f"import sys; sys.path[:] = {path!r}\n{_SKADA}"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
