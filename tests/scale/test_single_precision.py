"""Rows in single precision: worked on in double, without a copy of all of them."""

import tracemalloc

import numpy as np
import pytest

from ilspace import ILSClassifier
from ilspace.domains import check_domains
from ilspace.ils import fit_ils
from ilspace.ils import map as maps
from ilspace.ils import problem as problems
from ilspace.pairs import labelled
from ilspace.pairs.statistics import pair_statistics, sliced_statistics
from ilspace.scale import map_rows, moments, row_moments


@pytest.fixture
def small_slices(monkeypatch):
    """Slices of few rows, as if there were many."""
    monkeypatch.setattr(moments, "_MOST_SINGLE", 2**10)
    monkeypatch.setattr(maps, "_MOST_ENTRIES", 2**10)
    monkeypatch.setattr(labelled, "_MOST_AT_ONCE", 100)
    monkeypatch.setattr(labelled, "_ROWS_AT_A_TIME", 64)
    monkeypatch.setattr(problems, "_MANY_ROWS", 100)


def domains(n, d, kind: type = np.float32):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    centres = 3 * rng.normal(size=(3, d))
    X, Xt = (centres[y] + rng.normal(size=(n, d)) + each for each in (0, 1))
    return X.astype(np.float32).astype(kind), y, Xt.astype(np.float32).astype(kind)


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_are_those_of_double_precision(weighted):
    rows = 1000 + np.random.default_rng(0).normal(size=(500, 7)).astype(np.float32)
    weights = np.random.default_rng(1).uniform(0.5, 2, 500) if weighted else None
    found = row_moments(rows, weights, in_double=True)
    shares = np.full(500, 1 / 500) if weights is None else weights / weights.sum()
    mean = np.average(rows.astype(np.float64), axis=0, weights=shares)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-13)
    wanted = np.cov(rows.astype(np.float64).T, aweights=shares, bias=True)
    np.testing.assert_allclose(found.covariance, wanted, atol=1e-9)


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("centred", [False, True])
def test_rows_are_mapped_slice_by_slice(centred):
    rng = np.random.default_rng(0)
    rows, mapping = rng.normal(size=(300, 8)).astype(np.float32), rng.normal(size=(8, 3))
    mean = rng.normal(size=8) if centred else None
    wanted = (rows.astype(np.float64) - (0 if mean is None else mean)) @ mapping
    found = map_rows(rows, mapping, mean, np.float64)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
    assert map_rows(rows, mapping, mean, np.float32).dtype == np.float32


def test_statistics_of_slices_are_those_of_all_rows():
    rng = np.random.default_rng(0)
    codes = rng.choice([0, 2, 3], size=200)  # one class has no row
    rows, weights = rng.normal(size=(200, 3)) + codes[:, None], rng.uniform(0.5, 2, 200)

    def slices():
        return ((slice(top, top + 33), rows[top : top + 33]) for top in range(0, 200, 33))

    found, wanted = sliced_statistics(slices, codes, weights), pair_statistics(rows, codes, weights)
    for met, truth in zip(found, wanted, strict=True):
        np.testing.assert_allclose(met, truth, rtol=1e-10)


@pytest.mark.usefixtures("small_slices")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("solver", "error"), [("conjugate-gradient", 1e-6), ("adam", 1e-4)])
def test_a_fit_is_that_in_double_precision(solver, error):
    settings = {"n_components": 3, "solver": solver, "batch_size": 64, "random_state": 0}
    found, wanted = (
        fit_ils(check_domains(*domains(400, 6, kind)), **settings)
        for kind in (np.float32, np.float64)
    )
    for met, truth in zip(found.projections, wanted.projections, strict=True):
        np.testing.assert_allclose(met, truth, atol=error)
    X = domains(400, 6)[0]
    np.testing.assert_allclose(found.transform(X), wanted.transform(X), atol=1e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["conjugate-gradient", "adam"])
def test_memory_beside_the_data(monkeypatch, solver):
    monkeypatch.setattr(moments, "_MOST_SINGLE", 2**16)
    monkeypatch.setattr(maps, "_MOST_ENTRIES", 2**16)
    n = 60_000 if solver == "adam" else 2_000
    X, y, Xt = domains(60_000, 40)
    model = ILSClassifier(3, solver=solver, self_training=0, random_state=0, max_iter=2)
    model.fit(X[:300], y[:300], Xt[:300])
    tracemalloc.start()
    try:
        model.fit(X[:n], y[:n], Xt)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # the source rows once more, where they are many, and 10 MB for the pairs of a mini-batch; one
    # copy in double precision would be twice the data
    assert peak < (1.5 * X[:n].nbytes + 1e7 if solver == "adam" else 0.6 * Xt.nbytes)
