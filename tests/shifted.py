"""A small problem with two domains, for tests of estimators."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import expm


class Shifted(NamedTuple):
    """Source rows and labels, target rows and their true labels; all arrays are read-only."""

    X: np.ndarray
    y: np.ndarray
    Xt: np.ndarray
    yt: np.ndarray

    @property
    def mixed(self):
        """All rows at once, the target's labels masked by -1, and the domain of each row."""
        n, nt = len(self.X), len(self.Xt)
        return (
            np.concatenate([self.X, self.Xt]),
            np.concatenate([self.y, np.full(nt, -1)]),
            np.concatenate([np.full(n, 1), np.full(nt, -2)]),
        )

    def marked(self, mark, n_labelled=6):
        """Target labels as a list, with `mark` for all but the first few."""
        return [each if i < n_labelled else mark for i, each in enumerate(self.yt.tolist())]


def shifted(seed=0, *, n=30, nt=24, d=6, n_classes=3):
    """Gaussian classes; in the target they are rotated a little and far away."""
    rng = np.random.default_rng(seed)
    y, yt = np.arange(n) % n_classes, np.arange(nt) % n_classes
    means = 3 * rng.standard_normal((n_classes, d))
    skew = 0.1 * rng.standard_normal((d, d))
    X = rng.standard_normal((n, d)) + means[y]
    Xt = (rng.standard_normal((nt, d)) + means[yt]) @ expm(skew - skew.T) + 2
    for array in (X, y, Xt, yt):
        array.setflags(write=False)
    return Shifted(X, y, Xt, yt)
