"""What trust and probabilities of predictions for tables are worth, on tables of known labels.

``python docs/measurements/trust.py`` prints the table of docs/user_guide/trust.md. Target labels
serve this evaluation only.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning

from ilspace import TableClassifier
from ilspace.benchmark.protocols import TRANSFERS, gong_splits
from ilspace.datasets import load_office_caltech

LOADERS = {"wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
RARE = 0.15
"""Share of the rows of every second class that is kept where classes become rare."""


class Case(NamedTuple):
    """A source with its labels, and a target with labels that no fit sees."""

    X: np.ndarray
    y: np.ndarray
    Xt: np.ndarray
    yt: np.ndarray

    def with_rare_classes(self, rng: np.random.Generator) -> Case:
        """The same, but every second class is rare in the target."""
        is_rare = np.isin(self.yt, np.unique(self.yt)[::2])
        kept = ~is_rare | (rng.random(len(self.yt)) < RARE)
        return self._replace(Xt=self.Xt[kept], yt=self.yt[kept])


@lru_cache(maxsize=1)
def _domains(features: str):
    return load_office_caltech(features)


def office_cases(features: str, n_trials: int) -> Iterator[Case]:
    """The transfers of Office+Caltech10."""
    for source, target in TRANSFERS:
        here, there = _domains(features)[source], _domains(features)[target]
        for split in gong_splits(source, target, here.y, there.y, n_trials=n_trials):
            yield Case(here.X[split.source], here.y[split.source], there.X, there.y)


def moved_cases(name: str, n_trials: int) -> Iterator[Case]:
    """Halves of a data set, the second in other units and moved."""
    X, y = LOADERS[name](return_X_y=True)
    for trial in range(n_trials):
        rng = np.random.default_rng(trial)
        here, there = np.array_split(rng.permutation(len(y)), 2)
        units = rng.uniform(0.5, 2, X.shape[1])
        move = 0.3 * rng.normal(size=X.shape[1]) * X.std(axis=0)
        yield Case(X[here], y[here], X[there] * units + move, y[there])


def judge(case: Case) -> tuple[float, ...]:
    """Accuracy, mean probability, share that is trusted, accuracy of those and of the others."""
    table, target = (pd.DataFrame(each).add_prefix("x") for each in (case.X, case.Xt))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = TableClassifier().fit(table, case.y.astype(str), target)
    labelled = model.label_rows(target)
    right = labelled["label"].to_numpy() == case.yt.astype(str)
    trusted = labelled["trusted"].to_numpy()
    among = [right[each].mean() if each.any() else np.nan for each in (trusted, ~trusted)]
    return (right.mean(), labelled["probability"].mean(), trusted.mean(), *among)


def row(name: str, cases: list[Case], n_jobs: int) -> str:
    """One line of the table: means over the cases."""
    found = Parallel(n_jobs=n_jobs)(delayed(judge)(each) for each in cases)
    cells = [f"{100 * each:.0f}" for each in np.nanmean(np.array(found), axis=0)]
    return f"| {name} | {' | '.join(cells)} |\n"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    heads = ("right", "mean probability", "trusted", "right if trusted", "right if not")
    sys.stdout.write(f"| in % | {' | '.join(heads)} |\n|{'---|' * (1 + len(heads))}\n")
    sets = {"Office+Caltech10, SURF": list(office_cases("surf", options.trials))}
    sets["Office+Caltech10, deep"] = list(office_cases("deep", options.trials))
    sets |= {name: list(moved_cases(name, options.trials)) for name in LOADERS}
    for name, cases in sets.items():
        rng = np.random.default_rng(0)
        sys.stdout.write(row(name, cases, options.jobs))
        rare = [each.with_rare_classes(rng) for each in cases]
        sys.stdout.write(row(f"{name}, rare classes", rare, options.jobs))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
