"""What would be said without adaptation, by a rule that fits into a few numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

FEWEST_ROWS = 20
"""Target rows that it takes to see that a rule says the same of all."""

_NEARLY_ALL = 0.95
"""Share of the rows that a rule which sees nothing puts into one class."""

_MORE_THAN_USUAL = 0.2
"""How much more than the share of that class among the source labels."""


@dataclass(frozen=True)
class NearestMean:
    """Gives a row the class whose mean is nearest, as if there were one domain.

    Where the classes are not as frequent in both tables, adaptation moves rows from one class to
    another, and is sure of it; this rule does not, so that their agreement is worth more than
    either.

    Attributes
    ----------
    codes : ndarray of int, shape (k,)
        Classes that had rows.
    means : ndarray of shape (k, n_encoded)
        Their means.
    """

    codes: np.ndarray
    means: np.ndarray

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Classes of rows.

        Parameters
        ----------
        rows : ndarray of shape (n, n_encoded)
            Encoded as those that it was learned from.

        Returns
        -------
        ndarray of int, shape (n,)
            The code of the nearest mean.
        """
        scores = rows @ self.means.T - np.sum(self.means**2, axis=1) / 2
        return self.codes[np.argmax(scores, axis=1)]


def nearest_mean(rows: np.ndarray, codes: np.ndarray) -> NearestMean:
    """Learn the means of the classes.

    Parameters
    ----------
    rows : ndarray of shape (n, n_encoded)
        Labelled rows.
    codes : ndarray of int, shape (n,)
        Their classes.

    Returns
    -------
    NearestMean
        Of the classes that there are.
    """
    order = np.argsort(codes, kind="stable")
    present, starts, counts = np.unique(codes[order], return_index=True, return_counts=True)
    return NearestMean(present, np.add.reduceat(rows[order], starts) / counts[:, None])


def is_blind(said: np.ndarray, source_codes: np.ndarray) -> bool:
    """Tell whether a rule says the same of nearly all target rows, so that it checks nothing.

    So it is where the tables are in other units: all rows lie on one side of the source.

    Parameters
    ----------
    said : ndarray of int, shape (nt,)
        What the rule says of the target rows.
    source_codes : ndarray of int, shape (n,)
        Classes of the source rows.

    Returns
    -------
    bool
        False for few target rows, and where that class has nearly all of the source too.
    """
    if len(said) < FEWEST_ROWS:
        return False
    counts = np.bincount(said)
    share, usual = counts.max() / len(said), np.mean(source_codes == counts.argmax())
    return bool(share > _NEARLY_ALL and share > usual + _MORE_THAN_USUAL)


class NearestMeanClassifier(ClassifierMixin, BaseEstimator):
    """The rule as an estimator, to be compared with others."""

    def fit(self, X, y):
        """Learn the means of the classes.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Rows.
        y : ndarray of shape (n,)
            Their labels.

        Returns
        -------
        self
            Fitted.
        """
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.rule_ = nearest_mean(X, codes)
        return self

    def predict(self, X):
        """Class of each row.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        return self.classes_[self.rule_(X)]
