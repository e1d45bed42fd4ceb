"""Subspaces sampled from a geodesic, and their limit."""

import numpy as np
import pytest
from scipy.linalg import expm
from shifted import shifted

from ilspace.baselines.gfk import GFK, geodesic_flow_factor, principal_vectors
from ilspace.baselines.sgf import SGF, geodesic

X, y, Xt, yt = shifted()
TIMES = np.array([0.0, 0.3, 0.5, 1.0])


def ends(seed, d=8, p=3):
    rng = np.random.default_rng(seed)
    source, target = (np.linalg.qr(rng.standard_normal((d, p)))[0] for _ in range(2))
    return source, target, principal_vectors(source, target)


class TestGeodesic:
    @pytest.mark.parametrize(("d", "p"), [(8, 3), (5, 4), (4, 4), (7, 1)])
    def test_points_are_those_of_a_rotation_of_the_whole_space(self, d, p):
        source, target, pairs = ends(0, d, p)
        away = target @ np.linalg.inv(source.T @ target) - source
        left, tangents, right = np.linalg.svd(away, full_matrices=False)
        velocity = (left * np.arctan(tangents)) @ right
        for t, point in zip(TIMES, geodesic(*pairs, TIMES), strict=True):
            np.testing.assert_allclose(point.T @ point, np.eye(p), atol=1e-12)
            expected = expm(t * (velocity @ source.T - source @ velocity.T)) @ source
            np.testing.assert_allclose(point @ point.T, expected @ expected.T, atol=1e-8)

    def test_it_starts_at_the_source_and_ends_at_the_target(self):
        _, _, (first, second, angles) = ends(1)
        points = geodesic(first, second, angles, TIMES)
        np.testing.assert_allclose(points[0], first, atol=1e-14)
        np.testing.assert_allclose(points[-1], second, atol=1e-14)

    def test_a_subspace_is_joined_with_itself_by_standing_still(self):
        source, _, _ = ends(2)
        for point in geodesic(*principal_vectors(source, source), TIMES):
            np.testing.assert_allclose(point @ point.T, source @ source.T, atol=1e-12)


def kernels(fitted, other):
    return fitted.factor_ @ fitted.factor_.T, other.factor_ @ other.factor_.T


class TestSGF:
    def test_rows_are_projected_onto_each_subspace(self):
        fitted = SGF(2, n_samples=4).fit(X, y, Xt)
        assert fitted.transform(Xt).shape == (len(Xt), 8)
        rows = Xt - Xt.mean(axis=0)
        for k in range(4):
            basis = 2 * fitted.factor_[:, 2 * k : 2 * k + 2]  # times the root of 4
            np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-12)
            part = fitted.transform(Xt)[:, 2 * k : 2 * k + 2]
            np.testing.assert_allclose(2 * part, rows @ basis, atol=1e-12)

    @pytest.mark.parametrize("basis", ["pca", "pls"])
    def test_the_error_of_the_kernel_falls_like_one_over_n(self, basis):
        limit = GFK(3, source_basis=basis).fit(X, y, Xt)
        errors = []
        for n in (200, 400, 4000):
            fitted = SGF(3, n_samples=n, source_basis=basis).fit(X, y, Xt)
            sampled, exact = kernels(fitted, limit)
            errors.append(sampled - exact)
        # both ends count fully in the sum, but only half in the trapezoidal rule
        first, last = fitted.factor_[:, :3], fitted.factor_[:, -3:]
        surplus = 4000 * (first @ first.T + last @ last.T) / 2 - exact
        np.testing.assert_allclose(4000 * errors[2], surplus, atol=1e-3)
        assert np.linalg.norm(errors[0]) > 1e-4
        ratio = np.linalg.norm(errors[0]) / np.linalg.norm(errors[1])
        assert ratio == pytest.approx(2, abs=0.02)

    def test_the_factor_is_made_of_points_of_the_geodesic(self):
        _, _, pairs = ends(3)
        times = np.linspace(0, 1, 3000)
        points = geodesic(*pairs, times)
        mean = np.einsum("tik,tjk->ij", points, points) / len(times)
        factor = geodesic_flow_factor(*pairs)
        np.testing.assert_allclose(mean, factor @ factor.T, atol=1e-3)

    def test_many_samples_predict_as_the_kernel_does(self):
        sampled = SGF(3, n_samples=500).fit(X, y, Xt).predict(Xt)
        np.testing.assert_array_equal(sampled, GFK(3).fit(X, y, Xt).predict(Xt))

    def test_one_sample_is_no_path(self):
        with pytest.raises(ValueError, match="n_samples"):
            SGF(n_samples=1).fit(X, y, Xt)
