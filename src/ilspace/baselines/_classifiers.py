"""Classifiers that the baselines train in the latent space."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
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


CLASSIFIERS = {"1nn": nearest_neighbour, "svm": linear_svm}
"""Classifiers by name."""


def make_classifier(classifier: object) -> Any:
    """Unfitted classifier, by name or as a clone of a given one.

    Parameters
    ----------
    classifier : {"1nn", "svm"} or estimator
        The parameter of the method.

    Returns
    -------
    estimator
        Not fitted.
    """
    return CLASSIFIERS[classifier]() if isinstance(classifier, str) else clone(classifier)
