"""Accuracy on the target, estimated from labels of rows that were not chosen at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

_LEAST = 0.005
"""Confidence is clipped to this distance from 0 and 1: beyond, its logit says little."""

_MEANS = np.array([-0.5, 0.8, 1.2, -0.5])
_SPREADS = np.array([1.5, 0.4, 1.0, 0.6])
"""Prior means and standard deviations of offset, slope, progress and choice."""

_START = 10
"""Labels that count as learned before the first, in the logarithm of the progress."""

_DRAWS = 2000
"""Draws from the posterior."""


@dataclass(frozen=True)
class AccuracyEstimate:
    """Accuracy on target rows without a label, as far as it is known.

    Attributes
    ----------
    value : float
        The estimate, from 0 to 1.
    low, high : float
        Interval that holds the accuracy with probability `level`.
    level : float
        That probability.
    n_labels : int
        Labels that it was made from. With none it rests on the confidence of the model alone.
    """

    value: float
    low: float
    high: float
    level: float
    n_labels: int


class Asked(NamedTuple):
    """Predictions of rows whose labels came to be known afterwards.

    Attributes
    ----------
    confidence : ndarray of shape (n,)
        Probability of the predicted class of each row, by a model that had not seen its label.
    is_right : bool array of shape (n,)
        Whether the prediction was right.
    n_learned : int array of shape (n,)
        How many target labels that model had learned from.
    is_random : bool array of shape (n,)
        Whether the row was drawn at random, not chosen.
    """

    confidence: np.ndarray
    is_right: np.ndarray
    n_learned: np.ndarray
    is_random: np.ndarray


def estimate_accuracy(
    confidence: np.ndarray,
    asked: Asked,
    n_learned: int,
    *,
    n_rows: int | None = None,
    level: float = 0.9,
) -> AccuracyEstimate:
    r"""Estimate accuracy from labels of rows that were not chosen at random.

    Rows that are worth a label are those that a model is unsure of, so it is right on fewer of
    them than on others; and the labels came one after the other, so that most of them tell about
    models that knew less. Both are corrected for. The prediction of an asked row, of confidence p,
    by a model that had learned from m labels, is right with probability

    .. math:: \sigma\Bigl(a + b \operatorname{logit} p - c \log\frac{n + 10}{m + 10} + d\Bigr),

    and that of a row without a label, by the model that has learned from n labels, with
    probability :math:`\sigma(a + b \operatorname{logit} p)`. Here a and b say how far confidence
    is to be believed, c how much labels help beyond what confidence shows, and d how much harder
    chosen rows are than others of the same confidence; it is left out for random ones. They have
    a normal prior, whose means and spreads were set by hand from some 200 runs on draws of
    Office+Caltech10 and of tables that no reported result is about, once more after two reported
    trials had shown too low a coverage on deep features. The posterior given the
    answers is approximated by a normal distribution (Laplace), and averaged over all rows without
    a label.

    Parameters
    ----------
    confidence : ndarray of shape (n_unlabelled,)
        Probability of the predicted class of each row without a label, or of a sample of them.
    asked : Asked
        What was predicted of rows that have since been labelled, and whether it was right.
    n_learned : int
        How many target labels the model has learned from.
    n_rows : int, optional
        How many rows without a label there are; by default `n_unlabelled`. The accuracy on few
        rows is a matter of chance too, and the interval allows for it.
    level : float, default=0.9
        Probability of the interval.

    Returns
    -------
    AccuracyEstimate
        Posterior mean, and the interval between two quantiles of the posterior.

    Notes
    -----
    Measured on the draws that the prior was set on, with 10 to 50 labels, 90 % intervals held the
    accuracy on other rows in 83 to 96 % of the cases, by strategy and data; those of the default
    strategy in 93 to 96 %. Wilson's interval from a random fifth of the labels did in 75 to 82 %,
    and was wider: it knows nothing of confidence and progress.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}.")
    center, covariance = _posterior(asked, n_learned)
    normal = np.random.default_rng(0).standard_normal((_DRAWS, 3))  # the same in each call
    draws = center[:2] + normal[:, :2] @ np.linalg.cholesky(covariance[:2, :2]).T
    chances = expit(draws[:, :1] + draws[:, 1:] * _summarised(_logits(confidence)))
    means = chances.mean(axis=1)
    variances = (chances * (1 - chances)).mean(axis=1) / (n_rows or len(confidence))
    values = np.clip(means + np.sqrt(variances) * normal[:, 2], 0, 1)
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    n_labels = len(asked.is_right)
    return AccuracyEstimate(float(means.mean()), float(low), float(high), level, n_labels)


