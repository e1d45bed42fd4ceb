"""What is kept of domains whose rows come in batches: moments of all rows, a sample of some."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from scipy import sparse

from ilspace._typing import Array
from ilspace.backend import array_namespace
from ilspace.domains import Domain, take_rows
from ilspace.domains.class_prior import class_factors
from ilspace.domains.domain import working
from ilspace.scale import Moments, RowSpace, moment_space, row_moments

RESERVOIR = 5000
"""Number of labelled rows kept per domain, equally many per class and two at least."""


@dataclass(frozen=True)
class Reservoir:
    """Labelled rows of one domain, each class sampled uniformly.

    Every row draws a random key, and the rows of a class with the smallest keys are kept: a
    uniform sample without replacement, whatever the batches.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
        The rows.
    codes : ndarray of shape (n,)
        Their classes.
    weights : ndarray of shape (n,)
        Weight of the rows that each represents.
    keys : ndarray of shape (n,)
        Their keys, between 0 and 1.
    """

    X: Array
    codes: np.ndarray
    weights: np.ndarray
    keys: np.ndarray

    @classmethod
    def of(cls, domain: Domain, rng: np.random.Generator) -> Reservoir:
        """Keep the labelled rows of a batch.

        Parameters
        ----------
        domain : Domain
            The batch.
        rng : Generator
            Draws the keys.

        Returns
        -------
        Reservoir
            All its labelled rows.
        """
        keys = rng.random(domain.n_labelled)
        rows = take_rows(domain.X, domain.labelled)
        return cls(rows, domain.labelled_codes, domain.labelled_weights, keys)

    def joined(self, other: Reservoir) -> Reservoir:
        """The rows of both.

        Parameters
        ----------
        other : Reservoir
            Rows of the same columns, library and type.

        Returns
        -------
        Reservoir
            This one's rows first.
        """
        if sparse.issparse(self.X):
            rows = sparse.vstack([self.X, other.X], format="csr")
        else:
            rows = array_namespace(self.X).concat([self.X, other.X], axis=0)
        return Reservoir(
            rows,
            np.concatenate([self.codes, other.codes]),
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.keys, other.keys]),
        )

    def trimmed(self, most: int) -> Reservoir:
        """Drop rows of classes with too many.

        Parameters
        ----------
        most : int
            Maximum number of rows per class.

        Returns
        -------
        Reservoir
            The total weight of each class is unchanged.
        """
        if np.max(np.bincount(self.codes), initial=0) <= most:
            return self
        order = np.lexsort([self.keys, self.codes])
        starts = np.searchsorted(self.codes[order], self.codes[order])
        kept = np.sort(order[np.arange(len(order)) - starts < most])
        codes, weights = self.codes[kept], self.weights[kept]
        before, after = np.bincount(self.codes, self.weights), np.bincount(codes, weights)
        weights = weights * before[codes] / after[codes]
        return Reservoir(take_rows(self.X, kept), codes, weights, self.keys[kept])


@dataclass(frozen=True)
class SeenDomain:
    """What is kept of one domain.

    Attributes
    ----------
    moments : Moments
        Of all rows seen so far, labelled or not.
    reservoir : Reservoir
        A sample of the labelled ones.
    by_class : tuple of Moments or None, or None
        The moments of each class, None for one without rows, where its share is to be another one.
    """

    moments: Moments
    reservoir: Reservoir
    by_class: tuple[Moments | None, ...] | None = None

    @classmethod
    def of(
        cls, domain: Domain, rng: np.random.Generator, *, n_classes: int | None = None
    ) -> SeenDomain:
        """Summarise a batch of one domain.

        Parameters
        ----------
        domain : Domain
            The batch.
        rng : Generator
            Source of randomness.
        n_classes : int, optional
            Number of classes, where the moments of each are needed; every row then has a label.

        Returns
        -------
        SeenDomain
            To be joined with what was seen before.
        """
        moments, by_class = row_moments(domain.working_rows, domain.weights), None
        if n_classes is not None:
            by_class = tuple(_class_moments(domain, code) for code in range(n_classes))
        return cls(moments, Reservoir.of(domain, rng), by_class)

    def weighed(self, class_prior: np.ndarray | None) -> SeenDomain:
        """The same with rows weighed so that classes have given shares.

        Parameters
        ----------
        class_prior : ndarray of shape (n_classes,) or None
            The shares.

        Returns
        -------
        SeenDomain
            Itself, without shares or where the moments of the classes were not kept.
        """
        if class_prior is None or self.by_class is None:
            return self
        masses = np.array([0.0 if each is None else each.weight for each in self.by_class])
        factors = class_factors(class_prior, masses)
        moments = reduce(
            Moments.merged,
            (
                replace(each, weight=factor * each.weight)
                for each, factor in zip(self.by_class, factors, strict=True)
                if each is not None
            ),
        )
        kept = self.reservoir
        reservoir = replace(kept, weights=kept.weights * factors[kept.codes])
        return replace(self, moments=moments, reservoir=reservoir)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the covariance, which is all that is kept of unlabelled rows."""
        return self.moments.covariance.shape

    @property
    def n_labelled(self) -> int:
        """Number of labelled rows kept."""
        return len(self.reservoir.codes)

    def joined(self, other: SeenDomain) -> SeenDomain:
        """The same with another batch.

        Parameters
        ----------
        other : SeenDomain
            The batch.

        Returns
        -------
        SeenDomain
            Of both.
        """
        by_class = None
        if self.by_class is not None and other.by_class is not None:
            pairs = zip(self.by_class, other.by_class, strict=True)
            by_class = tuple(a if b is None else b if a is None else a.merged(b) for a, b in pairs)
        moments = self.moments.merged(other.moments)
        return SeenDomain(moments, self.reservoir.joined(other.reservoir), by_class)

    def trimmed(self, n_classes: int) -> SeenDomain:
        """The same, with the reservoir trimmed to its size.

        Parameters
        ----------
        n_classes : int
            Number of classes that share the reservoir.

        Returns
        -------
        SeenDomain
            With the same moments.
        """
        most = max(2, RESERVOIR // n_classes)
        return replace(self, reservoir=self.reservoir.trimmed(most))


@dataclass(frozen=True, kw_only=True)
class RunningDomain(Domain):
    """Kept rows of a domain, with the moments of all rows seen so far.

    Attributes
    ----------
    moments : Moments
        Of all rows.
    """

    moments: Moments

    @property
    def n_rows(self) -> int:
        """Number of rows seen so far."""
        return self.moments.n_rows

    def space(self, n_axes: int, *, reduce: bool, on_target_axes: bool) -> RowSpace:
        """Mean and covariance of all rows, in the columns of the data.

        Parameters
        ----------
        n_axes : int
            Number of principal axes.
        reduce, on_target_axes : bool
            Ignored: later rows may lie outside the span of those seen so far.

        Returns
        -------
        RowSpace
            Without a basis.
        """
        return moment_space(self.moments, n_axes=n_axes)


def _class_moments(domain: Domain, code: int) -> Moments | None:
    """Moments of the rows of a class."""
    rows = np.flatnonzero(domain.codes == code)
    if len(rows) == 0:
        return None
    weights = None if domain.weights is None else domain.weights[rows]
    return row_moments(working(take_rows(domain.X, rows)), weights)
