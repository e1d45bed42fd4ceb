"""The checked input of a fit, as a frozen record of all domains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing

from ilspace._typing import Array, ProjectedRows
from ilspace.backend import array_namespace, is_foreign, like, on_host
from ilspace.domains.class_prior import (
    check_several_classes,
    class_factors,
    refuse_labels_of_no_share,
)
from ilspace.pairs import LabelledRows
from ilspace.rules.class_prior import sample_of_classes
from ilspace.scale import HeldRows, RowSpace, is_single, row_space

SPACE_POWER = 0.25
"""Power of the weights of sources in learning the space, which needs the rows of all: with 1 it is
worse than with equal weights, on draws of Office+Caltech10 that no table reports."""


class DomainSize:
    """What all domains have, wherever their rows are: numbers of rows and columns."""

    shape: tuple[int, int]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.shape[0]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.shape[1]


@dataclass(frozen=True)
class Domain(DomainSize):
    """The checked rows of one domain.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
        All rows.
    codes : ndarray of shape (n,)
        Class of each row, -1 where it has no label.
    weights : ndarray of shape (n,) or None
        Weight of each row, all positive; None where they are equal.
    feature_names : ndarray of shape (d,) or None
        Names of the columns, where they have names.
    """

    X: Array
    codes: np.ndarray
    weights: np.ndarray | None = None
    feature_names: np.ndarray | None = None
    _whole: list[RowSpace] = field(default_factory=list, init=False, repr=False, compare=False)

    def with_codes(self, codes: np.ndarray) -> Domain:
        """The same rows with other labels.

        Parameters
        ----------
        codes : ndarray of shape (n,)
            Class of each row, -1 where it has no label.

        Returns
        -------
        Domain
            It shares what :meth:`space` has found, which does not depend on the labels.
        """
        other = replace(self, codes=codes)
        object.__setattr__(other, "_whole", self._whole)
        return other

    def with_class_shares(self, shares: np.ndarray) -> Domain:
        """The same rows, weighed so that classes have given shares of the total weight.

        Parameters
        ----------
        shares : ndarray of shape (n_classes,)
            Positive shares of all classes; every row has a label.

        Returns
        -------
        Domain
            Itself where the classes have these shares.
        """
        factors = class_factors(shares, self.class_masses(len(shares)))
        if np.allclose(factors, 1, rtol=1e-12, atol=0):
            return self
        return replace(self, weights=self.labelled_weights * factors[self.codes])

    def times(self, factor: float) -> Domain:
        """The same rows with all weights multiplied.

        Parameters
        ----------
        factor : float
            Positive.

        Returns
        -------
        Domain
            Itself where the factor is 1.
        """
        if factor == 1:
            return self
        own = np.ones(self.n_rows) if self.weights is None else self.weights
        return replace(self, weights=factor * own)

    @staticmethod
    def pooled(domains: Sequence[Domain]) -> Domain:
        """The rows of several domains as one.

        Parameters
        ----------
        domains : sequence of Domain
            Of the same columns and library.

        Returns
        -------
        Domain
            Their rows one after another.
        """
        rows = [each.X for each in domains]
        if any(map(sparse.issparse, rows)):
            X = sparse.vstack(rows, format="csr")
        else:
            X = array_namespace(rows[0]).concat(rows, axis=0)
        weights = None
        if any(each.weights is not None for each in domains):
            weights = np.concatenate([each.labelled_weights for each in domains])
        codes = np.concatenate([each.codes for each in domains])
        return Domain(X, codes, weights, domains[0].feature_names)

    def among(self, codes: np.ndarray) -> Domain:
        """The rows of some classes, and those without a label.

        Parameters
        ----------
        codes : ndarray of int, shape (k,)
            The classes; their positions here are their codes in the result.

        Returns
        -------
        Domain
            Without the rows of other classes.
        """
        positions = np.full(max(int(np.max(self.codes, initial=0)), int(codes.max())) + 1, -1)
        positions[codes] = np.arange(len(codes))
        rows = np.flatnonzero((self.codes < 0) | (positions[self.codes] >= 0))
        weights = None if self.weights is None else self.weights[rows]
        new = np.where(self.codes[rows] < 0, -1, positions[self.codes[rows]])
        return replace(self, X=take_rows(self.X, rows), codes=new, weights=weights)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.X.shape

    @property
    def dtype(self) -> Any:
        """Floating type of the rows."""
        return self.X.dtype

    @property
    def labelled(self) -> np.ndarray:
        """Indices of the rows that have a label."""
        return np.flatnonzero(self.codes >= 0)

    @property
    def n_labelled(self) -> int:
        """Number of rows that have a label."""
        return len(self.labelled)

    @property
    def labelled_codes(self) -> np.ndarray:
        """Classes of the rows that have a label."""
        return self.codes[self.labelled]

    @property
    def labelled_rows(self) -> Array:
        """Rows that have a label; `X` itself where all have one."""
        labelled = self.labelled
        return self.X if len(labelled) == len(self.codes) else take_rows(self.X, labelled)

    @property
    def labelled_weights(self) -> np.ndarray:
        """Weights of the rows that have a label."""
        labelled = self.labelled
        return np.ones(len(labelled)) if self.weights is None else self.weights[labelled]

    def weights_of(self, codes: np.ndarray) -> np.ndarray:
        """Weights of the rows that have a label.

        Parameters
        ----------
        codes : ndarray of int
            The classes of these rows, in their order.

        Returns
        -------
        ndarray of shape (n_labelled,)
            The weights.
        """
        return self.labelled_weights

    def class_counts(self, n_classes: int) -> np.ndarray:
        """Number of labelled rows of each class.

        Parameters
        ----------
        n_classes : int
            Number of classes.

        Returns
        -------
        ndarray of int, shape (n_classes,)
            The counts.
        """
        return np.bincount(self.labelled_codes, minlength=n_classes)

    def class_masses(self, n_classes: int) -> np.ndarray:
        """Total weight of the labelled rows of each class.

        Parameters
        ----------
        n_classes : int
            Number of classes.

        Returns
        -------
        ndarray of shape (n_classes,)
            The weights.
        """
        return np.bincount(self.labelled_codes, self.labelled_weights, minlength=n_classes)

    def sample(
        self, n_most: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Random rows, some of each class, dense and on the host.

        Parameters
        ----------
        n_most : int
            Most rows to draw.
        rng : Generator
            Draws them.

        Returns
        -------
        rows : ndarray of shape (m, d)
            In double precision.
        codes : ndarray of int, shape (m,)
            Their classes, -1 where they have no label.
        weights : ndarray of shape (m,)
            Their weights.
        """
        chosen = sample_of_classes(self.codes, n_most, rng)
        rows: Any = on_host(take_rows(self.X, chosen))
        rows = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
        weights = np.ones(len(chosen)) if self.weights is None else self.weights[chosen]
        return rows, self.codes[chosen], weights

    def space(self, n_axes: int, *, reduce: bool, on_target_axes: bool) -> RowSpace:
        """Mean, covariance and coordinates of the rows.

        Parameters
        ----------
        n_axes : int
            Minimum number of principal axes.
        reduce : bool
            Whether to optimise in the span of the rows, where that pays.
        on_target_axes : bool
            Whether all projections are initialised by the principal axes of the target. Then these
            suffice as a basis for a domain without labelled rows, and where labelled rows span all
            columns the other axes would cost more than they save.

        Returns
        -------
        RowSpace
            Of all rows, labelled or not.
        """
        n, d = self.shape
        is_tall = n >= d and self.n_labelled > 0
        reduce = reduce and not (on_target_axes and is_tall)
        leading = on_target_axes and self.n_labelled == 0
        given = {"n_axes": n_axes, "reduce": reduce, "leading": leading}
        if n >= d:  # single precision is converted a slice at a time
            rows = self.X if is_single(self.X) else self.working_rows
            return row_space(rows, self.weights, in_double=True, **given)
        if not reduce or leading:
            return row_space(self.working_rows, self.weights, **given)
        # all axes, however many are asked for, and costly: kept for copies with other labels
        if not self._whole:
            self._whole.append(row_space(self.working_rows, self.weights, **given))
        return self._whole[0]

    def coordinates(self, space: RowSpace, *, single: bool = False) -> Array:
        """Coordinates of the labelled rows.

        Parameters
        ----------
        space : RowSpace
            Of this domain.
        single : bool, default=False
            Whether those of rows in single precision stay there, in half the memory.

        Returns
        -------
        array of shape (n_labelled, k)
            An owned copy.
        """
        rows = self.labelled_rows
        if is_single(rows):
            return space.coordinates(rows, rows.dtype if single else np.float64)
        return space.coordinates(_working(rows))

    def class_means(self, codes: np.ndarray, space: RowSpace) -> Array:
        """Weighted means of the labelled rows of some classes.

        Parameters
        ----------
        codes : ndarray of shape (k,)
            Classes that have labelled rows here.
        space : RowSpace
            Of this domain.

        Returns
        -------
        array of shape (k, r)
            In the coordinates of `space`.
        """
        rows, weights = self.coordinates(space), self.labelled_weights
        xp = array_namespace(rows)

        def mean(code: int) -> Array:
            members = np.flatnonzero(self.labelled_codes == code)
            shares = weights[members] / weights[members].sum()
            return like(shares, rows) @ xp.take(rows, like(members, rows), axis=0)

        return xp.stack([mean(code) for code in codes])

    @property
    def working_rows(self) -> Array:
        """Rows in the floating type that is worked in."""
        return _working(self.X)


