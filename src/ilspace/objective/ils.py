"""The objective of the invariant latent space: its terms, added up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, cast, runtime_checkable

from ilspace._typing import Array, Hinge, Pairs, Point
from ilspace.backend import array_namespace
from ilspace.objective.discrepancy import projected_discrepancy
from ilspace.objective.pair_loss import SmoothHinge
from ilspace.objective.regularizers import anchor_penalty, metric_penalty, slack_penalty


@dataclass(frozen=True)
class DomainData:
    """What the objective knows of one domain.

    Attributes
    ----------
    rows : array of shape (n, d)
        The labelled rows, centred.
    covariance : array of shape (d, d) or (d,)
        Covariance of all rows, labelled or not; a vector stands for a diagonal matrix.
    anchor : array of shape (d, p), optional
        Where the projection would rather stay.
    anchor_weight : float, default=0
        How strongly.
    """

    rows: Array
    covariance: Array
    anchor: Array | None = None
    anchor_weight: float = 0.0

    def restricted(self, rows: Array) -> DomainData:
        """The same domain with some of its labelled rows; its covariance stays that of all rows.

        Parameters
        ----------
        rows : array of int, shape (m,)
            Numbers of the labelled rows to keep.

        Returns
        -------
        DomainData
            For an objective over fewer pairs.
        """
        return replace(self, rows=array_namespace(self.rows).take(self.rows, rows, axis=0))


@runtime_checkable
class DistantPairs(Protocol):
    """Pairs of rows that are elsewhere: they are projected where they are."""

    def sum_projected(
        self, hinge: Hinge, projections: tuple[Array, ...], *, metric: Array
    ) -> tuple[Array, list[Array], Array]:
        """Sum the hinge over the pairs.

        Parameters
        ----------
        hinge : Hinge
            Loss of a margin violation.
        projections : tuple of array of shape (k, p)
            One a domain.
        metric : array of shape (p, p)
            The metric.

        Returns
        -------
        value : array of shape ()
            The sum.
        gradients : list of array of shape (k, p)
            Its gradients in the projections: new arrays, which the caller may overwrite.
        metric_gradient : array of shape (p, p)
            Its gradient in the metric.
        """
        ...


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
    are slacks, with one projection a domain. One domain alone has no statistical loss; of more
    than two, each is compared with the last.

    Attributes
    ----------
    domains : tuple of DomainData
        The source, then the target; or one domain alone.
    pairs : Pairs or DistantPairs
        Who is compared with whom: pairs of rows of ``concat([domain.rows for domain in domains])``,
        or pairs that have rows of their own.
    sharpness : float
        :math:`\beta`.
    trade_off : float, default=1
        :math:`\lambda`.
    metric_weight : float, default=1
        :math:`\mu`.
    slack_weight : float, default=1
        c; without effect where a point has no slacks.
    """

    domains: tuple[DomainData, ...]
    pairs: Pairs | DistantPairs
    sharpness: float
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
            One array of the same shape for each of `point`.
        """
        n_domains = len(self.domains)
        projections, metric = point[:n_domains], point[n_domains]
        log_slack = point[n_domains + 1] if len(point) > n_domains + 1 else None

        value, gradients, metric_gradient, slack_gradient = self._pair_loss(
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

    @cached_property
    def _distant_pairs(self) -> DistantPairs | None:
        """The pairs, if they are elsewhere; found out once, for it takes as long as a product."""
        return self.pairs if isinstance(self.pairs, DistantPairs) else None

    def _pair_loss(
        self, projections: tuple[Array, ...], metric: Array, log_slack: Array | None
    ) -> tuple[Array, list[Array], Array, Array | None]:
        hinge = SmoothHinge(self.sharpness)
        if self._distant_pairs is not None:
            return *self._distant_pairs.sum_projected(hinge, projections, metric=metric), None
        xp = array_namespace(metric)
        slack = None if log_slack is None else xp.exp(log_slack)
        blocks = [
            domain.rows @ projection
            for domain, projection in zip(self.domains, projections, strict=True)
        ]
        latent = blocks[0] if len(blocks) == 1 else xp.concat(blocks, axis=0)
        total = cast(Pairs, self.pairs).sum(hinge, latent, metric, slack)
        gradients, start = [], 0
        for domain in self.domains:
            stop = start + domain.rows.shape[0]
            gradients.append(domain.rows.mT @ total.latent_gradient[start:stop, :])
            start = stop
        slack_gradient = None if slack is None else total.slack_gradient * slack
        return total.value, gradients, total.metric_gradient, slack_gradient

    def _add_discrepancies(
        self, value: Array, gradients: list[Array], projections: tuple[Array, ...]
    ) -> Array:
        target = len(self.domains) - 1
        for i in range(target):
            discrepancy, source_slope, target_slope = projected_discrepancy(
                self.domains[i].covariance,
                self.domains[target].covariance,
                projections[i],
                projections[target],
            )
            value = value + self.trade_off * discrepancy
            gradients[i] += self.trade_off * source_slope
            gradients[target] += self.trade_off * target_slope
        return value
