"""Whether to adapt at all: the adapted classifier beside simpler ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest
from sklearn.base import clone

from ilspace.baselines import Pooled, SourceOnly, TargetOnly
from ilspace.selection import Evidence
from ilspace.tables.classifier import TableClassifier
from ilspace.tables.second_opinion import FEWEST_ROWS, NearestMeanClassifier

N_FOLDS = 5
"""Folds of the labelled target rows, which are held out in turn."""

_N_CIRCLES = 4
"""Folds of the source rows, likewise."""

FEWEST_LABELS = 10
"""Labelled target rows that an accuracy needs to say anything."""

MOST_ROWS = 2000
"""Rows of each table that models are compared on."""

_OTHER_FREQUENCIES = 0.2
"""Total variation between class frequencies from which on they are worth a word."""

ADAPTED = "adapted"
NOT_ADAPTED = "not adapted"
NEIGHBOURS = "not adapted, nearest neighbours"
SCALED = "each table scaled by itself"
POOLED = "both tables' labels together"
TARGET_ALONE = "target labels alone"

_FOUND_IN = {
    NOT_ADAPTED: "the column unadapted of the predictions",
    NEIGHBOURS: "ilspace.baselines.SourceOnly in Python",
    SCALED: "ilspace.baselines.SourceOnly in Python",
    POOLED: "ilspace.baselines.Pooled in Python",
    TARGET_ALONE: "ilspace.baselines.TargetOnly in Python",
}

_Scores = dict[str, float]  # of each classifier
_Rows = dict[str, np.ndarray]  # which of them it predicts rightly

_ADVICE = "Label ten or more target rows to be sure."


@dataclass(frozen=True)
class Comparison:
    """How the adapted classifier does beside simpler ones.

    Attributes
    ----------
    judged_by : {"target labels", "circular validation", "nothing"}
        What the scores are: accuracy on labelled target rows held out in turn; or, with few or
        none, on source rows held out in turn, of a model that learned from the predicted target
        labels; or there are no scores.
    n_rows : int
        Rows that were judged.
    scores : dict of str to float
        By the name of the classifier, `ADAPTED` first.
    helps : bool or None
        Whether adaptation helps; None where that cannot be said.
    verdict : str
        The same in words.
    """

    judged_by: str
    n_rows: int
    scores: dict[str, float]
    helps: bool | None
    verdict: str


def compare(
    model: TableClassifier,
    source: pd.DataFrame,
    y: np.ndarray,
    *,
    target: pd.DataFrame,
    yt: np.ndarray | None,
    unadapted: np.ndarray,
    shift_p_value: float | None = None,
    on_step: Callable[[int, int], object] | None = None,
) -> Comparison:
    """Compare an adapted classifier with simpler ones.

    Parameters
    ----------
    model : TableClassifier
        Fitted to these tables.
    source : DataFrame
        The table of the source.
    y : ndarray of shape (n,)
        Its labels.
    target : DataFrame
        The table of the target.
    yt : ndarray of shape (nt,) or None
        Its labels, None for a row without; None if no row has one.
    unadapted : ndarray of shape (nt,)
        What the nearest class mean says of the target rows, without adaptation.
    shift_p_value : float, optional
        Whether the tables differ at all, from a test of it.
    on_step : callable, optional
        Called with the number of classifiers done, and of all.

    Returns
    -------
    Comparison
        Scores and a verdict.
    """
    caution = _caution(model, y, unadapted)
    labelled = np.arange(0) if yt is None else np.flatnonzero(pd.notna(yt))
    labelled = labelled[_evenly(len(labelled))]
    rows = _some_of_each_class(y)
    target_rows = np.union1d(_evenly(len(target)), labelled)
    y, source, target = y[rows], source.iloc[rows], target.iloc[target_rows]
    yt = None if yt is None else yt[target_rows]
    by_labels = len(labelled) >= FEWEST_LABELS
    if not by_labels and (flaw := _no_circle(model.plan_.are_shared, y)):
        return Comparison("nothing", 0, {}, None, f"Nothing to compare with: {flaw}. {_ADVICE}")
    candidates = _candidates(model, source, target, by_labels)
    right: _Rows = {}
    for done, (name, each) in enumerate(candidates.items()):
        right[name] = _held_out_in_turn(*each, y, yt) if by_labels else _circular(*each, y)
        if on_step is not None:
            on_step(done + 1, len(candidates))
    scores = {name: float(np.mean(each)) for name, each in right.items()}
    if by_labels:
        helps, verdict = _verdict_by_labels(scores, right)
        return Comparison("target labels", len(right[ADAPTED]), scores, helps, verdict)
    verdict = _verdict_without(scores, right, shift_p_value)
    return Comparison("circular validation", len(y), scores, None, f"{verdict}{caution} {_ADVICE}")


def _evenly(n_rows: int) -> np.ndarray:
    """At most so many rows, drawn evenly."""
    return np.linspace(0, n_rows - 1, min(n_rows, MOST_ROWS)).astype(int)


def _some_of_each_class(y: np.ndarray) -> np.ndarray:
    """At most so many rows, drawn evenly from the classes, and two of each at least."""
    if len(y) <= MOST_ROWS:
        return np.arange(len(y))
    order = np.argsort(y, kind="stable")
    _, starts, counts = np.unique(y[order], return_index=True, return_counts=True)
    always = np.concatenate([starts, starts[counts > 1] + 1])
    return np.sort(order[np.union1d(_evenly(len(y)), always)])


def _candidates(
    model, source, target, by_labels: bool
) -> dict[str, tuple[Any, np.ndarray, np.ndarray]]:
    """The adapted classifier and its rivals; those that learn from target labels only if asked."""
    own = model.encode(source, "source"), model.encode(target, "target")
    candidates = {ADAPTED: (clone(model.estimator_), *own)}
    rule = NearestMeanClassifier()
    if by_labels and model.asks_target_labels_:  # as the column unadapted has it
        candidates[NOT_ADAPTED] = (TargetOnly(rule), *own)
    if model.plan_.are_shared:
        # what one would do who takes both tables for one: the source's means and scales for all
        unaware = own[0], model.source_encoder_.encode(target)
        candidates.setdefault(NOT_ADAPTED, (SourceOnly(rule), *unaware))
        candidates[NEIGHBOURS] = (SourceOnly(), *unaware)
        candidates[SCALED] = (SourceOnly(), *own)
        if by_labels:
            candidates[POOLED] = (Pooled(), *own)
    if by_labels:
        candidates[TARGET_ALONE] = (TargetOnly(), *own)
    return candidates


def _held_out_in_turn(estimator, rows, target_rows, y, yt) -> np.ndarray:
    """Which labelled target rows are predicted rightly without their own labels."""
    labelled = np.flatnonzero(pd.notna(yt))
    fold = _folds(yt[labelled], N_FOLDS)
    right = np.zeros(len(labelled), dtype=bool)
    for each in range(N_FOLDS):
        hidden = labelled[fold == each]
        given = yt.copy()
        given[hidden] = None
        fitted = clone(estimator).fit(rows, y, target_rows, given)
        right[fold == each] = fitted.predict(target_rows[hidden]) == yt[hidden]
    return right


def _no_circle(are_shared: bool, y: np.ndarray) -> str | None:
    """Why source labels cannot go to the target and come back, if they cannot."""
    if not are_shared:
        return "the tables share no columns, and fewer than ten target rows have labels"
    _, counts = np.unique(y, return_counts=True)
    if np.sum(counts >= 2) < 2:  # to hold one out must leave two classes
        return "too few source rows of a class"
    return None


def _circular(estimator, rows, target_rows, y: np.ndarray) -> np.ndarray:
    """Which source labels come back by way of the predicted target labels."""
    fold = _folds(y, _N_CIRCLES)
    right = np.zeros(len(y), dtype=bool)
    for each in range(_N_CIRCLES):
        kept, held = np.flatnonzero(fold != each), np.flatnonzero(fold == each)
        fitted = clone(estimator).fit(rows[kept], y[kept], target_rows)
        evidence = Evidence(fitted, rows, y, held, target_rows)
        right[held] = evidence.round_trip[held] == y[held]
    return right


def _folds(y: np.ndarray, n_folds: int) -> np.ndarray:
    """Number of the fold of each row; every class is spread over all of them."""
    fold = np.empty(len(y), dtype=int)
    fold[np.argsort(y.astype(str), kind="stable")] = np.arange(len(y)) % n_folds
    return fold


def _verdict_by_labels(scores: _Scores, right: _Rows) -> tuple[bool | None, str]:
    rival, p_value = _strongest_rival(scores, right)
    measured = (
        f"on {len(right[ADAPTED])} labelled target rows, held out in turn, the adapted classifier "
        f"is right in {scores[ADAPTED]:.0%} and the best simpler one ({rival}) in "
        f"{scores[rival]:.0%} (p = {p_value:.2g}, sign test)"
    )
    if p_value > 0.05:
        return None, f"No clear difference: {measured}."
    if scores[ADAPTED] > scores[rival]:
        return True, f"Adaptation helps: {measured}."
    advice = f"Use the simpler one: {_FOUND_IN[rival]}"
    if rival != NOT_ADAPTED and _is_clearly_above(NOT_ADAPTED, ADAPTED, right):
        advice += f", or {_FOUND_IN[NOT_ADAPTED]}"
    return False, f"Adaptation does not help: {measured}. {advice}."


def _verdict_without(scores: _Scores, right: _Rows, shift_p_value: float | None) -> str:
    """What can be said without a target label: signs, never that it helps."""
    rival, p_value = _strongest_rival(scores, right)
    others = ", ".join(f"{name} {score:.0%}" for name, score in scores.items() if name != ADAPTED)
    measured = (
        "source labels that were held out come back by way of the predicted target labels in "
        f"{scores[ADAPTED]:.0%} (adapted); {others}; p = {p_value:.2g} between adapted and {rival}"
    )
    if shift_p_value is not None and shift_p_value > 0.05:
        return (
            "Adaptation may not be needed: no difference between the tables was found "
            f"(p = {shift_p_value:.2g}); {measured}."
        )
    if p_value <= 0.05:
        does = "helps" if scores[ADAPTED] > scores[rival] else "does harm"
        return f"There is a sign that adaptation {does}: {measured}."
    if rival == SCALED and _is_clearly_above(ADAPTED, NOT_ADAPTED, right):
        return (
            "There is a sign that adaptation helps, and none that it does more than to scale each "
            f"table by itself: {measured}."
        )
    return f"There is no clear sign whether adaptation helps: {measured}."


def _strongest_rival(scores: _Scores, right: _Rows) -> tuple[str, float]:
    """The simpler classifier of the best score, and the p-value of the difference."""
    rival = max((name for name in scores if name != ADAPTED), key=scores.__getitem__)
    return rival, _sign_test(right[ADAPTED], right[rival])


def _is_clearly_above(one: str, other: str, right: _Rows) -> bool:
    if other not in right or np.mean(right[one]) <= np.mean(right[other]):
        return False
    return _sign_test(right[one], right[other]) <= 0.05


def _caution(model: TableClassifier, y: np.ndarray, unadapted: np.ndarray) -> str:
    """What adaptation cannot stand, and no criterion without labels sees: other class frequencies.

    Adaptation makes the target as frequent in its classes as the source is, so that its own
    predictions do not tell; those without it may.
    """
    if len(unadapted) < FEWEST_ROWS or model.asks_target_labels_:
        return ""
    if model.is_unchecked_:
        return (
            " But without adaptation nearly all target rows would be of one class, so that nothing "
            "tells whether the classes are as frequent in both tables; if not, adaptation does "
            "harm."
        )
    classes = model.classes_
    source, target = (np.array([np.mean(each == c) for c in classes]) for each in (y, unadapted))
    if np.sum(np.abs(source - target)) / 2 < _OTHER_FREQUENCIES:
        return ""
    farthest = int(np.argmax(np.abs(source - target)))
    return (
        f" But without adaptation {str(classes[farthest])!r} is predicted for "
        f"{target[farthest]:.0%} of the target and has {source[farthest]:.0%} of the source: if "
        "the classes are not as frequent in both tables, adaptation does harm, and the column "
        "unadapted of the predictions may be the better one."
    )


def _sign_test(one: np.ndarray, other: np.ndarray) -> float:
    """p-value of the rows on which two classifiers differ."""
    gained, lost = int(np.sum(one & ~other)), int(np.sum(~one & other))
    return float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
