"""What a source whose labels are shuffled costs, on Office+Caltech10.

``python docs/measurements/shuffled_source.py`` prints the table of
docs/user_guide/several-sources.md: three sources and the fourth domain as target, each source in
turn with shuffled labels, beside the two other sources alone. Rows, scaling and seeds are those of
``ilspace bench run several-sources``; its first trials are taken. Target labels serve this
evaluation only.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ilspace import ILSClassifier
from ilspace.benchmark.protocols import gong_splits
from ilspace.datasets import load_office_caltech, preprocess

TARGETS = "AWDC"
SCALING = {"surf": "sqrt-zscore-l2", "deep": "l2-zscore-l2"}
RULES = {"default": {}, "nearest": {"classifier": "nearest", "self_training": 0}}


class Case(NamedTuple):
    """Three sources and a target, and which source has its labels shuffled."""

    target: str
    shuffled: str
    trial: int
    sources: dict[str, tuple[np.ndarray, np.ndarray]]
    Xt: np.ndarray
    yt: np.ndarray


def cases(features: str, targets: str, n_trials: int) -> Iterator[Case]:
    """Each source of each target in turn, with rows of both scaled."""
    domains = {
        name: (preprocess(each.X, SCALING[features]), each.y)
        for name, each in load_office_caltech(features).items()
    }
    for trial in range(n_trials):
        for target in targets:
            Xt, yt = domains[target]
            sources = {}
            for name in TARGETS.replace(target, ""):
                X, y = domains[name]
                rows = gong_splits(name, target, y, yt, n_trials=trial + 1)[trial].source
                sources[name] = X[rows], y[rows]
            for name in sources:
                yield Case(target, name, trial, sources, Xt, yt)


def accuracy(rule: dict, sources: list, case: Case) -> float:
    """Share of target rows that are labelled right, in %."""
    seed = 1000 * case.trial + sum(map(ord, case.target + case.shuffled))
    rows, labels = zip(*sources, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ILSClassifier(random_state=seed, **rule).fit(list(rows), list(labels), case.Xt)
    return 100 * model.score(case.Xt, case.yt)


def measure(rule: dict, case: Case) -> tuple[float, float]:
    """Accuracy without the source, and with its labels shuffled."""
    others = [own for name, own in case.sources.items() if name != case.shuffled]
    key = (case.trial, TARGETS.index(case.target), TARGETS.index(case.shuffled))
    X, y = case.sources[case.shuffled]
    spoilt = (X, np.random.default_rng(key).permutation(y))
    return accuracy(rule, others, case), accuracy(rule, [*others, spoilt], case)


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--features", nargs="*", choices=list(SCALING), default=list(SCALING))
    parser.add_argument("--rules", nargs="*", choices=list(RULES), default=list(RULES))
    parser.add_argument("--targets", default=TARGETS, help="their letters")
    parser.add_argument("--each", action="store_true", help="print the cost of each source, too")
    options = parser.parse_args()
    say("| features | rule | without it | shuffled | costs | most, of a source and a target |")
    say("|---|---|--:|--:|--:|---|")
    for features in options.features:
        for name in options.rules:
            found: dict[tuple[str, str], list[tuple[float, float]]] = {}
            for case in cases(features, options.targets, options.trials):
                pair = found.setdefault((case.shuffled, case.target), [])
                pair.append(measure(RULES[name], case))
            means = {where: np.mean(each, axis=0) for where, each in found.items()}
            costs = {where: without - spoilt for where, (without, spoilt) in means.items()}
            without, spoilt = np.mean(list(means.values()), axis=0)
            source, target = max(costs, key=lambda where: costs[where])
            say(
                f"| {features} | {name} | {without:.1f} | {spoilt:.1f} | {without - spoilt:.1f} | "
                f"{costs[source, target]:.1f} ({source}, for {target}) |"
            )
            for (shuffled, goal), cost in costs.items() if options.each else ():
                say(f"  {shuffled}, for {goal}: {cost:+.2f}")


if __name__ == "__main__":
    main()
