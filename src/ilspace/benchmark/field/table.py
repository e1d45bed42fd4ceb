"""Table of the field benchmark: scores by group, and who is worse off where."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest

from ilspace.benchmark.field.plan import FieldMethod, FieldPlan, Setting
from ilspace.benchmark.store import find_results
from ilspace.tables.verdict import recommended_labels

MEASURES = ("accuracy", "balanced", "log_loss", "confidence", "n_test", "seconds")
"""Numbers of a record that are averaged over trials."""


@dataclass(frozen=True)
class FieldRow:
    """Results of one method in one setting.

    Attributes
    ----------
    method : FieldMethod
        The method.
    means : mapping of str to ndarray of shape (n_pairs,)
        Each of `MEASURES`, mean over the trials; NaN where there is no result.
    n_trials : int array of shape (n_pairs,)
        Trials with a result.
    extras : tuple of sequences of dict
        For each pair, what the method said of itself in each trial, with the record's `accuracy`
        and `n_test`.
    """

    method: FieldMethod
    means: Mapping[str, np.ndarray]
    n_trials: np.ndarray
    extras: tuple[Sequence[Mapping[str, Any]], ...]

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

    def best_unadapted(self) -> np.ndarray | None:
        """Accuracy of the best row that does not adapt, chosen with hindsight for each pair.

        Returns
        -------
        ndarray of shape (n_pairs,) or None
            None if there is no such row.
        """
        plain = [
            row.accuracy
            for row in self.rows
            if not row.method.adapts and not row.method.given_shares
        ]
        return np.max(plain, axis=0) if plain else None

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
    means = {
        name: np.array([np.mean([r[name] for r in each]) if each else np.nan for each in trials])
        for name in MEASURES
    }
    extras = tuple(
        [
            {"accuracy": r["accuracy"], "n_test": r["n_test"], **r["extras"]}
            for r in each
            if "extras" in r
        ]
        for each in trials
    )
    return FieldRow(method, means, np.array([len(each) for each in trials]), extras)


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


def recommended_accuracy(row: FieldRow, setting: Setting) -> np.ndarray | None:
    """Accuracy of the labels that the verdicts recommend.

    Parameters
    ----------
    row : FieldRow
        Results of a method.
    setting : Setting
        Whether target rows have labels.

    Returns
    -------
    ndarray of shape (n_pairs,) or None
        In %, mean over the trials; NaN where there is no result. None if there are no verdicts, or
        if these depend on labels and results do not say what came of them.
    """

    def given(said: Mapping[str, Any]) -> float:
        which = said.get("recommended") or recommended_labels(
            said["verdict"], is_asked_for=row.method.given_shares
        )
        return said["accuracy" if which == "adapted" else "unadapted"]

    needed = "recommended" if setting.n_labels else "verdict"
    results = [said for each in row.extras for said in each]
    if not results or not all(needed in said for said in results):
        return None
    means = [np.mean([given(s) for s in each]) if each else np.nan for each in row.extras]
    return np.array(means).round(2)  # as accuracies are in the store


_DIRECTIONS = ("adapted", "unadapted")
"""Verdicts that name the better labels."""


def _is_below(said: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether trusted rows of a pair are significantly below 90 % right."""
    # trials share most of their rows: on the mean of them
    trusted, right = (
        round(np.mean([each.get(name, 0) for each in said]))
        for name in ("trusted", "trusted_right")
    )
    return trusted > 0 and binomtest(right, trusted, 0.9, alternative="less").pvalue < 0.05


@dataclass(frozen=True)
class SelfReport:
    """How far what a method says of itself holds, in one setting.

    Attributes
    ----------
    trusted : float
        Mean share of trusted rows over the pairs, in %.
    trusted_right : float
        Share of trusted rows that are right, all pairs together, in %; of each pair the mean over
        its trials counts.
    expected_close, confidence_close : float
        Share of the pairs on which the expected accuracy, or the mean probability, is within 10
        points of the accuracy, in %.
    shares_error : float
        Mean total variation of the estimated class shares, in %.
    verdicts : mapping of str to int
        How often each verdict was given.
    misplaced : int
        Pairs whose trusted rows are significantly below 90 % right (one-sided binomial test, 5 %,
        on the mean counts of the trials).
    named, named_right : float
        Of the cases in which adapted and unadapted labels differ by a point of accuracy or more,
        the share in which the verdict names one; of these, the share in which it is the better
        one; in %. A pair weighs the same, whatever the number of its trials.
    """

    trusted: float
    trusted_right: float
    expected_close: float
    confidence_close: float
    shares_error: float
    verdicts: Mapping[str, int]
    misplaced: int
    named: float
    named_right: float


def self_report(row: FieldRow) -> SelfReport | None:
    """Compare what a method says of itself with what is true.

    Parameters
    ----------
    row : FieldRow
        Its results.

    Returns
    -------
    SelfReport or None
        NaN for what it does not say; None if it says nothing.
    """
    by_pair = [each for each in row.extras if each]
    if not by_pair:
        return None

    def over_pairs(number, *names: str) -> float:
        values = [
            np.mean([number(said) for said in each])
            for each in by_pair
            if all(name in said for said in each for name in names)
        ]
        return float(np.mean(values)) if values else np.nan

    n_trusted, n_right = (
        sum(float(np.mean([each.get(name, 0) for each in pair])) for pair in by_pair)
        for name in ("trusted", "trusted_right")
    )
    gap = np.abs(row.means["confidence"] - row.accuracy)
    words = [each["verdict"] for pair in by_pair for each in pair if "verdict" in each]
    cases = [
        (
            each["verdict"] in _DIRECTIONS,
            (each["verdict"] == "adapted") == (gain > 0),
            1 / len(pair),
        )
        for pair in by_pair
        for each in pair
        if {"verdict", "unadapted"} <= each.keys()
        and abs(gain := each["accuracy"] - each["unadapted"]) >= 1
    ]
    n_cases = sum(weight for *_, weight in cases)
    n_named = sum(weight for is_named, _, weight in cases if is_named)
    n_named_right = sum(weight for is_named, is_right, weight in cases if is_named and is_right)
    return SelfReport(
        trusted=over_pairs(lambda each: 100 * each["trusted"] / each["n_test"], "trusted"),
        trusted_right=100 * n_right / n_trusted if n_trusted else np.nan,
        expected_close=over_pairs(
            lambda each: 100.0 * (abs(each["expected_accuracy"] - each["accuracy"]) <= 10),
            "expected_accuracy",
        ),
        confidence_close=float(100 * np.mean(gap[~np.isnan(gap)] <= 10)),
        shares_error=over_pairs(lambda each: 100 * each["shares_error"], "shares_error"),
        verdicts={word: words.count(word) for word in sorted(set(words))},
        misplaced=sum(_is_below(each) for each in by_pair),
        named=100 * n_named / n_cases if n_cases else np.nan,
        named_right=100 * n_named_right / n_named if n_named else np.nan,
    )
