"""The baselines reach the paper's rows, to two points, on the preprocessing that suits them."""

import numpy as np
import pytest
from accuracy.office_caltech import surf_trials

from ilspace.baselines import CDLS, CORAL, GFK, HFA, MMDT, SourceOnly, SubspaceAlignment, TargetOnly

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("ilspace_data")]


@pytest.mark.parametrize(
    ("name", "estimator", "setting", "preprocessing", "paper"),
    [
        ("SVM-s", SourceOnly("svm"), "unsupervised", "l1-zscore", 38.92),
        ("GFK-PLS", GFK(), "unsupervised", "l1-zscore", 42.50),
        ("SA", SubspaceAlignment(), "unsupervised", "sqrt-zscore-l2", 44.24),
        ("CORAL", CORAL(), "unsupervised", "sqrt-zscore-l2", 46.66),
        ("SVM-t", TargetOnly("svm"), "semi-supervised", "l1-zscore", 48.86),
        ("HFA", HFA(), "semi-supervised", "l1-zscore", 48.11),
        ("MMDT", MMDT(), "semi-supervised", "l1-zscore", 52.45),
        ("CDLS", CDLS(), "semi-supervised", "l1-zscore", 53.46),
    ],
)
def test_mean_over_twelve_transfers(name, estimator, setting, preprocessing, paper):
    scores = [
        100 * estimator.fit(*given).score(*hidden)
        for given, hidden in surf_trials(preprocessing, setting)
    ]
    print(f"{name}, {preprocessing}: {np.mean(scores):.2f}, the paper's {paper:.2f}")
    assert np.mean(scores) >= paper - 2
