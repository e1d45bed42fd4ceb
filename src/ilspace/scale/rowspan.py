"""The space that the rows of a domain span, in which the objective can be minimised."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ilspace._typing import Array
from ilspace.backend import (
    array_namespace,
    fix_signs,
    identity,
    like,
    principal_axes,
    symmetric_part,
)
from ilspace.scale.moments import (
    Moments,
    gram_matrix,
    map_rows,
    row_moments,
    weight_shares,
    weighted_mean,
)

WIDEST_FULL_SPECTRUM = 2048
"""Most columns (and rows) for which a full eigendecomposition pays."""

_EXACTLY = 1e-12
"""Deviation from orthonormal columns that needs no correction."""

_NEARLY = 1e-5
"""Deviation from orthonormal columns whose cube is below rounding."""


@dataclass(frozen=True)
class RowSpace:
    r"""Mean and covariance of a domain, and the coordinates in which to optimise.

    Every Euclidean gradient of the objective in a projection W is a combination of centred rows,
    so the iterates never leave the span of the rows and the initial W: optimising the coordinates
    of W in an orthonormal basis of that span is the same optimisation, in fewer dimensions. In
    the basis of principal axes the covariance is diagonal as well.

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
    covariance : array of shape (k,) or (k, k)
        Covariance in these coordinates; a vector stands for a diagonal matrix.
    total_variance : float
        Sum of the variances of all columns.
    rank : int
        Number of axes with positive variance, or an upper bound where it is not known.
    n_rows : float
        Number of rows, or their total weight.
    n_edge : int, default=0
        Number of the last columns of the basis beyond which it was cut off.
    """

    mean: Array
    axes: Array
    variances: Array
    basis: Array | None
    covariance: Array
    total_variance: float
    rank: int
    n_rows: float
    n_edge: int = 0

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
        # twice, or a basis not quite orthonormal would seem to lack directions
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
        # a small residual may be far from orthogonal: re-orthonormalise it
        added = left[:, :n_new] - self.basis @ (self.basis.mT @ left[:, :n_new])
        added, _ = xp.linalg.qr(added)
        basis = xp.concat([self.basis, added], axis=1)
        flat = xp.zeros_like(sizes[:n_new])
        return replace(self, basis=basis, covariance=xp.concat([self.covariance, flat]))

    def within_reach(self, n_axes: int, rows: Array, n_powers: int) -> RowSpace:
        r"""Take as coordinates only what a minimisation reaches, where few rows are labelled.

        The gradient in W is a combination of :math:`W`, its initial value :math:`W_0`,
        :math:`\Sigma W` and the labelled rows Z. Hence all iterates lie in the span of
        :math:`\Sigma^iW_0` and :math:`\Sigma^iZ^\top`. The share of the statistical loss is
        small, and each power contributes a fraction of the one before: a few suffice.

        Parameters
        ----------
        n_axes : int
            Number p of principal axes that are the initial value.
        rows : array of shape (m, d)
            The labelled rows, centred.
        n_powers : int
            How many powers to keep, the zeroth included. Whether they suffice shows in the
            coordinates of a solution along the last ``n_edge`` columns of the basis.

        Returns
        -------
        RowSpace
            With a basis of ``p + n_powers * m`` columns.
        """
        xp = array_namespace(rows)
        basis, block = self.axes[:, :n_axes], rows.mT
        products = [basis * self.variances[None, :n_axes]]
        for _ in range(n_powers):
            for _ in range(2):  # twice, or rounding errors would be scaled up
                block, _ = xp.linalg.qr(block - basis @ (basis.mT @ block))
            basis = xp.concat([basis, block], axis=1)
            block = self.covariance @ block
            products.append(block)
        covariance = symmetric_part(basis.mT @ xp.concat(products, axis=1))
        return replace(self, basis=basis, covariance=covariance, n_edge=rows.shape[0])

    def shrunk_covariance(self, shrinkage: float) -> Array:
        """Covariance shrunk toward a multiple of the identity of the same trace.

        Parameters
        ----------
        shrinkage : float
            Shrinkage intensity, between 0 and 1.

        Returns
        -------
        array of shape (k,) or (d, d)
            In the same coordinates as ``covariance``; the multiple is that of the full width.
        """
        floor = shrinkage * self.total_variance / self.n_features
        if self.covariance.ndim == 1:
            return (1 - shrinkage) * self.covariance + floor
        return (1 - shrinkage) * self.covariance + floor * identity(
            self.covariance.shape[0], self.covariance
        )

    def coordinates(self, rows: Array, dtype: Any = None) -> Array:
        """Centre rows and express them in the basis.

        Parameters
        ----------
        rows : array or sparse matrix of shape (n, d)
            Rows of this domain.
        dtype : data type, optional
            Of the coordinates, where rows in single precision are converted to double first.

        Returns
        -------
        array of shape (n, k)
            Their coordinates.
        """
        if sparse.issparse(rows):
            if self.basis is None:
                return rows.toarray() - self.mean
            return rows @ self.basis - self.mean @ self.basis
        return map_rows(rows, self.basis, self.mean, dtype)

    def restrict(self, projection: Array) -> Array:
        """Coordinates of a projection whose columns lie in the span.

        Parameters
        ----------
        projection : array of shape (d, p)
            A projection.

        Returns
        -------
        array of shape (k, p)
            The projection in coordinates.
        """
        return projection if self.basis is None else self.basis.mT @ projection

    def lift(self, projection: Array) -> Array:
        """Turn a projection of coordinates into a projection of rows.

        Parameters
        ----------
        projection : array of shape (k, p)
            A projection of coordinates.

        Returns
        -------
        array of shape (d, p)
            The projection in the columns of the data.
        """
        return projection if self.basis is None else self.basis @ projection


def row_space(
    rows: Array,
    weights: np.ndarray | None = None,
    *,
    n_axes: int,
    reduce: bool = True,
    leading: bool = False,
    in_double: bool = False,
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
        Minimum number of principal axes.
    reduce : bool, default=True
        Whether to use coordinates of the span; the columns themselves otherwise.
    leading : bool, default=False
        Whether the leading `n_axes` axes suffice as the basis of the span. They do for a domain
        that enters the objective by its covariance alone, if its projection is initialised by
        them: their span is invariant under the covariance.
    in_double : bool, default=False
        Whether rows in single precision, no fewer than columns, are converted to double, a slice
        at a time.

    Returns
    -------
    RowSpace
        With a basis of principal axes if `reduce`, unless the domain is so wide and so long
        that finding them all would cost more than it saves.
    """
    n, d = rows.shape
    if n < d and reduce:
        return _wide_space(rows, weights, n_axes if leading else None)
    found = row_moments(rows, weights, in_double=in_double)
    return moment_space(found, n_axes=n_axes, reduce=reduce, leading=leading)


