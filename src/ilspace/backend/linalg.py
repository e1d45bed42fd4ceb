"""Linear algebra of small symmetric matrices, on any array library."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import array_api_compat
import numpy as np
from scipy import linalg as scipy_linalg
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from ilspace._typing import Array
from ilspace.backend.namespace import array_namespace


def is_linalg_error(error: Exception) -> bool:
    """Tell whether a library gave up on a matrix: singular, not definite, or not finite.

    Parameters
    ----------
    error : Exception
        What was raised.

    Returns
    -------
    bool
        True for the ``LinAlgError`` of NumPy, of SciPy and of torch, which share only their name.
    """
    return type(error).__name__ in ("LinAlgError", "_LinAlgError")


def dot(a: Array, b: Array) -> Array:
    """Sum of the products of the entries of two arrays.

    Parameters
    ----------
    a, b : array of one shape
        The arrays.

    Returns
    -------
    array of shape ()
        The sum.
    """
    xp = array_namespace(a)
    return xp.vecdot(xp.reshape(a, (-1,)), xp.reshape(b, (-1,)))


def symmetric_part(a: Array) -> Array:
    r"""Symmetric part of a square matrix, :math:`(A + A^\top) / 2`.

    Parameters
    ----------
    a : array of shape (p, p)
        Any square matrix.

    Returns
    -------
    array of shape (p, p)
        Its symmetric part.
    """
    return (a + a.mT) / 2


def logdet(a: Array) -> Array:
    """Logarithm of the determinant of a positive definite matrix.

    Parameters
    ----------
    a : array of shape (..., p, p)
        Symmetric positive definite, or a stack of such.

    Returns
    -------
    array of shape (...)
        The logarithm; NaN, and no exception, where the determinant is not positive, so that a
        line search can step back.
    """
    xp = array_namespace(a)
    sign, value = xp.linalg.slogdet(a)
    return xp.where(sign > 0, value, xp.full_like(value, xp.nan))


def inverse(a: Array) -> Array:
    """Inverse of a small, well-conditioned matrix.

    Parameters
    ----------
    a : array of shape (..., p, p)
        Regular, or a stack of such.

    Returns
    -------
    array of shape (..., p, p)
        Its inverse.
    """
    return array_namespace(a).linalg.inv(a)


def identity(size: int, reference: Array) -> Array:
    """Identity matrix of the library, device and type of another array.

    Parameters
    ----------
    size : int
        Number of rows and of columns.
    reference : array
        The array to resemble.

    Returns
    -------
    array of shape (size, size)
        The identity.
    """
    xp = array_namespace(reference)
    return xp.eye(size, dtype=reference.dtype, device=array_api_compat.device(reference))


def spectral_map(a: Array, function: Callable[[Array], Array]) -> Array:
    """Apply a scalar function to the eigenvalues of a symmetric matrix.

    Parameters
    ----------
    a : array of shape (p, p)
        Symmetric.
    function : callable
        Takes the array of eigenvalues, returns as many.

    Returns
    -------
    array of shape (p, p)
        The matrix with the same eigenvectors and the new eigenvalues.
    """
    values, vectors = array_namespace(a).linalg.eigh(a)
    return (vectors * function(values)[None, :]) @ vectors.mT


def principal_axes(a: Array, n_axes: int | None = None) -> tuple[Array, Array]:
    """Largest eigenvalues of a symmetric matrix, in descending order, and their eigenvectors.

    The sign of an eigenvector is arbitrary; here the entry of the largest magnitude is positive,
    so that every library and every machine starts from the same axes.

    Parameters
    ----------
    a : array of shape (d, d)
        Symmetric.
    n_axes : int, optional
        How many; all of them by default.

    Returns
    -------
    values : array of shape (n_axes,)
        Eigenvalues, the largest first.
    vectors : array of shape (d, n_axes)
        Orthonormal columns.
    """
    size = a.shape[0]
    wanted = size if n_axes is None else n_axes
    if not isinstance(a, np.ndarray):
        xp = array_namespace(a)
        values, vectors = xp.linalg.eigh(a)
        return xp.flip(values)[:wanted], upright(xp.flip(vectors, axis=1)[:, :wanted])
    values, vectors = _leading_on_host(a, wanted)
    return values[::-1][:wanted], upright(np.ascontiguousarray(vectors[:, ::-1][:, :wanted]))


def _leading_on_host(a: np.ndarray, wanted: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs in ascending order, those wanted or more.

    Divide and conquer where many are wanted, relatively robust representations, which can stop
    early, where some are, and Lanczos, which never touches the whole matrix but by products, where
    only a few are.
    """
    size = a.shape[0]
    if wanted > size // 4 or size < 256:
        return np.linalg.eigh(a)
    scale = float(np.max(np.abs(a)))
    if wanted <= size // 16 and scale > 0:
        start = np.random.default_rng(0).normal(size=size)  # else it would be drawn each time
        n_kept = max(2 * wanted + 1, 40)
        half = (a / scale).T  # small numbers must not pass for zeros; Fortran's order takes no copy
        multiply = scipy_linalg.get_blas_funcs("symv", (half,))  # reads one half of the matrix
        products = LinearOperator(a.shape, lambda x: multiply(1.0, half, x), dtype=half.dtype)
        with suppress(ArpackError):  # it gave up; what ends is exact to rounding
            values, vectors = eigsh(products, wanted, which="LA", v0=start, ncv=n_kept, tol=1e-13)
            order = np.argsort(values)
            return scale * values[order], vectors[:, order]
    few = (size - wanted, size - 1)
    return scipy_linalg.eigh(a, subset_by_index=few, check_finite=False)


def upright(vectors: Array) -> Array:
    """Turn each column so that its entry of the largest magnitude is positive.

    Parameters
    ----------
    vectors : array of shape (d, k)
        Columns whose sign does not matter.

    Returns
    -------
    array of shape (d, k)
        The same lines, each with a sign that every library agrees on.
    """
    xp = array_namespace(vectors)
    highest, lowest = xp.max(vectors, axis=0), xp.min(vectors, axis=0)
    one = xp.ones_like(highest)
    return vectors * xp.where(-lowest > highest, -one, one)[None, :]
