"""Domains in coordinates, and where the projections begin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ilspace._typing import Array
from ilspace.adapters.domain_rows import DomainRows
from ilspace.adapters.settings import Settings
from ilspace.adapters.starts import (
    FILLING_AXES,
    STARTS,
    StartingDomain,
    given_start,
    on_target_axes,
    shared_class_means,
    start_arrays,
)
from ilspace.backend import is_foreign, to_numpy
from ilspace.pairs import PairStatistics, pair_statistics
from ilspace.scale import RowSpace, row_space
from ilspace.scale.running import Moments

if TYPE_CHECKING:
    from ilspace.scale.dask_rows import CompleteMoments

DEFAULT_COMPONENTS = 30
"""Dimension of the latent space for domains of the same columns; the paper has 20."""

DEFAULT_COMPONENTS_ACROSS = 20
"""For domains of different columns, where no more than the classes can be aligned."""


@dataclass(frozen=True)
class Placement:
    """The domains in the coordinates in which projections are optimised.

    Attributes
    ----------
    spaces : tuple of RowSpace
        Coordinates of each domain.
    starts : tuple of array of shape (k, p)
        Where each projection begins.
    gain : float
        By what the source is multiplied to be as large as the target.
    labelled : tuple of array of shape (n, k)
        The labelled rows of each domain; nobody else's, so that they may be scaled in place.
    codes : ndarray of shape (m,)
        Classes of all labelled rows, domain by domain.
    weights : ndarray of shape (m,) or None
        Their weights.
    """

    spaces: tuple[RowSpace, ...]
    starts: tuple[Array, ...]
    gain: float
    labelled: tuple[Array, ...]
    codes: np.ndarray
    weights: np.ndarray | None

    @property
    def n_components(self) -> int:
        """Dimension p of the latent space."""
        return self.starts[0].shape[1]

    @property
    def gained(self) -> tuple[Array, ...]:
        """Where the projections begin, that of the source with its gain."""
        return (self.gain * self.starts[0], *self.starts[1:])

    def statistics(self) -> PairStatistics:
        """Distances of the labelled rows where the projections begin.

        Returns
        -------
        PairStatistics
            Of all pairs.
        """
        latent = [
            to_numpy(rows @ start) for rows, start in zip(self.labelled, self.gained, strict=True)
        ]
        return pair_statistics(np.concatenate(latent), self.codes, self.weights)


def place(
    domains: tuple[DomainRows, ...],
    settings: Settings,
    *,
    n_components: int | None,
    shares_features: bool,
    moments: tuple[Moments | CompleteMoments, ...] | None = None,
) -> Placement:
    """Find coordinates of the domains, and where their projections begin.

    Parameters
    ----------
    domains : tuple of DomainRows
        The source, then the target; or one domain alone.
    settings : Settings
        What the problem is to be.
    n_components : int or None
        Dimension of the latent space.
    shares_features : bool
        Whether the columns of the domains mean the same.
    moments : tuple of Moments, optional
        Of all rows of each domain, where `domains` does not hold them all.

    Returns
    -------
    Placement
        With every labelled row.
    """
    domains = tuple(replace(domain, X=_working_rows(domain.X)) for domain in domains)
    start = settings.start
    if not isinstance(start, str):
        start = start_arrays(start, len(domains))
    default = _default_components(start, shares_features)
    n_axes = n_components or default
    if not shares_features or start == "class-means":
        n_axes = max(n_axes, FILLING_AXES)
    leading = on_target_axes(start, shares_features)
    if moments is not None:
        spaces = tuple(each.space(n_axes) for each in moments)
    else:
        spaces = tuple(
            row_space(
                domain.X,
                domain.weights,
                n_axes=n_axes,
                reduce=settings.reduce and not (leading and _is_tall(domain)),
                leading=leading and domain.n_labelled == 0,
            )
            for domain in domains
        )
    p = _check_components(n_components, default, spaces, shares_features)
    if settings.shrinkage == 0 and settings.trade_off > 0 and len(domains) > 1:
        _check_ranks(spaces, p)
    bases, gain = _starting_bases(start, domains, spaces, p, shares_features)
    spaces = tuple(space.joined(basis) for space, basis in zip(spaces, bases, strict=True))
    weights = None
    if any(domain.weights is not None for domain in domains):
        weights = np.concatenate([domain.labelled_weights for domain in domains])
    return Placement(
        spaces,
        tuple(space.restrict(basis) for space, basis in zip(spaces, bases, strict=True)),
        gain,
        tuple(
            space.coordinates(domain.labelled_rows)
            for space, domain in zip(spaces, domains, strict=True)
        ),
        np.concatenate([domain.codes[domain.labelled] for domain in domains]),
        weights,
    )


def _is_tall(domain: DomainRows) -> bool:
    """Tell domains of labelled rows whose span has every column: all its axes would cost most."""
    n, d = domain.shape
    return n >= d and domain.n_labelled > 0


def _working_rows(X: Array) -> Array:
    """Rows in double precision, except on other libraries, which keep their own."""
    if is_foreign(X):
        return X
    return X.astype(np.float64, copy=False) if not sparse.issparse(X) else X.astype(np.float64)


def _default_components(start: str | tuple[Any, ...], shares_features: bool) -> int:
    """Dimension of the latent space, where the user names none: that of a start that was given."""
    if not isinstance(start, str):
        shape = np.shape(to_numpy(start[0]))
        if len(shape) == 2 and shape[1] > 0:
            return shape[1]
    return DEFAULT_COMPONENTS if shares_features else DEFAULT_COMPONENTS_ACROSS


def _check_components(n_components: int | None, default: int, spaces, shares_features: bool) -> int:
    """Settle the dimension of the latent space."""
    for name, space in zip(("source", "target"), spaces, strict=False):
        if space.rank == 0:
            raise ValueError(
                f"The {name} domain must vary, but all its rows are equal: every column is "
                "constant. Check that the right columns were read."
            )
    # a shared start lies in the target's span; separate ones need room in each
    rank = spaces[-1].rank if shares_features else min(space.rank for space in spaces)
    if n_components is None:
        return min(default, rank)
    if n_components > rank:
        raise ValueError(
            f"n_components must be at most {rank}, the rank of the centred rows, but is "
            f"{n_components}: choose fewer, or None."
        )
    return n_components


def _check_ranks(spaces: tuple[RowSpace, ...], p: int) -> None:
    """Refuse flat covariances, which have no determinant to compare; rounding may hide that."""
    for name, space in zip(("source", "target"), spaces, strict=True):
        if space.rank < p:
            raise ValueError(
                f"Without shrinkage the rows of each domain must vary in {p} directions, the "
                f"dimension of the latent space, but those of the {name} vary in {space.rank}: "
                "raise shrinkage, or choose fewer components."
            )


def _starting_bases(start, domains, spaces, p: int, shares_features: bool):
    """One basis a domain, and the gain by which the source is made as large as the target."""

    def starting(domain: DomainRows, space: RowSpace) -> StartingDomain:
        codes = domain.codes[domain.labelled]
        return StartingDomain(space, domain.labelled_rows, codes, domain.labelled_weights)

    if isinstance(start, str):
        start = start if start != "auto" else "target-pca" if shares_features else "class-means"
        if start != "class-means" and not shares_features:
            raise ValueError(
                f"start={start!r} shares one basis, but the domains have different features; use "
                'start="class-means" or give two arrays.'
            )
    views = tuple(starting(domain, space) for domain, space in zip(domains, spaces, strict=True))
    if start == "class-means" and (len(views) == 1 or len(views[1].codes) == 0):
        raise ValueError(
            'start="class-means" aligns labelled rows of two domains, but the target has no '
            "labels; pass yt or use another start."
        )
    bases = STARTS[start](views, p) if isinstance(start, str) else given_start(start, views, p)
    if shares_features:
        return bases, 1.0
    source, target = views
    source_means, target_means = shared_class_means(source, target)
    sizes = [
        float(np.linalg.norm(to_numpy(means @ view.space.restrict(basis))))
        for means, view, basis in zip((source_means, target_means), views, bases, strict=True)
    ]
    return bases, sizes[1] / sizes[0] if min(sizes) > 0 else 1.0
