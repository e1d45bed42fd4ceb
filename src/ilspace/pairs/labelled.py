"""The labelled rows of all domains, and losses summed over their pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ilspace._typing import Array, Hinge, PairLoss, Pairs
from ilspace.backend import array_namespace, can_fuse, is_foreign, like, to_numpy
from ilspace.pairs.minibatch import BalancedBatches
from ilspace.pairs.sampled import SampledPairs, sample_pairs
from ilspace.pairs.sorted_tiles import SortedPairs
from ilspace.pairs.statistics import PairStatistics, pair_statistics, sliced_statistics
from ilspace.pairs.tiles import MOST_ROWS_KEPT, AllPairs

_LARGE_TILE = 4096
"""Tile size for libraries with a high overhead per call: the distances take 128 MiB."""

_MOST_AT_ONCE, _ROWS_AT_A_TIME = 2**15, 2**14
"""Most rows whose statistics are computed at once; of more, so many at a time."""

_WIDEST_FUSED = 190
"""Most dimensions of the fused kernel: beyond, it computes distances several times, and an H200 is
as fast with tiles."""


@dataclass(frozen=True)
class RowPairs:
    """A loss summed over pairs of labelled rows, which it owns.

    Attributes
    ----------
    rows : tuple of array of shape (n, k)
        Labelled rows of each domain, in coordinates.
    pairs : Pairs
        Which pairs of ``concat(rows)`` are compared.
    hinge : Hinge
        Loss of a margin violation.
    """

    rows: tuple[Array, ...]
    pairs: Pairs
    hinge: Hinge

    def __call__(
        self, projections: Sequence[Array], metric: Array, log_slack: Array | None = None
    ) -> PairLoss:
        """Sum the loss over all pairs.

        Parameters
        ----------
        projections : sequence of array of shape (k, p)
            One per domain.
        metric : array of shape (p, p)
            M.
        log_slack : array of shape (n_pairs,), optional
            Logarithms of the slacks, one per pair.

        Returns
        -------
        PairLoss
            The sum and its gradients.
        """
        xp = array_namespace(metric)
        slack = None if log_slack is None else xp.exp(log_slack)
        latents = [rows @ each for rows, each in zip(self.rows, projections, strict=True)]
        latent = latents[0] if len(latents) == 1 else xp.concat(latents, axis=0)
        total = self.pairs.sum(self.hinge, latent, metric, slack)
        gradients, start = [], 0
        for rows in self.rows:
            stop = start + rows.shape[0]
            gradients.append(rows.mT @ total.latent_gradient[start:stop, :])
            start = stop
        slack_gradient = None if slack is None else total.slack_gradient * slack
        return PairLoss(total.value, gradients, total.metric_gradient, slack_gradient)


@dataclass(frozen=True)
class LabelledRows:
    """Labelled rows of all domains, in the coordinates of the optimization.

    Attributes
    ----------
    rows : tuple of array of shape (n, k)
        Rows of each domain: owned copies, scaled in place.
    codes : ndarray of shape (m,)
        Classes of all rows, domain by domain, from 0.
    weights : ndarray of shape (m,) or None
        Their weights; None where they are equal.
    """

    rows: tuple[Array, ...]
    codes: np.ndarray
    weights: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """Number of labelled rows of all domains."""
        return len(self.codes)

    def statistics(self, maps: Sequence[Array]) -> PairStatistics:
        """Statistics of all pairs of the mapped rows.

        Parameters
        ----------
        maps : sequence of array of shape (k, p)
            One per domain.

        Returns
        -------
        PairStatistics
            Over the rows of all domains together.
        """
        if self.n_rows > _MOST_AT_ONCE and not is_foreign(self.rows[0]):
            return sliced_statistics(lambda: self._slices(maps), self.codes, self.weights)
        latent = [to_numpy(rows @ each) for rows, each in zip(self.rows, maps, strict=True)]
        return pair_statistics(np.concatenate(latent), self.codes, self.weights)

    def _slices(self, maps: Sequence[Array]) -> Iterator[tuple[slice, np.ndarray]]:
        """Some of the mapped rows after the other, and where they are among the rows of all."""
        first = 0
        for rows, mapping in zip(self.rows, maps, strict=True):
            for top in range(0, len(rows), _ROWS_AT_A_TIME):
                some = rows[top : top + _ROWS_AT_A_TIME] @ mapping
                yield slice(first + top, first + top + len(some)), some
            first += len(rows)

    def scaled(self, scales: Sequence[float]) -> LabelledRows:
        """Multiply the rows of each domain, in place: a second copy might not fit into memory.

        Parameters
        ----------
        scales : sequence of float
            One factor per domain.

        Returns
        -------
        LabelledRows
            Itself.
        """
        for rows, scale in zip(self.rows, scales, strict=True):
            rows *= scale
        return self

    def all_pairs(self, hinge: Hinge, *, n_components: int) -> RowPairs:
        """Compare every row with every other; similar and dissimilar pairs are balanced.

        Parameters
        ----------
        hinge : Hinge
            Loss of a margin violation.
        n_components : int, default=1
            Dimension of the latent space, by which a GPU kernel is chosen.

        Returns
        -------
        RowPairs
            A term of an objective.
        """
        engine = all_pairs(
            self.codes, self.weights, reference=self.rows[0], n_components=n_components
        )
        return RowPairs(self.rows, engine, hinge)

    def sampled_pairs(self, hinge: Hinge, rng: np.random.Generator) -> RowPairs:
        """Compare all similar pairs, and as many dissimilar ones drawn at random.

        Parameters
        ----------
        hinge : Hinge
            Loss of a margin violation.
        rng : Generator
            Draws the pairs.

        Returns
        -------
        RowPairs
            A term of an objective.
        """
        listed = sample_pairs(self.codes, rng)
        engine = SampledPairs(*listed, self.weights, n_rows=self.n_rows, reference=self.rows[0])
        return RowPairs(self.rows, engine, hinge)

    def mini_batches(
        self, hinge: Hinge, batch_size: int, rng: np.random.Generator, *, n_components: int
    ) -> Iterator[RowPairs]:
        """Yield the loss over the pairs of one mini-batch after another, without end.

        Parameters
        ----------
        hinge : Hinge
            Loss of a margin violation.
        batch_size : int
            Rows per mini-batch.
        rng : Generator
            Draws them.
        n_components : int
            Dimension of the latent space.

        Yields
        ------
        RowPairs
            Nearly unbiased estimates of :meth:`all_pairs`.
        """
        sizes = [rows.shape[0] for rows in self.rows]
        owners = np.repeat(np.arange(len(sizes)), sizes)
        sampler = BalancedBatches(self.codes, owners, batch_size=batch_size)
        starts = np.cumsum(sizes) - sizes
        ends = np.cumsum(np.bincount(sampler.groups, minlength=len(sizes)))[:-1]
        reference, engine = _worked_in(self.rows[0][:0, :]), None
        for drawn in sampler.draw(rng):
            if engine is None or self.weights is not None:
                weights = self._batch_weights(sampler, drawn)
                engine = all_pairs(
                    sampler.codes, weights, reference=reference, n_components=n_components
                )
            xp = array_namespace(reference)
            batch = tuple(
                _worked_in(xp.take(rows, like(chosen - start, reference), axis=0))
                for rows, chosen, start in zip(
                    self.rows, np.split(drawn, ends), starts, strict=True
                )
            )
            yield RowPairs(batch, engine, hinge)

    def _batch_weights(self, sampler: BalancedBatches, drawn: np.ndarray) -> np.ndarray | None:
        if self.weights is None:
            return sampler.weights
        own = self.weights[drawn] / np.max(self.weights)
        return own if sampler.weights is None else own * sampler.weights


def _worked_in(rows: Array) -> Array:
    """NumPy arrays in double precision; those of other libraries keep their type."""
    return rows.astype(np.float64, copy=False) if isinstance(rows, np.ndarray) else rows


def all_pairs(
    codes: np.ndarray, weights: np.ndarray | None = None, *, reference: Array, n_components: int = 1
) -> Pairs:
    """Make the engine that sums over all pairs of labelled rows, chosen by array library.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each labelled row, from 0.
    weights : ndarray of shape (n,), optional
        Weight of each row.
    reference : array
        Library, device and floating type to work in.
    n_components : int, default=1
        Dimension of the latent space, if it may be large.

    Returns
    -------
    Pairs
        In tiles, those of many rows on the host on several threads; fused into one pass for
        single precision on an NVIDIA GPU, where Triton is installed and the latent space is not
        too wide.
    """
    if n_components <= _WIDEST_FUSED and can_fuse(reference):
        from ilspace.pairs.flash import FlashPairs

        return FlashPairs(codes, weights, reference=reference)
    if is_foreign(reference):
        return AllPairs(codes, weights, reference=reference, tile=_LARGE_TILE)
    if len(codes) > MOST_ROWS_KEPT:
        return SortedPairs(codes, weights, reference=reference)
    return AllPairs(codes, weights, reference=reference)
