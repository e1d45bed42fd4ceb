"""Labelled rows that stay on the workers, in partitions of equal size."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ilspace.scale import Moments, row_moments

PARTITION = 2048
"""Labelled rows per partition, whatever the chunks of the data, so that sums do not depend on
these. The pairs of two partitions keep a worker busy for some hundredths of a second, much longer
than the overhead of a task."""


class Partition(NamedTuple):
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


def cut_partitions(blocks: Sequence[Any], codes: Sequence[Any], *, counts: np.ndarray) -> list[Any]:
    """Cut the labelled rows of a domain into partitions of equal size.

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
        One :class:`Partition` each; blocks without labels are not computed.
    """
    from dask.delayed import delayed

    labelled, cut = delayed(labelled_rows), delayed(slice_rows)
    holders = np.flatnonzero(counts).tolist()
    if not holders:
        return []
    chosen = [labelled(blocks[i], codes[i]) for i in holders]
    ends = np.cumsum(counts[holders])
    starts = ends - counts[holders]
    partitions = []
    for start, stop in pairwise([*range(0, int(ends[-1]), PARTITION), int(ends[-1])]):
        first = int(np.searchsorted(ends, start, side="right"))
        last = int(np.searchsorted(ends, stop))
        partitions.append(
            cut(chosen[first : last + 1], start - int(starts[first]), size=stop - start)
        )
    return partitions


def labelled_rows(rows: np.ndarray, codes: np.ndarray) -> Partition:
    """Labelled rows of a block.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        All rows of the block.
    codes : ndarray of shape (n,)
        Their classes, -1 for rows without a label.

    Returns
    -------
    Partition
        Single precision is kept; all other types are converted to double precision.
    """
    kept = codes >= 0
    dtype = np.float32 if rows.dtype == np.float32 else np.float64
    return Partition(np.asarray(rows[kept], dtype=dtype), codes[kept])


def slice_rows(blocks: list[Partition], begin: int, *, size: int) -> Partition:
    """Some consecutive rows of the labelled rows of several blocks.

    Parameters
    ----------
    blocks : list of Partition
        Labelled rows of consecutive blocks.
    begin : int
        The first row.
    size : int
        Number of rows.

    Returns
    -------
    Partition
        An owned copy, so that the blocks can be released.
    """
    whole = map(np.concatenate, zip(*blocks, strict=True))
    return Partition(*(each[begin : begin + size].copy() for each in whole))


def of_classes(partition: Partition, positions: np.ndarray) -> Partition:
    """Rows of some classes, with other codes.

    Parameters
    ----------
    partition : Partition
        Labelled rows.
    positions : ndarray of int, shape (n_classes,)
        New code of each class; -1 for the classes to leave out.

    Returns
    -------
    Partition
        Without the rows of these.
    """
    codes = positions[partition.codes]
    return Partition(partition.rows[codes >= 0], codes[codes >= 0])


def weighted_moments(partition: Partition, *, class_weights: np.ndarray) -> list[Moments]:
    """Moments of the rows of a partition, in a list that is empty where it has none.

    Parameters
    ----------
    partition : Partition
        Labelled rows.
    class_weights : ndarray of shape (n_classes,)
        Weights of the rows of each class.

    Returns
    -------
    list of Moments
        In double precision.
    """
    if not len(partition.codes):
        return []
    return [row_moments(partition.rows.astype(np.float64), class_weights[partition.codes])]


def sampled_rows(
    rows: np.ndarray, codes: np.ndarray | None, chosen: np.ndarray, wanted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Some rows of a block, and one of each of some classes.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        All rows of the block.
    codes : ndarray of shape (n,) or None
        Their classes, -1 for rows without a label; None where none has one.
    chosen : ndarray of int
        Indices of the rows.
    wanted : ndarray of int
        Classes that have rows in the block.

    Returns
    -------
    rows : ndarray of shape (m, d)
        In double precision.
    codes : ndarray of shape (m,)
        Their classes.
    """
    codes = np.full(len(rows), -1) if codes is None else codes
    first = [int(np.argmax(codes == code)) for code in wanted]
    indices = np.unique(np.concatenate([chosen, np.array(first, dtype=np.int64)]))
    return np.asarray(rows[indices], dtype=np.float64), codes[indices]


def class_sums(partition: Partition, mean: np.ndarray, *, n_classes: int) -> tuple[np.ndarray]:
    """Sums of the centred rows of each class.

    Parameters
    ----------
    partition : Partition
        Labelled rows.
    mean : ndarray of shape (d,)
        Mean of the domain.
    n_classes : int
        Number of classes.

    Returns
    -------
    tuple of one ndarray of shape (n_classes, d)
        The sums.
    """
    member = np.arange(n_classes)[:, None] == partition.codes[None, :]
    return (member.astype(np.float64) @ (partition.rows - mean),)


def coordinates(partition: Partition, mean: np.ndarray, *, basis: np.ndarray | None) -> Partition:
    """Centre rows and express them in the basis in which the objective is minimised.

    Parameters
    ----------
    partition : Partition
        Labelled rows.
    mean : ndarray of shape (d,)
        Mean of the domain.
    basis : ndarray of shape (d, k) or None
        The basis; None for the columns themselves.

    Returns
    -------
    Partition
        In double precision.
    """
    centred = partition.rows.astype(np.float64) - mean
    return Partition(centred if basis is None else centred @ basis, partition.codes)


def latent_rows(partition: Partition, mean: np.ndarray, *, mapping: np.ndarray) -> Partition:
    """Send the rows of a partition to the latent space.

    Parameters
    ----------
    partition : Partition
        Labelled rows.
    mean : ndarray of shape (d,)
        Mean of the domain.
    mapping : ndarray of shape (d, p)
        Map of centred rows.

    Returns
    -------
    Partition
        With rows of the dtype of the map.
    """
    rows = partition.rows.astype(mapping.dtype, copy=False)
    return Partition((rows - mean) @ mapping, partition.codes)
