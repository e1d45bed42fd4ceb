"""Evaluate one parameter setting: fit, score, record time and warnings."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
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
    estimator : estimator
        Not fitted.
    X, y, Xt, yt : array-like
        What the search was given; `Xt` and `yt` may be None.
    held_out : ndarray of int
        Indices of the source rows held out for scoring.
    target : array-like of shape (m, dt)
        Target rows to score on.
    n_hints : int
        Labelled target rows per class.
    criteria : mapping from str to Criterion
        Scores to compute, by name.
    seed : int
        Seed of random criteria.
    """

    estimator: Any
    X: Any
    y: np.ndarray
    Xt: Any
    yt: Any
    held_out: np.ndarray
    target: Any
    n_hints: int
    criteria: Mapping[str, Criterion]
    seed: int

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
        estimator = clone(self.estimator).set_params(**clone(dict(parameters), safe=False))
        learned = np.setdiff1d(np.arange(len(self.y)), self.held_out)
        fit_domains(estimator, take_rows(self.X, learned), self.y[learned], self.Xt, self.yt)
        return Evidence(
            estimator, self.X, self.y, self.held_out, self.target, self.n_hints, self.seed
        )


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
