"""Distances to the classes, against all distances at once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from ilspace import ILSClassifier
from ilspace.rules import neighbors
from ilspace.rules.neighbors import class_distances


def expected(queries, rows, codes, n_classes):
    distances = cdist(queries, rows, "sqeuclidean")
    return np.stack(
        [np.min(distances[:, codes == c], axis=1, initial=np.inf) for c in range(n_classes)], axis=1
    )


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 9),
    m=st.integers(1, 25),
    n_classes=st.integers(1, 6),
    tile=st.integers(1, 60),
    widest=st.integers(1, 30),
)
def test_tiles_of_any_size_give_all_distances(seed, n, m, n_classes, tile, widest):
    rng = np.random.default_rng(seed)
    queries, rows = rng.normal(size=(n, 3)), rng.normal(size=(m, 3))
    codes = rng.integers(0, n_classes, size=m)  # some classes have no row
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbors, "_TILE", tile)
        patch.setattr(neighbors, "_WIDEST", widest)
        found = class_distances(queries, rows, codes, n_classes)
    np.testing.assert_allclose(found, expected(queries, rows, codes, n_classes), atol=1e-12)


@pytest.mark.parametrize("columns", [6, 5], ids=["same-columns", "different-columns"])
def test_label_probability_and_distance_at_once(columns):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 6)) + 3 * rng.normal(size=(3, 6))[y]
    Xt = (X @ np.diag(rng.uniform(0.5, 1.5, 6)) + 1)[:, :columns]
    yt = np.where(np.arange(60) < 12, y, -1)
    fitted = ILSClassifier(3, self_training=0).fit(X, y, Xt, yt)
    for domain, rows in (("target", Xt), ("source", X)):
        label, probabilities, distance = fitted.nearest(rows, domain)
        np.testing.assert_array_equal(label, fitted.predict(rows, domain))
        np.testing.assert_array_equal(probabilities, fitted.predict_proba(rows, domain))
        labelled = np.concatenate([fitted.transform(X, "source"), fitted.transform(Xt[:12])])
        closest = cdist(fitted.transform(rows, domain), labelled).min(axis=1)
        np.testing.assert_allclose(distance, closest, atol=1e-6)
