"""Easy transfer learning: the nearest class centre, where no class may be without rows."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from ilspace.baselines._base import ScoringBaseline, by_domain, contrast, dense_rows
from ilspace.baselines.coral import covariance_axes, symmetric_power
from ilspace.domains import Domain

_MARGIN = 1e-9
"""By how much a class must be cheaper than others for its rows, relative to a mean distance."""


def intra_domain_programming(distances: np.ndarray, known: np.ndarray) -> np.ndarray:
    r"""Classes of all rows at the least total distance, such that no class is empty.

    .. math:: \min_M\sum_{cj}D_{cj}M_{cj} \quad\text{s.t.}\quad \sum_cM_{cj} = 1, \quad
        \sum_jM_{cj} \ge 1, \quad 0 \le M_{cj} \le 1

    The constraints are totally unimodular, so some solution is integral: each class that has no
    known row holds on to one row, all others take their nearest class. Hence the linear program is
    an assignment of classes to rows, at the cost of what a row loses by not being in its nearest
    class.

    Parameters
    ----------
    distances : ndarray of shape (n, n_classes)
        Distances :math:`D_{cj}`, one row for each j.
    known : ndarray of shape (n,)
        Class of each row, -1 where it is free.

    Returns
    -------
    ndarray of shape (n,)
        Class of each row; known ones stay. Where there are fewer free rows than classes in need
        of one, all of them go to different classes in need.
    """
    codes, free = known.copy(), np.flatnonzero(known < 0)
    codes[free] = distances[free].argmin(axis=1)
    in_need = np.setdiff1d(np.arange(distances.shape[1]), known)
    losses = distances[free] - distances[free].min(axis=1, keepdims=True)
    chosen, places = linear_sum_assignment(losses[:, in_need])
    codes[free[chosen]] = in_need[places]
    return codes


def class_prices(distances: np.ndarray, codes: np.ndarray) -> np.ndarray:
    r"""Discounts that make each row choose its class by itself.

    .. math:: c_j \in \arg\min_c D_{cj} - u_c \quad\text{for all } j, \qquad u \ge 0

    These are dual variables of :func:`intra_domain_programming`, one for each class that must not
    be empty; of all such, the least ones. They extend the solution to rows that it has not seen.

    Parameters
    ----------
    distances : ndarray of shape (n, n_classes)
        Distances :math:`D_{cj}` of the free rows.
    codes : ndarray of shape (n,)
        Their classes :math:`c_j`, optimal.

    Returns
    -------
    ndarray of shape (n_classes,)
        The prices u; 0 for a class that needs none.
    """
    n_classes = distances.shape[1]
    gaps = np.full((n_classes, n_classes), -np.inf)  # by how much u_a must exceed u_c
    own = distances[np.arange(len(codes)), codes]
    np.maximum.at(gaps, codes, own[:, None] - distances)
    gaps += _MARGIN * distances.mean() if len(distances) else 0.0  # at a tie, no rounding decides
    np.fill_diagonal(gaps, 0.0)
    prices = np.zeros(n_classes)
    for _ in range(n_classes):  # longest paths have no more edges
        prices = np.maximum(prices, (gaps + prices).max(axis=1))
    return prices


class EasyTL(ScoringBaseline):
    r"""Easy transfer learning, EasyTL :cite:p:`wang2019`.

    .. math:: \min_M\sum_{cj}D_{cj}M_{cj} \quad\text{s.t.}\quad \sum_cM_{cj} = 1, \quad
        \sum_jM_{cj} \ge 1, \quad 0 \le M_{cj} \le 1

    with the distances :math:`D_{cj}` from target rows to class centres. Before, the source rows
    get the covariance of the target, as in :class:`CORAL`: :math:`x^\top C_s^{-1/2}C_t^{1/2}` with
    the identity added to both covariances.

    Labelled target rows keep their classes in the program, and count in the means that are the
    class centres. A target row that was not seen at fit goes to the class of the least
    :math:`D_c - u_c`, where :math:`u \ge 0` are the dual variables of the constraints that no class
    is empty, the least ones. For rows that were seen, this rule is the solution of the program.

    Use it where the domains share their columns and every class of the source is in the target: it
    is the nearest class centre, except for classes that would be empty, and has nothing to choose.
    Scale the columns to unit variance first. Costs two eigenproblems of the smaller of rows and
    columns, then time and memory for :math:`d \times d`; the program is solved as an assignment
    of classes to rows, in :math:`O(k^2n)`.

    Parameters
    ----------
    align : bool, default=True
        Whether to align the covariances; otherwise the domains are only centred, each at its mean.
    regularization : float, default=1.0
        Multiple of the identity in both covariances, in the squared units of the columns.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    source_mean_, target_mean_ : ndarray of shape (n_features,)
        Means of the domains.
    alignment_ : ndarray of shape (n_features, n_features)
        The map of centred source rows.
    centers_ : ndarray of shape (n_classes, n_features)
        Class centres among centred target rows.
    prices_ : ndarray of shape (n_classes,)
        The dual variables u.
    transduction_ : ndarray of shape (n_target,)
        Labels of the target rows of the fit: those given, and those of the program.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import EasyTL
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None]
    >>> EasyTL().fit(X, y, 7 * X + 3).score(7 * X + 3, y)
    1.0
    """

    def __init__(self, *, align=True, regularization=1.0):
        self.align = align
        self.regularization = regularization

    def _adapt(self, source: Domain, target: Domain) -> None:
        offsets, target_offsets = self._center(source, target)
        self.alignment_ = np.eye(offsets.shape[1])
        if self.align:
            given = covariance_axes(offsets, 0.0, self.regularization)
            wanted = covariance_axes(target_offsets, 0.0, self.regularization)
            self.alignment_ = symmetric_power(*given, -0.5) @ symmetric_power(*wanted, 0.5)
        rows, codes = offsets @ self.alignment_, source.codes
        if source is not target:
            rows, codes = np.vstack([rows, target_offsets]), np.append(codes, target.codes)
        indicators = codes == np.arange(len(self.classes_))[:, None]
        self.centers_ = indicators @ rows / indicators.sum(axis=1, keepdims=True)
        distances = cdist(target_offsets, self.centers_)
        assigned = intra_domain_programming(distances, target.codes)
        free = target.codes < 0
        self.prices_ = class_prices(distances[free], assigned[free])
        self.transduction_ = self.classes_[assigned]

    def _scores(self, X, is_source: np.ndarray) -> np.ndarray:
        return contrast(by_domain(self._advantages, X, is_source, len(self.classes_)))

    def _advantages(self, X, is_source: bool) -> np.ndarray:
        """Prices minus distances of rows of one domain."""
        rows = dense_rows(X)
        if is_source:
            rows = (rows - self.source_mean_) @ self.alignment_
        else:
            rows = rows - self.target_mean_
        return self.prices_ - cdist(rows, self.centers_)
