"""Sums over all pairs, put together from the pairs of one partition with another."""

import numpy as np
import pytest

from ilspace.dask.pairs import LatentPartition, compare_partitions
from ilspace.objective import SmoothHinge
from ilspace.pairs import AllPairs, pair_statistics
from ilspace.pairs.statistics import (
    ClassScatter,
    class_scatter,
    pair_shares,
    pair_totals,
    scatter_statistics,
)


def problem(n, p=4, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(p, p))
    return rng.normal(size=(n, p)), rng.integers(n_classes, size=n), half @ half.T


@pytest.mark.parametrize(("n", "cuts"), [(2, [1]), (50, [20, 30]), (400, [130, 131, 300])])
def test_partitions_give_the_sum_over_all_pairs(n, cuts):
    latent, codes, metric = problem(n)
    hinge = SmoothHinge(1.3)
    expected = AllPairs(codes, reference=latent).sum(hinge, latent, metric)

    shares = pair_shares(codes, np.ones(n))
    bounds = [0, *cuts, n]
    parts = [slice(a, b) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]
    blocks = [LatentPartition(latent[s], latent[s] @ metric, codes[s]) for s in parts]
    value, product = 0.0, np.zeros((n, 5))
    for i, rows in enumerate(blocks):
        for j in range(i, len(blocks)):
            columns = None if i == j else blocks[j]
            part = compare_partitions(rows, columns, hinge=hinge, shares=shares)
            value += part.value
            product[parts[i]] += part.rows
            if columns is not None:
                product[parts[j]] += part.columns
    laplacian = product[:, 4:] * latent - product[:, :4]
    assert value == pytest.approx(float(expected.value), rel=1e-12)
    np.testing.assert_allclose(2 * laplacian @ metric, expected.latent_gradient, atol=1e-12)
    np.testing.assert_allclose(latent.T @ laplacian, expected.metric_gradient, atol=1e-12)


@pytest.mark.parametrize("codes", [[0, 0, 1, 2, 2, 2], [0, 0, 0], [0, 1, 2]])
def test_each_kind_of_pairs_weighs_one_half(codes):
    codes = np.array(codes)
    similar, dissimilar = shares = pair_shares(codes, np.ones(len(codes)))
    counts = np.bincount(codes)
    assert pair_shares(np.arange(len(counts)), counts) == pytest.approx(shares)
    first, second = np.triu_indices(len(codes), 1)
    n_similar = np.sum(codes[first] == codes[second])
    n_dissimilar = len(first) - n_similar
    half = 0.5 if n_similar and n_dissimilar else 1.0
    assert similar * n_similar == pytest.approx(half if n_similar else 0)
    assert dissimilar * n_dissimilar == pytest.approx(half if n_dissimilar else 0)


@pytest.mark.parametrize("n_classes", [1, 3, 60])
def test_statistics_from_partitions(n_classes):
    latent, codes, _ = problem(60, n_classes=n_classes)
    if n_classes == 60:
        codes = np.arange(60)  # no similar pairs
    expected = pair_statistics(latent, codes)
    counts = np.bincount(codes, minlength=n_classes)
    sums = np.zeros((n_classes, 4))
    np.add.at(sums, codes, latent)
    means = sums / np.maximum(counts, 1)[:, None]
    parts = [class_scatter(latent[s], codes[s], means=means) for s in (slice(25), slice(25, 60))]
    spread = ClassScatter(*(first + second for first, second in zip(*parts, strict=True)))
    totals = pair_totals(np.arange(n_classes), counts.astype(float))
    found = scatter_statistics(spread, means, masses=counts.astype(float), totals=totals)
    for each, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(each, other, rtol=1e-10, atol=1e-12)
