"""Refusals of rows and weights that no estimator can learn from."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight

from ilspace._typing import Array
from ilspace.backend import array_namespace, is_foreign


def check_weights(sample_weight, n_source: int, n_target: int) -> np.ndarray | None:
    """Weights of the source rows, followed by those of the target rows.

    Parameters
    ----------
    sample_weight : ndarray or None
        One weight for all rows, one a source row, or one a row of either domain.
    n_source, n_target : int
        Number of rows of each domain.

    Returns
    -------
    ndarray of shape (n_source + n_target,) or None
        Target rows weigh 1 where only source rows were given weights.
    """
    if sample_weight is None:
        return None
    if sample_weight.ndim == 0:
        sample_weight = np.full(n_source + n_target, sample_weight)
    n = len(sample_weight)
    if n not in (n_source, n_source + n_target):
        both = f", or one a source row and then one a target row ({n_source + n_target})"
        raise ValueError(
            f"sample_weight must have one entry a source row ({n_source})"
            f"{both if n_target else ''}, but has {n}."
        )
    weights = _check_sample_weight(
        sample_weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True
    )
    if len(weights) < n_source + n_target:
        weights = np.concatenate([weights, np.ones(n_target)])
    return weights


def check_foreign(X: Array, name: str, at_least: int = 1) -> None:
    """Check a tensor where it is: scikit-learn would copy it to the host first.

    Parameters
    ----------
    X : array of another library than NumPy, of shape (n, d)
        The rows.
    name : str
        What to call them.
    at_least : int, default=1
        How many are enough.
    """
    xp = array_namespace(X)
    if X.ndim != 2 or X.shape[1] < 1:
        raise ValueError(f"{name} must be 2-d with rows and columns, but has shape {X.shape}.")
    check_size(X, name, at_least)
    if not xp.isdtype(X.dtype, "real floating"):
        raise ValueError(f"{name} must be of a real floating type, but is {X.dtype}: convert it.")
    check_finite(X, name)


def check_size(X, name: str, at_least: int) -> None:
    """Refuse too few rows.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The rows.
    name : str
        What to call them.
    at_least : int
        How many are enough.
    """
    if X.shape[0] < at_least:
        raise ValueError(
            f"{name} must have at least {at_least} rows, but has {X.shape[0]} (shape "
            f"{tuple(X.shape)}): add rows."
        )


def check_finite(X, name: str) -> None:
    """Refuse NaN and infinity.

    Parameters
    ----------
    X : array or sparse matrix
        The rows.
    name : str
        What to call them.
    """
    values = X.data if sparse.issparse(X) else X
    xp = array_namespace(values)
    if not bool(xp.all(xp.isfinite(values))):
        raise ValueError(
            f"{name} must be finite, but contains NaN or infinity: impute or drop such rows."
        )


def check_magnitude(X, name: str, *, fitting: bool = True) -> None:
    """Refuse rows whose distances, squared and squared again, would overflow or vanish.

    Parameters
    ----------
    X : array or sparse matrix
        The rows.
    name : str
        What to call them.
    fitting : bool, default=True
        Whether they are to be learned from; rows that come later may be small.
    """
    values = X.data if sparse.issparse(X) else X
    if 0 in values.shape:
        return
    xp = array_namespace(values)
    # NumPy's rows are worked on in double precision, other libraries' in their own
    limits = xp.finfo(values.dtype if is_foreign(values) else np.float64)
    largest = max(float(xp.max(values)), -float(xp.min(values)))
    lowest, highest = float(limits.smallest_normal) ** 0.2, float(limits.max) ** 0.2
    if largest > highest or (fitting and 0 < largest < lowest):
        raise ValueError(
            f"The largest magnitude in {name} must lie between {lowest:.0e} and {highest:.0e}, "
            f"where squared distances can be computed, but is {largest:.3g}: scale the columns, "
            "for instance with sklearn.preprocessing.StandardScaler."
        )
