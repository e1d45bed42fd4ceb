"""Data of the field benchmark: tables of both domains, and which target rows have labels."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ilspace.benchmark.field.plan import Setting
from ilspace.benchmark.plan_entries import PlanError
from ilspace.datasets import load_digit_pair, load_office_caltech, load_table_domains
from ilspace.datasets.table_domains import TABLES

if TYPE_CHECKING:
    import pandas as pd

RARE_PERCENT, FEWEST_ROWS = 15, 10
"""Target rows that a rare class keeps: so many percent, and at least so many."""

_RARE, _LABELS = range(2)
"""What is drawn, as part of the seed."""


@dataclass(frozen=True, eq=False)
class FieldSplit:
    """Target rows of one trial.

    Attributes
    ----------
    rows : int array of shape (n,)
        Those that take part, ascending.
    is_labelled : bool array of shape (n,)
        Which of them have labels; the others are test rows.
    """

    rows: np.ndarray
    is_labelled: np.ndarray


def split_target(
    y_source: np.ndarray, y_target: np.ndarray, *, setting: Setting, pair: str, trial: int
) -> FieldSplit:
    """Draw one trial.

    Target rows of classes that the source lacks do not take part. If classes are rare, every
    second one in sorted order keeps 15 % of its target rows, at least 10. Then labels are drawn,
    so many of all rows.

    Parameters
    ----------
    y_source, y_target : array of shape (n_source,), (n_target,)
        All labels.
    setting : Setting
        What is drawn.
    pair : str
        Name of the pair of domains.
    trial : int
        Index of the trial. A pair and a trial draw the same rows on every machine and with every
        version of NumPy: only PCG64 and its uniform doubles are used. Settings with rare classes
        have the same rows.

    Returns
    -------
    FieldSplit
        The rows.
    """
    takes_part = np.isin(y_target, np.unique(y_source))
    classes = np.unique(y_target[takes_part])
    if setting.has_rare_classes:
        order = _order(len(y_target), pair, trial, _RARE)
        for label in classes[1::2]:
            own = order[y_target[order] == label]
            n_kept = max(FEWEST_ROWS, (RARE_PERCENT * len(own) + 50) // 100)
            takes_part[own[n_kept:]] = False
    is_labelled = np.zeros(len(y_target), dtype=bool)
    if setting.n_labels:
        order = _order(len(y_target), pair, trial, _LABELS)
        is_labelled[order[takes_part[order]][: setting.n_labels]] = True
    rows = np.flatnonzero(takes_part)
    return FieldSplit(rows, is_labelled[rows])


def _order(n: int, pair: str, trial: int, what: int) -> np.ndarray:
    """Rows in a random order."""
    # a key for each row, as in the other protocols: Generator.permutation may change
    seed = (zlib.crc32(pair.encode()), trial, what)
    return np.argsort(np.random.Generator(np.random.PCG64(seed)).random(n), kind="stable")


@dataclass(frozen=True, eq=False)
class FieldTrial:
    """Data of one trial.

    Attributes
    ----------
    X, y : DataFrame of n rows, array of shape (n,)
        All rows of the source, and their labels.
    Xt, yt : DataFrame of nt rows, array of shape (nt,) or None
        Target rows, and an object array of their labels, None where hidden; None if all are.
    X_test, y_test : DataFrame of n_test rows, array of shape (n_test,)
        Target rows with hidden labels, and these labels.
    """

    X: pd.DataFrame
    y: np.ndarray
    Xt: pd.DataFrame
    yt: np.ndarray | None
    X_test: pd.DataFrame
    y_test: np.ndarray

    def shares(self) -> dict:
        """True shares of the classes of the source among the test rows, by label."""
        return {label: float(np.mean(self.y_test == label)) for label in np.unique(self.y).tolist()}


def load_field_trial(pair: str, setting: Setting, trial: int) -> FieldTrial:
    """Load and draw the data of one trial.

    Parameters
    ----------
    pair : str
        Data set, source and target, such as ``"heart/cleveland-va"``.
    setting : Setting
        What is drawn.
    trial : int
        Index of the trial.

    Returns
    -------
    FieldTrial
        Tables and labels.
    """
    (X, y), (Xt, yt) = load_pair(pair)
    split = split_target(y, yt, setting=setting, pair=pair, trial=trial)
    Xt, yt = Xt.iloc[split.rows].reset_index(drop=True), yt[split.rows]
    hidden = ~split.is_labelled
    told = None
    if split.is_labelled.any():
        told = yt.astype(object)
        told[hidden] = None
    return FieldTrial(X, y, Xt, told, Xt[hidden].reset_index(drop=True), yt[hidden])


def load_pair(pair: str) -> tuple[tuple[pd.DataFrame, np.ndarray], ...]:
    """Load all rows and labels of two domains.

    Parameters
    ----------
    pair : str
        Such as ``"heart/cleveland-va"``.

    Returns
    -------
    source, target : tuple of DataFrame and array
        Columns as they are, and labels.
    """
    dataset, _, names = pair.partition("/")
    domains = load_tables(dataset)
    source, _, target = names.partition("-")
    for name in (source, target):
        if name not in domains:
            raise PlanError(f"{dataset} has no domain {name!r}; it has {', '.join(domains)}.")
    return domains[source], domains[target]


@lru_cache(maxsize=2)
def load_tables(dataset: str) -> dict[str, tuple[pd.DataFrame, np.ndarray]]:
    """Load all domains of a data set as tables; kept for the next cells of the same process.

    Parameters
    ----------
    dataset : str
        A table of :func:`ilspace.datasets.load_table_domains`, ``"digits"``, or features of
        Office+Caltech10 such as ``"office-surf"``.

    Returns
    -------
    dict
        Rows and labels of each domain.
    """
    if dataset in TABLES:
        return {name: (each.X, each.y) for name, each in load_table_domains(dataset).items()}
    if dataset == "digits":
        return {each.name: (_as_table(each.X), each.y) for each in load_digit_pair()}
    if dataset.startswith("office-"):
        try:
            domains = load_office_caltech(dataset.removeprefix("office-"))
        except ValueError as error:
            raise PlanError(f"There is no data set {dataset!r}: {error}.") from None
        return {name: (_as_table(each.X), each.y) for name, each in domains.items()}
    raise PlanError(
        f"A data set must be digits, office-FEATURES, or one of {', '.join(TABLES)}, but one is "
        f"{dataset!r}."
    )


def _as_table(X: np.ndarray) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(X.astype(np.float64), columns=[f"x{i}" for i in range(X.shape[1])])
