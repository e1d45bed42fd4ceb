"""Data of the benchmark of labels: two domains, and the half of the target that is never asked."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ilspace.benchmark.field.trials import load_pair
from ilspace.benchmark.protocols import PER_CLASS, TRANSFERS, gong_split
from ilspace.datasets import preprocess

_HELD_OUT = 2
"""What is drawn, as part of the seed; the field benchmark has 0 and 1."""


def take_rows(table: Any, rows: np.ndarray) -> Any:
    """Some rows of a table or an array.

    Parameters
    ----------
    table : DataFrame or array of n rows
        All rows.
    rows : int array of shape (m,)
        Positions.

    Returns
    -------
    DataFrame or array of m rows
        The chosen ones; those of a table are numbered anew.
    """
    return table.iloc[rows].reset_index(drop=True) if hasattr(table, "iloc") else table[rows]


@dataclass(frozen=True, eq=False)
class LabelTrial:
    """Data of one trial.

    Attributes
    ----------
    X, y : DataFrame or array of n rows, array of shape (n,)
        Labelled rows of the source.
    Xt, yt : DataFrame or array of nt rows, array of shape (nt,)
        Rows of the target, and their labels, which are told when they are asked for.
    held_out : int array of shape (nt // 2,)
        Target rows that are never asked about, and on which accuracy is measured. Without their
        labels they are part of the target, as in all experiments here.
    """

    X: Any
    y: np.ndarray
    Xt: Any
    yt: np.ndarray
    held_out: np.ndarray


def load_label_trial(
    pair: str, trial: int, preprocessing: str = "", most_rows: int = 0
) -> LabelTrial:
    """Load and draw the data of one trial.

    Parameters
    ----------
    pair : str
        Data set, source and target, such as ``"office-surf/A-W"``; target rows of classes that the
        source lacks do not take part. Of a source of Office+Caltech10, as many rows per class are
        drawn as in the unsupervised protocol; of others, all are labelled.
    trial : int
        Index of the trial, which draws these and the held-out rows.
    preprocessing : str, default=""
        As for :func:`ilspace.datasets.preprocess`, by which a table becomes an array; empty for
        tables as they are.
    most_rows : int, default=0
        Rows of each domain that are drawn where there are more; 0 for no limit.

    Returns
    -------
    LabelTrial
        The data.
    """
    (X, y), (Xt, yt) = load_pair(pair)
    source = np.arange(len(y))
    dataset, _, names = pair.partition("/")
    if dataset.startswith("office-"):
        domains = tuple(names.split("-"))
        seed = (TRANSFERS.index(domains), trial)
        source = gong_split(y, yt, per_class=PER_CLASS[domains[0]], seed=seed).source
    # a key for each row, as in the other protocols: Generator.permutation may change
    generator = np.random.Generator(np.random.PCG64((zlib.crc32(pair.encode()), trial, _HELD_OUT)))
    if most_rows:
        order = np.argsort(generator.random(len(source)), kind="stable")
        source = source[np.sort(order[:most_rows])]
    target = np.flatnonzero(np.isin(yt, np.unique(y[source])))
    drawn = np.argsort(generator.random(len(target)), kind="stable")
    if most_rows:
        drawn = drawn[:most_rows]
        target, drawn = target[np.sort(drawn)], np.argsort(np.argsort(drawn))
    tables: list[Any] = [X, Xt]
    if preprocessing:
        # of whole domains, as in the paper's experiments
        tables = [preprocess(each.to_numpy(), preprocessing) for each in tables]
    X, Xt = (take_rows(*each) for each in zip(tables, (source, target), strict=True))
    y, yt = y[source], yt[target]
    return LabelTrial(X, y, Xt, yt, np.sort(drawn[: len(yt) // 2]))
