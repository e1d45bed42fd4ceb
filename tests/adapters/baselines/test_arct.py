"""Cross-domain transforms against dense solvers, their bounds and their optimality conditions."""

import numpy as np
import pytest
from adapters.shifted import shifted
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from ilspace.adapters.baselines.arct import ARCt, asymmetric_transform, span, symmetric_metric

DATA = shifted()
FEW = np.where(np.arange(len(DATA.yt)) < 9, DATA.yt, -1)
rng = np.random.default_rng(0)
SOURCE, TARGET = rng.normal(size=(8, 3)), rng.normal(size=(6, 2))
SAME = (np.arange(8) % 2)[:, None] == (np.arange(6) % 2)[None, :]


def asymmetric_value(matrix, penalty, prior):
    similarity = SOURCE @ matrix @ TARGET.T
    excess = np.where(SAME, np.minimum(similarity - 1, 0), np.maximum(similarity + 1, 0))
    return (np.sum((matrix - prior) ** 2) + penalty * np.sum(excess**2)) / 2


@pytest.mark.parametrize("penalty", [0.1, 5.0])
@pytest.mark.parametrize("prior", [np.zeros((3, 2)), np.eye(3, 2)])
def test_asymmetric_is_the_dense_minimum(penalty, prior):
    learned = asymmetric_transform(
        SOURCE, TARGET, SAME, prior=prior, lower=-1.0, upper=1.0, penalty=penalty, tol=1e-14
    )
    found = minimize(
        lambda flat: asymmetric_value(flat.reshape(3, 2), penalty, prior),
        prior.ravel(),
        options={"gtol": 1e-9},
    )
    assert learned.is_solved
    np.testing.assert_allclose(learned.matrix.ravel(), found.x, atol=1e-5)
    # stationary: W - W_0 is the sum of the violated pairs
    similarity = SOURCE @ learned.matrix @ TARGET.T
    excess = np.where(SAME, np.minimum(similarity - 1, 0), np.maximum(similarity + 1, 0))
    np.testing.assert_allclose(
        learned.matrix - prior, -penalty * SOURCE.T @ excess @ TARGET, atol=1e-5
    )


def test_bounds_hold_where_they_can_and_cost_enough():
    # three columns a row and independent rows: every pair can be satisfied
    source, target = np.eye(4), np.eye(4)
    same = np.eye(4, dtype=bool)
    learned = asymmetric_transform(
        source,
        target,
        same,
        prior=np.zeros((4, 4)),
        lower=-0.5,
        upper=2.0,
        penalty=1e6,
        tol=1e-15,
    )
    similarity = source @ learned.matrix @ target.T
    assert (similarity[same] >= 2.0 - 1e-4).all()
    assert (similarity[~same] <= -0.5 + 1e-4).all()


def test_symmetric_is_the_dense_minimum():
    target = np.hstack([TARGET, np.ones((6, 1))])
    learned = symmetric_metric(SOURCE, target, SAME, near=1.0, far=4.0, penalty=0.5, tol=1e-14)
    metric = learned.matrix @ learned.matrix.T

    def value(matrix):
        offsets = SOURCE[:, None, :] - target[None, :, :]
        distances = np.einsum("ijk,kl,ijl->ij", offsets, matrix, offsets)
        ratios = np.where(SAME, np.maximum(distances / 1.0, 1), np.minimum(distances / 4.0, 1))
        losses = ratios - np.log(ratios) - 1
        return np.trace(matrix) - np.linalg.slogdet(matrix)[1] + 0.5 * losses.sum()

    assert np.linalg.eigvalsh(metric)[0] > 0
    for _ in range(50):  # convex in the metric: no neighbour is lower
        step = rng.normal(size=(3, 3))
        assert value(metric + 1e-4 * (step + step.T)) >= value(metric) - 1e-9
    assert value(metric) < value(np.eye(3))


def test_span_reproduces_the_kernel():
    rows = rng.normal(size=(5, 3))
    kernel = rows @ rows.T
    coordinates = kernel @ span(kernel)
    assert coordinates.shape == (5, 3)
    np.testing.assert_allclose(coordinates @ coordinates.T, kernel, atol=1e-10)


@pytest.mark.parametrize("width", [6, 4])
def test_kernel_of_rows_is_the_rows_themselves(width):
    # the linear kernel in the span of the rows, against the rows in their own columns
    target = DATA.Xt[:, :width]
    fitted = ARCt(penalty=2.0).fit(DATA.X, DATA.y, target, FEW)
    labelled = FEW >= 0
    offsets, others = DATA.X - DATA.X.mean(axis=0), target - target.mean(axis=0)
    rows = offsets / np.sqrt(np.mean(np.sum(offsets**2, axis=1)))
    all_seen = others / np.sqrt(np.mean(np.sum(others**2, axis=1)))
    seen = all_seen[labelled]
    lower, upper = fitted.bounds_
    prior = np.eye(6, width) if width == 6 else np.zeros((6, width))
    same = DATA.y[:, None] == DATA.yt[labelled][None, :]
    learned = asymmetric_transform(
        rows, seen, same, prior=prior, lower=lower, upper=upper, penalty=2.0, tol=1e-12
    )
    expected = rows @ learned.matrix @ seen.T
    found = fitted.transform(DATA.X, domain="source") @ fitted.transform(target[labelled]).T
    np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())


def test_one_metric_needs_the_same_columns():
    with pytest.raises(ValueError, match="one metric.*use symmetric=False"):
        ARCt(symmetric=True).fit(DATA.X, DATA.y, DATA.Xt[:, :4], FEW)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_every_form_finds_the_classes(symmetric, kernel):
    fitted = ARCt(symmetric, kernel=kernel).fit(DATA.X, DATA.y, DATA.Xt, FEW)
    assert fitted.score(DATA.Xt, DATA.yt) > 0.8


def test_too_few_iterations_are_said():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        ARCt(max_iter=1, penalty=100.0).fit(DATA.X, DATA.y, DATA.Xt, FEW)
