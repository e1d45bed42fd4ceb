"""What a fitted estimator says about itself, beside its probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from ilspace.benchmark.field.trials import FieldTrial
from ilspace.tables import TableClassifier
from ilspace.tables.labels import LabelledTables
from ilspace.tables.shift import measure_shift
from ilspace.tables.verdict import judge


def field_extras(estimator: Any, trial: FieldTrial) -> dict[str, Any]:
    """Ask a fitted estimator what it says about itself.

    A key that an estimator has nothing for is left out. The table knows these:

    - ``trusted`` and ``trusted_right``: test rows that it trusts, and how many of them are right;
    - ``expected_accuracy``: its estimate of its accuracy on the target, in %;
    - ``verdict``: the verdict as one word, and ``recommended``, which labels it gives;
    - ``unadapted``: accuracy of the labels without adaptation, in %;
    - ``shares_error``: total variation between its estimate of the target's class shares and the
      true ones, from 0 to 1.

    Others go to the store and to the CSV file.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    trial : FieldTrial
        Its data.

    Returns
    -------
    dict
        Plain data for JSON; numbers are better short, for there is one such record per cell.
    """
    if not isinstance(estimator, TableClassifier):
        return {}
    told = estimator.label_rows(trial.X_test)
    trusted = np.asarray(told["trusted"], dtype=bool)
    is_right = np.asarray(told["adapted"]) == trial.y_test
    extras: dict[str, Any] = {
        "trusted": int(trusted.sum()),
        "trusted_right": int((trusted & is_right).sum()),
        "expected_accuracy": round(100 * estimator.agreement_.expected_accuracy, 2),
        "unadapted": round(100 * float(np.mean(told["unadapted"] == trial.y_test)), 4),
    }
    shares = trial.shares()
    true = np.array([shares.get(each, 0.0) for each in estimator.classes_.tolist()])
    error = np.abs(true - estimator.class_prior_).sum() / 2
    extras["shares_error"] = round(float(error), 4)
    if len(estimator.members_) > 1:
        tables = LabelledTables(trial.X, np.asarray(trial.y), trial.Xt, trial.yt)
        found = judge(estimator, tables, shift_p_value=_p_value(estimator, trial))
        extras |= {"verdict": found.word, "recommended": found.recommended}
    return extras


def _p_value(estimator: TableClassifier, trial: FieldTrial) -> float:
    """Whether the tables differ, as :func:`ilspace.tables.job.adapt_files` tests it."""
    encode = estimator.source_encoder_.encode
    return measure_shift(encode(trial.X), encode(trial.Xt)).mmd_p_value
