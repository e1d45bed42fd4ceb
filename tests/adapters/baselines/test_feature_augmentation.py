"""Feature augmentation against the kernel and the objective that define it."""

import numpy as np
import pytest
from adapters.shifted import shifted
from sklearn.linear_model import RidgeClassifier
from sklearn.svm import SVC

from ilspace.adapters.baselines.feature_augmentation import FeatureAugmentation, augment, damping

DATA = shifted()
FEW = np.where(np.arange(len(DATA.yt)) < 9, DATA.yt, -1)
rng = np.random.default_rng(0)
ROWS, OTHERS = rng.normal(size=(5, 4)), rng.normal(size=(6, 4))


def test_kernel_is_doubled_within_a_domain():
    source, target = (
        augment(rows, rows, is_source=is_source)
        for rows, is_source in ((ROWS, True), (OTHERS, False))
    )
    np.testing.assert_allclose(source @ source.T, 2 * ROWS @ ROWS.T)
    np.testing.assert_allclose(target @ target.T, 2 * OTHERS @ OTHERS.T)
    np.testing.assert_allclose(source @ target.T, ROWS @ OTHERS.T)
    np.testing.assert_array_equal(source, np.hstack([ROWS, ROWS, 0 * ROWS]))
    np.testing.assert_array_equal(target, np.hstack([OTHERS, 0 * OTHERS, OTHERS]))


def test_machine_is_that_of_the_kernel():
    labelled = FEW >= 0
    fitted = FeatureAugmentation(classifier=SVC(kernel="linear")).fit(DATA.X, DATA.y, DATA.Xt, FEW)
    both = np.vstack([DATA.X, DATA.Xt[labelled]]) / fitted.length_
    domain = np.repeat([0, 1], [len(DATA.X), labelled.sum()])
    kernel = both @ both.T * (1 + (domain[:, None] == domain[None, :]))
    codes = np.concatenate([DATA.y, DATA.yt[labelled]])
    machine = SVC(kernel="precomputed").fit(kernel, codes)
    new = DATA.Xt / fitted.length_
    cross = new @ both.T * (1 + domain[None, :])
    np.testing.assert_array_equal(fitted.predict(DATA.Xt), machine.predict(cross))
    np.testing.assert_allclose(
        fitted.decision_function(DATA.Xt), machine.decision_function(cross), atol=1e-2
    )


@pytest.mark.parametrize("agreement", [0.1, 3.0])
def test_damping_is_the_agreement_term(agreement):
    # ridge regression on the damped rows, against the objective with its term written out
    signs = rng.choice([-1.0, 1.0], size=11)
    unlabelled = rng.normal(size=(7, 4))
    axes, shrinkage = damping(unlabelled, agreement)

    def damped(rows):
        return rows - (rows @ axes * shrinkage) @ axes.T

    features = np.vstack(
        [
            augment(ROWS, damped(ROWS), is_source=True),
            augment(OTHERS, damped(OTHERS), is_source=False),
        ]
    )
    weights = np.linalg.solve(features.T @ features + np.eye(12), features.T @ signs)
    plain = np.vstack(
        [augment(ROWS, ROWS, is_source=True), augment(OTHERS, OTHERS, is_source=False)]
    )
    apart = np.hstack([0 * unlabelled, unlabelled, -unlabelled])
    hessian = plain.T @ plain + np.eye(12) + 2 * agreement * apart.T @ apart
    expected = np.linalg.solve(hessian, plain.T @ signs)
    np.testing.assert_allclose(features @ weights, plain @ expected, atol=1e-10)


def test_strong_agreement_makes_one_classifier():
    ridge = RidgeClassifier(alpha=1.0, fit_intercept=False)
    fitted = FeatureAugmentation(1e9, classifier=ridge).fit(DATA.X, DATA.y, DATA.Xt, FEW)
    as_source = fitted.decision_function(DATA.Xt, domain="source")
    np.testing.assert_allclose(as_source, fitted.decision_function(DATA.Xt), atol=1e-3)
    free = FeatureAugmentation(classifier=ridge).fit(DATA.X, DATA.y, DATA.Xt, FEW)
    gap = np.abs(free.decision_function(DATA.Xt, domain="source") - free.decision_function(DATA.Xt))
    assert gap.max() > 0.05


def test_unit_of_the_columns_does_not_matter():
    first = FeatureAugmentation(0.5).fit(DATA.X, DATA.y, DATA.Xt, FEW)
    second = FeatureAugmentation(0.5).fit(1000 * DATA.X, DATA.y, 1000 * DATA.Xt, FEW)
    np.testing.assert_allclose(
        first.decision_function(DATA.Xt), second.decision_function(1000 * DATA.Xt), atol=1e-6
    )
