"""Landmark selection: the published objective, its two exact steps, and what they choose."""

from dataclasses import replace

import numpy as np
import pytest
from adapters.shifted import shifted
from scipy.optimize import LinearConstraint, approx_fprime, minimize
from sklearn.exceptions import ConvergenceWarning

from ilspace.adapters.baselines._classifiers import linear_svm
from ilspace.adapters.baselines.cdls import CDLS, Landmarks, minimise_capped, project_capped

DATA = shifted()
X, y, Xt, yt = DATA
FEW = np.where(np.arange(len(yt)) < 9, yt, -1)


def problem(seed=0, n=9, n_labelled=4, n_unlabelled=7, d=4, m=3, n_classes=2, share=0.5):
    rng = np.random.default_rng(seed)

    def codes(size):
        return np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, size)])[:size]

    sizes = (n, n_labelled, n_unlabelled)
    source_codes, labelled_codes, pseudo_codes = (codes(size) for size in sizes)
    return Landmarks(
        source=rng.standard_normal((n, d)) + source_codes[:, None],
        labelled=rng.standard_normal((n_labelled, m)) - labelled_codes[:, None],
        unlabelled=rng.standard_normal((n_unlabelled, m)) - pseudo_codes[:, None],
        source_codes=source_codes,
        labelled_codes=labelled_codes,
        pseudo_codes=pseudo_codes,
        n_classes=n_classes,
        share=share,
        regularization=0.3,
    )


def feasible(given, seed=0):
    """Weights that satisfy the constraints."""
    rng = np.random.default_rng(seed)
    weights = []
    for codes in (given.source_codes, given.pseudo_codes):
        totals = given.share * np.bincount(codes, minlength=given.n_classes)
        weights.append(project_capped(rng.random(len(codes)), codes, totals))
    return weights


def naive(given, transform, source_weights, target_weights):
    """The published objective, row by row and pair by pair."""
    sent = [w * transform.T @ x for w, x in zip(source_weights, given.source, strict=True)]
    shown = [w * u for w, u in zip(target_weights, given.unlabelled, strict=True)]
    known, share = list(given.labelled), given.share

    def gap(of_source, of_known, of_shown):
        mean = sum(of_source) / (share * len(of_source))
        total = sum(of_known) + sum(of_shown)
        return np.sum((mean - total / (len(of_known) + share * len(of_shown))) ** 2)

    value = gap(sent, known, shown) + given.regularization * np.sum(transform**2)
    for c in range(given.n_classes):
        a = [v for v, code in zip(sent, given.source_codes, strict=True) if code == c]
        b = [v for v, code in zip(known, given.labelled_codes, strict=True) if code == c]
        u = [v for v, code in zip(shown, given.pseudo_codes, strict=True) if code == c]
        if len(b) + len(u) == 0:
            continue
        value += gap(a, b, u)
        pairs = share * len(a) * len(b) + share * len(b) * len(u) + share**2 * len(u) * len(a)
        for first, second in ((a, b), (b, u), (u, a)):
            value += sum(np.sum((v - w) ** 2) for v in first for w in second) / pairs
    return value


class TestObjective:
    @pytest.mark.parametrize("share", [0.3, 1.0])
    @pytest.mark.parametrize("n_classes", [2, 4])
    def test_equals_naive_sums(self, share, n_classes):
        # of four classes, some have no labelled or no pseudo-labelled row
        given = problem(n_classes=n_classes, n_labelled=2, n_unlabelled=3, share=share)
        transform = np.random.default_rng(1).standard_normal((4, 3))
        weights = feasible(given)
        expected = naive(given, transform, *weights)
        np.testing.assert_allclose(given.value(transform, *weights), expected)

    def test_rows_without_pseudo_labels_count_in_the_means_of_the_domains_only(self):
        given = problem(share=1.0)
        without = replace(given, pseudo_codes=np.full(7, -1))
        transform = np.random.default_rng(1).standard_normal((4, 3))
        ones = np.ones(9), np.ones(7)
        alone = replace(given, unlabelled=np.zeros((0, 3)), pseudo_codes=np.zeros(0, dtype=int))
        means = np.vstack([given.labelled, given.unlabelled]).mean(axis=0), given.labelled.mean(0)
        sent = (given.source @ transform).mean(axis=0)
        difference = np.sum((sent - means[0]) ** 2) - np.sum((sent - means[1]) ** 2)
        expected = alone.value(transform, ones[0], np.zeros(0)) + difference
        np.testing.assert_allclose(without.value(transform, *ones), expected)

    def test_quadratic_is_half_the_objective(self):
        given, transform = problem(), np.random.default_rng(1).standard_normal((4, 3))
        rows = np.vstack([given.source @ transform, given.unlabelled])
        product, linear, curvatures = given.quadratic(rows)

        def half(weights):
            joined = np.concatenate(weights)
            return joined @ product(joined) / 2 + joined @ linear

        first, second = feasible(given, 1), feasible(given, 2)
        change = given.value(transform, *first) - given.value(transform, *second)
        np.testing.assert_allclose(2 * (half(first) - half(second)), change)
        hessian = np.array([product(unit) for unit in np.eye(16)])
        np.testing.assert_allclose(hessian, hessian.T, atol=1e-12)
        np.testing.assert_allclose(np.diag(hessian), curvatures)
        assert np.linalg.eigvalsh(hessian)[0] > -1e-10


