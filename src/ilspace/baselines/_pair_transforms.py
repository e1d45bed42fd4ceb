"""Transforms and metrics that keep cross-domain pairs of a class close and others apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize

_CAUTION = 10.0
"""Scale of the unknowns: the first step of L-BFGS has length 1, which could be too long."""


class Learned(NamedTuple):
    """Result of the optimization.

    Attributes
    ----------
    matrix : ndarray of shape (p, q)
        The transform W, or the root B of a metric.
    n_iter : int
        Number of iterations.
    is_solved : bool
        Whether it converged.
    """

    matrix: np.ndarray
    n_iter: int
    is_solved: bool


def asymmetric_transform(
    source: np.ndarray,
    target: np.ndarray,
    same: np.ndarray,
    *,
    prior: np.ndarray,
    lower: float,
    upper: float,
    penalty: float,
    tol: float = 1e-7,
    max_iter: int = 1000,
) -> Learned:
    r"""Similarity of source and target rows that is large within classes and small between.

    .. math::
        \min_W\ \tfrac12\|W - W_0\|_F^2
        + \tfrac\gamma2\sum_{c_i = c_j}\max(0, u - x_i^\top Wz_j)^2
        + \tfrac\gamma2\sum_{c_i \ne c_j}\max(0, x_i^\top Wz_j - l)^2

    The minimiser is :math:`W_0 + X^\top SZ`, so only a matrix in the spans of the rows is sought,
    :math:`L` in :math:`W_0 + V_sLV_t^\top` :cite:p:`kulis2011`. Strongly convex and smooth; solved
    by L-BFGS in coordinates in which the Hessian of a problem where all pairs count is the
    identity.

    Parameters
    ----------
    source : ndarray of shape (n_source, p)
        Source rows x.
    target : ndarray of shape (n_target, q)
        Target rows z.
    same : ndarray of bool, shape (n_source, n_target)
        Whether a pair is of one class.
    prior : ndarray of shape (p, q)
        The transform :math:`W_0` to stay near.
    lower, upper : float
        Bounds l and u.
    penalty : float
        Weight :math:`\gamma` of a violated bound.
    tol : float, default=1e-7
        Relative decrease of the objective per iteration at which to stop.
    max_iter : int, default=1000
        Maximum number of iterations.

    Returns
    -------
    Learned
        The transform W, of shape (p, q).
    """
    left, source_values, source_axes = linalg.svd(source, full_matrices=False)
    right, target_values, target_axes = linalg.svd(target, full_matrices=False)
    start = source @ prior @ target.T
    values = np.outer(source_values, target_values)
    units = 1 / np.sqrt(1 + penalty * values**2)
    values = units * values

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        scaled = flat.reshape(units.shape)
        similarity = start + left @ (values * scaled) @ right.T
        excess = np.where(
            same, np.minimum(similarity - upper, 0), np.maximum(similarity - lower, 0)
        )
        change = units * scaled
        value = (np.sum(change**2) + penalty * np.sum(excess**2)) / 2
        gradient = units * change + penalty * values * (left.T @ excess @ right)
        return value, gradient.ravel()

    found = _minimise(objective, np.zeros(units.shape), tol, max_iter)
    change = source_axes.T @ (units * found.matrix) @ target_axes
    return found._replace(matrix=prior + change)


def symmetric_metric(
    source: np.ndarray,
    target: np.ndarray,
    same: np.ndarray,
    *,
    near: float,
    far: float,
    penalty: float,
    tol: float = 1e-7,
    max_iter: int = 1000,
) -> Learned:
    r"""Metric in which cross-domain pairs are near within classes and far between.

    .. math::
        \min_{M \succ 0}\ \mathrm{tr}M - \log\det M
        + \gamma\sum_{c_i = c_j}\phi\big(\max(1, \tfrac{d_M(x_i, z_j)}{b_1})\big)
        + \gamma\sum_{c_i \ne c_j}\phi\big(\min(1, \tfrac{d_M(x_i, z_j)}{b_2})\big),
        \qquad \phi(r) = r - \log r - 1

    with squared distances :math:`d_M`. This is information-theoretic metric learning with its
    slack variables minimised out, which leaves a convex and once differentiable function of M: it
    is minimised over all pairs at once by L-BFGS instead of one projection per pair. The unknown is
    a square root, :math:`M = BB^\top`; as B cannot become singular, the gradient in B vanishes
    only where that in M does, at the minimum.

    Parameters
    ----------
    source : ndarray of shape (n_source, p)
        Source rows x.
    target : ndarray of shape (n_target, p)
        Target rows z.
    same : ndarray of bool, shape (n_source, n_target)
        Whether a pair is of one class.
    near, far : float
        Bounds :math:`b_1, b_2` of the squared distances, positive.
    penalty : float
        Weight :math:`\gamma` of a violated bound.
    tol : float, default=1e-7
        Relative decrease of the objective per iteration at which to stop.
    max_iter : int, default=1000
        Maximum number of iterations.

    Returns
    -------
    Learned
        A root B of the metric, of shape (p, p).
    """
    p = source.shape[1]
    bounds = np.where(same, near, far)
    # equal rows of two classes have distance 0 in every metric
    counts = same | (_distances(source, target) > 1e-10 * far)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        root = flat.reshape(p, p) / _CAUTION
        sent, seen = source @ root, target @ root
        ratios = np.maximum(_distances(sent, seen) / bounds, 1e-300)
        ratios = np.where(counts & (same == (ratios > 1)), ratios, 1.0)
        losses = ratios - np.log(ratios) - 1
        value = np.sum(root**2) - 2 * np.linalg.slogdet(root)[1] + penalty * losses.sum()
        slopes = penalty * (1 - 1 / ratios) / bounds
        pulled = source.T @ (slopes.sum(axis=1)[:, None] * sent - slopes @ seen)
        pulled += target.T @ (slopes.sum(axis=0)[:, None] * seen - slopes.T @ sent)
        return value, 2 / _CAUTION * (root - np.linalg.inv(root).T + pulled).ravel()

    found = _minimise(objective, _CAUTION * np.eye(p), tol, max_iter)
    return found._replace(matrix=found.matrix / _CAUTION)


def _minimise(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    tol: float,
    max_iter: int,
) -> Learned:
    """Minimise by L-BFGS a function of a flattened matrix."""
    first = np.abs(objective(start.ravel())[1]).max()
    options = {"maxiter": max_iter, "maxfun": 4 * max_iter, "ftol": tol, "gtol": 1e-12 * first}
    found = optimize.minimize(
        objective, start.ravel(), jac=True, method="L-BFGS-B", options=options
    )
    # at the limit of precision no step helps any more
    is_solved = found.success or bool(np.abs(found.jac).max() <= 1e-4 * first)
    return Learned(found.x.reshape(start.shape), int(found.nit), is_solved)


def _distances(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Squared distances of all pairs."""
    lengths = np.sum(source**2, axis=1)[:, None] + np.sum(target**2, axis=1)
    return np.maximum(lengths - 2 * source @ target.T, 0)
