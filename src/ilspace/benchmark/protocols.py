"""Splits of the protocols of Office+Caltech10."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.io

from ilspace.datasets.office_caltech import locate_split

#: The twelve transfers (source, target) in the order of the paper's columns.
TRANSFERS = tuple((source, target) for source in "AWDC" for target in "AWDC" if source != target)

#: Labelled source rows per class in the unsupervised protocol, by source domain.
PER_CLASS = {"A": 20, "C": 20, "D": 8, "W": 8}


@dataclass(frozen=True, eq=False)
class Split:
    """Row indices of one trial, from 0.

    Attributes
    ----------
    source : int array of shape (n_source,)
        Labelled rows of the source.
    labelled : int array of shape (n_labelled,)
        Labelled rows of the target; empty except in the semi-supervised setting.
    test : int array of shape (n_test,)
        Rows of the target whose labels are hidden, and on which accuracy is measured.
    """

    source: np.ndarray
    labelled: np.ndarray
    test: np.ndarray


def first_of_each_class(order: np.ndarray, labels: np.ndarray, per_class: int) -> np.ndarray:
    """Take the first rows of each class.

    Parameters
    ----------
    order : int array of shape (n,)
        Rows in the order in which to take them.
    labels : array of shape (n,)
        Labels of the rows.
    per_class : int
        Number of rows per class.

    Returns
    -------
    int array of shape (n_classes * per_class,)
        Rows, by class.
    """
    classes, counts = np.unique(labels, return_counts=True)
    if counts.min() < per_class:
        raise ValueError(
            f"Every class must have at least {per_class} rows, but class "
            f"{classes[counts.argmin()]} has {counts.min()}: draw fewer per class."
        )
    return np.concatenate([order[labels[order] == label][:per_class] for label in classes])


def gong_split(
    y_source: npt.ArrayLike, y_target: npt.ArrayLike, *, per_class: int, seed: int | Sequence[int]
) -> Split:
    """Draw one trial of the unsupervised protocol of Gong et al. (2012).

    Some labelled source rows of each class are drawn without replacement; the whole target is
    unlabelled, and is also the test set.

    Parameters
    ----------
    y_source : array-like of shape (n_source,)
        Labels of the source.
    y_target : array-like of shape (n_target,)
        Labels of the target; only their number is used.
    per_class : int
        Rows drawn from each class of the source.
    seed : int or sequence of int
        Such as ``(transfer, trial)``. The same seed draws the same rows on every machine and
        with every version of NumPy: only PCG64 and its uniform doubles are used.

    Returns
    -------
    split : Split
        Source rows ascending, no labelled target row, all target rows as test.

    Raises
    ------
    ValueError
        When `per_class` is not positive, or a class has fewer rows.
    """
    labels = np.asarray(y_source)
    if per_class < 1:
        raise ValueError(f"per_class must be at least 1, got {per_class}")
    # Generator.choice may change between versions of NumPy; a key for each row will not.
    keys = np.random.Generator(np.random.PCG64(seed)).random(len(labels))
    rows = np.sort(first_of_each_class(np.argsort(keys, kind="stable"), labels, per_class))
    return Split(rows, np.empty(0, dtype=np.intp), np.arange(len(np.asarray(y_target))))


def gong_splits(
    source: str,
    target: str,
    y_source: npt.ArrayLike,
    y_target: npt.ArrayLike,
    *,
    n_trials: int = 20,
) -> tuple[Split, ...]:
    """Draw the trials of one unsupervised transfer of Office+Caltech10.

    Parameters
    ----------
    source, target : {"A", "C", "D", "W"}
        One of `TRANSFERS`.
    y_source : array-like of shape (n_source,)
        Labels of the source.
    y_target : array-like of shape (n_target,)
        Labels of the target; only their number is used.
    n_trials : int, default=20
        Trials; the first ones are the same whatever their number.

    Returns
    -------
    splits : tuple of Split
        20 source rows per class when the source is A or C, 8 when it is D or W. Trial ``i`` of
        transfer ``k`` has the seed ``(k, i)``.

    Raises
    ------
    ValueError
        When there is no such transfer, or a class has too few rows.
    """
    if (source, target) not in TRANSFERS:
        raise ValueError(
            f"source and target must be two different domains of {', '.join(PER_CLASS)}, "
            f"got {source!r} and {target!r}"
        )
    transfer = TRANSFERS.index((source, target))
    return tuple(
        gong_split(y_source, y_target, per_class=PER_CLASS[source], seed=(transfer, trial))
        for trial in range(n_trials)
    )


def full_source_split(y_source: npt.ArrayLike, y_target: npt.ArrayLike) -> Split:
    """Label every source row and no target row, without any draw.

    This is what the later literature does, so its accuracies cannot be compared with those of
    :func:`gong_splits`.

    Parameters
    ----------
    y_source : array-like of shape (n_source,)
        Labels of the source; only their number is used.
    y_target : array-like of shape (n_target,)
        Labels of the target; only their number is used.

    Returns
    -------
    split : Split
        All source rows, no labelled target row, all target rows as test.
    """
    n_source, n_target = len(np.asarray(y_source)), len(np.asarray(y_target))
    return Split(np.arange(n_source), np.empty(0, dtype=np.intp), np.arange(n_target))


def hoffman_splits(source: str, target: str) -> tuple[Split, ...]:
    """Read the 20 official semi-supervised splits of one transfer, of Hoffman et al. (2013).

    Parameters
    ----------
    source, target : {"A", "C", "D", "W"}
        One of `TRANSFERS`.

    Returns
    -------
    splits : tuple of Split
        20 source rows per class when the source is A, 8 otherwise; 3 labelled target rows per
        class; all other target rows as test. Indices into the rows of
        :func:`ilspace.datasets.load_office_caltech`.

    Raises
    ------
    ValueError
        When there is no such transfer.
    DataMissing, DataCorrupt
        When the file of the splits is missing, or is not the published one.
    """
    content = scipy.io.loadmat(locate_split(source, target), simplify_cells=True)
    train, test = content["train"], content["test"]
    # MATLAB counts from 1, and the files hold uint16.
    trials = zip(train["source"], train["target"], test["target"], strict=True)
    return tuple(
        Split(*(np.asarray(rows, dtype=np.intp) - 1 for rows in trial)) for trial in trials
    )
