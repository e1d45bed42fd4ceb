r"""Facility location weighted by doubt: rows that stand for many others, doubtful ones first."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ilspace.active.pool import Pool
from ilspace.backend import as_generator

MAX_ROWS, MAX_CANDIDATES = 4000, 2000
"""Rows that are represented, and candidates; of more, a sample of so many."""

_MEASURED = 1000
"""Rows whose neighbours set the bandwidth."""

_NEIGHBOR = 10
"""The bandwidth is the median squared distance to the neighbour of this rank."""

_TILE = 512


def facility_location(pool: Pool, n: int, *, random_state=None) -> np.ndarray:
    r"""Choose rows that stand for many others, doubtful ones above all, greedily.

    The chosen rows increase

    .. math:: F(S) = \sum_i (\bar u + u_i) \max_{j \in S \cup L} s_{ij}, \qquad
        s_{ij} = \exp(-\lVert x_i - x_j \rVert^2 / h)

    the most, one after the other: u is the entropy of the current prediction and :math:`\bar u` its
    mean, L are the labelled rows and h is the median squared distance to the tenth neighbour. Half
    of the weight is the same for all rows, so that their labels also tell how frequent the classes
    are: on tables, whose committee learns that from them, doubt alone did worse than random rows,
    and on images as well as this. F is submodular, so that the
    greedy choice reaches at least :math:`1 - 1/e` of the largest possible increase
    :cite:p:`nemhauser1978`, and bounds of earlier steps save most evaluations
    :cite:p:`minoux1978`. Where rows have costs, it is the increase per unit of cost.

    Parameters
    ----------
    pool : Pool
        Target rows. Of more than 4,000 rows without a label, a random sample of so many is
        represented, and of more than 2,000 candidates so many are considered: time and memory
        hardly grow with the number of rows.
    n : int
        Rows to choose.
    random_state : int, Generator or None, default=None
        Draws these samples.

    Returns
    -------
    int array of shape (min(n, n_candidates),)
        Positions of the chosen rows, best first.
    """
    rng = as_generator(random_state)
    is_labelled = np.zeros(len(pool.rows), dtype=bool)
    is_labelled[pool.labelled] = True
    represented = _sample(np.flatnonzero(~is_labelled), rng, MAX_ROWS)
    candidates = _sample(pool.candidates, rng, max(MAX_CANDIDATES, n))
    if not len(candidates):
        return candidates
    # distances from products lose digits far from the origin
    centered = pool.rows - pool.rows.mean(axis=0)
    rows, doubt = centered[represented], pool.doubt[represented]
    doubt = doubt + doubt.mean()
    width = bandwidth(rows)
    covered = _largest_similarity(rows, centered[pool.labelled], width)
    cost = np.ones(len(candidates)) if pool.cost is None else pool.cost[candidates]
    chosen = _lazy_greedy(rows, doubt, covered, centered[candidates], width, cost, n)
    return candidates[chosen]


def covered_doubt(pool: Pool, rows: Sequence[int] | np.ndarray, weights: np.ndarray) -> float:
    r"""How much more of the unlabelled rows would be represented with some rows labelled.

    Parameters
    ----------
    pool : Pool
        Target rows.
    rows : int array of shape (n,)
        Positions of rows to be labelled.
    weights : ndarray of shape (n_rows,)
        Weight of each row of the pool, in place of its doubt.

    Returns
    -------
    float
        Mean over the rows without a label of the weight times the increase of
        :math:`\max_j s_{ij}`; over at most 4,000 of them.
    """
    is_labelled = np.zeros(len(pool.rows), dtype=bool)
    is_labelled[pool.labelled] = True
    represented = np.flatnonzero(~is_labelled)
    represented = represented[:: 1 + (len(represented) - 1) // MAX_ROWS]
    if not len(represented) or not len(rows):
        return 0.0
    centered = pool.rows - pool.rows.mean(axis=0)
    own = centered[represented]
    width = bandwidth(own)
    before = _largest_similarity(own, centered[pool.labelled], width)
    now = np.maximum(before, _largest_similarity(own, centered[np.asarray(rows)], width))
    return float(np.mean(weights[represented] * (now - before)))


def bandwidth(rows: np.ndarray) -> float:
    """Median squared distance of rows to their tenth neighbour; of at most 1,000 of them.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        The rows.

    Returns
    -------
    float
        Positive; 1 where all rows are the same.
    """
    rank = min(_NEIGHBOR, len(rows) - 1)
    if rank < 1:
        return 1.0
    some = rows[:: 1 + (len(rows) - 1) // _MEASURED]
    distances, _ = NearestNeighbors(n_neighbors=rank + 1).fit(rows).kneighbors(some)
    found = distances[:, -1] ** 2  # the first neighbour is the row itself
    middle = float(np.median(found))
    return middle if middle > 0 else float(np.mean(found)) or 1.0


def _sample(rows: np.ndarray, rng: np.random.Generator, size: int) -> np.ndarray:
    if len(rows) <= size:
        return rows
    return np.sort(rng.choice(rows, size, replace=False))


def _similarities(rows: np.ndarray, others: np.ndarray, width: float) -> np.ndarray:
    squares = np.sum(rows**2, axis=1)[:, None] + np.sum(others**2, axis=1) - 2 * rows @ others.T
    return np.exp(-np.maximum(squares, 0.0) / width)


def _largest_similarity(rows: np.ndarray, others: np.ndarray, width: float) -> np.ndarray:
    """Similarity of each row to the nearest of the others, 0 if there are none."""
    found = np.zeros(len(rows))
    for top in range(0, len(others), _TILE):
        tile = _similarities(rows, others[top : top + _TILE], width)
        np.maximum(found, tile.max(axis=1), out=found)
    return found


def _lazy_greedy(
    rows: np.ndarray,
    doubt: np.ndarray,
    covered: np.ndarray,
    candidates: np.ndarray,
    width: float,
    cost: np.ndarray,
    n: int,
) -> list[int]:
    """Positions of the chosen candidates, best first; `covered` is changed in place."""

    def gains(which: slice | list[int]) -> np.ndarray:
        added = _similarities(rows, candidates[which], width) - covered[:, None]
        return doubt @ np.maximum(added, 0.0, out=added)

    tiles = [slice(top, top + _TILE) for top in range(0, len(candidates), _TILE)]
    first = np.concatenate([gains(tile) for tile in tiles]) / cost
    queue = list(zip((-first).tolist(), range(len(first)), strict=True))
    heapq.heapify(queue)  # by decreasing gain; equal ones in the order of the rows
    chosen: list[int] = []
    current = dict.fromkeys(range(len(first)), 0)  # how many were chosen when a gain was computed
    while queue and len(chosen) < n:
        _, best = heapq.heappop(queue)
        if current[best] == len(chosen):
            chosen.append(best)
            np.maximum(covered, _similarities(rows, candidates[[best]], width)[:, 0], out=covered)
        else:  # gains never grow, so a larger one below this bound cannot exist
            current[best] = len(chosen)
            heapq.heappush(queue, (-float(gains([best])[0] / cost[best]), best))
    return chosen
