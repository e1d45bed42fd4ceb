"""All pairs of many rows on the host: rows sorted by class, tiles on several threads."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import NamedTuple

import numpy as np

from ilspace._typing import Array, Hinge, PairSum, UniformHinge
from ilspace.backend import one_thread, threads_allowed
from ilspace.pairs.statistics import pair_pulls, pair_shares
from ilspace.pairs.tiles import excess_factors, laplacian_gradients, refuse_slack, tile_bounds

_AREA = 2**16
"""Most pairs of a tile: two such matrices fit into a core's cache, or nearly. In smaller ones
several threads would wait for Python between the operations."""

_WEIGHTED_AREA = 2**14
"""The same where each pair has a weight of its own, in more matrices."""

_HEIGHT = 128
"""Most rows of a tile."""

_SMALL_CLASS = 24
"""Classes of fewer rows share tiles with others."""

_WORTH_THREADS = 2048
"""Rows from which several threads are used."""

MOST_THREADS = 4
"""Threads beyond which they wait for each other: between two operations each needs Python."""

_GROUP, _MOST_GROUPS = 512, 24
"""Rows of a group, and most groups. A thread sums the pairs of two groups at a time: these are the
same for any number of threads, so that the sum is the same to the last bit."""


class _Tile(NamedTuple):
    """Some rows with some columns, and half the weight of the pairs, with sign.

    A block of rows of several classes with itself has the pull of the dissimilar pairs. Without a
    pull each pair has its own weight.
    """

    rows: slice
    columns: slice
    pull: float | None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        return self.rows.stop - self.rows.start, self.columns.stop - self.columns.start


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    """Threads, started when they are first needed."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="ilspace-pairs")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a fork has none of the threads


_own = threading.local()


def _memory(size: int, kind: np.dtype) -> np.ndarray:
    """Memory for two matrices, the same for all tiles of a thread: new pages take time."""
    held = getattr(_own, "memory", None)
    if held is None or held.shape[1] < size or held.dtype != kind:
        held = _own.memory = np.empty((2, size), dtype=kind)
    return held


class _Part(NamedTuple):
    """The sum over the tiles of two groups, and the products of their slopes with the rows."""

    value: float
    rows: tuple[slice, np.ndarray]
    columns: tuple[slice, np.ndarray]


class _Task(NamedTuple):
    """All tiles of the rows of one group with those of another, or with themselves."""

    rows: slice
    columns: slice
    tiles: list[_Tile]


class SortedPairs:
    """Every pair of many labelled rows, as :class:`~ilspace.pairs.AllPairs`, for NumPy arrays.

    In rows sorted by class nearly all tiles have pairs of one kind, which need no matrix of
    weights. Tiles are summed by as many threads as linear algebra may use, with the same result
    for any number of them.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each labelled row, from 0.
    weights : ndarray of shape (n,), optional
        Weight of each row, 1 by default; a row of weight 2 counts as two equal rows.
    reference : ndarray
        Floating type to work in.
    """

    def __init__(
        self, codes: np.ndarray, weights: np.ndarray | None = None, *, reference: np.ndarray
    ) -> None:
        host = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
        self._shares = pair_shares(codes, host)
        self._order = np.argsort(codes, kind="stable")
        self._codes = codes[self._order]
        sorted_weights = host[self._order].astype(reference.dtype)
        self._weights = None if weights is None else sorted_weights
        # a row makes no pair with itself, but with the copies that its weight stands for
        copies = self._shares[0] * np.maximum(host * (host - 1), 0)
        self._copies = copies[self._order, None].astype(reference.dtype)
        self._tasks = _tasks(self._codes, self._shares, uniform=weights is None)
        tiles = [tile for task in self._tasks for tile in task.tiles]
        self._largest = max((math.prod(tile.shape) for tile in tiles), default=0)
        dissimilar = -self._shares[1] / 2
        self._few = {
            tile.rows.start: (self._similar_pairs(tile.rows), self._shares[0] / 2)
            for tile in tiles
            if tile.rows == tile.columns and tile.pull == dissimilar
        }

    def sum(
        self, hinge: Hinge, latent: Array, metric: Array, slack: Array | None = None
    ) -> PairSum:
        """Sum the hinge over all pairs.

        Parameters
        ----------
        hinge : Hinge
            Loss of a margin violation.
        latent : ndarray of shape (n, p)
            The labelled rows Z in the latent space.
        metric : ndarray of shape (p, p)
            M.
        slack : None
            Slacks are for sampled pairs only.

        Returns
        -------
        PairSum
            The sum and its gradients.
        """
        refuse_slack(slack)
        alone = len(latent) < _WORTH_THREADS
        n_threads = 1 if alone else min(threads_allowed(), MOST_THREADS)
        with one_thread():  # each product is small, and the threads are ours
            rows = latent[self._order]
            factors = excess_factors(rows, rows @ metric)
            in_place = hinge if isinstance(hinge, UniformHinge) else None

            def act(task: _Task) -> _Part:
                return self._sum_tiles(hinge, in_place, factors, task)

            several = n_threads > 1 and len(self._tasks) > 1
            parts = (_pool(n_threads).map if several else map)(act, self._tasks)
            value, product = _total(parts, np.zeros_like(factors[1][:, :-1]))
            gradients = laplacian_gradients(product, rows, metric)
        latent_gradient = np.empty_like(latent)
        latent_gradient[self._order] = gradients[0]
        return PairSum(latent.dtype.type(value), latent_gradient, gradients[1])

    def _sum_tiles(
        self,
        hinge: Hinge,
        in_place: UniformHinge | None,
        factors: tuple[np.ndarray, np.ndarray],
        task: _Task,
    ) -> _Part:
        """Sum over some tiles; the memory of one is used for all of them."""
        left, right = factors
        others = right[:, :-1]
        of_rows, of_columns = (np.zeros_like(others[each]) for each in (task.rows, task.columns))
        top, side = task.rows.start, task.columns.start
        excesses, slopes = _memory(self._largest, left.dtype)
        similar_itself, dissimilar_itself = hinge(np.array([-1.0, 1.0]))[0].tolist()
        total = 0.0
        for tile in task.tiles:
            (here, there, pull), shape = tile, tile.shape
            size, alone = shape[0] * shape[1], here == there
            excess = excesses[:size].reshape(shape)
            np.matmul(left[here], right[there].T, out=excess)
            if pull is not None and in_place is not None:
                few = self._few.get(here.start) if alone else None
                value, slope = in_place.uniform_sum(excess, pull, slopes[:size].reshape(shape), few)
                factor = abs(pull)
            else:
                value, slope = hinge.weighted_sum(excess, self._pulls(here, there))
                factor = 1.0
            of_rows[here.start - top : here.stop - top] += factor * (slope @ others[there])
            if not alone:
                total += float(value)
                part = factor * (slope.T @ others[here])
                of_columns[there.start - side : there.stop - side] += part
            else:  # both halves, and each unordered pair twice
                total += float(value) / 2
                if pull is not None and in_place is not None:
                    # a row with itself has no gradient, and a known loss
                    itself = similar_itself if pull > 0 else dissimilar_itself
                    total -= abs(pull) * shape[0] * itself
        return _Part(total, (task.rows, of_rows), (task.columns, of_columns))

    def _similar_pairs(self, block: slice) -> np.ndarray:
        """Flat positions of the similar pairs of a block of rows, none of a row with itself."""
        same = self._codes[block, None] == self._codes[None, block]
        np.fill_diagonal(same, False)
        return np.flatnonzero(same)

    def _pulls(self, here: slice, there: slice) -> np.ndarray:
        """Half the weight of each pair of a tile, with sign."""
        weights = self._weights
        return pair_pulls(
            self._codes[here],
            self._codes[there],
            self._shares,
            dtype=self._copies.dtype,
            row_weights=None if weights is None else (weights[here], weights[there]),
            diagonal=self._copies[here] if here == there else None,
        )


