"""Terms that look at the parameters alone."""

from __future__ import annotations

from ilspace._typing import Array
from ilspace.backend import array_namespace, dot, identity, logdet_and_inverse


def metric_penalty(metric: Array) -> tuple[Array, Array]:
    r"""Stein divergence of the metric from the identity, a dimension, and its gradient.

    .. math:: r(M) = \tfrac1p\,\delta(M, I_p)

    Parameters
    ----------
    metric : array of shape (p, p)
        Symmetric positive definite.

    Returns
    -------
    value : array of shape ()
        The penalty.
    gradient : array of shape (p, p)
        :math:`((M + I)^{-1} - \tfrac12M^{-1})/p`.
    """
    # the Stein divergence, without the determinant and the inverse of the identity
    p = metric.shape[0]
    (joint, joint_inverse), (own, own_inverse) = logdet_and_inverse(
        (metric + identity(p, metric)) / 2, metric
    )
    return (joint - own / 2) / p, (joint_inverse - own_inverse) / (2 * p)


def slack_penalty(log_slack: Array) -> tuple[Array, Array]:
    r"""Euclidean norm of the slacks, a pair, and its gradient in their logarithms.

    .. math:: \tfrac{1}{N_p}\|\epsilon\|_2, \qquad \epsilon_k = e^{v_k} > 0

    Parameters
    ----------
    log_slack : array of shape (n_pairs,)
        The logarithms v.

    Returns
    -------
    value : array of shape ()
        The penalty.
    gradient : array of shape (n_pairs,)
        :math:`\epsilon_k^2 / (N_p\|\epsilon\|_2)`.
    """
    xp = array_namespace(log_slack)
    n_pairs = log_slack.shape[0]
    squares = xp.exp(2 * log_slack)
    norm = xp.sqrt(xp.sum(squares))
    return norm / n_pairs, squares / (n_pairs * norm)


def anchor_penalty(projection: Array, anchor: Array) -> tuple[Array, Array]:
    r"""Squared distance of a projection from where it started, a dimension, and its gradient.

    .. math:: \tfrac1p\|W - W_0\|_F^2

    Not in the paper: it keeps the minimiser close to a start that is known to be good, where
    the labels are too few to determine a whole projection.

    Parameters
    ----------
    projection, anchor : array of shape (d, p)
        :math:`W` and :math:`W_0`.

    Returns
    -------
    value : array of shape ()
        The penalty.
    gradient : array of shape (d, p)
        :math:`2(W - W_0)/p`.
    """
    p = projection.shape[1]
    offset = projection - anchor
    return dot(offset, offset) / p, offset * (2 / p)
