"""What a fitted estimator says about itself, beside its probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from ilspace.benchmark.field.trials import FieldTrial


def field_extras(estimator: Any, trial: FieldTrial) -> dict[str, Any]:
    """Ask a fitted estimator what it says about itself.

    A key that an estimator has nothing for is left out. The table knows these:

    - ``trusted`` and ``trusted_right``: test rows that it trusts, and how many of them are right;
    - ``expected_accuracy``: its estimate of its accuracy on the target, in %;
    - ``verdict``: which labels it recommends, as one word;
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
    extras: dict[str, Any] = {}
    if hasattr(estimator, "label_rows"):
        told = estimator.label_rows(trial.X_test)
        trusted = np.asarray(told["trusted"], dtype=bool)
        is_right = np.asarray(told["label"]) == trial.y_test
        extras |= {"trusted": int(trusted.sum()), "trusted_right": int((trusted & is_right).sum())}
    return extras
