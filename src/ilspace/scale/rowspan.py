"""The space that the rows of a domain span: nothing the objective sees lies outside it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from ilspace._typing import Array
from ilspace.backend import array_namespace, identity, like, principal_axes, upright
from ilspace.scale.moments import gram_matrix, weighted_mean

WIDEST_FULL_SPECTRUM = 2048
"""Beyond so many columns (and as many rows) a full eigendecomposition costs more than it saves."""

_EXACTLY = 1e-12
"""Distance from orthonormal columns that needs no mending."""

_NEARLY = 1e-5
"""Distance from orthonormal columns whose cube is nothing."""


@dataclass(frozen=True)
class RowSpace:
    r"""A domain's centre, spread, and coordinates in which to optimise.

    Every Euclidean gradient of the objective in a projection W is a combination of centred rows,
    so an iterate that starts in the span of rows and start never leaves it: optimising the
    coordinates of W in an orthonormal basis of that span is the same optimisation, in fewer
    numbers. In the basis of principal axes the covariance is diagonal as well.

    Attributes
    ----------
    mean : array of shape (d,)
        Mean of the rows.
    axes : array of shape (d, r)
        Principal axes, those of the largest variance first.
    variances : array of shape (r,)
        Variance along each.
    basis : array of shape (d, k) or None
        Orthonormal basis of the coordinates; None where they are the columns themselves.
    covariance : array of shape (k,) or (d, d)
        Covariance in these coordinates; a vector stands for a diagonal matrix.
    total_variance : float
        Sum of the variances of all columns.
    rank : int
        Number of axes with some variance, where it is known; an upper bound elsewhere.
    n_rows : float
        Number of rows, or their total weight.
    """

    mean: Array
    axes: Array
    variances: Array
    basis: Array | None
    covariance: Array
    total_variance: float
    rank: int
    n_rows: float

    @property
    def n_features(self) -> int:
        """Number d of columns."""
        return self.mean.shape[0]

    @property
    def column_covariance(self) -> Array:
        """Covariance of the columns, of shape (d, d), as far as the basis spans them."""
        if self.basis is None:
            return self.covariance
        return (self.basis * self.covariance[None, :]) @ self.basis.mT

    def joined(self, directions: Array) -> RowSpace:
        """Extend the basis so that it spans some directions too.

        Parameters
        ----------
        directions : array of shape (d, p)
            Columns to be spanned.

        Returns
        -------
        RowSpace
            Itself if it spans them already.
        """
        if self.basis is None:
            return self
        xp = array_namespace(directions)
        rest = directions - self.basis @ (self.basis.mT @ directions)
        # twice: what the basis lacks of orthonormal columns would pass for new directions
        rest = rest - self.basis @ (self.basis.mT @ rest)
        rounding = float(xp.finfo(rest.dtype).eps) ** (2 / 3) * float(
            xp.linalg.vector_norm(directions)
        )
        if float(xp.linalg.vector_norm(rest)) <= rounding:
            return self
        left, sizes, _ = xp.linalg.svd(rest, full_matrices=False)
        n_new = int(xp.sum(xp.astype(sizes > rounding, xp.int64)))
        if n_new == 0:
            return self
        # what is left of a direction may be small, and then far from orthogonal: mend it
        added = left[:, :n_new] - self.basis @ (self.basis.mT @ left[:, :n_new])
        added, _ = xp.linalg.qr(added)
        basis = xp.concat([self.basis, added], axis=1)
        flat = xp.zeros_like(sizes[:n_new])
        return replace(self, basis=basis, covariance=xp.concat([self.covariance, flat]))

    def shrunk_covariance(self, shrinkage: float) -> Array:
        """Covariance mixed with a multiple of the identity of the same trace.

        Parameters
        ----------
        shrinkage : float
            Share of the identity, between 0 and 1.

        Returns
        -------
        array of shape (k,) or (d, d)
            In the same coordinates as ``covariance``; the multiple is that of the full width.
        """
        floor = shrinkage * self.total_variance / self.n_features
        if self.covariance.ndim == 1:
            return (1 - shrinkage) * self.covariance + floor
        return (1 - shrinkage) * self.covariance + floor * identity(
            self.n_features, self.covariance
        )

    def coordinates(self, rows: Array) -> Array:
        """Centre rows and express them in the basis.

        Parameters
        ----------
        rows : array or sparse matrix of shape (n, d)
            Rows of this domain.

        Returns
        -------
        array of shape (n, k)
            Their coordinates.
        """
        if self.basis is None:
            return (rows.toarray() if sparse.issparse(rows) else rows) - self.mean
        if sparse.issparse(rows):
            return rows @ self.basis - self.mean @ self.basis
        return (rows - self.mean) @ self.basis

    def restrict(self, projection: Array) -> Array:
        """Coordinates of a projection whose columns lie in the span.

        Parameters
        ----------
        projection : array of shape (d, p)
            A projection.

        Returns
        -------
        array of shape (k, p)
            The same, seen from within.
        """
        return projection if self.basis is None else self.basis.mT @ projection

    def lift(self, projection: Array) -> Array:
        """Turn a projection of coordinates into one of rows.

        Parameters
        ----------
        projection : array of shape (k, p)
            A projection of coordinates.

        Returns
        -------
        array of shape (d, p)
            The same, seen from outside.
        """
        return projection if self.basis is None else self.basis @ projection


def row_space(
    rows: Array,
    weights: np.ndarray | None = None,
    *,
    n_axes: int,
    reduce: bool = True,
    leading: bool = False,
) -> RowSpace:
    """Find the span of the centred rows of a domain.

    Costs one product of the rows with themselves and an eigendecomposition of its smaller side.

    Parameters
    ----------
    rows : array or sparse matrix of shape (n, d)
        All rows of the domain.
    weights : ndarray of shape (n,), optional
        Their weights, 1 by default.
    n_axes : int
        How many principal axes are wanted at least.
    reduce : bool, default=True
        Whether to use coordinates of the span; the columns themselves otherwise.
    leading : bool, default=False
        Whether the leading `n_axes` axes will do as the basis of the span. They do for a domain
        that the objective knows by its covariance alone, if its projection starts on them: the
        covariance maps their span onto itself, so nothing leads out of it.

    Returns
    -------
    RowSpace
        With a basis of principal axes if `reduce`, unless the domain is so wide and so long
        that finding them all would cost more than it saves.
    """
    n, d = rows.shape
    mean = weighted_mean(rows, weights)
    size = float(n if weights is None else np.sum(weights))
    wanted = n_axes if leading else None
    if n < d and reduce:
        return _wide_space(rows, mean, weights, wanted)
    covariance = gram_matrix(rows, mean, weights, wide=False)
    xp = array_namespace(covariance)
    total = float(xp.sum(xp.linalg.diagonal(covariance)))
    in_full = reduce and not leading and d <= WIDEST_FULL_SPECTRUM
    variances, axes = principal_axes(covariance, None if in_full else min(n_axes, d))
    rank = numerical_rank(variances, mean, max(n, d))
    variances, axes = variances[:rank], axes[:, :rank]
    if in_full:
        return RowSpace(mean, axes, variances, axes, variances, total, rank, size)
    rank = rank if rank < min(n_axes, d) else min(n - 1, d)
    if reduce and leading:
        return RowSpace(mean, axes, variances, axes, variances, total, rank, size)
    return RowSpace(mean, axes, variances, None, covariance, total, rank, size)


def _wide_space(
    rows: Array, mean: Array, weights: np.ndarray | None, n_axes: int | None
) -> RowSpace:
    n, d = rows.shape
    gram = gram_matrix(rows, mean, weights, wide=True)
    xp = array_namespace(gram)
    total = float(xp.sum(xp.linalg.diagonal(gram)))
    n_found = n if n_axes is None else min(n_axes, n)
    variances, left = principal_axes(gram, n_found)
    rank = numerical_rank(variances, mean, max(n, d))
    variances, left = variances[:rank], left[:, :rank]
    rank = rank if rank < n_found else min(n - 1, d)
    shares = np.full(n, 1 / n) if weights is None else weights / np.sum(weights)
    if sparse.issparse(rows):
        weighted = np.sqrt(shares)[:, None] * left
        axes = rows.T @ weighted - np.outer(mean, weighted.sum(axis=0))
    else:
        root = xp.sqrt(like(shares, gram))
        axes = (rows - mean).mT @ (root[:, None] * left)
    axes = axes / xp.sqrt(variances)[None, :]
    # an axis comes out less than orthonormal the smaller its variance is beside the largest
    rounding = float(xp.finfo(variances.dtype).eps)
    if rank and rounding * float(variances[0]) > _EXACTLY * float(variances[-1]):
        axes = _orthonormal(axes)
    axes = upright(axes)
    size = float(n if weights is None else np.sum(weights))
    return RowSpace(mean, axes, variances, axes, variances, total, rank, size)


def _orthonormal(axes: Array) -> Array:
    """Mend columns that are nearly orthonormal; those that are not take a factorisation."""
    xp = array_namespace(axes)
    if axes.shape[1] == 0:
        return axes
    gram = axes.mT @ axes
    off = gram - identity(gram.shape[0], gram)
    if not float(xp.max(xp.abs(off))) * gram.shape[0] < _NEARLY:
        return xp.linalg.qr(axes)[0]
    # (I + E)^(-1/2) = I - E/2 + 3 E²/8, exact to rounding for so small an E
    return axes - axes @ (off / 2 - 0.375 * (off @ off))


def numerical_rank(variances: Array, mean: Array, size: int) -> int:
    """Count the variances that stand out of rounding: their own, and that of the mean.

    Parameters
    ----------
    variances : array of shape (k,)
        Variances along principal axes.
    mean : array of shape (d,)
        Mean of the rows.
    size : int
        Number of rows or of columns, whichever is larger.

    Returns
    -------
    int
        At most k.
    """
    xp = array_namespace(variances)
    if variances.shape[0] == 0:
        return 0
    eps = float(xp.finfo(variances.dtype).eps)
    rounding = float(xp.max(variances)) * size * eps
    offset = size * (eps * float(xp.max(xp.abs(mean)))) ** 2
    return int(xp.sum(xp.astype(variances > max(rounding, offset), xp.int64)))
