"""From checked rows to a solution, as the parameters of an estimator say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ilspace._typing import Point
from ilspace.adapters.assembly import Assembly, assemble
from ilspace.adapters.domain_rows import DomainRows
from ilspace.adapters.progress import reporter
from ilspace.adapters.settings import Settings
from ilspace.backend import one_thread
from ilspace.optimizers import STOCHASTIC_SOLVERS, Iterate, Solution, solve

if TYPE_CHECKING:
    from ilspace.adapters.distributed import DistantDomains
    from ilspace.adapters.ils import ILSTransformer
    from ilspace.scale.dask_rows import CompleteMoments
    from ilspace.scale.running import Moments


def learn(
    model: ILSTransformer,
    domains: tuple[DomainRows, ...],
    *,
    solver: str,
    rng: np.random.Generator,
    n_components: int | None,
    moments: tuple[Moments | CompleteMoments, ...] | None = None,
    begin: Callable[..., Point] | None = None,
    distant: DistantDomains | None = None,
) -> tuple[Assembly, Solution]:
    """Assemble the problem of an estimator and solve it.

    Parameters
    ----------
    model : ILSTransformer
        Its parameters decide, where no argument here does; it is not changed.
    domains : tuple of DomainRows
        The source, then the target; or one domain alone.
    solver : str
        How to minimise.
    rng : Generator
        Source of randomness.
    n_components : int or None
        Dimension of the latent space.
    moments : tuple of Moments, optional
        Of all rows of each domain, where `domains` does not hold them all.
    begin : callable, optional
        Takes the manifold and the starting bases to another start.
    distant : DistantDomains, optional
        Rows that are elsewhere; `domains` then stands in for them.

    Returns
    -------
    assembly : Assembly
        The problem.
    solution : Solution
        Where the solver ended.
    """
    if distant is not None:
        domains, moments = distant.summaries(model)
    assembly = assemble(
        domains,
        _settings(model, solver),
        n_components=n_components,
        shares_features=model._shares_features,
        rng=rng,
        moments=moments,
        distant=distant,
    )
    start = assembly.start
    if begin is not None:
        start = begin(assembly.problem.manifold, start[: len(domains)])
    solution = solve(
        assembly.problem,
        start,
        solver=solver,
        tol=model.tol,
        patience=model.patience,
        max_iter=model.max_iter,
        on_step=reporter(model.verbose, _told(model.callback, assembly), type(model).__name__),
    )
    if not np.isfinite(solution.history[0].value):
        raise ValueError(
            "The objective must be finite at the start, but is not: the rows are too large or "
            "too different in scale; scale the columns alike, or raise shrinkage."
        )
    return assembly, solution


def _settings(model: ILSTransformer, solver: str) -> Settings:
    return Settings(
        start=model.start,
        metric_start=model.metric_start,
        pairs=model.pairs,
        margin_scale=model.margin_scale,
        sharpness=model.sharpness,
        trade_off=model.trade_off,
        metric_weight=model.metric_weight,
        anchors=(model.source_anchor, model.target_anchor),
        slack_weight=model.slack_weight,
        shrinkage=model.shrinkage,
        reduce=model.reduce,
        retraction=model.retraction,
        orthonormal=model.orthonormal,
        mobility=model.mobility,
        block_size=model.block_size if solver in STOCHASTIC_SOLVERS else None,
    )


def _told(
    callback: Callable[[int, Iterate], object] | None, assembly: Assembly
) -> Callable[[int, Iterate], object] | None:
    """The user's callback, which is told the point in the columns of the data."""
    if callback is None:
        return None
    return lambda count, now: callback(count, now._replace(point=assembly.lift(now.point)))


class Extent(Protocol):
    """How large the matrices of a domain are, wherever its rows may be."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns that are multiplied."""
        ...

    @property
    def n_labelled(self) -> int:
        """How many labelled rows there are."""
        ...


def threads_for(domains: Sequence[Extent]) -> AbstractContextManager[None]:
    """Hold the linear algebra of a fit to one thread where several would not pay.

    Parameters
    ----------
    domains : sequence of Extent
        What is fitted.

    Returns
    -------
    context manager
        One thread where all matrices are small; else nothing changes.
    """
    n_labelled = sum(domain.n_labelled for domain in domains)
    products = (n * d * min(n, d) for n, d in (domain.shape for domain in domains))
    return one_thread() if n_labelled <= 512 and max(products) <= 2**32 else nullcontext()
