"""From checked rows to an optimization problem, and back to maps of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ilspace._typing import Array, Manifold, Pairs
from ilspace.adapters.distant_pairs import PairsOnWorkers
from ilspace.adapters.domain_rows import DomainRows
from ilspace.adapters.starts import (
    FILLING_AXES,
    STARTS,
    StartingDomain,
    given_start,
    kissme,
    on_target_axes,
    shared_class_means,
    start_arrays,
)
from ilspace.adapters.streaming import LabelledRows
from ilspace.backend import array_namespace, is_foreign, like, to_numpy
from ilspace.manifolds import SPD, Euclidean, Product, Stiefel
from ilspace.objective import DomainData, ILSObjective
from ilspace.optimizers import Problem, Solution
from ilspace.pairs import SampledPairs, all_pairs, pair_statistics, sample_pairs
from ilspace.scale import RowSpace, row_space
from ilspace.scale.running import Moments

if TYPE_CHECKING:
    from ilspace.adapters.distributed import DistantDomains
    from ilspace.scale.dask_rows import CompleteMoments

_FIRST_SLACK = 0.1
"""Slack of each pair at the start, a tenth of the margin."""

DEFAULT_COMPONENTS = 30
"""Dimension of the latent space for domains of the same columns; the paper has 20."""

DEFAULT_COMPONENTS_ACROSS = 20
"""For domains of different columns, where no more than the classes can be aligned."""


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
    *,
    n_components: int | None,
    shares_features: bool,
    start: object,
    metric_start: object,
    pairs: str,
    margin_scale: float,
    sharpness: float | str,
    trade_off: float,
    metric_weight: float,
    anchors: tuple[float, float],
    slack_weight: float | None,
    shrinkage: float,
    reduce: bool,
    retraction: Any,
    orthonormal: bool,
    mobility: tuple[float, ...] | None,
    block_size: int | None,
    rng: np.random.Generator,
    moments: tuple[Moments | CompleteMoments, ...] | None = None,
    distant: DistantDomains | None = None,
) -> Assembly:
    """Turn rows and settings into a problem on a product of manifolds.

    Parameters
    ----------
    domains : tuple of DomainRows
        The source, then the target; or one domain alone.
    n_components : int or None
        Dimension of the latent space.
    shares_features : bool
        Whether the columns of the domains mean the same.
    start, metric_start : str or array
        Where to begin.
    pairs : {"all", "sampled"}
        Which pairs to compare.
    margin_scale : float
        Mean squared distance of similar pairs at the start, in margins.
    sharpness : float or "auto"
        Sharpness of the hinge.
    trade_off, metric_weight : float
        Weights of the discrepancy and of the metric's regulariser.
    anchors : tuple of float
        Weights of the anchors of the source and the target projection.
    slack_weight : float or None
        Weight of the slacks; None for no slacks.
    shrinkage : float
        Shrinkage of the covariances.
    reduce : bool
        Whether to optimise in the span of the rows.
    retraction : {"qr", "polar"}
        Retraction of the projections.
    orthonormal : bool
        Whether the projections keep orthonormal columns.
    mobility : tuple of float or None
        Mobility of source projection, target projection, metric and slacks.
    block_size : int or None
        Rows of a block, for a solver that sees one after another; None for one that sees all.
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
    domains = tuple(replace(domain, X=_working_rows(domain.X)) for domain in domains)
    if not isinstance(start, str):
        start = start_arrays(start, len(domains))
    default = _default_components(start, shares_features)
    n_axes = n_components or default
    if not shares_features or start == "class-means":
        n_axes = max(n_axes, FILLING_AXES)
    leading = on_target_axes(start, shares_features)
    if moments is not None:
        spaces = tuple(each.space(n_axes) for each in moments)
    else:
        spaces = tuple(
            row_space(
                domain.X,
                domain.weights,
                n_axes=n_axes,
                reduce=reduce and not (leading and _is_tall(domain)),
                leading=leading and domain.n_labelled == 0,
            )
            for domain in domains
        )
    p = _check_components(n_components, default, spaces, shares_features)
    if shrinkage == 0 and trade_off > 0 and len(domains) > 1:
        _check_ranks(spaces, p)
    bases, gain = _starting_bases(start, domains, spaces, p, shares_features)
    spaces = tuple(space.joined(basis) for space, basis in zip(spaces, bases, strict=True))

    labelled = tuple(
        space.coordinates(domain.labelled_rows)
        for space, domain in zip(spaces, domains, strict=True)
    )
    starts = tuple(space.restrict(basis) for space, basis in zip(spaces, bases, strict=True))
    codes = np.concatenate([domain.codes[domain.labelled] for domain in domains])
    weights = None
    if any(domain.weights is not None for domain in domains):
        weights = np.concatenate([domain.labelled_weights for domain in domains])

    placed = None if distant is None else distant.placed(spaces)
    if placed is not None:
        statistics = placed.statistics((gain * starts[0], *starts[1:]))
    else:
        latent = [to_numpy(each @ basis) for each, basis in zip(labelled, starts, strict=True)]
        latent[0] = gain * latent[0]
        statistics = pair_statistics(np.concatenate(latent), codes, weights)
    scale = _data_scale(statistics, margin_scale)
    scales = (gain * scale, scale)[: len(domains)]
    if sharpness == "auto":
        spread = scale**2 * statistics.similar_std
        sharpness = 1 / spread if np.isfinite(spread) and spread > 0 else 1.0

    reference = starts[0]
    data = tuple(
        DomainData(
            _scaled(each, factor), factor**2 * space.shrunk_covariance(shrinkage), basis, anchor
        )
        for factor, each, space, basis, anchor in zip(
            scales, labelled, spaces, starts, anchors, strict=False
        )
    )
    make = partial(
        ILSObjective,
        sharpness=float(sharpness),
        trade_off=trade_off,
        metric_weight=metric_weight,
        slack_weight=slack_weight or 0.0,
    )
    factors: list[Manifold] = [
        Stiefel(*basis.shape, retraction=retraction) if orthonormal else Euclidean(basis.shape)
        for basis in starts
    ]
    factors.append(SPD(p))
    # a start may be one array for both projections, and the user's for the metric; what is learned
    # is nobody else's, even where no step is taken
    point = [_copied(each) for each in starts]
    point.append(_copied(like(_first_metric(metric_start, statistics, p), reference)))
    blocks = streamed = None
    if placed is not None:
        objective = make(data, PairsOnWorkers(placed, scales))
    elif block_size is None:
        chosen = _choose_pairs(pairs, codes, weights, p, rng, reference)
        objective = make(data, chosen)
        if slack_weight is not None and isinstance(chosen, SampledPairs):
            factors.append(Euclidean((chosen.n_pairs,)))
            point.append(like(np.full(chosen.n_pairs, np.log(_FIRST_SLACK)), reference))
    else:
        streamed = LabelledRows(data, codes, weights, make, reference)
        objective, blocks = streamed.judge_and_blocks(block_size, rng)
    manifold = Product(
        tuple(factors), _mobility(mobility, anchors, metric_weight, len(domains), len(factors))
    )
    problem = Problem(manifold, objective, blocks)
    return Assembly(problem, tuple(point), spaces, scales, float(sharpness), streamed)


