"""Labels of rows in Dask collections: classes and codes, block by block."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from ilspace._warnings import warn
from ilspace.backend import is_dask, on_host
from ilspace.dask.rows import row_array, row_blocks
from ilspace.domains.labels import (
    encode_source,
    encode_target,
    label_values,
    missing_labels,
    natural_labels,
)
from ilspace.rules.class_prior import sample_of_classes


def label_blocks(y: Any, rows: Any, *, names: tuple[str, str]) -> list[Any]:
    """Rechunk labels to the blocks of their rows.

    Parameters
    ----------
    y : dask array or series, or array-like, of shape (n,)
        The labels.
    rows : dask.array.Array of shape (n, d)
        The rows, in blocks of known size.
    names : tuple of str
        Names of labels and rows in messages.

    Returns
    -------
    list of Delayed
        One array of labels per block of rows.
    """
    if is_dask(y):
        # a Dask array cannot hold the extension types of pandas
        if hasattr(y, "to_dask_array") and y.ndim == 1 and not isinstance(y.dtype, np.dtype):
            y = y.astype(object)
    else:
        y = label_values(on_host(y))
    labels = row_array(y) if y.ndim == 1 else y
    if y.ndim != 1 or labels.shape[0] != rows.shape[0]:
        raise ValueError(
            f"{names[0]} must have one entry per row of {names[1]}, shape ({rows.shape[0]},), but "
            f"has shape {tuple(labels.shape)}."
        )
    return row_blocks(labels.rechunk((rows.chunks[0],)))


def find_classes(blocks: list[Any]) -> np.ndarray:
    """Classes of the source, in sorted order.

    Parameters
    ----------
    blocks : list of Delayed
        Labels of the source rows.

    Returns
    -------
    ndarray of shape (n_classes,)
        The same as for labels in memory.
    """
    from dask.base import compute
    from dask.delayed import delayed

    found = compute(*(delayed(block_classes)(block) for block in blocks))
    first = 0
    for _, missing, n_rows in found:
        if missing is not None:
            raise ValueError(
                "Every source row must have a label, but y holds None or NaN, first in row "
                f"{first + missing}: drop such rows, or pass them as target rows."
            )
        first += n_rows
    # as objects: strings and numbers of different blocks would become strings
    labels = np.concatenate([each.astype(object) for each, *_ in found if len(each)])
    labels = np.asarray(natural_labels(labels))
    with warnings.catch_warnings():
        # these are the unique labels of each block, so that nearly all differ
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        check_classification_targets(labels)
    return encode_source(labels)[0]


def block_classes(labels: np.ndarray) -> tuple[np.ndarray, int | None, int]:
    """Unique labels of a block, the first missing one, and the number of rows.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Labels of a block of source rows.

    Returns
    -------
    classes : ndarray
        Without the missing ones.
    missing : int or None
        Row of the first missing label.
    n_rows : int
        Number of rows.
    """
    missing = np.flatnonzero(missing_labels(label_values(labels)))
    if len(missing):
        return np.empty(0), int(missing[0]), len(labels)
    return np.unique(np.asarray(natural_labels(labels))), None, len(labels)


def source_codes(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Index of the class of each row of a block.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Labels of a block of source rows, all among the classes.
    classes : ndarray of shape (n_classes,)
        The classes, sorted.

    Returns
    -------
    ndarray of int, shape (n,)
        The codes.
    """
    return np.searchsorted(classes, np.asarray(natural_labels(labels)))


def target_codes(labels: np.ndarray, classes: np.ndarray, *, marked: bool) -> np.ndarray:
    """Code of each target row of a block, -1 for those without a label.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Labels and missing-label markers of a block of target rows.
    classes : ndarray of shape (n_classes,)
        The source classes.
    marked : bool
        Whether some block holds None or NaN; -1 may then be a class.

    Returns
    -------
    ndarray of int, shape (n,)
        The codes.
    """
    return encode_target(labels, classes, len(labels), marked=marked)


def has_missing(labels: np.ndarray) -> bool:
    """Tell whether a block holds None or NaN.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Labels and missing-label markers of target rows.

    Returns
    -------
    bool
        Whether a row is marked by None or NaN.
    """
    return bool(missing_labels(label_values(labels)).any())


