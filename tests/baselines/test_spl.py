"""Selective pseudo-labelling, against its objective computed pair by pair."""

from itertools import permutations

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from shifted import shifted

from ilspace.baselines import SPL
from ilspace.baselines.spl import (
    ClassSpace,
    locality_preserving_projection,
    matched_clusters,
    selective_pseudo_labels,
    surest_of_each_class,
)

X, y, Xt, yt = shifted()
RNG = np.random.default_rng(0)
CODES = np.append(y, np.where(np.arange(24) % 3 == 1, yt, -1))
ROWS = np.vstack([X, Xt])


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def spreads(rows, codes):
    """Spread between rows of one class, and weighted scatter, by loops over pairs and rows."""
    d = rows.shape[1]
    between, total = np.zeros((d, d)), np.zeros((d, d))
    for i, a in enumerate(codes):
        for j, b in enumerate(codes):
            if a == b >= 0:
                between += np.outer(rows[i] - rows[j], rows[i] - rows[j]) / 2
                total += np.outer(rows[i], rows[i])
    return between, total


class TestProjection:
    @pytest.mark.parametrize("alpha", [1.0, 0.1])
    def test_columns_solve_the_generalised_eigenproblem(self, alpha):
        P = locality_preserving_projection(ROWS, CODES, 4, alpha)
        between, total = spreads(ROWS, CODES)
        cost = between + alpha * np.eye(6)
        np.testing.assert_allclose(P.T @ cost @ P, np.eye(4), atol=1e-8)
        values = np.diag(P.T @ total @ P)
        np.testing.assert_allclose(total @ P, cost @ P * values, rtol=1e-6, atol=1e-6 * values[0])
        assert (np.diff(values) < 0).all()

    def test_no_other_projection_is_better(self):
        between, total = spreads(ROWS, CODES)
        cost = between + np.eye(6)

        def objective(P):
            return np.trace(np.linalg.solve(P.T @ cost @ P, P.T @ total @ P))

        best = objective(locality_preserving_projection(ROWS, CODES, 2, 1.0))
        assert best > max(objective(RNG.standard_normal((6, 2))) for _ in range(200))

    def test_rows_without_class_do_not_count(self):
        some = CODES >= 0
        whole = locality_preserving_projection(ROWS, CODES, 3, 1.0)
        part = locality_preserving_projection(ROWS[some], CODES[some], 3, 1.0)
        np.testing.assert_allclose(whole, part, atol=1e-8)


class TestClusters:
    def test_clusters_are_means_of_their_rows(self):
        prototypes = unit(RNG.standard_normal((3, 6)))
        rows = unit(np.repeat(prototypes, 8, axis=0) + 0.3 * RNG.standard_normal((24, 6)))
        found = matched_clusters(rows, prototypes)
        nearest = np.linalg.norm(rows[:, None] - found, axis=2).argmin(axis=1)
        for code in range(3):
            np.testing.assert_allclose(found[code], unit(rows[nearest == code].mean(axis=0)))
        np.testing.assert_array_equal(nearest, np.repeat([0, 1, 2], 8))

    @pytest.mark.parametrize("seed", range(20))
    def test_they_are_matched_to_the_classes_at_the_least_distance(self, seed):
        rng = np.random.default_rng(seed)
        prototypes = unit(rng.standard_normal((4, 2)))
        found = matched_clusters(unit(rng.standard_normal((30, 2))), prototypes)
        costs = [
            np.linalg.norm(prototypes - found[list(order)], axis=1).sum()
            for order in permutations(range(4))
        ]
        assert costs[0] == pytest.approx(min(costs))  # the order of the classes comes first

    def test_a_cluster_without_rows_keeps_its_centre(self):
        prototypes = np.eye(3)
        found = matched_clusters(unit(np.array([[9.0, 1.0, 0.0], [1.0, 9.0, 0.0]])), prototypes)
        np.testing.assert_array_equal(found[2], prototypes[2])


