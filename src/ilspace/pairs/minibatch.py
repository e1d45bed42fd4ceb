"""Class-balanced mini-batches of labelled rows, whose pairs estimate the sum over all pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


class BalancedBatches:
    r"""Draw mini-batches of labelled rows, about equally many of each class, without end.

    Within a class the rows are drawn in shuffled epochs: no row is drawn a second time before
    every other of its stratum has been drawn once. A stratum is a class within a group; each
    batch has the same number of rows of each stratum, in the same order, so that what depends on
    the classes alone is computed once for all batches.

    A pair is weighted by the product of its rows' weights: with :math:`n` rows in a stratum and
    :math:`m` of them in a batch, a row weighs :math:`n/m`, divided by the largest such ratio. The
    sum over all pairs of a batch, similar and dissimilar ones balanced, is then a nearly unbiased
    estimate of the sum over all pairs.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each labelled row, from 0.
    groups : ndarray of int, shape (n,), optional
        Group of each row, such as its domain; a batch is sorted by group, then by class. One
        group by default.
    batch_size : int
        Approximate number of rows per batch: each stratum has at least two, or all of its rows.

    Attributes
    ----------
    codes : ndarray of shape (m,)
        Classes of the rows of every batch.
    groups : ndarray of shape (m,)
        Their groups.
    weights : ndarray of shape (m,) or None
        Their weights, the largest 1; None where all are equal.
    """

    def __init__(
        self, codes: np.ndarray, groups: np.ndarray | None = None, *, batch_size: int
    ) -> None:
        n_codes = int(np.max(codes, initial=0)) + 1
        keys = codes if groups is None else codes + n_codes * groups
        counts = np.bincount(keys)
        strata = np.flatnonzero(counts)
        sizes = counts[strata]
        # small integers are sorted in linear time
        order = np.argsort(keys.astype(np.min_scalar_type(len(counts))), kind="stable")
        self._members = np.split(order, np.cumsum(sizes)[:-1])
        self._drawn = drawn = _rows_of_each(sizes, strata % n_codes, batch_size)
        self.groups, self.codes = np.divmod(np.repeat(strata, drawn), n_codes)
        ratios = sizes / drawn
        equal = np.allclose(ratios, ratios[0], rtol=1e-12)
        self.weights = None if equal else np.repeat(ratios / np.max(ratios), drawn)

    def draw(self, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Yield the row numbers of one batch after another, without end.

        Parameters
        ----------
        rng : Generator
            Source of randomness.

        Yields
        ------
        ndarray of int, shape (m,)
            Row numbers, in the order of ``codes``.
        """
        streams = [
            _in_epochs(members, int(size), rng)
            for members, size in zip(self._members, self._drawn, strict=True)
        ]
        while True:
            yield np.concatenate([next(stream) for stream in streams])


def _rows_of_each(sizes: np.ndarray, classes: np.ndarray, batch_size: int) -> np.ndarray:
    """Rows per stratum in a batch: equal classes, strata in proportion within a class."""
    by_class = np.bincount(classes, sizes)
    share = _even_level(by_class, batch_size) / np.maximum(by_class, 1)
    # down, not to the nearest: rounding errors would decide on a half
    wanted = np.floor(sizes * np.minimum(share, 1.0)[classes] + 1e-9).astype(np.int64)
    # at least two, where there are two: pairs within a stratum must not be left out
    return np.minimum(sizes, np.maximum(wanted, 2))


def _even_level(sizes: np.ndarray, total: int) -> int:
    """Rows per class such that, with small classes used up, they sum to about `total`."""
    level, rest, waiting = 0, total, np.sort(sizes[sizes > 0]).astype(np.int64).tolist()
    for position, size in enumerate(waiting):
        n_left = len(waiting) - position
        level = rest // n_left
        if size * n_left >= rest:
            break
        rest -= size
    return level


def _in_epochs(members: np.ndarray, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield `size` different members at a time, in shuffled epochs."""
    order = rng.permutation(members)
    while True:
        if len(order) >= size:
            taken, order = order[:size], order[size:]
        else:
            # the epoch ends within a batch: what it has just taken comes last in the next
            following = rng.permutation(members)
            again = np.isin(following, order)
            following = np.concatenate([following[~again], following[again]])
            n_more = size - len(order)
            taken = np.concatenate([order, following[:n_more]])
            order = following[n_more:]
        yield taken
