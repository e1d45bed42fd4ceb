"""What a fit of several classifiers to two tables gives, and what they say together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ilspace.rules.class_prior import ClassPriorEstimate
from ilspace.tables.encoding import Entries, TableEncoder
from ilspace.tables.members import Asked, probabilities

ADAPTED, UNADAPTED = "adapted", "unadapted"
"""The two labels of a row, and the columns of the predictions that hold them."""


class Views(NamedTuple):
    """Two tables as numbers, in the two ways in which they are scaled.

    Attributes
    ----------
    source : dict of str to ndarray of shape (n, n_encoded)
        Source rows, by scaling.
    target : dict of str to ndarray of shape (nt, n_encoded)
        Target rows, by scaling; as the source is scaled only where the tables share their columns.
    """

    source: dict[str, np.ndarray]
    target: dict[str, np.ndarray]


class Learned(NamedTuple):
    """What one fit of the members gives.

    Attributes
    ----------
    members : tuple of Asked
        Fitted.
    prior : ndarray of shape (n_classes,)
        Shares of the classes that were assumed.
    estimate : ClassPriorEstimate or None
        How they were estimated, if they were.
    own_encoder : TableEncoder
        Of the source, with moments weighed by these shares.
    views : Views
        Both tables as numbers.
    source_weights : ndarray of shape (n_sources,)
        Weights of the sources, of sum 1.
    """

    members: tuple[Asked, ...]
    prior: np.ndarray
    estimate: ClassPriorEstimate | None
    own_encoder: TableEncoder
    views: Views
    source_weights: np.ndarray


def target_views(
    entries: Entries, own: TableEncoder, shared: TableEncoder | None
) -> dict[str, np.ndarray]:
    """Scale target rows in each way.

    Parameters
    ----------
    entries : Entries
        The rows, as the encoder of the target reads them.
    own : TableEncoder
        Of the target.
    shared : TableEncoder or None
        Of the source, where the tables share their columns.

    Returns
    -------
    dict of str to ndarray of shape (nt, n_encoded)
        By scaling.
    """
    views = {"own": own.scale_entries(entries)}
    if shared is not None:
        views["source"] = shared.scale_entries(entries)
    return views


def ask_members(
    members: tuple[Asked, ...],
    prior: np.ndarray,
    views: dict[str, np.ndarray],
    domain: str = "target",
) -> np.ndarray:
    """Ask each member about rows.

    Parameters
    ----------
    members : tuple of Asked
        Fitted.
    prior : ndarray of shape (n_classes,)
        Shares of the classes in the target.
    views : dict of str to ndarray of shape (n, n_encoded)
        The rows, by scaling.
    domain : {"target", "source"}, default="target"
        Whose rows they are.

    Returns
    -------
    ndarray of shape (n_members, n, n_classes)
        Probabilities; 0 for classes of share 0.
    """
    found = [probabilities(each.estimator, views[each.scaling], domain) for each in members]
    return with_shares(np.stack(found), prior)


def with_shares(found: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Give classes of share 0, which a method may not know of, the probability 0.

    Parameters
    ----------
    found : ndarray of shape (..., n_classes)
        Probabilities.
    prior : ndarray of shape (n_classes,)
        Shares of the classes in the target.

    Returns
    -------
    ndarray of shape (..., n_classes)
        Of sum 1 along the last axis.
    """
    if (prior > 0).all():
        return found
    found = np.where(prior > 0, found, 0.0)
    total = found.sum(axis=-1, keepdims=True)
    return np.where(total > 0, found / np.where(total > 0, total, 1.0), prior)
