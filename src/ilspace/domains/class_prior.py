"""Class shares of the target as an input, and the weights of source rows that they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ilspace.backend import on_host

_TOLERANCE = 0.01
"""How far from 1 the sum of given shares may be."""


def check_class_prior(given: Any, classes: np.ndarray) -> np.ndarray:
    """Check class shares that a user gave.

    Parameters
    ----------
    given : array-like of shape (n_classes,), mapping or Series
        Shares in the order of the classes; or by class, of a mapping or of a pandas Series.
    classes : ndarray of shape (n_classes,)
        The classes.

    Returns
    -------
    ndarray of shape (n_classes,)
        The shares, normalised to the sum 1.
    """
    names = classes.tolist()
    if isinstance(given, Mapping) or hasattr(given, "to_dict"):
        by_class = dict(given if isinstance(given, Mapping) else given.to_dict())
        unknown = [name for name in by_class if name not in names]
        missing = [name for name in names if name not in by_class]
        if unknown or missing:
            raise ValueError(
                "class_prior must have a share for each of the classes "
                f"{names[:10]}, but {_listed('has unknown ones', unknown)}"
                f"{' and ' if unknown and missing else ''}{_listed('lacks', missing)}."
            )
        given = [by_class[name] for name in names]
    try:
        shares = np.asarray(on_host(given), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"class_prior must hold numbers, but is {given!r:.200}.") from None
    if shares.shape != (len(names),):
        raise ValueError(
            f"class_prior must hold one share for each of the {len(names)} classes {names[:10]}, "
            f"in this order, but has shape {shares.shape}."
        )
    if not np.isfinite(shares).all() or (shares < 0).any():
        raise ValueError(
            f"class_prior must hold shares between 0 and 1, but holds {shares.tolist()[:10]}."
        )
    total = float(shares.sum())
    if abs(total - 1) > _TOLERANCE:
        raise ValueError(
            f"The shares of class_prior must sum to 1, up to 1 %, but sum to {total:.6g}: divide "
            "them by their sum."
        )
    check_several_classes(shares)
    return shares / total


def check_several_classes(shares: np.ndarray) -> None:
    """Refuse shares of fewer than two classes.

    Parameters
    ----------
    shares : ndarray of shape (n_classes,)
        Shares of the classes.
    """
    if np.sum(shares > 0) < 2:
        raise ValueError(
            "At least 2 classes with source rows must have a positive share in class_prior, but "
            f"{np.sum(shares > 0)} has: there is nothing to tell apart."
        )


def class_factors(shares: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Factors of row weights that give classes their shares, and keep the total weight.

    Parameters
    ----------
    shares : ndarray of shape (n_classes,)
        Shares q of the classes.
    masses : ndarray of shape (n_classes,)
        Total weight of the rows of each class, proportional to their shares p.

    Returns
    -------
    ndarray of shape (n_classes,)
        q / p; 1 for a class without rows, whose share the others then have.
    """
    has = masses > 0
    factors = np.ones(len(shares))
    factors[has] = shares[has] / shares[has].sum() * masses.sum() / masses[has]
    return factors


def refuse_labels_of_no_share(counts: np.ndarray, shares: np.ndarray, classes: np.ndarray) -> None:
    """Refuse target labels of classes that the target has no rows of.

    Parameters
    ----------
    counts : ndarray of int, shape (n_classes,)
        Labelled target rows of each class.
    shares : ndarray of shape (n_classes,)
        The shares that the target is said to have.
    classes : ndarray of shape (n_classes,)
        The classes.
    """
    wrong = np.flatnonzero((shares == 0) & (counts > 0))
    if len(wrong):
        name = classes.tolist()[wrong[0]]
        raise ValueError(
            f"A class of share 0 has no rows in the target, but {name!r} has share 0 "
            f"in class_prior and yt labels {counts[wrong[0]]} rows so: give it a share, or leave "
            "these rows out."
        )


def _listed(verb: str, names: list[Any]) -> str:
    return f"{verb} {names[:10]}" if names else ""
