"""From checked domains and settings to an optimization problem on a product manifold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ilspace._typing import Array, Manifold, PairTerm
from ilspace.backend import array_namespace, like, to_numpy
from ilspace.domains import Domains
from ilspace.ils.init import (
    FILLING_AXES,
    DomainView,
    initial_projections,
    kissme,
    resolve_init,
    source_gain,
)
from ilspace.ils.settings import ObjectiveSettings
from ilspace.manifolds import SPD, Euclidean, Product, Stiefel
from ilspace.objective import (
    CumulantTerm,
    DomainData,
    ILSObjective,
    SmoothHinge,
    latent_directions,
)
from ilspace.objective.ils import covariance_product
from ilspace.optimizers import Problem
from ilspace.pairs import LabelledRows, PairStatistics
from ilspace.scale import RowSpace

DEFAULT_COMPONENTS = 30
"""Dimension of the latent space for domains of the same columns; the paper has 20."""

DEFAULT_COMPONENTS_ACROSS = 20
"""The same for domains of different columns, where only class means can be aligned."""

DEFAULT_COMPONENTS_UNSEEN = 60
"""The same for several sources without a target. Chosen among 30, 45, 60 and 79 on two draws of
each domain of Office+Caltech10 that no table reports, by the rules "ridge" and "nearest"."""

EVALUATION_ROWS = 2048
"""Number of labelled rows on which a stochastic iterate is evaluated: their pairs cost about as
much as its steps."""

_MANY_ROWS = 20_000
"""Labelled rows beyond which those in single precision stay there for a stochastic solver: a
mini-batch is converted when it is drawn. They lose what a change of basis rounds, some 1e-7."""

_N_POWERS = 3
"""Powers of the target's covariance that are kept where few of its rows are labelled."""

_FIRST_SLACK = 0.1
"""Initial slack of each pair, a tenth of the margin."""


@dataclass(frozen=True)
class ILSProblem:
    """An optimization problem in coordinates, and how they relate to the columns of the data.

    Attributes
    ----------
    problem : Problem
        What to minimise.
    start : tuple of array
        Initial point: projections of coordinates, metric, and slacks if there are any.
    spaces : tuple of RowSpace
        Coordinates of each domain.
    scales : tuple of float
        Factor of the centred rows of each domain.
    hinge : SmoothHinge
        The loss of a pair.
    rows : LabelledRows
        The labelled rows.
    """

    problem: Problem
    start: tuple[Array, ...]
    spaces: tuple[RowSpace, ...]
    scales: tuple[float, ...]
    hinge: SmoothHinge
    rows: LabelledRows

    @property
    def bases(self) -> tuple[Array, ...]:
        """The initial projections, in coordinates."""
        return self.start[: len(self.spaces)]

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

    def is_within_reach(self, point: tuple[Array, ...]) -> bool:
        """Tell whether a point is as it would be in all columns.

        Parameters
        ----------
        point : tuple of array
            Projections of coordinates, and more.

        Returns
        -------
        bool
            False where coordinates were cut off, and the point comes close to the edge.
        """
        for space, projection in zip(self.spaces, point, strict=False):
            m = space.n_edge
            if m:
                xp = array_namespace(projection)
                last, before = projection[-m:, :], projection[-2 * m : -m, :]
                sizes = [float(xp.linalg.vector_norm(each)) for each in (last, before)]
                # beyond the edge the coordinates go on to shrink as they did before it
                missing = sizes[0] ** 2 / max(*sizes, 1e-300)
                if not missing <= float(xp.finfo(projection.dtype).eps) ** 0.55:
                    return False
        return True

    def over_all_pairs(self) -> Problem:
        """The same problem over all pairs, where a stochastic solver used a sample."""
        objective: Any = self.problem.objective
        p = self.start[0].shape[1]
        term = self.rows.all_pairs(self.hinge, n_components=p)
        exact = replace(objective, pair_loss=term)
        return Problem(self.problem.manifold, exact)