def moment_space(
    found: Moments, *, n_axes: int, reduce: bool = False, leading: bool = False
) -> RowSpace:
    """Find the span of rows from their moments.

    Parameters
    ----------
    found : Moments
        Mean and covariance of all rows.
    n_axes : int
        Minimum number of principal axes.
    reduce, leading : bool, default=False
        As for :func:`row_space`; `reduce` only where no rows are still to come, which may lie
        outside the span.

    Returns
    -------
    RowSpace
        The same as :func:`row_space` finds.
    """
    d = found.mean.shape[0]
    in_full = reduce and not leading and d <= WIDEST_FULL_SPECTRUM
    n_wanted = d if in_full else min(n_axes, d)
    xp = array_namespace(found.covariance)
    total = float(xp.sum(xp.linalg.diagonal(found.covariance)))
    variances, axes = principal_axes(found.covariance, n_wanted)
    rank = numerical_rank(variances, found.mean, max(found.n_rows, d))
    variances, axes = variances[:rank], axes[:, :rank]
    rank = rank if rank < n_wanted else min(found.n_rows - 1, d)
    in_span = in_full or (reduce and leading)
    basis, covariance = (axes, variances) if in_span else (None, found.covariance)
    return RowSpace(found.mean, axes, variances, basis, covariance, total, rank, found.weight)


def _wide_space(rows: Array, weights: np.ndarray | None, n_axes: int | None) -> RowSpace:
    """Span of fewer rows than columns, from the inner products of the rows."""
    n, d = rows.shape
    mean = weighted_mean(rows, weights)
    gram = gram_matrix(rows, mean, weights, wide=True)
    xp = array_namespace(gram)
    total = float(xp.sum(xp.linalg.diagonal(gram)))
    n_found = n if n_axes is None else min(n_axes, n)
    variances, left = principal_axes(gram, n_found)
    rank = numerical_rank(variances, mean, max(n, d))
    variances, left = variances[:rank], left[:, :rank]
    rank = rank if rank < n_found else min(n - 1, d)
    shares = weight_shares(n, weights)
    if sparse.issparse(rows):
        weighted = np.sqrt(shares)[:, None] * left
        axes = rows.T @ weighted - np.outer(mean, weighted.sum(axis=0))
    else:
        root = xp.sqrt(like(shares, gram))
        axes = (rows - mean).mT @ (root[:, None] * left)
    axes = axes / xp.sqrt(variances)[None, :]
    # the smaller the variance of an axis relative to the largest, the less orthonormal it is
    rounding = float(xp.finfo(variances.dtype).eps)
    if rank and rounding * float(variances[0]) > _EXACTLY * float(variances[-1]):
        axes = _orthonormal(axes)
    axes = fix_signs(axes)
    size = float(n if weights is None else np.sum(weights))
    return RowSpace(mean, axes, variances, axes, variances, total, rank, size)


def _orthonormal(axes: Array) -> Array:
    """Re-orthonormalise columns, without a QR decomposition where they are nearly orthonormal."""
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
    """Count the variances above rounding errors, their own and those of the mean.

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
