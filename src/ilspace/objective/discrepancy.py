"""How much the second-order statistics of two domains differ in the latent space."""

from __future__ import annotations

from ilspace._typing import Array
from ilspace.backend import logdet_and_inverse


def stein_divergence(a: Array, b: Array, /) -> tuple[Array, Array, Array]:
    r"""Stein divergence of two positive definite matrices, and its gradient in each.

    .. math:: \delta(A, B) = \log\det\tfrac{A + B}{2} - \tfrac12\log\det(AB)

    Symmetric, zero only at :math:`A = B`, blind to congruence :cite:p:`sra2016`.

    Parameters
    ----------
    a, b : array of shape (p, p)
        Symmetric positive definite; the caller vouches for it.

    Returns
    -------
    value : array of shape ()
        The divergence.
    gradient_a, gradient_b : array of shape (p, p)
        :math:`(A + B)^{-1} - \tfrac12 A^{-1}`, and the same for B.
    """
    (joint, joint_inverse), *own = logdet_and_inverse((a + b) / 2, a, b)
    value = joint - sum(size for size, _ in own) / 2
    gradient_a, gradient_b = ((joint_inverse - inverse) / 2 for _, inverse in own)
    return value, gradient_a, gradient_b


def covariance_product(covariance: Array, projection: Array) -> Array:
    """Multiply a covariance, full or diagonal, with a projection.

    Parameters
    ----------
    covariance : array of shape (d, d) or (d,)
        A vector stands for a diagonal matrix.
    projection : array of shape (d, p)
        The projection.

    Returns
    -------
    array of shape (d, p)
        The product.
    """
    if covariance.ndim == 1:
        return covariance[:, None] * projection
    return covariance @ projection


def projected_discrepancy(
    source_cov: Array, target_cov: Array, source_projection: Array, target_projection: Array
) -> tuple[Array, Array, Array]:
    r"""Stein divergence of the projected covariances, a dimension, and its gradients.

    .. math:: \mathcal L_u = \tfrac1p\,
       \delta(W_s^\top\Sigma_sW_s,\ W_t^\top\Sigma_tW_t)

    Parameters
    ----------
    source_cov, target_cov : array of shape (d, d) or (d,)
        Covariances of the two domains; a vector stands for a diagonal matrix. The widths d of
        the domains may differ.
    source_projection, target_projection : array of shape (d, p)
        The projections :math:`W_s, W_t`, of full column rank.

    Returns
    -------
    value : array of shape ()
        The discrepancy.
    source_gradient, target_gradient : array of shape (d, p)
        Euclidean gradients, :math:`\tfrac2p\Sigma_sW_s\nabla_A\delta` and the like.
    """
    p = source_projection.shape[1]
    source_spread = covariance_product(source_cov, source_projection)
    target_spread = covariance_product(target_cov, target_projection)
    value, source_slope, target_slope = stein_divergence(
        source_projection.mT @ source_spread, target_projection.mT @ target_spread
    )
    return (
        value / p,
        source_spread @ (source_slope * (2 / p)),
        target_spread @ (target_slope * (2 / p)),
    )