def make_problem(
    domains: Domains,
    settings: ObjectiveSettings,
    *,
    n_components: int | None = None,
    init: Any = "auto",
    batch_size: int | None = None,
    narrow: bool = False,
    rng: np.random.Generator,
) -> ILSProblem:
    """Turn domains and settings into a problem on a product of manifolds.

    Parameters
    ----------
    domains : Domains
        Checked input.
    settings : ObjectiveSettings
        Checked settings.
    n_components : int, optional
        Dimension of the latent space.
    init : str or array(s), default="auto"
        Initial projections.
    batch_size : int, optional
        Labelled rows per mini-batch, for a stochastic solver; None for the others.
    narrow : bool, default=False
        Whether to leave out coordinates that a minimisation hardly reaches; then look at
        :meth:`ILSProblem.is_within_reach`.
    rng : Generator
        Source of randomness.

    Returns
    -------
    ILSProblem
        The problem to solve.
    """
    spaces, starts, gains = _place(domains, settings, n_components, init, narrow=narrow)
    p, reference = starts[0].shape[1], starts[0]
    n_labelled = sum(domain.n_labelled for domain in domains.all)
    keeps_type = batch_size is not None and n_labelled > _MANY_ROWS
    rows = domains.labelled_rows(spaces, single=keeps_type)
    statistics = rows.statistics(
        [gain * start if gain != 1 else start for gain, start in zip(gains, starts, strict=True)]
    )
    scale = _data_scale(statistics, settings.margin_scale)
    scales = tuple(gain * scale for gain in gains)
    covariances = [space.shrunk_covariance(settings.shrinkage) for space in spaces]
    _check_scaled(covariances, scales, domains.names)
    rows = rows.scaled(scales)
    hinge = SmoothHinge(_sharpness(settings.sharpness, scale**2 * statistics.similar_std))
    n_sources, has_target = len(domains.sources), domains.target is not None
    anchors = settings.anchors(n_sources, has_target=has_target)
    shares = (*domains.shares_of_discrepancies.tolist(), *(1.0,) * has_target)
    data = tuple(
        DomainData(factor**2 * covariance, start, anchor, share)
        for factor, covariance, start, anchor, share in zip(
            scales, covariances, starts, anchors, shares, strict=True
        )
    )
    term, terms = _pair_loss(rows, hinge, settings.pairs, p, batch_size, rng)
    objective = ILSObjective(
        data,
        term,
        trade_off=settings.trade_off,
        metric_weight=settings.metric_weight,
        slack_weight=settings.slack_weight or 0.0,
    )
    if settings.moment_weight and len(data) > 1:
        spread = covariance_product(data[-1].covariance, starts[-1])
        directions = latent_directions(starts[-1].mT @ spread, settings.moment_sketch)
        loss = CumulantTerm(domains.projected_rows(spaces, scales), directions)
        weight = float(settings.moment_weight)
        objective = replace(objective, moment_weight=weight, cumulant_loss=loss)
    factors: list[Manifold] = [_projections(start.shape, settings) for start in starts]
    factors.append(SPD(p))
    metric = _first_metric(settings.metric_init, statistics, p)
    # the initial projections may share one array, and the metric may be the user's: what is
    # learned is an owned copy, even where no step is taken
    point = [*map(_copied, starts), _copied(like(metric, reference))]
    if settings.slack_weight is not None:
        n_pairs = term.pairs.n_pairs
        factors.append(Euclidean((n_pairs,)))
        point.append(like(np.full(n_pairs, np.log(_FIRST_SLACK)), reference))
    weights = settings.factor_weights(n_sources, has_target=has_target)[: len(factors)]
    batches = None if terms is None else (replace(objective, pair_loss=each) for each in terms)
    problem = Problem(Product(tuple(factors), weights), objective, batches)
    return ILSProblem(problem, tuple(point), spaces, scales, hinge, rows)