def _is_tall(domain: DomainRows) -> bool:
    """Tell domains of labelled rows whose span has every column: all its axes would cost most."""
    n, d = domain.shape
    return n >= d and domain.n_labelled > 0


def _working_rows(X: Array) -> Array:
    """Rows in double precision, except on other libraries, which keep their own."""
    if is_foreign(X):
        return X
    return X.astype(np.float64, copy=False) if not sparse.issparse(X) else X.astype(np.float64)


def _default_components(start: str | tuple[Any, ...], shares_features: bool) -> int:
    """Dimension of the latent space, where the user names none: that of a start that was given."""
    if not isinstance(start, str):
        shape = np.shape(to_numpy(start[0]))
        if len(shape) == 2 and shape[1] > 0:
            return shape[1]
    return DEFAULT_COMPONENTS if shares_features else DEFAULT_COMPONENTS_ACROSS


def _check_components(n_components: int | None, default: int, spaces, shares_features: bool) -> int:
    """Settle the dimension of the latent space."""
    for name, space in zip(("source", "target"), spaces, strict=False):
        if space.rank == 0:
            raise ValueError(
                f"The {name} domain must vary, but all its rows are equal: every column is "
                "constant. Check that the right columns were read."
            )
    # a shared start lies in the target's span; separate ones need room in each
    rank = spaces[-1].rank if shares_features else min(space.rank for space in spaces)
    if n_components is None:
        return min(default, rank)
    if n_components > rank:
        raise ValueError(
            f"n_components must be at most {rank}, the rank of the centred rows, but is "
            f"{n_components}: choose fewer, or None."
        )
    return n_components


