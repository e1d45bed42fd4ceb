"""Grid search on the target labels: an upper bound, not a method."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid


class OracleSearch:
    """Grid search by the accuracy on hidden target labels.

    Not available in practice: an upper bound of what model selection can gain.

    Parameters
    ----------
    estimator : estimator
        Not fitted.
    param_grid : dict
        Values to try.
    hidden : tuple of X, y
        Target rows and their true labels; None if it is never fitted.
    """

    _revision: ClassVar[int] = 1

    best_estimator_: Any
    best_params_: dict[str, Any]

    def __init__(
        self, estimator: Any, param_grid: dict[str, list], hidden: tuple[Any, np.ndarray] | None
    ) -> None:
        self.estimator, self.param_grid, self.hidden = estimator, param_grid, hidden

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters: the estimator and the grid.

        Parameters
        ----------
        deep : bool, default=True
            Ignored; for compatibility with scikit-learn.

        Returns
        -------
        dict
            The estimator and the grid; the hidden rows are data.
        """
        return {"estimator": self.estimator, "param_grid": self.param_grid}

    def fit(self, *given: Any) -> OracleSearch:
        """Fit all settings, and keep the best.

        Parameters
        ----------
        *given : X, y, Xt, yt
            What the estimator's `fit` takes.

        Returns
        -------
        self
            Fitted.
        """
        if self.hidden is None:
            raise ValueError("A fit needs the hidden target labels, but hidden is None: pass them.")
        best = -1.0
        for parameters in ParameterGrid(self.param_grid):
            fitted = clone(self.estimator).set_params(**parameters).fit(*given)
            score = fitted.score(*self.hidden)
            if score > best:
                best, self.best_estimator_, self.best_params_ = score, fitted, parameters
        return self

    def score(self, X, y) -> float:
        """Accuracy of the best setting.

        Parameters
        ----------
        X, y : array
            Rows and labels.

        Returns
        -------
        float
            Accuracy.
        """
        return self.best_estimator_.score(X, y)
