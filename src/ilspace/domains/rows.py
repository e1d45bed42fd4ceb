"""Checks of the rows of one domain, before and after fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from ilspace._typing import Array
from ilspace.backend import array_namespace, is_foreign

FLOATS = (np.float64, np.float32)
"""Floating types that are kept; others are converted to the first."""


@contextmanager
def quiet_checks(X: Any, name: str) -> Iterator[None]:
    """Refuse rows with masked entries, and let others be checked without a warning of infinity.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows, before they become an array: that would lose the mask.
    name : str
        What to call them.

    Yields
    ------
    None
        While scikit-learn checks them; it refuses infinity, but adds it up first.
    """
    if np.ma.is_masked(X):
        raise ValueError(
            f"{name} must not have masked entries, but has {int(np.ma.count_masked(X))}: fill "
            "them, for instance with sklearn.impute.SimpleImputer, or drop such rows."
        )
    with np.errstate(invalid="ignore", over="ignore"):
        yield


def check_foreign(X: Array, name: str, at_least: int = 1) -> None:
    """Check an array on its device: scikit-learn would copy it to the host first.

    Parameters
    ----------
    X : array of another library than NumPy, of shape (n, d)
        The rows.
    name : str
        Their name in messages.
    at_least : int, default=1
        Minimum number of rows.
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
        Their name in messages.
    at_least : int
        Minimum number of rows.
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
        Their name in messages.
    """
    values = X.data if sparse.issparse(X) else X
    xp = array_namespace(values)
    if not bool(xp.all(xp.isfinite(values))):
        raise ValueError(
            f"{name} must be finite, but contains NaN or infinity: impute or drop such rows."
        )


def check_magnitude(X, name: str, *, fitting: bool = True) -> None:
    """Refuse rows whose distances to the fourth power would overflow or underflow.

    Parameters
    ----------
    X : array or sparse matrix
        The rows.
    name : str
        Their name in messages.
    fitting : bool, default=True
        Whether they are fitted; rows passed after fit may be small.
    """
    values = X.data if sparse.issparse(X) else X
    if 0 in values.shape:
        return
    xp = array_namespace(values)
    # NumPy arrays are converted to double precision, those of other libraries keep their dtype
    limits = xp.finfo(values.dtype if is_foreign(values) else np.float64)
    largest = max(float(xp.max(values)), -float(xp.min(values)))
    lowest, highest = float(limits.smallest_normal) ** 0.2, float(limits.max) ** 0.2
    if largest > highest or (fitting and 0 < largest < lowest):
        raise ValueError(
            f"The largest magnitude in {name} must lie between {lowest:.0e} and {highest:.0e}, "
            f"where squared distances can be computed, but is {largest:.3g}: scale the columns, "
            "for instance with sklearn.preprocessing.StandardScaler."
        )
