"""1-NN on the labelled target rows equals the paper's row: features and splits are the paper's."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from ilspace.benchmark.protocols import TRANSFERS, hoffman_splits
from ilspace.datasets import load_office_caltech, preprocess

# Row "1-NN-t" of the paper's semi-supervised SURF table, in the order of TRANSFERS.
PAPER = [34.5, 33.6, 19.7, 29.5, 35.9, 18.9, 27.1, 33.4, 18.6, 29.2, 33.5, 34.1]


def mean_accuracy(X, y, splits):
    """Mean accuracy in percent over the splits, of 1-NN that sees labelled target rows only."""
    scores = [
        KNeighborsClassifier(1, algorithm="brute")
        .fit(X[split.labelled], y[split.labelled])
        .score(X[split.test], y[split.test])
        for split in splits
    ]
    return 100 * np.mean(scores)


@pytest.mark.usefixtures("ilspace_data")
def test_one_nn_target_equals_the_papers_row():
    domains = load_office_caltech("surf")
    X = {letter: preprocess(domain.X, "l1-zscore") for letter, domain in domains.items()}
    found = [
        round(mean_accuracy(X[target], domains[target].y, hoffman_splits(source, target)), 1)
        for source, target in TRANSFERS
    ]
    assert found == PAPER
