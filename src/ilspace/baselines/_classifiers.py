"""Classifiers that the baselines train in the latent space."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC


def nearest_neighbour() -> KNeighborsClassifier:
    """One nearest neighbour, by exhaustive search.

    Returns
    -------
    KNeighborsClassifier
        Not fitted.
    """
    return KNeighborsClassifier(n_neighbors=1, algorithm="brute")


def linear_svm() -> LinearSVC:
    """Linear support vector machines, one-vs-rest.

    One-vs-one loses half of the accuracy where classes have a few rows each.

    Returns
    -------
    LinearSVC
        Not fitted.
    """
    return LinearSVC(C=1.0, dual=True, max_iter=20_000, random_state=0)


def logistic_regression() -> LogisticRegression:
    """Multinomial logistic regression with C = 1.

    Returns
    -------
    LogisticRegression
        Not fitted.
    """
    return LogisticRegression(C=1.0, max_iter=2_000)


class PrincipalNeighbour(ClassifierMixin, BaseEstimator):
    """One nearest neighbour on the first 100 principal axes, or on as many as there are."""

    def fit(self, X, y):
        """Find the axes and keep the rows.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        y : array of shape (n,)
            Their classes.

        Returns
        -------
        self
            Fitted.
        """
        pca = PCA(min(PRINCIPAL_AXES, len(X) - 1, X.shape[1]), svd_solver="full")
        self.model_ = make_pipeline(pca, nearest_neighbour()).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        """Class of the nearest row.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
            The classes.
        """
        return self.model_.predict(X)


PRINCIPAL_AXES = 100
"""Axes of "pca-1nn", as many as the plain space of ILSClassifier has."""

CLASSIFIERS = {
    "1nn": nearest_neighbour,
    "svm": linear_svm,
    "logistic": logistic_regression,
    "pca-1nn": PrincipalNeighbour,
}
"""Classifiers by name."""


def make_classifier(classifier: object) -> Any:
    """Unfitted classifier, by name or as a clone of a given one.

    Parameters
    ----------
    classifier : {"1nn", "svm", "logistic", "pca-1nn"} or estimator
        The parameter of the method.

    Returns
    -------
    estimator
        Not fitted.
    """
    return CLASSIFIERS[classifier]() if isinstance(classifier, str) else clone(classifier)
