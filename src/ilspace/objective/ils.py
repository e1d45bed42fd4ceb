"""The objective of the invariant latent space: the sum of its terms."""

from __future__ import annotations

from dataclasses import dataclass

from ilspace._typing import Array, PairTerm, Point
from ilspace.objective.terms import (
    anchor_penalty,
    metric_penalty,
    projected_discrepancy,
    slack_penalty,
)


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
    """

    covariance: Array
    anchor: Array | None = None
    anchor_weight: float = 0.0


@dataclass(frozen=True)
class ILSObjective:
    r"""Discriminative loss, statistical loss and regularisers of the latent space.

    .. math::

       \mathcal L = \sum_k w_k\,\ell_\beta(y_k(d_k - 1) - \epsilon_k)
         + \tfrac{\mu}{p}\,\delta(M, I) + \tfrac{c}{N_p}\|\epsilon\|_2
         + \tfrac\lambda p\,\delta(W_s^\top\Sigma_sW_s, W_t^\top\Sigma_tW_t)
         + \sum_{i}\tfrac{a_i}{p}\|W_i - W_{i,0}\|_F^2

    With equal weights, :math:`\mu = c = 1` and no anchors this is the paper's objective. A point
    is the tuple ``(*projections, metric)``, or ``(*projections, metric, log_slack)`` if there
    are slacks, with one projection per domain. One domain alone has no statistical loss; of more
    than two, each is compared with the last.

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
    """

    domains: tuple[DomainData, ...]
    pair_loss: PairTerm
    trade_off: float = 1.0
    metric_weight: float = 1.0
    slack_weight: float = 1.0

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
        target, weight = len(self.domains) - 1, self.trade_off
        for i in range(target):
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
