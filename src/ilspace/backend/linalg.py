"""Linear algebra of small symmetric matrices, on any array library."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache

import array_api_compat
import numpy as np
from scipy import linalg as scipy_linalg
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from threadpoolctl import ThreadpoolController

from ilspace._typing import Array
from ilspace.backend.namespace import array_namespace


def is_linalg_error(error: Exception) -> bool:
    """Tell whether an error means a singular, indefinite or non-finite matrix.

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
    if type(a) is np.ndarray:
        return np.vdot(a, b)
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


def cholesky_frame(a: Array) -> tuple[Array, Array]:
    r"""Cholesky factor of a positive definite matrix, and its inverse.

    Parameters
    ----------
    a : array of shape (p, p)
        Symmetric positive definite.

    Returns
    -------
    root : array of shape (p, p)
        Lower triangular, :math:`A = RR^\top`; NaN where the matrix is.
    unroot : array of shape (p, p)
        :math:`R^{-1}`.

    Raises
    ------
    LinAlgError
        That of the library, where the matrix is not positive definite.
    """
    if not isinstance(a, np.ndarray):
        return _foreign_frames(a)
    # NumPy has no triangular inverse, and its general one takes five times as long
    factorise, invert = _triangular_routines(a.dtype)
    # the transpose, equal since symmetric, is in Fortran order where the matrix is in C order
    root, n_bad = factorise(a.T, lower=True)
    if n_bad:
        raise np.linalg.LinAlgError("The matrix must be positive definite, but is not.")
    return root, invert(root, lower=True)[0]


@cache
def _triangular_routines(kind: np.dtype) -> tuple[Callable, Callable]:
    return tuple(scipy_linalg.get_lapack_funcs(("potrf", "trtri"), dtype=kind))


def _foreign_frames(a: Array) -> tuple[Array, Array]:
    """Cholesky factors and their inverses, of a matrix or a stack, outside NumPy."""
    linalg = array_namespace(a).linalg
    root = linalg.cholesky(a)
    return root, linalg.inv(root)


def logdet_and_inverse(*matrices: Array) -> list[tuple[Array, Array]]:
    """Logarithm of the determinant, and the inverse, of positive definite matrices.

    Parameters
    ----------
    *matrices : array of shape (p, p)
        Symmetric positive definite, all of one size.

    Returns
    -------
    list of tuple of array
        Both for each matrix; all NaN, and no exception, where one is not positive definite, so
        that a line search can shorten its step.
    """
    xp = array_namespace(matrices[0])
    on_host = isinstance(matrices[0], np.ndarray)
    try:
        if on_host:
            frames = [cholesky_frame(each) for each in matrices]
        else:  # on a GPU one call takes as long for all as for one
            roots, unroots = _foreign_frames(xp.stack(matrices))
            frames = [(roots[i, ...], unroots[i, ...]) for i in range(len(matrices))]
    except Exception as error:
        if not is_linalg_error(error):
            raise
        nothing = xp.full_like(matrices[0], xp.nan)
        return [(nothing[0, 0], nothing) for _ in matrices]
    return [
        (2 * xp.sum(xp.log(xp.linalg.diagonal(root))), unroot.mT @ unroot)
        for root, unroot in frames
    ]


def symmetric_exponential(a: Array) -> Array:
    """Exponential of a symmetric matrix.

    Parameters
    ----------
    a : array of shape (p, p)
        Symmetric.

    Returns
    -------
    array of shape (p, p)
        Its exponential, symmetric up to rounding.
    """
    # by matrix products: in tens of dimensions half the time of an eigendecomposition, and far
    # less on a GPU
    if isinstance(a, np.ndarray):
        return scipy_linalg.expm(a)
    xp = array_namespace(a)
    if array_api_compat.is_torch_array(a):
        return xp.linalg.matrix_exp(a)
    return spectral_map(a, xp.exp)


