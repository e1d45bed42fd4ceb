"""The geodesic flow kernel, against integrals of a geodesic computed in another way."""

import numpy as np
import pytest
from scipy.linalg import expm, null_space, subspace_angles
from shifted import shifted

from ilspace.baselines._subspaces import principal_subspace
from ilspace.baselines.gfk import GFK, geodesic_flow_factor, principal_vectors

X, y, Xt, yt = shifted()
SHAPES = [(9, 3), (6, 4), (6, 5), (5, 5), (40, 1), (3, 2)]


def orthonormal(rng, d, p):
    return np.linalg.qr(rng.standard_normal((d, p)))[0]


def at_angles(rng, d, angles):
    """Two bases, turned at random, whose principal angles are known."""
    p = len(angles)
    frame = orthonormal(rng, d, 2 * p)
    moved = frame[:, :p] * np.cos(angles) + frame[:, p:] * np.sin(angles)
    return frame[:, :p] @ orthonormal(rng, p, p), moved @ orthonormal(rng, p, p)


def flow(first, second, t):
    """Point t of the geodesic, by the exponential of a rotation of the whole space."""
    away = second @ np.linalg.inv(first.T @ second) - first
    left, tangents, right = np.linalg.svd(away, full_matrices=False)
    velocity = (left * np.arctan(tangents)) @ right
    return expm(t * (velocity @ first.T - first @ velocity.T)) @ first


def integral(first, second):
    nodes, weights = np.polynomial.legendre.leggauss(20)
    points = [flow(first, second, (node + 1) / 2) for node in nodes]
    return sum(w / 2 * point @ point.T for w, point in zip(weights, points, strict=True))


def factor(first, second):
    return geodesic_flow_factor(*principal_vectors(first, second))


def kernel(first, second):
    return factor(first, second) @ factor(first, second).T


class TestPrincipalVectors:
    @pytest.mark.parametrize(("d", "p"), SHAPES)
    def test_they_span_the_subspaces_and_meet_in_pairs(self, d, p):
        rng = np.random.default_rng(0)
        source, target = orthonormal(rng, d, p), orthonormal(rng, d, p)
        first, second, angles = principal_vectors(source, target)
        np.testing.assert_allclose(first @ first.T, source @ source.T, atol=1e-12)
        np.testing.assert_allclose(second @ second.T, target @ target.T, atol=1e-12)
        np.testing.assert_allclose(first.T @ second, np.diag(np.cos(angles)), atol=1e-12)
        np.testing.assert_allclose(angles, subspace_angles(source, target)[::-1], atol=1e-8)

    @pytest.mark.parametrize("small", [1e-3, 1e-6, 1e-9])
    def test_small_angles_are_not_lost(self, small):
        angles = np.array([small, 0.4, np.pi / 2])
        source, target = at_angles(np.random.default_rng(1), 9, angles)
        np.testing.assert_allclose(principal_vectors(source, target)[2], angles, rtol=1e-6)


