"""Which predictions to trust, where no label of the target tells."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import ClassVar

import numpy as np

from ilspace.storage.schema import Check, Each, Record, Value
from ilspace.tables.agreement import Agreement

FARTHEST = 0.99
"""Share of the target rows that lie within the largest distance trusted."""

ENOUGH_ROWS = 10
"""Source rows from which on a class is known well enough, however rare it is."""

LEAST_ROWS = 4
"""Source rows that every class must have: with fewer nothing was measured."""

LEAST_FREQUENCY = 0.5
"""How frequent a class of fewer source rows must be, relative to equally frequent classes.

Rows of a class that is rare in the source and frequent in the target are given to others with
confidence: one hospital has 115 sick and 8 healthy patients, the next as many of both. That a class
has few rows because the source has is no such reason. On random three quarters of the rows of the
field pairs, trusting predictions from such a source made 1.6 to 1.9 points more of the rows
trusted, and 0.1 to 0.5 points more of these right (five draws, two of them with rare classes). With
a bound of 0.25 up to 2 points more are trusted, but also predictions from 5 and 35 made-up rows of
two classes, of which half are wrong where the classes are more balanced."""

LEAST_OVERLAP = 0.5
"""Overlap of the tables from which on they are not too different for a check."""

LEAST_AGREEMENT = 0.5
"""Share of the rows of a class, by any member, that all of them must give to it.

This bound, the one before and the default of the least probability were chosen on random three
quarters of the rows of the field pairs, with and without rare classes: about 12 % of the rows were
trusted there, and 93 and 97 % of these were right."""


@dataclass(frozen=True)
class Trust:
    """Which predictions to trust.

    Attributes
    ----------
    confidence : float
        Least probability of the predicted class.
    distance : float
        Largest distance from the target's mean, as the root mean square of z-scores.
    contested : tuple of int
        Classes whose rows the members agree on too seldom, by position.
    withheld : tuple of str
        Why no prediction is trusted; empty where some may be.
    """

    confidence: float
    distance: float
    contested: tuple[int, ...]
    withheld: tuple[str, ...]

    schema: ClassVar[Record]

    def doubts(
        self, probability: np.ndarray, distance: np.ndarray, codes: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Tell which predictions not to trust, and why.

        Parameters
        ----------
        probability, distance : ndarray of shape (n,)
            Of the predicted class, and from the target's mean.
        codes : ndarray of int, shape (n,)
            The predicted class.

        Returns
        -------
        dict of str to ndarray of bool, shape (n,)
            Rows that each doubt concerns.
        """
        doubts = {
            "unsure": probability < self.confidence,
            "far": distance > self.distance,
            "contested": np.isin(codes, self.contested),
        }
        if self.withheld:
            doubts["withheld"] = np.full(len(probability), True)
        return doubts


_BOUND = Value(float, check=Check("be 0 or more", lambda bound: bound >= 0))
Trust.schema = Record(
    Trust,
    {
        "confidence": _BOUND,
        "distance": _BOUND,
        "contested": Each(Value(int)),
        "withheld": Each(Value(str)),
    },
)


def learn_trust(
    agreement: Agreement,
    distances: np.ndarray,
    *,
    n_members: int,
    counts: np.ndarray,
    overlap: float,
    probability: float,
) -> Trust:
    """Find the bounds of trust.

    Parameters
    ----------
    agreement : Agreement
        Of the members, on the target.
    distances : ndarray of shape (nt,)
        Of the target rows from their mean.
    n_members : int
        How many were asked.
    counts : ndarray of int, shape (n_classes,)
        Source rows of each class.
    overlap : float
        How far the tables overlap, from 0 to 1.
    probability : float
        Least probability that is trusted.

    Returns
    -------
    Trust
        The bounds, or why nothing is trusted.
    """
    reasons = []
    if n_members < 2:
        reasons.append("one method alone has nobody who agrees or disagrees with it")
    fewest = int(counts.min())
    if fewest < LEAST_ROWS:
        reasons.append(f"a class has fewer than {LEAST_ROWS} source rows")
    elif fewest < min(ENOUGH_ROWS, LEAST_FREQUENCY * counts.mean()):
        reasons.append(f"a class is rare in the source: {fewest} of {counts.sum()} rows")
    if overlap < LEAST_OVERLAP:
        reasons.append("the tables hardly overlap, even with other class frequencies")
    farthest = float(np.quantile(distances, FARTHEST))
    contested = tuple(np.flatnonzero(np.array(agreement.of_classes) < LEAST_AGREEMENT).tolist())
    return Trust(float(probability), farthest, contested, tuple(reasons))


def in_words(doubts: dict[str, np.ndarray]) -> np.ndarray:
    """What there is against each prediction.

    Parameters
    ----------
    doubts : dict of str to ndarray of bool, shape (n,)
        Rows that each doubt concerns.

    Returns
    -------
    ndarray of object, shape (n,)
        Strings such as ``"unsure far"``; empty for predictions to be trusted.
    """
    words = [" ".join(compress(doubts, row)) for row in zip(*doubts.values(), strict=True)]
    return np.array(words, dtype=object)
