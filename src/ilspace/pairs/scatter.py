"""Statistics over all pairs, from sums over pieces of the rows."""

from __future__ import annotations

import numpy as np

from ilspace.pairs.statistics import PairStatistics
from ilspace.pairs.weights import pair_totals


def class_scatter(
    latent: np.ndarray, codes: np.ndarray, *, means: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a piece of the rows adds to the spread of each class.

    Parameters
    ----------
    latent : ndarray of shape (n, p)
        Labelled rows of the piece.
    codes : ndarray of shape (n,)
        Their classes, from 0.
    means : ndarray of shape (n_classes, p)
        Means of the classes over all pieces.

    Returns
    -------
    squares, fourths : ndarray of shape (n_classes,)
        Sums of the squared norms of the rows, centred in their class, and of the squares of these.
    scatters : ndarray of shape (n_classes, p, p)
        Sums of their outer products.
    """
    n_classes, p = means.shape
    squares, fourths = np.zeros(n_classes), np.zeros(n_classes)
    scatters = np.zeros((n_classes, p, p))
    for code in np.unique(codes):
        rows = latent[codes == code] - means[code]
        norms = np.sum(rows * rows, axis=1)
        squares[code], fourths[code] = np.sum(norms), np.sum(norms**2)
        scatters[code] = rows.T @ rows
    return squares, fourths, scatters


def scatter_statistics(
    spread: tuple[np.ndarray, np.ndarray, np.ndarray], means: np.ndarray, *, counts: np.ndarray
) -> PairStatistics:
    """Statistics of all pairs from sums over the classes.

    The same as :func:`~ilspace.pairs.pair_statistics` finds of rows that are in one place.

    Parameters
    ----------
    spread : tuple of ndarray
        Sums over all pieces of what :func:`class_scatter` gives.
    means : ndarray of shape (n_classes, p)
        Means of the classes; of any value where a class has no rows.
    counts : ndarray of shape (n_classes,)
        Rows of each class.

    Returns
    -------
    PairStatistics
        Means over unordered pairs.
    """
    squares, fourths, scatters = spread
    counts = np.asarray(counts, dtype=np.float64)
    n_similar, n_dissimilar = pair_totals(np.arange(len(counts)), counts)
    p = means.shape[1]
    similar = np.tensordot(counts, scatters, axes=1)
    offsets = means - counts @ means / counts.sum()
    between = (counts[:, None] * offsets).T @ offsets
    everything = counts.sum() * (np.sum(scatters, axis=0) + between)
    nothing = np.full((p, p), np.nan)
    dissimilar = (everything - similar) / n_dissimilar if n_dissimilar else nothing
    if n_similar == 0:
        return PairStatistics(np.nan, np.nan, nothing, dissimilar)
    mean = counts @ squares / n_similar
    second = counts @ fourths + np.sum(squares**2) + 2 * np.sum(scatters**2)
    variance = max(second / n_similar - mean**2, 0.0)
    return PairStatistics(float(mean), float(variance**0.5), similar / n_similar, dissimilar)
