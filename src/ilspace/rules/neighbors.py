"""Nearest labelled rows, class by class."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from ilspace._typing import Array
from ilspace.backend import array_namespace, can_fuse, is_foreign, like

_TILE, _LARGE_TILE = 2**22, 2**25
"""Most distances held at once: what a core's cache can follow, and what keeps a GPU busy."""

_WIDEST = 2**16
"""Most labelled rows that a tile compares with."""

_WORTH_FUSING = 2**26
"""Distances from which a kernel of our own is compiled for a GPU, in a second or two."""


def class_distances(queries: Array, rows: Array, codes: np.ndarray, n_classes: int) -> Array:
    """Squared Euclidean distance of each query to the nearest row of each class.

    Parameters
    ----------
    queries : array of shape (n, p)
        Rows to classify, in the latent space.
    rows : array of shape (m, p)
        Labelled rows.
    codes : ndarray of shape (m,)
        Their classes, from 0.
    n_classes : int
        How many classes there are.

    Returns
    -------
    array of shape (n, n_classes)
        Infinity for a class that has no row.
    """
    if queries.shape[0] * len(codes) >= _WORTH_FUSING and can_fuse(queries) and can_fuse(rows):
        from triton.runtime.errors import OutOfResources

        from ilspace.rules.flash import fits, fused_class_distances

        if fits(queries):
            with suppress(OutOfResources):  # a GPU with little memory on the chip
                return fused_class_distances(queries, rows, codes, n_classes)
    xp = array_namespace(queries)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=n_classes))
    rows = xp.take(rows, like(order, rows), axis=0)
    norms = xp.sum(rows * rows, axis=1)
    spans = [(int(start), int(stop)) for start, stop in zip(np.r_[0, ends[:-1]], ends, strict=True)]
    tile = _LARGE_TILE if is_foreign(queries) else _TILE
    height = max(1, tile // max(1, min(len(codes), _WIDEST)))
    blocks = []
    for top in range(0, queries.shape[0], height):
        block = queries[top : min(top + height, queries.shape[0]), :]
        squares = xp.sum(block * block, axis=1)
        columns = [xp.full_like(squares, xp.inf) for _ in spans]
        for left in range(0, len(codes), _WIDEST):
            right = min(left + _WIDEST, len(codes))
            distances = norms[None, left:right] - 2 * (block @ rows[left:right, :].mT)
            for code, (start, stop) in enumerate(spans):
                start, stop = max(start, left) - left, min(stop, right) - left
                if start < stop:
                    near = xp.min(distances[:, start:stop], axis=1)
                    columns[code] = xp.minimum(columns[code], near)
        nearest = xp.stack(columns, axis=1) + squares[:, None]
        blocks.append(xp.maximum(nearest, xp.zeros_like(nearest)))
    return xp.concat(blocks, axis=0)


def mean_distances(distances: Sequence[Array], weights: np.ndarray) -> Array:
    """Weighted mean of the class distances to the rows of several sources.

    Parameters
    ----------
    distances : sequence of array of shape (n, n_classes)
        Class distances to the rows of each source; infinity for a class without rows.
    weights : ndarray of shape (n_sources,)
        Positive weights of the sources.

    Returns
    -------
    array of shape (n, n_classes)
        The mean over the sources that have rows of a class; infinity where none has.
    """
    xp = array_namespace(distances[0])
    zero = xp.zeros_like(distances[0])
    total, mass = zero, zero
    for each, weight in zip(distances, weights.tolist(), strict=True):
        has = xp.isfinite(each)
        total = total + weight * xp.where(has, each, zero)
        mass = mass + xp.where(has, zero + weight, zero)
    has = mass > 0
    return xp.where(has, total / xp.where(has, mass, zero + 1), zero + xp.inf)


def vote(source: Array, target: Array, source_vote: float | None) -> Array:
    """Combine the class distances to source rows and to labelled target rows.

    Parameters
    ----------
    source, target : array of shape (n, n_classes)
        Class distances to the rows of each domain; infinity for a class without rows.
    source_vote : float or None
        Share of the source in the weighted mean; None for the nearest row of either domain.

    Returns
    -------
    array of shape (n, n_classes)
        The combined distances. A class with rows in one domain only keeps its distance there.
    """
    xp = array_namespace(source)
    if source_vote is None:
        return xp.minimum(source, target)
    both = xp.isfinite(source) & xp.isfinite(target)
    zero = xp.zeros_like(source)
    mean = source_vote * xp.where(both, source, zero) + (1 - source_vote) * xp.where(
        both, target, zero
    )
    return xp.where(both, mean, xp.minimum(source, target))
