"""Max-margin matrix of a bilinear form: a convex problem, by Newton's method."""

from __future__ import annotations

import numpy as np
from scipy.optimize import root_scalar
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from ilspace._warnings import warn

_RELATIVE_GRADIENT = 1e-8
"""Gradient norm at which to stop, relative to the one at zero."""

_MAX_NEWTON_STEPS = 200


def one_against_rest(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """One-vs-rest labels of the rows.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Classes of the rows, from 0.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of shape (n, n_classes)
        1 where the row is of the class, -1 elsewhere.
    """
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)


def slacks(scores: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Slack variables: how far scores fall short of the margin.

    Parameters
    ----------
    scores, signs : ndarray of shape (n, n_classes)
        Scores, and their one-vs-rest labels.

    Returns
    -------
    ndarray of shape (n, n_classes)
        Zero where the margin is met.
    """
    return np.maximum(0.0, 1.0 - signs * scores)


def max_margin_matrix(
    rows: np.ndarray,
    factors: np.ndarray,
    signs: np.ndarray,
    costs: np.ndarray,
    *,
    weight: float = 1.0,
    offsets: np.ndarray | float = 0.0,
    start: np.ndarray | None = None,
) -> np.ndarray:
    r"""Matrix whose bilinear form of rows and factors has the largest margins.

    .. math:: \min_M\tfrac w2\|M\|_F^2
              + \sum_{i,k} c_i\max(0, 1 - y_{ik}(o_{ik} + z_i^\top M f_k))^2

    Both steps of :class:`~ilspace.baselines.MMDT` have this form: the hyperplanes with :math:`f_k`
    a unit vector, the transform with :math:`f_k` a hyperplane. Strictly convex; solved by Newton's
    method in the span of the rows and factors, without their Kronecker products.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        Rows :math:`z_i`.
    factors : ndarray of shape (n_classes, q)
        Factors :math:`f_k`.
    signs : ndarray of shape (n, n_classes)
        Labels :math:`y_{ik}`, 1 or -1.
    costs : ndarray of shape (n,)
        Costs :math:`c_i`, positive.
    weight : float, default=1.0
        Weight w, positive.
    offsets : ndarray of shape (n, n_classes) or float, default=0.0
        Scores :math:`o_{ik}` to which the form is added.
    start : ndarray of shape (p, q), optional
        Where to start, by default at zero.

    Returns
    -------
    ndarray of shape (p, q)
        The matrix.
    """
    costs = costs[:, None]
    # the solution lies in the span of the rows and factors, and there, in singular directions,
    # the Hessian would be diagonal if all margins were violated
    left_sizes, left = np.linalg.svd(np.sqrt(costs) * rows, full_matrices=False)[1:]
    right_sizes, right = np.linalg.svd(factors, full_matrices=False)[1:]
    left, right = left.T, right.T
    curvatures = weight + 2 * np.outer(left_sizes**2, right_sizes**2)
    rows, factors = rows @ left, factors @ right
    matrix = np.zeros(curvatures.shape)

    def gradient_at(matrix: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return weight * matrix - 2 * rows.T @ (costs * signs * slacks(scores, signs)) @ factors

    def newton_direction(gradient: np.ndarray, scores: np.ndarray) -> np.ndarray:
        active_costs = np.where(signs * scores < 1, costs, 0.0)

        def curvature(flat: np.ndarray) -> np.ndarray:
            direction = flat.reshape(gradient.shape)
            change = active_costs * (rows @ direction @ factors.T)
            return (weight * direction + 2 * rows.T @ change @ factors).ravel()

        shape = (gradient.size, gradient.size)
        operator = LinearOperator(shape, matvec=curvature, dtype=np.float64)
        guess = LinearOperator(shape, matvec=lambda flat: flat / curvatures.ravel(), dtype=float)
        # a truncated solution is still a descent direction, and so is the first guess, for
        # curvatures so far apart that rounding leaves nothing of those between them
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            found = cg(operator, -gradient.ravel(), rtol=1e-2, M=guess)[0].reshape(gradient.shape)
        return found if np.isfinite(found).all() else -gradient / curvatures

    def exact_step(direction: np.ndarray, change: np.ndarray) -> float:
        # by the zero of the slope, which is more accurate than values where the weight is large
        def slope(step: float) -> float:
            lack = slacks(scores + step * change, signs)
            pull = weight * np.sum((matrix + step * direction) * direction)
            return pull - 2 * np.sum(costs * signs * lack * change)

        upper = 1.0
        while slope(upper) < 0:
            upper *= 2
        return root_scalar(slope, bracket=(0.0, upper)).root if slope(0.0) < 0 else 1.0

    aim = _RELATIVE_GRADIENT * np.linalg.norm(
        gradient_at(matrix, np.broadcast_to(offsets, signs.shape))
    )
    if start is not None:
        matrix = left.T @ start @ right
    scores = offsets + rows @ matrix @ factors.T
    gradient = gradient_at(matrix, scores)
    for _ in range(_MAX_NEWTON_STEPS):
        if np.linalg.norm(gradient) <= aim:
            break
        direction = newton_direction(gradient, scores)
        change = rows @ direction @ factors.T
        step = exact_step(direction, change)
        matrix, scores = matrix + step * direction, scores + step * change
        gradient = gradient_at(matrix, scores)
    else:
        warn(
            f"A step of MMDT stopped at a gradient of {np.linalg.norm(gradient):.1e}, more than "
            f"{aim:.1e}: scale the columns, for instance with "
            "sklearn.preprocessing.StandardScaler, or lower the costs.",
            ConvergenceWarning,
        )
    return left @ matrix @ right.T
