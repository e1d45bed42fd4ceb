"""Preprocessings by name: a dash-separated chain of steps, applied to one domain at a time."""

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import normalize


def hellinger(X: np.ndarray, /) -> np.ndarray:
    """Take the square root of the proportions of each row, the Hellinger map.

    Rows of counts are divided by their sums first, so that Euclidean distance after the map
    is the Hellinger distance of the two distributions (up to a constant). The result is the
    same whether or not the rows were normalised before.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Counts or proportions, none of them negative.

    Returns
    -------
    roots : array of shape (n_samples, n_features)
        Rows of length 1; rows of zeros stay zero.

    Raises
    ------
    ValueError
        When an entry is negative.
    """
    if X.min(initial=0.0) < 0:
        raise ValueError(
            f"The step sqrt needs counts or proportions >= 0, got {X.min():g}: "
            "leave sqrt out, or put it before zscore"
        )
    return np.sqrt(normalize(X, norm="l1"))


def zscore(X: np.ndarray, /, fitted_on: np.ndarray | None = None) -> np.ndarray:
    """Centre each column and divide it by its population standard deviation.

    A column that is constant up to rounding becomes zero.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The whole domain: the result depends on all rows.
    fitted_on : array of shape (n_others, n_features), optional
        Rows whose means and deviations are used instead.

    Returns
    -------
    scores : array of shape (n_samples, n_features)
        Columns of mean 0 and variance 1, or 0 throughout.
    """
    rows = X if fitted_on is None else fitted_on
    mean, std = rows.mean(axis=0), rows.std(axis=0)
    # The mean of n equal numbers is off by up to n rounding errors, and the std follows.
    varies = std > len(rows) * np.finfo(X.dtype).eps * np.abs(mean)
    return np.where(varies, (X - mean) / np.where(varies, std, 1.0), 0.0)


#: The primitive steps, by the name they have in a chain.
STEPS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "l1": partial(normalize, norm="l1"),
    "l2": normalize,
    "sqrt": hellinger,
    "zscore": zscore,
    "none": np.copy,
}

#: The chains that the benchmarks use.
PREPROCESSINGS = ("l1-zscore", "sqrt-zscore-l2", "l2", "l2-zscore-l2", "none")


def preprocess(
    X: npt.ArrayLike, name: str, *, fitted_on: npt.ArrayLike | None = None
) -> np.ndarray:
    """Apply a named preprocessing to the features of one domain.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        All rows of ONE domain; z-scores of two domains together would mean something else.
        Left untouched.
    name : str
        Steps separated by dashes, applied from left to right: ``l1`` (rows to sum 1), ``l2``
        (rows to length 1), ``sqrt`` (square root of the rows after ``l1``, the Hellinger map),
        ``zscore`` (columns to mean 0 and population variance 1; constant ones to 0), ``none``.
        `PREPROCESSINGS` lists the usual chains.
    fitted_on : array-like of shape (n_others, n_features), optional
        Rows whose means and deviations ``zscore`` uses, after the steps before it, for a domain of
        which nothing may be known; by default those of `X`.

    Returns
    -------
    features : ndarray of shape (n_samples, n_features)
        A new array; float32 when `X` is float32 or float16, else float64. The steps are
        computed in float64 in any case.

    Raises
    ------
    ValueError
        When a step is unknown, or `X` is not a 2-d array of at least one row of finite numbers.

    Examples
    --------
    >>> preprocess([[1, 3], [2, 2]], "l1")
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    >>> preprocess([[1, 3], [2, 2]], "l1-zscore")
    array([[-1.,  1.],
           [ 1., -1.]])
    """
    steps = name.split("-")
    unknown = [step for step in steps if step not in STEPS]
    if unknown:
        raise ValueError(
            f"A preprocessing is a chain, separated by dashes, of the steps {', '.join(STEPS)}; "
            f"got {name!r}, where {', '.join(map(repr, unknown))} is unknown"
        )
    features, others = _checked(X), None if fitted_on is None else _checked(fitted_on)
    for step in steps:
        if others is None or step != "zscore":
            features = STEPS[step](features)
        else:
            features = zscore(features, others)
        others = None if others is None else STEPS[step](others)
    single = np.asarray(X).dtype in (np.float32, np.float16)
    return features.astype(np.float32) if single else features


def _checked(X: npt.ArrayLike) -> np.ndarray:
    """Rows in double precision, a copy."""
    given = np.asarray(X)
    if given.ndim != 2 or len(given) == 0:
        raise ValueError(f"X must be a 2-d array of at least one row, got shape {given.shape}")
    features = given.astype(np.float64)
    if not np.isfinite(features).all():
        raise ValueError(
            f"X must hold finite numbers, got {np.count_nonzero(~np.isfinite(features))} entries "
            "that are NaN or infinite: drop or impute them first"
        )
    return features