def _check_ranks(spaces: tuple[RowSpace, ...], p: int) -> None:
    """Refuse flat covariances, which have no determinant to compare; rounding may hide that."""
    for name, space in zip(("source", "target"), spaces, strict=True):
        if space.rank < p:
            raise ValueError(
                f"Without shrinkage the rows of each domain must vary in {p} directions, the "
                f"dimension of the latent space, but those of the {name} vary in {space.rank}: "
                "raise shrinkage, or choose fewer components."
            )


def _starting_bases(start, domains, spaces, p: int, shares_features: bool):
    """One basis a domain, and the gain by which the source is made as large as the target."""

    def starting(domain: DomainRows, space: RowSpace) -> StartingDomain:
        codes = domain.codes[domain.labelled]
        return StartingDomain(space, domain.labelled_rows, codes, domain.labelled_weights)

    if isinstance(start, str):
        start = start if start != "auto" else "target-pca" if shares_features else "class-means"
        if start != "class-means" and not shares_features:
            raise ValueError(
                f"start={start!r} shares one basis, but the domains have different features; use "
                'start="class-means" or give two arrays.'
            )
    views = tuple(starting(domain, space) for domain, space in zip(domains, spaces, strict=True))
    if start == "class-means" and (len(views) == 1 or len(views[1].codes) == 0):
        raise ValueError(
            'start="class-means" aligns labelled rows of two domains, but the target has no '
            "labels; pass yt or use another start."
        )
    bases = STARTS[start](views, p) if isinstance(start, str) else given_start(start, views, p)
    if shares_features:
        return bases, 1.0
    source, target = views
    source_means, target_means = shared_class_means(source, target)
    sizes = [
        float(np.linalg.norm(to_numpy(means @ view.space.restrict(basis))))
        for means, view, basis in zip((source_means, target_means), views, bases, strict=True)
    ]
    return bases, sizes[1] / sizes[0] if min(sizes) > 0 else 1.0


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


def _choose_pairs(pairs: str, codes, weights, n_components: int, rng, reference) -> Pairs:
    if pairs == "all":
        return all_pairs(codes, weights, reference=reference, n_components=n_components)
    listed = sample_pairs(codes, rng)
    return SampledPairs(*listed, weights, n_rows=len(codes), reference=reference)


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


def _mobility(mobility, anchors, metric_weight: float, n_domains: int, n_factors: int):
    """Mobilities of the factors there are: with one domain there is no target projection."""
    if mobility is None:
        # a preconditioner: the second derivative of an anchor is 2 a / p, that of the metric's
        # regulariser at the identity is μ / (4 p), an eighth of it
        stiffness = (*anchors, metric_weight / 8, 0.0)
        mobility = tuple(1 / (1 + each) for each in stiffness)
    source, target, metric, slack = mobility
    return (*(source, target)[:n_domains], metric, slack)[:n_factors]