def _place(
    domains: Domains,
    settings: ObjectiveSettings,
    n_components: int | None,
    init: Any,
    *,
    narrow: bool,
) -> tuple[tuple[RowSpace, ...], tuple[Array, ...], tuple[float, ...]]:
    """Coordinates of the domains, initial projections in them, and the gain of each domain."""
    shares_features = domains.shares_features
    init = resolve_init(init, len(domains.all), shares_features=shares_features)
    default = _default_components(init, shares_features, is_unseen=domains.is_unseen)
    n_axes = n_components or default
    if not shares_features or init == "class-means":
        n_axes = max(n_axes, FILLING_AXES)
    on_target_axes = shares_features and init == "target-pca"
    if settings.moment_weight and domains.target is not None:
        on_target_axes = False  # the gradient of cumulants leaves the span of the leading axes
    spaces: tuple[RowSpace, ...] = tuple(
        domain.space(n_axes, reduce=settings.reduce, on_target_axes=on_target_axes)
        for domain in domains.all
    )
    p = _check_components(n_components, default, spaces, domains)
    if settings.shrinkage == 0 and settings.trade_off > 0 and len(spaces) > 1:
        _check_ranks(spaces, p, domains.names)
    views = tuple(DomainView(*each) for each in zip(domains.all, spaces, strict=True))
    bases = initial_projections(init, views, p, shares_features=shares_features)
    gains = (1.0,) * len(spaces)
    if not shares_features:
        pairs = zip(views[:-1], bases[:-1], strict=True)
        own = (source_gain(view, views[-1], (basis, bases[-1])) for view, basis in pairs)
        gains = (*own, 1.0)
    spaces = tuple(space.joined(basis) for space, basis in zip(spaces, bases, strict=True))
    if narrow and on_target_axes and settings.reduce:
        *others, last = spaces
        spaces = (*others, _narrowed(last, domains.all[-1], bases[-1]))
    starts = tuple(space.restrict(basis) for space, basis in zip(spaces, bases, strict=True))
    return spaces, starts, gains


def _narrowed(space: RowSpace, domain: Any, start: Array) -> RowSpace:
    """Fewer coordinates, where few rows of a tall domain are labelled."""
    d, p = start.shape
    m = domain.n_labelled
    if space.basis is not None or not 0 < m <= 2 * p or 2 * (p + _N_POWERS * m) > d:
        return space
    return space.within_reach(p, domain.coordinates(space), _N_POWERS)


def _pair_loss(
    rows: LabelledRows,
    hinge: SmoothHinge,
    pairs: str,
    p: int,
    batch_size: int | None,
    rng: np.random.Generator,
) -> tuple[Any, Iterator[PairTerm] | None]:
    """The loss over pairs on which iterates are evaluated, and mini-batches of it."""
    if pairs == "sampled":
        return rows.sampled_pairs(hinge, rng), None
    if batch_size is None:
        return rows.all_pairs(hinge, n_components=p), None
    if rows.n_rows <= max(EVALUATION_ROWS, batch_size):
        term = rows.all_pairs(hinge, n_components=p)
    else:
        term = next(rows.mini_batches(hinge, EVALUATION_ROWS, rng, n_components=p))
    if rows.n_rows <= batch_size:  # a mini-batch would hold all rows
        return term, None
    return term, rows.mini_batches(hinge, batch_size, rng, n_components=p)


def _projections(shape: tuple[int, int], settings: ObjectiveSettings) -> Manifold:
    """Manifold of a projection."""
    if not settings.orthonormal:
        return Euclidean(shape)
    return Stiefel(*shape, retraction=settings.retraction)


def _copied(array: Array) -> Array:
    return array_namespace(array).asarray(array, copy=True)


def _data_scale(statistics: PairStatistics, margin_scale: float) -> float:
    """Factor that gives similar pairs the mean squared distance `margin_scale`."""
    mean = statistics.similar_mean
    if not (np.isfinite(mean) and mean > 0):  # no similar pairs, or equal rows only
        mean = np.trace(statistics.dissimilar_covariance)
    return float(np.sqrt(margin_scale / mean)) if mean > 0 else 1.0


