"""Transfer component analysis: components in which the domains have the same mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse import csgraph
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from ilspace._typing import Array
from ilspace.backend import fix_signs
from ilspace.baselines._base import LatentBaseline, dense_rows
from ilspace.baselines._constraints import POSITIVE
from ilspace.baselines.manifold_alignment import neighbour_graph
from ilspace.domains import Domain
from ilspace.ils.map import as_dtype


def transfer_components(
    kernel: np.ndarray,
    discrepancy: np.ndarray,
    n_components: int,
    *,
    mu: float,
    indicators: np.ndarray | None = None,
    label_weight: float = 0.0,
    laplacian: Any = None,
    manifold_weight: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Components of large scatter in which the domains have similar means.

    .. math:: \max_W\operatorname{tr}\bigl((W^\top BW)^{-1}W^\top AW\bigr), \quad
        A = KH\bigl(\gamma YY^\top + (1-\gamma)I\bigr)HK, \quad
        B = Kll^\top K + \frac\lambda{n^2}K\mathcal LK + \mu I,

    where H centres. The quotient leaves W free up to a change of basis; here
    :math:`W^\top BW = \mu I`, and :math:`W^\top AW` is diagonal and descends.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        Kernel K between all rows.
    discrepancy : ndarray of shape (n,)
        Weights l whose weighted sum of rows is the difference of the domain means.
    n_components : int
        Number of components, at most n.
    mu : float
        Weight of the size of W, positive.
    indicators : ndarray of shape (n, n_classes), optional
        Y: 1 where a row is of a class, 0 elsewhere and for rows without label.
    label_weight : float, default=0.0
        The weight :math:`\gamma` of the labels, between 0 and 1.
    laplacian : ndarray or sparse matrix of shape (n, n), optional
        Laplacian :math:`\mathcal L` of a graph of the rows.
    manifold_weight : float, default=0.0
        Its weight :math:`\lambda`.

    Returns
    -------
    ndarray of shape (n, n_components)
        Columns W, the best first.
    ndarray of shape (n_components,)
        Eigenvalues of :math:`B^{-1}A`, the largest first.
    """
    n = len(kernel)
    centred = kernel - kernel.mean(axis=0)
    gain = (1 - label_weight) * (centred.T @ centred)
    if indicators is not None:
        by_class = indicators.T @ centred
        gain += label_weight * (by_class.T @ by_class)
    difference = kernel @ discrepancy
    cost = np.outer(difference, difference)
    if laplacian is not None:
        cost += manifold_weight / n**2 * (kernel @ (laplacian @ kernel))
    cost.flat[:: n + 1] += mu
    values, vectors = linalg.eigh(
        gain, (cost + cost.T) / 2, subset_by_index=(n - n_components, n - 1), overwrite_a=True
    )
    return np.sqrt(mu) * fix_signs(vectors[:, ::-1]), np.maximum(values[::-1], 0)


def neighbour_laplacian(rows: np.ndarray, n_neighbors: int, gamma: float):
    r"""Laplacian of the graph of nearest neighbours.

    Rows are joined where one is among the nearest of the other, with the weight
    :math:`\exp(-\gamma\|x_i - x_j\|^2)`.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The rows.
    n_neighbors : int
        Number of neighbours of each row, at most ``n - 1`` are taken.
    gamma : float
        Decay of the weights.

    Returns
    -------
    sparse matrix of shape (n, n)
        Degrees minus weights.
    """
    return csgraph.laplacian(neighbour_graph(rows, n_neighbors, gamma))


def whitened(weights: np.ndarray, scatter: np.ndarray) -> np.ndarray:
    """Divide components by the square root of their scatter.

    Parameters
    ----------
    weights : ndarray of shape (n, p)
        One column per component.
    scatter : ndarray of shape (p,)
        Their scatter, the largest first.

    Returns
    -------
    ndarray of shape (n, p)
        Components of scatter 1; those that had none to working precision are 0.
    """
    some = scatter > len(weights) * np.finfo(float).eps * scatter[0]
    return weights * np.where(some, 1 / np.sqrt(np.where(some, scatter, 1.0)), 0.0)


def _is_linear(self) -> bool:
    if self.kernel != "linear":
        raise AttributeError('A metric of the columns exists only with kernel="linear".')
    return True