class TestSelection:
    def test_the_surest_share_of_each_class(self):
        sureness = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.3, 0.7], [0.2, 0.8]]
        for share, expected in (
            (0.1, [0, -1, -1, -1, 1]),
            (0.5, [0, -1, 0, -1, 1]),
            (1.0, [0, 0, 0, 1, 1]),
        ):
            found = surest_of_each_class(np.array(sureness), share)
            np.testing.assert_array_equal(found, expected)

    def test_a_class_that_nobody_predicts_has_no_pseudo_labels(self):
        found = surest_of_each_class(np.array([[0.5, 0.3, 0.4], [0.1, 0.2, 0.6]]), 1.0)
        np.testing.assert_array_equal(found, [0, 2])

    def test_it_grows_is_chosen_anew_and_keeps_what_is_known(self):
        # overlapping classes, so that predictions change
        rng = np.random.default_rng(5)
        labels = np.arange(160) % 4
        rows = unit(rng.standard_normal((160, 8)) + np.eye(4, 8)[labels])
        is_target = np.arange(160) >= 60
        known = np.where(is_target & (np.arange(160) % 10 > 0), -1, labels)
        options = {"regularization": 1.0, "n_rounds": 5}
        spaces, chosen = zip(
            *selective_pseudo_labels(rows, known, is_target, 8, **options), strict=True
        )
        np.testing.assert_array_equal(chosen[0], known)
        free = is_target & (known < 0)
        for t in range(1, 6):
            np.testing.assert_array_equal(chosen[t][~free], known[~free])
            predicted = spaces[t - 1].probabilities(rows[free]).argmax(axis=1)
            taken = chosen[t][free] >= 0
            np.testing.assert_array_equal(chosen[t][free][taken], predicted[taken])
            for code in range(4):
                n = np.sum(predicted == code)
                assert np.sum(chosen[t][free] == code) == np.ceil(t / 5 * n)
        pairs = list(zip(chosen[1:], chosen[2:], strict=False))
        assert any(((a >= 0) & (b >= 0) & (a != b)).any() for a, b in pairs)  # corrected
        assert any(((a >= 0) & (b < 0)).any() for a, b in pairs)  # dropped again


class TestSpace:
    def test_probabilities_are_the_larger_of_two_softmaxes(self):
        space = ClassSpace(
            np.eye(3), np.zeros(3), unit(RNG.random((4, 3))), unit(RNG.random((4, 3)))
        )
        rows = unit(RNG.standard_normal((5, 3)))
        for row, found in zip(rows, space.probabilities(rows), strict=True):
            both = []
            for centers in (space.prototypes, space.clusters):
                weights = [np.exp(-np.sqrt(np.sum((row - each) ** 2))) for each in centers]
                both.append([each / sum(weights) for each in weights])
            np.testing.assert_allclose(found, [max(pair) for pair in zip(*both, strict=True)])

    def test_prototypes_are_means_of_rows_whose_class_is_known(self):
        known = np.append(y, np.where(np.arange(24) < 4, yt, -1))
        is_target = np.arange(54) >= 30
        space = ClassSpace.learn(ROWS, CODES, known, is_target, 3, 1.0)
        latent = ROWS @ space.projection
        latent = unit(latent - latent.mean(axis=0))
        for code, prototype in enumerate(space.prototypes):
            np.testing.assert_allclose(prototype, unit(latent[known == code].mean(axis=0)))


class TestEstimator:
    def test_axes_are_principal_axes_of_rows_of_unit_length(self):
        fitted = SPL(2, n_axes=3).fit(X, y, Xt)
        rows = unit(ROWS)
        axes = np.linalg.svd(rows - rows.mean(axis=0))[2][:3].T
        assert subspace_angles(axes, fitted.axes_).max() < 1e-8
        assert fitted.space_.projection.shape == (3, 2)

    def test_the_length_of_rows_does_not_matter(self):
        lengths = RNG.uniform(0.1, 10, (24, 1))
        plain, scaled = SPL().fit(X, y, Xt), SPL().fit(5 * X, y, lengths * Xt)
        np.testing.assert_array_equal(plain.predict(Xt), scaled.predict(Xt))

    def test_pseudo_labels_grow_until_all_rows_have_one(self):
        fitted = SPL(n_rounds=4).fit(X, y, Xt, np.where(np.arange(24) < 5, yt, -1))
        counts = fitted.n_pseudo_labels_
        assert (counts[0], counts[-1], len(counts)) == (0, 19, 5)
        assert (np.diff(counts) > 0).all()

    def test_known_labels_stay(self):
        wrong = np.where(np.arange(24) < 6, (yt + 1) % 3, -1)
        fitted = SPL().fit(X, y, Xt, wrong)
        np.testing.assert_array_equal(fitted.transduction_[:6], wrong[:6])
        np.testing.assert_array_equal(fitted.transduction_[6:], fitted.predict(Xt[6:]))
        without = SPL().fit(X, y, Xt)
        assert np.abs(fitted.decision_function(Xt) - without.decision_function(Xt)).max() > 1e-3

    def test_fewer_target_rows_than_classes(self):
        fitted = SPL().fit(X, y, Xt[:2])
        np.testing.assert_array_equal(fitted.transduction_, fitted.predict(Xt[:2]))

    def test_one_domain_has_nothing_to_choose(self):
        fitted = SPL().fit(X, y)
        np.testing.assert_array_equal(fitted.n_pseudo_labels_, [0])
        assert fitted.score(X, y, domain="source") > 0.9

    def test_two_classes_have_one_decision_value(self):
        two, two_t = y < 2, yt < 2
        fitted = SPL().fit(X[two], y[two], Xt[two_t])
        values = fitted.decision_function(Xt[two_t])
        assert values.shape == (16,)
        np.testing.assert_array_equal(values > 0, fitted.predict(Xt[two_t]) == 1)