@dataclass(frozen=True)
class Domains:
    """Checked input of a fit: labelled sources, and a target if there is one.

    Attributes
    ----------
    sources : tuple of Domain
        At least one; every row has a label.
    target : Domain or None
        Some, all or none of its rows have a label.
    classes : ndarray of shape (n_classes,)
        The classes, sorted; `codes` of the domains are indices into it.
    shares_features : bool
        Whether the columns of all domains mean the same.
    class_prior : ndarray of shape (n_classes,) or None
        Shares of the classes in the target, all positive, which a rule is to assume; None where
        nothing is said of them. The weights of the source rows are in agreement with it.
    source_names : tuple of str or None
        Names that the user gave to the sources.
    source_numbers : tuple of float or None
        Their numbers, ascending, as `sample_domain` has them; None for 1, 2 and so on.
    source_weights : ndarray of shape (n_sources,) or None
        Weights of the sources in a rule, of sum 1; None where they are equal. The weights of the
        source rows are in agreement with them.
    is_unseen : bool
        Whether `target` stands for domains that are to come: it holds the rows of all sources.
    """

    sources: tuple[Any, ...]
    target: Any | None
    classes: np.ndarray
    shares_features: bool = True
    class_prior: np.ndarray | None = None
    source_names: tuple[str, ...] | None = None
    source_numbers: tuple[float, ...] | None = None
    source_weights: np.ndarray | None = None
    is_unseen: bool = False

    @property
    def all(self) -> tuple[Any, ...]:
        """The sources, then the target."""
        return self.sources if self.target is None else (*self.sources, self.target)

    @property
    def dtype(self) -> Any:
        """Floating type that holds the rows of all domains."""
        types = [domain.dtype for domain in self.all]
        rows = getattr(self.sources[0], "X", None)
        return (
            array_namespace(rows).result_type(*types)
            if is_foreign(rows)
            else np.result_type(*types)
        )

    @property
    def source_shares(self) -> np.ndarray:
        """Weighted shares of the classes in all sources together."""
        masses = sum(domain.class_masses(len(self.classes)) for domain in self.sources)
        return np.asarray(masses / (np.sum(masses) or 1.0))

    def among(self, shares: np.ndarray) -> Domains:
        """The same without the classes of share 0.

        Parameters
        ----------
        shares : ndarray of shape (n_classes,)
            Shares of the classes.

        Returns
        -------
        Domains
            With fewer classes, and without their rows; itself where all shares are positive.
        """
        codes = np.flatnonzero(shares)
        if len(codes) == len(shares):
            return self
        if self.target is not None:
            counts = self.target.class_counts(len(shares))
            refuse_labels_of_no_share(counts, shares, self.classes)
        rest = {"target": None if self.target is None else self.target.among(codes)}
        sources = tuple(None if each is None else each.among(codes) for each in self.sources)
        return replace(self, sources=sources, classes=self.classes[codes], **rest)

    def with_class_prior(self, shares: np.ndarray) -> Domains:
        """The same for a target in which the classes have given shares.

        This is where shares become weights: the rows of each source weigh q / p times as much, with
        q the share of their class in the target and p its share of the weight of that source. So
        they weigh in its mean and covariance, in the loss, and in the rule.

        Parameters
        ----------
        shares : ndarray of shape (n_classes,)
            Shares of the classes in the target, of sum 1.

        Returns
        -------
        Domains
            Without the classes of share 0.
        """
        kept, left = self.among(shares), shares[shares > 0]
        check_several_classes(kept.source_shares)
        for number, each in zip(kept.numbers, kept.sources, strict=True):
            if len(kept.sources) > 1 and each.n_rows < 2:
                raise ValueError(
                    "Every source must have two rows or more of classes with a share, but source "
                    f"{number:g} has {each.n_rows}: leave it out, or give its classes a share."
                )
        sources = tuple(each.with_class_shares(left) for each in kept.sources)
        return replace(kept, sources=sources, class_prior=left)

    @property
    def numbers(self) -> tuple[float, ...]:
        """Numbers of the sources."""
        if self.source_numbers is not None:
            return self.source_numbers
        return tuple(1.0 + i for i in range(len(self.sources)))

    @property
    def shares_of_sources(self) -> np.ndarray:
        """Weights of the sources, of sum 1."""
        n = len(self.sources)
        return np.full(n, 1 / n) if self.source_weights is None else self.source_weights

    @property
    def shares_of_discrepancies(self) -> np.ndarray:
        """Shares of the sources in the discrepancy to the target: flatter, as in the loss."""
        flat = self.shares_of_sources**SPACE_POWER
        return flat / np.sum(flat)

    @property
    def rule_factors(self) -> tuple[float | np.ndarray, ...]:
        """Factors of the row weights of each domain in a rule, besides those that the rows have."""
        shares = self.shares_of_sources
        factors = (shares / np.max(shares)) ** (1 - SPACE_POWER)
        if self.target is None:
            return tuple(factors)
        if not self.is_unseen:
            return (*factors, 1.0)
        # every row is there twice, and counts once; the second time with the weight of its source
        of_rows = np.repeat(factors, [each.n_labelled for each in self.sources])
        return (*factors / 2, of_rows / 2)

    def with_source_weights(self, weights: np.ndarray) -> Domains:
        """The same with weighed sources.

        This is where the weights of sources become weights of rows. With w the weight of a source
        over the largest, its rows weigh :math:`w^{1/4}` times as much in the common axes and in the
        loss over pairs, and, by `rule_factors`, w times as much in a rule.

        Parameters
        ----------
        weights : ndarray of shape (n_sources,)
            Positive weights of the sources.

        Returns
        -------
        Domains
            Itself for a single source.
        """
        if len(self.sources) == 1:
            return self
        factors = (weights / np.max(weights)) ** SPACE_POWER
        pairs = zip(self.sources, factors.tolist(), strict=True)
        sources = tuple(each.times(factor) for each, factor in pairs)
        return replace(self, sources=sources, source_weights=weights / np.sum(weights))

    def with_unseen(self) -> Domains:
        """The same with a target that stands for domains to come.

        It holds the labelled rows of all sources once more, uncentred, so that each source takes
        part as one that was held out: its rows are sent to the latent space as those of an unknown
        domain will be.

        Returns
        -------
        Domains
            Itself where there is a target, or a single source.
        """
        if self.target is not None or len(self.sources) == 1:
            return self
        return replace(self, target=self.sources[0].pooled(self.sources), is_unseen=True)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the domains."""
        sources = self.source_names
        if sources is None and len(self.sources) == 1:
            sources = ("source",)
        elif sources is None:
            sources = tuple(f"source {number:g}" for number in self.numbers)
        last = "unseen" if self.is_unseen else "target"
        return sources if self.target is None else (*sources, last)

    def labelled_rows(self, spaces: Sequence[RowSpace], *, single: bool = False) -> LabelledRows:
        """The labelled rows of all domains, in coordinates.

        Parameters
        ----------
        spaces : sequence of RowSpace
            One per domain.
        single : bool, default=False
            Whether those of rows in single precision stay there.

        Returns
        -------
        LabelledRows
            From which the loss over pairs is made.
        """
        weights = None
        if any(domain.weights is not None for domain in self.all):
            weights = np.concatenate([domain.labelled_weights for domain in self.all])
        return LabelledRows(
            tuple(
                domain.coordinates(space, single=single)
                for domain, space in zip(self.all, spaces, strict=True)
            ),
            np.concatenate([domain.labelled_codes for domain in self.all]),
            weights,
        )

    def projected_rows(self, spaces: Sequence[RowSpace], scales: Sequence[float]) -> ProjectedRows:
        """All rows of all domains, in coordinates, for moments along directions.

        Parameters
        ----------
        spaces : sequence of RowSpace
            One per domain.
        scales : sequence of float
            Factor of the coordinates of each domain.

        Returns
        -------
        ProjectedRows
            From which higher moments are found.
        """
        # rows in single precision are converted a block at a time
        rows = [each.X if is_single(each.X) else each.working_rows for each in self.all]
        weights = [domain.weights for domain in self.all]
        return HeldRows.placed(rows, weights, spaces=spaces, scales=scales)

    def latent_rows(self, ils: Any) -> tuple[tuple[Array, np.ndarray], ...]:
        """The labelled rows of all domains in the latent space, and their classes.

        Parameters
        ----------
        ils : ILSMap
            The fitted map.

        Returns
        -------
        tuple of (array of shape (n, p), ndarray of shape (n,))
            One pair per domain.
        """
        return tuple(
            (ils.transform(domain.labelled_rows, position), domain.labelled_codes)
            for position, domain in enumerate(self.all)
        )


def take_rows(X, rows: np.ndarray):
    """Some rows of an array of any library, a DataFrame, a list or a sparse matrix.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, ...)
        All rows.
    rows : ndarray of int
        Their indices.

    Returns
    -------
    array-like or sparse matrix
        A copy of these rows.
    """
    if is_foreign(X):
        return array_namespace(X).take(X, like(rows, X), axis=0)
    return _safe_indexing(X, rows)


def _working(X: Array) -> Array:
    """Rows in double precision; arrays of other libraries keep their dtype."""
    if is_foreign(X):
        return X
    return X.astype(np.float64, copy=False) if not sparse.issparse(X) else X.astype(np.float64)
