"""Moments in parts are moments."""

import numpy as np
import pytest

from ilspace.scale import moments


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("most_entries", [1, 7, 30, 10_000])
def test_parts_do_not_matter(most_entries, weighted, monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 4)) + [0, 10, -3, 1e3]
    weights = rng.uniform(0.5, 2, size=50) if weighted else None
    monkeypatch.setattr(moments, "_MOST_ENTRIES", most_entries)
    mean = moments.weighted_mean(rows, weights)
    np.testing.assert_allclose(mean, np.average(rows, axis=0, weights=weights), rtol=1e-13)
    found = moments.gram_matrix(rows, mean, weights, wide=False)
    wanted = np.cov(rows, rowvar=False, aweights=weights, bias=True)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)
