"""The checked rows of one domain, and what the method asks of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing

from ilspace._typing import Array
from ilspace.backend import array_namespace, is_foreign, like, on_host
from ilspace.domains.class_prior import class_factors
from ilspace.rules.class_prior import sample_of_classes
from ilspace.scale import RowSpace, is_single, row_space


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
        return replace(self, weights=factor * self.row_weights)

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
    def row_weights(self) -> np.ndarray:
        """Weights of all rows."""
        return np.ones(len(self.codes)) if self.weights is None else self.weights

    @property
    def labelled_weights(self) -> np.ndarray:
        """Weights of the rows that have a label."""
        return self.row_weights[self.labelled]

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
        return rows, self.codes[chosen], self.row_weights[chosen]

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
        return space.coordinates(working(rows))

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
        return working(self.X)


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


def working(X: Array) -> Array:
    """Rows in the floating type that is worked in.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The rows.

    Returns
    -------
    array or sparse matrix of shape (n, d)
        In double precision; arrays of other libraries keep their dtype.
    """
    if is_foreign(X):
        return X
    return X.astype(np.float64, copy=False) if not sparse.issparse(X) else X.astype(np.float64)
