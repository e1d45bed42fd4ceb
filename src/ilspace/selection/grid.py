"""Default parameter grids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sklearn.base import clone

from ilspace.ils import ObjectiveSettings

_COMPONENTS = (10, 20, 30, 50)
_METRIC_WEIGHTS = (5.0, 20.0, 80.0)


def default_grid(estimator: Any, *, shapes: Iterable[tuple[int, int]]) -> dict[str, list]:
    """Values to try for the parameters that matter most, at most twelve settings.

    Parameters
    ----------
    estimator : estimator
        One with a parameter `n_components` or `objective`, such as ILSClassifier.
    shapes : iterable of (int, int)
        Numbers of rows and columns of the domains, such as ``(X.shape, Xt.shape)``.

    Returns
    -------
    dict
        Values of each parameter. Dimensions are limited by both domains, so that a fit from the
        target to the source can have them too.
    """
    known = estimator.get_params()
    # n centred rows span n - 1 dimensions
    most = min(min(n_rows - 1, n_columns) for n_rows, n_columns in shapes)
    grid: dict[str, list] = {}
    if "n_components" in known:
        grid["n_components"] = sorted({max(1, min(each, most)) for each in _COMPONENTS})
    if "objective" in known:
        grid["objective__metric_weight"] = list(_METRIC_WEIGHTS)
    if not grid:
        raise ValueError(
            f"There is no grid for {type(estimator).__name__}, which has neither n_components nor "
            "objective: give param_grid."
        )
    return grid


def with_settings(estimator: Any) -> Any:
    """Clone with an explicit `objective`, for nested parameter names.

    Parameters
    ----------
    estimator : estimator
        Not fitted.

    Returns
    -------
    estimator
        A clone; an `objective` of None is replaced by the default settings.
    """
    copy = clone(estimator)
    if getattr(copy, "objective", "none") is None:
        copy.set_params(objective=ObjectiveSettings())
    return copy
