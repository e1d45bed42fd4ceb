"""Third and fourth cumulants of the latent domains, and how far two domains differ in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ilspace._typing import Array, PowerMoments, ProjectedRows
from ilspace.backend import array_namespace, identity, like, spectral_map

_LEAST_VARIANCE = 1e-3
"""Least variance of a latent axis, as a share of their mean, that directions are scaled by."""


def cumulants(moments: PowerMoments, directions: Array) -> tuple[Array, Array, Array, Array]:
    r"""Third and fourth cumulants of centred rows along some directions, and their gradients.

    With :math:`u = d^\top x` and :math:`m_j = E[u^j]`

    .. math:: \kappa_3 = m_3, \qquad \kappa_4 = m_4 - 3m_2^2,

    which vanish for a Gaussian.

    Parameters
    ----------
    moments : PowerMoments
        :math:`E[xu]`, :math:`E[xu^2]` and :math:`E[xu^3]` for each direction.
    directions : array of shape (k, n_directions)
        The directions d.

    Returns
    -------
    third, fourth : array of shape (n_directions,)
        The cumulants.
    third_gradient, fourth_gradient : array of shape (k, n_directions)
        Their gradients in the directions, :math:`3E[xu^2]` and
        :math:`4E[xu^3] - 12m_2E[xu]`.
    """
    xp = array_namespace(directions)
    m2, m3, m4 = (xp.sum(directions * each, axis=0) for each in moments)
    slope = 4 * moments.third - (12 * m2)[None, :] * moments.first
    return m3, m4 - 3 * m2**2, 3 * moments.second, slope


def cumulant_discrepancy(
    source: PowerMoments,
    target: PowerMoments,
    source_directions: Array,
    target_directions: Array,
) -> tuple[Array, Array, Array]:
    r"""Squared differences of third and fourth cumulants, and their gradients.

    .. math:: \frac1K\sum_{k=1}^K \frac{(\kappa_{3,k}^s - \kappa_{3,k}^t)^2}{12}
       + \frac{(\kappa_{4,k}^s - \kappa_{4,k}^t)^2}{48}

    For each direction this is the leading term of the Kullback-Leibler divergence of two
    nearly Gaussian densities of the same mean and of variance 1 :cite:p:`comon1994`.

    Parameters
    ----------
    source, target : PowerMoments
        Of both domains, along their directions.
    source_directions, target_directions : array of shape (k, n_directions)
        The directions of both domains; the widths k may differ.

    Returns
    -------
    value : array of shape ()
        The discrepancy.
    source_gradient, target_gradient : array of shape (k, n_directions)
        Its gradients in the directions.
    """
    xp = array_namespace(source_directions)
    n_directions = source_directions.shape[1]
    third, fourth, third_slope, fourth_slope = cumulants(source, source_directions)
    other_third, other_fourth, *other_slopes = cumulants(target, target_directions)
    third, fourth = third - other_third, fourth - other_fourth
    value = xp.sum(third**2) / (12 * n_directions) + xp.sum(fourth**2) / (48 * n_directions)
    third, fourth = third[None, :] / (6 * n_directions), fourth[None, :] / (24 * n_directions)
    return (
        value,
        third * third_slope + fourth * fourth_slope,
        -third * other_slopes[0] - fourth * other_slopes[1],
    )


@dataclass(frozen=True)
class CumulantTerm:
    r"""Discrepancy of the higher cumulants of each source and the target.

    A latent direction a is the direction Wa of the rows of a domain with projection W. All that is
    needed of the rows, wherever they are, are sums of :math:`xu^j` over them.

    Attributes
    ----------
    rows : ProjectedRows
        All rows of all domains, labelled or not.
    directions : array of shape (p, n_directions)
        Directions in the latent space, see :func:`latent_directions`.
    """

    rows: ProjectedRows
    directions: Array

    def __call__(
        self, projections: Sequence[Array], shares: Sequence[float]
    ) -> tuple[Array, list[Array]]:
        """Sum of the discrepancies, and its gradient in each projection.

        Parameters
        ----------
        projections : sequence of array of shape (k, p)
            One per domain, the target last.
        shares : sequence of float
            One per source.

        Returns
        -------
        value : array of shape ()
            The weighted sum over the sources.
        gradients : list of array of shape (k, p)
            One per domain.
        """
        turned = [each @ self.directions for each in projections]
        *sources, target = self.rows(turned)
        value, target_slope, gradients = 0.0, 0.0, []
        for share, source, directions in zip(shares, sources, turned[:-1], strict=True):
            own, slope, other = cumulant_discrepancy(source, target, directions, turned[-1])
            value, target_slope = value + share * own, target_slope + share * other
            gradients.append(share * slope @ self.directions.mT)
        return value, [*gradients, target_slope @ self.directions.mT]


def latent_directions(covariance: Array, n_sketched: int) -> Array:
    r"""Directions of the latent space along which cumulants are compared.

    The axes, each divided by its standard deviation; then random directions: with
    :math:`C^{1/2}` the root of the covariance and g uniform on the unit sphere,
    :math:`C^{-1/2}g`. Along each of them the rows have variance 1. Cumulants along a direction are
    a homogeneous polynomial in it, whose coefficients are the joint cumulants of all axes: random
    directions are a sketch of these tensors, of :math:`p^3` and :math:`p^4` entries.

    Parameters
    ----------
    covariance : array of shape (p, p)
        Of the target in the latent space, at the initial projection.
    n_sketched : int
        Number of random directions. They are the same for every call.

    Returns
    -------
    array of shape (p, p + n_sketched)
        The directions.
    """
    xp, p = array_namespace(covariance), covariance.shape[0]
    variances = xp.linalg.diagonal(covariance)
    least = _LEAST_VARIANCE * float(xp.mean(variances))

    def inverse_roots(values: Array) -> Array:
        return 1 / xp.sqrt(xp.maximum(values, xp.full_like(values, least)))

    axes = identity(p, covariance) * inverse_roots(variances)[None, :]
    if not n_sketched:
        return axes
    drawn = np.random.default_rng(0).standard_normal((p, n_sketched))
    drawn = like(drawn / np.linalg.norm(drawn, axis=0), covariance)
    return xp.concat([axes, spectral_map(covariance, inverse_roots) @ drawn], axis=1)
