"""Projection onto, and quadratic minimization over, weights in [0, 1] of given group sums."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def project_capped(values: np.ndarray, groups: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Nearest weights between 0 and 1 whose sums over groups are given.

    Subtracts one number per group and clips; found by bisection, then refined exactly.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Any numbers.
    groups : ndarray of int, shape (n,)
        Group of each.
    totals : ndarray of shape (n_groups,)
        Sum for each group, at most the size of the group.

    Returns
    -------
    ndarray of shape (n,)
        The weights.
    """
    if len(values) == 0:
        return values

    def group_sums(weights: np.ndarray) -> np.ndarray:
        return np.bincount(groups, weights, minlength=len(totals))

    low, high = np.full(len(totals), values.min() - 1), np.full(len(totals), values.max())
    for _ in range(50):
        middle = (low + high) / 2
        is_high = group_sums(np.clip(values - middle[groups], 0, 1)) > totals
        low, high = np.where(is_high, middle, low), np.where(is_high, high, middle)
    weights = np.clip(values - high[groups], 0, 1)
    inside = (weights > 0) & (weights < 1)
    missing = (totals - group_sums(weights)) / np.maximum(group_sums(inside), 1)
    return np.clip(weights + np.where(inside, missing[groups], 0), 0, 1)


def minimise_capped(
    product: Callable[[np.ndarray], np.ndarray],
    linear: np.ndarray,
    groups: np.ndarray,
    totals: np.ndarray,
    curvatures: np.ndarray,
    *,
    tol: float,
    max_iter: int,
) -> tuple[np.ndarray, bool]:
    r"""Minimise a convex quadratic over weights in [0, 1] whose sums over groups are given.

    Spectral projected gradient :cite:p:`birgin2000`, with the exact step along each direction: the
    value never grows, and a step costs one product and one projection. Interior points would
    factor the Hessian in each step, where a few digits are enough here.

    Parameters
    ----------
    product : callable
        Computes :math:`Hv` from a vector.
    linear : ndarray of shape (n,)
        The vector f of :math:`\frac12w^\top Hw + f^\top w`.
    groups : ndarray of int, shape (n,)
        Group of each weight.
    totals : ndarray of shape (n_groups,)
        Sum of the weights of each group.
    curvatures : ndarray of shape (n,)
        The diagonal of H; its mean over a group scales the steps there.
    tol : float
        Largest change of a weight by a projected gradient step at which to stop.
    max_iter : int
        Maximum number of iterations.

    Returns
    -------
    weights : ndarray of shape (n,)
        The minimiser.
    is_solved : bool
        Whether `tol` was reached.
    """
    sizes = np.maximum(np.bincount(groups, minlength=len(totals)), 1)
    scales = np.bincount(groups, curvatures, minlength=len(totals)) / sizes
    metric = np.where(scales > 0, scales, 1.0)[groups]
    weights = (totals / sizes)[groups]
    gradient, step = product(weights) + linear, 1.0
    for _ in range(max_iter):
        # group sums are fixed: removing the group mean of the gradient avoids cancellation
        gradient = gradient - (np.bincount(groups, gradient, minlength=len(totals)) / sizes)[groups]
        direction = project_capped(weights - step * gradient / metric, groups, totals) - weights
        slope = gradient @ direction
        # the change scales with the step, so the tolerance does too
        if slope >= 0 or np.abs(direction).max() <= tol * min(1.0, step):
            return weights, True
        turned = product(direction)
        curvature = direction @ turned
        length = min(1.0, -slope / curvature) if curvature > 0 else 1.0
        weights = np.clip(weights + length * direction, 0, 1)
        gradient = gradient + length * turned
        step = direction @ (metric * direction) / curvature if curvature > 0 else 1.0
        step = min(max(step, 1e-4), 1e4)
    return weights, False
