"""Cross-domain transforms: what kernels must not change, and what they learn."""

import numpy as np
import pytest
from shifted import shifted
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier

from ilspace.baselines._pair_transforms import asymmetric_transform, symmetric_metric
from ilspace.baselines.arct import ARCt, span

X, y, Xt, yt = shifted()
FEW = np.where(np.arange(len(yt)) < 9, yt, -1)


class TestKernel:
    def test_span_has_the_inner_products_of_the_kernel(self):
        kernel = rbf_kernel(X, X, 0.1)
        coordinates = kernel @ span(kernel)
        np.testing.assert_allclose(coordinates @ coordinates.T, kernel, atol=1e-10)

    def test_span_of_few_dimensions(self):
        rows = np.outer(np.arange(5.0), [1.0, 2.0])
        assert span(rows @ rows.T).shape == (5, 1)
        assert span(np.zeros((3, 3))).shape == (3, 1)

    @pytest.mark.parametrize("width", [6, 4])
    def test_linear_kernel_is_the_explicit_transform(self, width):
        other = Xt[:, :width]
        fitted = ARCt(penalty=2.0, tail=0.1).fit(X, y, other, FEW)
        rows = (X - X.mean(axis=0)) / np.sqrt(X.var(axis=0).sum())
        target = (other - other.mean(axis=0)) / np.sqrt(other.var(axis=0).sum())
        lower, upper = fitted.bounds_
        explicit = asymmetric_transform(
            rows,
            target[:9],
            y[:, None] == yt[:9],
            prior=np.eye(6) if width == 6 else np.zeros((6, width)),
            lower=lower,
            upper=upper,
            penalty=2.0,
        ).matrix
        found = fitted.transform(X, domain="source") @ fitted.transform(other).T
        np.testing.assert_allclose(found, rows @ explicit @ target.T, atol=1e-3)

    def test_linear_kernel_is_the_explicit_metric(self):
        fitted = ARCt(True).fit(X, y, Xt, FEW)
        rows = (X - X.mean(axis=0)) / np.sqrt(X.var(axis=0).sum())
        target = (Xt - Xt.mean(axis=0)) / np.sqrt(Xt.var(axis=0).sum())
        near, far = fitted.bounds_
        same = y[:, None] == yt[:9]
        root = symmetric_metric(rows, target[:9], same, near=near, far=far, penalty=1.0).matrix
        found = fitted.transform(X, domain="source") @ fitted.transform(Xt).T
        np.testing.assert_allclose(found, rows @ root @ root.T @ target.T, atol=1e-2)

    def test_gaussian_kernel_of_small_width_is_almost_linear(self):
        linear = ARCt(classifier="1nn").fit(X, y, Xt, FEW)
        # exp(-g|x - z|^2) = 1 - g|x - z|^2: the geometry of the rows, up to a unit
        gauss = ARCt(True, kernel="rbf", gamma=1e-4, penalty=0.0, classifier="1nn")
        gauss.fit(X, y, Xt, FEW)
        plain = ARCt(True, penalty=0.0, classifier="1nn").fit(X, y, Xt, FEW)
        np.testing.assert_array_equal(gauss.predict(Xt), plain.predict(Xt))
        assert linear.bounds_[0] < linear.bounds_[1]

    @pytest.mark.parametrize("symmetric", [False, True])
    def test_gaussian_kernel_learns(self, symmetric):
        fitted = ARCt(symmetric, kernel="rbf").fit(X, y, Xt[::2], FEW[::2])
        assert fitted.score(Xt[1::2], yt[1::2]) > 0.6


@pytest.mark.parametrize("symmetric", [False, True])
class TestEstimator:
    def test_no_worse_than_1nn_where_the_domains_are_one(self, symmetric):
        classes, scores = np.arange(150) % 3, []
        for seed in range(8):
            rows = np.random.default_rng(seed).standard_normal((150, 12))
            rows[:, :3] = 0.8 * rows[:, :3] + 2 * np.eye(3)[classes]
            train, test = slice(80), slice(100, None)
            yt = np.where(np.arange(50) < 30, classes[50:100], -1)
            nearest = KNeighborsClassifier(1).fit(rows[train], classes[train])
            learned = ARCt(symmetric, classifier="1nn" if symmetric else "svm")
            learned.fit(rows[:50], classes[:50], rows[50:100], yt)
            scores.append([each.score(rows[test], classes[test]) for each in (learned, nearest)])
        with_it, without = np.mean(scores, axis=0)
        assert with_it > without + 0.03

    def test_labelled_pairs_come_closer(self, symmetric):
        fitted = ARCt(symmetric).fit(X, y, Xt, FEW)
        before = ARCt(symmetric, penalty=0.0).fit(X, y, Xt, FEW)

        def contrast(method):
            sent, seen = method.transform(X, domain="source"), method.transform(Xt[:9])
            same, similarity = y[:, None] == yt[:9], sent @ seen.T
            return similarity[same].mean() - similarity[~same].mean()

        assert contrast(fitted) > contrast(before)

    def test_units_do_not_matter(self, symmetric):
        fitted = ARCt(symmetric).fit(X, y, Xt, FEW)
        moved = ARCt(symmetric).fit(100 * X + 3, y, 0.01 * Xt - 7, FEW)
        found, expected = moved.decision_function(0.01 * Xt - 7), fitted.decision_function(Xt)
        np.testing.assert_allclose(found, expected, atol=1e-4)

    def test_too_few_iterations_are_said(self, symmetric):
        with pytest.warns(ConvergenceWarning, match="raise max_iter"):
            ARCt(symmetric, max_iter=1, penalty=100.0).fit(X, y, Xt, FEW)


def test_equal_rows_of_two_classes():
    rows = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 0.0], [2.0, 3.0]])
    fitted = ARCt(True).fit(rows, [0, 1, 0, 1], rows + 0.0, [0, 1, 1, 0])
    assert np.isfinite(fitted.transform_).all()


def test_different_columns_are_refused_with_a_remedy():
    with pytest.raises(ValueError, match="have 6 and 4.*use symmetric=False"):
        ARCt(True).fit(X, y, Xt[:, :4], FEW)
