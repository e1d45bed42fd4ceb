"""A bounded memory of labelled rows: a fair sample of all that have come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ilspace._typing import Array
from ilspace.adapters.domain_rows import DomainRows, take_rows
from ilspace.backend import array_namespace


@dataclass(frozen=True)
class RowMemory:
    """Labelled rows of one domain, each class sampled without favour.

    Every row draws a number when it comes, and those of a class with the smallest numbers stay.
    So whatever the pieces in which the rows come, each of a class is as likely to be there.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
        The rows.
    codes : ndarray of shape (n,)
        Their classes.
    weights : ndarray of shape (n,)
        Weight of the rows that each stands for.
    tickets : ndarray of shape (n,)
        Their numbers, between 0 and 1.
    """

    X: Array
    codes: np.ndarray
    weights: np.ndarray
    tickets: np.ndarray

    @classmethod
    def of(cls, domain: DomainRows, rng: np.random.Generator) -> RowMemory:
        """Remember the labelled rows of a piece.

        Parameters
        ----------
        domain : DomainRows
            The piece.
        rng : Generator
            Draws the numbers.

        Returns
        -------
        RowMemory
            All its labelled rows.
        """
        labelled = domain.labelled
        tickets = rng.random(len(labelled))
        rows, codes = take_rows(domain.X, labelled), domain.codes[labelled]
        return cls(rows, codes, domain.labelled_weights, tickets)

    def joined(self, other: RowMemory) -> RowMemory:
        """The rows of both.

        Parameters
        ----------
        other : RowMemory
            Rows of the same columns, library and type.

        Returns
        -------
        RowMemory
            This one's rows first.
        """
        if sparse.issparse(self.X):
            rows = sparse.vstack([self.X, other.X], format="csr")
        else:
            rows = array_namespace(self.X).concat([self.X, other.X], axis=0)
        return RowMemory(
            rows,
            np.concatenate([self.codes, other.codes]),
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.tickets, other.tickets]),
        )

    def trimmed(self, most: int) -> RowMemory:
        """Forget rows of classes that have too many.

        Parameters
        ----------
        most : int
            Rows of a class that may stay.

        Returns
        -------
        RowMemory
            What stays of a class weighs as much as the class did.
        """
        if np.max(np.bincount(self.codes), initial=0) <= most:
            return self
        order = np.lexsort([self.tickets, self.codes])
        starts = np.searchsorted(self.codes[order], self.codes[order])
        kept = np.sort(order[np.arange(len(order)) - starts < most])
        codes, weights = self.codes[kept], self.weights[kept]
        before, after = np.bincount(self.codes, self.weights), np.bincount(codes, weights)
        weights = weights * before[codes] / after[codes]
        return RowMemory(take_rows(self.X, kept), codes, weights, self.tickets[kept])


def labelled_domains(memories: tuple[RowMemory, ...]) -> tuple[DomainRows, ...]:
    """Remembered rows as domains of which every row has a label.

    Parameters
    ----------
    memories : tuple of RowMemory
        One a domain.

    Returns
    -------
    tuple of DomainRows
        The largest weight is 1: a remembered row stands for others of its class, not for equal
        rows, which a weight above 1 would mean. None where all weights are equal.
    """
    weights = np.concatenate([memory.weights for memory in memories])
    top = np.max(weights)
    equal = bool(np.all(weights == top))
    return tuple(
        DomainRows(memory.X, memory.codes, None if equal else memory.weights / top)
        for memory in memories
    )