class TestTransform:
    def test_closed_form_is_stationary_and_a_minimum(self):
        given = problem()
        weights = feasible(given)
        best = given.best_transform(*weights)

        def value(flat):
            return naive(given, flat.reshape(best.shape), *weights)

        np.testing.assert_allclose(approx_fprime(best.ravel(), value, 1e-6), 0, atol=1e-4)
        rng = np.random.default_rng(0)
        for _ in range(5):
            assert value(best.ravel() + 0.1 * rng.standard_normal(best.size)) > value(best.ravel())


class TestProjection:
    @pytest.mark.parametrize("seed", range(3))
    def test_nearest_feasible_point(self, seed):
        rng = np.random.default_rng(seed)
        values, groups = 2 * rng.standard_normal(9), np.arange(9) % 2
        totals = np.array([2.0, 1.7])
        found = project_capped(values, groups, totals)
        expected = minimize(
            lambda weights: np.sum((weights - values) ** 2),
            np.full(9, 0.4),
            bounds=[(0, 1)] * 9,
            constraints=LinearConstraint(groups == np.arange(2)[:, None], totals, totals),
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(found, expected.x, atol=1e-6)
        np.testing.assert_allclose(np.bincount(groups, found), totals)
        np.testing.assert_allclose(project_capped(found, groups, totals), found, atol=1e-12)

    def test_full_and_empty_groups(self):
        found = project_capped(np.array([-3.0, 5.0, 0.2]), np.array([0, 0, 2]), np.array([2, 0, 0]))
        np.testing.assert_allclose(found, [1, 1, 0], atol=1e-12)
        assert len(project_capped(np.zeros(0), np.zeros(0, dtype=int), np.zeros(2))) == 0


class TestWeights:
    def test_equal_a_general_solver(self):
        given, transform = problem(), np.random.default_rng(1).standard_normal((4, 3))
        first, second, is_solved = given.best_weights(transform, tol=1e-9)
        codes = np.concatenate([given.source_codes, 2 + given.pseudo_codes])
        members = codes == np.arange(4)[:, None]
        totals = given.share * members.sum(axis=1)
        expected = minimize(
            lambda w: naive(given, transform, w[:9], w[9:]),
            np.full(16, 0.5),
            bounds=[(0, 1)] * 16,
            constraints=LinearConstraint(members, totals, totals),
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 500},
        )
        assert is_solved
        np.testing.assert_allclose(np.concatenate([first, second]), expected.x, atol=1e-4)

    def test_optimality_conditions(self):
        given = problem(n=60, n_labelled=12, n_unlabelled=80, d=8, m=5, n_classes=4)
        transform = given.best_transform(np.ones(60), np.ones(80))
        first, second, _ = given.best_weights(transform, tol=1e-9)
        weights = np.concatenate([first, second])
        product, linear, curvatures = given.quadratic(
            np.vstack([given.source @ transform, given.unlabelled])
        )
        slopes = (product(weights) + linear) / curvatures.mean()
        groups = np.concatenate([given.source_codes, 4 + given.pseudo_codes])
        np.testing.assert_allclose(
            np.bincount(groups, weights), given.share * np.bincount(groups), rtol=1e-8
        )
        assert ((weights >= 0) & (weights <= 1)).all()
        assert (weights == 0).any()
        assert (weights == 1).any()
        for group in range(8):
            inside = (groups == group) & (weights > 1e-6) & (weights < 1 - 1e-6)
            level = slopes[inside].mean()  # the multiplier of the sum
            np.testing.assert_allclose(slopes[inside], level, atol=1e-6)
            assert (slopes[(groups == group) & (weights <= 1e-6)] >= level - 1e-6).all()
            assert (slopes[(groups == group) & (weights >= 1 - 1e-6)] <= level + 1e-6).all()

    def test_value_decreases_and_the_end_is_told(self):
        rng = np.random.default_rng(0)
        root = rng.standard_normal((20, 8))
        hessian, linear = root @ root.T, rng.standard_normal(20)
        groups, totals = np.arange(20) % 2, np.array([3.0, 4.0])
        how = {"curvatures": np.diag(hessian), "tol": 1e-8}

        def at(n_steps):
            weights, is_solved = minimise_capped(
                hessian.dot, linear, groups, totals, max_iter=n_steps, **how
            )
            return weights @ hessian @ weights / 2 + linear @ weights, is_solved

        values, solved = zip(*(at(n_steps) for n_steps in range(1, 40)), strict=True)
        assert (np.diff(values) <= 1e-12).all()
        assert not solved[0]
        assert at(5000)[1]

    def test_share_of_one_keeps_all_rows(self):
        given = problem(share=1.0)
        transform = given.best_transform(np.ones(9), np.ones(7))
        first, second, is_solved = given.best_weights(transform)
        assert is_solved
        np.testing.assert_allclose(first, 1)
        np.testing.assert_allclose(second, 1)


