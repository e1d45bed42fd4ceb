"""Fixtures shared by the tests of estimators."""

import numpy as np
import pytest


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
