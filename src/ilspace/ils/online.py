"""Online learning from batches: what is kept between them, and the update by one batch."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse

from ilspace._typing import Array, Manifold, Point
from ilspace.backend import array_namespace
from ilspace.domains import Domain, Domains, take_rows
from ilspace.domains.class_prior import class_factors
from ilspace.ils.fit import report_end, solve_ils, threads_for
from ilspace.ils.map import ILSMap
from ilspace.manifolds import Stiefel
from ilspace.optimizers import STOCHASTIC_SOLVERS
from ilspace.scale import Moments, RowSpace, moment_space, row_moments

RESERVOIR = 5000
"""Number of labelled rows kept per domain, equally many per class and two at least."""


@dataclass(frozen=True)
class Reservoir:
    """Labelled rows of one domain, each class sampled uniformly.

    Every row draws a random key, and the rows of a class with the smallest keys are kept: a
    uniform sample without replacement, whatever the batches.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
        The rows.
    codes : ndarray of shape (n,)
        Their classes.
    weights : ndarray of shape (n,)
        Weight of the rows that each represents.
    keys : ndarray of shape (n,)
        Their keys, between 0 and 1.
    """

    X: Array
    codes: np.ndarray
    weights: np.ndarray
    keys: np.ndarray

    @classmethod
    def of(cls, domain: Domain, rng: np.random.Generator) -> Reservoir:
        """Keep the labelled rows of a batch.

        Parameters
        ----------
        domain : Domain
            The batch.
        rng : Generator
            Draws the keys.

        Returns
        -------
        Reservoir
            All its labelled rows.
        """
        keys = rng.random(domain.n_labelled)
        rows = take_rows(domain.X, domain.labelled)
        return cls(rows, domain.labelled_codes, domain.labelled_weights, keys)

    def joined(self, other: Reservoir) -> Reservoir:
        """The rows of both.

        Parameters
        ----------
        other : Reservoir
            Rows of the same columns, library and type.

        Returns
        -------
        Reservoir
            This one's rows first.
        """
        if sparse.issparse(self.X):
            rows = sparse.vstack([self.X, other.X], format="csr")
        else:
            rows = array_namespace(self.X).concat([self.X, other.X], axis=0)
        return Reservoir(
            rows,
            np.concatenate([self.codes, other.codes]),
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.keys, other.keys]),
        )

    def trimmed(self, most: int) -> Reservoir:
        """Drop rows of classes with too many.

        Parameters
        ----------
        most : int
            Maximum number of rows per class.

        Returns
        -------
        Reservoir
            The total weight of each class is unchanged.
        """
        if np.max(np.bincount(self.codes), initial=0) <= most:
            return self
        order = np.lexsort([self.keys, self.codes])
        starts = np.searchsorted(self.codes[order], self.codes[order])
        kept = np.sort(order[np.arange(len(order)) - starts < most])
        codes, weights = self.codes[kept], self.weights[kept]
        before, after = np.bincount(self.codes, self.weights), np.bincount(codes, weights)
        weights = weights * before[codes] / after[codes]
        return Reservoir(take_rows(self.X, kept), codes, weights, self.keys[kept])


@dataclass(frozen=True)
class SeenDomain:
    """What is kept of one domain.

    Attributes
    ----------
    moments : Moments
        Of all rows seen so far, labelled or not.
    reservoir : Reservoir
        A sample of the labelled ones.
    by_class : tuple of Moments or None, or None
        The moments of each class, None for one without rows, where its share is to be another one.
    """

    moments: Moments
    reservoir: Reservoir
    by_class: tuple[Moments | None, ...] | None = None

    @classmethod
    def of(
        cls, domain: Domain, rng: np.random.Generator, *, n_classes: int | None = None
    ) -> SeenDomain:
        """Summarise a batch of one domain.

        Parameters
        ----------
        domain : Domain
            The batch.
        rng : Generator
            Source of randomness.
        n_classes : int, optional
            Number of classes, where the moments of each are needed; every row then has a label.

        Returns
        -------
        SeenDomain
            To be joined with what was seen before.
        """
        moments, by_class = row_moments(domain.working_rows, domain.weights), None
        if n_classes is not None:
            by_class = tuple(_class_moments(domain, code) for code in range(n_classes))
        return cls(moments, Reservoir.of(domain, rng), by_class)

    def weighed(self, class_prior: np.ndarray | None) -> SeenDomain:
        """The same with rows weighed so that classes have given shares.

        Parameters
        ----------
        class_prior : ndarray of shape (n_classes,) or None
            The shares.

        Returns
        -------
        SeenDomain
            Itself, without shares or where the moments of the classes were not kept.
        """
        if class_prior is None or self.by_class is None:
            return self
        masses = np.array([0.0 if each is None else each.weight for each in self.by_class])
        factors = class_factors(class_prior, masses)
        moments = reduce(
            Moments.merged,
            (
                replace(each, weight=factor * each.weight)
                for each, factor in zip(self.by_class, factors, strict=True)
                if each is not None
            ),
        )
        kept = self.reservoir
        reservoir = replace(kept, weights=kept.weights * factors[kept.codes])
        return replace(self, moments=moments, reservoir=reservoir)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the covariance, which is all that is kept of unlabelled rows."""
        return self.moments.covariance.shape

    @property
    def n_labelled(self) -> int:
        """Number of labelled rows kept."""
        return len(self.reservoir.codes)

    def joined(self, other: SeenDomain) -> SeenDomain:
        """The same with another batch.

        Parameters
        ----------
        other : SeenDomain
            The batch.

        Returns
        -------
        SeenDomain
            Of both.
        """
        by_class = None
        if self.by_class is not None and other.by_class is not None:
            pairs = zip(self.by_class, other.by_class, strict=True)
            by_class = tuple(a if b is None else b if a is None else a.merged(b) for a, b in pairs)
        moments = self.moments.merged(other.moments)
        return SeenDomain(moments, self.reservoir.joined(other.reservoir), by_class)

    def trimmed(self, n_classes: int) -> SeenDomain:
        """The same, with the reservoir trimmed to its size.

        Parameters
        ----------
        n_classes : int
            Number of classes that share the reservoir.

        Returns
        -------
        SeenDomain
            With the same moments.
        """
        most = max(2, RESERVOIR // n_classes)
        return replace(self, reservoir=self.reservoir.trimmed(most))


def _class_moments(domain: Domain, code: int) -> Moments | None:
    """Moments of the rows of a class."""
    rows = np.flatnonzero(domain.codes == code)
    if len(rows) == 0:
        return None
    weights = None if domain.weights is None else domain.weights[rows]
    return row_moments(Domain(take_rows(domain.X, rows), domain.codes[rows]).working_rows, weights)


@dataclass(frozen=True, kw_only=True)
class RunningDomain(Domain):
    """Kept rows of a domain, with the moments of all rows seen so far.

    Attributes
    ----------
    moments : Moments
        Of all rows.
    """

    moments: Moments

    @property
    def n_rows(self) -> int:
        """Number of rows seen so far."""
        return self.moments.n_rows

    def space(self, n_axes: int, *, reduce: bool, on_target_axes: bool) -> RowSpace:
        """Mean and covariance of all rows, in the columns of the data.

        Parameters
        ----------
        n_axes : int
            Number of principal axes.
        reduce, on_target_axes : bool
            Ignored: later rows may lie outside the span of those seen so far.

        Returns
        -------
        RowSpace
            Without a basis.
        """
        return moment_space(self.moments, n_axes=n_axes)


@dataclass(frozen=True)
class OnlineState:
    """What one update passes to the next.

    Attributes
    ----------
    seen : tuple of SeenDomain
        One per domain.
    bases : tuple of array of shape (d, p)
        Initial projections.
    point : Point
        Current projections and metric.
    rng : Generator
        Source of randomness.
    """

    seen: tuple[SeenDomain, ...]
    bases: tuple[Array, ...]
    point: Point
    rng: np.random.Generator

    def carried(self, manifold: Manifold, bases: tuple[Array, ...]) -> Point:
        r"""Warm start: carry the point along when the initial bases it is anchored to change.

        New rows change the principal axes. With R the rotation that brings the old basis of the
        target closest to the new one, a projection W becomes :math:`WR + (W_0' - W_0R)`,
        projected onto the manifold, and the metric :math:`R^\top MR`: both rotate with the basis,
        and W keeps its offset from it.

        Parameters
        ----------
        manifold : Manifold
            Where the points live.
        bases : tuple of array of shape (d, p)
            The new initial projections.

        Returns
        -------
        tuple of array
            A point near the new bases.
        """
        n, p = len(bases), bases[-1].shape[1]
        turn = Stiefel(p, p).project(self.bases[-1].mT @ bases[-1])
        projections = (
            each @ turn + (new - old @ turn)
            for each, old, new in zip(self.point[:n], self.bases, bases, strict=True)
        )
        return manifold.project((*projections, turn.mT @ self.point[n] @ turn))


def update_ils(
    batch: Domains,
    before: OnlineState | None = None,
    *,
    rng: np.random.Generator | None = None,
    n_components: int | None = None,
    solver: str = "adam",
    verbose: int = 0,
    name: str = "update_ils",
    **settings: Any,
) -> tuple[ILSMap, Domains, OnlineState]:
    """Learn from one more batch.

    Parameters
    ----------
    batch : Domains
        Checked input. The first batch determines columns and classes; in a later one a source or
        the target may be None. Its `class_prior`, the same for all batches, is not yet in its
        weights, since the shares of the source are known from all batches only.
    before : OnlineState, optional
        State after the previous batch; None for the first.
    rng : Generator, optional
        Source of randomness of the first batch.
    n_components : int, optional
        Dimension of the latent space, determined by the first batch.
    solver : str, default="adam"
        A stochastic solver; the others are replaced by the default.
    verbose : int, default=0
        Lines on standard error.
    name : str, default="update_ils"
        Prefix of these lines.
    **settings
        Other parameters of :func:`~ilspace.ils.fit_ils`.

    Returns
    -------
    ils : ILSMap
        What was learned.
    kept : Domains
        The labelled rows that are kept, with the counts of all rows.
    state : OnlineState
        For the next batch.
    """
    solver = solver if solver in STOCHASTIC_SOLVERS else "adam"
    if settings.pop("n_atoms", None) is not None:
        raise ValueError(
            "Atoms are learned from all rows at once, but n_atoms is given with batches: use "
            "n_atoms=None, or fit all rows at once."
        )
    objective = settings.get("objective")
    if objective is not None and objective.moment_weight:
        raise ValueError(
            "Batches leave means and covariances of all rows, but moment_weight is "
            f"{objective.moment_weight}, and higher moments need the rows: use moment_weight=0, or "
            "fit all rows at once."
        )
    n_sources, n_classes = len(batch.sources), len(batch.classes)

    def seen_now(position: int, domain: Domain, rng: np.random.Generator) -> SeenDomain:
        weighed = batch.class_prior is not None and position < n_sources
        return SeenDomain.of(domain, rng, n_classes=n_classes if weighed else None)

    if before is None:
        rng, carry = rng or np.random.default_rng(), None
        seen = tuple(seen_now(i, each, rng) for i, each in enumerate(batch.all))
    else:
        # a copy: an update that fails must leave the state as it was
        rng, carry = deepcopy(before.rng), before.carried
        n_components = before.bases[0].shape[1]
        given = (*batch.sources, batch.target)
        seen = tuple(
            old if new is None else old.joined(seen_now(i, new, rng))
            for i, (old, new) in enumerate(zip(before.seen, given, strict=False))
        )
    with threads_for(seen):
        domains = kept_domains(batch, seen)
        problem, solution = solve_ils(
            domains,
            n_components=n_components,
            solver=solver,
            rng=rng,
            verbose=verbose,
            name=name,
            carry=carry,
            **settings,
        )
        report_end(solution, verbose, name)
        seen = tuple(each.trimmed(len(batch.classes)) for each in seen)
        ils = ILSMap.from_solution(problem, solution, domains.dtype)
    state = OnlineState(seen, problem.bases, solution.point, rng)
    return ils, kept_domains(batch, seen), state


def kept_domains(batch: Domains, seen: tuple[SeenDomain, ...]) -> Domains:
    """Kept rows as domains in which every row has a label.

    Parameters
    ----------
    batch : Domains
        For the classes and the number of sources.
    seen : tuple of SeenDomain
        What is kept of each domain.

    Returns
    -------
    Domains
        The largest weight is 1: a kept row represents others of its class, not equal rows, which
        a weight above 1 would mean. None where all weights are equal.
    """
    seen = tuple(each.weighed(batch.class_prior) for each in seen)
    weights = np.concatenate([each.reservoir.weights for each in seen])
    top = np.max(weights)
    equal = bool(np.all(weights == top))
    running = tuple(
        RunningDomain(
            each.reservoir.X,
            each.reservoir.codes,
            None if equal else each.reservoir.weights / top,
            moments=each.moments,
        )
        for each in seen
    )
    n = len(batch.sources)
    return replace(batch, sources=running[:n], target=running[n] if len(running) > n else None)
