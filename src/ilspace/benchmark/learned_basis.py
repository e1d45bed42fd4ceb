"""Subspace methods on the source subspace that ILS learned."""

from __future__ import annotations

from typing import Any

from ilspace.adapters import ILSTransformer


class LearnedBasis:
    """A subspace method whose source basis is the source projection of an ILS fit.

    The benchmark's experiment ``subspaces`` asks whether that basis serves GFK and SA better than
    principal axes do.

    Parameters
    ----------
    kind : type
        ``GFK`` or ``SubspaceAlignment``.
    parameters : dict
        Its parameters but the basis; ILS has the same number of components.
    """

    def __init__(self, kind: type, parameters: dict[str, Any]) -> None:
        self.kind, self.parameters = kind, parameters

    def get_params(self) -> dict[str, Any]:
        """Parameters of the method.

        Returns
        -------
        dict
            But the basis.
        """
        return self.parameters

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
        ils = ILSTransformer(self.parameters.get("n_components")).fit(X, y, Xt, yt)
        method = self.kind(**self.parameters, source_basis=ils.source_projection_)
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
            Share of rows that are given their class.
        """
        return self._method.score(X, y)
