"""What can be known of labels without those of the target: accuracy, sure rows, what changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from ilspace.tables.columns import ColumnPlan
from ilspace.tables.encoding import Encoded
from ilspace.tables.pair import Pair

if TYPE_CHECKING:
    from ilspace.tables.classifier import TableClassifier

SURE = 0.9
"""Probability from which on a label is sure."""

N_FOLDS = 5
"""Parts of the labelled rows that are held out in turn."""

SPREAD = 0.11
"""Standard deviation of the prior of the accuracy around the difference of confidences: from here
on intervals of 90 % hold the truth on 91 % of 80 pairs of tables that are not reported."""

APART, LARGEST_FALL = 0.99, 0.1
"""Area under the curve and fall of the confidence beyond which no accuracy can be estimated."""

FEWEST_LABELS = 10
"""Target labels from which on it can be."""

MOST_ROWS = 10_000
"""Source rows whose labels are held out in turn; of more, a sample."""

_COMPARED_ROWS = 1_000
"""Rows of each table that a classifier tries to tell apart."""

_DRIFT_ROWS, _DRIFT_ENTRIES = 5_000, 5_000_000
"""Rows, and entries, of each table that are compared."""

_FEW_LEVELS = 40
"""Different strings up to which their shares are compared; of more, their lengths."""

_FAR = 0.3
"""Distance from which on a column of numbers has shifted."""

_N_BINS = 12
"""Bars of a histogram."""


@dataclass(frozen=True)
class ColumnDrift:
    """How far a column moved between two tables.

    Attributes
    ----------
    name : str
        The column.
    distance : float
        From 0, equal, to 1: the Kolmogorov-Smirnov distance of numbers and dates, the total
        variation distance of categories and of missing values.
    about : str
        In a few words: the medians, or the category that changed most.
    bins : tuple of str
        Names of the bars of a histogram.
    source, target : tuple of float
        Their heights, of sum 1.
    """

    name: str
    distance: float
    about: str
    bins: tuple[str, ...]
    source: tuple[float, ...]
    target: tuple[float, ...]


@dataclass(frozen=True)
class Estimate:
    """What is known of the labels of a target.

    Attributes
    ----------
    held_out_accuracy : float or None
        Accuracy on source rows that were held out; None where every class has one row alone.
    expected : float or None
        Expected accuracy on target rows without a label; None where it cannot be estimated.
    interval : (float, float) or None
        Of 90 %.
    n_labels : int
        Target labels that it is based on.
    told_apart : float
        Area under the ROC curve of a classifier that tells the tables apart: 0.5 where it cannot.
    drift : tuple of ColumnDrift
        What changed, largest first.
    """

    held_out_accuracy: float | None
    expected: float | None
    interval: tuple[float, float] | None
    n_labels: int
    told_apart: float
    drift: tuple[ColumnDrift, ...] = field(repr=False)


def estimate(
    model: TableClassifier,
    pair: Pair,
    encoded: Encoded,
    votes: np.ndarray,
    *,
    on_count: Callable[[int, int], object] = lambda done, total: None,
) -> Estimate:
    """Find what can be known of the labels that a fitted model gives.

    The expected accuracy is that on held-out source rows minus the fall of the mean confidence from
    these to the target (difference of confidences :cite:p:`guillory2021`). With target labels, on
    rows that were held out as well, it is the mean of a posterior: a normal prior around that
    value, and a binomial likelihood. Of a rule that adapts the confidence says nothing of the
    accuracy: there the prior is flat, and without target labels there is no estimate.

    Parameters
    ----------
    model : TableClassifier
        Fitted to the pair.
    pair : Pair
        The tables and their labels.
    encoded : Encoded
        Their rows as numbers.
    votes : ndarray of shape (nt, n_classes)
        Probabilities of the target rows.
    on_count : callable, optional
        Called with how many folds are done, and of how many.

    Returns
    -------
    Estimate
        Of the target rows without a label; of all, if each has one.
    """
    right, confidence, right_target = _held_out(model, pair, encoded, on_count)
    free = pair.known < 0
    new = votes[free if free.any() else slice(None)].max(axis=1)
    apart = told_apart(encoded) if model.plan_.are_shared else 1.0
    n, held_out, expected, interval = len(right_target), None, None, None
    if len(right):
        # a confidence that rises is no sign that more labels are right
        held_out, fall = float(right.mean()), max(0.0, float(confidence.mean() - new.mean()))
        adapts = model.rule_.adapts or model.own_scaling
        if n >= FEWEST_LABELS or not (adapts or (apart > APART and fall > LARGEST_FALL)):
            guess = None if adapts else held_out - fall
            expected, interval = _combined(guess, right_target, len(pair.classes))
    return Estimate(held_out, expected, interval, n, apart, compare_columns(model.plan_, pair))


def _held_out(
    model: TableClassifier,
    pair: Pair,
    encoded: Encoded,
    on_count: Callable[[int, int], object],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predict labelled rows of both tables by fits that did not see their labels.

    Returns
    -------
    right, confidence : ndarray of shape (n_held_out,)
        Of source rows: whether the prediction is right, and its probability.
    right_target : ndarray of shape (n_labels,)
        Whether predictions of the labelled target rows are right.
    """
    rng = np.random.default_rng(0)
    source = rng.permutation(len(pair.codes))[:MOST_ROWS]
    classes, firsts = np.unique(pair.codes, return_index=True)  # a sample has a row of each
    source = np.union1d(source, firsts[~np.isin(classes, pair.codes[source])])
    labelled = np.flatnonzero(pair.known >= 0)
    # only rows that a rule learns from: a pooled one has no use for rows without a label
    target = np.arange(len(pair.known))
    if not model.rule_.adapts and not model.own_scaling:
        target = labelled
    elif len(target) > MOST_ROWS:
        free = np.setdiff1d(target, labelled)
        target = np.union1d(labelled, rng.permutation(free)[:MOST_ROWS])
    small, rows = pair.take(source, target), encoded.take(source, target)
    of_source, of_target = _folds(small.codes, rng), np.full(len(target), -1)
    of_source[np.bincount(small.codes)[small.codes] < 2] = -1  # the only row of a class stays
    has_label = small.known >= 0
    of_target[has_label] = _folds(small.known[has_label], np.random.default_rng(1))
    found = np.zeros((len(source), len(pair.classes)))
    guessed = np.full(len(target), -1)
    for fold in range(N_FOLDS):
        train, test = of_source != fold, of_target == fold
        if test.any() or not train.all():
            learned = small.take(train).without_labels(np.flatnonzero(test))
            rule = model.make_rule(rows).fit(rows.take(train), learned)
            if not train.all():
                found[~train] = rule.votes(rows.source[~train], "source").mean(axis=0)
            if test.any():
                guessed[test] = rule.votes(rows.target[test]).mean(axis=0).argmax(axis=1)
        on_count(fold + 1, N_FOLDS)
    held, right_target = of_source >= 0, (guessed == small.known)[has_label]
    right = found.argmax(axis=1) == small.codes
    return right[held], found.max(axis=1)[held], right_target


