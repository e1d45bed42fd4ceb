"""Moments of rows that come in pieces: merged exactly, whatever the pieces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ilspace._typing import Array
from ilspace.backend import array_namespace, principal_axes
from ilspace.scale.moments import gram_matrix, weighted_mean
from ilspace.scale.rowspan import RowSpace, numerical_rank


@dataclass(frozen=True)
class Moments:
    """Mean and covariance of rows.

    Attributes
    ----------
    mean : array of shape (d,)
        Mean of the rows.
    covariance : array of shape (d, d)
        Their covariance, with divisor n.
    weight : float
        Their total weight.
    n_rows : int
        How many there are.
    """

    mean: Array
    covariance: Array
    weight: float
    n_rows: int

    def merged(self, other: Moments) -> Moments:
        r"""Moments of the rows of both.

        The means differ by :math:`\Delta`; with shares a and b of the weight the covariance is
        :math:`a\Sigma_a + b\Sigma_b + ab\,\Delta\Delta^\top` :cite:p:`chan1983`.

        Parameters
        ----------
        other : Moments
            Of other rows with the same columns.

        Returns
        -------
        Moments
            As if all rows had come at once.
        """
        weight = self.weight + other.weight
        share = other.weight / weight
        offset = other.mean - self.mean
        between = share * (1 - share) * offset[:, None] * offset[None, :]
        covariance = (1 - share) * self.covariance + share * other.covariance + between
        return Moments(self.mean + share * offset, covariance, weight, self.n_rows + other.n_rows)

    def space(self, n_axes: int) -> RowSpace:
        """Centre and spread of the rows, in their own columns.

        Parameters
        ----------
        n_axes : int
            How many principal axes are wanted.

        Returns
        -------
        RowSpace
            Without a basis: what comes later may lie outside the span of what has come.
        """
        xp = array_namespace(self.covariance)
        d = self.mean.shape[0]
        total = float(xp.sum(xp.linalg.diagonal(self.covariance)))
        variances, axes = principal_axes(self.covariance, min(n_axes, d))
        found = numerical_rank(variances, self.mean, max(self.n_rows, d))
        rank = found if found < min(n_axes, d) else min(self.n_rows - 1, d)
        return RowSpace(
            self.mean,
            axes[:, :found],
            variances[:found],
            None,
            self.covariance,
            total,
            rank,
            self.weight,
        )


def moments(rows: Array, weights: np.ndarray | None = None) -> Moments:
    """Mean and covariance of some rows.

    Parameters
    ----------
    rows : array or sparse matrix of shape (n, d)
        The rows, one at least.
    weights : ndarray of shape (n,), optional
        Their weights, 1 by default.

    Returns
    -------
    Moments
        To be merged with those of other rows.
    """
    n = rows.shape[0]
    mean = weighted_mean(rows, weights)
    covariance = gram_matrix(rows, mean, weights, wide=False)
    return Moments(mean, covariance, float(n if weights is None else np.sum(weights)), n)
