"""The objective of the invariant latent space: its terms, and their sum.

Each term returns its value and its Euclidean gradient; none knows of a manifold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ilspace._typing import Array, PairTerm, Point
from ilspace.backend import array_namespace, dot, identity, logdet_and_inverse
from ilspace.objective.cumulants import CumulantTerm

_BLUNT = 8.0
"""Sharpness up to which the slope at distance 0 is far from its limit."""


@dataclass(frozen=True)
class SmoothHinge:
    r"""Generalised logistic function, the smooth form of the hinge.

    .. math:: \ell_\beta(v) = \tfrac1\beta \log(1 + e^{\beta v}),
       \qquad v = y\,(d - 1) - \epsilon

    For a similar pair (y = 1) the violation v grows with the squared distance d beyond the
    margin 1, for a dissimilar pair (y = -1) it grows as d falls below it; the slack
    :math:`\epsilon` permits some of it. This is the paper's
    :math:`\ell_\beta(M, y, z_1 - z_2, 1 + y\epsilon)`, since :math:`y^2 = 1`.

    Attributes
    ----------
    sharpness : float
        :math:`\beta > 0`; the hinge itself in the limit of large values.
    """

    sharpness: float

    def __call__(self, violation: Array) -> tuple[Array, Array]:
        r"""Loss of each pair, and its slope :math:`\sigma(\beta v)`.

        Parameters
        ----------
        violation : array of any shape
            Margin violations v.

        Returns
        -------
        value : array of the same shape
            The losses.
        slope : array of the same shape
            Their derivatives in v, between 0 and 1.
        """
        xp = array_namespace(violation)
        # one tanh gives both, and cannot overflow: σ(s) = (1 + tanh(s/2)) / 2, and
        # log(1 + e^s) = max(s, 0) + log 2 - log(1 + |tanh(s/2)|)
        bent = xp.tanh((self.sharpness / 2) * violation)
        value = xp.log(1 + xp.abs(bent))
        value *= -1 / self.sharpness
        value += math.log(2) / self.sharpness
        value += xp.maximum(violation, xp.zeros_like(violation))
        bent /= 2
        bent += 0.5
        return value, bent

    def uniform_sum(
        self,
        excess: np.ndarray,
        pull: float,
        out: np.ndarray,
        others: tuple[np.ndarray, float] | None = None,
    ) -> tuple[float, np.ndarray]:
        r"""Do the same as :meth:`weighted_sum` for pairs of one kind and weight, in memory given.

        Parameters
        ----------
        excess : ndarray of shape (n, m)
            By how much the squared distances exceed the margin, :math:`d - 1`; overwritten.
        pull : float
            Half the weight of each pair, positive if they are similar, negative if they are
            dissimilar; not 0.
        out : ndarray of shape (n, m)
            Receives the slopes.
        others : tuple of ndarray and float, optional
            Flat positions of a few pairs of another kind, and their pull.

        Returns
        -------
        value : float
            :math:`\sum w\,\ell_\beta(y(d - 1))`.
        slopes : ndarray of shape (n, m)
            `out`; times the magnitude of `pull` they are those of :meth:`weighted_sum`.
        """
        sign, half = math.copysign(1.0, pull), self.sharpness / 2
        few = None if others is None else excess.take(others[0])
        excess *= half
        np.tanh(excess, out=out)
        losses = math.nan
        if sign < 0 and self.sharpness <= _BLUNT:
            # ℓ(-e) = -log((1 + t)/2)/β: exact, as t = tanh(βe/2) is not close to -1 for e ≥ -1
            out += 1
            lowest = 1 + math.tanh(-1.01 * half)
            losses = (math.log(2) * out.size - _sum_of_logs(out, lowest)) / half
            if others is None and math.isfinite(losses):
                out -= 2
                return abs(pull) * losses, out
            out -= 1
        if not math.isfinite(losses):
            losses = sign / half * float(excess.sum()) + float(np.abs(excess).sum()) / half
            grown = np.abs(out, out=excess)
            grown += 1
            losses += (math.log(2) * out.size - _sum_of_logs(grown, 1.0)) / half
        value = abs(pull) * losses
        if others is None or few is None:
            out += sign
            return value, out
        positions, other = others
        slopes = out.take(positions)
        both = np.abs(few) - np.log((1 + np.abs(slopes)) / 2) / half
        value += (abs(other) - abs(pull)) * float(both.sum())
        value += (other - pull) * float(few.sum())
        slopes += math.copysign(1.0, other)
        slopes *= abs(other / pull)
        out += sign
        out.put(positions, slopes)
        return value, out

    def weighted_sum(self, excess: Array, pulls: Array) -> tuple[Array, Array]:
        r"""Weighted sum of the losses of many pairs, and its slope in each squared distance.

        The same as :meth:`__call__` at :math:`v = y(d - 1)`, summed, in fewer passes over the
        pairs.

        Parameters
        ----------
        excess : array of any shape
            By how much the squared distances exceed the margin, :math:`d - 1`.
        pulls : array of the same shape
            Half the weight w of each pair, with its sign y: positive for similar pairs, negative
            for dissimilar ones.

        Returns
        -------
        value : array of shape ()
            :math:`\sum w\,\ell_\beta(y(d - 1))`.
        slopes : array of the same shape
            :math:`yw\,\sigma(\beta y(d - 1))`.
        """
        xp = array_namespace(excess)
        # with e = d - 1 and t = tanh(βe/2), where similar or dissimilar is only a sign:
        # ℓ(ye) = (ye + |e|)/2 - log((1 + |t|)/2)/β, and its slope in d is (y + t)/2
        bent = xp.tanh((self.sharpness / 2) * excess)
        halves = xp.abs(pulls)
        rest = xp.abs(bent)
        rest *= 0.5
        rest += 0.5
        value = dot(pulls, excess) + dot(halves, xp.abs(excess))
        value = value - (2 / self.sharpness) * dot(halves, xp.log(rest))
        bent *= halves
        bent += pulls
        return value, bent


def _sum_of_logs(numbers: np.ndarray, lowest: float) -> float:
    """Sum of the logarithms of numbers from `lowest` to 2, from products of some of them.

    Not finite where a number is so much lower that a product is too small.
    """
    kind = np.finfo(numbers.dtype)
    smallest = math.log(kind.tiny) / min(math.log(lowest), -1e-3)
    n_rows = max(1, int(min(smallest, math.log2(kind.max) - 1)))
    total = 0.0
    for start in range(0, len(numbers), n_rows):
        product = np.multiply.reduce(numbers[start : start + n_rows], axis=0)
        if not product.min() >= kind.tiny:
            return math.nan
        total += float(np.log(product, out=product).sum())
    return total


def stein_divergence(a: Array, b: Array | None = None, /) -> tuple[Array, Array, Array]:
    r"""Stein divergence of two positive definite matrices, and its gradient in each.

    .. math:: \delta(A, B) = \log\det\tfrac{A + B}{2} - \tfrac12\log\det(AB)

    Symmetric, zero only at :math:`A = B`, invariant under congruence :cite:p:`sra2016`.

    Parameters
    ----------
    a : array of shape (p, p)
        Symmetric positive definite; not checked.
    b : array of shape (p, p), optional
        Likewise; by default the identity, which has no gradient.

    Returns
    -------
    value : array of shape ()
        The divergence.
    gradient_a, gradient_b : array of shape (p, p)
        :math:`(A + B)^{-1} - \tfrac12 A^{-1}`, and the same for B; None where B was not given.
    """
    given = (a,) if b is None else (a, b)
    middle = (a + (identity(a.shape[0], a) if b is None else b)) / 2
    (joint, joint_inverse), *own = logdet_and_inverse(middle, *given)
    value = joint - sum(size for size, _ in own) / 2
    gradients = [(joint_inverse - inverse) / 2 for _, inverse in own]
    return value, gradients[0], None if b is None else gradients[1]


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
    r"""Stein divergence of the projected covariances per dimension, and its gradients.

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


