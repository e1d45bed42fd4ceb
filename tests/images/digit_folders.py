"""Digits as PNG files: a folder for each in the first folder, all in one in the second."""

from typing import NamedTuple

import numpy as np
import pytest
from sklearn.datasets import load_digits

from ilspace.datasets import load_digit_pair

Image = pytest.importorskip("PIL.Image")


class DigitFolders(NamedTuple):
    """Folders, and the true digit of each target picture by its name."""

    source: str
    target: str
    truth: dict[str, str]


def write_digits(folder, *, n=60, digits=(0, 1, 7), mnist=False, seed=0):
    """Some digits of scikit-learn, and others of MNIST or, which is faster, turned by 20°."""
    if mnist:
        sides = [(each.X, each.y) for each in load_digit_pair()]
    else:
        X, y = load_digits(return_X_y=True)
        sides = [(X[::2], y[::2]), (X[1::2], y[1::2])]
    rng = np.random.default_rng(seed)
    truth = {}
    for (X, y), name in zip(sides, ("old", "new"), strict=True):
        rows = rng.permutation(np.flatnonzero(np.isin(y, digits)))[:n]
        for count, row in enumerate(rows):
            digit, file = str(y[row]), f"{count:03d}.png"
            place = folder / name / digit if name == "old" else folder / name
            place.mkdir(parents=True, exist_ok=True)
            picture = Image.fromarray(np.uint8(np.round(X[row].reshape(8, 8) * 255 / 16)))
            if name == "new":
                truth[file] = digit
                if not mnist:
                    picture = picture.rotate(20, Image.Resampling.BILINEAR)
            picture.save(place / file)
    return DigitFolders(str(folder / "old"), str(folder / "new"), truth)
