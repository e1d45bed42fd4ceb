"""Feature augmentation: its kernels, and linear machines that were trained another way."""

import numpy as np
import pytest
from shifted import shifted
from sklearn.svm import SVC, LinearSVC

from ilspace.baselines.feature_augmentation import FeatureAugmentation, damping

DATA = shifted()
X, y, Xt, yt = DATA
FEW = np.where(np.arange(len(yt)) < 9, yt, -1)
ROWS, CODES = np.vstack([X, Xt[:9]]), np.concatenate([y, yt[:9]])
IS_SOURCE = np.arange(len(ROWS)) < len(X)


def gram(fitted):
    latent = np.vstack([fitted.transform(X, domain="source"), fitted.transform(Xt)])
    return latent @ latent.T


def plain_gram(rows, others, is_source, other_is_source):
    """Kernel of the paper: twice the inner product within a domain, once across."""
    return (rows @ others.T) * (1 + (is_source[:, None] == other_is_source))


class TestEasyAdapt:
    def test_layout(self):
        fitted = FeatureAugmentation().fit(X, y, Xt, FEW)
        zeros = np.zeros_like(X)
        expected = np.hstack([X, X, zeros]) / fitted.length_
        np.testing.assert_allclose(fitted.transform(X, domain="source"), expected)
        zeros = np.zeros_like(Xt)
        expected = np.hstack([Xt, zeros, Xt]) / fitted.length_
        np.testing.assert_allclose(fitted.transform(Xt), expected)

    def test_kernel_is_double_within_a_domain(self):
        fitted = FeatureAugmentation().fit(X, y, Xt, FEW)
        both, domain = np.vstack([X, Xt]), np.arange(len(X) + len(Xt)) < len(X)
        expected = plain_gram(both, both, domain, domain) / fitted.length_**2
        np.testing.assert_allclose(gram(fitted), expected, atol=1e-12)

    def test_equals_a_support_vector_machine_with_that_kernel(self):
        machine = SVC(kernel="linear", tol=1e-8)
        fitted = FeatureAugmentation(classifier=machine).fit(X, y, Xt, FEW)
        unit = fitted.length_**2
        other = SVC(kernel="precomputed", tol=1e-8)
        other.fit(plain_gram(ROWS, ROWS, IS_SOURCE, IS_SOURCE) / unit, CODES)
        for rows, domain in ((X, "source"), (Xt, "target")):
            kernel = plain_gram(rows, ROWS, np.full(len(rows), domain == "source"), IS_SOURCE)
            expected = other.decision_function(kernel / unit)
            np.testing.assert_allclose(fitted.decision_function(rows, domain), expected, atol=1e-5)

    def test_units_do_not_matter(self):
        fitted = FeatureAugmentation(0.1).fit(X, y, Xt, FEW)
        scaled = FeatureAugmentation(0.1).fit(1000 * X, y, 1000 * Xt, FEW)
        expected = fitted.decision_function(Xt)
        np.testing.assert_allclose(scaled.decision_function(1000 * Xt), expected, atol=1e-8)

    def test_rows_that_all_vanish(self):
        zeros = np.zeros((4, 2))
        fitted = FeatureAugmentation(1.0).fit(zeros, [0, 1, 0, 1], zeros, [0, 1, -1, -1])
        assert np.isfinite(fitted.decision_function(zeros)).all()


class TestAgreement:
    def test_kernel(self):
        agreement = 0.3
        fitted = FeatureAugmentation(agreement).fit(X, y, Xt, FEW)
        both, domain = np.vstack([X, Xt]) / fitted.length_, np.arange(len(X) + len(Xt)) < len(X)
        hidden = Xt[9:] / fitted.length_
        inner = both @ both.T
        inverse = np.linalg.inv(np.eye(X.shape[1]) + 4 * agreement * hidden.T @ hidden)
        damped = both @ inverse @ both.T
        sign = np.where(domain[:, None] == domain, 1, -1)
        np.testing.assert_allclose(gram(fitted), 1.5 * inner + sign * damped / 2, atol=1e-12)

    @pytest.mark.parametrize("agreement", [0.05, 1.0])
    def test_equals_copies_of_the_unlabelled_rows_with_both_labels(self, agreement):
        keep, keep_t = y < 2, yt < 2
        labels = np.where(np.arange(len(yt)) < 9, yt, -1)[keep_t]
        rows, other = X[keep], Xt[keep_t]
        machine = LinearSVC(fit_intercept=False, tol=1e-10, max_iter=100_000, random_state=0)
        fitted = FeatureAugmentation(agreement, classifier=machine).fit(
            rows, y[keep], other, labels
        )

        rows, other = rows / fitted.length_, other / fitted.length_
        some, hidden = other[labels >= 0], other[labels < 0]
        augmented = np.vstack(
            [
                np.hstack([rows, rows, 0 * rows]),
                np.hstack([some, 0 * some, some]),
                *[np.hstack([0 * hidden, hidden, -hidden])] * 2,
            ]
        )
        n, n_hidden = len(rows) + len(some), len(hidden)
        signs = np.concatenate([y[keep], labels[labels >= 0], [0] * n_hidden, [1] * n_hidden])
        weights = np.concatenate([np.ones(n), np.full(2 * n_hidden, agreement / 2)])
        machine.fit(augmented, signs, sample_weight=weights)
        # the copies' squared hinges are a quadratic only where neither is beyond its margin
        assert np.abs(machine.decision_function(augmented[n:])).max() < 1
        expected = machine.decision_function(np.hstack([other, 0 * other, other]))
        found = fitted.decision_function(Xt[keep_t])
        np.testing.assert_allclose(found, expected, atol=1e-6)
        plain = FeatureAugmentation(classifier=fitted.classifier).fit(
            X[keep], y[keep], Xt[keep_t], labels
        )
        assert np.abs(found - plain.decision_function(Xt[keep_t])).max() > 1e-3

    def test_strong_agreement_is_one_classifier_for_both(self):
        def gap(agreement):
            fitted = FeatureAugmentation(agreement).fit(X, y, Xt, FEW)
            apart = fitted.decision_function(Xt) - fitted.decision_function(Xt, domain="source")
            return np.abs(apart).max()

        assert gap(0.0) > 0.1
        assert gap(1e8) < 1e-3

    def test_without_unlabelled_rows_it_is_plain(self):
        plain = FeatureAugmentation().fit(X, y, Xt, yt)
        agreed = FeatureAugmentation(5.0).fit(X, y, Xt, yt)
        assert agreed.axes_.shape == (X.shape[1], 0)
        np.testing.assert_array_equal(agreed.decision_function(Xt), plain.decision_function(Xt))

    def test_damping_with_more_columns_than_rows(self):
        rows = np.random.default_rng(0).standard_normal((3, 7))
        axes, shrinkage = damping(rows, 0.4)
        damped = np.eye(7) - (axes * shrinkage) @ axes.T
        expected = np.linalg.inv(np.eye(7) + 1.6 * rows.T @ rows)
        np.testing.assert_allclose(damped @ damped, expected, atol=1e-12)
