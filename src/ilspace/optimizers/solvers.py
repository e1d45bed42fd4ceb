"""The optimizers by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from ilspace._typing import Point
from ilspace.optimizers.alternating import alternate
from ilspace.optimizers.descend import descend
from ilspace.optimizers.directions import LimitedMemory, polak_ribiere, steepest
from ilspace.optimizers.drive import drive
from ilspace.optimizers.problem import Problem
from ilspace.optimizers.projected import descend_projected
from ilspace.optimizers.result import Iterate, Solution
from ilspace.optimizers.stochastic import AdaptiveMoments, Momentum, stochastic_descent

Generator = Callable[[Problem, Point], Iterator[Iterate]]

SOLVERS: Mapping[str, Generator] = MappingProxyType(
    {
        "conjugate-gradient": lambda problem, start: descend(
            problem, start, direction=polak_ribiere
        ),
        "steepest-descent": lambda problem, start: descend(problem, start, direction=steepest),
        "lbfgs": lambda problem, start: descend(problem, start, direction=LimitedMemory()),
        "alternating": alternate,
        "projected-gradient": descend_projected,
    }
)
"""Generators of iterates by name; each step sees the whole objective."""

STOCHASTIC_SOLVERS: Mapping[str, Generator] = MappingProxyType(
    {
        "sgd": lambda problem, start: stochastic_descent(problem, start, rule=Momentum()),
        "adam": lambda problem, start: stochastic_descent(problem, start, rule=AdaptiveMoments()),
    }
)
"""Those whose steps see one block of it; an iterate is a mean over 20 steps and more."""


def solve(
    problem: Problem, start: Point, *, solver: str = "conjugate-gradient", **stop
) -> Solution:
    """Minimise with a solver chosen by name.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    start : Point
        Where to begin.
    solver : str, default="conjugate-gradient"
        A key of :data:`SOLVERS` or :data:`STOCHASTIC_SOLVERS`.
    **stop
        When to stop, and whom to tell; see :func:`drive`.

    Returns
    -------
    Solution
        Where it ended.
    """
    generator = {**SOLVERS, **STOCHASTIC_SOLVERS}[solver]
    return drive(generator(problem, start), **stop)