def _tasks(codes: np.ndarray, shares: tuple[float, float], *, uniform: bool) -> list[_Task]:
    """Cut the unordered pairs of rows, sorted by class, into tiles of one kind if possible."""
    groups: list[list[tuple[slice, int | None]]] = []
    size = max(_GROUP, -(-len(codes) // _MOST_GROUPS))
    for each in _row_blocks(codes):
        if not groups or each[0].stop - groups[-1][0][0].start > size:
            groups.append([])
        groups[-1].append(each)
    spans = [slice(group[0][0].start, group[-1][0].stop) for group in groups]
    pulls = (shares[0] / 2, -shares[1] / 2) if uniform else None
    return [
        _Task(rows, columns, [tile for each in group for tile in _tiles(*each, columns, pulls)])
        for i, (rows, group) in enumerate(zip(spans, groups, strict=True))
        for columns in spans[i:]
    ]


def _tiles(
    block: slice, end: int | None, columns: slice, pulls: tuple[float, float] | None
) -> Iterator[_Tile]:
    """Tiles of a block of rows with those of some columns that come after it, and with itself.

    The block has rows of one class, which ends at `end`; or of several whole classes.
    """
    similar, dissimilar = pulls or (None, None)
    if block.start >= columns.start:
        # a single class has no dissimilar pairs
        yield _Tile(block, block, (end is None and dissimilar) or similar)
    width = (_AREA if pulls else _WEIGHTED_AREA) // (block.stop - block.start)
    end = block.stop if end is None else end
    for start, stop, pull in ((block.stop, end, similar), (end, columns.stop, dissimilar)):
        start, stop = max(start, columns.start), min(stop, columns.stop)
        for each in tile_bounds(max(stop - start, 0), width):
            yield _Tile(block, slice(each.start + start, each.stop + start), pull)


def _row_blocks(codes: np.ndarray) -> Iterator[tuple[slice, int | None]]:
    """Blocks of rows of one class, with its end; or of several small classes, with None."""
    ends = np.flatnonzero(np.diff(codes, append=-1)) + 1
    start = waiting = 0  # rows from `waiting` to `start` are of small classes
    for end in ends.tolist():
        small = end - start < _SMALL_CLASS
        if waiting < start and (not small or end - waiting > _HEIGHT):
            yield slice(waiting, start), None
            waiting = start
        if not small:
            for each in tile_bounds(end - start, _HEIGHT):
                yield slice(each.start + start, each.stop + start), end
            waiting = end
        start = end
    if waiting < start:
        yield slice(waiting, start), None


def _total(parts: Iterable[_Part], product: np.ndarray) -> tuple[float, np.ndarray]:
    """Add up the parts, in their order."""
    value = 0.0
    for part in parts:
        value += part.value
        for where, products in (part.rows, part.columns):
            product[where] += products
    return value, product
