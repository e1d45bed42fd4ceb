"""The constant answer: what class shares alone are worth."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class ConstantAnswer(ClassifierMixin, BaseEstimator):
    """Answer every row with the most frequent class.

    Parameters
    ----------
    class_prior : dict, default=None
        Share of each class; those of the source by default. Given those of the test rows, it is
        the best constant answer, and its log-loss that of the shares alone.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes of the source.
    shares_ : ndarray of shape (n_classes,)
        Their shares.
    """

    _revision: ClassVar[int] = 1

    def __init__(self, class_prior=None):
        self.class_prior = class_prior

    def fit(self, X, y, Xt=None, yt=None):
        """Take the shares.

        Parameters
        ----------
        X : table
            Ignored.
        y : array-like of shape (n,)
            Labels of the source.
        Xt, yt : table, array-like
            Ignored.

        Returns
        -------
        self
            Fitted.
        """
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / counts.sum()
        if self.class_prior is not None:
            self.shares_ = np.array([self.class_prior.get(each, 0.0) for each in self.classes_])
        return self

    def predict_proba(self, X):
        """Shares of the classes, for each row.

        Parameters
        ----------
        X : table of n rows
            Only their number counts.

        Returns
        -------
        ndarray of shape (n, n_classes)
            The same in each row.
        """
        return np.tile(self.shares_, (len(X), 1))

    def predict(self, X):
        """The most frequent class, for each row.

        Parameters
        ----------
        X : table of n rows
            Only their number counts.

        Returns
        -------
        ndarray of shape (n,)
            The first of the most frequent.
        """
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
