"""Telling people how an optimization goes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

from sklearn.exceptions import ConvergenceWarning

from ilspace.optimizers import Iterate, Solution, Status

_REMEDIES = {
    Status.EXHAUSTED: "raise max_iter, or raise tol if the accuracy suffices",
    Status.STALLED: (
        "the result is usable; if it disappoints, scale the columns alike, raise shrinkage, or "
        'try solver="lbfgs"'
    ),
    Status.DIVERGED: "scale the columns alike, raise shrinkage, or lower margin_scale",
}


def warn_unless_successful(solution: Solution, name: str) -> None:
    """Warn, whatever the verbosity, if an optimization did not end where it should.

    Parameters
    ----------
    solution : Solution
        How it ended.
    name : str
        Whose optimization it was.
    """
    if solution.status.is_success:
        return
    warnings.warn(
        f"{name} stopped after {solution.n_iter} iterations: {solution.status.value} "
        f"(status {solution.status.name}); {_REMEDIES[solution.status]}.",
        ConvergenceWarning,
        stacklevel=4,  # the caller of fit: fit itself is wrapped
    )


def report_end(solution: Solution, verbose: int, name: str) -> None:
    """Write on standard error how an optimization ended.

    Parameters
    ----------
    solution : Solution
        How it ended.
    verbose : int
        0 for silence.
    name : str
        Whose optimization it was.
    """
    if verbose:
        sys.stderr.write(
            f"[{name}] {solution.status.name} after {solution.n_iter} iterations: "
            f"{solution.status.value}; objective {solution.history[-1].value:.6g}\n"
        )


def reporter(
    verbose: int, callback: Callable[[int, Iterate], object] | None, name: str
) -> Callable[[int, Iterate], object] | None:
    """Combine a user's callback with lines on standard error.

    Parameters
    ----------
    verbose : int
        0 for silence, 1 for a line every ten iterations, 2 for every one.
    callback : callable or None
        The user's.
    name : str
        Whose lines they are.

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
