"""Compare ilspace with pymanopt's conjugate gradient: same objective, pairs and machine, one run.

    make perf                   two transfers, five rounds
    make perf ARGS="--rounds 2"
    make perf ARGS="--processor-time"   on a machine that does other work too

Prints milliseconds and ratios, medians over the rounds. Both sides take turns, so that a machine
that slows down slows both.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import NamedTuple

import numpy as np
from problem import Problem, surf_like_problem, surf_problem
from pymanopt_reference import Reference, reference_start
from sklearn.exceptions import ConvergenceWarning

from ilspace import ILSClassifier, ObjectiveSettings
from ilspace.datasets import DataMissing

N_ITERATIONS = 30

N_REPEATS = 5
"""Our fits in a round: the start-up is taken off the time of an iteration, so both must be sure."""


class Times(NamedTuple):
    """Milliseconds of one round."""

    start: float
    iteration: float
    fit: float


CLOCK = {"now": time.perf_counter}


def milliseconds(action):
    """Time of a call, and what it returned."""
    start = CLOCK["now"]()
    result = action()
    return 1e3 * (CLOCK["now"]() - start), result


def time_ilspace(problem: Problem) -> tuple[Times, float]:
    """Times of one fit, without self-training, and the objective it reaches."""

    def fit(**parameters):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return ILSClassifier(self_training=0, **parameters).fit(*problem.given)

    taken = []
    for _ in range(N_REPEATS):
        start, _ = milliseconds(lambda: fit(max_iter=0))
        whole, fitted = milliseconds(fit)
        long, walked = milliseconds(lambda: fit(tol=0, max_iter=N_ITERATIONS))
        taken.append((start, long, whole))
    start, long, whole = np.median(taken, axis=0)
    iteration = (long - start) / walked.n_iter_
    return Times(start, iteration, whole), fitted.solution_.history[-1].value


def time_pymanopt(problem: Problem, objective: float, *, pairs: str) -> Times:
    """Times of the same with pymanopt, to the same objective if the pairs are the same."""
    start, prepared = milliseconds(lambda: reference_start(problem, ObjectiveSettings()))
    reference, began = Reference(prepared, pairs=pairs), time.perf_counter()
    taken, result = milliseconds(lambda: reference.run(N_ITERATIONS))
    share = taken / (1e3 * (time.perf_counter() - began))  # its log has the time of day
    log = result.log["iterations"]
    costs, clock = np.asarray(log["cost"]), 1e3 * share * np.asarray(log["time"])
    clock = clock - clock[0]
    if pairs == "sampled":  # another objective
        return Times(start, clock[-1] / (len(clock) - 1), np.nan)
    n_needed = int(np.argmax(costs <= objective))
    if costs[n_needed] > objective:
        raise RuntimeError(f"pymanopt did not reach {objective} in {N_ITERATIONS} iterations.")
    return Times(start, clock[-1] / (len(clock) - 1), start + clock[n_needed])


def median(rounds: list[Times]) -> Times:
    """Median of each time."""
    return Times(*np.median(rounds, axis=0))


def report(problem: Problem, n_rounds: int) -> None:
    """Measure one problem and print what came out."""
    _, objective = time_ilspace(problem)  # a first round warms caches up
    sides: dict[str, list[Times]] = {"ilspace": []}
    for _ in range(n_rounds):
        sides["ilspace"].append(time_ilspace(problem)[0])
        for pairs in ("all", "listed", "sampled"):
            taken = time_pymanopt(problem, objective, pairs=pairs)
            sides.setdefault(f"pymanopt, {pairs} pairs", []).append(taken)
    ours = median(sides["ilspace"])
    print(f"\n{problem.name}, to the objective {objective:.4f}")
    print(f"{'milliseconds (times ilspace)':32}{'start-up':>18}{'iteration':>18}{'whole fit':>18}")
    for side, rounds in sides.items():
        cells = (
            f"{value:8.1f} ({value / base:5.1f})"
            for value, base in zip(median(rounds), ours, strict=True)
        )
        print(f"{side:32}" + "".join(f"{cell:>18}" for cell in cells))


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="rounds to take the median of")
    parser.add_argument("--processor-time", action="store_true", help="instead of the time of day")
    options = parser.parse_args()
    n_rounds = options.rounds
    if options.processor_time:
        CLOCK["now"] = time.process_time
    try:
        problems = [surf_problem("A", "C", labels) for labels in (False, True)]
    except DataMissing as error:
        print(f"{error}\nRandom rows of the same shape take its place.")
        problems = [surf_like_problem()]
    for problem in problems:
        report(problem, n_rounds)


if __name__ == "__main__":
    main()
