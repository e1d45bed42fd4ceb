"""Subspace alignment: map the source's principal subspace to the target's."""

from __future__ import annotations

import numpy as np

from ilspace.baselines._subspaces import SubspaceBaseline
from ilspace.domains import Domain


def alignment(source: np.ndarray, target: np.ndarray, /) -> np.ndarray:
    r"""Linear map of one subspace that brings it closest to another.

    .. math:: A^* = \arg\min_A\|P_sA - P_t\|_F^2 = P_s^\top P_t

    Parameters
    ----------
    source, target : ndarray of shape (d, p)
        Orthonormal bases :math:`P_s, P_t`.

    Returns
    -------
    ndarray of shape (p, p)
        The map.
    """
    return source.T @ target


class SubspaceAlignment(SubspaceBaseline):
    r"""Subspace alignment, SA :cite:p:`fernando2013`.

    .. math:: \min_A\|P_sA - P_t\|_F^2, \qquad A = P_s^\top P_t

    with the principal subspaces :math:`P_s, P_t` of the domains. Source rows are represented by
    :math:`x^\top P_sA`, target rows by :math:`x^\top P_t`.

    Use it first where the domains share their columns and the target has no labels: it has one
    parameter and a closed form. Costs two principal component analyses,
    :math:`O(nd\min(n, d))`, and memory for the covariances.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the subspaces, by default 30 or the most that the rows allow.
    source_basis : {"pca", "pls"} or array of shape (n_features, n_components), default="pca"
        Subspace of the source: its principal axes, partial least squares of its labels, or given
        directions, such as an ``ILSTransformer``'s ``source_projection_``.
    classifier : {"1nn", "svm"} or estimator, default="1nn"
        Trained on all labelled rows in the aligned subspace.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    source_mean_, target_mean_ : ndarray of shape (n_features,)
        Means of the domains.
    alignment_ : ndarray of shape (n_components, n_components)
        The map A.
    n_components_ : int
        Dimension of the subspaces.
    classifier_ : estimator
        The fitted classifier; its classes are positions in `classes_`.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import SubspaceAlignment
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None]
    >>> SubspaceAlignment(2).fit(X, y, X + 3).score(X + 3, y)
    1.0
    """

    def __init__(self, n_components=None, *, source_basis="pca", classifier="1nn"):
        self.n_components = n_components
        self.source_basis = source_basis
        self.classifier = classifier

    def _adapt(self, source: Domain, target: Domain) -> None:
        basis, target_basis = self._find_subspaces(source, target, default=30)
        self.alignment_ = alignment(basis, target_basis)
        self._source_map, self._target_map = basis @ self.alignment_, target_basis
        self._n_features_out = self.n_components_
