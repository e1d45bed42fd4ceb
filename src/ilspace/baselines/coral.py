"""Correlation alignment: give the source the covariance of the target."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.covariance import ledoit_wolf_shrinkage

from ilspace.backend import from_spectrum
from ilspace.baselines._base import LatentBaseline, mean_length
from ilspace.baselines._classifiers import linear_svm
from ilspace.domains import Domain


def covariance_axes(
    offsets: np.ndarray, shrinkage: float | str, regularization: float
) -> tuple[np.ndarray, np.ndarray, float]:
    r"""Eigenvalues of a regularised covariance, as a low rank plus a multiple of the identity.

    .. math:: V\operatorname{diag}(\lambda)V^\top + cI = (1-s)C
        + \Bigl(s\frac{\operatorname{tr}C}d + r\Bigr)I

    Parameters
    ----------
    offsets : ndarray of shape (n, d)
        Centred rows; C is their covariance, divided by n.
    shrinkage : float or "auto"
        Shrinkage intensity s toward (tr C/d) I; "auto" is Ledoit and Wolf's, and shrinks the
        correlations instead: columns are standardised before, and rescaled after.
    regularization : float
        The multiple r of the identity.

    Returns
    -------
    values : ndarray of shape (k,)
        Eigenvalues, without c.
    vectors : ndarray of shape (d, k)
        Orthonormal columns V, at most d.
    floor : float
        The multiple c of the identity, which is the eigenvalue everywhere else.
    """
    n, d = offsets.shape
    if isinstance(shrinkage, str):
        values, vectors = np.linalg.eigh(_shrunk_correlations(offsets))
        return values, vectors, regularization
    factor = offsets * np.sqrt((1 - shrinkage) / n)
    floor = shrinkage * float(np.mean(offsets**2)) + regularization
    if d <= n:
        values, vectors = np.linalg.eigh(factor.T @ factor)
        return values, vectors, floor
    values, left = np.linalg.eigh(factor @ factor.T)
    some = values > _negligible(values, d)
    return values[some], (factor.T @ left[:, some]) / np.sqrt(values[some]), floor


def _shrunk_correlations(offsets: np.ndarray) -> np.ndarray:
    deviations = np.sqrt(np.mean(offsets**2, axis=0))
    deviations[deviations == 0] = 1.0
    standard = offsets / deviations
    share = ledoit_wolf_shrinkage(standard, assume_centered=True)
    correlations = (1 - share) * (standard.T @ standard) / len(offsets)
    correlations.flat[:: len(deviations) + 1] += share * np.mean(standard**2)
    return deviations[:, None] * correlations * deviations


def _negligible(values: np.ndarray, d: int) -> float:
    """Threshold below which eigenvalues are rounding errors."""
    return d * np.finfo(float).eps * values.max(initial=0.0)


def symmetric_power(
    values: np.ndarray, vectors: np.ndarray, floor: float, exponent: float, /
) -> np.ndarray:
    """Power of a positive semi-definite matrix, given as :func:`covariance_axes` returns it.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Eigenvalues, without the floor.
    vectors : ndarray of shape (d, k)
        Their eigenvectors.
    floor : float
        Multiple of the identity.
    exponent : float
        The power; directions without variance get 0, as in a pseudo-inverse.

    Returns
    -------
    ndarray of shape (d, d)
        Symmetric.
    """
    d = len(vectors)
    values = values + floor
    some = values > _negligible(values, d)
    elsewhere = floor**exponent if floor > 0 else 0.0
    powers = np.where(some, np.where(some, values, 1.0) ** exponent, 0.0)
    result = from_spectrum(powers - elsewhere, vectors)
    result.flat[:: d + 1] += elsewhere
    return result


class CORAL(LatentBaseline):
    r"""Correlation alignment, CORAL :cite:p:`sun2016`.

    .. math:: \min_A\|A^\top C_sA - C_t\|_F^2, \qquad A = C_s^{-1/2}C_t^{1/2}

    with the regularised covariances :math:`C_s, C_t` of the domains,

    .. math:: (1-s)C + \Bigl(s\frac{\operatorname{tr}C}d + r\Bigr)I .

    Source rows, from their mean, are whitened and coloured, :math:`x^\top A`; target rows, from
    theirs, stay as they are.

    Use it where the domains share their columns and the target has no labels: it keeps all d
    columns, suits linear classifiers, and has no dimension to choose. Costs two eigenproblems of
    the smaller of rows and columns, then time and memory for :math:`d \times d`; with
    ``shrinkage="auto"`` always :math:`O(d^3)`.

    Parameters
    ----------
    shrinkage : float or "auto", default=0.5
        Shrinkage intensity s toward (tr C/d) I, between 0 and 1. For columns of unit variance, 0.5
        is the same map as the identity added to both covariances, which is what the authors do.
        "auto" is Ledoit and Wolf's choice, on standardised columns.
    regularization : float, default=0.0
        The multiple r of the identity, in the squared units of the columns. The authors'
        covariances are those of ``shrinkage=0.0, regularization=1.0``.
    C : float, default=0.3
        Penalty of ``classifier="svm"`` for rows of mean squared length 1: it is divided by the
        total variance of the target, so that the unit of the columns does not matter.
    classifier : {"1nn", "svm"} or estimator, default="svm"
        Trained on all labelled rows: one nearest neighbour, linear one-vs-rest support vector
        machines, or any scikit-learn classifier.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    source_mean_, target_mean_ : ndarray of shape (n_features,)
        Means of the domains.
    alignment_ : ndarray of shape (n_features, n_features)
        The map A.
    classifier_ : estimator
        The fitted classifier; its classes are positions in `classes_`.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import CORAL
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None]
    >>> CORAL().fit(X, y, 7 * X + 3).score(7 * X + 3, y)
    1.0
    """

    def __init__(self, shrinkage=0.5, *, regularization=0.0, C=0.3, classifier="svm"):
        self.shrinkage = shrinkage
        self.regularization = regularization
        self.C = C
        self.classifier = classifier

    def _adapt(self, source: Domain, target: Domain) -> None:
        offsets, target_offsets = self._center(source, target)
        given = covariance_axes(offsets, self.shrinkage, self.regularization)
        wanted = covariance_axes(target_offsets, self.shrinkage, self.regularization)
        self.alignment_ = symmetric_power(*given, -0.5) @ symmetric_power(*wanted, 0.5)
        self._n_features_out = target.X.shape[1]
        self._source_map, self._target_map = self.alignment_, np.eye(self._n_features_out)
        self._length = mean_length(target_offsets)

    def _make_classifier(self) -> Any:
        if self.classifier != "svm":
            return super()._make_classifier()
        # equivalent to a support vector machine on rows divided by their length
        return linear_svm().set_params(C=self.C / self._length**2, intercept_scaling=self._length)
