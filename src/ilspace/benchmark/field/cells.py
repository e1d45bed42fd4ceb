"""Run one cell of the field benchmark: fit on two tables, and score the target's hidden labels."""

from __future__ import annotations

import time
import warnings
import zlib
from typing import Any

import numpy as np

from ilspace.benchmark.cells import failure
from ilspace.benchmark.field.plan import MIN_TEST_ROWS, FieldCell, parse_setting
from ilspace.benchmark.field.trials import FieldTrial, load_field_trial, load_pair
from ilspace.benchmark.methods import check_digest, make_method
from ilspace.tables import TableClassifier
from ilspace.tables.encoding import Encoded
from ilspace.tables.estimates import SURE, estimate
from ilspace.tables.pair import as_pair

LEAST_PROBABILITY = 1e-6
"""Lower probabilities of the true class count as this one in the log-loss."""


def check_field_cell(cell: FieldCell) -> None:
    """Raise the errors that this cell, and similar ones, would fail with.

    Parameters
    ----------
    cell : FieldCell
        A cell whose data and method are checked.
    """
    check_digest(cell)
    load_pair(cell.pair)


def run_field_cell(cell: FieldCell) -> dict[str, Any]:
    """Fit and score one cell; an error is recorded.

    Parameters
    ----------
    cell : FieldCell
        The cell to run.

    Returns
    -------
    dict
        The record: the cell and its :func:`scores`, seconds of fit and prediction, and the
        :func:`estimates` of a method that is asked for them; or ``skipped``, the number of test
        rows if they are too few; or the error.
    """
    record: dict[str, Any] = {"cell": cell.as_dict()}
    try:
        return record | _fit_and_score(cell)
    except Exception as error:  # a method that fails must not end the run
        return record | failure(error)


def _fit_and_score(cell: FieldCell) -> dict[str, Any]:
    check_digest(cell)
    trial = load_field_trial(cell.pair, parse_setting(cell.setting), cell.trial)
    if len(trial.y_test) < MIN_TEST_ROWS:
        return {"skipped": len(trial.y_test)}
    seed = zlib.crc32(f"{cell.pair} {cell.trial}".encode())
    estimator = make_method(cell.method, seed)
    if cell.method.given_shares:
        estimator.set_params(class_prior=trial.shares())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        estimator.fit(trial.X, trial.y, trial.Xt, trial.yt)
        probabilities = np.asarray(estimator.predict_proba(trial.X_test))
        found = {"seconds": round(time.perf_counter() - start, 2)}
        found |= scores(trial.y_test, probabilities, np.asarray(estimator.classes_))
        return found | (estimates(estimator, trial) if cell.method.estimates else {})


def scores(
    truth: np.ndarray, probabilities: np.ndarray, classes: np.ndarray
) -> dict[str, int | float]:
    """Score probabilities, rounded so that a store remains small.

    Parameters
    ----------
    truth : array of shape (n,)
        True labels.
    probabilities : array of shape (n, n_classes)
        Rows sum to 1.
    classes : array of shape (n_classes,)
        The classes, sorted.

    Returns
    -------
    dict
        ``accuracy`` and ``balanced`` (mean recall over the classes of the test rows) in %;
        ``log_loss``, where probabilities of the true class below 1e-6 count as 1e-6; and numbers
        of rows: ``n_test``, those whose label is ``sure``, and those of these that are right,
        ``sure_right``.
    """
    codes = np.searchsorted(classes, truth)
    is_right, is_sure = probabilities.argmax(axis=1) == codes, probabilities.max(axis=1) >= SURE
    recalls = [is_right[codes == code].mean() for code in np.unique(codes)]
    of_truth = probabilities[np.arange(len(codes)), codes]
    return {
        "accuracy": round(100 * float(is_right.mean()), 2),
        "balanced": round(100 * float(np.mean(recalls)), 2),
        "log_loss": round(float(-np.log(np.maximum(of_truth, LEAST_PROBABILITY)).mean()), 4),
        "n_test": len(codes),
        "sure": int(is_sure.sum()),
        "sure_right": int((is_sure & is_right).sum()),
    }


def estimates(model: TableClassifier, trial: FieldTrial) -> dict[str, Any]:
    """Ask a fitted model what it knows of its labels.

    Parameters
    ----------
    model : TableClassifier
        Fitted.
    trial : FieldTrial
        Its data.

    Returns
    -------
    dict
        In %: ``expected``, the accuracy that it expects on rows without a label, and the interval
        from ``low`` to ``high``, None where there is no number; and ``held_out``, the accuracy on
        source rows. ``told_apart``: area under the curve; ``n_labels``: those it rests on.
    """
    pair = as_pair(trial.X, trial.y, trial.Xt, trial.yt)
    encoded = Encoded(model.encode(pair.source, "source"), model.encode(pair.target))
    found = estimate(model, pair, encoded, model.rule_.votes(encoded.target).mean(axis=0))
    low, high = found.interval or (None, None)
    shares = {"expected": found.expected, "low": low, "high": high}
    shares["held_out"] = found.held_out_accuracy
    said = {k: None if each is None else round(100 * each, 2) for k, each in shares.items()}
    return said | {"told_apart": round(found.told_apart, 4), "n_labels": found.n_labels}
