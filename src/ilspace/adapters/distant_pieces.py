"""Labelled rows that stay on the workers, in pieces of equal size."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

PIECE = 2048
"""Labelled rows of a piece. The pieces are cut by row number, whatever the chunks of the data, so
that sums over them do not depend on these; the pairs of two pieces keep a worker busy for some
hundredths of a second, much longer than it takes to send it a task."""


class Piece(NamedTuple):
    """Some labelled rows of one domain.

    Attributes
    ----------
    rows : ndarray of shape (n, d)
        The rows.
    codes : ndarray of shape (n,)
        Their classes.
    """

    rows: np.ndarray
    codes: np.ndarray


def cut_pieces(blocks: Sequence[Any], codes: Sequence[Any], *, counts: np.ndarray) -> list[Any]:
    """Cut the labelled rows of a domain into pieces of equal size.

    Parameters
    ----------
    blocks : sequence of Delayed
        All rows of the domain.
    codes : sequence of Delayed
        Their classes, -1 for rows without a label.
    counts : ndarray of shape (n_blocks,)
        Labelled rows of each block.

    Returns
    -------
    list of Delayed
        One :class:`Piece` each; blocks without labels are not asked for.
    """
    from dask.delayed import delayed

    labelled, cut = delayed(labelled_rows), delayed(join_parts)
    holders = np.flatnonzero(counts).tolist()
    if not holders:
        return []
    chosen = [labelled(blocks[i], codes[i]) for i in holders]
    ends = np.cumsum(counts[holders])
    starts = ends - counts[holders]
    pieces = []
    for start, stop in pairwise([*range(0, int(ends[-1]), PIECE), int(ends[-1])]):
        first = int(np.searchsorted(ends, start, side="right"))
        last = int(np.searchsorted(ends, stop))
        pieces.append(cut(chosen[first : last + 1], start - int(starts[first]), size=stop - start))
    return pieces


def labelled_rows(rows: np.ndarray, codes: np.ndarray) -> Piece:
    """Labelled rows of a block.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        All rows of the block.
    codes : ndarray of shape (n,)
        Their classes, -1 for rows without a label.

    Returns
    -------
    Piece
        Single precision stays; all other types become double precision.
    """
    kept = codes >= 0
    dtype = np.float32 if rows.dtype == np.float32 else np.float64
    return Piece(np.asarray(rows[kept], dtype=dtype), codes[kept])


def join_parts(parts: list[Piece], begin: int, *, size: int) -> Piece:
    """Some consecutive rows of the labelled rows of several blocks.

    Parameters
    ----------
    parts : list of Piece
        Labelled rows of consecutive blocks.
    begin : int
        The first row.
    size : int
        How many.

    Returns
    -------
    Piece
        A copy, so that the blocks can be forgotten.
    """
    chosen = slice(begin, begin + size)
    rows = np.concatenate([part.rows for part in parts])[chosen]
    return Piece(rows.copy(), np.concatenate([part.codes for part in parts])[chosen].copy())


def class_sums(piece: Piece, mean: np.ndarray, *, n_classes: int) -> tuple[np.ndarray]:
    """Sums of the centred rows of each class.

    Parameters
    ----------
    piece : Piece
        Labelled rows.
    mean : ndarray of shape (d,)
        Mean of the domain.
    n_classes : int
        How many classes there are.

    Returns
    -------
    tuple of one ndarray of shape (n_classes, d)
        The sums.
    """
    member = np.arange(n_classes)[:, None] == piece.codes[None, :]
    return (member.astype(np.float64) @ (piece.rows - mean),)


def coordinates(piece: Piece, mean: np.ndarray, *, basis: np.ndarray | None) -> Piece:
    """Centre rows and express them in the basis in which the objective is minimised.

    Parameters
    ----------
    piece : Piece
        Labelled rows.
    mean : ndarray of shape (d,)
        Mean of the domain.
    basis : ndarray of shape (d, k) or None
        The basis; None for the columns themselves.

    Returns
    -------
    Piece
        In double precision.
    """
    centred = piece.rows.astype(np.float64) - mean
    return Piece(centred if basis is None else centred @ basis, piece.codes)


def latent_rows(piece: Piece, mean: np.ndarray, *, mapping: np.ndarray) -> Piece:
    """Send the rows of a piece to the latent space.

    Parameters
    ----------
    piece : Piece
        Labelled rows.
    mean : ndarray of shape (d,)
        Mean of the domain.
    mapping : ndarray of shape (d, p)
        Map of centred rows.

    Returns
    -------
    Piece
        With rows of the type of the map.
    """
    rows = piece.rows.astype(mapping.dtype, copy=False)
    return Piece((rows - mean) @ mapping, piece.codes)
