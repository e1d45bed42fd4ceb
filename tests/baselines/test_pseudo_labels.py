"""Discrepancies of class means, the balance between them, and rounds of pseudo-labels."""

import numpy as np
import pytest
from baselines.discrepancies_by_loops import naive_mmd
from shifted import shifted
from sklearn.linear_model import Ridge
from sklearn.preprocessing import normalize

from ilspace.baselines._pseudo_labels import (
    a_distance,
    alternate,
    balance_rule,
    mean_discrepancies,
    nearest_labels,
)

X, y, Xt, yt = shifted()


class TestMeanDiscrepancies:
    @pytest.mark.parametrize("balance", [0.0, 0.3, 0.5, 1.0])
    @pytest.mark.parametrize("hidden", [[], [1], [0, 2]])
    def test_they_factor_the_matrix_of_loops(self, balance, hidden):
        codes = np.where(np.isin(yt, hidden), -1, yt)
        factor = mean_discrepancies(y, codes, 3, balance)
        np.testing.assert_allclose(factor @ factor.T, naive_mmd(y, codes, 3, balance), atol=1e-14)

    def test_they_are_differences_of_means_in_one_ratio(self):
        found = np.concatenate([X, Xt]).T @ mean_discrepancies(y, yt, 3, 0.2)
        expected = [np.sqrt(0.8 * 3) * (X.mean(axis=0) - Xt.mean(axis=0))]
        for c in range(3):
            gap = X[y == c].mean(axis=0) - Xt[yt == c].mean(axis=0)
            expected.append(np.sqrt(0.2) * gap)
        ratios = found / np.transpose(expected)
        np.testing.assert_allclose(ratios, ratios[0, 0], rtol=1e-10)

    def test_classes_alone_without_any_label_differ_by_nothing(self):
        factor = mean_discrepancies(y, np.full(len(yt), -1), 3, balance=1.0)
        np.testing.assert_array_equal(factor, np.zeros((len(y) + len(yt), 4)))


class TestADistance:
    def test_error_is_that_of_leaving_one_row_out(self):
        rng = np.random.default_rng(0)
        ours, theirs = rng.standard_normal((9, 3)), rng.standard_normal((14, 3)) + 0.8
        rows = np.column_stack([np.vstack([ours, theirs]), np.ones(23)])
        signs = np.repeat([1.0, -1.0], [9, 14])
        weights = np.repeat([23 / 18, 23 / 28], [9, 14])
        errors = []
        for i in range(23):
            rest = np.arange(23) != i
            model = Ridge(alpha=1.0, fit_intercept=False)
            model.fit(rows[rest], signs[rest], sample_weight=weights[rest])
            errors.append(model.predict(rows[[i]])[0] * signs[i] <= 0)
        error = (np.mean(errors[:9]) + np.mean(errors[9:])) / 2
        assert 0 < error < 0.5
        assert a_distance(ours, theirs) == pytest.approx(2 * (1 - 2 * error))

    def test_from_nothing_to_two(self):
        rng = np.random.default_rng(0)
        rows = rng.standard_normal((200, 3))
        assert a_distance(rows, rows) == 0
        gaps = [a_distance(rows, rng.standard_normal((50, 3)) + gap) for gap in (0, 0.5, 1, 9)]
        assert gaps[0] < 0.3
        assert np.all(np.diff(gaps) > 0)
        assert gaps[-1] == 2


class TestBalance:
    def test_a_number_stays(self):
        assert balance_rule(0.3, X, y, Xt)(yt) == 0.3

    def test_the_estimate_compares_classes_with_domains(self):
        rng = np.random.default_rng(0)
        codes = np.repeat([0, 1], 40)
        means = np.array([[2.0, 0.0], [-2.0, 0.0]])
        source = rng.standard_normal((80, 2)) / 2 + means[codes]
        # classes swap: one cloud of rows, but each class is elsewhere
        swapped = balance_rule("auto", source, codes, source)(1 - codes)
        moved = balance_rule("auto", source, codes, source + [0, 1.0])(codes)
        assert swapped == 1.0
        assert 0.4 < moved < 0.6

    def test_without_labels_and_without_differences(self):
        rule = balance_rule("auto", X, y, X)
        assert rule(np.full(len(y), -1)) == 0.0
        assert rule(y) == 0.5

    def test_a_class_that_is_never_predicted_is_left_out(self):
        rows, others = normalize(X), normalize(Xt)
        codes = np.where(yt == 1, 0, yt)
        assert 0 <= balance_rule("auto", rows, y, others)(codes) <= 1


def test_nearest_labels_are_those_of_loops():
    known = np.where(np.arange(len(yt)) < 6, yt, -1)
    rows, codes = np.vstack([X, Xt[:6]]), np.concatenate([y, yt[:6]])
    expected = [codes[np.argmin(np.sum((rows - row) ** 2, axis=1))] for row in Xt]
    np.testing.assert_array_equal(nearest_labels(X, y, Xt, known), expected)


class TestAlternate:
    known = np.array([2, -1, -1, 0])

    def test_known_labels_stay_and_rounds_end_where_nothing_changes(self):
        seen = []

        def learn(codes):
            seen.append(codes.copy())
            return np.minimum(np.abs(codes) + 1, 3)

        codes, n_iter = alternate(learn, self.known, self.known, 10)
        np.testing.assert_array_equal(codes, [2, 3, 3, 0])
        assert n_iter == len(seen) == 3
        assert all(each[0] == 2 and each[3] == 0 for each in seen)

    def test_no_more_rounds_than_allowed(self):
        codes, n_iter = alternate(lambda codes: 1 - codes, np.zeros(3), np.full(3, -1), 5)
        assert n_iter == 5
        np.testing.assert_array_equal(codes, np.ones(3))
