"""One loop for all methods, on the Manifold protocol; no manifold or loss is imported."""

from ilspace.optimizers.alternating import alternate
from ilspace.optimizers.line_search import (
    Backtracking,
    LimitedMemory,
    descend,
    polak_ribiere,
    steepest,
)
from ilspace.optimizers.problem import Iterate, Problem, Progress, Solution, Status
from ilspace.optimizers.projected import descend_projected
from ilspace.optimizers.solvers import SOLVERS, STOCHASTIC_SOLVERS, drive, solve
from ilspace.optimizers.stochastic import AdaptiveMoments, Momentum, stochastic_descent

__all__ = [
    "SOLVERS",
    "STOCHASTIC_SOLVERS",
    "AdaptiveMoments",
    "Backtracking",
    "Iterate",
    "LimitedMemory",
    "Momentum",
    "Problem",
    "Progress",
    "Solution",
    "Status",
    "alternate",
    "descend",
    "descend_projected",
    "drive",
    "polak_ribiere",
    "solve",
    "steepest",
    "stochastic_descent",
]
