"""Level 2: one loop for all methods; it sees the Manifold protocol, never a manifold or a loss."""

from ilspace.optimizers.alternating import alternate
from ilspace.optimizers.descend import descend
from ilspace.optimizers.directions import LimitedMemory, polak_ribiere, steepest
from ilspace.optimizers.drive import drive
from ilspace.optimizers.problem import Problem
from ilspace.optimizers.projected import descend_projected
from ilspace.optimizers.result import Iterate, Progress, Solution, Status
from ilspace.optimizers.search import Backtracking
from ilspace.optimizers.solvers import SOLVERS, STOCHASTIC_SOLVERS, solve
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
