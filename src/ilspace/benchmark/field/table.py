"""Table of the field benchmark: scores by group, and how far holds what methods say of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ilspace.benchmark.field.plan import FieldMethod, FieldPlan, Setting
from ilspace.benchmark.store import find_results

MEASURES = (
    *("accuracy", "balanced", "log_loss", "n_test", "sure", "sure_right", "seconds"),
    *("expected", "low", "high", "held_out", "told_apart", "n_labels"),
    *("sure_share", "error", "close", "covered"),
)
"""Numbers that are averaged over trials: those of a record, and those that :func:`numbers` adds."""


@dataclass(frozen=True)
class FieldRow:
    """Results of one method in one setting.

    Attributes
    ----------
    method : FieldMethod
        The method.
    means : mapping of str to ndarray of shape (n_pairs,)
        Each of `MEASURES`, mean over the trials that have it; NaN where none has.
    n_trials : int array of shape (n_pairs,)
        Trials with a result.
    """

    method: FieldMethod
    means: Mapping[str, np.ndarray]
    n_trials: np.ndarray

    @property
    def accuracy(self) -> np.ndarray:
        """Accuracy on each pair, in %."""
        return self.means["accuracy"]


@dataclass(frozen=True)
class FieldBlock:
    """All methods in one setting.

    Attributes
    ----------
    setting : Setting
        The setting.
    rows : tuple of FieldRow
        The methods, in the plan's order.
    counts : bool array of shape (n_pairs,)
        Pairs that are not skipped.
    """

    setting: Setting
    rows: tuple[FieldRow, ...]
    counts: np.ndarray

    def accuracy_of(self, name: str) -> np.ndarray | None:
        """Accuracy of a row.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        ndarray of shape (n_pairs,) or None
            None if there is no such row.
        """
        return next((row.accuracy for row in self.rows if row.method.name == name), None)


@dataclass(frozen=True)
class FieldTable:
    """Results of a plan.

    Attributes
    ----------
    plan : FieldPlan
        The plan.
    blocks : tuple of FieldBlock
        One per setting with results.
    skipped : tuple of (str, str, int)
        Pair, setting and number of test rows of the cells that were skipped.
    n_failed : int
        Cells without a result because of an error.
    n_outdated : int
        Cells that have results of other parameters or of another revision of the method only;
        these are left out.
    """

    plan: FieldPlan
    blocks: tuple[FieldBlock, ...]
    skipped: tuple[tuple[str, str, int], ...]
    n_failed: int
    n_outdated: int

    def members(self, group: str | None) -> np.ndarray:
        """Pairs of a group.

        Parameters
        ----------
        group : str or None
            Its name; None for all pairs.

        Returns
        -------
        bool array of shape (n_pairs,)
            True for its pairs.
        """
        chosen = self.plan.pairs if group is None else self.plan.groups[group]
        return np.isin(self.plan.pairs, chosen)


def make_field_table(plan: FieldPlan, records: Iterable[dict[str, Any]]) -> FieldTable:
    """Summarise the records of a plan.

    Parameters
    ----------
    plan : FieldPlan
        Which cells count.
    records : iterable of dict
        Results, of this plan or others; those of other parameters or of another revision of a
        method than the plan's are left out.

    Returns
    -------
    FieldTable
        With NaN where cells are missing.
    """
    results = find_results(plan.cells(), records)
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    skipped: dict[tuple[str, str], int] = {}
    n_failed = 0
    for record in results.records.values():
        cell = record["cell"]
        if record.get("error") is not None:
            n_failed += 1
        elif "skipped" in record:
            skipped[cell["pair"], cell["setting"]] = record["skipped"]
        else:
            found[cell["setting"], cell["method"], cell["pair"]].append(record)
    blocks = []
    for setting in plan.settings:
        rows = []
        for method in plan.methods:
            trials = [found.get((setting.name, method.name, pair), []) for pair in plan.pairs]
            if any(trials):
                rows.append(_row(method, trials))
        if rows:
            counts = np.array([(pair, setting.name) not in skipped for pair in plan.pairs])
            blocks.append(FieldBlock(setting, tuple(rows), counts))
    listed = tuple((*place, n_test) for place, n_test in skipped.items())
    return FieldTable(plan, tuple(blocks), listed, n_failed, results.n_outdated)


def _row(method: FieldMethod, trials: Sequence[Sequence[dict[str, Any]]]) -> FieldRow:
    by_pair = [[numbers(record) for record in each] for each in trials]
    means = {
        name: np.array([_mean([each[name] for each in pair if name in each]) for pair in by_pair])
        for name in MEASURES
    }
    return FieldRow(method, means, np.array([len(each) for each in trials]))


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else np.nan


def numbers(record: Mapping[str, Any]) -> dict[str, float]:
    """Numbers of a record, and what follows from them.

    Parameters
    ----------
    record : mapping
        Result of a cell.

    Returns
    -------
    dict
        Those of `MEASURES` that it has: ``sure_share``, in %; and where the method was asked for
        its expected accuracy, the ``error`` of that in points, whether it is ``close``, at most 10
        points off, and whether the interval ``covered`` the accuracy, both 100 or 0. Where it had
        no number, these are 0 and there is no error.
    """
    found = {name: record[name] for name in MEASURES if record.get(name) is not None}
    found["sure_share"] = 100 * found["sure"] / found["n_test"]
    if "expected" in record:
        found |= {"close": 0.0, "covered": 0.0}
    if "expected" in found:
        found["error"] = abs(found["expected"] - found["accuracy"])
        found["close"] = 100.0 * (found["error"] <= 10)
        found["covered"] = 100.0 * (found["low"] <= found["accuracy"] <= found["high"])
    return found


def is_worse(differences: np.ndarray) -> np.ndarray:
    """Tell pairs on which a method is more than a point worse.

    Parameters
    ----------
    differences : ndarray of shape (n_pairs,)
        Its accuracy minus another's, in points.

    Returns
    -------
    ndarray of shape (n_pairs,)
        1 if so and 0 if not; NaN where there is no result.
    """
    return np.where(np.isnan(differences), np.nan, differences < -1 - 1e-9)  # 1e-9: rounding


def group_mean(values: np.ndarray, chosen: np.ndarray) -> float:
    """Mean over some pairs.

    Parameters
    ----------
    values : ndarray of shape (n_pairs,)
        Numbers, NaN where there is no result.
    chosen : bool array of shape (n_pairs,)
        The pairs.

    Returns
    -------
    float
        NaN if one of them, or every one, has no result: means of other pairs do not compare.
    """
    return float(np.mean(values[chosen])) if chosen.any() else np.nan


def share_right(row: FieldRow, chosen: np.ndarray) -> float:
    """Share of the sure rows of some pairs that are right, all pairs together.

    Parameters
    ----------
    row : FieldRow
        Results of a method; of each pair the mean over its trials counts.
    chosen : bool array of shape (n_pairs,)
        The pairs.

    Returns
    -------
    float
        In %; NaN if a pair has no result, or no row is sure.
    """
    n_sure = group_mean(row.means["sure"], chosen)
    return 100 * group_mean(row.means["sure_right"], chosen) / n_sure if n_sure else np.nan