def _check_scaled(
    covariances: Sequence[Array], scales: Sequence[float], names: Sequence[str]
) -> None:
    """Refuse labelled rows so close together that a domain at their scale overflows."""
    for name, covariance, scale in zip(names, covariances, scales, strict=True):
        xp = array_namespace(covariance)
        most = float(xp.finfo(covariance.dtype).max) ** 0.4  # its square is multiplied with
        spread = float(xp.max(xp.abs(covariance))) ** 0.5
        if not scale * spread <= most:
            raise ValueError(
                f"A domain must spread at most {most:.0e} times as far as its labelled rows do in "
                f"the latent space, but the {name} has a standard deviation of {spread:.3g} where "
                f"they are {1 / scale:.3g} apart: remove values that are far too large, or scale "
                "the columns, for instance with sklearn.preprocessing.StandardScaler."
            )


def _sharpness(asked_for: float | str, spread: float) -> float:
    """Sharpness of the hinge, by default one over the spread of similar squared distances."""
    if not isinstance(asked_for, str):
        return float(asked_for)
    return float(1 / spread) if np.isfinite(spread) and spread > 0 else 1.0


def _first_metric(metric_init: Any, statistics: PairStatistics, p: int) -> np.ndarray:
    if isinstance(metric_init, str):
        return np.eye(p) if metric_init == "identity" else kissme(statistics)
    given = np.asarray(to_numpy(metric_init), dtype=float)
    if given.shape != (p, p) or not np.isfinite(given).all() or not np.allclose(given, given.T):
        raise ValueError(
            f"metric_init must be a symmetric, finite array of shape ({p}, {p}), but has shape "
            f"{given.shape}{'' if given.shape != (p, p) else ' and is not'}."
        )
    lowest = np.linalg.eigvalsh(given)[0]
    if not lowest > 0:
        raise ValueError(
            f"metric_init must be positive definite, but has the eigenvalue {lowest:.3g}: add a "
            "multiple of the identity."
        )
    return given


def _default_components(init: Any, shares_features: bool, *, is_unseen: bool) -> int:
    """Default dimension of the latent space: that of the arrays in `init`, if any."""
    if not isinstance(init, str):
        shape = np.shape(to_numpy(init[0]))
        if len(shape) == 2 and shape[1] > 0:
            return shape[1]
    if is_unseen:
        return DEFAULT_COMPONENTS_UNSEEN
    return DEFAULT_COMPONENTS if shares_features else DEFAULT_COMPONENTS_ACROSS


def _check_components(
    n_components: int | None, default: int, spaces: tuple[RowSpace, ...], domains: Domains
) -> int:
    """Check the dimension of the latent space, or choose it."""
    check_variation(spaces, domains.names)
    # a shared basis lies in the span of the target, separate ones in that of each domain
    rank = spaces[-1].rank if domains.shares_features else min(space.rank for space in spaces)
    if n_components is None:
        return min(default, rank)
    if n_components > rank:
        raise ValueError(
            f"n_components must be at most {rank}, the rank of the centred rows, but is "
            f"{n_components}: choose fewer, or None."
        )
    return n_components


def check_variation(spaces: Sequence[RowSpace], names: Sequence[str]) -> None:
    """Refuse domains whose rows are all equal.

    Parameters
    ----------
    spaces : sequence of RowSpace
        One per domain.
    names : sequence of str
        Names of the domains, for the message.
    """
    for name, space in zip(names, spaces, strict=True):
        if space.rank == 0:
            raise ValueError(
                f"The {name} domain must vary, but all its rows are equal: every column is "
                "constant. Check that the right columns were read."
            )


def _check_ranks(spaces: tuple[RowSpace, ...], p: int, names: tuple[str, ...]) -> None:
    """Refuse covariances of too low rank, even where rounding makes them invertible."""
    for name, space in zip(names, spaces, strict=True):
        if space.rank < p:
            raise ValueError(
                f"Without shrinkage the rows of each domain must vary in {p} directions, the "
                f"dimension of the latent space, but those of the {name} vary in {space.rank}: "
                "raise shrinkage, or choose fewer components."
            )
