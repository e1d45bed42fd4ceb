"""No adaptation at all: reference classifiers."""

from __future__ import annotations

import numpy as np

from ilspace.baselines._base import LatentBaseline
from ilspace.domains import Domain


class _AsTheyAre(LatentBaseline):
    """Rows are represented by their own columns."""

    def _adapt(self, source: Domain, target: Domain) -> None:
        self._n_features_out = target.X.shape[1]

    def _latent(self, X, is_source: np.ndarray) -> np.ndarray:
        return X.toarray() if hasattr(X, "toarray") else X


class SourceOnly(_AsTheyAre):
    """Train on the labelled source rows, apply to the target as if nothing had changed.

    What every adaptation must beat. Needs domains of the same columns; target labels
    are not used. Training costs what the classifier costs; 1-NN stores the source rows.

    Parameters
    ----------
    classifier : {"1nn", "svm", "logistic", "pca-1nn"} or estimator, default="1nn"
        One nearest neighbour, linear one-vs-rest support vector machines with C = 1, logistic
        regression with C = 1, one nearest neighbour on the first 100 principal axes, or any
        scikit-learn classifier.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    classifier_ : estimator
        The fitted classifier; its classes are positions in `classes_`.

    See Also
    --------
    TargetOnly : Train on the labelled target rows alone.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import SourceOnly
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), [0, 0, 1, 1]
    >>> SourceOnly().fit(X, y, X + 0.5).predict([[0.2], [5.2]])
    array([0, 1])
    """

    def __init__(self, classifier="1nn"):
        self.classifier = classifier

    def _teachers(self, source: Domain, target: Domain):
        return ((source, True),)


class Pooled(_AsTheyAre):
    """Train on the labelled rows of both domains, as if they were one.

    What adaptation with target labels must beat where the columns are the same. Needs domains of
    the same columns; without target labels it is :class:`SourceOnly`. Training costs what the
    classifier costs; 1-NN stores all labelled rows.

    Parameters
    ----------
    classifier : {"1nn", "svm", "logistic", "pca-1nn"} or estimator, default="1nn"
        One nearest neighbour, linear one-vs-rest support vector machines with C = 1, logistic
        regression with C = 1, one nearest neighbour on the first 100 principal axes, or any
        scikit-learn classifier.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    classifier_ : estimator
        The fitted classifier; its classes are positions in `classes_`.

    See Also
    --------
    SourceOnly : Train on the labelled source rows alone.
    TargetOnly : Train on the labelled target rows alone.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import Pooled
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), [0, 0, 1, 1]
    >>> Pooled().fit(X, y, X + 6, [0, -1, -1, -1]).predict([[5.2], [5.8]])
    array([1, 0])
    """

    def __init__(self, classifier="1nn"):
        self.classifier = classifier


class TargetOnly(_AsTheyAre):
    """Train on the labelled target rows alone, as if there were no source.

    What adaptation with target labels must beat. Needs target labels, and no common columns.
    Training costs what the classifier costs; 1-NN stores the labelled target rows.

    Parameters
    ----------
    classifier : {"1nn", "svm", "logistic", "pca-1nn"} or estimator, default="1nn"
        One nearest neighbour, linear one-vs-rest support vector machines with C = 1, logistic
        regression with C = 1, one nearest neighbour on the first 100 principal axes, or any
        scikit-learn classifier.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes of the source.
    classifier_ : estimator
        The fitted classifier; its classes are positions in `classes_`.

    See Also
    --------
    SourceOnly : Train on the labelled source rows alone.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import TargetOnly
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), [0, 0, 1, 1]
    >>> TargetOnly().fit(X, y, -X, [0, -1, -1, 1]).predict([[-0.2], [-5.2]])
    array([0, 1])
    """

    _needs_target_labels = True
    _takes_different_columns = True

    def __init__(self, classifier="1nn"):
        self.classifier = classifier

    def _teachers(self, source: Domain, target: Domain):
        return ((target, False),)
