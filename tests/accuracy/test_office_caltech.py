"""Default parameters reach the paper's accuracy, and keep it when the optimizer goes on."""

import warnings
from itertools import islice

import numpy as np
import pytest
from accuracy.office_caltech import N_TRIALS, domains, hide, surf_trials, trial
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier

from ilspace import ILSClassifier
from ilspace.benchmark.protocols import hoffman_splits
from ilspace.datasets import load_digit_pair

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("ilspace_data")]


@pytest.mark.parametrize(
    ("preprocessing", "setting", "wanted"),
    [
        # l1-zscore are the paper's features: its ILS has 45.99 and 55.59
        ("sqrt-zscore-l2", "unsupervised", 47.0),
        ("sqrt-zscore-l2", "semi-supervised", 59.0),
        ("l1-zscore", "unsupervised", 45.5),
        ("l1-zscore", "semi-supervised", 56.0),
    ],
)
def test_the_rule_of_the_paper_over_twelve_transfers(preprocessing, setting, wanted):
    scores = []
    for given, hidden in surf_trials(preprocessing, setting):
        early = ILSClassifier(self_training=0).fit(*given)
        late = ILSClassifier(self_training=0, tol=0, max_iter=5 * early.n_iter_)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it is told not to stop
            late.fit(*given)
        scores.append((100 * early.score(*hidden), 100 * late.score(*hidden)))
    assert len(scores) == 12 * N_TRIALS
    accuracy, five_times_longer = np.mean(scores, axis=0)
    print(f"{preprocessing} {setting}: {accuracy:.2f}, 5 times longer {five_times_longer:.2f}")
    assert accuracy >= wanted
    assert abs(five_times_longer - accuracy) <= 1.0


# of each transfer the first trial alone, which has 52.0, 65.1, 48.2 and 61.0
@pytest.mark.parametrize(
    ("preprocessing", "setting", "wanted"),
    [
        ("sqrt-zscore-l2", "unsupervised", 51.0),
        ("sqrt-zscore-l2", "semi-supervised", 64.0),
        ("l1-zscore", "unsupervised", 47.2),
        ("l1-zscore", "semi-supervised", 60.0),
    ],
)
def test_defaults_over_twelve_transfers(preprocessing, setting, wanted):
    trials = islice(surf_trials(preprocessing, setting), None, None, N_TRIALS)
    scores = [100 * ILSClassifier().fit(*given).score(*hidden) for given, hidden in trials]
    assert len(scores) == 12
    print(f"{preprocessing} {setting}, self-training: {np.mean(scores):.2f}")
    assert np.mean(scores) >= wanted


def one_nn(Xt, yt):
    """1-NN that sees the labelled target rows only."""
    labelled = np.array([label is not None for label in yt])
    return KNeighborsClassifier(1).fit(Xt[labelled], yt[labelled].astype(int))


def gain(trials, rounds):
    """Points that ILS has more than 1-NN on the labelled target rows, mean over the trials."""
    ils = ILSClassifier(self_training=rounds)
    scores = [
        (100 * ils.fit(*given).score(*hidden), 100 * one_nn(*given[2:]).score(*hidden))
        for given, hidden in trials
    ]
    ils, target_only = np.mean(scores, axis=0)
    print(f"ILS {ils:.2f}, 1-NN on the labelled target rows {target_only:.2f}")
    return ils - target_only


@pytest.mark.parametrize(("rounds", "n_splits"), [(0, 20), (2, 4)])
@pytest.mark.parametrize("preprocessing", ["none", "l2", "sqrt-zscore-l2"])
@pytest.mark.parametrize("target", ["W", "D"])
def test_images_of_other_columns_do_no_harm(target, preprocessing, rounds, n_splits):
    surf, decaf6 = domains("surf", "sqrt-zscore-l2"), domains("decaf6", preprocessing)
    assert (surf["A"][0].shape[1], decaf6[target][0].shape[1]) == (800, 4096)
    splits = hoffman_splits("A", target)[:n_splits]
    trials = (trial(surf["A"], decaf6[target], split) for split in splits)
    assert gain(trials, rounds) >= 0


@pytest.mark.parametrize("rounds", [0, 2])
@pytest.mark.parametrize("n_labels", [3, 10])
def test_digits_of_other_columns_do_no_harm(n_labels, rounds):
    digits, mnist = sorted(load_digit_pair(pool=False), key=lambda domain: domain.X.shape[1])
    assert (mnist.X.shape[1], digits.X.shape[1]) == (784, 64)

    def drawn(y, n, rng):
        return np.concatenate([rng.choice(np.flatnonzero(y == k), n, False) for k in range(10)])

    def trials():
        for seed in range(5):
            rng = np.random.default_rng(seed)
            source, labelled = drawn(mnist.y, 100, rng), drawn(digits.y, n_labels, rng)
            rest = np.setdiff1d(np.arange(len(digits.y)), labelled)
            rows = np.concatenate([labelled, rest])
            given = (mnist.X[source], mnist.y[source], digits.X[rows])
            yield (*given, hide(digits.y, labelled, rest)), (digits.X[rest], digits.y[rest])

    assert gain(trials(), rounds) >= 0
