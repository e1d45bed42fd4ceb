"""KISSME: its metric is the one of its definition, summed pair by pair."""

from itertools import combinations

import numpy as np
import pytest
from shifted import shifted

from ilspace.baselines.kissme import KISSME, likelihood_ratio_metric


def naive_covariances(rows, codes):
    """Mean outer products of similar and of dissimilar differences, pair by pair."""
    p = rows.shape[1]
    sums, counts = {True: np.zeros((p, p)), False: np.zeros((p, p))}, {True: 0, False: 0}
    for i, j in combinations(range(len(rows)), 2):
        kind = bool(codes[i] == codes[j])
        sums[kind] += np.outer(rows[i] - rows[j], rows[i] - rows[j])
        counts[kind] += 1
    return sums[True] / counts[True], sums[False] / counts[False]


def naive_metric(rows, codes):
    """The published metric, before any projection."""
    similar, dissimilar = naive_covariances(rows, codes)
    return np.linalg.inv(similar) - np.linalg.inv(dissimilar)


def clusters(seed, *, n=24, p=3, gap=4.0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % 4
    means = gap * rng.standard_normal((4, p))
    return means[codes] + rng.standard_normal((n, p)) @ np.diag(1 + np.arange(p)), codes


def test_metric_of_well_separated_classes_is_the_definition():
    rows, codes = clusters(0, gap=8.0)
    expected = naive_metric(rows, codes)
    assert np.linalg.eigvalsh(expected).min() > 0
    metric = likelihood_ratio_metric(rows, codes)
    scale = np.trace(metric) / np.trace(expected)
    np.testing.assert_allclose(
        metric, scale * expected, rtol=1e-4, atol=1e-4 * np.abs(metric).max()
    )


def test_negative_eigenvalues_are_raised_and_the_others_kept():
    rng = np.random.default_rng(1)
    codes = np.arange(60) % 3
    rows = rng.standard_normal((60, 4))
    rows[:, 0] += 5 * codes  # the classes differ in one column only
    values, vectors = np.linalg.eigh(naive_metric(rows, codes))
    assert values[0] < 0 < values[-1]
    metric = likelihood_ratio_metric(rows, codes)
    seen = vectors.T @ metric @ vectors
    raised = np.maximum(values, 1e-3 * values[-1])
    np.testing.assert_allclose(
        seen / seen[-1, -1], np.diag(raised / raised[-1]), rtol=1e-3, atol=1e-5
    )


def test_similar_pairs_keep_their_mean_distance():
    rows, codes = clusters(2)
    similar, _ = naive_covariances(rows, codes)
    metric = likelihood_ratio_metric(rows, codes)
    assert np.sum(metric * similar) == pytest.approx(np.trace(similar))


def test_two_gaussians_differ_along_the_line_between_their_means():
    # similar differences are isotropic, dissimilar ones longer along the line: nothing else counts
    rng = np.random.default_rng(3)
    codes = np.arange(4000) % 2
    line = np.array([0.6, 0.0, 0.8])
    rows = rng.standard_normal((4000, 3)) + np.outer(codes, 3 * line)
    values, vectors = np.linalg.eigh(likelihood_ratio_metric(rows, codes))
    assert abs(vectors[:, -1] @ line) > 0.999
    assert values[1] < 0.05 * values[2]


def test_fit_takes_all_labelled_pairs_of_both_centred_domains():
    X, y, Xt, yt = shifted()
    few = np.where(np.isin(np.arange(len(yt)), [0, 2, 3, 5, 8, 11, 12, 20]), yt, -1)
    fitted = KISSME(4).fit(X, y, Xt, few)
    rows = np.vstack([X - X.mean(axis=0), Xt - Xt.mean(axis=0)])
    axes = np.linalg.svd(rows, full_matrices=False)[2][:4].T
    np.testing.assert_allclose(fitted.components_ @ fitted.components_.T, axes @ axes.T, atol=1e-10)
    labelled = np.flatnonzero(np.concatenate([y, few]) >= 0)
    codes = np.concatenate([y, few])[labelled]
    values, vectors = np.linalg.eigh(naive_metric(rows[labelled] @ fitted.components_, codes))
    expected = (vectors * np.maximum(values, 1e-3 * values[-1])) @ vectors.T
    scale = np.trace(fitted.metric_) / np.trace(expected)
    np.testing.assert_allclose(fitted.metric_, scale * expected, rtol=1e-3, atol=1e-6 * scale)


def test_latent_distance_is_the_metric():
    X, y, Xt, _ = shifted()
    fitted = KISSME(3).fit(X, y, Xt)
    gap = Xt[3] - Xt[5]
    seen = fitted.transform(Xt[[3, 5]])
    metric = fitted.components_ @ fitted.metric_ @ fitted.components_.T
    assert np.sum((seen[0] - seen[1]) ** 2) == pytest.approx(gap @ metric @ gap)
    np.testing.assert_allclose(fitted.get_mahalanobis_matrix(), metric, atol=1e-12)


def test_a_shift_of_a_domain_changes_nothing():
    X, y, Xt, yt = shifted()
    first = KISSME(3).fit(X, y, Xt, yt)
    second = KISSME(3).fit(X + 5, y, Xt - 7, yt)
    np.testing.assert_allclose(second.transform(Xt - 7), first.transform(Xt), atol=1e-8)


@pytest.mark.parametrize("codes", [np.arange(6), np.zeros(6, dtype=int)])
def test_without_similar_or_dissimilar_pairs_the_metric_is_the_identity(codes):
    rows = np.random.default_rng(4).standard_normal((6, 2))
    np.testing.assert_array_equal(likelihood_ratio_metric(rows, codes), np.eye(2))


def test_equal_rows_in_each_class_leave_the_identity():
    codes = np.arange(6) % 2
    np.testing.assert_array_equal(likelihood_ratio_metric(np.eye(2)[codes], codes), np.eye(2))
