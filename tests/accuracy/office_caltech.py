"""Trials of the official protocols, and how accurate an estimator is on them."""

from functools import cache

import numpy as np

from ilspace.benchmark.protocols import TRANSFERS, gong_splits, hoffman_splits
from ilspace.datasets import load_office_caltech, preprocess

N_TRIALS = 5


@cache
def domains(features, preprocessing):
    """Rows and labels of each domain."""
    return {
        letter: (preprocess(domain.X, preprocessing), domain.y)
        for letter, domain in load_office_caltech(features).items()
    }


def hide(y, labelled, unlabelled):
    """Labels of some target rows, the second half of them hidden."""
    return np.concatenate([y[labelled].astype(object), np.full(len(unlabelled), None)])


def trial(source, target, split):
    """What `fit` takes, and what `score` takes.

    The unlabelled rows are seen at fit, without their labels: this is the protocol.
    """
    (X, y), (Xt, yt) = source, target
    rows = np.concatenate([split.labelled, split.test])
    given = hide(yt, split.labelled, split.test) if len(split.labelled) else None
    return (X[split.source], y[split.source], Xt[rows], given), (Xt[split.test], yt[split.test])


def surf_trials(preprocessing, setting):
    """The first trials of all 12 transfers."""
    data = domains("surf", preprocessing)
    for source, target in TRANSFERS:
        if setting == "unsupervised":
            splits = gong_splits(source, target, data[source][1], data[target][1])
        else:
            splits = hoffman_splits(source, target)
        for split in splits[:N_TRIALS]:
            yield trial(data[source], data[target], split)
