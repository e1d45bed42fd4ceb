"""Whether to use the adapted labels: four answers, and the numbers behind them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from html import escape

import numpy as np
import pandas as pd
from scipy.stats import beta, norm

from ilspace.tables.agreement import DEVIATION, corrected, interval_around
from ilspace.tables.classifier import TableClassifier
from ilspace.tables.committee import ADAPTED, UNADAPTED
from ilspace.tables.held_out import HeldOut
from ilspace.tables.labels import LabelledTables
from ilspace.tables.members import METHODS
from ilspace.tables.shift import share_of_shifted_columns
from ilspace.tables.training import TARGET_ALONE

FEWEST_LABELS = 10
"""Labelled target rows that an accuracy needs to say anything."""

GAINS = (0.01, 0.03)
"""Bounds of the :func:`least_gain`."""

FEW_COLUMNS = 10
"""With fewer encoded columns, agreement is evidence of a gain only if most columns have shifted.

Chosen on draw 0 of ``docs/measurements/other_tables.py``, with target labels; draw 1 shows what it
is worth on pairs that it was not chosen on."""

CERTAINTY = 0.9
"""Probability from which on a direction is named."""

_LEAST_SHARE = 0.55
"""Smallest lead, among the rows on which two classifiers differ, that is worth labels."""

POWER = 0.8
"""Chance that the rows to be labelled settle the question."""

_Numbers = tuple[dict[str, float], dict[str, tuple[float, float]]]
"""Accuracies to expect, and their intervals."""

_PLAIN = {UNADAPTED: "the unadapted ones", TARGET_ALONE: "those by the target labels alone"}


class Word(StrEnum):
    """The verdict as a machine reads it."""

    ADAPTED = "adapted"
    UNADAPTED = "unadapted"
    CANNOT_TELL = "cannot-tell"
    NO_DIFFERENCE = "no-difference"


@dataclass(frozen=True)
class Verdict:
    """Which labels to use.

    Attributes
    ----------
    word : Word
        One of four.
    sentence : str
        The same in words.
    reason : str
        What it rests on, in one or two sentences.
    judged_by : {"target labels", "agreement", "nothing"}
        What it rests on: labelled target rows held out in turn, the agreement of the committee's
        members, or nothing, where the tables share no columns and there are few labels.
    n_labels : int
        Labelled target rows that were held out.
    scores : dict of str to float
        Accuracy of each classifier on them; empty without.
    expected : dict of str to float
        Accuracy to be expected of the adapted and of the unadapted labels: by the agreement of the
        members, corrected by the labelled rows where there are enough of them.
    intervals : dict of str to tuple of float
        Where each of the two lies in four of five cases.
    probability : float or None
        That the adapted labels are the better ones, given the labels; None without.
    n_more : int or None
        Target rows to label until a direction can be named, by the power of the test; None where
        one is.
    recommended : {"adapted", "unadapted"}
        Which labels to give, also where the word names no direction.
    """

    word: Word
    sentence: str
    reason: str
    judged_by: str
    n_labels: int
    scores: dict[str, float]
    expected: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    probability: float | None
    n_more: int | None
    recommended: str = ADAPTED

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{share:.0%}</td></tr>"
            for name, share in self.scores.items()
        )
        head = f"accuracy on {self.n_labels} labelled target rows"
        table = f"<table><tr><th>classifier</th><th>{head}</th></tr>{rows}</table>" if rows else ""
        sentence, reason = escape(self.sentence), escape(self.reason)
        return f"<p><strong>{sentence}</strong></p><p>{reason}</p>{table}"


def recommended_labels(
    word: str, *, probability: float | None = None, is_asked_for: bool = False
) -> str:
    """Which labels to give, until more is known.

    Where a committee cannot tell whether adaptation helps, and has learned from unlabelled target
    rows alone, nobody is to be worse off for it: the unadapted ones.

    Parameters
    ----------
    word : str
        The verdict, as a :class:`Word`.
    probability : float, optional
        That the adapted labels are the better ones, by labelled target rows.
    is_asked_for : bool, default=False
        Whether the user asked for something that only the adapted labels heed: class shares of the
        target, or one method.

    Returns
    -------
    {"adapted", "unadapted"}
        The column of the predictions that the labels are taken from.
    """
    if word in (Word.ADAPTED, Word.UNADAPTED):
        return ADAPTED if word == Word.ADAPTED else UNADAPTED
    if probability is not None:
        return ADAPTED if probability >= 0.5 else UNADAPTED
    return ADAPTED if is_asked_for else UNADAPTED


def judge(
    model: TableClassifier,
    tables: LabelledTables,
    *,
    shift_p_value: float | None = None,
) -> Verdict:
    """Say which labels to use.

    Parameters
    ----------
    model : TableClassifier
        Fitted to these tables.
    tables : LabelledTables
        The tables.
    shift_p_value : float, optional
        Whether the tables differ at all, from a test of it.

    Returns
    -------
    Verdict
        The answer.
    """
    found = _found(model, tables, shift_p_value)
    if UNADAPTED not in found.expected:  # there are none to give
        return found
    probability = found.probability
    if probability is None and model.held_out_ is not None:  # of fewer labels than a verdict needs
        right = _right(model.held_out_)
        probability = _probability_better(right[ADAPTED], right[UNADAPTED])
    has_shares = not (model.class_prior is None or isinstance(model.class_prior, str))
    recommended = recommended_labels(
        found.word,
        probability=probability,
        is_asked_for=has_shares or len(model.members_) == 1,
    )
    reason = found.reason
    if found.word in (Word.CANNOT_TELL, Word.NO_DIFFERENCE):
        reason += f" Until more is known, the {recommended} labels are given."
    return replace(found, recommended=recommended, reason=reason)


def _found(model: TableClassifier, tables: LabelledTables, shift_p_value: float | None) -> Verdict:
    """The verdict, apart from which labels to give until more is known."""
    labelled = labelled_rows(tables)
    n_rows, n_labels = len(tables.target), len(labelled)
    held_out = None
    if n_labels >= FEWEST_LABELS:
        held_out = model.held_out_ or model.hold_out(*tables)
    expected, intervals, differ = _expected(model, tables, held_out)
    numbers = (expected, intervals)
    if held_out is not None:
        return _by_labels(held_out, [each.name for each in model.members_], numbers, n_rows)
    if not model.plan_.are_shared:
        return Verdict(
            Word.CANNOT_TELL,
            _cannot_tell(FEWEST_LABELS - n_labels),
            "The tables share no columns, so that there are no unadapted labels, and fewer than "
            f"{FEWEST_LABELS} target rows have labels.",
            "nothing",
            n_labels,
            {},
            *numbers,
            None,
            FEWEST_LABELS - n_labels,
        )
    is_alone = len(model.members_) == 1
    found = _without_labels(numbers, differ, shift_p_value, n_labels, n_rows, is_alone=is_alone)
    if found.word != Word.ADAPTED:
        return found
    reason = found.reason
    if not is_alone:  # somebody agrees with it
        if not _has_few_unshifted_columns(model, tables):
            return found
        reason += (
            f" But there are fewer than {FEW_COLUMNS} encoded columns, and most of them have not "
            "shifted: agreement is no evidence then."
        )
    more = max(FEWEST_LABELS - n_labels, 1)
    return replace(
        found, word=Word.CANNOT_TELL, sentence=_cannot_tell(more), reason=reason, n_more=more
    )


def _has_few_unshifted_columns(model: TableClassifier, tables: LabelledTables) -> bool:
    """Tell whether the tables have few columns, at most half of which have shifted."""
    encoder = model.source_encoder_
    if len(encoder.names) >= FEW_COLUMNS:
        return False
    source, target = encoder.encode(tables.source), encoder.encode(tables.target)
    return share_of_shifted_columns(source, target) <= 0.5


def labelled_rows(tables: LabelledTables) -> np.ndarray:
    """Numbers of the target rows that have a label.

    Parameters
    ----------
    tables : LabelledTables
        The tables.

    Returns
    -------
    ndarray of int
        In ascending order.
    """
    return np.arange(0) if tables.yt is None else np.flatnonzero(pd.notna(tables.yt))


def _expected(
    model: TableClassifier, tables: LabelledTables, held_out: HeldOut | None
) -> tuple[dict[str, float], dict[str, tuple[float, float]], float]:
    """Accuracy to expect of both labels, with intervals, and how often the two differ."""
    new = np.setdiff1d(np.arange(len(tables.target)), labelled_rows(tables))
    rows = tables.target.iloc[new] if len(new) else tables.target
    found = model.predict_proba(rows)
    expected = {ADAPTED: float(found.max(axis=1).mean())}
    intervals = {ADAPTED: model.agreement_.interval}
    plain = model.unadapted_probabilities(rows)
    if plain is None:
        return expected, intervals, 1.0
    other = plain.argmax(axis=1)
    accuracy, deviation = float(found[np.arange(len(other)), other].mean()), DEVIATION
    if held_out is not None:
        measured = held_out.accuracy(_right(held_out)[UNADAPTED])
        accuracy, deviation = corrected(accuracy, measured, held_out)
    expected[UNADAPTED] = accuracy
    intervals[UNADAPTED] = interval_around(accuracy, deviation)
    return expected, intervals, float(np.mean(other != found.argmax(axis=1)))


def _right(held_out: HeldOut) -> dict[str, np.ndarray]:
    """Which held-out rows the average is right on, and each rule that is no member."""
    said = {ADAPTED: held_out.predicted(), **held_out.rivals}
    return {name: codes == held_out.codes for name, codes in said.items()}


# -- with labels ---------------------------------------------------------------------------------


def _by_labels(held_out: HeldOut, members: list[str], numbers: _Numbers, n_rows: int) -> Verdict:
    right = _right(held_out)
    if len(members) > 1:
        said = held_out.said.argmax(axis=2)
        right |= dict(zip(members, said == held_out.codes, strict=True))
    scores = {name: held_out.accuracy(each) for name, each in right.items()}
    n = len(right[ADAPTED])
    rivals = [
        name
        for name in scores
        if name == UNADAPTED or (name in METHODS and not METHODS[name].adapts)
    ]
    ahead = {name: _probability_better(right[ADAPTED], right[name]) for name in rivals}
    main = UNADAPTED if UNADAPTED in right else TARGET_ALONE
    probability = ahead[main]
    rival = max(rivals, key=lambda name: scores[name])
    measured = (
        f"On {n} labelled target rows, held out in turn, the adapted labels are right in "
        f"{scores[ADAPTED]:.0%}, {_PLAIN[main]} in {scores[main]:.0%}"
    )
    if rival != main:
        measured += f", and of all that does not adapt {rival} is the best ({scores[rival]:.0%})"
    measured += f"; the adapted are the better ones with a probability of {probability:.0%}."
    common = ("target labels", n, scores, *numbers, probability)
    # rows of a class that is frequent count for more in the scores: both must say the same
    gain = scores[ADAPTED] - scores[main]
    if probability >= CERTAINTY and min(ahead.values()) >= 0.5 and gain >= 0:
        return Verdict(Word.ADAPTED, "Use the adapted labels.", measured, *common, None)
    if probability <= 1 - CERTAINTY and UNADAPTED in right and gain <= 0:
        return Verdict(Word.UNADAPTED, "Use the unadapted ones.", measured, *common, None)
    hardest = min(rivals, key=lambda name: ahead[name])
    gained, lost = _discordant(right[ADAPTED], right[hardest])
    differ = (gained + lost + 1) / (n + 2)
    share = (max(gained, lost) + 1) / (gained + lost + 2)
    more = _rounded_up(max(_rows_needed(share, differ) - n, FEWEST_LABELS))
    more = min(more, n_rows - n)
    return Verdict(Word.CANNOT_TELL, _cannot_tell(more), measured, *common, more)


def _discordant(one: np.ndarray, other: np.ndarray) -> tuple[int, int]:
    """Rows that one alone is right on, and rows that the other alone is right on."""
    return int(np.sum(one & ~other)), int(np.sum(~one & other))


def _probability_better(one: np.ndarray, other: np.ndarray) -> float:
    """Probability that one is right more often, of the rows on which they differ."""
    gained, lost = _discordant(one, other)
    return float(beta.sf(0.5, gained + 1, lost + 1))


def _rows_needed(share: float, differ: float) -> int:
    """Labelled rows by which a sign test finds the better one.

    Parameters
    ----------
    share : float
        Of the rows that one alone is right on, that of the better one; above a half.
    differ : float
        Share of the rows on which they differ.

    Returns
    -------
    int
        So many that it names one with the chance `POWER`.
    """
    share = min(max(share, _LEAST_SHARE), 1 - 1e-3)
    z = norm.ppf(CERTAINTY) * 0.5 + norm.ppf(POWER) * np.sqrt(share * (1 - share))
    return int(np.ceil((z / (share - 0.5)) ** 2 / differ))


def _rounded_up(n_rows: int) -> int:
    """A number of rows in two digits: more of them promise what is not known."""
    unit = 10 ** max(len(str(n_rows)) - 2, 0)
    return -(-n_rows // unit) * unit


# -- without labels ------------------------------------------------------------------------------


def _without_labels(
    numbers: _Numbers,
    differ: float,
    shift_p_value: float | None,
    n_labels: int,
    n_rows: int,
    *,
    is_alone: bool = False,
) -> Verdict:
    expected, _ = numbers
    gain = expected[ADAPTED] - expected[UNADAPTED]
    confirmed = "No target label confirms it."
    if n_labels:
        confirmed = f"Fewer than {FEWEST_LABELS} target rows have labels, too few to confirm it."
    by = "its own probabilities" if is_alone else "the agreement of the committee's members"
    measured = (
        f"The two differ on {differ:.0%} of the target rows; by {by} "
        f"about {expected[ADAPTED]:.0%} of the adapted labels are right and "
        f"{expected[UNADAPTED]:.0%} of the unadapted ones. {confirmed}"
    )
    common = ("agreement", n_labels, {}, *numbers, None)
    if shift_p_value is not None and shift_p_value > 0.05:
        reason = f"A test of it finds no difference (p = {shift_p_value:.2g}). {measured}"
        return Verdict(
            Word.NO_DIFFERENCE, "The tables do not seem to differ.", reason, *common, None
        )
    if gain >= least_gain(differ, n_rows):
        return Verdict(Word.ADAPTED, "Use the adapted labels.", measured, *common, None)
    differ = max(differ, 1 / n_rows)
    needed = _rows_needed(0.5 + gain / (2 * differ), differ)
    more = min(_rounded_up(max(needed - n_labels, 1)), n_rows - n_labels)
    more = max(more, FEWEST_LABELS - n_labels)
    return Verdict(Word.CANNOT_TELL, _cannot_tell(more), measured, *common, more)


def least_gain(differ: float, n_rows: int) -> float:
    """Expected gain of accuracy from which on adaptation is recommended without a label.

    One standard error of the difference of two accuracies, at least 1 and at most 3 points: chosen
    on random three quarters of the rows of the field pairs, with target labels.

    Parameters
    ----------
    differ : float
        Share of the target rows on which the two labels differ.
    n_rows : int
        Number of target rows.

    Returns
    -------
    float
        The larger, the fewer rows there are.
    """
    return float(np.clip(np.sqrt(differ / n_rows), *GAINS))


def _cannot_tell(n_more: int) -> str:
    if n_more == 0:
        return "Cannot tell: all rows have labels, and these do not settle it."
    return f"Cannot tell: label about {n_more} more {'row' if n_more == 1 else 'rows'}."
