"""Query strategies: which rows to ask about, as plain functions of a pool."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ilspace.active.facility import facility_location
from ilspace.active.pool import Pool, ask_members, ask_probabilities, ask_rows, entropy
from ilspace.backend import as_generator

_LEAST_WEIGHT = 1e-9
"""Least doubt of a row in clustering, where no weight may be zero."""


def uncertain_clusters(pool: Pool, n: int, *, random_state=None) -> np.ndarray:
    """Choose the row nearest to the centre of each of n clusters, weighted by doubt.

    k-means in which each row weighs as much as the entropy of its prediction, divided by its cost:
    CLUE :cite:p:`prabhu2021`.

    Parameters
    ----------
    pool : Pool
        Target rows.
    n : int
        Rows to choose.
    random_state : int, Generator or None, default=None
        Draws the first centres.

    Returns
    -------
    int array of shape (min(n, n_candidates),)
        Positions of the chosen rows; that of the cluster with the most doubt first.
    """
    from sklearn.cluster import KMeans  # a while to load, for those who ask for rows alone

    rng = as_generator(random_state)
    candidates, rows = pool.candidates, pool.rows[pool.candidates]
    n = min(n, len(candidates))
    if n == 0:
        return candidates
    weights = np.maximum(pool.per_cost(pool.doubt)[candidates], _LEAST_WEIGHT)
    model = KMeans(n, n_init=1, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different rows than clusters
        model.fit(rows, sample_weight=weights)
    masses = np.bincount(model.labels_, weights, minlength=n)
    is_free = np.ones(len(rows), dtype=bool)
    chosen = []
    for center in model.cluster_centers_[np.argsort(-masses, kind="stable")]:
        distances = np.where(is_free, np.sum((rows - center) ** 2, axis=1), np.inf)
        chosen.append(int(distances.argmin()))
        is_free[chosen[-1]] = False
    return candidates[chosen]


def margin_sampling(pool: Pool, n: int, *, random_state=None) -> np.ndarray:
    """Choose the rows whose two most probable classes are closest in probability.

    Parameters
    ----------
    pool : Pool
        Target rows.
    n : int
        Rows to choose.
    random_state : int, Generator or None, default=None
        Not used: nothing is drawn.

    Returns
    -------
    int array of shape (min(n, n_candidates),)
        Positions of the chosen rows, the smallest margin first; with costs, the largest
        1 - margin per unit of cost.
    """
    two = np.sort(pool.probabilities, axis=1)[:, -2:]
    return _largest(pool, 1 - (two[:, -1] - two[:, 0]), n)


def entropy_sampling(pool: Pool, n: int, *, random_state=None) -> np.ndarray:
    """Choose the rows whose predictions have the largest entropy.

    Parameters
    ----------
    pool : Pool
        Target rows.
    n : int
        Rows to choose.
    random_state : int, Generator or None, default=None
        Not used: nothing is drawn.

    Returns
    -------
    int array of shape (min(n, n_candidates),)
        Positions of the chosen rows, best first; with costs, the largest entropy per unit of cost.
    """
    return _largest(pool, pool.doubt, n)


def committee_disagreement(pool: Pool, n: int, *, random_state=None) -> np.ndarray:
    """Choose the rows on which the votes of the members of a committee differ most.

    By the entropy of their votes :cite:p:`engelson1996`; few members often give the same votes, and
    then the entropy of their mean probabilities decides.

    Parameters
    ----------
    pool : Pool
        Target rows, with `members`.
    n : int
        Rows to choose.
    random_state : int, Generator or None, default=None
        Not used: nothing is drawn.

    Returns
    -------
    int array of shape (min(n, n_candidates),)
        Positions of the chosen rows, best first; with costs, the most disagreement per unit of
        cost.
    """
    if pool.members is None:
        raise TypeError(
            "Disagreement needs two members or more that say different things, but this estimator "
            "has none: use TableClassifier with its committee, or another strategy."
        )
    votes = pool.members.argmax(axis=2)
    shares = np.stack([np.mean(votes == c, axis=0) for c in range(pool.members.shape[2])], axis=1)
    mean = entropy(pool.members.mean(axis=0))
    # votes of up to a hundred members differ by more than this in entropy
    return _largest(pool, entropy(shares) + 1e-4 * mean / np.log(max(2, shares.shape[1])), n)


def random_sampling(pool: Pool, n: int, *, random_state=None) -> np.ndarray:
    """Choose rows at random, whatever they cost.

    Parameters
    ----------
    pool : Pool
        Target rows.
    n : int
        Rows to choose.
    random_state : int, Generator or None, default=None
        Draws them.

    Returns
    -------
    int array of shape (min(n, n_candidates),)
        Positions of the chosen rows, in random order.
    """
    return as_generator(random_state).permutation(pool.candidates)[:n]


def _largest(pool: Pool, scores: np.ndarray, n: int) -> np.ndarray:
    """Candidates of the largest scores per cost; equal ones in the order of the rows."""
    own = pool.per_cost(scores)[pool.candidates]
    return pool.candidates[np.argsort(-own, kind="stable")[:n]]


STRATEGIES: dict[str, Callable[..., np.ndarray]] = {
    "facility-location": facility_location,
    "clue": uncertain_clusters,
    "margin": margin_sampling,
    "entropy": entropy_sampling,
    "committee": committee_disagreement,
    "random": random_sampling,
}
"""Query strategies by name."""


def as_query_strategy(strategy: str | Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Make a function that other libraries call with a fitted learner and the rows of a pool.

    Such as modAL: ``ActiveLearner(estimator, query_strategy=as_query_strategy("clue"))``.

    Parameters
    ----------
    strategy : str or callable
        One of `STRATEGIES`, by name, or a function of a pool.

    Returns
    -------
    callable
        ``f(learner, X, n_instances=1, random_state=None)``: positions of the chosen rows of X.
        The learner has `predict_proba`; distances are those after its `transform`, or that of its
        attribute `estimator`, if there is one. All rows of X may be asked about.
    """
    choose = STRATEGIES[strategy] if isinstance(strategy, str) else strategy

    def query(learner: Any, X: Any, n_instances: int = 1, random_state=None) -> np.ndarray:
        every, none = np.arange(X.shape[0]), np.empty(0, dtype=np.intp)
        model = learner
        if not hasattr(learner, "transform") and hasattr(learner, "estimator"):
            model = learner.estimator
        pool = Pool(
            ask_rows(model, X, every),
            ask_probabilities(learner, X, every),
            every,
            none,
            ask_members(model, X, every),
        )
        return choose(pool, n_instances, random_state=random_state)

    return query