def _folds(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Fold of each row, at random, with as many rows of each class as of others."""
    order = np.lexsort((rng.permutation(len(codes)), codes))
    folds = np.empty(len(codes), dtype=int)
    folds[order] = np.arange(len(codes)) % N_FOLDS
    return folds


def _combined(
    guess: float | None, right: np.ndarray, n_classes: int
) -> tuple[float, tuple[float, float]]:
    """Posterior mean of an accuracy and its interval of 90 %, from a guess and held-out labels."""
    grid, n, k = (np.arange(1000) + 0.5) / 1000, len(right), int(right.sum())
    logs = k * np.log(grid) + (n - k) * np.log1p(-grid)
    if guess is not None:
        guess = float(np.clip(guess, 1 / n_classes, 1))
        logs -= (grid - guess) ** 2 / (2 * SPREAD**2)
        if n == 0:  # the prior itself, which ends at 1
            return guess, (max(0.0, guess - 1.645 * SPREAD), min(1.0, guess + 1.645 * SPREAD))
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    # the shortest interval: that between quantiles ends below 1 where all labels are right
    order = np.argsort(-weights)
    kept = grid[order[: int(np.searchsorted(np.cumsum(weights[order]), 0.9)) + 1]]
    return float(weights @ grid), (float(kept.min()) - 0.0005, float(kept.max()) + 0.0005)


def told_apart(encoded: Encoded) -> float:
    """Area under the ROC curve of a classifier that tells two tables apart.

    Parameters
    ----------
    encoded : Encoded
        Rows of the same columns.

    Returns
    -------
    float
        0.5 where they cannot be told apart, 1 where they always can.
    """
    rng = np.random.default_rng(0)
    sides = [
        rows[rng.permutation(len(rows))[:_COMPARED_ROWS]]
        for rows in (encoded.source, encoded.target)
    ]
    domain = np.repeat([0, 1], [len(each) for each in sides])
    n_folds = min(3, *map(len, sides))
    if n_folds < 2:
        return 0.5
    trees = make_pipeline(
        SimpleImputer(keep_empty_features=True),
        ExtraTreesClassifier(50, min_samples_leaf=2, random_state=0),
    )
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    found = cross_val_predict(
        trees, np.concatenate(sides), domain, cv=folds, method="predict_proba"
    )
    return max(0.5, float(roc_auc_score(domain, found[:, 1])))


# -- what changed ----------------------------------------------------------------------------------


def compare_columns(plan: ColumnPlan, pair: Pair) -> tuple[ColumnDrift, ...]:
    """Compare the columns that two tables share.

    Parameters
    ----------
    plan : ColumnPlan
        What they hold.
    pair : Pair
        The tables.

    Returns
    -------
    tuple of ColumnDrift
        The largest distance first; none where the tables share no columns.
    """
    if not plan.are_shared or pair.target is None:
        return ()
    rng = np.random.default_rng(0)
    sides = []
    for table, domain in ((pair.source, "source"), (pair.target, "target")):
        n_rows = min(_DRIFT_ROWS, max(200, _DRIFT_ENTRIES // len(plan.target)))
        rows = np.sort(rng.permutation(len(table))[:n_rows])
        sides.append(pd.DataFrame(plan.prepare(table.iloc[rows], domain), columns=[*plan.target]))
    compared = []
    for name, held in plan.target.items():
        columns = [each[name] for each in sides]
        if held != "string":
            write = _as_day if held == "date" else _as_number
            compared.append(_compare_numbers(name, *map(_as_floats, columns), write=write))
        elif max(each.nunique() for each in columns) <= _FEW_LEVELS:
            compared.append(_compare_levels(name, *columns))
        else:
            lengths = [each.str.len().to_numpy(dtype=float, na_value=np.nan) for each in columns]
            compared.append(_compare_numbers(name, *lengths, unit=" characters", write=_as_number))
    return tuple(sorted(compared, key=lambda each: -each.distance))


def have_shifted(plan: ColumnPlan, drift: tuple[ColumnDrift, ...]) -> bool:
    """Tell whether most columns of numbers lie elsewhere, as after a change of device or unit.

    Parameters
    ----------
    plan : ColumnPlan
        What the columns hold.
    drift : tuple of ColumnDrift
        How far they moved.

    Returns
    -------
    bool
        True where more than half moved far.
    """
    moved = [each.distance >= _FAR for each in drift if plan.target[each.name] == "number"]
    return 2 * sum(moved) > len(moved)


def _as_floats(column: pd.Series) -> np.ndarray:
    if column.dtype.kind == "M":
        days = column.to_numpy("datetime64[s]").astype(float) / 86_400
        return np.where(column.isna(), np.nan, days)
    return column.to_numpy(dtype=float)


def _as_number(value: float) -> str:
    return f"{value:.3g}"


def _as_day(value: float) -> str:
    return str(np.datetime64(int(np.floor(value)), "D"))


def _compare_numbers(
    name: str,
    source: np.ndarray,
    target: np.ndarray,
    *,
    write: Callable[[float], str],
    unit: str = "",
) -> ColumnDrift:
    known = [np.sort(each[~np.isnan(each)]) for each in (source, target)]
    if not all(map(len, known)):
        return _missing_only(name, source, target)
    both = np.unique(np.concatenate(known))
    shares = [np.searchsorted(each, both, side="right") / len(each) for each in known]
    distance = float(np.abs(shares[0] - shares[1]).max())
    low, high = np.quantile(np.concatenate(known), [0.01, 0.99])
    edges = np.linspace(low, high if high > low else low + 1, _N_BINS + 1)
    heights = [np.histogram(np.clip(each, low, edges[-1]), edges)[0] / len(each) for each in known]
    middles = [write(np.median(each)) for each in known]
    called = "median"
    if middles[0] == middles[1]:
        called, middles = "mean", [write(each.mean()) for each in known]
    return ColumnDrift(
        name,
        distance,
        f"{called} {middles[0]} → {middles[1]}{unit}",
        tuple(f"{left} to {right}" for left, right in pairwise(map(write, edges))),
        *(tuple(each.tolist()) for each in heights),
    )


def _missing_only(name: str, source: np.ndarray, target: np.ndarray) -> ColumnDrift:
    shares = [float(np.isnan(each).mean()) for each in (source, target)]
    about = f"missing {shares[0]:.0%} → {shares[1]:.0%}"
    bars = [(1 - each, each) for each in shares]
    return ColumnDrift(name, abs(shares[0] - shares[1]), about, ("known", "missing"), *bars)


def _compare_levels(name: str, source: pd.Series, target: pd.Series) -> ColumnDrift:
    shares = pd.DataFrame(
        {
            side: each.fillna("(missing)").value_counts(normalize=True)
            for side, each in (("source", source), ("target", target))
        }
    ).fillna(0.0)
    change = shares["target"] - shares["source"]
    most = str(change.abs().idxmax())
    new = int(((shares["source"] == 0) & (shares["target"] > 0)).sum())
    before, after = shares.loc[most]
    about = f"{most[:40]}: {before:.0%} → {after:.0%}" + (f"; {new} new" if new else "")
    shown = shares.loc[shares.max(axis=1).nlargest(_N_BINS).index]
    return ColumnDrift(
        name,
        float(change.abs().sum() / 2),
        about,
        tuple(map(str, shown.index)),
        tuple(shown["source"].tolist()),
        tuple(shown["target"].tolist()),
    )
