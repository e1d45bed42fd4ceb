"""From checked rows to an optimization problem, and back to maps of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ilspace._typing import Array, Manifold, Pairs
from ilspace.adapters.distant_pairs import PairsOnWorkers
from ilspace.adapters.domain_rows import DomainRows
from ilspace.adapters.placement import Placement, place
from ilspace.adapters.settings import Settings
from ilspace.adapters.starts import kissme
from ilspace.adapters.streaming import LabelledRows
from ilspace.backend import array_namespace, like, to_numpy
from ilspace.manifolds import SPD, Euclidean, Product, Stiefel
from ilspace.objective import DomainData, ILSObjective
from ilspace.optimizers import Problem, Solution
from ilspace.pairs import SampledPairs, all_pairs, sample_pairs
from ilspace.scale import RowSpace
from ilspace.scale.running import Moments

if TYPE_CHECKING:
    from ilspace.adapters.distributed import DistantDomains
    from ilspace.scale.dask_rows import CompleteMoments

_FIRST_SLACK = 0.1
"""Slack of each pair at the start, a tenth of the margin."""


@dataclass(frozen=True)
class Assembly:
    """An optimization problem, and what its numbers mean outside.

    Attributes
    ----------
    problem : Problem
        What to minimise.
    start : tuple of array
        Where to begin.
    spaces : tuple of RowSpace
        Coordinates of each domain.
    scales : tuple of float
        What the centred rows of each domain are multiplied by.
    sharpness : float
        The sharpness that is used.
    streamed : LabelledRows, optional
        The labelled rows, where the problem shows them in blocks.
    """

    problem: Problem
    start: tuple[Array, ...]
    spaces: tuple[RowSpace, ...]
    scales: tuple[float, ...]
    sharpness: float
    streamed: LabelledRows | None = None

    def lift(self, point: tuple[Array, ...]) -> tuple[Array, ...]:
        """Express a point in the columns of the data.

        Parameters
        ----------
        point : tuple of array
            Projections of coordinates, metric, and slacks if there are any.

        Returns
        -------
        tuple of array
            The same with projections of rows.
        """
        n = len(self.spaces)
        lifted = (space.lift(each) for space, each in zip(self.spaces, point[:n], strict=True))
        return (*lifted, *point[n:])

    def lifted(self, solution: Solution) -> Solution:
        """Express a solution in the columns of the data.

        Parameters
        ----------
        solution : Solution
            Of the problem.

        Returns
        -------
        Solution
            The same with projections of rows.
        """
        return solution._replace(point=self.lift(solution.point))


def assemble(
    domains: tuple[DomainRows, ...],
    settings: Settings,
    *,
    n_components: int | None,
    shares_features: bool,
    rng: np.random.Generator,
    moments: tuple[Moments | CompleteMoments, ...] | None = None,
    distant: DistantDomains | None = None,
) -> Assembly:
    """Turn rows and settings into a problem on a product of manifolds.

    Parameters
    ----------
    domains : tuple of DomainRows
        The source, then the target; or one domain alone.
    settings : Settings
        What the problem is to be.
    n_components : int or None
        Dimension of the latent space.
    shares_features : bool
        Whether the columns of the domains mean the same.
    rng : Generator
        Source of randomness.
    moments : tuple of Moments, optional
        Of all rows of each domain, where `domains` does not hold them all.
    distant : DistantDomains, optional
        Labelled rows that are elsewhere; `domains` then holds the weighted means of the classes.

    Returns
    -------
    Assembly
        Ready to solve.
    """
    placement = place(
        domains,
        settings,
        n_components=n_components,
        shares_features=shares_features,
        moments=moments,
    )
    starts, reference = placement.starts, placement.starts[0]
    placed = None if distant is None else distant.placed(placement.spaces)
    statistics = placement.statistics() if placed is None else placed.statistics(placement.gained)
    scale = _data_scale(statistics, settings.margin_scale)
    scales = (placement.gain * scale, scale)[: len(domains)]
    sharpness = _sharpness(settings.sharpness, scale**2 * statistics.similar_std)
    data = tuple(
        DomainData(
            _scaled(rows, factor),
            factor**2 * space.shrunk_covariance(settings.shrinkage),
            start,
            anchor,
        )
        for factor, rows, space, start, anchor in zip(
            scales, placement.labelled, placement.spaces, starts, settings.anchors, strict=False
        )
    )
    make = partial(
        ILSObjective,
        sharpness=sharpness,
        trade_off=settings.trade_off,
        metric_weight=settings.metric_weight,
        slack_weight=settings.slack_weight or 0.0,
    )
    factors: list[Manifold] = [
        Stiefel(*start.shape, retraction=settings.retraction)
        if settings.orthonormal
        else Euclidean(start.shape)
        for start in starts
    ]
    factors.append(SPD(placement.n_components))
    metric = _first_metric(settings.metric_start, statistics, placement.n_components)
    # a start may be one array for both projections, and the user's for the metric; what is learned
    # is nobody else's, even where no step is taken
    point = [*map(_copied, starts), _copied(like(metric, reference))]
    blocks = streamed = None
    if placed is not None:
        objective = make(data, PairsOnWorkers(placed, scales))
    elif settings.block_size is None:
        chosen = _choose_pairs(settings.pairs, placement, rng)
        objective = make(data, chosen)
        if settings.slack_weight is not None and isinstance(chosen, SampledPairs):
            factors.append(Euclidean((chosen.n_pairs,)))
            point.append(like(np.full(chosen.n_pairs, np.log(_FIRST_SLACK)), reference))
    else:
        streamed = LabelledRows(data, placement.codes, placement.weights, make, reference)
        objective, blocks = streamed.judge_and_blocks(settings.block_size, rng)
    manifold = Product(tuple(factors), _mobility(settings, len(domains), len(factors)))
    problem = Problem(manifold, objective, blocks)
    return Assembly(problem, tuple(point), placement.spaces, scales, sharpness, streamed)


def _copied(array: Array) -> Array:
    return array_namespace(array).asarray(array, copy=True)


def _scaled(rows: Array, factor: float) -> Array:
    """Multiply rows in place, which nobody else holds: a second copy might not fit."""
    rows *= factor
    return rows


def _data_scale(statistics, margin_scale: float) -> float:
    """Factor that gives similar pairs the wanted mean squared distance."""
    mean = statistics.similar_mean
    if not (np.isfinite(mean) and mean > 0):  # no similar pairs, or equal rows only
        mean = np.trace(statistics.dissimilar_covariance)
    return float(np.sqrt(margin_scale / mean)) if mean > 0 else 1.0


def _choose_pairs(pairs: str, placement: Placement, rng: np.random.Generator) -> Pairs:
    codes, weights, reference = placement.codes, placement.weights, placement.starts[0]
    if pairs == "all":
        return all_pairs(codes, weights, reference=reference, n_components=placement.n_components)
    listed = sample_pairs(codes, rng)
    return SampledPairs(*listed, weights, n_rows=len(codes), reference=reference)


def _sharpness(asked_for: float | str, spread: float) -> float:
    """Sharpness of the hinge: by default it bends over the spread of similar distances."""
    if not isinstance(asked_for, str):
        return float(asked_for)
    return float(1 / spread) if np.isfinite(spread) and spread > 0 else 1.0


def _first_metric(metric_start, statistics, p: int) -> np.ndarray:
    if isinstance(metric_start, str):
        return np.eye(p) if metric_start == "identity" else kissme(statistics)
    given = np.asarray(to_numpy(metric_start), dtype=float)
    if given.shape != (p, p) or not np.isfinite(given).all() or not np.allclose(given, given.T):
        raise ValueError(
            f"metric_start must be a symmetric, finite array of shape ({p}, {p}), but has shape "
            f"{given.shape}{'' if given.shape != (p, p) else ' and is not'}."
        )
    lowest = np.linalg.eigvalsh(given)[0]
    if not lowest > 0:
        raise ValueError(
            f"metric_start must be positive definite, but has the eigenvalue {lowest:.3g}: add a "
            "multiple of the identity."
        )
    return given


def _mobility(settings: Settings, n_domains: int, n_factors: int) -> tuple[float, ...]:
    """Mobilities of the factors there are: with one domain there is no target projection."""
    mobility = settings.mobility
    if mobility is None:
        # a preconditioner: the second derivative of an anchor is 2 a / p, that of the metric's
        # regulariser at the identity is μ / (4 p), an eighth of it
        stiffness = (*settings.anchors, settings.metric_weight / 8, 0.0)
        mobility = tuple(1 / (1 + each) for each in stiffness)
    source, target, metric, slack = mobility
    return (*(source, target)[:n_domains], metric, slack)[:n_factors]
