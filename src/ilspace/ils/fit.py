"""The method as a function, from checked domains to the maps of a latent space."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from ilspace.backend import as_generator, one_thread
from ilspace.domains import Domains
from ilspace.ils.dictionary import learn_dictionary
from ilspace.ils.map import ILSMap
from ilspace.ils.problem import EVALUATION_ROWS, ILSProblem, make_problem
from ilspace.ils.settings import ObjectiveSettings
from ilspace.optimizers import STOCHASTIC_SOLVERS, Iterate, Solution, solve

EXACT_ROWS = 20_000
"""Up to so many labelled rows the result of a stochastic solver is evaluated on all pairs, in some
seconds at most."""

_FIRST_LOOK = 5
"""Iterations after which to see whether some of the coordinates suffice: the first few reach as
many powers of the covariance."""


def fit_ils(
    domains: Domains,
    *,
    n_components: int | None = None,
    n_atoms: int | None = None,
    objective: ObjectiveSettings | None = None,
    init: Any = "auto",
    solver: str = "conjugate-gradient",
    batch_size: int = 512,
    max_iter: int = 200,
    tol: float = 1e-3,
    random_state: Any = None,
    verbose: int = 0,
    callback: Callable[[int, Iterate], object] | None = None,
    name: str = "fit_ils",
) -> ILSMap:
    """Learn an invariant latent space.

    This is what the estimators call, with the parameters of :class:`~ilspace.ILSTransformer`.

    Parameters
    ----------
    domains : Domains
        From :func:`~ilspace.domains.check_domains`.
    n_components : int, optional
        Dimension of the latent space.
    n_atoms : int, optional
        Number of atoms of a dictionary of the latent space.
    objective : ObjectiveSettings, optional
        What is minimised.
    init : str or array(s), default="auto"
        Initial projections.
    solver : str, default="conjugate-gradient"
        Name of the solver.
    batch_size : int, default=512
        Labelled rows per step of a stochastic solver.
    max_iter : int, default=200
        Maximum number of iterations.
    tol : float, default=1e-3
        Relative decrease per iteration below which to stop.
    random_state : int, RandomState instance, Generator or None, default=None
        Source of randomness.
    verbose : int, default=0
        Lines on standard error: 1 for every tenth iteration, 2 for each.
    callback : callable, optional
        Called with the number of iterations and the iterate, whose point is in the columns of the
        data; a true return value stops.
    name : str, default="fit_ils"
        Prefix of the lines on standard error.

    Returns
    -------
    ILSMap
        Means, projections, metric and the history of the optimization.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.domains import check_domains
    >>> from ilspace.ils import fit_ils
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None]
    >>> ils = fit_ils(check_domains(X, y, 2 * X + 3), n_components=2)
    >>> ils.transform(2 * X + 3).shape, ils.solution.status.name
    ((40, 2), 'SETTLED')
    """
    rng = as_generator(random_state)
    domains = domains.with_unseen()
    with threads_for(domains.all):
        problem, solution = solve_ils(
            domains,
            n_components=n_components,
            objective=objective,
            init=init,
            solver=solver,
            batch_size=batch_size,
            max_iter=max_iter,
            tol=tol,
            rng=rng,
            verbose=verbose,
            callback=callback,
            name=name,
        )
        if problem.problem.batches is not None:
            solution = _evaluated_on_all_pairs(solution, problem)
        report_end(solution, verbose, name)
        ils = ILSMap.from_solution(problem, solution, domains.dtype)
        if domains.is_unseen and (objective or ObjectiveSettings()).orthonormal:
            ils = ils.with_mean_projection(domains.shares_of_sources)
        if n_atoms is None:
            return ils
        return replace(ils, dictionary=learn_dictionary(ils, domains, n_atoms, rng))


def solve_ils(
    domains: Domains,
    *,
    rng: np.random.Generator,
    n_components: int | None = None,
    objective: ObjectiveSettings | None = None,
    init: Any = "auto",
    solver: str = "conjugate-gradient",
    batch_size: int = 512,
    max_iter: int = 200,
    tol: float = 1e-3,
    verbose: int = 0,
    callback: Callable[[int, Iterate], object] | None = None,
    name: str = "fit_ils",
    carry: Callable[..., Any] | None = None,
) -> tuple[ILSProblem, Solution]:
    """State the problem and solve it.

    Parameters
    ----------
    domains : Domains
        From :func:`~ilspace.domains.check_domains`.
    rng : Generator
        Source of randomness.
    n_components, objective, init, solver, batch_size, max_iter, tol : object
        As for :func:`fit_ils`.
    verbose, callback, name : object
        As for :func:`fit_ils`.
    carry : callable, optional
        Takes the manifold and the initial projections, returns another initial point.

    Returns
    -------
    problem : ILSProblem
        The problem.
    solution : Solution
        Where the solver ended, in the coordinates of the problem.
    """
    stochastic = solver in STOCHASTIC_SOLVERS
    settings = (objective or ObjectiveSettings()).checked(stochastic=stochastic)
    # a second problem would draw other pairs, and an initial point may lie anywhere
    narrow = not stochastic and settings.pairs != "sampled" and carry is None
    for cut in (True, False) if narrow else (False,):
        problem = make_problem(
            domains,
            settings,
            n_components=n_components,
            init=init,
            batch_size=batch_size if stochastic else None,
            narrow=cut,
            rng=rng,
        )
        start = problem.start
        if carry is not None:
            start = carry(problem.problem.manifold, problem.bases)
        solution = _solved(problem, start, settings, solver, tol, max_iter, verbose, callback, name)
        if problem.is_within_reach(solution.point):
            break
    if not np.isfinite(solution.history[0].value):
        raise ValueError(
            "The objective must be finite at the initial point, but is not: the rows are too large "
            "or too different in scale; scale the columns alike, or raise shrinkage."
        )
    return problem, solution


def _solved(
    problem: ILSProblem,
    start: Any,
    settings: ObjectiveSettings,
    solver: str,
    tol: float,
    max_iter: int,
    verbose: int,
    callback: Callable[[int, Iterate], object] | None,
    name: str,
) -> Solution:
    """Solve a problem; the callback sees points in the columns of the data."""

    def lifted_callback(count: int, now: Iterate) -> object:
        return callback and callback(count, now._replace(point=problem.lift(now.point)))

    report = reporter(verbose, callback and lifted_callback, name)

    def watched(count: int, now: Iterate) -> object:
        stop = report(count, now) if report is not None else None
        return stop or (count == _FIRST_LOOK and not problem.is_within_reach(now.point))

    return solve(
        problem.problem,
        start,
        solver=solver,
        tol=tol,
        patience=settings.patience,
        max_iter=max_iter,
        on_step=watched,
    )


def _evaluated_on_all_pairs(solution: Solution, problem: ILSProblem) -> Solution:
    """Evaluate the last line of the history on all pairs, where that is affordable."""
    if not EVALUATION_ROWS < problem.rows.n_rows <= EXACT_ROWS:
        return solution
    seen = problem.over_all_pairs().evaluate(solution.point)
    last = solution.history[-1]
    exact = last._replace(
        value=seen.value, gradient_norm=seen.gradient_norm, evaluations=last.evaluations + 1
    )
    return solution._replace(history=(*solution.history[:-1], exact))


def threads_for(domains: Sequence[Any]) -> AbstractContextManager[None]:
    """Limit the linear algebra of a fit to one thread where several would not pay.

    Parameters
    ----------
    domains : sequence of Domain
        The domains to fit.

    Returns
    -------
    context manager
        One thread where all matrices are small; else no limit.
    """
    n_labelled = sum(domain.n_labelled for domain in domains)
    products = (n * d * min(n, d) for n, d in (domain.shape for domain in domains))
    return one_thread() if n_labelled <= 512 and max(products) <= 2**32 else nullcontext()


# -- messages on standard error ------------------------------------------------------------------


def reporter(
    verbose: int, callback: Callable[[int, Iterate], object] | None, name: str
) -> Callable[[int, Iterate], object] | None:
    """Combine a user's callback with lines on standard error.

    Parameters
    ----------
    verbose : int
        0 for none, 1 for a line every ten iterations, 2 for every one.
    callback : callable or None
        The user's callback.
    name : str
        Prefix of the lines.

    Returns
    -------
    callable or None
        What the driver calls after each step.
    """
    if not verbose:
        return callback

    def report(count: int, now: Iterate) -> object:
        if verbose > 1 or count % 10 == 0:
            progress = now.progress
            sys.stderr.write(
                f"[{name}] iteration {count:4d}  objective {progress.value:.6g}  "
                f"gradient {progress.gradient_norm:.3g}\n"
            )
        return callback(count, now) if callback is not None else None

    return report


def report_end(solution: Solution, verbose: int, name: str) -> None:
    """Write on standard error how an optimization ended.

    Parameters
    ----------
    solution : Solution
        The result.
    verbose : int
        0 for none.
    name : str
        Prefix of the line.
    """
    if verbose:
        sys.stderr.write(
            f"[{name}] {solution.status.name} after {solution.n_iter} iterations: "
            f"{solution.status.value}; objective {solution.history[-1].value:.6g}\n"
        )
