"""Initial projections, on which the result of the optimization depends.

Nothing in the objective gives two separate bases a correspondence, so without target labels the
projections must be initialised by one shared basis, and where the domains have different columns
the labelled class means must provide it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.preprocessing import label_binarize

from ilspace._typing import Array
from ilspace.backend import array_namespace, like, principal_axes, to_numpy
from ilspace.manifolds import SPD, Stiefel
from ilspace.pairs import PairStatistics
from ilspace.scale import RowSpace


@dataclass(frozen=True)
class DomainView:
    """What an initialisation may use of one domain.

    Attributes
    ----------
    domain : Domain
        Rows and labels.
    space : RowSpace
        Mean, principal axes and coordinates.
    """

    domain: Any
    space: RowSpace

    @cached_property
    def labelled_classes(self) -> np.ndarray:
        """Classes that have labelled rows."""
        return np.flatnonzero(self.domain.class_counts(0))

    def class_means(self, codes: np.ndarray) -> Array:
        """Means of the labelled rows of some classes.

        Parameters
        ----------
        codes : ndarray of shape (k,)
            Classes that have labelled rows here.

        Returns
        -------
        array of shape (k, r)
            In the coordinates of the domain.
        """
        return self.domain.class_means(codes, self.space)


FILLING_AXES = 512
"""Number of leading axes that :func:`class_means` uses, unless it needs more."""

Init = Callable[[tuple[DomainView, ...], int], tuple[Array, ...]]
"""Takes the domains and the number of components; returns one orthonormal basis per domain."""


def target_pca(domains: tuple[DomainView, ...], n_components: int) -> tuple[Array, ...]:
    """Principal axes of the target, shared by all domains.

    The best initialisation for domains of the same columns.

    Parameters
    ----------
    domains : tuple of DomainView
        The sources, then the target.
    n_components : int
        Number of axes.

    Returns
    -------
    tuple of array of shape (d, n_components)
        The same basis for each domain.
    """
    return (domains[-1].space.axes[:, :n_components],) * len(domains)


def joint_pca(domains: tuple[DomainView, ...], n_components: int) -> tuple[Array, ...]:
    """Principal axes of all domains together, each centred, shared by all.

    On Office+Caltech10 one or two points behind :func:`target_pca` without target labels, about
    equal with some.

    Parameters
    ----------
    domains : tuple of DomainView
        The sources, then the target.
    n_components : int
        Number of axes.

    Returns
    -------
    tuple of array of shape (d, n_components)
        The same basis for each domain.
    """
    spaces = [domain.space for domain in domains]
    # a space without basis has the leading axes only, but the covariance of all columns
    partial = any(space.basis is None for space in spaces)
    if partial or spaces[0].n_features <= sum(space.axes.shape[1] for space in spaces):
        scatter = reduce(add, (space.n_rows * space.column_covariance for space in spaces))
        return (principal_axes(scatter, n_components)[1],) * len(domains)
    xp = array_namespace(spaces[0].axes)
    factors = [space.axes * xp.sqrt(space.variances * space.n_rows)[None, :] for space in spaces]
    factor = xp.concat(factors, axis=1)
    values, axes = principal_axes(factor.mT @ factor, n_components)
    if float(xp.min(values)) <= 1e-14 * float(xp.max(values)):
        # of domains whose scales are far apart some values are lost to rounding
        return (xp.linalg.qr(factor @ axes)[0],) * len(domains)
    return (factor @ axes / xp.sqrt(values)[None, :],) * len(domains)


def source_pls(domains: tuple[DomainView, ...], n_components: int) -> tuple[Array, ...]:
    """Partial least squares of the labels of all sources, shared by all domains.

    Where fewer directions explain the labels, the directions of largest target variance in their
    orthogonal complement are added.

    Parameters
    ----------
    domains : tuple of DomainView
        The sources, then the target.
    n_components : int
        Number of directions.

    Returns
    -------
    tuple of array of shape (d, n_components)
        The same basis for each domain.
    """
    sources = domains[:-1] or domains
    rows, codes, rank = _labelled_rows(sources)
    n_possible = min(n_components, rank)
    indicators = label_binarize(codes, classes=np.arange(codes.max() + 1))
    pls = PLSRegression(n_components=n_possible, scale=False)
    with warnings.catch_warnings():
        # the labels may be explained before all directions are found
        warnings.filterwarnings("ignore", "[yY] residual is constant", UserWarning)
        weights = pls.fit(to_numpy(rows), indicators.astype(float)).x_weights_
    weights = weights[:, np.any(weights, axis=0)]
    directions = like(weights, rows)
    directions = sources[0].space.lift(directions) if len(sources) == 1 else directions
    xp = array_namespace(directions)
    basis, _ = xp.linalg.qr(directions)
    n_missing = n_components - basis.shape[1]
    if n_missing:
        others = _axes_besides(domains[-1].space, basis, n_missing)
        basis, _ = xp.linalg.qr(xp.concat([basis, others], axis=1))
    return (basis,) * len(domains)


def _labelled_rows(sources: tuple[DomainView, ...]) -> tuple[Array, np.ndarray, int]:
    """Labelled rows, centred, and their classes and rank: in coordinates if there is one source."""
    found = [each.domain.coordinates(each.space) for each in sources]
    codes = np.concatenate([each.domain.labelled_codes for each in sources])
    if len(sources) > 1:
        pairs = zip(sources, found, strict=True)
        found = [view.space.lift(rows.mT).mT for view, rows in pairs]
    rows = array_namespace(found[0]).concat(found, axis=0) if len(found) > 1 else found[0]
    return rows, codes, max(each.space.rank for each in sources)


def _axes_besides(space: RowSpace, basis: Array, n_axes: int) -> Array:
    """Directions of largest variance in the orthogonal complement of an orthonormal basis."""
    xp = array_namespace(basis)
    if space.basis is None:  # the leading axes only, but the covariance of all columns
        rest = space.covariance - basis @ (basis.mT @ space.covariance)
        return principal_axes(rest - (rest @ basis) @ basis.mT, n_axes)[1]
    spread = space.axes * xp.sqrt(space.variances)[None, :]
    rest = spread - basis @ (basis.mT @ spread)
    return xp.linalg.svd(rest, full_matrices=False)[0][:, :n_axes]


def class_means(domains: tuple[DomainView, ...], n_components: int) -> tuple[Array, ...]:
    r"""Principal axes of the target; source bases that align the class means with the target's.

    For domains of different columns. The source basis is the polar factor of
    :math:`\bar X_s^\top\bar X_tW_t`, the product of the class means. Its rank is below the number
    of classes, so a small multiple of some source axes is added. Nothing relates those to the
    target: the last of the 512 leading ones (or of all, if fewer) are used, in which the source
    varies little, so that they hardly add to distances across domains.

    Parameters
    ----------
    domains : tuple of DomainView
        The sources, then the target, with labelled rows in all.
    n_components : int
        Number of axes.

    Returns
    -------
    tuple of array of shape (d, n_components)
        One basis per domain.
    """
    *sources, target = domains
    target_basis = target.space.axes[:, :n_components]
    bases = (_aligned_basis(source, target, target_basis) for source in sources)
    return (*bases, target_basis)


def _aligned_basis(source: DomainView, target: DomainView, target_basis: Array) -> Array:
    """Basis of a source whose projected class means agree with those of the target."""
    n_components = target_basis.shape[1]
    source_means, target_means = shared_class_means(source, target)
    cross = source_means.mT @ (target_means @ target.space.restrict(target_basis))
    cross = source.space.lift(cross)
    xp = array_namespace(cross)
    size = float(xp.linalg.vector_norm(cross))
    last = min(source.space.axes.shape[1], max(FILLING_AXES, n_components))
    axes = source.space.axes[:, max(last - n_components, 0) : last]
    if axes.shape[1] < n_components:  # only where the columns are shared, else there are enough
        axes = xp.concat([axes, target_basis[:, axes.shape[1] :]], axis=1)
    return Stiefel(cross.shape[0], n_components).project(cross / (size or 1.0) + 1e-3 * axes)


def shared_class_means(source: DomainView, target: DomainView) -> tuple[Array, Array]:
    """Means of the classes that have labelled rows in both domains.

    Parameters
    ----------
    source, target : DomainView
        The domains.

    Returns
    -------
    source_means, target_means : array of shape (n_shared, k)
        In the coordinates of each domain.
    """
    shared = np.intersect1d(source.labelled_classes, target.labelled_classes)
    return source.class_means(shared), target.class_means(shared)


def source_gain(source: DomainView, target: DomainView, bases: tuple[Array, Array]) -> float:
    """Factor of a source that gives its projected class means the norm of the target's.

    Parameters
    ----------
    source, target : DomainView
        Domains of different columns.
    bases : tuple of array
        Their initial projections.

    Returns
    -------
    float
        1 where the means of either are zero.
    """
    both = shared_class_means(source, target)
    sizes = [
        float(np.linalg.norm(to_numpy(means @ view.space.restrict(basis))))
        for means, view, basis in zip(both, (source, target), bases, strict=True)
    ]
    return sizes[1] / sizes[0] if min(sizes) > 0 else 1.0


INITS: Mapping[str, Init] = MappingProxyType(
    {
        "target-pca": target_pca,
        "joint-pca": joint_pca,
        "pls": source_pls,
        "class-means": class_means,
    }
)
"""Initial projections by name."""


def initial_projections(
    init: Any, domains: tuple[DomainView, ...], n_components: int, *, shares_features: bool
) -> tuple[Array, ...]:
    """Orthonormal initial projections.

    Parameters
    ----------
    init : str or tuple of array-like
        A name, resolved by :func:`resolve_init`; or one array per domain.
    domains : tuple of DomainView
        The sources, then the target.
    n_components : int
        Dimension of the latent space.
    shares_features : bool
        Whether the columns of the domains mean the same.

    Returns
    -------
    tuple of array of shape (d, n_components)
        One per domain.
    """
    if not isinstance(init, str):
        return _given(init, domains, n_components)
    if init != "class-means" and not shares_features:
        raise ValueError(
            f"init={init!r} shares one basis, but the domains have different features; use "
            'init="class-means" or give two arrays.'
        )
    if init == "class-means" and (len(domains) == 1 or domains[-1].domain.n_labelled == 0):
        raise ValueError(
            'init="class-means" aligns labelled rows of two domains, but the target has no '
            "labels; pass yt or use another init."
        )
    return INITS[init](domains, n_components)


def resolve_init(init: Any, n_domains: int, *, shares_features: bool) -> Any:
    """Name of an initialisation, or one array per domain; their entries are not checked.

    Parameters
    ----------
    init : str, array-like of shape (d, p), or tuple or list of them
        As the user gave it.
    n_domains : int
        Number of domains.
    shares_features : bool
        Whether the columns of the domains mean the same.

    Returns
    -------
    str or tuple of array-like
        ``"auto"`` is resolved.
    """
    if isinstance(init, str):
        if init != "auto":
            return init
        return "target-pca" if shares_features else "class-means"
    if isinstance(init, tuple | list) and any(isinstance(each, str) for each in init):
        raise ValueError(
            f"init must be one name ({', '.join(INITS)}) or arrays, but is {init!r}: a name "
            "initialises all projections."
        )
    # a list is one array too, unless it holds arrays
    if isinstance(init, tuple) or (isinstance(init, list) and init and np.ndim(init[0]) == 2):
        given = tuple(init)
    else:
        given = (init,) * n_domains
    if len(given) != n_domains:
        raise ValueError(
            f"init must hold one array per domain, {n_domains} here, but holds {len(given)}."
        )
    return given


def _given(
    given: tuple[Any, ...], domains: tuple[DomainView, ...], n_components: int
) -> tuple[Array, ...]:
    """Check projections passed by the user, and orthonormalise them."""
    bases = []
    for position, (array, view) in enumerate(zip(given, domains, strict=True)):
        name = "source" if position < max(len(domains) - 1, 1) else "target"
        name = f"{name} {position + 1}" if name == "source" and len(domains) > 2 else name
        host = np.asarray(to_numpy(array), dtype=float)
        expected = (view.space.n_features, n_components)
        if host.shape != expected:
            raise ValueError(
                f"The init of the {name} projection must have shape {expected}, one row per column "
                f"of the data and one column per component, but has shape {host.shape}."
            )
        if not np.isfinite(host).all() or np.linalg.matrix_rank(host) < n_components:
            raise ValueError(
                f"The init of the {name} projection must be finite and of full column rank "
                f"{n_components}, but is not: its columns cannot be made orthonormal."
            )
        bases.append(Stiefel(*expected).project(like(host, view.space.axes)))
    return tuple(bases)


def kissme(statistics: PairStatistics) -> np.ndarray:
    r"""Metric that tells similar from dissimilar differences by their likelihood ratio.

    .. math:: M = \Sigma_{\text{similar}}^{-1} - \Sigma_{\text{dissimilar}}^{-1}

    made positive definite, and scaled so that similar pairs keep their mean distance
    :cite:p:`koestinger2012`.

    Parameters
    ----------
    statistics : PairStatistics
        Covariances of the differences.

    Returns
    -------
    ndarray of shape (p, p)
        The metric.
    """
    p = statistics.similar_covariance.shape[0]
    similar, dissimilar = statistics.similar_covariance, statistics.dissimilar_covariance
    usable = np.isfinite(similar).all() and np.isfinite(dissimilar).all()
    if not usable or np.trace(similar) <= 0:  # no such pairs, or equal rows only
        return np.eye(p)
    floor = 1e-6 * np.trace(similar) / p * np.eye(p)
    metric = np.linalg.inv(similar + floor) - np.linalg.inv(dissimilar + floor)
    metric = SPD(p, floor=1e-3).project(metric)
    return metric * (np.trace(similar) / np.sum(metric * similar))
