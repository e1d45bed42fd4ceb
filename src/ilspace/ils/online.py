"""Online learning: the update by one batch, and what one update passes to the next."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ilspace._typing import Array, Manifold, Point
from ilspace.domains import Domain, Domains
from ilspace.ils.fit import report_end, solve_ils, threads_for
from ilspace.ils.map import ILSMap
from ilspace.ils.seen import RunningDomain, SeenDomain
from ilspace.manifolds import Stiefel
from ilspace.optimizers import STOCHASTIC_SOLVERS


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
