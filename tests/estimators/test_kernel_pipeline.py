"""Features of a kernel before the latent space, as the page on kernels has them."""

import numpy as np
import pytest
from shifted import shifted
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline

from ilspace import ILSClassifier, ObjectiveSettings

DATA = shifted()
ROWS, LABELS, DOMAIN = DATA.mixed


def fitted(*before, **parameters):
    model = ILSClassifier(3, classifier="nearest", self_training=0, **parameters)
    return make_pipeline(*before, model).fit(ROWS, LABELS, ilsclassifier__sample_domain=DOMAIN)


def test_the_linear_kernel_with_all_rows_is_no_kernel():
    # without shrinkage, which depends on the number of columns
    objective = ObjectiveSettings(shrinkage=0.0)
    landmarks = Nystroem(kernel="linear", n_components=len(ROWS), random_state=0)
    plain, model = fitted(objective=objective), fitted(landmarks, objective=objective)
    fresh = shifted(1).Xt
    np.testing.assert_allclose(model.predict_proba(fresh), plain.predict_proba(fresh), atol=1e-6)


def test_rows_that_come_later_go_through_the_kernel():
    features = Nystroem(gamma=0.05, n_components=20, random_state=0)
    model, fresh = fitted(features), shifted(1).Xt
    wanted = model[-1].predict_proba(model[0].transform(fresh))
    np.testing.assert_array_equal(model.predict_proba(fresh), wanted)
    assert np.mean(model.predict(DATA.Xt) == DATA.yt) > 0.9


def test_features_of_blocks_are_those_of_rows():
    da = pytest.importorskip("dask.array")
    dask = pytest.importorskip("dask")
    features = Nystroem(gamma=0.05, n_components=20, random_state=0).fit(ROWS)

    def in_blocks(rows):
        there = da.from_array(rows, chunks=(7, -1))
        return there.map_blocks(features.transform, chunks=(there.chunks[0], (20,)), dtype=float)

    def model():
        return ILSClassifier(3, classifier="nearest", self_training=0)

    with dask.config.set(scheduler="synchronous"):
        found = model().fit(in_blocks(DATA.X), DATA.y, in_blocks(DATA.Xt))
    at_once = [features.transform(each) for each in (DATA.X, DATA.Xt)]
    wanted = model().fit(at_once[0], DATA.y, at_once[1])
    np.testing.assert_allclose(
        found.predict_proba(at_once[1]), wanted.predict_proba(at_once[1]), atol=1e-7
    )
