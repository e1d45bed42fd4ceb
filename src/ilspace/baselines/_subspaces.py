"""Subspaces that represent a domain."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.preprocessing import label_binarize
from sklearn.utils._param_validation import StrOptions

from ilspace.backend import fix_signs, principal_axes
from ilspace.baselines._base import LatentBaseline
from ilspace.domains import Domain


def principal_subspace(offsets: np.ndarray, n_components: int) -> np.ndarray:
    """Leading principal axes of centred rows.

    Parameters
    ----------
    offsets : ndarray of shape (n, d)
        Centred rows.
    n_components : int
        Number of axes, at most ``min(n, d)``.

    Returns
    -------
    ndarray of shape (d, n_components)
        Orthonormal columns; those beyond the rank of the rows are arbitrary.
    """
    n, d = offsets.shape
    if d <= n:
        return principal_axes(offsets.T @ offsets, n_components)[1]
    _, left = principal_axes(offsets @ offsets.T, n_components)
    return fix_signs(np.linalg.qr(offsets.T @ left)[0])


def pls_subspace(offsets: np.ndarray, codes: np.ndarray, n_components: int) -> np.ndarray:
    """Span of the directions that partial least squares finds for the labels.

    Parameters
    ----------
    offsets : ndarray of shape (n, d)
        Centred labelled rows.
    codes : ndarray of shape (n,)
        Their classes.
    n_components : int
        Number of directions.

    Returns
    -------
    ndarray of shape (d, n_components)
        Orthonormal columns. Where the labels are explained by fewer directions, the rest are
        principal axes of what is left.
    """
    n_possible = min(n_components, np.linalg.matrix_rank(offsets))
    if n_possible == 0:  # equal rows: there is nothing to find
        return principal_subspace(offsets, n_components)
    indicators = label_binarize(codes, classes=np.arange(max(codes.max() + 1, 3)))
    largest = np.abs(offsets).max()
    scaled = offsets if 1e-50 < largest < 1e50 else offsets / largest  # so that squares are numbers
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        # the labels may be explained before all directions are found
        warnings.filterwarnings("ignore", "[yY] residual is constant", UserWarning)
        pls = PLSRegression(n_components=n_possible, scale=False)
        weights = pls.fit(scaled, indicators.astype(float)).x_weights_
    found = np.any(weights, axis=0) & np.isfinite(weights).all(axis=0)
    basis = np.linalg.qr(weights[:, found])[0]
    n_missing = n_components - basis.shape[1]
    if n_missing:
        rest = offsets - offsets @ basis @ basis.T
        basis = np.linalg.qr(np.hstack([basis, principal_subspace(rest, n_missing)]))[0]
    return basis


SUBSPACES = {"pca": lambda offsets, codes, n: principal_subspace(offsets, n), "pls": pls_subspace}
"""Subspaces of the source, by name."""


def source_subspace(
    basis: object, offsets: np.ndarray, codes: np.ndarray, n_components: int
) -> np.ndarray:
    """Orthonormal basis of the source subspace.

    Parameters
    ----------
    basis : {"pca", "pls"} or array of shape (d, p)
        The parameter of the method.
    offsets : ndarray of shape (n, d)
        Centred rows of the source.
    codes : ndarray of shape (n,)
        Their classes.
    n_components : int
        Number of directions.

    Returns
    -------
    ndarray of shape (d, n_components)
        Orthonormal columns.
    """
    if isinstance(basis, str):
        return SUBSPACES[basis](offsets, codes, n_components)
    given = np.asarray(basis, dtype=float)
    d = offsets.shape[1]
    if given.ndim != 2 or given.shape[0] != d or given.shape[1] > d:
        raise ValueError(
            f"source_basis must have shape ({d}, p), one row per column of the data, but has shape "
            f"{given.shape}."
        )
    if not np.isfinite(given).all() or np.linalg.matrix_rank(given) < given.shape[1]:
        raise ValueError(
            "source_basis must be finite with independent columns, but is not: they must span a "
            "subspace."
        )
    return np.linalg.qr(given)[0]


class SubspaceBaseline(LatentBaseline):
    """Base of methods that start from a subspace of the source and the target's principal one."""

    _parameter_constraints = {"source_basis": [StrOptions(set(SUBSPACES)), "array-like"]}

    n_components: int | None
    source_basis: object

    def _find_subspaces(
        self, source: Domain, target: Domain, default: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Set the means and `n_components_`, and return both bases."""
        offsets, target_offsets = self._center(source, target)
        most = min(*offsets.shape, *target_offsets.shape)
        p = self._check_components(self.n_components, most, default=default)
        basis = source_subspace(self.source_basis, offsets, source.codes, p)
        # a given basis brings a dimension of its own
        self.n_components_ = self._check_components(basis.shape[1], most, default=p)
        return basis, principal_subspace(target_offsets, self.n_components_)
