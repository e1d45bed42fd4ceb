"""Estimators that label rows of both domains."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from ilspace.adapters._base import DomainAdapter
from ilspace.adapters._labels import natural_labels
from ilspace.adapters.lazy import by_blocks
from ilspace.scale.dask_rows import is_dask


class DomainClassifier(ClassifierMixin, DomainAdapter):
    """Base of estimators that give rows of either domain a class.

    They set `classes_` and say in :meth:`_predict_codes` which of them a row belongs to.
    """

    __metadata_request__predict = {"sample_domain": True, "allow_source": True}
    __metadata_request__score = {"sample_domain": True, "allow_source": True}

    classes_: np.ndarray

    def _predict_codes(self, X, is_source: np.ndarray) -> np.ndarray:
        """Position in `classes_` of the class of each row."""
        raise NotImplementedError

    def predict(self, X, domain="target", *, sample_domain=None, allow_source=False):
        """Class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of one domain, seen at fit or not.
        domain : {"target", "source"}, default="target"
            Which one.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows, negative for target rows.
        allow_source : bool, default=False
            Accepted for pipelines that pass it; source rows are always allowed.

        Returns
        -------
        ndarray of shape (n,)
            Labels. Of a Dask collection a Dask array, of which nothing is computed yet.
        """
        if is_dask(X):
            check_is_fitted(self)
            return by_blocks(
                self,
                X,
                work=_labels_of,
                domain=domain,
                sample_domain=sample_domain,
                width=None,
                dtype=self.classes_.dtype,
            )
        rows = self._check_rows(X, domain, sample_domain, allow_source)
        return self.classes_[self._predict_codes(*rows)]

    def score(
        self, X, y, sample_weight=None, *, domain="target", sample_domain=None, allow_source=False
    ):
        """Share of rows that are given their true class.

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
            Accepted for pipelines that pass it; source rows are always allowed.

        Returns
        -------
        float
            Accuracy.
        """
        predicted = self.predict(X, domain, sample_domain=sample_domain, allow_source=allow_source)
        return accuracy_score(
            natural_labels(y, "row"), np.asarray(predicted), sample_weight=sample_weight
        )


def _labels_of(model: DomainClassifier, X, is_source: np.ndarray) -> np.ndarray:
    return model.classes_[model._predict_codes(X, is_source)]
