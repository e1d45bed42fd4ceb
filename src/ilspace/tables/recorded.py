"""Target labels that were recorded one by one, and what was predicted before each was known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ilspace.active import Asked, Prediction, estimate_accuracy
from ilspace.backend import as_generator
from ilspace.selection.calibration import raised
from ilspace.tables.agreement import LEVEL
from ilspace.tables.classifier import JUDGED_ROWS, TableClassifier
from ilspace.tables.errors import TableError
from ilspace.tables.inputs import TableInputs
from ilspace.tables.labels import LabelledTables

_FEWEST = 5
"""Labels with predictions from which on they say something of the accuracy."""


@dataclass(frozen=True)
class RecordedLabels:
    """Labels of target rows, as ``ilspace label`` records them.

    Attributes
    ----------
    path : Path
        The file that holds them.
    about : mapping
        Of which table they are: the ``column`` of labels, the ``sha256`` of the table.
    labels : mapping of int to str
        By row, from 0.
    predictions : mapping of int to Prediction
        What a model said of rows before their labels were known, by row; rows of no class too.
    of_no_class : tuple of int
        Rows that are of none of the classes.
    n_bytes : int
        Length of the file as it was read; it may grow.
    sha256 : str
        Digest of that much of it.
    """

    path: Path
    about: Mapping[str, Any]
    labels: Mapping[int, str]
    predictions: Mapping[int, Prediction]
    of_no_class: tuple[int, ...] = ()
    n_bytes: int = 0
    sha256: str = ""

    def about_file(self) -> dict[str, Any]:
        """What tells the labels again: path, length and digest."""
        where = str(self.path.absolute())
        return {"path": where, "bytes": self.n_bytes, "sha256": self.sha256}

    @property
    def were_chosen(self) -> bool:
        """Whether rows were asked about that a model was unsure of, not random ones."""
        return any(not each.is_random for each in self.predictions.values())


def with_recorded(read: TableInputs, recorded: RecordedLabels) -> LabelledTables:
    """Give target rows the labels that were recorded for them.

    Parameters
    ----------
    read : TableInputs
        The tables; a label that is there already is replaced.
    recorded : RecordedLabels
        The labels, which must be of this target.

    Returns
    -------
    LabelledTables
        With these labels.
    """
    tables = read.tables
    about = {"column": read.label, "sha256": read.files.get("target", {}).get("sha256")}
    for name, wanted in about.items():
        if recorded.about.get(name) != wanted:
            raise TableError(
                f"{recorded.path} must hold labels of this target, but its {name} is "
                f"{recorded.about.get(name)!r} and not {wanted!r}: name the file that belongs to "
                "the target."
            )
    yt = np.full(len(tables.target), None, dtype=object)
    if tables.yt is not None:
        yt[:] = tables.yt
    known = set(np.unique(tables.y).tolist())
    of_no_class = dict.fromkeys(recorded.of_no_class, None)
    for row, label in (of_no_class | dict(recorded.labels)).items():
        if not 0 <= row < len(yt) or not (label is None or label in known):
            raise TableError(
                f"{recorded.path} must hold classes of the source for rows of the target, but says "
                f"{label or 'other'!r} of row {row + 1}: correct that line."
            )
        yt[row] = label
    return tables._replace(yt=yt if pd.notna(yt).any() else None)


def expect_by_predictions(
    model: TableClassifier, tables: LabelledTables, recorded: RecordedLabels
) -> bool:
    """Correct the expected accuracy by how often earlier predictions were right.

    Rows are shown to be labelled because a model is unsure of them, so that their labels, held out,
    tell too little of the others; :func:`~ilspace.active.estimate_accuracy` allows for it.

    Parameters
    ----------
    model : TableClassifier
        Fitted to the tables; its `agreement_` is changed.
    tables : LabelledTables
        The tables.
    recorded : RecordedLabels
        The labels among those of the target, and what was said of them.

    Returns
    -------
    bool
        Whether there were enough of them; if not, nothing is changed.
    """
    said, has_label = recorded.predictions, np.zeros(len(tables.target), dtype=bool)
    if tables.yt is not None:
        has_label = np.asarray(pd.notna(tables.yt))
    is_new = ~has_label
    is_new[list(recorded.of_no_class)] = False  # of these it is known
    new = np.flatnonzero(is_new)
    if len(said) < _FEWEST or not len(new):
        return False
    asked = Asked(
        np.array([each.confidence for each in said.values()]),
        np.array([each.label == recorded.labels.get(row) for row, each in said.items()]),
        np.array([each.n_learned for each in said.values()]),
        np.array([each.is_random for each in said.values()]),
    )
    some = new
    if len(new) > JUDGED_ROWS:
        some = np.sort(as_generator(model.random_state).permutation(new)[:JUDGED_ROWS])
    members = model.member_probabilities(tables.target.iloc[some])
    average = np.tensordot(model.member_weights_, members, axes=1)
    confidence = raised(average, model.agreement_.inverse_temperature).max(axis=1)
    n_learned = int(np.sum(has_label))
    found = estimate_accuracy(confidence, asked, n_learned, n_rows=len(new), level=LEVEL)
    interval = found.low, found.high
    model.agreement_ = model.agreement_.expecting(found.value, interval, average)
    return True


def notes_on_recorded(model: TableClassifier, recorded: RecordedLabels) -> list[str]:
    """What is to be known of a model that learned from recorded labels.

    Parameters
    ----------
    model : TableClassifier
        Fitted with them.
    recorded : RecordedLabels
        The labels.

    Returns
    -------
    list of str
        Sentences.
    """
    notes = []
    n_others = len(recorded.of_no_class)
    if n_others:
        counted = "1 row was" if n_others == 1 else f"{n_others} rows were"
        notes.append(
            f"In {recorded.path} {counted} said to be of none of the classes; the predictions "
            "name one all the same."
        )
    estimate = model.prior_estimate_
    if estimate is not None and estimate.counted and recorded.were_chosen:
        notes.append(
            "The class frequencies were counted in target labels that were asked for where a model "
            "was unsure, and may be wrong for that: if you know them, give them with "
            "--class-frequencies."
        )
    return notes
