"""Density ratio of target and source, for importance weighting."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ilspace.selection._domains import stacked

_FOLDS = 5


def density_ratio(source, target, *, at=None, classifier=None, seed: int = 0) -> np.ndarray:
    r"""Estimate the ratio of target density to source density at source rows.

    A domain classifier is trained; its odds, corrected for the sizes of the domains, are the
    ratio :cite:p:`sugiyama2007`. Weights above :math:`\sqrt n` times their mean
    are truncated :cite:p:`ionides2008`.

    Parameters
    ----------
    source, target : array or sparse matrix of shape (n, d) and (nt, d)
        Rows of both domains, in one space.
    at : array or sparse matrix of shape (m, d), optional
        Source rows at which to evaluate it. By default those of `source`, cross-validated.
    classifier : classifier with predict_proba, optional
        Domain classifier. By default logistic regression of standardised columns whose log-odds
        have prior variance 1, however many columns there are: few rows in many columns are always
        separable, and the odds would be meaningless.
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
    both = stacked(source, target)
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
    # keeps the ratio of a certain target row finite
    of_source = np.maximum(1 - of_target, np.finfo(float).eps)
    return odds_of_sizes * of_target / of_source


def _truncated(ratios: np.ndarray) -> np.ndarray:
    return np.minimum(ratios, np.sqrt(len(ratios)) * ratios.mean())
