"""Two small tables with identifiers, numbers, categories, missing values and labels."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from shifted import shifted
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

NUMBERS = ("height", "width", "depth", "weight")
COLOURS = ("red", "green", "blå")
PREDICTED = ("row", "label", "probability", "sure")


def quick():
    """A classifier that takes missing values, and a tenth of the committee's time."""
    return make_pipeline(
        SimpleImputer(keep_empty_features=True), StandardScaler(), LogisticRegression(max_iter=300)
    )


class SmallTables(NamedTuple):
    """Tables as they would be on disk; the target's true labels apart."""

    source: pd.DataFrame
    target: pd.DataFrame
    truth: np.ndarray

    @property
    def features(self):
        """The source without its labels, the labels, and the target: what a fit takes."""
        return self.source.drop(columns="class"), self.source["class"].to_numpy(str), self.target

    def moved(self):
        """The same, with other units of all numbers of the target."""
        target = self.target.copy()
        target[list(NUMBERS)] = 10 + 3 * target[list(NUMBERS)]
        return self._replace(target=target)

    def labelled(self, n_rows):
        """The target with a column of labels that is blank but for the first rows."""
        some = [each if i < n_rows else None for i, each in enumerate(self.truth)]
        return self.target.assign(**{"class": some})


def small_tables(seed=0, *, n=30, nt=24, missing=0.05):
    """Three classes of Gaussian rows and a colour; in the target moved, turned, shuffled."""
    data = shifted(seed, n=n, nt=nt, d=len(NUMBERS))
    rng = np.random.default_rng(seed)
    names = np.array(["ant", "bee", "élan"])
    tables = []
    for X, y, prefix in ((data.X, data.y, "S"), (data.Xt, data.yt, "00")):
        table = pd.DataFrame(X.round(6), columns=list(NUMBERS))
        table = table.mask(rng.random(table.shape) < missing)
        often = rng.random(len(y)) < 0.8
        table["colour"] = np.array(COLOURS)[np.where(often, y, rng.integers(0, 3, len(y)))]
        table.insert(0, "sample", [f"{prefix}{i:03d}" for i in range(len(y))])
        tables.append(table)
    source = tables[0].assign(**{"class": names[data.y]})
    target = tables[1][["colour", "sample", *NUMBERS[::-1]]]
    return SmallTables(source, target, names[data.yt])


def write_csv(folder, tables, target=None):
    """Both tables as files; their paths as strings."""
    paths = str(folder / "source.csv"), str(folder / "target.csv")
    tables.source.to_csv(paths[0], index=False)
    (tables.target if target is None else target).to_csv(paths[1], index=False)
    return paths
