"""How much likelier a source row would be as a target row."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

_FOLDS = 5


def density_ratio(source, target, *, at=None, classifier=None, seed: int = 0) -> np.ndarray:
    r"""Estimate the ratio of target density to source density at source rows.

    A classifier learns to tell the domains apart; its odds, corrected for the sizes of the
    domains, are the ratio :cite:p:`sugiyama2007`. Weights above :math:`\sqrt n` times their mean
    are cut there :cite:p:`ionides2008`.

    Parameters
    ----------
    source, target : array or sparse matrix of shape (n, d) and (nt, d)
        Rows of both domains, in one space.
    at : array or sparse matrix of shape (m, d), optional
        Source rows whose ratio is wanted. By default those of `source`, each by a classifier that
        has not seen it.
    classifier : classifier with predict_proba, optional
        Tells the domains apart. By default logistic regression of standardised columns whose
        log-odds have variance 1 a priori, however many columns there are: few rows in many columns
        can always be told apart, and the odds would mean nothing.
    seed : int, default=0
        Draws the folds of the default for `at`.

    Returns
    -------
    ndarray of shape (m,) or (n,)
        Not negative, and not normalised.
    """
    if classifier is None:
        scaler = StandardScaler(with_mean=not sparse.issparse(source))
        classifier = make_pipeline(scaler, LogisticRegression(C=1 / source.shape[1], max_iter=1000))
    n, nt = source.shape[0], target.shape[0]
    is_target = np.repeat([0, 1], [n, nt])
    both = sparse.vstack([source, target]).tocsr() if sparse.issparse(source) else None
    both = np.concatenate([source, target]) if both is None else both
    if at is not None:
        return _truncated(_ratio(clone(classifier).fit(both, is_target), at, n / nt))
    if min(n, nt) < 2:
        raise ValueError(f"Each domain must have at least 2 rows, but they have {n} and {nt}.")
    folds = StratifiedKFold(min(_FOLDS, n, nt), shuffle=True, random_state=seed)
    ratios = np.empty(n)
    for train, rest in folds.split(both, is_target):
        rest = rest[rest < n]
        fitted = clone(classifier).fit(both[train], is_target[train])
        n_train = int(np.sum(train < n))
        ratios[rest] = _ratio(fitted, both[rest], n_train / (len(train) - n_train))
    return _truncated(ratios)


def _ratio(classifier: Any, rows, odds_of_sizes: float) -> np.ndarray:
    of_target = classifier.predict_proba(rows)[:, 1]
    # a row that is surely of the target gets a large ratio, not an infinite one
    of_source = np.maximum(1 - of_target, np.finfo(float).eps)
    return odds_of_sizes * of_target / of_source


def _truncated(ratios: np.ndarray) -> np.ndarray:
    return np.minimum(ratios, np.sqrt(len(ratios)) * ratios.mean())
