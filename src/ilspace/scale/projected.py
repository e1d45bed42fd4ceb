"""Moments of rows along directions, from sums over blocks of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from ilspace._typing import Array, PowerMoments
from ilspace.backend import like
from ilspace.scale.moments import row_slices, weight_shares
from ilspace.scale.rowspan import RowSpace


def power_moments(rows: Array, directions: Array, shares: Array) -> PowerMoments:
    r"""Sums of :math:`w\,x\,u^j` over rows x, with :math:`u = d^\top x`, for j = 1, 2, 3.

    Parameters
    ----------
    rows : array of shape (n, k)
        Centred rows.
    directions : array of shape (k, n_directions)
        The directions d.
    shares : array of shape (n,)
        Weights w of the rows.

    Returns
    -------
    PowerMoments
        To be added to those of other rows.
    """
    along = rows @ directions
    weighted = shares[:, None] * along
    sums = []
    for power in range(3):
        weighted = weighted * along if power else weighted
        sums.append(rows.mT @ weighted)
    return PowerMoments(*sums)


@dataclass(frozen=True)
class _Held:
    """Rows of one domain: in coordinates, or as they came and with the space that centres them."""

    rows: Array
    space: RowSpace | None
    shares: Array
    scale: float

    def __call__(self, directions: Array) -> PowerMoments:
        scaled = self.scale * directions

        def of_block(block: slice) -> PowerMoments:
            rows = self.rows[block, :]
            rows = rows if self.space is None else self.space.coordinates(rows, np.float64)
            return power_moments(rows, scaled, self.shares[block])

        parts = zip(*map(of_block, row_slices(self.rows)), strict=True)
        return PowerMoments(*(self.scale * reduce(add, each) for each in parts))


@dataclass(frozen=True)
class HeldRows:
    """All rows of all domains, in memory.

    Attributes
    ----------
    domains : tuple of callable
        One per domain.
    """

    domains: tuple[_Held, ...]

    @classmethod
    def placed(
        cls,
        rows: Sequence[Any],
        weights: Sequence[np.ndarray | None],
        *,
        spaces: Sequence[RowSpace],
        scales: Sequence[float],
    ) -> HeldRows:
        """Express rows in coordinates.

        Parameters
        ----------
        rows : sequence of array or sparse matrix of shape (n, d)
            One per domain. Where the coordinates are the columns themselves no copy is made, and
            sparse rows become dense block by block.
        weights : sequence of ndarray of shape (n,), or None
            Their weights.
        spaces : sequence of RowSpace
            Coordinates of each domain.
        scales : sequence of float
            Factor of the coordinates of each domain.

        Returns
        -------
        HeldRows
            Ready to be projected.
        """
        held = []
        for own, weight, space, scale in zip(rows, weights, spaces, scales, strict=True):
            shares = like(weight_shares(own.shape[0], weight), space.mean)
            placed = own if space.basis is None else space.coordinates(own, np.float64)
            held.append(_Held(placed, space if space.basis is None else None, shares, scale))
        return cls(tuple(held))

    def __call__(self, directions: Sequence[Array]) -> list[PowerMoments]:
        """Moments of the rows of each domain along its directions.

        Parameters
        ----------
        directions : sequence of array of shape (k, n_directions)
            One array per domain.

        Returns
        -------
        list of PowerMoments
            One per domain.
        """
        return [each(own) for each, own in zip(self.domains, directions, strict=True)]
