"""How far predictions can be trusted, learned from rows whose labels were held out."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress

import numpy as np

FEWEST_ROWS = 10
"""Held-out rows that a confidence must be backed by."""

LEAST_CONFIDENCE = 0.7
"""Least probability that is trusted, however well the others do, unless less is asked for."""

FARTHEST = 0.99
"""Share of the held-out rows that lie within the largest distance trusted."""


@dataclass(frozen=True)
class Trust:
    """Which predictions to trust.

    Attributes
    ----------
    confidence : float
        Least probability of the predicted class; above 1 where none is high enough.
    distance : float
        Largest distance to a labelled row.
    """

    confidence: float
    distance: float

    def doubts(self, probability: np.ndarray, distance: np.ndarray) -> dict[str, np.ndarray]:
        """Tell which predictions not to trust, and why.

        Parameters
        ----------
        probability, distance : ndarray of shape (n,)
            Of the predicted class, and to the nearest labelled row.

        Returns
        -------
        dict of str to ndarray of bool, shape (n,)
            Rows out of each bound: ``unsure`` and ``far``.
        """
        return {"unsure": probability < self.confidence, "far": distance > self.distance}


def learn_trust(
    probability: np.ndarray, distance: np.ndarray, *, is_right: np.ndarray, accuracy: float
) -> Trust:
    """Find the bounds within which held-out rows were predicted well.

    Parameters
    ----------
    probability, distance : ndarray of shape (n,)
        Of held-out rows: of the predicted class, and to the nearest labelled row.
    is_right : ndarray of bool, shape (n,)
        Whether the prediction was right.
    accuracy : float
        Accuracy to reach among those that are trusted.

    Returns
    -------
    Trust
        The widest such bounds, but none below `LEAST_CONFIDENCE`.
    """
    farthest = float(np.quantile(distance, FARTHEST))
    order = np.argsort(-probability, kind="stable")
    ranked = probability[order]
    counts = np.arange(1, len(order) + 1)
    shares = _cautious(np.cumsum(is_right[order]), counts)
    # equal confidences are trusted together, so only the last of them may end the range
    is_last = np.append(ranked[1:] < ranked[:-1], True)
    enough = np.flatnonzero((shares >= accuracy) & is_last & (counts >= FEWEST_ROWS))
    if len(enough) == 0:
        return Trust(np.inf, farthest)
    needed = 0.0 if enough[-1] == len(order) - 1 else float(ranked[enough[-1]])
    return Trust(max(needed, min(LEAST_CONFIDENCE, accuracy)), farthest)


def _cautious(right: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Wilson's lower bound on the accuracy, at a confidence level of 75 %.

    The widest of many ranges is chosen, so the plain accuracy would be optimistic.
    """
    share, z = right / counts, 0.6745
    middle = share + z**2 / (2 * counts)
    spread = z * np.sqrt(share * (1 - share) / counts + (z / (2 * counts)) ** 2)
    return (middle - spread) / (1 + z**2 / counts)


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