def encoded(
    y_blocks: list[list[Any]], yt_blocks: list[Any] | None, *, n_target_blocks: int
) -> tuple[np.ndarray, tuple[list[Any], ...], tuple[np.ndarray, ...]]:
    """Classes, and the codes of all domains, which stay on the workers.

    Parameters
    ----------
    y_blocks : list of list of Delayed
        Labels of each source.
    yt_blocks : list of Delayed or None
        Target labels and missing-label markers; None where no target row has a label.
    n_target_blocks : int
        Number of blocks of the target; 0 without a target.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        The classes.
    codes : tuple of list of Delayed
        For each domain one array per block; an empty list where no row has a label.
    counts : tuple of ndarray of int, shape (n_blocks, n_classes)
        Labelled rows of each class in each block.
    """
    from dask.base import compute, persist
    from dask.delayed import delayed

    classes = find_classes([block for blocks in y_blocks for block in blocks])
    code, count = delayed(source_codes), delayed(block_counts)
    codes: list[list[Any]] = [[code(block, classes) for block in blocks] for blocks in y_blocks]
    codes.append([])
    if yt_blocks is not None:
        # where -1 is a source class, None or NaN in any block means that it is a class in yt too
        ask = -1 in classes.tolist()
        missing = compute(*(delayed(has_missing)(each) for each in yt_blocks if ask))
        code = delayed(target_codes)
        codes[-1] = [code(block, classes, marked=any(missing)) for block in yt_blocks]
    (codes,) = persist(codes)
    (counts,) = compute([[count(each, len(classes)) for each in domain] for domain in codes])
    if yt_blocks is None:
        counts[-1] = np.zeros((n_target_blocks, len(classes)), dtype=np.int64)
    return classes, tuple(codes), tuple(map(np.array, counts))


MOST_LABELLED = 20_000
"""Labelled rows of all domains up to which all their pairs are compared."""

PAIR_ROWS = 10_000
"""Rows that are drawn of more."""


def thinned(
    codes: Sequence[list[Any]], counts: Sequence[np.ndarray]
) -> tuple[Sequence[list[Any]], Sequence[np.ndarray]]:
    """Leave the labels of a sample, where all pairs of labelled rows would be too many.

    Parameters
    ----------
    codes : sequence of list of Delayed
        For each domain one array per block; an empty list where no row has a label.
    counts : sequence of ndarray of int, shape (n_blocks, n_classes)
        Labelled rows of each class in each block.

    Returns
    -------
    codes : sequence of list
        The same, with -1 for labelled rows that were not drawn: of each domain as large a share of
        its rows, at least two of them, and one of each class.
    counts : sequence of ndarray
        Those of the drawn rows.
    """
    from dask.base import compute

    total = sum(int(each.sum()) for each in counts)
    if total <= MOST_LABELLED:
        return codes, counts
    warn(
        f"All pairs of {total} labelled rows would take too long: the loss over pairs, and the "
        f"nearest neighbours, are those of a random sample of {PAIR_ROWS}. Means and covariances "
        "are of all rows."
    )
    rng = np.random.default_rng(0)  # a fit of all pairs draws nothing either
    found, left = [], []
    for blocks, count in zip(codes, counts, strict=True):
        whole = [np.asarray(each) for each in compute(*blocks)]
        if count.sum() == 0:
            found.append(blocks)
            left.append(count)
            continue
        joined = np.concatenate(whole)
        labelled = np.flatnonzero(joined >= 0)
        n_most = max(PAIR_ROWS * len(labelled) // total, count.shape[1], 2)
        drawn = labelled[sample_of_classes(joined[labelled], n_most, rng)]
        kept = np.full(len(joined), -1)
        kept[drawn] = joined[drawn]
        parts = np.split(kept, np.cumsum([len(each) for each in whole])[:-1])
        found.append(parts)
        left.append(np.array([block_counts(each, count.shape[1]) for each in parts]))
    return found, left


def block_counts(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Labelled rows of each class in a block.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Codes, -1 for rows without a label.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of shape (n_classes,)
        The counts.
    """
    return np.bincount(codes[codes >= 0], minlength=n_classes)
