"""Landmark selection as an estimator: what it chooses, and what it must not depend on."""

import numpy as np
import pytest
from shifted import shifted
from sklearn.exceptions import ConvergenceWarning

from ilspace.baselines._classifiers import linear_svm
from ilspace.baselines._landmarks import Landmarks
from ilspace.baselines.cdls import CDLS

X, y, Xt, yt = shifted()
FEW = np.where(np.arange(len(yt)) < 9, yt, -1)


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
