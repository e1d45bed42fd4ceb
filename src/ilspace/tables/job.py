"""From two files to labels, a model and a report."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ilspace.adapters import ILSClassifier
from ilspace.selection import LabelFreeSearch
from ilspace.tables.classifier import Step, TableClassifier
from ilspace.tables.diagnosis import Diagnosis, diagnose
from ilspace.tables.errors import TableError
from ilspace.tables.labels import take_source_labels, take_target_labels
from ilspace.tables.reading import STANDARD_INPUT, read_table

if TYPE_CHECKING:
    import pandas as pd

_FOR_DEVELOPERS = (DeprecationWarning, FutureWarning, PendingDeprecationWarning, ResourceWarning)


@dataclass(frozen=True)
class Listener:
    """Who is told how a job goes; all by default do nothing.

    Attributes
    ----------
    on_stage : callable
        Called with the name of the stage that begins.
    on_step : callable
        Called with a :class:`~ilspace.tables.classifier.Step` at each iteration of a fit.
    on_count : callable
        Called with how many parts of a stage are done, and of how many.
    """

    on_stage: Callable[[str], object] = lambda stage: None
    on_step: Callable[[Step], object] = lambda step: None
    on_count: Callable[[int, int], object] = lambda done, total: None


@dataclass(frozen=True)
class Adaptation:
    """All that came of a job.

    Attributes
    ----------
    model : TableClassifier
        Fitted.
    source, target : DataFrame
        The tables.
    y, yt : ndarray
        Their labels; `yt` is None if no target row has one.
    labelled : DataFrame
        What :meth:`TableClassifier.label_rows` says of the target rows.
    diagnosis : Diagnosis
        Whether and how it helps.
    warnings : tuple of str
        What was said during the fit.
    seconds : float
        Time it took.
    """

    model: TableClassifier
    source: pd.DataFrame
    target: pd.DataFrame
    y: np.ndarray
    yt: np.ndarray | None
    labelled: pd.DataFrame
    diagnosis: Diagnosis
    warnings: tuple[str, ...]
    seconds: float


def adapt_files(
    source: str | Path,
    target: str | Path,
    *,
    label: str,
    ids: Sequence[str] = (),
    ignored: Sequence[str] = (),
    matching: str = "auto",
    scaling: str = "auto",
    n_components: int | None = None,
    select: bool = False,
    seed: int = 0,
    listener: Listener | None = None,
) -> Adaptation:
    """Learn from two files.

    Parameters
    ----------
    source, target : str or Path
        Tables, as :func:`~ilspace.tables.read_table` reads them.
    label : str
        The column of labels. The target may have it too, with gaps: then its labels are used.
    ids, ignored : sequence of str
        Columns that name rows, and columns to leave out.
    matching, scaling : str
        As for :class:`TableClassifier`.
    n_components : int, optional
        Dimension of the latent space.
    select : bool, default=False
        Whether to choose the parameters by criteria that see no target label.
    seed : int, default=0
        Same seed, same result.
    listener : Listener, optional
        Who is told how it goes.

    Returns
    -------
    Adaptation
        The model, the labels and what is to be known about them.
    """
    start = time.perf_counter()
    tell = listener or Listener()
    if str(source) == str(target) == STANDARD_INPUT:
        raise TableError("One of the tables may be the standard input, but both are: name a file.")
    tell.on_stage("reading")
    tables = [read_table(each, texts=ids, label=label) for each in (source, target)]
    source_table, y = take_source_labels(tables[0], label, name=str(source))
    target_table, yt = take_target_labels(tables[1], label, classes=np.unique(y))
    model = TableClassifier(
        _estimator(n_components, select, seed, tell),
        scaling=scaling,
        matching=matching,
        ids=tuple(ids),
        ignored=tuple(ignored),
        random_state=seed,
        callback=_following(tell),
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tell.on_stage("choosing parameters" if select else "fitting")
        try:
            model.fit(source_table, y, target_table, yt)
        except TableError:
            raise
        except ValueError as error:  # what is wrong with the rows, the estimator says
            raise TableError(" ".join(str(error).split())) from error
        tell.on_stage("labelling")
        labelled = model.label_rows(target_table)
        tell.on_stage("comparing")
        diagnosis = diagnose(
            model,
            source_table,
            y,
            target=target_table,
            yt=yt,
            predicted=labelled["label"].to_numpy(),
            on_step=tell.on_count,
        )
    said = tuple(
        dict.fromkeys(
            " ".join(str(each.message).split())
            for each in caught
            if not issubclass(each.category, _FOR_DEVELOPERS)
        )
    )
    seconds = time.perf_counter() - start
    return Adaptation(model, source_table, target_table, y, yt, labelled, diagnosis, said, seconds)


def _estimator(n_components: int | None, select: bool, seed: int, tell: Listener) -> Any:
    estimator = ILSClassifier(n_components)
    if not select:
        return estimator
    grid = None if n_components is None else {"metric_weight": [5.0, 20.0, 80.0]}
    return LabelFreeSearch(
        estimator,
        grid,
        random_state=seed,
        callback=lambda done, total, record: tell.on_count(done, total),
    )


def _following(tell: Listener) -> Callable[[Step], object]:
    stages = {"held-out": "fitting without held-out rows", "all": "fitting"}
    last: list[str] = []

    def follow(step: Step) -> None:
        if last != [step.stage]:
            last[:] = [step.stage]
            tell.on_stage(stages[step.stage])
        tell.on_step(step)

    return follow
