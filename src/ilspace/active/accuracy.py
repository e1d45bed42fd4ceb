"""Accuracy on the target, estimated from labels of rows that were not chosen at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

_LEAST = 0.005
"""Confidence is clipped to this distance from 0 and 1: beyond, its logit says little."""

_OFFSET_SPREAD, _SLOPE_SPREAD = 1.0, 0.5
"""Prior standard deviations of the offset, around 0, and of the slope, around 1."""

_OFFSETS, _SLOPES = np.linspace(-5, 5, 101), np.linspace(0.05, 2.5, 50)
"""Grid on which the posterior is computed."""


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


def estimate_accuracy(
    confidence: np.ndarray,
    asked_confidence: np.ndarray,
    is_right: np.ndarray,
    *,
    n_rows: int | None = None,
    level: float = 0.9,
) -> AccuracyEstimate:
    r"""Estimate the accuracy of predictions from labels of rows that were not chosen at random.

    Rows that are worth a label are those that the model is unsure of, so it is right on fewer of
    them than on others. What may carry over is how often it is right at a given confidence p:

    .. math:: P(\text{right}) = \sigma(a + b \operatorname{logit} p), \qquad
        a \sim N(0, \sigma_a^2),\; b \sim N(1, \sigma_b^2),\; b > 0

    The posterior of a and b, given which asked predictions were right, is averaged over the
    confidences of all rows without a label. To it is added the chance of each of these.

    Parameters
    ----------
    confidence : ndarray of shape (n,)
        Probability of the predicted class of each row without a label, or of a sample of them.
    asked_confidence : ndarray of shape (n_labels,)
        The same of rows that have since been labelled, by a model that had not seen their label.
    is_right : bool array of shape (n_labels,)
        Whether these predictions were right.
    n_rows : int, optional
        How many rows there are whose accuracy is meant; by default n.
    level : float, default=0.9
        Probability of the interval.

    Returns
    -------
    AccuracyEstimate
        Posterior mean, and the interval between two quantiles of the posterior.
    """
    right = np.asarray(is_right, dtype=bool)
    weights = _posterior(_logits(asked_confidence), right)
    # at most 512 values, which represent the confidences of any number of rows
    steps = (np.arange(min(len(confidence), 512)) + 0.5) / min(len(confidence), 512)
    values = _logits(np.quantile(confidence, steps, method="inverted_cdf"))
    chances = expit(_OFFSETS[:, None, None] + _SLOPES[:, None] * values)
    means = chances.mean(axis=2).ravel()
    spreads = np.sqrt((chances * (1 - chances)).mean(axis=2).ravel() / (n_rows or len(confidence)))
    low, high = (_quantile(weights.ravel(), means, spreads, q) for q in _tails(level))
    return AccuracyEstimate(float(weights.ravel() @ means), low, high, level, len(right))


def right_chances(
    confidence: np.ndarray, asked_confidence: np.ndarray, is_right: np.ndarray
) -> np.ndarray:
    """Probability that each prediction is right, by the model of :func:`estimate_accuracy`.

    Parameters
    ----------
    confidence : ndarray of shape (n,)
        Probability of the predicted class of each row.
    asked_confidence, is_right : ndarray of shape (n_labels,)
        As for :func:`estimate_accuracy`.

    Returns
    -------
    ndarray of shape (n,)
        At the posterior mean of offset and slope.
    """
    weights = _posterior(_logits(asked_confidence), np.asarray(is_right, dtype=bool))
    offset, slope = weights.sum(axis=1) @ _OFFSETS, weights.sum(axis=0) @ _SLOPES
    return expit(offset + slope * _logits(confidence))


def _logits(confidence: np.ndarray) -> np.ndarray:
    return logit(np.clip(np.asarray(confidence, dtype=np.float64), _LEAST, 1 - _LEAST))


def _posterior(values: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Weights of the points of the grid, shape (n_offsets, n_slopes); they sum to 1."""
    prior = norm.logpdf(_OFFSETS, 0, _OFFSET_SPREAD)[:, None]
    prior = prior + norm.logpdf(_SLOPES, 1, _SLOPE_SPREAD)
    scores = _OFFSETS[:, None, None] + _SLOPES[:, None] * values
    logs = prior - np.logaddexp(0, np.where(right, -scores, scores)).sum(axis=2)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


def _quantile(weights: np.ndarray, means: np.ndarray, spreads: np.ndarray, q: float) -> float:
    """Quantile of a mixture of normal distributions, clipped to [0, 1]."""
    points = np.linspace(0, 1, 1001)
    kept = weights > 1e-8
    shares = weights[kept] / weights[kept].sum()
    below = norm.cdf(points[:, None], means[kept], np.maximum(spreads[kept], 1e-6)) @ shares
    return float(np.interp(q, below, points))
