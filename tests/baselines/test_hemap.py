"""HeMap: the block matrix is that of the published objective, and its leading vectors are found."""

import numpy as np
import pytest
from shifted import shifted
from sklearn.linear_model import Ridge

from ilspace.baselines.hemap import (
    HeMap,
    least_squares_map,
    pair_by_class,
    spectral_embedding,
)

X, y, Xt, yt = shifted()
FEW = np.where(np.arange(len(yt)) < 9, yt, -1)


def problem(seed=0, *, n=9, widths=(4, 5)):
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((n, d)) for d in widths)


def block_matrix(S, T, tie):
    """The matrix as it is published, block by block."""
    across = tie * (S @ S.T + T @ T.T)
    first = 2 * S @ S.T + tie**2 / 2 * T @ T.T
    second = 2 * T @ T.T + tie**2 / 2 * S @ S.T
    return np.block([[first, across], [across, second]])


def best_reconstruction(S, T, B_S, B_T, tie):
    """The published objective, each P found by a least-squares solver."""
    total = 0.0
    for rows, own, other in ((S, B_S, B_T), (T, B_T, B_S)):
        weight = np.sqrt(tie / 2)
        bases, wanted = np.vstack([own, weight * other]), np.vstack([rows, weight * rows])
        P = np.linalg.lstsq(bases, wanted, rcond=None)[0]
        total += np.sum((wanted - bases @ P) ** 2)
    return total


@pytest.mark.parametrize("tie", [0.0, 0.5, 1.0, 3.0])
def test_block_matrix_is_that_of_the_published_objective(tie):
    # for orthonormal embeddings the objective is a constant less a trace
    S, T = problem()
    rng = np.random.default_rng(1)
    B_S, B_T = (np.linalg.qr(rng.standard_normal((9, 3)))[0] for _ in range(2))
    both = np.vstack([B_S, B_T])
    trace = np.trace(both.T @ block_matrix(S, T, tie) @ both)
    constant = (1 + tie / 2) * (np.sum(S**2) + np.sum(T**2))
    expected = constant - trace / (2 + tie)
    assert best_reconstruction(S, T, B_S, B_T, tie) == pytest.approx(expected)


@pytest.mark.parametrize("widths", [(4, 5), (20, 30), (12, 3)])
@pytest.mark.parametrize("tie", [0.3, 1.0, 2.0])
def test_embedding_attains_the_bound_of_the_eigenvalues(tie, widths):
    S, T = problem(2, widths=widths)
    k = 2
    both = np.vstack(spectral_embedding(S, T, k, tie))
    matrix = block_matrix(S, T, tie)
    np.testing.assert_allclose(both.T @ both, np.eye(k), atol=1e-10)
    bound = np.sum(np.linalg.eigvalsh(matrix)[-k:])
    assert np.trace(both.T @ matrix @ both) == pytest.approx(bound)
    rng = np.random.default_rng(3)
    for _ in range(20):
        other = np.linalg.qr(both + 0.3 * rng.standard_normal(both.shape))[0]
        assert np.trace(other.T @ matrix @ other) < bound


def test_equal_domains_are_embedded_alike_by_a_strong_tie():
    S, _ = problem(4)
    B_S, B_T = spectral_embedding(S, S, 4, 2.0)
    np.testing.assert_allclose(B_S, B_T, atol=1e-10)
    both = np.vstack([B_S, B_T])
    values = np.diag(both.T @ block_matrix(S, S, 2.0) @ both)
    # (2 + 2 + 4) times the squared singular values; opposite halves would have (2 + 2 - 4) times
    np.testing.assert_allclose(values, 8 * np.linalg.svd(S, compute_uv=False) ** 2)


def test_ties_bring_counterparts_together():
    S, T = problem(5, n=30)
    gaps = []
    for tie in (0.2, 0.6, 1.8):
        B_S, B_T = spectral_embedding(S, T, 3, tie)
        gaps.append(np.sum((B_S - B_T) ** 2))
    assert gaps[0] > gaps[1] > gaps[2]


@pytest.mark.parametrize("shape", [(6, 9), (9, 6)])
@pytest.mark.parametrize("ridge", [0.1, 3.0])
def test_maps_are_ridge_regressions(shape, ridge):
    rng = np.random.default_rng(6)
    rows, embedding = rng.standard_normal(shape), rng.standard_normal((shape[0], 2))
    alpha = ridge * np.sum(rows**2) / shape[1]
    expected = Ridge(alpha=alpha, fit_intercept=False).fit(rows, embedding).coef_.T
    np.testing.assert_allclose(least_squares_map(rows, embedding, ridge), expected, atol=1e-10)