def identity(size: int, reference: Array) -> Array:
    """Identity matrix of the library, device and type of another array.

    Parameters
    ----------
    size : int
        Number of rows and of columns.
    reference : array
        The array to match.

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
    return from_spectrum(function(values), vectors)


def from_spectrum(values: Array, vectors: Array) -> Array:
    r"""Symmetric matrix :math:`V\operatorname{diag}(\lambda)V^\top`.

    Parameters
    ----------
    values : array of shape (k,)
        Eigenvalues.
    vectors : array of shape (p, k)
        Their eigenvectors; all others have the eigenvalue 0.

    Returns
    -------
    array of shape (p, p)
        The matrix.
    """
    return (vectors * values[None, :]) @ vectors.mT


def principal_axes(a: Array, n_axes: int | None = None) -> tuple[Array, Array]:
    """Largest eigenvalues of a symmetric matrix, in descending order, and their eigenvectors.

    The sign of an eigenvector is arbitrary; here the entry of the largest magnitude is positive,
    so that the axes do not depend on library or machine.

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
        return xp.flip(values)[:wanted], fix_signs(xp.flip(vectors, axis=1)[:, :wanted])
    values, vectors = _leading_on_host(a, wanted)
    return values[::-1][:wanted], fix_signs(np.ascontiguousarray(vectors[:, ::-1][:, :wanted]))


def _leading_on_host(a: np.ndarray, wanted: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs in ascending order, those wanted or more.

    Divide and conquer for many, relatively robust representations (a subset of the spectrum) for
    some, and Lanczos (matrix-vector products only) for a few.
    """
    size = a.shape[0]
    if wanted > size // 4 or size < 256:
        return np.linalg.eigh(a)
    scale = float(np.max(np.abs(a)))
    if wanted <= size // 16 and scale > 0:
        start = np.random.default_rng(0).normal(size=size)  # fixed, or each run would differ
        n_kept = max(2 * wanted + 1, 40)
        half = (a / scale).T  # tiny entries must not count as zero; Fortran order needs no copy
        multiply = scipy_linalg.get_blas_funcs("symv", (half,))  # reads one half of the matrix
        products = LinearOperator(a.shape, lambda x: multiply(1.0, half, x), dtype=half.dtype)
        with suppress(ArpackError):  # no convergence: the dense solver below
            values, vectors = eigsh(products, wanted, which="LA", v0=start, ncv=n_kept, tol=1e-13)
            order = np.argsort(values)
            return scale * values[order], vectors[:, order]
    few = (size - wanted, size - 1)
    return scipy_linalg.eigh(a, subset_by_index=few, check_finite=False)


def fix_signs(vectors: Array) -> Array:
    """Fix the sign of each column: its entry of the largest magnitude is positive.

    Parameters
    ----------
    vectors : array of shape (d, k)
        Columns of arbitrary sign, such as eigenvectors.

    Returns
    -------
    array of shape (d, k)
        The same columns up to sign.
    """
    xp = array_namespace(vectors)
    highest, lowest = xp.max(vectors, axis=0), xp.min(vectors, axis=0)
    one = xp.ones_like(highest)
    return vectors * xp.where(-lowest > highest, -one, one)[None, :]


# -- threads -------------------------------------------------------------------------------------

_held = threading.Lock()


@cache
def _controller() -> ThreadpoolController:
    """Find the thread pools once: this takes longer than limiting their threads."""
    return ThreadpoolController()


def threads_allowed() -> int:
    """Count the threads that linear algebra may use now.

    Returns
    -------
    int
        What the environment, or a limit such as :func:`one_thread`, allows; 1 where the linear
        algebra library does not say.
    """
    pools = _controller().select(user_api="blas").info()
    return max((each["num_threads"] for each in pools), default=1)


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit linear algebra, and the loops of scikit-learn, to one thread.

    For matrices of a few hundred rows several threads wait for each other longer than they work,
    above all as NumPy, SciPy and scikit-learn have separate thread pools. The limit is per process,
    so only the outermost context sets and restores it; nested or concurrent ones do nothing.

    Yields
    ------
    None
        While the limit holds.
    """
    if not _held.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1):
            yield
    finally:
        _held.release()


_FEW_ROWS = 6_000
"""Up to so many rows of tables one thread is faster than several."""

_FEW_THREADS = 2
"""Up to so many threads one is used for any number of rows: two gain little, and where other work
shares the processor they wait for each other longer than they work."""

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""How a user asks for a number of threads."""


def threads_for_rows(n_rows: int) -> AbstractContextManager[None]:
    """Limit what is done with tables to one thread where several would not pay.

    Parameters
    ----------
    n_rows : int
        Rows of all tables together.

    Returns
    -------
    context manager
        One thread for few rows, and where there would be two that nobody asked for; else no limit.
    """
    are_asked_for = any(each in os.environ for each in _THREADS)
    is_small = n_rows <= _FEW_ROWS or (threads_allowed() <= _FEW_THREADS and not are_asked_for)
    return one_thread() if is_small else nullcontext()
