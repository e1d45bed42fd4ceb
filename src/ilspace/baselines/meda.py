"""Manifold embedded distribution alignment: kernel ridge on manifold features, with a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import normalize

from ilspace.baselines._base import ScoringBaseline
from ilspace.baselines._constraints import POSITIVE
from ilspace.baselines._pseudo_labels import (
    alternate,
    balance_rule,
    mean_discrepancies,
    nearest_labels,
)
from ilspace.baselines._subspaces import principal_subspace
from ilspace.baselines.gfk import geodesic_flow_factor, principal_vectors
from ilspace.domains import Domain
from ilspace.ils.map import to_latent
from ilspace.rules.ridge import graph_laplacian


def aligned_ridge(
    kernel: np.ndarray,
    indicators: np.ndarray,
    laplacian: Any,
    *,
    discrepancy_weight: float,
    manifold_weight: float,
    regularization: float,
) -> Callable[[np.ndarray], np.ndarray]:
    r"""Ridge regression of classes in a kernel's space, with a graph and a discrepancy.

    .. math:: \min_\beta\;\|A(Y - K\beta)\|_F^2 + \eta\operatorname{tr}(\beta^\top K\beta)
        + \operatorname{tr}\bigl(\beta^\top K(\lambda UU^\top + \rho L)K\beta\bigr)

    whose solution is :math:`\bigl((A + \lambda UU^\top + \rho L)K + \eta I\bigr)\beta = AY`. The
    diagonal A is 1 for labelled rows, else 0. The discrepancy has a low rank and changes from round
    to round, so the rest is factored once, and corrected for each U by Woodbury's identity.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        Kernel K between all rows.
    indicators : ndarray of shape (n, n_classes)
        Y: 1 where a row is of a class, 0 elsewhere; rows of zeros have no label.
    laplacian : sparse matrix of shape (n, n)
        Laplacian L of a graph of the rows.
    discrepancy_weight : float
        Weight :math:`\lambda` of the discrepancy.
    manifold_weight : float
        Weight :math:`\rho` of the graph.
    regularization : float
        Weight :math:`\eta` of the size of the functions, positive.

    Returns
    -------
    callable
        From a factor U of shape (n, k) to the coefficients of shape (n, n_classes).
    """
    n = len(kernel)
    system = manifold_weight * (laplacian @ kernel)
    labelled = indicators.any(axis=1)
    system[labelled] += kernel[labelled]
    system.flat[:: n + 1] += regularization
    factors = linalg.lu_factor(system, overwrite_a=True)
    plain = linalg.lu_solve(factors, indicators)

    def solve(factor: np.ndarray) -> np.ndarray:
        scaled = np.sqrt(discrepancy_weight) * factor
        moved, seen = linalg.lu_solve(factors, scaled), kernel @ scaled
        inner = np.eye(factor.shape[1]) + seen.T @ moved
        return plain - moved @ linalg.solve(inner, seen.T @ plain)

    return solve


class MEDA(ScoringBaseline):
    r"""Manifold embedded distribution alignment, MEDA :cite:p:`wang2018`.

    .. math:: &f(x) = \sum_i\beta_ik(x_i, x), \qquad
        \bigl((A + \lambda M + \rho L)K + \eta I\bigr)\beta = AY, \\
        &M \propto (1 - \mu)\,C\,M_0 + \mu\sum_{c=1}^CM_c

    with the Gaussian kernel K of the manifold features of all rows: those of :class:`GFK` between
    the principal subspaces of the domains, scaled to unit length. A selects the labelled rows, Y
    says their classes, L is the Laplacian of the graph of nearest neighbours, and M the matrix of
    the maximum mean discrepancy of norm 1, between the domains (:math:`M_0`) and between their
    classes (:math:`M_c`). The classes of target rows without label are those that f predicts; f and
    these labels are learned in turn, from the labels of the nearest rows on. Labelled target rows
    are rows of A like those of the source.

    Use it where the domains share their columns and rows of a class are neighbours. Costs a
    factorisation, :math:`O(n^3)`, once, and :math:`O(n^2C)` per round; memory for a few matrices
    of :math:`n \times n`.

    The constants are the authors' for Office+Caltech10, as is the factor C of :math:`M_0`. In the
    graph a row is no neighbour of itself.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the subspaces, by default 20 or the most that the rows and columns allow.
    balance : float or "auto", default="auto"
        The balance :math:`\mu` between domains and classes, between 0 and 1; "auto" estimates it in
        each round, as :math:`\mu = \bar d/(d_0 + \bar d)` with the A-distance :math:`d_0` of the
        domains and the mean :math:`\bar d` of those of the classes. Where the columns of each
        domain are standardised, no linear rule tells the domains apart, and it is about 1.
    discrepancy_weight : float, default=10.0
        Weight :math:`\lambda` of the discrepancy.
    manifold_weight : float, default=1.0
        Weight :math:`\rho` of the graph.
    regularization : float, default=0.1
        Weight :math:`\eta` of the size of f.
    n_neighbors : int, default=10
        Neighbours of each row in the graph.
    gamma : float, default=0.5
        Decay of the kernel :math:`\exp(-\texttt{gamma}\|x - y\|^2)` of features of unit length.
    max_iter : int, default=10
        Maximum number of rounds; they end before where no label changes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    source_mean_, target_mean_ : ndarray of shape (n_features,)
        Means of the domains.
    factor_ : ndarray of shape (n_features, 2 * n_components_)
        The map of centred rows to manifold features.
    features_ : ndarray of shape (n, 2 * n_components_)
        Manifold features of the rows of both domains, of unit length.
    coefficients_ : ndarray of shape (n, n_classes)
        The coefficients :math:`\beta`.
    balance_ : float
        The balance of the last round.
    pseudo_labels_ : ndarray of shape (n_target,)
        Labels of the target rows, those known and those predicted in the last round.
    n_iter_ : int
        Number of rounds.
    n_components_ : int
        Dimension of the subspaces.

    See Also
    --------
    GFK : The manifold features, and nearest neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import MEDA
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None]
    >>> MEDA(2).fit(X, y, X + 3).score(X + 3, y)
    1.0
    """

    _parameter_constraints = {"regularization": [POSITIVE]}

    def __init__(
        self,
        n_components=None,
        *,
        balance: float | str = "auto",
        discrepancy_weight=10.0,
        manifold_weight=1.0,
        regularization=0.1,
        n_neighbors=10,
        gamma=0.5,
        max_iter=10,
    ):
        self.n_components = n_components
        self.balance = balance
        self.discrepancy_weight = discrepancy_weight
        self.manifold_weight = manifold_weight
        self.regularization = regularization
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.max_iter = max_iter

    def _adapt(self, source: Domain, target: Domain) -> None:
        offsets = self._center(source, target)
        most = min(*offsets[0].shape, *offsets[1].shape)
        p = self._check_components(self.n_components, most, default=20)
        ends = principal_vectors(*(principal_subspace(each, p) for each in offsets))
        self.factor_, self.n_components_ = geodesic_flow_factor(*ends), p
        Zs, Zt = (normalize(each @ self.factor_) for each in offsets)
        self.features_ = np.vstack([Zs, Zt])
        n_classes = len(self.classes_)
        labels = np.concatenate([source.codes, target.codes])
        kernel = rbf_kernel(self.features_, gamma=self.gamma)
        solve = aligned_ridge(
            kernel,
            (labels[:, None] == np.arange(n_classes)).astype(float),
            graph_laplacian(self.features_, self.n_neighbors),
            discrepancy_weight=self.discrepancy_weight,
            manifold_weight=self.manifold_weight,
            regularization=self.regularization,
        )
        find_balance = balance_rule(self.balance, Zs, source.codes, Zt)

        def learn(codes: np.ndarray) -> np.ndarray:
            self.balance_ = find_balance(codes)
            factor = mean_discrepancies(source.codes, codes, n_classes, self.balance_)
            self.coefficients_ = solve(factor)
            return (kernel[len(Zs) :] @ self.coefficients_).argmax(axis=1)

        start = nearest_labels(Zs, source.codes, Zt, target.codes)
        found, self.n_iter_ = alternate(learn, start, target.codes, self.max_iter)
        self.pseudo_labels_ = self.classes_[found]

    def _scores(self, X, is_source: np.ndarray) -> np.ndarray:
        means, maps = (self.source_mean_, self.target_mean_), (self.factor_, self.factor_)
        features = normalize(to_latent(X, means, maps, np.where(is_source, 0, -1)))
        scores = rbf_kernel(features, self.features_, self.gamma) @ self.coefficients_
        return np.diff(scores, axis=1) if scores.shape[1] == 2 else scores