@pytest.mark.parametrize("seed", range(3))
def test_objective_never_grows_for_fixed_pseudo_labels(seed):
    given = problem(seed, n=40, n_labelled=9, n_unlabelled=50, d=10, m=6, n_classes=3)
    weights = np.full(40, 0.5), np.full(50, 0.5)
    values = []
    for _ in range(8):
        transform = given.best_transform(*weights)
        values.append(naive(given, transform, *weights))
        *weights, _ = given.best_weights(transform, tol=1e-7)
        values.append(naive(given, transform, *weights))
    assert (np.diff(values) <= 1e-9 * values[0]).all()
    assert values[-1] < 0.98 * values[0]


class TestEstimator:
    def test_weights_have_the_sums_they_must(self):
        fitted = CDLS(share=0.4).fit(X, y, Xt, FEW)
        np.testing.assert_allclose(np.bincount(y, fitted.source_weights_), [4, 4, 4], rtol=1e-6)
        np.testing.assert_array_equal(fitted.target_weights_[:9], 1)
        np.testing.assert_allclose(fitted.target_weights_[9:].sum(), 0.4 * 15, rtol=1e-6)

    def test_share_of_one_keeps_all_rows(self):
        fitted = CDLS(share=1.0).fit(X, y, Xt, FEW)
        np.testing.assert_allclose(fitted.source_weights_, 1)
        np.testing.assert_allclose(fitted.target_weights_, 1)

    def test_wrongly_labelled_rows_are_no_landmarks(self):
        wrong = y.copy()
        wrong[:6] = (y[:6] + 1) % 3
        fitted = CDLS().fit(X, wrong, Xt, FEW)
        assert fitted.source_weights_[:6].mean() < 0.6 * fitted.source_weights_[6:].mean()

    def test_units_and_directions_do_not_matter(self):
        fitted = CDLS().fit(X, y, Xt, FEW)
        turn = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
        moved = CDLS().fit(100 * X @ turn + 3, y, 0.01 * Xt - 7, FEW)
        np.testing.assert_allclose(moved.source_weights_, fitted.source_weights_, atol=1e-4)
        found, expected = moved.decision_function(0.01 * Xt - 7), fitted.decision_function(Xt)
        np.testing.assert_allclose(found, expected, atol=1e-3)

    def test_source_of_other_columns_helps(self):
        scores, classes = [], np.arange(90) % 3
        for seed in range(3):
            rng = np.random.default_rng(seed)
            means = 0.8 * rng.standard_normal((3, 20))
            rows, target = means[classes] + rng.standard_normal((2, 90, 20))
            rows = rows @ np.linalg.qr(rng.standard_normal((24, 20)))[0].T
            few = np.where(np.arange(90) < 6, classes, -1)
            fitted = CDLS().fit(rows, classes, target, few)
            alone = linear_svm().fit(target[:6], classes[:6])
            scores.append([each.score(target[6:], classes[6:]) for each in (fitted, alone)])
        with_it, without = np.mean(scores, axis=0)
        assert with_it > without + 0.05

    def test_classifier_without_weights_sees_no_row_without_weight(self):
        rows = X.copy()
        rows[0] = 30 * X[1]  # far away, and with the label of another class
        fitted = CDLS(share=0.2, n_rounds=2, classifier="1nn").fit(rows, y, Xt, FEW)
        n_landmarks = np.sum(fitted.source_weights_ > 1e-6)
        assert n_landmarks < len(X)
        assert fitted.classifier_.n_samples_fit_ == n_landmarks + 9

    def test_classes_without_labelled_or_pseudo_labelled_rows(self):
        few = np.where(yt < 2, FEW, -1)
        assert CDLS().fit(X, y, Xt, few).score(Xt[yt < 2], yt[yt < 2]) > 0.6
        some = yt == 0
        fitted = CDLS().fit(X, y, Xt[some], np.where(np.arange(some.sum()) < 2, 0, -1))
        assert np.isfinite(fitted.decision_function(Xt)).all()

    def test_all_target_rows_labelled(self):
        fitted = CDLS().fit(X, y, Xt, yt)
        np.testing.assert_array_equal(fitted.target_weights_, 1)
        assert fitted.score(Xt, yt) > 0.9

    def test_one_round_has_no_landmarks_to_choose(self):
        np.testing.assert_array_equal(CDLS(n_rounds=1).fit(X, y, Xt, FEW).source_weights_, 1)

    def test_unsettled_weights_are_said(self, monkeypatch):
        solve = Landmarks.best_weights
        monkeypatch.setattr(
            Landmarks, "best_weights", lambda self, transform: solve(self, transform, max_iter=1)
        )
        with pytest.warns(ConvergenceWarning, match="scale the columns"):
            CDLS().fit(X, y, Xt, FEW)
