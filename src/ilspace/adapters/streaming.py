"""The objective in pieces: blocks to step on, a sample to judge by, the whole at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ilspace._typing import Array
from ilspace.backend import like
from ilspace.objective import DomainData, ILSObjective
from ilspace.optimizers import Problem, Solution
from ilspace.pairs import BalancedBlocks, all_pairs

JUDGED_ROWS = 2048
"""Labelled rows that judge an iterate: their pairs cost about as much as the steps to it do."""

EXACT_ROWS = 20_000
"""Up to so many labelled rows the result is judged by all pairs: some seconds at most."""


@dataclass(frozen=True)
class LabelledRows:
    """Labelled rows of all domains, and how an objective is made of some of them.

    Attributes
    ----------
    domains : tuple of DomainData
        The domains, with all their labelled rows.
    codes : ndarray of shape (n,)
        Classes of the labelled rows, domain by domain.
    weights : ndarray of shape (n,) or None
        Their weights.
    make : callable
        Takes domains and pairs; returns the objective.
    reference : array
        Library, device and floating type to work in.
    """

    domains: tuple[DomainData, ...]
    codes: np.ndarray
    weights: np.ndarray | None
    make: Callable[..., ILSObjective]
    reference: Array

    def everything(self) -> ILSObjective:
        """The objective over all pairs."""
        pairs = all_pairs(self.codes, self.weights, reference=self.reference)
        return self.make(self.domains, pairs)

    def blocks(self, block_size: int, rng: np.random.Generator) -> Iterator[ILSObjective]:
        """Yield the objective over the pairs of one block after another, without end.

        The moments stay those of all rows: only the pairs are sampled.

        Parameters
        ----------
        block_size : int
            Rows of a block.
        rng : Generator
            Draws them.

        Yields
        ------
        ILSObjective
            Nearly unbiased estimates of the whole.
        """
        sizes = [domain.rows.shape[0] for domain in self.domains]
        sampler = BalancedBlocks(
            self.codes, np.repeat(np.arange(len(sizes)), sizes), block_size=block_size
        )
        starts = np.cumsum(sizes) - sizes
        ends = np.cumsum(np.bincount(sampler.groups, minlength=len(sizes)))[:-1]
        pairs = None
        for rows in sampler.draw(rng):
            if pairs is None or self.weights is not None:
                weights = self._block_weights(sampler, rows)
                pairs = all_pairs(sampler.codes, weights, reference=self.reference)
            parts = zip(self.domains, np.split(rows, ends), starts, strict=True)
            domains = tuple(
                domain.restricted(like(part - start, self.reference))
                for domain, part, start in parts
            )
            yield self.make(domains, pairs)

    def judge_and_blocks(
        self, block_size: int, rng: np.random.Generator
    ) -> tuple[ILSObjective, Iterator[ILSObjective] | None]:
        """What the stochastic solvers see.

        Parameters
        ----------
        block_size : int
            Rows of a block.
        rng : Generator
            Draws the blocks.

        Returns
        -------
        judge : ILSObjective
            The objective over all pairs, or over those of a balanced sample where rows are many.
        blocks : iterator of ILSObjective or None
            What steps are taken on; None where a block would hold all rows.
        """
        n = len(self.codes)
        few = n <= max(JUDGED_ROWS, block_size)
        judge = self.everything() if few else next(self.blocks(JUDGED_ROWS, rng))
        return judge, self.blocks(block_size, rng) if n > block_size else None

    def _block_weights(self, sampler: BalancedBlocks, rows: np.ndarray) -> np.ndarray | None:
        if self.weights is None:
            return sampler.weights
        own = self.weights[rows] / np.max(self.weights)
        return own if sampler.weights is None else own * sampler.weights


def judged_by_all(solution: Solution, problem: Problem, labelled: LabelledRows) -> Solution:
    """Put the objective over all pairs into the last line of history, where that is affordable.

    Parameters
    ----------
    solution : Solution
        Where a stochastic solver ended.
    problem : Problem
        What it was given.
    labelled : LabelledRows
        The labelled rows.

    Returns
    -------
    Solution
        As it is where it was judged by all pairs anyway, or where these are too many.
    """
    if problem.blocks is None or not JUDGED_ROWS < len(labelled.codes) <= EXACT_ROWS:
        return solution
    seen = Problem(problem.manifold, labelled.everything()).evaluate(solution.point)
    last = solution.history[-1]
    exact = last._replace(
        value=seen.value, gradient_norm=seen.gradient_norm, evaluations=last.evaluations + 1
    )
    return solution._replace(history=(*solution.history[:-1], exact))
