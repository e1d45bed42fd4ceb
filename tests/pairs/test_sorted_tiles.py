"""Pairs of many rows, sorted by class and summed by several threads, against the plain tiles."""

import os
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from ilspace.objective import SmoothHinge
from ilspace.pairs import AllPairs, all_pairs, sorted_tiles
from ilspace.pairs.sorted_tiles import SortedPairs


def case(n, p, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n)
    rows = rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(n_classes, p))[codes]
    root = rng.normal(size=(p, p)) / p
    return codes, rows, 2 / p * np.eye(p) + 0.2 * root @ root.T


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("beta", [0.7, 20.0])
@pytest.mark.parametrize(
    ("n", "p", "n_classes"),
    [(2, 1, 1), (7, 3, 2), (500, 4, 1), (900, 6, 3), (700, 3, 12), (400, 2, 90), (1300, 5, 40)],
)
def test_same_as_plain_tiles(n, p, n_classes, beta, weighted):
    codes, rows, metric = case(n, p, n_classes)
    weights = np.random.default_rng(1).choice([0.5, 1, 2, 3.5], size=n) if weighted else None
    wanted = AllPairs(codes, weights, reference=rows).sum(SmoothHinge(beta), rows, metric)
    found = SortedPairs(codes, weights, reference=rows).sum(SmoothHinge(beta), rows, metric)
    for met, truth in zip(found[:3], wanted[:3], strict=True):
        np.testing.assert_allclose(
            met, truth, rtol=1e-10, atol=1e-16 + 1e-13 * np.max(np.abs(truth))
        )


def test_in_single_precision():
    codes, rows, metric = case(1500, 5, 4)
    wanted = AllPairs(codes, reference=rows).sum(SmoothHinge(0.7), rows, metric)
    single = rows.astype(np.float32)
    found = SortedPairs(codes, reference=single).sum(SmoothHinge(0.7), single, np.float32(metric))
    for met, truth in zip(found[:3], wanted[:3], strict=True):
        assert met.dtype == np.float32
        np.testing.assert_allclose(met, truth, rtol=1e-4, atol=1e-5 * np.max(np.abs(truth)))


def test_a_hinge_without_sums_over_one_kind():
    class Plain:
        def __init__(self):
            self._hinge = SmoothHinge(0.7)

        def __call__(self, violation):
            return self._hinge(violation)

        def weighted_sum(self, excess, pulls):
            return self._hinge.weighted_sum(excess, pulls)

    codes, rows, metric = case(600, 4, 3)
    engine = SortedPairs(codes, reference=rows)
    found, wanted = (engine.sum(hinge, rows, metric) for hinge in (Plain(), SmoothHinge(0.7)))
    np.testing.assert_allclose(found.value, wanted.value, rtol=1e-10)
    np.testing.assert_allclose(found.latent_gradient, wanted.latent_gradient, atol=1e-12)


def test_the_same_to_the_last_bit_on_any_number_of_threads(monkeypatch):
    codes, rows, metric = case(2100, 4, 5)
    used = []
    pool = sorted_tiles._pool
    monkeypatch.setattr(sorted_tiles, "_pool", lambda n: used.append(n) or pool(n))
    found = []
    for n_threads in (1, 2, 3):
        monkeypatch.setattr(sorted_tiles, "threads_allowed", lambda n=n_threads: n)
        engine = SortedPairs(codes, reference=rows)
        found.append(engine.sum(SmoothHinge(0.7), rows, metric))
    assert used == [2, 3]
    for each in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0][:3], each[:3], strict=True))


def test_few_rows_wake_no_threads(monkeypatch):
    monkeypatch.setattr(sorted_tiles, "_pool", None)
    codes, rows, metric = case(1100, 3, 5)
    with threadpool_limits(2):
        engine = all_pairs(codes, reference=rows)
        assert isinstance(engine, SortedPairs)
        engine.sum(SmoothHinge(0.7), rows, metric)
    assert isinstance(all_pairs(codes[:1024], reference=rows), AllPairs)


@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform != "linux", reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_starts_its_own_threads(monkeypatch):
    monkeypatch.setattr(sorted_tiles, "threads_allowed", lambda: 2)
    codes, rows, metric = case(2100, 3, 4)
    engine = SortedPairs(codes, reference=rows)
    wanted = engine.sum(SmoothHinge(0.7), rows, metric).value
    child = os.fork()
    if child == 0:  # without threads of its own it would wait for ever
        os._exit(0 if engine.sum(SmoothHinge(0.7), rows, metric).value == wanted else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_slacks_are_refused():
    codes, rows, metric = case(20, 3, 4)
    with pytest.raises(ValueError, match="no slacks"):
        SortedPairs(codes, reference=rows).sum(SmoothHinge(1.0), rows, metric, slack=rows[:, 0])


@pytest.mark.parametrize("beta", [0.7, 7.9, 200.0])
def test_distances_that_rounding_makes_negative(beta):
    hinge = SmoothHinge(beta)
    excess = np.random.default_rng(0).normal(size=(70, 30)) - 3
    excess[0, 0], excess[1, 1] = -1e4, 1e4
    for pull in (0.3, -0.3):
        wanted, slopes = hinge.weighted_sum(excess, np.full(excess.shape, pull))
        value, found = hinge.uniform_sum(excess.copy(), pull, np.empty_like(excess))
        assert value == pytest.approx(wanted, rel=1e-12)
        np.testing.assert_allclose(abs(pull) * found, slopes, atol=1e-15)
