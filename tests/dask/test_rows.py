"""Rows in Dask collections: blocks, trees and moments, whatever the chunks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilspace.backend import is_dask, refuse_dask
from ilspace.dask.rows import (
    FAN_IN,
    add_up,
    row_array,
    row_blocks,
    summarised,
    tree,
)
from ilspace.scale import moment_space, row_space

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")


@pytest.fixture(autouse=True)
def _one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def rows(n=50, d=7, seed=0):
    return 3 + np.random.default_rng(seed).normal(size=(n, d)) * np.arange(1, d + 1)


def summary(X):
    (found,) = dask.compute(summarised(row_blocks(row_array(X))))
    return found


def test_what_is_a_dask_collection():
    assert is_dask(da.ones(3))
    assert not any(is_dask(each) for each in (np.ones(3), [1.0], None, "dask"))


def test_what_may_be_lazy_but_has_no_blocks_is_no_dask_collection():
    class Labelled:  # as xarray's arrays are
        def __dask_graph__(self):
            return None

    assert not is_dask(Labelled())
    refuse_dask("this", remedy="nothing", X=Labelled())


def test_a_refusal_names_what_must_be_what_is_and_the_remedy():
    message = "this takes rows in memory, but Xt is a Dask array: compute Xt."
    with pytest.raises(ValueError, match=f"^{message}$"):
        refuse_dask("this", remedy="compute {name}", X=np.ones(3), Xt=da.ones(3))


@settings(deadline=None, max_examples=30)
@given(
    high=st.lists(st.integers(1, 50), min_size=1, max_size=30).filter(lambda each: sum(each) > 1),
    wide=st.integers(1, 7),
)
def test_moments_do_not_depend_on_the_chunks(high, wide):
    X = rows(sum(high))
    found = summary(da.from_array(X, chunks=(tuple(high), wide)))
    np.testing.assert_allclose(found.moments.mean, X.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(
        found.moments.covariance, np.cov(X.T, bias=True), rtol=1e-11, atol=1e-11
    )
    assert found.moments.n_rows == len(X)
    assert found.largest == np.abs(X).max()


def test_unknown_chunks_are_counted_and_the_array_stays_as_it_is():
    X = rows()
    unknown = da.from_array(X, chunks=(20, 7))[da.from_array(X[:, 0] > 0, chunks=20)]
    assert np.isnan(unknown.shape[0])
    counted = row_array(unknown)
    assert counted.shape == (int((X[:, 0] > 0).sum()), 7)
    assert np.isnan(unknown.shape[0])
    np.testing.assert_array_equal(counted.compute(), X[X[:, 0] > 0])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_seen_and_leaves_no_moments(bad):
    X = rows()
    X[33, 2] = bad
    found = summary(da.from_array(X, chunks=(9, 7)))
    assert not np.isfinite(found.largest)
    assert found.moments is None


def test_empty_blocks_count_nothing():
    X = rows(10)
    found = summary(da.from_array(X, chunks=((0, 4, 0, 6), 7)))
    np.testing.assert_allclose(found.moments.mean, X.mean(axis=0), rtol=1e-14)


@pytest.mark.parametrize("n", [1, FAN_IN, FAN_IN + 1, FAN_IN**2 + 1])
def test_a_tree_merges_everything_in_order(n):
    parts = [dask.delayed(each) for each in ([i] for i in range(n))]
    (found,) = dask.compute(tree(parts, lambda lists: sum(lists, [])))
    assert found == list(range(n))


def test_sums_of_tuples():
    first, second = add_up([(1.0, np.ones(2)), (2.0, np.arange(2)), (3.0, np.zeros(2))])
    assert first == 6
    np.testing.assert_array_equal(second, [1, 2])


@pytest.mark.parametrize(("reduce", "leading"), [(True, False), (True, True), (False, False)])
@pytest.mark.parametrize("n", [40, 7, 5])
def test_the_span_is_that_of_rows_in_memory(n, reduce, leading):
    X = rows(n)
    expected = row_space(X, n_axes=3, reduce=reduce, leading=leading)
    moments = summary(da.from_array(X, chunks=(3, 7))).moments
    found = moment_space(moments, n_axes=3, reduce=reduce, leading=leading)
    k = min(expected.axes.shape[1], found.axes.shape[1])
    assert k >= 3
    np.testing.assert_allclose(found.axes[:, :3], expected.axes[:, :3], atol=1e-9)
    np.testing.assert_allclose(found.total_variance, expected.total_variance, rtol=1e-12)
    assert (found.basis is None) == (expected.basis is None)
    if found.basis is not None and expected.basis is not None:
        assert found.basis.shape == expected.basis.shape
        np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-9)
