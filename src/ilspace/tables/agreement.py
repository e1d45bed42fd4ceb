"""What the agreement of several classifiers says of their accuracy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from ilspace.selection.calibration import raised
from ilspace.storage.schema import POSITIVE, SHARE, Each, Record, Value
from ilspace.tables.held_out import HeldOut

_LARGEST = 3.0
"""Bound of the absolute logarithm of the inverse temperature."""

DEVIATION = 0.11
"""Standard deviation of the accuracy around the one that agreement alone expects.

The interval then held the accuracy in four of five draws of three quarters of the field pairs."""

LEVEL = 0.8
"""Of the interval."""

_HALF_WIDTH = float(norm.ppf((1 + LEVEL) / 2))
"""Half of the interval, in standard deviations."""


@dataclass(frozen=True)
class Agreement:
    """How far the members of a committee agree on rows without a label.

    Attributes
    ----------
    confidence : float
        Mean of the largest probabilities of those that adapt, or of all if none does.
    agreement : float
        Share of the rows on which two members say the same: mean over all pairs of members, and
        over all pairs of those that adapt, averaged; 1 for one alone.
    of_classes : tuple of float
        For each class, the share of the rows that all members give to it, of those that any member
        does.
    expected_accuracy : float
        Share of the rows that the average is expected to be right on. Without labels, how sure the
        members are, times how far they agree, and no less than one of the classes by chance: what
        they disagree on tells how much of their confidence is unfounded. Chosen among such products
        on random three quarters of the rows of the field pairs, where it was off by 9 points on the
        mean. Held-out labels correct it, each by its precision.
    deviation : float
        Standard deviation of the accuracy around the expected one.
    inverse_temperature : float
        Power of the average at which its mean largest probability is the expected accuracy.
    """

    confidence: float
    agreement: float
    of_classes: tuple[float, ...]
    expected_accuracy: float
    deviation: float
    inverse_temperature: float

    schema: ClassVar[Record]

    @property
    def interval(self) -> tuple[float, float]:
        """Where the accuracy lies in four of five cases."""
        return interval_around(self.expected_accuracy, self.deviation)

    def expecting(
        self, accuracy: float, interval: tuple[float, float], average: np.ndarray
    ) -> Agreement:
        """The same agreement, where the accuracy is known better.

        Parameters
        ----------
        accuracy : float
            The accuracy to expect.
        interval : tuple of float
            Where it lies in four of five cases.
        average : ndarray of shape (n, n_classes)
            What the members say together of the rows that it is about.

        Returns
        -------
        Agreement
            With probabilities as sure as this accuracy says.
        """
        return replace(
            self,
            expected_accuracy=accuracy,
            deviation=max(interval[1] - interval[0], 1e-3) / 2 / _HALF_WIDTH,
            inverse_temperature=_inverse_temperature(average, accuracy),
        )


Agreement.schema = Record(
    Agreement,
    {
        "confidence": Value(float, check=SHARE),
        "agreement": Value(float, check=SHARE),
        "of_classes": Each(Value(float, check=SHARE)),
        "expected_accuracy": Value(float, check=SHARE),
        "deviation": Value(float, check=POSITIVE),
        "inverse_temperature": Value(float, check=POSITIVE),
    },
)


def measure_agreement(
    said: np.ndarray,
    adapts: np.ndarray,
    weights: np.ndarray,
    *,
    held_out: HeldOut | None = None,
) -> Agreement:
    """Measure how far the members agree.

    Parameters
    ----------
    said : ndarray of shape (n_members, n, n_classes)
        Probabilities by each of them, of rows whose labels they do not know.
    adapts : ndarray of bool, shape (n_members,)
        Which of them adapt.
    weights : ndarray of shape (n_members,)
        Of the members in their average.
    held_out : HeldOut, optional
        What they say of rows whose labels are known and were hidden from them.

    Returns
    -------
    Agreement
        Of these rows.
    """
    chosen = adapts if adapts.any() else ~adapts
    confidence = float(said[chosen].max(axis=2).mean())
    labels = said.argmax(axis=2)
    agreement = (_of_pairs(labels) + _of_pairs(labels[chosen])) / 2
    expected, deviation = max(confidence * agreement, 1 / said.shape[2]), DEVIATION
    if held_out is not None:
        expected, deviation = corrected(
            expected, held_out.accuracy(held_out.predicted() == held_out.codes), held_out
        )
    average = np.tensordot(weights, said, axes=1)
    return Agreement(
        confidence,
        agreement,
        _of_classes(labels, said.shape[2]),
        expected,
        deviation,
        _inverse_temperature(average, expected),
    )


def corrected(expected: float, measured: float, held_out: HeldOut) -> tuple[float, float]:
    """Correct the accuracy that agreement expects by the one on held-out rows, by their precision.

    Parameters
    ----------
    expected : float
        By the agreement of the members.
    measured : float
        On the held-out rows.
    held_out : HeldOut
        These rows.

    Returns
    -------
    accuracy, deviation : float
        The accuracy to expect, and its standard deviation.
    """
    n = len(held_out.codes)
    smooth = (n * measured + 1) / (n + 2)  # Laplace's rule: no accuracy is certain
    variances = np.array([DEVIATION**2, smooth * (1 - smooth) / n])
    accuracy = float(np.average([expected, measured], weights=1 / variances))
    return accuracy, float(np.sqrt(1 / np.sum(1 / variances)))


def interval_around(accuracy: float, deviation: float) -> tuple[float, float]:
    """Where an accuracy lies in four of five cases.

    Parameters
    ----------
    accuracy, deviation : float
        The accuracy to expect, and its standard deviation.

    Returns
    -------
    low, high : float
        From 0 to 1.
    """
    half = _HALF_WIDTH * deviation
    return max(accuracy - half, 0.0), min(accuracy + half, 1.0)


def _of_pairs(labels: np.ndarray) -> float:
    """Share of the rows on which two members say the same, on average."""
    pairs = list(combinations(labels, 2))
    return float(np.mean([np.mean(one == other) for one, other in pairs])) if pairs else 1.0


def _of_classes(labels: np.ndarray, n_classes: int) -> tuple[float, ...]:
    """Of the rows that any member gives to a class, the share that all do."""
    is_class = labels[..., None] == np.arange(n_classes)
    by_all, by_any = is_class.all(axis=0).sum(axis=0), is_class.any(axis=0).sum(axis=0)
    return tuple((by_all / np.maximum(by_any, 1)).tolist())


def _inverse_temperature(average: np.ndarray, wanted: float) -> float:
    """The power at which the mean largest probability is the wanted one, or near it."""

    def excess(logarithm: float) -> float:
        return float(raised(average, np.exp(logarithm)).max(axis=1).mean()) - wanted

    if excess(-_LARGEST) >= 0:
        return float(np.exp(-_LARGEST))
    if excess(_LARGEST) <= 0:
        return float(np.exp(_LARGEST))
    return float(np.exp(brentq(excess, -_LARGEST, _LARGEST)))
