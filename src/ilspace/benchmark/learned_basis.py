"""Subspace methods on the source subspace that ILS learned."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import clone

from ilspace.estimators import ILSTransformer, ObjectiveSettings


class LearnedBasis:
    """A subspace method whose source basis is the source projection of an ILS fit.

    The benchmark's experiment ``subspaces`` compares that basis with principal axes for GFK and SA.

    Parameters
    ----------
    method : estimator
        A ``GFK`` or ``SubspaceAlignment``, not fitted, of any `source_basis`; ILS has the same
        number of components.
    """

    _revision: ClassVar[int] = 1

    def __init__(self, method: Any) -> None:
        self.method = method

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters: the two estimators.

        Parameters
        ----------
        deep : bool, default=True
            Ignored; for compatibility with scikit-learn.

        Returns
        -------
        dict
            Estimator of the basis, and the method.
        """
        basis = ILSTransformer(self.method.n_components, objective=ObjectiveSettings())
        return {"basis": basis, "method": self.method}

    def fit(self, X, y, Xt, yt=None) -> LearnedBasis:
        """Learn the basis, then the method on it.

        Parameters
        ----------
        X, y, Xt, yt : array-like
            As for all estimators.

        Returns
        -------
        self
            Fitted.
        """
        ils = self.get_params()["basis"].fit(X, y, Xt, yt)
        method: Any = clone(self.method).set_params(source_basis=ils.source_projection_)
        self.solution_ = ils.solution_
        self._method = method.fit(X, y, Xt, yt)
        return self

    def score(self, X, y) -> float:
        """Accuracy on target rows.

        Parameters
        ----------
        X, y : array-like
            Target rows and their labels.

        Returns
        -------
        float
            Fraction of rows classified correctly.
        """
        return self._method.score(X, y)
