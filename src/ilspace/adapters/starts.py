"""Where the optimization begins; it decides where it ends.

Nothing in the objective gives two separate bases a correspondence, so without target labels the
two projections must start from one shared basis, and where the domains have different columns
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
class StartingDomain:
    """What a start may look at in one domain.

    Attributes
    ----------
    space : RowSpace
        Centre, principal axes and coordinates.
    labelled : array or sparse matrix of shape (n, d)
        The labelled rows.
    codes : ndarray of shape (n,)
        Their classes.
    weights : ndarray of shape (n,)
        Their weights.
    """

    space: RowSpace
    labelled: Array
    codes: np.ndarray
    weights: np.ndarray

    @cached_property
    def rows(self) -> Array:
        """Coordinates of the labelled rows, of shape (n, k); most starts never ask."""
        return self.space.coordinates(self.labelled)


FILLING_AXES = 512
"""Leading axes that :func:`class_means` looks at, unless it needs more; all would take long."""

Start = Callable[[tuple[StartingDomain, ...], int], tuple[Array, ...]]
"""Takes the domains and the number of components; returns one orthonormal basis a domain."""


def target_pca(domains: tuple[StartingDomain, ...], n_components: int) -> tuple[Array, ...]:
    """Principal axes of the target, shared by all domains.

    The best start for domains of the same columns: the target has the rows to be labelled.

    Parameters
    ----------
    domains : tuple of StartingDomain
        The source, then the target.
    n_components : int
        Number of axes.

    Returns
    -------
    tuple of array of shape (d, n_components)
        The same basis for each domain.
    """
    return (domains[-1].space.axes[:, :n_components],) * len(domains)


def joint_pca(domains: tuple[StartingDomain, ...], n_components: int) -> tuple[Array, ...]:
    """Principal axes of all domains together, each centred, shared by all.

    On Office+Caltech10 one or two points behind :func:`target_pca` without target labels, about
    equal with some.

    Parameters
    ----------
    domains : tuple of StartingDomain
        The source, then the target.
    n_components : int
        Number of axes.

    Returns
    -------
    tuple of array of shape (d, n_components)
        The same basis for each domain.
    """
    spaces = [domain.space for domain in domains]
    # without a basis a space has some axes only, but the covariance of all columns
    partial = any(space.basis is None for space in spaces)
    if partial or spaces[0].n_features <= sum(space.axes.shape[1] for space in spaces):
        scatter = reduce(add, (space.n_rows * space.column_covariance for space in spaces))
        return (principal_axes(scatter, n_components)[1],) * len(domains)
    xp = array_namespace(spaces[0].axes)
    factors = [space.axes * xp.sqrt(space.variances * space.n_rows)[None, :] for space in spaces]
    factor = xp.concat(factors, axis=1)
    values, axes = principal_axes(factor.mT @ factor, n_components)
    return (factor @ axes / xp.sqrt(values)[None, :],) * len(domains)


def source_pls(domains: tuple[StartingDomain, ...], n_components: int) -> tuple[Array, ...]:
    """Partial least squares of the source labels, shared by all domains.

    Where fewer directions explain the labels, what the target varies most in besides completes
    them.

    Parameters
    ----------
    domains : tuple of StartingDomain
        The source, then the target.
    n_components : int
        Number of directions.

    Returns
    -------
    tuple of array of shape (d, n_components)
        The same basis for each domain.
    """
    source = domains[0]
    rows = to_numpy(source.rows)
    n_possible = min(n_components, source.space.rank)
    indicators = label_binarize(source.codes, classes=np.arange(source.codes.max() + 1))
    pls = PLSRegression(n_components=n_possible, scale=False)
    with warnings.catch_warnings():
        # the labels may be explained before all directions are found
        warnings.filterwarnings("ignore", "[yY] residual is constant", UserWarning)
        weights = pls.fit(rows, indicators.astype(float)).x_weights_
    weights = weights[:, np.any(weights, axis=0)]
    directions = source.space.lift(like(weights, source.rows))
    xp = array_namespace(directions)
    basis, _ = xp.linalg.qr(directions)
    n_missing = n_components - basis.shape[1]
    if n_missing:
        others = _axes_besides(domains[-1].space, basis, n_missing)
        basis, _ = xp.linalg.qr(xp.concat([basis, others], axis=1))
    return (basis,) * len(domains)


def _axes_besides(space: RowSpace, basis: Array, n_axes: int) -> Array:
    """What a domain varies most in besides the directions of an orthonormal basis."""
    xp = array_namespace(basis)
    if space.basis is None:  # it has some axes only, but the covariance of all columns
        rest = space.covariance - basis @ (basis.mT @ space.covariance)
        return principal_axes(rest - (rest @ basis) @ basis.mT, n_axes)[1]
    spread = space.axes * xp.sqrt(space.variances)[None, :]
    rest = spread - basis @ (basis.mT @ spread)
    return xp.linalg.svd(rest, full_matrices=False)[0][:, :n_axes]


def class_means(domains: tuple[StartingDomain, ...], n_components: int) -> tuple[Array, ...]:
    r"""Principal axes of the target; the source is turned so that the class means agree.

    For domains of different columns. The source basis is the polar factor of
    :math:`\bar X_s^\top\bar X_tW_t`, the product of the class means. Its rank is below the number
    of classes, so a little of some source axes is added. Nothing relates those to the target:
    the last of the 512 leading ones are taken, or of all where there are fewer, in which the
    source varies little, so that they hardly add to distances across domains.

    Parameters
    ----------
    domains : tuple of StartingDomain
        The source, then the target, with labelled rows in both.
    n_components : int
        Number of axes.

    Returns
    -------
    tuple of array of shape (d, n_components)
        The two bases.
    """
    source, target = domains
    target_basis = target.space.axes[:, :n_components]
    source_means, target_means = shared_class_means(source, target)
    cross = source_means.mT @ (target_means @ target.space.restrict(target_basis))
    cross = source.space.lift(cross)
    xp = array_namespace(cross)
    size = float(xp.linalg.vector_norm(cross))
    last = min(source.space.axes.shape[1], max(FILLING_AXES, n_components))
    axes = source.space.axes[:, max(last - n_components, 0) : last]
    if axes.shape[1] < n_components:  # only where the columns are shared, else there are enough
        axes = xp.concat([axes, target_basis[:, axes.shape[1] :]], axis=1)
    basis = Stiefel(cross.shape[0], n_components).project(cross / (size or 1.0) + 1e-3 * axes)
    return basis, target_basis


def shared_class_means(source: StartingDomain, target: StartingDomain) -> tuple[Array, Array]:
    """Means of the classes that have labelled rows in both domains.

    Parameters
    ----------
    source, target : StartingDomain
        The domains.

    Returns
    -------
    source_means, target_means : array of shape (n_shared, k)
        In the coordinates of each domain.
    """
    shared = np.intersect1d(source.codes, target.codes)

    def means(domain: StartingDomain) -> Array:
        member = (shared[:, None] == domain.codes[None, :]) * domain.weights
        return like(member / member.sum(axis=1, keepdims=True), domain.rows) @ domain.rows

    return means(source), means(target)


STARTS: Mapping[str, Start] = MappingProxyType(
    {
        "target-pca": target_pca,
        "joint-pca": joint_pca,
        "pls": source_pls,
        "class-means": class_means,
    }
)
"""Starting projections by name."""


def is_named(start: object, *names: str) -> bool:
    """Tell a start by its name.

    Parameters
    ----------
    start : object
        What the user gave as one.
    *names : str
        The names.

    Returns
    -------
    bool
        Whether it is one of them; arrays have no name.
    """
    return isinstance(start, str) and start in names


def on_target_axes(start: object, shares_features: bool) -> bool:
    """Tell whether all projections begin at the principal axes of the target.

    Parameters
    ----------
    start : object
        What the user gave as a start.
    shares_features : bool
        Whether the columns of the domains mean the same.

    Returns
    -------
    bool
        The leading axes of a domain then suffice, where it has no labelled rows.
    """
    return shares_features and is_named(start, "auto", "target-pca")


def start_arrays(start: object, n_domains: int) -> tuple[Any, ...]:
    """Projections given by the user, one a domain; what is in them is not looked at.

    Parameters
    ----------
    start : array-like of shape (d, p), or tuple or list of them
        One for all domains, or one a domain.
    n_domains : int
        How many domains there are.

    Returns
    -------
    tuple of array-like
        As many.
    """
    if isinstance(start, tuple | list) and any(isinstance(each, str) for each in start):
        raise ValueError(
            f"start must be one name ({', '.join(STARTS)}) or arrays, but is {start!r}: the name "
            "of a start says where both projections begin."
        )
    # a list is one array too, unless it holds arrays
    if isinstance(start, tuple) or (isinstance(start, list) and start and np.ndim(start[0]) == 2):
        given = tuple(start)
    else:
        given = (start,) * n_domains
    if len(given) != n_domains:
        raise ValueError(
            f"start must be one array, or one a domain ({n_domains}), but holds {len(given)}."
        )
    return given


def given_start(
    given: tuple[Any, ...], domains: tuple[StartingDomain, ...], n_components: int
) -> tuple[Array, ...]:
    """Check projections given by the user, and make them orthonormal.

    Parameters
    ----------
    given : tuple of array-like of shape (d, p)
        One a domain.
    domains : tuple of StartingDomain
        The source, then the target.
    n_components : int
        The number p of columns expected.

    Returns
    -------
    tuple of array of shape (d, n_components)
        One basis a domain.
    """
    bases = []
    for name, array, domain in zip(("source", "target"), given, domains, strict=False):
        host = np.asarray(to_numpy(array), dtype=float)
        expected = (domain.space.n_features, n_components)
        if host.shape != expected:
            raise ValueError(
                f"The start of the {name} projection must have shape {expected}, one row a column "
                f"of the data and one column a component, but has shape {host.shape}."
            )
        if not np.isfinite(host).all() or np.linalg.matrix_rank(host) < n_components:
            raise ValueError(
                f"The start of the {name} projection must be finite and of full column rank "
                f"{n_components}, but is not: its columns cannot be made orthonormal."
            )
        bases.append(Stiefel(*expected).project(like(host, domain.space.axes)))
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
