"""Run one cell of the benchmark of labels: ask, teach, score the rows that are never asked."""

from __future__ import annotations

import time
import warnings
import zlib
from typing import Any

import numpy as np

from ilspace.active import QuerySelector
from ilspace.benchmark.cells import failure
from ilspace.benchmark.field.trials import load_pair
from ilspace.benchmark.labels.plan import LabelsCell
from ilspace.benchmark.labels.trials import load_label_trial, take_rows
from ilspace.benchmark.methods import check_digest, make_estimator


def check_labels_cell(cell: LabelsCell) -> None:
    """Raise the errors that this cell, and similar ones, would fail with.

    Parameters
    ----------
    cell : LabelsCell
        A cell whose data and method are checked.
    """
    check_digest(cell)
    load_pair(cell.pair)


def run_labels_cell(cell: LabelsCell) -> dict[str, Any]:
    """Ask for labels in batches, and score after each; an error is recorded.

    Parameters
    ----------
    cell : LabelsCell
        The cell to run.

    Returns
    -------
    dict
        The record: the cell; ``n_pool``, ``n_test`` and ``seconds``; ``accuracy``, on held-out rows
        in %, averaged over the budgets; and ``steps``, after each batch: ``n`` labels,
        ``accuracy``, the estimate of it (``value``, ``low``, ``high``, in %), and ``gain``, what
        the next batch was expected to bring; or the error.
    """
    record: dict[str, Any] = {"cell": cell.as_dict()}
    try:
        return record | _ask_and_score(cell)
    except Exception as error:  # a method that fails must not end the run
        return record | failure(error)


def _ask_and_score(cell: LabelsCell) -> dict[str, Any]:
    check_digest(cell)
    group = cell.group
    trial = load_label_trial(cell.pair, cell.trial, group.preprocessing, group.most_rows)
    n_pool = len(trial.yt) - len(trial.held_out)
    budgets = [each for each in cell.budgets if each <= n_pool // 2]
    if not budgets:
        return {"skipped": n_pool}
    seed = zlib.crc32(f"{cell.pair} {cell.trial}".encode())
    estimator = make_estimator(group.estimator, dict(group.parameters), seed)
    selector = QuerySelector(estimator, cell.method.strategy, random_state=seed)
    Xt, truth = trial.Xt, trial.yt[trial.held_out]
    hidden = take_rows(Xt, trial.held_out)
    steps = []
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector.fit(trial.X, trial.y, Xt, skip=trial.held_out)
        for n in range(0, budgets[-1] + 1, cell.batch):
            if n:
                rows = selector.query(cell.batch)
                selector.teach(rows, trial.yt[rows])
            said = selector.estimate_accuracy()
            right = np.mean(np.asarray(selector.estimator_.predict(hidden)) == truth)
            numbers = {"value": said.value, "low": said.low, "high": said.high}
            numbers |= {"accuracy": float(right), "gain": selector.expected_gain(cell.batch)}
            steps.append({"n": n} | {key: round(100 * each, 2) for key, each in numbers.items()})
    seconds = round(time.perf_counter() - start, 2)
    scored = [each["accuracy"] for each in steps if each["n"] in budgets]
    return {
        "accuracy": round(float(np.mean(scored)), 3),
        "n_pool": n_pool,
        "n_test": len(truth),
        "seconds": seconds,
        "steps": steps,
    }
