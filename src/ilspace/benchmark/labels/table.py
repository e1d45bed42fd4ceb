"""Table of the benchmark of labels: accuracy by budget, and how far the estimates hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from ilspace.benchmark.labels.plan import LabelsGroup, LabelsPlan, QueryMethod
from ilspace.benchmark.store import find_results


@dataclass(frozen=True)
class LabelsRow:
    """Results of one query strategy on one group.

    Attributes
    ----------
    method : QueryMethod
        The strategy.
    records : dict of (str, int) to dict
        Records by pair and trial.
    """

    method: QueryMethod
    records: dict[tuple[str, int], dict[str, Any]]

    def accuracy(self, n: int, having: int = 0) -> float:
        """Accuracy with n labels, in %.

        Parameters
        ----------
        n : int
            Number of labels.
        having : int, default=0
            Only of pairs that have results with so many labels.

        Returns
        -------
        float
            Mean over pairs of the mean over trials; of pairs with so many labels.
        """
        return self._mean(
            lambda record: _at(record, n).get("accuracy", np.nan) if _at(record, having) else np.nan
        )

    @property
    def average(self) -> float:
        """Accuracy averaged over the budgets, pairs and trials, in %."""
        return self._mean(lambda record: record["accuracy"])

    @property
    def seconds(self) -> float:
        """Mean time of one cell."""
        return self._mean(lambda record: record["seconds"])

    def steps(self, budgets: Sequence[int]) -> list[dict[str, Any]]:
        """What was measured with given numbers of labels, in all pairs and trials.

        Parameters
        ----------
        budgets : sequence of int
            Numbers of labels.

        Returns
        -------
        list of dict
            Entries of the records.
        """
        return [
            step for each in self.records.values() for step in each["steps"] if step["n"] in budgets
        ]

    def _mean(self, number) -> float:
        by_pair = defaultdict(list)
        for (pair, _), record in self.records.items():
            by_pair[pair].append(number(record))
        means = np.array([np.mean(each) for each in by_pair.values()])
        means = means[~np.isnan(means)]
        return float(means.mean()) if len(means) else np.nan


def _at(record: dict[str, Any], n: int) -> dict[str, Any]:
    return next((step for step in record["steps"] if step["n"] == n), {})


@dataclass(frozen=True)
class Comparison:
    """One strategy against the reference, on the same pairs and trials.

    Attributes
    ----------
    difference : float
        Difference of the accuracies, averaged over the budgets, in points.
    p_value : float
        Wilcoxon's signed-rank test over the pairs, or over pairs and trials where there are fewer
        than six pairs; two-sided; NaN without differences.
    worse : tuple of str
        Pairs on which it is significantly worse (the same test over the trials, one-sided, 5 %).
    """

    difference: float
    p_value: float
    worse: tuple[str, ...]


@dataclass(frozen=True)
class Coverage:
    """How far the estimates of accuracy hold, at the budgets.

    Attributes
    ----------
    covered : float
        Share of the intervals that hold the accuracy on held-out rows, in %.
    width : float
        Mean width of the intervals, in points.
    bias, error : float
        Mean difference of estimate and accuracy, and mean absolute difference, in points.
    gain, expected_gain : float
        Mean increase of the accuracy by the next batch, and the forecast of it, in points.
    """

    covered: float
    width: float
    bias: float
    error: float
    gain: float
    expected_gain: float


@dataclass(frozen=True)
class LabelsBlock:
    """All strategies on one group.

    Attributes
    ----------
    group : LabelsGroup
        The group.
    rows : tuple of LabelsRow
        The strategies, in the plan's order.
    """

    group: LabelsGroup
    rows: tuple[LabelsRow, ...]


@dataclass(frozen=True)
class LabelsTable:
    """Results of a plan.

    Attributes
    ----------
    plan : LabelsPlan
        The plan.
    blocks : tuple of LabelsBlock
        One per group with results.
    n_failed : int
        Cells without a result because of an error.
    n_outdated : int
        Cells that have results of other parameters or of another revision of the method only;
        these are left out.
    """

    plan: LabelsPlan
    blocks: tuple[LabelsBlock, ...]
    n_failed: int
    n_outdated: int


def make_labels_table(plan: LabelsPlan, records: Iterable[dict[str, Any]]) -> LabelsTable:
    """Summarise the records of a plan.

    Parameters
    ----------
    plan : LabelsPlan
        Which cells count.
    records : iterable of dict
        Results, of this plan or others.

    Returns
    -------
    LabelsTable
        Rows without any result are left out.
    """
    results = find_results(plan.cells(), records)
    found: dict[tuple[str, str], dict[tuple[str, int], dict[str, Any]]] = defaultdict(dict)
    n_failed = 0
    for record in results.records.values():
        cell = record["cell"]
        if record.get("error") is not None:
            n_failed += 1
        elif "skipped" not in record:
            found[cell["group"], cell["method"]][cell["pair"], cell["trial"]] = record
    blocks = []
    for group in plan.groups:
        rows = [
            LabelsRow(method, found[group.name, method.name])
            for method in plan.methods
            if found[group.name, method.name]
        ]
        if rows:
            blocks.append(LabelsBlock(group, tuple(rows)))
    return LabelsTable(plan, tuple(blocks), n_failed, results.n_outdated)


def compare(row: LabelsRow, reference: LabelsRow) -> Comparison:
    """Compare a strategy with another one, on the pairs and trials that both have.

    Parameters
    ----------
    row, reference : LabelsRow
        The two.

    Returns
    -------
    Comparison
        Row minus reference.
    """
    by_pair = defaultdict(list)
    for key in sorted(row.records.keys() & reference.records.keys()):
        difference = row.records[key]["accuracy"] - reference.records[key]["accuracy"]
        by_pair[key[0]].append(difference)
    means = [float(np.mean(each)) for each in by_pair.values()]
    every = [each for differences in by_pair.values() for each in differences]
    worse = [pair for pair, each in by_pair.items() if _p_value(each, "less") < 0.05]
    p_value = _p_value(means if len(means) >= 6 else every, "two-sided")
    return Comparison(float(np.mean(means)) if means else np.nan, p_value, tuple(worse))


def _p_value(differences: Sequence[float], alternative: str) -> float:
    if not np.any(differences):
        return np.nan
    return float(stats.wilcoxon(differences, alternative=alternative).pvalue)


def coverage(row: LabelsRow, budgets: Sequence[int], batch: int) -> Coverage:
    """Compare the estimates of accuracy with the accuracy on held-out rows.

    Parameters
    ----------
    row : LabelsRow
        Results of a strategy.
    budgets : sequence of int
        Numbers of labels at which estimates are looked at.
    batch : int
        Labels per batch.

    Returns
    -------
    Coverage
        Means over all pairs, trials and budgets.
    """
    steps = row.steps(budgets)
    values = {
        name: np.array([each[name] for each in steps])
        for name in ("accuracy", "value", "low", "high")
    }
    truth, errors = values["accuracy"], values["value"] - values["accuracy"]
    inside = (values["low"] <= truth) & (truth <= values["high"])
    gains = [
        (following["accuracy"] - step["accuracy"], step["gain"])
        for record in row.records.values()
        for step in record["steps"]
        if (following := _at(record, step["n"] + batch))
    ]
    gain, expected = np.mean(gains, axis=0) if gains else (np.nan, np.nan)
    return Coverage(
        covered=100 * float(inside.mean()),
        width=float(np.mean(values["high"] - values["low"])),
        bias=float(errors.mean()),
        error=float(np.abs(errors).mean()),
        gain=float(gain),
        expected_gain=float(expected),
    )
