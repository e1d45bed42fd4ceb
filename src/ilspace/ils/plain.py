"""A space that all domains share before anything is learned from the labels of the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ilspace._typing import Array
from ilspace.domains import Domains
from ilspace.ils.init import FILLING_AXES, DomainView, initial_projections, source_gain
from ilspace.ils.map import to_latent
from ilspace.ils.problem import DEFAULT_COMPONENTS_ACROSS, check_variation

PLAIN_COMPONENTS = 100
"""Dimension of the plain space for domains of the same columns."""


@dataclass(frozen=True)
class PlainMap:
    """Affine maps of all domains to a space that is not learned.

    Attributes
    ----------
    means : tuple of array of shape (d,)
        Mean of each domain.
    maps : tuple of array of shape (d, q)
        Map of the centred rows of each domain.
    """

    means: tuple[Array, ...]
    maps: tuple[Array, ...]

    def transform(self, X: Any, domain: int | np.ndarray = -1) -> Array:
        """Send rows to the space.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Rows; not checked.
        domain : int or ndarray of int, shape (n,), default=-1
            Index of their domain, or one per row.

        Returns
        -------
        array of shape (n, q)
            In the floating type of the rows.
        """
        return to_latent(X, self.means, self.maps, domain)


def plain_map(domains: Domains) -> PlainMap:
    """Send all domains to one space.

    Parameters
    ----------
    domains : Domains
        Checked input, in memory.

    Returns
    -------
    PlainMap
        To the first 100 principal axes of all domains together, each centred, or to as many as the
        domain of the highest rank varies in. For domains of
        different columns, to 20 axes of the target, with which the labelled class means agree.
    """
    shared = domains.shares_features
    n_wanted = PLAIN_COMPONENTS if shared else DEFAULT_COMPONENTS_ACROSS
    n_axes = n_wanted if shared else FILLING_AXES
    spaces = [
        # of more rows than columns the covariance suffices
        domain.space(
            n_axes,
            reduce=not shared or domain.n_rows < domain.n_features,
            on_target_axes=False,
        )
        for domain in domains.all
    ]
    check_variation(spaces, domains.names)
    views = tuple(DomainView(*each) for each in zip(domains.all, spaces, strict=True))
    ranks = [space.rank for space in spaces]
    init, n_most = ("joint-pca", max(ranks)) if shared else ("class-means", min(ranks))
    maps = initial_projections(init, views, min(n_wanted, n_most), shares_features=shared)
    if not shared:
        pairs = zip(views[:-1], maps[:-1], strict=True)
        gains = [source_gain(view, views[-1], (each, maps[-1])) for view, each in pairs]
        maps = tuple(gain * each for gain, each in zip([*gains, 1.0], maps, strict=True))
    # rows by rows, as a file gives them back: products round alike
    maps = tuple(np.ascontiguousarray(m) if isinstance(m, np.ndarray) else m for m in maps)
    return PlainMap(tuple(space.mean for space in spaces), maps)
