"""Rows of a domain that no fit has seen, centred by their own mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ilspace._typing import Array
from ilspace.backend import array_namespace, like
from ilspace.domains import take_rows
from ilspace.scale import weighted_mean


def batch_centred(X: Any, position: int | np.ndarray, mean: Array) -> Array:
    """Move the rows of an unseen domain so that their mean is that of the fit.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Checked rows.
    position : int or ndarray of int, shape (n,)
        Their domain, -1 for the unseen one; other rows stay as they are.
    mean : array of shape (d,)
        What the map of the unseen domain subtracts.

    Returns
    -------
    array of shape (n, d)
        Dense; itself where no row is of the unseen domain.
    """
    unseen = np.broadcast_to(np.asarray(position) < 0, (X.shape[0],))
    if not unseen.any():
        return X
    if unseen.sum() < 2:
        raise ValueError(
            'unseen_mean="batch" centres the rows of an unseen domain by their own mean, for which '
            "a call needs 2 or more, but there is 1: predict its rows together, or use None."
        )
    X = X.toarray() if sparse.issparse(X) else X
    own = weighted_mean(X if unseen.all() else take_rows(X, np.flatnonzero(unseen)))
    xp = array_namespace(X)
    shift = xp.astype(like(mean, X), X.dtype, copy=False) - own
    return X + like(unseen.astype(float), X)[:, None] * shift[None, :]


def blocks_centred(X: Any, mean: np.ndarray) -> Any:
    """The same for rows of one unseen domain in a Dask array; nothing is computed yet.

    Parameters
    ----------
    X : dask array of shape (n, d)
        Rows, all of the unseen domain.
    mean : ndarray of shape (d,)
        What its map subtracts.

    Returns
    -------
    dask array of shape (n, d)
        The blocks wait for the mean of all of them.
    """
    if not hasattr(X, "chunks"):
        raise ValueError(
            'unseen_mean="batch" needs the mean of all blocks, for which a Dask array is needed, '
            f"but X is a {type(X).__name__}: pass X.to_dask_array(lengths=True), or use None."
        )
    return X + (mean - X.mean(axis=0))[None, :]