class TestKernel:
    @pytest.mark.parametrize(("d", "p"), SHAPES)
    def test_it_is_the_integral_over_the_geodesic(self, d, p):
        rng = np.random.default_rng(d * p)
        source, target = orthonormal(rng, d, p), orthonormal(rng, d, p)
        np.testing.assert_allclose(flow(source, target, 0.0), source, atol=1e-10)
        end = flow(source, target, 1.0)
        np.testing.assert_allclose(end @ end.T, target @ target.T, atol=1e-8)
        np.testing.assert_allclose(kernel(source, target), integral(source, target), atol=1e-8)

    @pytest.mark.parametrize("small", [0.0, 1e-9, 0.99e-4, 1.01e-4, 1e-2])
    def test_small_angles(self, small):
        source, target = at_angles(np.random.default_rng(2), 7, np.array([small, small, 1.0]))
        found = factor(source, target)
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found @ found.T, integral(source, target), atol=1e-12)
        # the difference itself is as exact, relative to the angle; a zero is one up to rounding
        lengths = np.sqrt((1 - np.sinc(np.array([1.0]) / np.pi)) / 2)
        expected = np.sort([small / np.sqrt(12)] * 2 + [*lengths])
        np.testing.assert_allclose(
            np.sort(np.linalg.norm(found[:, 3:], axis=0)), expected, rtol=1e-4, atol=5e-15
        )

    def test_right_angles(self):
        frame = orthonormal(np.random.default_rng(3), 6, 4)
        source, target = frame[:, :2], frame[:, 2:]
        found = kernel(source, target)
        # the pairing is not unique there, but the weights within each end are
        np.testing.assert_allclose(source.T @ found @ source, np.eye(2) / 2, atol=1e-12)
        np.testing.assert_allclose(np.trace(found), 2, atol=1e-12)

    @pytest.mark.parametrize(("d", "p"), SHAPES)
    def test_it_is_positive_semi_definite_and_below_the_identity(self, d, p):
        rng = np.random.default_rng(4)
        source, target = orthonormal(rng, d, p), orthonormal(rng, d, p)
        found = kernel(source, target)
        values = np.linalg.eigvalsh(found)
        assert values.min() > -1e-12
        assert values.max() < 1 + 1e-12
        np.testing.assert_allclose(np.trace(found), p, atol=1e-10)
        outside = null_space(np.hstack([source, target]).T)
        np.testing.assert_allclose(found @ outside, 0, atol=1e-12)

    def test_equal_subspaces_give_their_projector(self):
        rng = np.random.default_rng(5)
        basis = orthonormal(rng, 8, 3)
        turned = basis @ orthonormal(rng, 3, 3)
        np.testing.assert_allclose(kernel(basis, turned), basis @ basis.T, atol=1e-12)

    def test_the_reversed_flow_and_other_bases_give_the_same_kernel(self):
        rng = np.random.default_rng(6)
        source, target = orthonormal(rng, 8, 3), orthonormal(rng, 8, 3)
        expected = kernel(source, target)
        np.testing.assert_allclose(kernel(target, source), expected, atol=1e-12)
        turn, other = orthonormal(rng, 3, 3), orthonormal(rng, 3, 3)
        np.testing.assert_allclose(kernel(source @ turn, target @ other), expected, atol=1e-12)


class TestGFK:
    @pytest.mark.parametrize("basis", ["pca", "pls"])
    def test_predictions_are_those_of_the_kernel_one_by_one(self, basis):
        fitted = GFK(3, source_basis=basis).fit(X, y, Xt)
        G = fitted.factor_ @ fitted.factor_.T
        rows, queries = X - X.mean(axis=0), Xt - Xt.mean(axis=0)
        for query, predicted in zip(queries, fitted.predict(Xt), strict=True):
            distances = [(row - query) @ G @ (row - query) for row in rows]
            assert predicted == y[np.argmin(distances)]

    def test_principal_subspaces_are_the_ends(self):
        fitted = GFK(2, source_basis="pca").fit(X, y, Xt)
        ends = [principal_subspace(rows - rows.mean(axis=0), 2) for rows in (X, Xt)]
        np.testing.assert_allclose(fitted.factor_ @ fitted.factor_.T, integral(*ends), atol=1e-8)
        np.testing.assert_allclose(fitted.angles_, subspace_angles(*ends)[::-1], atol=1e-8)
        assert fitted.n_components_ == 2
        assert fitted.transform(Xt).shape == (len(Xt), 4)

    def test_a_given_basis_decides_the_dimension(self):
        basis = np.eye(6)[:, :2] @ [[1.0, 2.0], [0.0, 3.0]]
        fitted = GFK().set_params(source_basis=basis).fit(X, y, Xt)
        target = principal_subspace(Xt - Xt.mean(axis=0), 2)
        np.testing.assert_allclose(
            fitted.factor_ @ fitted.factor_.T, integral(np.eye(6)[:, :2], target), atol=1e-8
        )

    def test_a_given_basis_too_large_for_the_target_is_refused(self):
        with pytest.raises(ValueError, match="at most 3, what the rows .* but is 5: choose fewer"):
            GFK().set_params(source_basis=np.eye(6)[:, :5]).fit(X, y, Xt[:3])

    def test_all_directions_leave_the_rows_as_they_are(self):
        fitted = GFK(6).fit(X, y, Xt)
        latent, rows = fitted.transform(Xt), Xt - Xt.mean(axis=0)
        np.testing.assert_allclose(latent @ latent.T, rows @ rows.T, atol=1e-10)

    def test_one_domain_alone_is_projected_onto_both_of_its_subspaces(self):
        fitted = GFK(2, source_basis="pca").fit(X, y)
        np.testing.assert_allclose(fitted.angles_, 0, atol=1e-7)
        axes = principal_subspace(X - X.mean(axis=0), 2)
        np.testing.assert_allclose(fitted.factor_ @ fitted.factor_.T, axes @ axes.T, atol=1e-10)
