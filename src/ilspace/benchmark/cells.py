"""Run one cell: load, split, fit, score, and record time and warnings."""

from __future__ import annotations

import platform
import sys
import time
import traceback
import warnings
from dataclasses import replace
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ilspace.benchmark.methods import check_digest, make_method
from ilspace.benchmark.plan_entries import PlanError
from ilspace.benchmark.plans import FULL_SOURCE, UNSEEN, Cell
from ilspace.benchmark.protocols import Split, full_source_split, gong_splits, hoffman_splits
from ilspace.datasets import DataMissing, load_folder, load_office_caltech, preprocess, search_roots

OFFICE_CALTECH = "office-caltech"
"""The data set with official splits."""


@lru_cache(maxsize=4)
def _domains(dataset: str, features: str, preprocessing: str):
    """Rows and labels of each domain, kept for the next cells of the same process."""
    official = dataset == OFFICE_CALTECH
    domains = load_office_caltech(features) if official else load_folder(_data_folder(dataset))
    return {
        name: (preprocess(domain.X, preprocessing), domain.y) for name, domain in domains.items()
    }


def check_cell(cell: Cell) -> None:
    """Raise the errors that this cell, and similar ones, would fail with.

    Parameters
    ----------
    cell : Cell
        A cell whose data, domains, split and method are checked.
    """
    check_digest(cell)
    sources, (_, yt) = _sources_and_target(cell)
    for name, (_, y) in sources.items():
        _split(replace(cell, source=name), y, yt)


def _sources_and_target(cell: Cell):
    """Rows and labels of each source, by name, and of the target."""
    # where the target is unseen the drawn source rows decide, in each trial
    preprocessing = "none" if cell.setting == UNSEEN else cell.preprocessing
    domains = _domains(cell.dataset, cell.features, preprocessing)
    names = [cell.source] if cell.source in domains else cell.source.split("+")
    for name in (*names, cell.target):
        if name not in domains:
            raise PlanError(f"There is no domain {name!r}; there are {', '.join(domains)}.")
    return {name: domains[name] for name in names}, domains[cell.target]


def _data_folder(name: str) -> Path:
    """Find the folder of a data set that has no loader of its own."""
    places = [*(root / name for root in search_roots()), Path(name)]
    for place in places:
        if place.is_dir():
            return place
    raise DataMissing(
        f"The data set {name} must be a folder with one file per domain, but none of "
        f"{', '.join(map(str, places))} is there: put the files into one of them."
    )


def _split(cell: Cell, y: np.ndarray, yt: np.ndarray) -> Split:
    if cell.dataset != OFFICE_CALTECH and (cell.setting == "semi-supervised" or cell.trial):
        raise PlanError(
            f"{cell.dataset} has no official splits: the whole source is labelled, no target row "
            f"is, so the setting must be {FULL_SOURCE} or unsupervised, with one trial."
        )
    if cell.dataset != OFFICE_CALTECH or cell.setting == FULL_SOURCE:
        return full_source_split(y, yt)
    if cell.setting in ("unsupervised", UNSEEN):
        return gong_splits(cell.source, cell.target, y, yt, n_trials=cell.trial + 1)[cell.trial]
    return hoffman_splits(cell.source, cell.target)[cell.trial]


def load_trial(cell: Cell) -> tuple[tuple, tuple[np.ndarray, np.ndarray]]:
    """Load the training and the test data of a cell.

    Parameters
    ----------
    cell : Cell
        Which data, setting, transfer and trial.

    Returns
    -------
    given : tuple of X, y, Xt, yt
        Arguments of `fit`: the labelled target rows first, then those with hidden labels, -1 in
        `yt`; `yt` is None except in the semi-supervised setting. Of several sources X and y are
        lists, each source with the rows that its own transfer draws in this trial; the target is
        split as in the transfer of the first. Of an unseen target Xt and yt are None, and all rows
        are scaled as the drawn source rows are.
    hidden : tuple of X, y
        The target rows with hidden labels, and these labels.
    """
    sources, (Xt, yt) = _sources_and_target(cell)
    splits = [_split(replace(cell, source=name), y, yt) for name, (_, y) in sources.items()]
    drawn = [
        (X[each.source], y[each.source])
        for (X, y), each in zip(sources.values(), splits, strict=True)
    ]
    split = splits[0]
    rows = np.concatenate([split.labelled, split.test])
    labels = None
    if cell.setting == "semi-supervised":
        labels = np.concatenate([yt[split.labelled], np.full(len(split.test), -1)])
    if cell.setting == UNSEEN:
        known = np.concatenate([X for X, _ in drawn])
        scaled = partial(preprocess, name=cell.preprocessing, fitted_on=known)
        drawn, Xt = [(scaled(X), y) for X, y in drawn], scaled(Xt)
    X, y = drawn[0] if len(drawn) == 1 else map(list, zip(*drawn, strict=True))
    if cell.setting == UNSEEN:
        return ((X, y, None, None), (Xt[split.test], yt[split.test]))
    return ((X, y, Xt[rows], labels), (Xt[split.test], yt[split.test]))


def run_cell(cell: Cell) -> dict[str, Any]:
    """Fit and score one cell; an error is recorded.

    Parameters
    ----------
    cell : Cell
        The cell to run.

    Returns
    -------
    dict
        The record: the cell, accuracy in %, seconds of fit and of prediction, peak memory of the
        process, status of the optimization, warnings, versions; or the error.
    """
    seed = 1000 * cell.trial + sum(map(ord, cell.source + cell.target))
    record: dict[str, Any] = {
        "cell": cell.as_dict(),
        "seed": seed,
        "versions": _versions(),
        "error": None,
    }
    try:
        return record | _fit_and_score(cell, seed)
    except Exception as error:  # a method that fails must not end the run
        return record | failure(error)


def failure(error: Exception) -> dict[str, Any]:
    """Part of the record of a cell that failed.

    Parameters
    ----------
    error : Exception
        What was raised.

    Returns
    -------
    dict
        The error, and the places that it passed.
    """
    text = "".join(traceback.format_exception_only(error)).strip()
    # file names only: stores are published, and folders are private
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{Path(each.filename).name}:{each.lineno} {each.name}" for each in frames]
    return {"error": text, "places": places}


def _fit_and_score(cell: Cell, seed: int) -> dict[str, Any]:
    check_digest(cell)
    given, hidden = load_trial(cell)
    estimator = make_method(cell, seed, hidden)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        estimator.fit(*given)
        fitted = time.perf_counter()
        accuracy = 100 * estimator.score(*hidden)
        end = time.perf_counter()
    best = getattr(estimator, "best_estimator_", estimator)
    solution = getattr(best, "solution_", None)
    optimized: dict[str, Any] = {"status": None, "n_iter": None, "objective": None}
    if solution is not None:
        values = [float(f"{each.value:.10g}") for each in solution.history]  # ten digits
        status, n_iter = solution.status.name, int(solution.n_iter)
        optimized = {"status": status, "n_iter": n_iter, "objective": values}
    converged = not any(issubclass(each.category, ConvergenceWarning) for each in caught)
    return {
        "accuracy": float(accuracy),
        "fit_seconds": round(fitted - start, 4),
        "score_seconds": round(end - fitted, 4),
        "peak_mib": _peak_mib(),
        **optimized,
        "converged": converged,
        "chosen": getattr(estimator, "best_params_", None),
        "warnings": sorted({str(each.message) for each in caught}),
    }


def _peak_mib() -> float | None:
    """Peak memory of this process."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    names = ("ilspace", "numpy", "scipy", "scikit-learn")
    return {name: version(name) for name in names} | {"python": platform.python_version()}