def right_chances(confidence: np.ndarray, asked: Asked, n_learned: int) -> np.ndarray:
    """Probability that each prediction is right, by the model of :func:`estimate_accuracy`.

    Parameters
    ----------
    confidence : ndarray of shape (n,)
        Probability of the predicted class of each row without a label.
    asked : Asked
        As for :func:`estimate_accuracy`.
    n_learned : int
        As for :func:`estimate_accuracy`.

    Returns
    -------
    ndarray of shape (n,)
        With offset and slope at their posterior means.
    """
    (offset, slope, *_), _ = _posterior(asked, n_learned)
    return expit(offset + slope * _logits(confidence))


def expected_progress(confidence: np.ndarray, asked: Asked, n_learned: int, n: int) -> float:
    """Gain of accuracy by more labels, if labels go on helping as they did.

    Parameters
    ----------
    confidence : ndarray of shape (n_unlabelled,)
        Probability of the predicted class of each row without a label.
    asked : Asked
        As for :func:`estimate_accuracy`.
    n_learned : int
        As for :func:`estimate_accuracy`.
    n : int
        Number of labels to come.

    Returns
    -------
    float
        By the model of :func:`estimate_accuracy`, with its parameters at their posterior means;
        not negative.
    """
    (offset, slope, progress, _), _ = _posterior(asked, n_learned)
    scores = offset + slope * _logits(confidence)
    more = progress * np.log((n_learned + n + _START) / (n_learned + _START))
    return max(0.0, float(np.mean(expit(scores + more) - expit(scores))))


def _logits(confidence: np.ndarray) -> np.ndarray:
    return logit(np.clip(np.asarray(confidence, dtype=np.float64), _LEAST, 1 - _LEAST))


def _summarised(values: np.ndarray, most: int = 256) -> np.ndarray:
    """Quantiles that stand for any number of values."""
    if len(values) <= most:
        return values
    return np.quantile(values, (np.arange(most) + 0.5) / most)


def _posterior(asked: Asked, n_learned: int) -> tuple[np.ndarray, np.ndarray]:
    """Mode and covariance of offset, slope, progress and choice, by Newton's method."""
    progress = np.log((n_learned + _START) / (np.asarray(asked.n_learned) + _START))
    is_chosen = ~np.asarray(asked.is_random, dtype=bool)
    values = _logits(asked.confidence)
    columns = np.stack([np.ones(len(values)), values, -progress, is_chosen], axis=1)
    right = np.asarray(asked.is_right, dtype=np.float64)
    precision, found = np.diag(_SPREADS**-2), _MEANS

    def loss(point: np.ndarray) -> float:
        scores, away = columns @ point, point - _MEANS
        likelihood = np.logaddexp(0, np.where(right > 0, -scores, scores)).sum()
        return float(likelihood + away @ precision @ away / 2)

    for _ in range(100):
        chances = expit(columns @ found)
        gradient = columns.T @ (right - chances) - precision @ (found - _MEANS)
        hessian = precision + (columns.T * (chances * (1 - chances))) @ columns
        step = np.linalg.solve(hessian, gradient)
        while np.abs(step).max() > 1e-9 and loss(found + step) > loss(found):
            step = step / 2  # full steps may go too far
        found = found + step
        if np.abs(step).max() < 1e-9:
            break
    return found, np.linalg.inv(hessian)
