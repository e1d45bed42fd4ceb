"""What the method learns: one affine map per domain to a common latent space."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ilspace._typing import Array
from ilspace.backend import array_namespace, is_foreign, like, spectral_map, to_numpy
from ilspace.ils.dictionary import Dictionary
from ilspace.ils.problem import ILSProblem
from ilspace.manifolds import Stiefel
from ilspace.optimizers import Solution

_MOST_ENTRIES = 2**22
"""Number of entries that are centred at once."""


@dataclass(frozen=True)
class ILSMap:
    r"""Maps of all domains to the invariant latent space.

    A row x of domain i is sent to :math:`s_i M^{1/2}W_i^\top(x - \mu_i)`, so that Euclidean
    distance there is the learned one; with a dictionary, to a sparse combination of its atoms.

    Attributes
    ----------
    means : tuple of array of shape (d,)
        Mean :math:`\mu_i` of each domain; the sources, then the target.
    projections : tuple of array of shape (d, p)
        Projection :math:`W_i` of each domain.
    scales : tuple of float
        Factor :math:`s_i` of the centred rows of each domain.
    metric : array of shape (p, p)
        Mahalanobis metric M of the latent space.
    sharpness : float
        Sharpness :math:`\beta` of the loss that was minimised.
    solution : Solution
        The solution of the optimization, in the floating type of the computation.
    maps : tuple of array of shape (d, p)
        :math:`s_iW_iM^{1/2}`.
    dictionary : Dictionary, optional
        Atoms of the latent space.
    """

    means: tuple[Array, ...]
    projections: tuple[Array, ...]
    scales: tuple[float, ...]
    metric: Array
    sharpness: float
    solution: Solution
    maps: tuple[Array, ...]
    dictionary: Dictionary | None = None

    @classmethod
    def from_solution(cls, problem: ILSProblem, solution: Solution, dtype: Any) -> ILSMap:
        """Make the maps of a solution.

        Parameters
        ----------
        problem : ILSProblem
            What was solved.
        solution : Solution
            Where a solver ended, in the coordinates of the problem.
        dtype : data type
            Floating type of the maps.

        Returns
        -------
        ILSMap
            With projections of rows.
        """
        solution = solution._replace(point=problem.lift(solution.point))
        n = len(problem.spaces)
        projections, metric = solution.point[:n], solution.point[n]
        root = spectral_map(metric, array_namespace(metric).sqrt)
        return cls(
            tuple(as_dtype(space.mean, dtype) for space in problem.spaces),
            tuple(as_dtype(each, dtype) for each in projections),
            problem.scales,
            as_dtype(metric, dtype),
            problem.hinge.sharpness,
            solution,
            tuple(
                as_dtype(scale * each @ root, dtype)
                for scale, each in zip(problem.scales, projections, strict=True)
            ),
        )

    def with_mean_projection(self, shares: np.ndarray) -> ILSMap:
        r"""The same with the mean of the other projections in place of the last.

        Parameters
        ----------
        shares : ndarray of shape (n_domains - 1,)
            Weights of the other domains.

        Returns
        -------
        ILSMap
            The last domain is projected by the minimiser of :math:`\sum_s w_s\|W - W_s\|_F^2` on
            the Stiefel manifold.
        """
        n, point = len(self.means), self.solution.point
        others, metric = point[: n - 1], point[n]
        mean = Stiefel(*point[0].shape).mean(others, shares.tolist())
        root = spectral_map(metric, array_namespace(metric).sqrt)
        dtype = self.projections[-1].dtype
        return replace(
            self,
            projections=(*self.projections[:-1], as_dtype(mean, dtype)),
            maps=(*self.maps[:-1], as_dtype(self.scales[-1] * mean @ root, dtype)),
            solution=self.solution._replace(point=(*others, mean, *point[n:])),
        )

    @property
    def n_components(self) -> int:
        """Dimension p of the latent space."""
        return self.metric.shape[0]

    def transform(self, X: Any, domain: int | np.ndarray = -1) -> Array:
        """Send rows to the latent space.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Rows; not checked.
        domain : int or ndarray of int, shape (n,), default=-1
            Index of their domain, -1 for the last, which is the target; or one per row.

        Returns
        -------
        array of shape (n, p)
            In the floating type of the rows.
        """
        return self.combined(to_latent(X, self.means, self.maps, domain))

    def combined(self, latent: Array) -> Array:
        """Latent rows as sparse combinations of atoms.

        Parameters
        ----------
        latent : array of shape (n, p)
            What the maps gave.

        Returns
        -------
        array of shape (n, p)
            The same without a dictionary.
        """
        return latent if self.dictionary is None else self.dictionary.transform(latent)


def to_latent(
    X: Any, means: tuple[Array, ...], maps: tuple[Array, ...], domain: int | np.ndarray
) -> Array:
    """Centre rows and map them, each by the mean and the map of its domain.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows; not checked. Rows of another library are moved to that of the maps.
    means : tuple of array of shape (d,)
        One per domain.
    maps : tuple of array of shape (d, p)
        One per domain.
    domain : int or ndarray of int, shape (n,)
        Index of the domain of all rows, or one per row.

    Returns
    -------
    array of shape (n, p)
        In the floating type of the rows; in double precision, if theirs is too small for it.
    """
    X = _moved(X, maps[-1])
    first, *others = [domain] if np.ndim(domain) == 0 else np.unique(domain).tolist() or [-1]
    latent = _mapped(X, means[first], maps[first])
    for position in others:
        other = _mapped(X, means[position], maps[position])
        chosen = like(np.asarray(domain) == position, latent)[:, None]
        latent = array_namespace(latent).where(chosen, other, latent)
    is_wider = isinstance(latent, np.ndarray) and latent.dtype.itemsize > X.dtype.itemsize
    if is_wider and np.abs(latent).max(initial=0) > np.finfo(X.dtype).max:
        return latent  # of a domain in single precision beside one of a far smaller scale
    return as_dtype(latent, X.dtype)


def as_dtype(array: Array, dtype: Any) -> Array:
    """Convert an array to another floating type, without a copy where it has that type.

    Parameters
    ----------
    array : array
        Of any shape.
    dtype : data type
        The type.

    Returns
    -------
    array
        The same values.
    """
    return array_namespace(array).astype(array, dtype, copy=False)


def _moved(X: Any, reference: Array) -> Any:
    """Rows in the library of the fitted arrays, if they come from another one."""
    if is_foreign(X) == is_foreign(reference):
        return X
    return like(X.toarray() if sparse.issparse(X) else to_numpy(X), reference)


def _mapped(rows: Any, mean: Array, mapping: Array) -> Array:
    """Centre rows and map them; sparse ones stay sparse."""
    if sparse.issparse(rows):
        return rows @ mapping - mean @ mapping
    # OpenBLAS now and then raises the invalid flag in a small single precision product of ordinary
    # numbers, which is correct and raises none when computed again; the rows were checked before
    with np.errstate(invalid="ignore"):
        if not isinstance(rows, np.ndarray) or rows.size <= _MOST_ENTRIES:
            return array_namespace(mapping).matmul(rows - mean, mapping)
        found = np.empty((len(rows), mapping.shape[1]), np.result_type(rows, mean, mapping))
        height = max(1, _MOST_ENTRIES // (4 * rows.shape[1]))
        for top in range(0, len(rows), height):
            each = slice(top, top + height)
            np.matmul(rows[each] - mean, mapping, out=found[each])
        return found