def metric_penalty(metric: Array) -> tuple[Array, Array]:
    r"""Stein divergence of the metric from the identity per dimension, and its gradient.

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
    p = metric.shape[0]
    value, gradient, _ = stein_divergence(metric)
    return value / p, gradient / p


def slack_penalty(log_slack: Array) -> tuple[Array, Array]:
    r"""Euclidean norm of the slacks per pair, and its gradient in their logarithms.

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
    r"""Squared distance of a projection from its initial value per dimension, and its gradient.

    .. math:: \tfrac1p\|W - W_0\|_F^2

    Not in the paper: it keeps the minimiser close to an initialisation that is known to be good,
    where the labels are too few to determine a whole projection.

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


@dataclass(frozen=True)
class DomainData:
    """Data of one domain in the objective, besides its labelled rows.

    Attributes
    ----------
    covariance : array of shape (d, d) or (d,)
        Covariance of all rows, labelled or not; a vector stands for a diagonal matrix.
    anchor : array of shape (d, p), optional
        Point toward which the projection is regularised.
    anchor_weight : float, default=0
        Weight of that regulariser.
    share : float, default=1
        Of a source: its share in the discrepancy to the target.
    """

    covariance: Array
    anchor: Array | None = None
    anchor_weight: float = 0.0
    share: float = 1.0


@dataclass(frozen=True)
class ILSObjective:
    r"""Discriminative loss, statistical loss and regularisers of the latent space.

    .. math::

       \mathcal L &= \sum_k w_k\,\ell_\beta(y_k(d_k - 1) - \epsilon_k)
         + \tfrac{\mu}{p}\,\delta(M, I) + \tfrac{c}{N_p}\|\epsilon\|_2 \\
         &\quad + \tfrac\lambda p\sum_s\pi_s\,
           \delta(W_s^\top\Sigma_sW_s, W_t^\top\Sigma_tW_t)
         + \eta\sum_s\pi_s\,\mathcal C(W_s, W_t)
         + \sum_{i}\tfrac{a_i}{p}\|W_i - W_{i,0}\|_F^2

    With one source of share :math:`\pi_s = 1`, equal weights, :math:`\mu = c = 1`,
    :math:`\eta = 0` and no anchors this is the paper's objective; :math:`\mathcal C` is the
    discrepancy of third and fourth cumulants, :func:`cumulant_discrepancy`. A point is the tuple
    ``(*projections, metric)``, or ``(*projections, metric, log_slack)`` if there are slacks, with
    one projection per domain. One domain alone has no statistical loss; of more than two, each is
    compared with the last.

    Attributes
    ----------
    domains : tuple of DomainData
        The sources, then the target; or one domain alone.
    pair_loss : PairTerm
        Loss over the pairs of labelled rows, with one projection per domain.
    trade_off : float, default=1
        :math:`\lambda`.
    metric_weight : float, default=1
        :math:`\mu`.
    slack_weight : float, default=1
        c; ignored where a point has no slacks.
    moment_weight : float, default=0
        :math:`\eta`.
    cumulant_loss : CumulantTerm, optional
        Discrepancy of the higher cumulants; needed where `moment_weight` is positive.
    """

    domains: tuple[DomainData, ...]
    pair_loss: PairTerm
    trade_off: float = 1.0
    metric_weight: float = 1.0
    slack_weight: float = 1.0
    moment_weight: float = 0.0
    cumulant_loss: CumulantTerm | None = None

    def __call__(self, point: Point) -> tuple[Array, Point]:
        """Value and Euclidean gradient.

        Parameters
        ----------
        point : tuple of array
            The projections, the metric and, optionally, the logarithms of the slacks.

        Returns
        -------
        value : array of shape ()
            The objective.
        gradient : tuple of array
            One array per entry of `point`, of the same shape.
        """
        n_domains = len(self.domains)
        projections, metric = point[:n_domains], point[n_domains]
        log_slack = point[n_domains + 1] if len(point) > n_domains + 1 else None

        value, gradients, metric_gradient, slack_gradient = self.pair_loss(
            projections, metric, log_slack
        )
        if self.metric_weight:
            penalty, slope = metric_penalty(metric)
            value = value + self.metric_weight * penalty
            metric_gradient = metric_gradient + self.metric_weight * slope
        if self.trade_off:
            value = self._add_discrepancies(value, gradients, projections)
        if self.moment_weight and self.cumulant_loss is not None and n_domains > 1:
            shares = [each.share for each in self.domains[:-1]]
            penalty, slopes = self.cumulant_loss(projections, shares)
            value = value + self.moment_weight * penalty
            for i, slope in enumerate(slopes):
                gradients[i] += self.moment_weight * slope
        for i, (domain, projection) in enumerate(zip(self.domains, projections, strict=True)):
            if domain.anchor is not None and domain.anchor_weight:
                penalty, slope = anchor_penalty(projection, domain.anchor)
                value = value + domain.anchor_weight * penalty
                gradients[i] += domain.anchor_weight * slope
        if log_slack is None:
            return value, (*gradients, metric_gradient)
        penalty, slope = slack_penalty(log_slack)
        value = value + self.slack_weight * penalty
        slack_gradient = slack_gradient + self.slack_weight * slope
        return value, (*gradients, metric_gradient, slack_gradient)

    def _add_discrepancies(
        self, value: Array, gradients: list[Array], projections: tuple[Array, ...]
    ) -> Array:
        target = len(self.domains) - 1
        for i in range(target):
            weight = self.trade_off * self.domains[i].share
            discrepancy, source_slope, target_slope = projected_discrepancy(
                self.domains[i].covariance,
                self.domains[target].covariance,
                projections[i],
                projections[target],
            )
            value = value + weight * discrepancy
            gradients[i] += weight * source_slope
            gradients[target] += weight * target_slope
        return value