def test_without_ridge_independent_rows_get_their_embedding_back():
    S, T = problem(7, n=9, widths=(14, 11))
    for rows, embedding in zip((S, T), spectral_embedding(S, T, 3, 1.0), strict=True):
        mapping = least_squares_map(rows, embedding, 0.0)
        np.testing.assert_allclose(rows @ mapping, embedding, atol=1e-10)


def test_without_ridge_dependent_rows_come_as_close_as_they_can():
    rng = np.random.default_rng(8)
    rows, embedding = rng.standard_normal((9, 4)), rng.standard_normal((9, 2))
    rows[:, 3] = rows[:, 0]  # and columns that are not independent either
    mapping = least_squares_map(rows, embedding, 0.0)
    np.testing.assert_allclose(rows.T @ (rows @ mapping - embedding), 0, atol=1e-10)


def test_pairs_have_one_class_and_leave_no_row_of_it_out():
    source = np.array([0, 1, 1, 2, 1, 0, 3])
    target = np.array([-1, 1, 0, 0, 0, -1, 2])
    first, second = pair_by_class(source, target, np.random.default_rng(0))
    np.testing.assert_array_equal(source[first], target[second])
    assert set(first) == {0, 1, 2, 3, 4, 5}  # class 3 has no counterpart
    assert set(second) == {1, 2, 3, 4, 6}
    # the larger number of each class: 3 of class 0, 3 of class 1, 1 of class 2
    np.testing.assert_array_equal(np.bincount(source[first]), [3, 3, 1])


def test_fit_pairs_the_rest_with_their_nearest_source_row():
    fitted = HeMap(3).fit(X, y, Xt, FEW)
    first, second = fitted.pairs_.T
    labelled = FEW[second] >= 0
    np.testing.assert_array_equal(y[first][labelled], FEW[second][labelled])
    np.testing.assert_array_equal(np.sort(second[~labelled]), np.flatnonzero(FEW < 0))
    centred, target = X - X.mean(axis=0), Xt - Xt.mean(axis=0)
    for i, j in fitted.pairs_[~labelled]:
        gaps = [np.linalg.norm(row - target[j]) for row in centred]
        assert gaps[i] == pytest.approx(min(gaps))


def test_different_columns_leave_unlabelled_rows_out():
    fitted = HeMap(3).fit(X, y, Xt[:, :4], FEW)
    assert (FEW[fitted.pairs_[:, 1]] >= 0).all()
    again = HeMap(3).fit(X, y, Xt[:, :4][:9], FEW[:9])
    # only the centre knows of the others
    np.testing.assert_array_equal(again.pairs_, fitted.pairs_)
    assert fitted.source_projection_.shape == (6, 3)
    assert fitted.target_projection_.shape == (4, 3)


def test_random_state_draws_the_pairs():
    first, again, other = (HeMap(2, random_state=seed).fit(X, y, Xt, FEW) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.pairs_, again.pairs_)
    assert not np.array_equal(first.pairs_, other.pairs_)


def test_fit_maps_rows_by_the_regression_of_the_embedding():
    fitted = HeMap(2, ridge=0.5).fit(X, y, Xt, FEW)
    first, second = fitted.pairs_.T
    S, T = X - X.mean(axis=0), Xt - Xt.mean(axis=0)
    S, T = (rows / np.sqrt(np.mean(np.sum(rows**2, axis=1))) for rows in (S, T))
    B_S, B_T = spectral_embedding(S[first], T[second], 2, 1.0)
    np.testing.assert_allclose(np.abs(B_S), np.abs(fitted.source_embedding_), atol=1e-10)
    expected = T @ least_squares_map(T[second], B_T, 0.5)
    np.testing.assert_allclose(np.abs(fitted.transform(Xt)), np.abs(expected), atol=1e-10)


def test_the_scale_of_a_domain_does_not_matter():
    first = HeMap(2).fit(X, y, Xt[:, :4], FEW)
    second = HeMap(2).fit(X, y, 1000 * Xt[:, :4], FEW)
    np.testing.assert_allclose(second.transform(1000 * Xt[:, :4]), first.transform(Xt[:, :4]))


def test_no_labels_but_shared_columns():
    assert HeMap(2).fit(X, y, Xt).score(Xt, yt) > 0.8


def test_one_domain_is_paired_with_itself():
    fitted = HeMap(3).fit(X, y)
    np.testing.assert_array_equal(fitted.pairs_[:, 0], fitted.pairs_[:, 1])
    np.testing.assert_allclose(fitted.transform(X), fitted.transform(X, "source"), atol=1e-10)