class TCA(LatentBaseline):
    r"""Transfer component analysis, TCA, and its semi-supervised form, SSTCA :cite:p:`pan2011`.

    .. math:: &\min_W\; \operatorname{tr}(W^\top KLKW) + \mu\operatorname{tr}(W^\top W)
        + \frac\lambda{n^2}\operatorname{tr}(W^\top K\mathcal LKW) \\
        &\text{s.t.}\quad
        W^\top KH\bigl(\gamma K_y + (1-\gamma)I\bigr)HKW = I

    over all n rows of both domains, with their kernel K, the centring H, and L such that
    the first term is the squared distance between the domains' means (maximum mean
    discrepancy). :math:`K_y` says which labelled rows share a class, :math:`\mathcal L` is the
    Laplacian of the graph of nearest neighbours. A row x is represented by
    :math:`W^\top k(x)`, seen at fit or not. With :math:`\gamma = \lambda = 0`, the defaults, this
    is TCA, with other values SSTCA.

    Use it where the domains share their columns and differ by their means, also in a non-linear
    way (``kernel="rbf"``), and there are a few thousand rows at most: it costs one generalised
    eigenproblem, :math:`O(n^3)`, and memory for a few matrices of :math:`n \times n`.

    Parameters
    ----------
    n_components : int, default=None
        Number of components, by default 20 or the most that the rows allow.
    kernel : {"linear", "rbf"}, default="linear"
        Kernel of the rows x, y, taken from their common mean:
        :math:`\texttt{gamma}\,x^\top y` or :math:`\exp(-\texttt{gamma}\|x-y\|^2)`.
    gamma : float or "scale", default="scale"
        Scale of the kernel; "scale" is one over the mean squared distance of the rows from their
        common mean, so that the unit of the columns does not matter.
    mu : float, default=1.0
        Weight of the size of W; small values bring the domains' means closer.
    label_weight : float, default=0.0
        The weight :math:`\gamma` of the labels, between 0 and 1.
    manifold_weight : float, default=0.0
        The weight :math:`\lambda` of the graph, which keeps neighbours together.
    n_neighbors : int, default=10
        Neighbours of each row in the graph.
    whiten : bool, default=False
        Whether all components get the same scatter, as the constraint says. Otherwise
        :math:`W^\top(I + (KLK + \lambda K\mathcal LK/n^2)/\mu)W = I`, which solves the same
        problem up to the lengths of the columns of W, and lets the better components count more.
    classifier : {"1nn", "svm"} or estimator, default="1nn"
        Trained on the components of all labelled rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    rows_ : ndarray of shape (n, n_features)
        Rows of both domains, from their common mean.
    gamma_ : float
        Scale of the kernel.
    weights_ : ndarray of shape (n, n_components_)
        The matrix W.
    eigenvalues_ : ndarray of shape (n_components_,)
        Scatter over cost of each component, the largest first.
    n_components_ : int
        Number of components.
    classifier_ : estimator
        The fitted classifier; its classes are positions in `classes_`.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import TCA
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None] * np.arange(5)
    >>> Xt = X + [9, 0, 0, 0, 0]
    >>> TCA(2, mu=0.01).fit(X, y, Xt).score(Xt, y)
    1.0
    """

    _parameter_constraints = {"gamma": [StrOptions({"scale"}), POSITIVE]}

    def __init__(
        self,
        n_components=None,
        *,
        kernel="linear",
        gamma="scale",
        mu=1.0,
        label_weight=0.0,
        manifold_weight=0.0,
        n_neighbors=10,
        whiten=False,
        classifier="1nn",
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.mu = mu
        self.label_weight = label_weight
        self.manifold_weight = manifold_weight
        self.n_neighbors = n_neighbors
        self.whiten = whiten
        self.classifier = classifier

    def _adapt(self, source: Domain, target: Domain) -> None:
        # one domain alone has no discrepancy
        ends = ((source, 0.0),) if source is target else ((source, 1.0), (target, -1.0))
        rows = np.concatenate([domain.X for domain, _ in ends])
        codes = np.concatenate([domain.codes for domain, _ in ends])
        shares = [np.full(len(domain.X), sign / len(domain.X)) for domain, sign in ends]
        p = self._check_components(self.n_components, len(rows) - 1, default=20)
        self.source_mean_ = self.target_mean_ = rows.mean(axis=0)
        self.rows_ = rows - self.source_mean_
        mean_square = float(np.mean(np.sum(self.rows_**2, axis=1))) or 1.0
        self.gamma_ = 1 / mean_square if self.gamma == "scale" else float(self.gamma)
        kernel = self._kernel(self.rows_)
        laplacian = None
        if self.manifold_weight:
            laplacian = neighbour_laplacian(self.rows_, self.n_neighbors, self.gamma_)
        self.weights_, self.eigenvalues_ = transfer_components(
            kernel,
            np.concatenate(shares),
            p,
            mu=self.mu,
            indicators=(codes[:, None] == np.arange(len(self.classes_))).astype(float),
            label_weight=self.label_weight,
            laplacian=laplacian,
            manifold_weight=self.manifold_weight,
        )
        if self.whiten:
            self.weights_ = whitened(self.weights_, self.mu * self.eigenvalues_)
        self._offset = kernel.mean(axis=0) @ self.weights_
        if self.kernel == "linear":
            self._source_map = self._target_map = self.gamma_ * (self.rows_.T @ self.weights_)
        self.n_components_ = self._n_features_out = p

    def _kernel(self, rows: np.ndarray) -> np.ndarray:
        """Kernel between centred rows and those of the fit."""
        if self.kernel == "linear":
            return self.gamma_ * (rows @ self.rows_.T)
        return rbf_kernel(rows, self.rows_, self.gamma_)

    def _latent(self, X, is_source: np.ndarray) -> Array:
        if self.kernel == "linear":
            return super()._latent(X, is_source)
        rows = dense_rows(X)
        latent = self._kernel(rows - self.source_mean_) @ self.weights_ - self._offset
        return as_dtype(latent, rows.dtype)

    @available_if(_is_linear)
    def get_mahalanobis_matrix(self, domain="target"):
        """Learned metric in the columns, where the kernel is linear.

        Parameters
        ----------
        domain : {"target", "source"}, default="target"
            Which one; the metric is the same.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            Positive semi-definite.
        """
        return super().get_mahalanobis_matrix(domain)
