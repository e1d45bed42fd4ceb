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

FEWEST_ROWS = 10
"""Source rows that every class must have for any prediction to be trusted."""

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
    fewest_rows: int,
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
    fewest_rows : int
        Source rows of the smallest class.
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
    if fewest_rows < FEWEST_ROWS:
        reasons.append(f"a class has fewer than {FEWEST_ROWS} source rows")
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
