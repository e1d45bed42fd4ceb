"""Evaluate one parameter setting: fit, score, record time and warnings."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from ilspace.domains import take_rows
from ilspace.selection._domains import fit_domains
from ilspace.selection.criteria import Criterion
from ilspace.selection.evidence import Evidence


@dataclass(frozen=True)
class Task:
    """What all settings of a search share.

    Attributes
    ----------
    evidence : Evidence
        Rows to score on, and the estimator, not fitted.
    Xt, yt : array-like
        What the search was given; may be None.
    criteria : mapping from str to Criterion
        Scores to compute, by name.
    """

    evidence: Evidence
    Xt: Any
    yt: Any
    criteria: Mapping[str, Criterion]

    def attempt(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Fit with one setting and score the result by all criteria.

        Parameters
        ----------
        parameters : mapping
            The setting.

        Returns
        -------
        dict
            The record: the setting, each criterion (NaN where it failed), seconds,
            warnings, and the error or errors, or None.
        """
        values = dict.fromkeys(self.criteria, np.nan)
        errors: list[str] = []
        start = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                evidence = self._evidence(parameters)
            except Exception as error:  # a setting that fails must not end the search
                errors.append(_text(error))
            else:
                for name, criterion in self.criteria.items():
                    try:
                        values[name] = criterion.judge(evidence)
                    except Exception as error:  # nor a criterion that does not apply
                        errors.append(f"{name}: {_text(error)}")
        return {
            "params": dict(parameters),
            **values,
            "seconds": time.perf_counter() - start,
            "warnings": sorted({str(each.message) for each in caught}),
            "error": "; ".join(errors) or None,
        }

    def _evidence(self, parameters: Mapping[str, Any]) -> Evidence:
        given = self.evidence
        estimator = clone(given.estimator).set_params(**clone(dict(parameters), safe=False))
        rows, labels = take_rows(given.source, given.learned), given.labels[given.learned]
        return replace(given, estimator=fit_domains(estimator, rows, labels, self.Xt, self.yt))


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
