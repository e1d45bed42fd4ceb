"""Delegate the methods of a fitted search to its best estimator."""

from __future__ import annotations

from typing import Any

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ilspace.domains import check_domain
from ilspace.selection._domains import as_rows, classes_of

_WHERE = {"sample_domain": True, "allow_source": True}


def _best_has(method: str):
    """Check that the estimator, chosen or not yet, has a method."""

    def check(self) -> bool:
        getattr(getattr(self, "best_estimator_", self.estimator), method)
        return True

    return check


class DelegatingSearch:
    """Base of a search that delegates to its `best_estimator_` once it is fitted."""

    __metadata_request__predict = _WHERE
    __metadata_request__predict_proba = _WHERE
    __metadata_request__transform = _WHERE
    __metadata_request__score = _WHERE

    estimator: Any
    best_estimator_: Any
    fit: Any

    @property
    def classes_(self):
        """Classes of the chosen estimator."""
        return classes_of(self.best_estimator_)

    @property
    def n_features_in_(self):
        """Number of columns of the source."""
        return self.best_estimator_.n_features_in_

    @property
    def feature_names_in_(self):
        """Names of the columns of the source."""
        return self.best_estimator_.feature_names_in_

    def _delegate(self, method: str, given: tuple, domain, sample_domain, allow_source) -> Any:
        check_is_fitted(self)
        check_domain(domain)
        if domain == "source" and sample_domain is None:
            sample_domain, allow_source = 1, True
        ask = getattr(self.best_estimator_, method)
        if sample_domain is None:
            return ask(*given)
        X, *labels = given
        return ask(as_rows(X), *labels, sample_domain=sample_domain, allow_source=allow_source)

    @available_if(_best_has("predict"))
    def predict(self, X, domain="target", *, sample_domain=None, allow_source=False):
        """Class of each row, by the chosen estimator.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of one domain, seen at fit or not.
        domain : {"target", "source"}, default="target"
            Which one.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows, negative for target rows.
        allow_source : bool, default=False
            Whether SKADA's pipelines may be given source rows; others always may.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        return self._delegate("predict", (X,), domain, sample_domain, allow_source)

    @available_if(_best_has("predict_proba"))
    def predict_proba(self, X, domain="target", *, sample_domain=None, allow_source=False):
        """Class probabilities, by the chosen estimator.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of one domain, seen at fit or not.
        domain : {"target", "source"}, default="target"
            Which one.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows, negative for target rows.
        allow_source : bool, default=False
            Whether SKADA's pipelines may be given source rows; others always may.

        Returns
        -------
        array of shape (n, n_classes)
            Rows sum to 1.
        """
        return self._delegate("predict_proba", (X,), domain, sample_domain, allow_source)

    @available_if(_best_has("transform"))
    def transform(self, X, domain="target", *, sample_domain=None, allow_source=False):
        """Map rows to the latent space of the chosen estimator.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of one domain, seen at fit or not.
        domain : {"target", "source"}, default="target"
            Which one.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows, negative for target rows.
        allow_source : bool, default=False
            Whether SKADA's pipelines may be given source rows; others always may.

        Returns
        -------
        array of shape (n, n_components)
            The rows in the latent space.
        """
        return self._delegate("transform", (X,), domain, sample_domain, allow_source)

    @available_if(_best_has("transform"))
    def fit_transform(self, X, y=None, Xt=None, yt=None, *, sample_domain=None):
        """Fit, then map the rows of X to the latent space of the chosen estimator.

        Parameters
        ----------
        X, y, Xt, yt : array-like
            As for :meth:`fit`.
        sample_domain : array-like of shape (n,), optional
            As for :meth:`fit`.

        Returns
        -------
        array of shape (n, n_components)
            The rows of X: source rows, unless `sample_domain` says otherwise.
        """
        self.fit(X, y, Xt, yt, sample_domain=sample_domain)
        return self.transform(X, "source", sample_domain=sample_domain, allow_source=True)

    @available_if(_best_has("score"))
    def score(
        self,
        X,
        y,
        sample_weight=None,
        *,
        domain: str | float = "target",
        sample_domain=None,
        allow_source=False,
    ):
        """Accuracy of the chosen estimator.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of one domain.
        y : array-like of shape (n,)
            Their true labels.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        domain : {"target", "source"}, default="target"
            Which one.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows, negative for target rows.
        allow_source : bool, default=False
            Whether SKADA's pipelines may be given source rows; others always may.

        Returns
        -------
        float
            Fraction of rows classified correctly.
        """
        given = (X, y) if sample_weight is None else (X, y, sample_weight)
        return self._delegate("score", given, domain, sample_domain, allow_source)
