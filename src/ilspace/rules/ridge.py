"""Kernel ridge regression that varies little between neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import linalg, sparse
from sklearn.neighbors import kneighbors_graph

from ilspace._typing import Array
from ilspace.backend import array_namespace, cholesky_frame, identity, is_foreign, like, to_numpy

RIDGE = 0.1
"""Weight of the squared norm in the reproducing kernel Hilbert space."""

SMOOTHNESS = 0.5
"""Weight of the graph Laplacian, relative to that of the norm."""

N_NEIGHBORS = 10
"""Neighbours of a row in the graph."""

OFFSET = 0.05
"""Constant of the kernel, which stands for an intercept."""

EXACT = 2.5
"""Up to so many times as many rows as landmarks the exact regression is the cheaper one."""

_TILE = 2**22
"""Most entries of a kernel matrix computed at once for rows outside a fit."""


def unit_rows(rows: Array) -> Array:
    """Rows scaled to length 1; zero rows stay zero.

    Parameters
    ----------
    rows : array of shape (n, q)
        The rows.

    Returns
    -------
    array of shape (n, q)
        A copy.
    """
    xp = array_namespace(rows)
    norms = xp.linalg.vector_norm(rows, axis=1, keepdims=True)
    return rows / xp.where(norms > 0, norms, xp.ones_like(norms))


def mean_squared_distance(rows: Array) -> float:
    """Mean squared distance of two rows, over all pairs.

    Parameters
    ----------
    rows : array of shape (n, q)
        The rows.

    Returns
    -------
    float
        Positive; 1 where all rows are equal.
    """
    xp = array_namespace(rows)
    centred = rows - xp.mean(rows, axis=0)
    found = 2 * float(xp.sum(centred * centred)) / rows.shape[0]
    rounding = float(xp.finfo(rows.dtype).eps) * float(xp.max(xp.sum(rows * rows, axis=1)))
    return found if found > rounding else 1.0


def gaussian_kernel(rows: Array, others: Array, bandwidth: float) -> Array:
    r"""Gaussian kernel with a constant, :math:`e^{-\|x-z\|^2/h} + 0.05`.

    Parameters
    ----------
    rows : array of shape (n, q)
        Rows x.
    others : array of shape (m, q)
        Rows z.
    bandwidth : float
        Squared distance h at which the kernel has fallen to 1/e.

    Returns
    -------
    array of shape (n, m)
        The kernel.
    """
    xp = array_namespace(rows)
    exponents = rows @ others.mT  # in place from here: the matrix may be large
    exponents *= 2
    exponents -= xp.sum(rows * rows, axis=1)[:, None]
    exponents -= xp.sum(others * others, axis=1)[None, :]
    exponents /= bandwidth
    kernel = xp.exp(xp.minimum(exponents, xp.zeros_like(exponents)))
    kernel += OFFSET
    return kernel


def graph_laplacian(rows: np.ndarray, n_neighbors: int = N_NEIGHBORS) -> sparse.csr_array:
    r"""Normalised Laplacian of a graph of nearest neighbours.

    .. math:: L = I - D^{-1/2} W D^{-1/2}, \qquad D = \operatorname{diag}(W 1)

    :math:`W_{ij}` is the cosine of two rows, where positive, if either is among the nearest
    neighbours of the other, else 0.

    Parameters
    ----------
    rows : ndarray of shape (n, q)
        The rows.
    n_neighbors : int, default=10
        Number of neighbours, at most n - 1.

    Returns
    -------
    sparse array of shape (n, n)
        Symmetric, positive semi-definite. A row without neighbours has 1 on the diagonal.
    """
    directions, n = unit_rows(rows), rows.shape[0]
    if n < 2:
        return sparse.eye_array(n, format="csr")
    near = kneighbors_graph(directions, min(n_neighbors, n - 1)).indices.reshape(n, -1)
    cosines = np.einsum("iq,ikq->ik", directions, directions[near])
    starts = np.arange(0, near.size + 1, near.shape[1])
    graph = sparse.csr_array((np.maximum(cosines, 0).ravel(), near.ravel(), starts), shape=(n, n))
    graph = graph.maximum(graph.T)
    degrees = graph.sum(axis=1)
    roots = sparse.diags_array(1 / np.sqrt(np.where(degrees > 0, degrees, 1.0)))
    return sparse.csr_array(sparse.eye_array(n) - roots @ graph @ roots)


@dataclass(frozen=True)
class KernelExpansion:
    r"""Scores :math:`f_c(x) = \sum_j k(x, z_j)\,\beta_{jc}` of classes.

    Attributes
    ----------
    landmarks : array of shape (m, q)
        Rows z.
    coefficients : array of shape (m, n_classes)
        Coefficients β.
    bandwidth : float
        Bandwidth of the kernel.
    """

    landmarks: Array
    coefficients: Array
    bandwidth: float

    def scores(self, rows: Array) -> Array:
        """Scores of rows, seen at fit or not.

        Parameters
        ----------
        rows : array of shape (n, q)
            The rows.

        Returns
        -------
        array of shape (n, n_classes)
            The larger, the more likely.
        """
        xp, n, m = array_namespace(rows), rows.shape[0], self.landmarks.shape[0]
        height = max(1, _TILE // m)
        tiles = [
            gaussian_kernel(rows[top : min(top + height, n), :], self.landmarks, self.bandwidth)
            @ self.coefficients
            for top in range(0, max(n, 1), height)
        ]
        return xp.concat(tiles, axis=0)


class LaplacianRidge(Protocol):
    r"""Regression of class scores on given rows, for any weights and targets.

    It minimises, over functions f of the reproducing kernel Hilbert space of
    :func:`gaussian_kernel`,

    .. math::

       \sum_i w_i\,\|f(x_i) - y_i\|^2
         + \eta\,\Bigl(\|f\|^2 + \rho\sum_{ij}L_{ij}\,f(x_i)^\top f(x_j)\Bigr)

    with the Laplacian of :func:`graph_laplacian`, :math:`\eta` = 0.1 and :math:`\rho` = 0.5
    :cite:p:`belkin2006`.
    """

    def fit(self, weights: np.ndarray, targets: np.ndarray) -> tuple[KernelExpansion, Array]:
        """Find the minimiser.

        Parameters
        ----------
        weights : ndarray of shape (n,)
            Weights w; 0 for rows without a class.
        targets : ndarray of shape (n, n_classes)
            Targets y.

        Returns
        -------
        expansion : KernelExpansion
            The minimiser.
        scores : array of shape (n, n_classes)
            Its values at the rows.
        """
        ...


class DenseRidge:
    r"""The exact minimiser: one system of as many equations as rows.

    .. math:: \bigl((W + \eta\rho L)K + \eta I\bigr)\,\beta = W Y

    Parameters
    ----------
    rows : array of shape (n, q)
        The rows.
    smoothness : float, default=0.5
        Weight of the Laplacian.
    """

    def __init__(self, rows: Array, *, smoothness: float = SMOOTHNESS):
        self.rows, self.bandwidth = rows, mean_squared_distance(rows)
        self.kernel = gaussian_kernel(rows, rows, self.bandwidth)
        roughness = _times_laplacian(rows, self.kernel)
        self.penalty = RIDGE * (smoothness * roughness + identity(rows.shape[0], rows))

    def fit(self, weights: np.ndarray, targets: np.ndarray) -> tuple[KernelExpansion, Array]:
        """Find the minimiser; see :class:`LaplacianRidge`.

        Parameters
        ----------
        weights : ndarray of shape (n,)
            Weights of the rows.
        targets : ndarray of shape (n, n_classes)
            Targets.

        Returns
        -------
        expansion : KernelExpansion
            The minimiser.
        scores : array of shape (n, n_classes)
            Its values at the rows.
        """
        shares = like(weights, self.kernel)[:, None]
        system = shares * self.kernel
        system += self.penalty
        coefficients = _solved(system, shares * like(targets, shares))
        expansion = KernelExpansion(self.rows, coefficients, self.bandwidth)
        return expansion, self.kernel @ coefficients


class LandmarkRidge:
    r"""The minimiser among expansions over landmarks: one equation per landmark.

    With features :math:`\Phi = K_{nm}R^{-\top}`, :math:`K_{mm} = RR^\top` (Nyström's
    approximation of the kernel),

    .. math::

       \bigl(\Phi^\top(W + \eta\rho L)\Phi + \eta I\bigr)\,\theta = \Phi^\top W Y,
       \qquad \beta = R^{-\top}\theta

    It is the exact one where all rows are landmarks.

    Parameters
    ----------
    rows : array of shape (n, q)
        The rows.
    landmarks : ndarray of int, shape (m,)
        Which of them are landmarks.
    smoothness : float, default=0.5
        Weight of the Laplacian.
    """

    def __init__(self, rows: Array, landmarks: np.ndarray, *, smoothness: float = SMOOTHNESS):
        xp = array_namespace(rows)
        self.landmarks = xp.take(rows, like(landmarks, rows), axis=0)
        self.bandwidth = mean_squared_distance(rows)
        among = gaussian_kernel(self.landmarks, self.landmarks, self.bandwidth)
        rounding = 10 * len(landmarks) * float(xp.finfo(rows.dtype).eps)  # rows may be equal
        _, unroot = cholesky_frame(among + rounding * identity(len(landmarks), rows))
        self.to_coefficients = unroot.mT
        self.features = gaussian_kernel(rows, self.landmarks, self.bandwidth) @ unroot.mT
        roughness = self.features.mT @ _times_laplacian(rows, self.features)
        self.penalty = RIDGE * (smoothness * roughness + identity(len(landmarks), rows))

    def fit(self, weights: np.ndarray, targets: np.ndarray) -> tuple[KernelExpansion, Array]:
        """Find the minimiser; see :class:`LaplacianRidge`.

        Parameters
        ----------
        weights : ndarray of shape (n,)
            Weights of the rows.
        targets : ndarray of shape (n, n_classes)
            Targets.

        Returns
        -------
        expansion : KernelExpansion
            The minimiser.
        scores : array of shape (n, n_classes)
            Its values at the rows.
        """
        used = np.flatnonzero(weights)
        features = array_namespace(self.features).take(
            self.features, like(used, self.features), axis=0
        )
        roots = like(np.sqrt(weights[used]), features)[:, None]
        features *= roots  # an owned copy
        right = features.mT @ (roots * like(targets[used], features))
        theta = _solved(features.mT @ features + self.penalty, right)
        coefficients = self.to_coefficients @ theta
        expansion = KernelExpansion(self.landmarks, coefficients, self.bandwidth)
        return expansion, self.features @ theta


def laplacian_ridge(
    rows: Array, n_landmarks: int, rng: np.random.Generator, *, smoothness: float = SMOOTHNESS
) -> LaplacianRidge:
    """Prepare the regression on given rows.

    Parameters
    ----------
    rows : array of shape (n, q)
        The rows.
    n_landmarks : int
        Number of landmarks that are drawn, unless there are at most 2.5 times as many rows: then
        the regression is exact.
    rng : Generator
        Draws the landmarks.
    smoothness : float, default=0.5
        Weight of the Laplacian, relative to that of the norm.

    Returns
    -------
    LaplacianRidge
        To be fitted with any weights and targets.
    """
    n = rows.shape[0]
    if n <= EXACT * n_landmarks:
        return DenseRidge(rows, smoothness=smoothness)
    landmarks = np.sort(rng.choice(n, n_landmarks, replace=False))
    return LandmarkRidge(rows, landmarks, smoothness=smoothness)


def _times_laplacian(rows: Array, columns: Array) -> Array:
    """Product of the Laplacian of rows, which is found on the host, with a matrix."""
    laplacian = graph_laplacian(to_numpy(rows))
    if not is_foreign(columns):
        return laplacian.astype(columns.dtype, copy=False) @ columns
    n = rows.shape[0]
    height = max(1, _TILE // n)
    tiles = (laplacian[top : top + height].toarray() for top in range(0, n, height))
    return array_namespace(columns).concat([like(each, columns) @ columns for each in tiles])


def _solved(system: Array, right: Array) -> Array:
    """Solution of a system of linear equations, whose matrix is overwritten."""
    if is_foreign(system):
        return array_namespace(system).linalg.solve(system, right)
    # LAPACK itself: nothing is copied, and nobody needs the condition number. The transpose is
    # stored by columns, as LAPACK wants it.
    factorise, solve = linalg.get_lapack_funcs(("getrf", "getrs"), (system, right))
    factors, pivots, failed = factorise(system.T, overwrite_a=True)
    if failed:
        raise np.linalg.LinAlgError("The system of the regression is singular.")
    found, _ = solve(factors, pivots, right, trans=1)
    return np.ascontiguousarray(found)  # as a file gives it back: products round alike
