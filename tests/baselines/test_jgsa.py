"""Joint geometrical and statistical alignment, against its objective written out by loops."""

import numpy as np
import pytest
from baselines.discrepancies_by_loops import naive_mmd
from scipy import linalg
from shifted import shifted

from ilspace.baselines import JGSA
from ilspace.baselines.jgsa import class_scatters

X, y, Xt, yt = shifted()
N, NT, D = len(X), len(Xt), X.shape[1]
FEW = np.where(np.arange(NT) < 9, yt, -1)
FORMS = [
    JGSA(3, max_iter=50),
    JGSA(4, alignment_weight=0.3, variance_weight=2.0, discriminant_weight=0.5, max_iter=50),
    JGSA(2, discriminant_weight=0.0, max_iter=50),
]


def units():
    """Rows of both domains from their common mean, of unit length."""
    offsets = np.vstack([X, Xt]) - np.vstack([X, Xt]).mean(axis=0)
    rows = np.array([row / np.linalg.norm(row) for row in offsets])
    return rows[:N], rows[N:]


def gain_and_cost(fitted, M, A, B):
    """Numerator and denominator of the objective, term by term, as quadratic forms of the maps."""
    source, target = units()
    latent = np.vstack([source @ A, target @ B])
    kernel = latent @ latent.T
    gain = cost = 0.0
    for c in range(3):
        rows = (source @ A)[y == c]
        gain += fitted.discriminant_weight * len(rows) * _length(rows.mean(0) - latent[:N].mean(0))
        cost += fitted.discriminant_weight * sum(_length(row - rows.mean(0)) for row in rows)
    gain += fitted.variance_weight * sum(_length(z - latent[N:].mean(0)) for z in latent[N:])
    cost += np.sum(M * kernel)
    cost += fitted.alignment_weight * _length(A - B) + fitted.variance_weight * _length(B)
    return gain, cost


def _length(array):
    return float(np.sum(array**2))


def matrices(fitted):
    """The matrices of the two forms, by polarisation of their values."""

    def split(w):
        return w[:D, None], w[D:, None]

    frame, M = np.eye(2 * D), naive_mmd(y, fitted.pseudo_labels_, 3, 0.5)
    found = np.zeros((2, 2 * D, 2 * D))
    for i, first in enumerate(frame):
        for j, second in enumerate(frame):
            plus = gain_and_cost(fitted, M, *split(first + second))
            minus = gain_and_cost(fitted, M, *split(first - second))
            found[:, i, j] = np.subtract(plus, minus) / 4
    return found


@pytest.fixture(params=FORMS, ids=str)
def case(request):
    """A fit whose labels have converged, and the matrices P and Q of its problem."""
    fitted = request.param.fit(X, y, Xt, FEW)
    assert fitted.n_iter_ < fitted.max_iter
    return fitted, *matrices(fitted)


def test_columns_are_the_leading_eigenvectors(case):
    fitted, P, Q = case
    values = np.sort(linalg.eigvals(np.linalg.solve(Q, P)).real)[::-1]
    np.testing.assert_allclose(fitted.eigenvalues_, values[: fitted.n_components_], rtol=1e-8)
    W = np.vstack([fitted.source_projection_, fitted.target_projection_])
    np.testing.assert_allclose(P @ W, Q @ W * fitted.eigenvalues_, atol=1e-8 * values[0])
    np.testing.assert_allclose(np.linalg.norm(W, axis=0), 1)


def test_no_perturbation_improves_the_quotient(case):
    fitted, P, Q = case

    def quotient(W):
        return np.trace(np.linalg.solve(W.T @ Q @ W, W.T @ P @ W))

    W = np.vstack([fitted.source_projection_, fitted.target_projection_])
    best, rng = quotient(W), np.random.default_rng(0)
    for size in (1e-6, 1e-3, 0.1):
        for _ in range(20):
            assert quotient(W + size * rng.standard_normal(W.shape)) <= best * (1 + 1e-12)


def test_rows_go_through_the_map_of_their_domain(case):
    fitted, *_ = case
    source, target = units()
    latent = fitted.transform(X, "source"), fitted.transform(Xt)
    np.testing.assert_allclose(latent[0], source @ fitted.source_projection_, atol=1e-12)
    np.testing.assert_allclose(latent[1], target @ fitted.target_projection_, atol=1e-12)


def test_scatters_add_up_to_that_of_all_rows():
    between, within = class_scatters(X, y)
    np.testing.assert_allclose(between + within, np.cov(X.T, ddof=0) * N)
    constant = X * 0 + np.arange(3)[y][:, None]
    np.testing.assert_allclose(class_scatters(constant, y)[1], 0, atol=1e-12)


def test_a_large_weight_makes_one_map():
    near, far = (JGSA(3, alignment_weight=weight).fit(X, y, Xt, FEW) for weight in (1e6, 1.0))
    gaps = [np.abs(each.source_projection_ - each.target_projection_).max() for each in (near, far)]
    assert gaps[0] < 1e-3 * gaps[1]


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((100, 6)))[0].T
    wide, narrow = (JGSA(3).fit(X @ each, y, Xt @ each) for each in (turn, np.eye(6)))
    np.testing.assert_allclose(wide.eigenvalues_, narrow.eigenvalues_, rtol=1e-8)
    np.testing.assert_array_equal(wide.pseudo_labels_, narrow.pseudo_labels_)


def test_known_labels_stay_even_if_wrong():
    wrong = np.where(np.arange(NT) < 5, (yt + 1) % 3, -1)
    fitted = JGSA().fit(X, y, Xt, wrong)
    np.testing.assert_array_equal(fitted.pseudo_labels_[:5], wrong[:5])


def test_a_class_that_the_target_does_not_have():
    only = Xt[yt == 0]
    fitted = JGSA().fit(X, y, only)
    assert np.isfinite(fitted.transform(only)).all()
