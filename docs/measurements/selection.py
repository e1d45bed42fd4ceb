"""How well parameters can be chosen without target labels, on Office+Caltech10.

``python docs/measurements/selection.py --store selection.jsonl`` fills the store, where it is not
filled already, and prints the tables of docs/selection.md. Target labels serve this evaluation
only.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata, spearmanr
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid

from ilspace import ILSClassifier, ObjectiveSettings
from ilspace.benchmark.protocols import TRANSFERS, gong_splits, hoffman_splits
from ilspace.datasets import load_office_caltech, preprocess
from ilspace.selection import CRITERIA, CircularValidation, DeepEmbeddedValidation, LabelFreeSearch

SETTINGS = ("unsupervised", "semi-supervised")
GRIDS = {
    "small": {"n_components": [10, 20, 30, 50], "objective__metric_weight": [5.0, 20.0, 80.0]},
    "wide": {
        "n_components": [2, 10, 30, 100],
        "objective__metric_weight": [0.1, 20.0, 1000.0],
        "objective__trade_off": [1.0, 100.0],
    },
}
MEASURED = {name: kind() for name, kind in CRITERIA.items()} | {
    "circular, all rows": CircularValidation(rows="all"),
    "dev, log loss": DeepEmbeddedValidation(loss="log"),
}
AGGREGATES = {
    "mean rank: calibrated, mixval, source": ("calibrated", "mixval", "source"),
    "mean rank: circular, source": ("circular", "source"),
    "mean rank: all of CRITERIA": tuple(CRITERIA),
}


@lru_cache(maxsize=1)
def _domains():
    domains = load_office_caltech("surf")
    return {name: (preprocess(each.X, "sqrt-zscore-l2"), each.y) for name, each in domains.items()}


def given_and_hidden(setting: str, source: str, target: str, trial: int):
    """What a fit takes, and what it is scored on."""
    (X, y), (Xt, yt) = _domains()[source], _domains()[target]
    if setting == "unsupervised":
        split = gong_splits(source, target, y, yt, n_trials=trial + 1)[trial]
        return (X[split.source], y[split.source], Xt, None), (Xt, yt)
    split = hoffman_splits(source, target)[trial]
    rows = np.concatenate([split.labelled, split.test])
    some = np.concatenate([yt[split.labelled], np.full(len(split.test), -1)])
    given = (X[split.source], y[split.source], Xt[rows], some)
    return given, (Xt[split.test], yt[split.test])


def estimator() -> ILSClassifier:
    """One whose weights can be reached by nested names."""
    return ILSClassifier(objective=ObjectiveSettings())


def measure(where: tuple, given: tuple, hidden: tuple, criteria) -> dict:
    """Criteria and true accuracy of each setting of a grid."""
    grid, *_, trial = where
    settings = list(ParameterGrid(GRIDS[grid]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search = LabelFreeSearch(
            estimator(), GRIDS[grid], criteria=criteria, choose_by="source", random_state=trial
        ).fit(*given)
        accuracies = [
            100 * estimator().set_params(**each).fit(*given).score(*hidden)
            if np.isfinite(held_out)
            else float("nan")
            for each, held_out in zip(settings, search.cv_results_["source"], strict=True)
        ]
    return {
        "where": list(where),
        "settings": settings,
        "criteria": {name: list(search.cv_results_[name]) for name in criteria},
        "seconds": list(search.cv_results_["seconds"]),
        "accuracy": accuracies,
    }


def fill(store: Path, *, n_trials: int, n_jobs: int, grids, criteria) -> list[dict]:
    """Measure what the store lacks; all its records."""
    known = [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []
    done = {tuple(record["where"]) for record in known}
    wanted = [
        (grid, setting, *transfer, trial)
        for grid in grids
        for trial in range(n_trials)
        for setting in SETTINGS
        for transfer in TRANSFERS
    ]
    # the data are read here: a worker could not find the cache of a script
    jobs = (
        delayed(measure)(each, *given_and_hidden(*each[1:]), criteria)
        for each in wanted
        if each not in done
    )
    with store.open("a") as file:
        for record in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
            file.write(json.dumps(record) + "\n")
            file.flush()
            known.append(record)
    return [record for record in known if tuple(record["where"]) in set(wanted)]


def picked(record: dict, names: tuple[str, ...]) -> int:
    """The setting that a criterion, or the mean rank by several, would choose."""
    values = np.array([record["criteria"][name] for name in names])
    values = np.where(np.isnan(values), -np.inf, values)
    return int(np.argmax(rankdata(values, axis=1).mean(axis=0)))


def summary(records: list[dict]) -> dict[str, tuple[str, str, str]]:
    """For each way to choose: accuracy, correlation with it, and trials won, tied and lost."""
    accuracies = [np.array(record["accuracy"]) for record in records]
    defaults = np.array([_default_accuracy(record) for record in records])
    rows = {
        "best setting of each trial (oracle)": [np.nanmax(each) for each in accuracies],
        "best setting for all trials (oracle)": [np.nanmax(np.mean(accuracies, axis=0))],
        "the defaults": defaults,
        "any setting, on average": [np.nanmean(each) for each in accuracies],
    }
    cells = {name: (f"{np.mean(values):.1f}", "", "") for name, values in rows.items()}
    choices = {name: (name,) for name in records[0]["criteria"]} | AGGREGATES
    for name, names in choices.items():
        found = np.array([record["accuracy"][picked(record, names)] for record in records])
        gains = np.round(found - defaults, 9)
        outcome = f"{np.sum(gains > 0)}, {np.sum(gains == 0)}, {np.sum(gains < 0)}"
        alone = [_correlation(record, name) for record in records] if len(names) == 1 else []
        cells[name] = (f"{found.mean():.1f}", f"{np.mean(alone):.2f}" if alone else "", outcome)
    return cells


def _default_accuracy(record: dict) -> float:
    """Accuracy of the setting that the estimator has by itself."""
    defaults = estimator().get_params() | {"n_components": 30}  # what None stands for here
    return next(
        accuracy
        for setting, accuracy in zip(record["settings"], record["accuracy"], strict=True)
        if all(defaults[name] == value for name, value in setting.items())
    )


def _correlation(record: dict, name: str) -> float:
    values, accuracy = np.array(record["criteria"][name]), np.array(record["accuracy"])
    both = np.isfinite(values) & np.isfinite(accuracy)
    if np.ptp(values[both]) == 0 or np.ptp(accuracy[both]) == 0:
        return 0.0  # what is the same for all settings orders nothing
    return float(spearmanr(values[both], accuracy[both])[0])


def table(records: list[dict]) -> str:
    """One grid, both settings side by side, as Markdown."""
    sides = [summary([each for each in records if each["where"][1] == s]) for s in SETTINGS]
    columns = ["accuracy", "Spearman", "better, equal, worse"]
    rows = [["chosen by", *columns, *columns], ["---"] * 7]
    rows += [[name, *(cell for side in sides for cell in side[name])] for name in sides[0]]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def main() -> None:
    """Fill the store and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, default=Path("selection.jsonl"))
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--grids", nargs="+", choices=list(GRIDS), default=list(GRIDS))
    options = parser.parse_args()
    records = fill(
        options.store,
        n_trials=options.trials,
        n_jobs=options.jobs,
        grids=options.grids,
        criteria=MEASURED,
    )
    for grid in options.grids:
        these = [each for each in records if each["where"][0] == grid]
        title = f"{grid} grid, {' and then '.join(SETTINGS)}, {len(these) // 2} trials of each"
        sys.stdout.write(f"\n{title}\n\n{table(these)}\n")


if __name__ == "__main__":
    main()
