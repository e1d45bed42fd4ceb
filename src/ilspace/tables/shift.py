"""How different two sets of rows are: three measures of domain shift."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ilspace.objective import stein_divergence

MOST_ROWS = 500
"""Rows of each domain that the measures look at; more change little and cost their square."""

N_PERMUTATIONS = 999

_SHIFTED = 0.25
"""How far the area under the ROC curve of a column is from a half, if it has shifted."""


@dataclass(frozen=True)
class Shift:
    """How different two domains are.

    Attributes
    ----------
    stein : float
        Stein divergence of the covariances per dimension; 0 for equal ones.
    mmd : float
        Maximum mean discrepancy of Gaussian kernels, squared.
    mmd_p_value : float
        Share of random exchanges of rows between the domains that differ as much: small where the
        domains do differ.
    a_distance : float
        Proxy A-distance, from 0 where a linear classifier cannot tell the domains apart to 2 where
        it always can.
    """

    stein: float
    mmd: float
    mmd_p_value: float
    a_distance: float


def measure_shift(source: np.ndarray, target: np.ndarray, *, seed: int = 0) -> Shift:
    """Measure how different the rows of two domains are.

    Parameters
    ----------
    source, target : ndarray of shape (n, p)
        Rows in one space.
    seed : int, default=0
        Draws the rows that are looked at, and the permutations.

    Returns
    -------
    Shift
        All measures.
    """
    rng = np.random.default_rng(seed)
    source, target = (
        rows[np.sort(rng.permutation(len(rows))[:MOST_ROWS])] for rows in (source, target)
    )
    mmd, p_value = mmd_test(source, target, rng=rng)
    return Shift(covariance_shift(source, target), mmd, p_value, a_distance(source, target))


def share_of_shifted_columns(source: np.ndarray, target: np.ndarray) -> float:
    """Share of the columns in which the target lies above, or below, most of the source.

    Parameters
    ----------
    source, target : ndarray of shape (n, p)
        Rows in one space.

    Returns
    -------
    float
        Share of the columns that vary in the source in which a target row is the larger one of a
        random pair, or the smaller one, in more than three of four cases.
    """
    domains = np.repeat([0, 1], [len(source), len(target)])
    varies = np.ptp(source, axis=0) > 0
    columns = np.concatenate([source, target])[:, varies]
    areas = np.array([roc_auc_score(domains, column) for column in columns.T])
    return float(np.mean(np.abs(areas - 0.5) > _SHIFTED)) if len(areas) else 0.0


def covariance_shift(source: np.ndarray, target: np.ndarray, *, n_axes: int = 20) -> float:
    """Stein divergence of the covariances of two sets of rows, per dimension.

    Parameters
    ----------
    source, target : ndarray of shape (n, p)
        Rows in one space.
    n_axes : int, default=20
        Leading principal axes of both together that are looked at; without them the covariances of
        few rows in many columns could not be inverted.

    Returns
    -------
    float
        Not negative.
    """
    centred = [rows - rows.mean(axis=0) for rows in (source, target)]
    if source.shape[1] <= len(source) + len(target):
        values, axes = np.linalg.eigh(sum(rows.T @ rows / len(rows) for rows in centred))
    else:  # the span of the rows: the covariance of all columns would take their cube
        stacked = np.concatenate([rows / np.sqrt(len(rows)) for rows in centred])
        _, sizes, spans = np.linalg.svd(stacked, full_matrices=False)
        values, axes = sizes[::-1] ** 2, spans[::-1].T
    kept = axes[:, values > 1e-9 * max(values[-1], np.finfo(float).tiny)][:, -n_axes:]
    if kept.shape[1] == 0:
        return 0.0
    covariances = []
    for rows in centred:
        covariance = (rows @ kept).T @ (rows @ kept) / len(rows)
        share = 1e-3 * np.trace(covariance) / len(covariance) + np.finfo(float).tiny
        covariances.append(covariance + share * np.eye(len(covariance)))
    return max(0.0, float(stein_divergence(*covariances)[0])) / kept.shape[1]


def mmd_test(
    source: np.ndarray, target: np.ndarray, *, rng: np.random.Generator
) -> tuple[float, float]:
    r"""Maximum mean discrepancy of two sets of rows, and whether chance explains it.

    The kernel is :math:`e^{-\|x - y\|^2 / m}` with the median squared distance m
    :cite:p:`gretton2012`.

    Parameters
    ----------
    source, target : ndarray of shape (n, p)
        Rows in one space.
    rng : Generator
        Draws the permutations.

    Returns
    -------
    mmd : float
        Squared; the mean over all pairs, those of a row with itself included.
    p_value : float
        Of the permutation test.
    """
    rows = np.concatenate([source, target])
    squares = pdist(rows, "sqeuclidean")
    median = float(np.median(squares))
    kernel = np.exp(-squareform(squares) / (median if median > 0 else 1.0))
    signs = np.repeat([1 / len(source), -1 / len(target)], [len(source), len(target)])
    exchanged = np.stack([signs, *(rng.permutation(signs) for _ in range(N_PERMUTATIONS))])
    values = np.einsum("ij,ij->i", exchanged @ kernel, exchanged)
    # the first row is the true division, which counts as one of the permutations
    return float(max(values[0], 0.0)), float(np.mean(values >= values[0] * (1 - 1e-12)))


def a_distance(source: np.ndarray, target: np.ndarray) -> float:
    r"""Proxy A-distance :math:`2 (1 - 2 \epsilon)` :cite:p:`bendavid2010`.

    Parameters
    ----------
    source, target : ndarray of shape (n, p)
        Rows in one space.

    Returns
    -------
    float
        Between 0 and 2, from the balanced error of a linear classifier on folds it has not seen.
    """
    rows = np.concatenate([source, target])
    domain = np.repeat([0, 1], [len(source), len(target)])
    n_folds = min(5, len(source), len(target))
    if n_folds < 2:
        return 0.0
    classifier = make_pipeline(
        StandardScaler(), LogisticRegression(C=0.01, class_weight="balanced", max_iter=200)
    )
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    guessed = cross_val_predict(classifier, rows, domain, cv=folds)
    error = np.mean([np.mean(guessed[domain == each] != each) for each in (0, 1)])
    return float(max(0.0, 2 * (1 - 2 * error)))
