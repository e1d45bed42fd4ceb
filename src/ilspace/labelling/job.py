"""What is to be labelled: the tables, the model of them, and where labels go."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ilspace.estimators.saving import load
from ilspace.labelling.label_file import LabelFile, recorded_again
from ilspace.tables.answer import LABELS, MODEL, SUMMARY, Answer
from ilspace.tables.classifier import TableClassifier
from ilspace.tables.columns import plan_columns
from ilspace.tables.encoding import Encoded
from ilspace.tables.estimates import Estimate, compare_columns
from ilspace.tables.inputs import Inputs, read_inputs
from ilspace.tables.pair import Pair
from ilspace.tables.pictures import are_pictures
from ilspace.tables.reading import STANDARD_INPUT
from ilspace.tables.results import found_again, inputs_of, read_again, with_recorded
from ilspace.tables.values import TableError

_DIGITS = "1234567890"
"""Keys of classes, as they lie on a keyboard."""


@dataclass(frozen=True)
class LabellingJob:
    """A labelled table, or several, and one that gets labels.

    Attributes
    ----------
    read : Inputs
        The tables and the labels that they came with.
    paths : tuple of Path
        Files of the source, or of each of several, and last that of the target.
    labels_path : Path
        Where labels go.
    model : TableClassifier
        What learns; fitted in results.
    inputs : dict
        What the results were asked for; empty without results.
    folder : Path or None
        Where the results are.
    answer : Answer or None
        The results; None where there are none, or nobody knows any more which labels they are from.
    """

    read: Inputs
    paths: tuple[Path, ...]
    labels_path: Path
    model: TableClassifier
    inputs: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    answer: Answer | None = None

    @property
    def pair(self) -> Pair:
        """The tables and the labels that they came with."""
        return self.read.pair

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The classes, in the order of their keys."""
        return tuple(map(str, self.pair.classes))

    @property
    def label(self) -> str:
        """Name of the column of labels."""
        return str(self.pair.label)

    @property
    def target_path(self) -> Path:
        """File of the target."""
        return self.paths[-1]

    @property
    def target(self) -> Any:
        """Rows of the target, as they were read."""
        return self.pair.target

    @property
    def n_rows(self) -> int:
        """Rows of the target."""
        return len(self.pair.known)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Columns of the target that identify rows."""
        if self.answer is not None:
            return self.answer.model.plan_.ids
        named = ("ids", "ignored", "keep", "text", "matching")
        options = {name: getattr(self.model, name) for name in named}
        return plan_columns(self.pair.source, self.target, **options).ids

    @property
    def pictures(self) -> Path | None:
        """Folder that paths of pictures start from, where they are the rows; else it is unknown."""
        return self.read.pictures and self.read.pictures.target.folder

    @cached_property
    def given(self) -> dict[int, str]:
        """Labels that the target came with, by number of the row, from 1."""
        known = self.pair.known
        return {row + 1: self.classes[known[row]] for row in np.flatnonzero(known >= 0).tolist()}

    @property
    def keys(self) -> tuple[str, ...]:
        """Key of each class, empty from the eleventh on; classes that are digits have their own."""
        free = iter([each for each in _DIGITS if each not in self.classes])
        return tuple(
            each if len(each) == 1 and each in _DIGITS else next(free, "") for each in self.classes
        )

    def open_labels(self) -> LabelFile:
        """Open the file of labels, or get ready to make it."""
        sha256 = self.read.files["target"]["sha256"]
        about = {"column": self.label, "rows": self.n_rows, "sha256": sha256}
        found = LabelFile(self.labels_path, about)
        for row, label in found.answers.labels.items():
            if label not in self.classes or not 0 < row <= self.n_rows:
                raise TableError(
                    f"{self.labels_path} must hold classes of the source, but row {row} has "
                    f"{label!r}: correct that line, or move the file away."
                )
        return found


def open_job(
    paths: Sequence[Path], *, label: str | None = None, options: Mapping[str, Any] | None = None
) -> LabellingJob:
    """Read what is to be labelled.

    Parameters
    ----------
    paths : sequence of Path
        A folder of results of ``ilspace adapt``; or two files, source and target.
    label : str, optional
        The column of labels; with two files only.
    options : mapping, optional
        Parameters of :class:`~ilspace.tables.TableClassifier`; with two files only.

    Returns
    -------
    LabellingJob
        The tables and where labels go.

    Raises
    ------
    TableError
        In one sentence, whatever is missing or has changed.
    """
    if len(paths) == 1:
        if label is not None or options:
            raise TableError(
                "The column of labels and what columns are is known of a folder of results, but "
                "an option says it again: leave --label, --id, --ignore and --text out."
            )
        return _job_of_results(Path(paths[0]))
    if len(paths) != 2:
        raise TableError(
            "A folder of results or two files must be named, source and target, but "
            f"{len(paths) or 'nothing'} is: for instance ilspace label out/."
        )
    source, target = (Path(each) for each in paths)
    if STANDARD_INPUT in (str(source), str(target)):
        raise TableError("Tables to label from must be files, but one is the standard input.")
    if label is None and not (are_pictures(source, None) and are_pictures(target, None)):
        raise TableError("With two files --label must name the column of labels: add it.")
    settings: dict[str, Any] = dict(options or {})
    for name, option in (("ids", "--id"), ("ignored", "--ignore")):
        if label in settings.get(name, ()):
            raise TableError(
                f"The column of labels must not be left out, but {label!r} is given to {option} "
                "too: name it once."
            )
    read = read_inputs(source, target, label=label, ids=settings.pop("ids", ()))
    if read.pictures is not None:
        settings["scaling"] = read.pictures.embedder.backbone.scaling
    model = TableClassifier(ids=read.pair.ids, **settings)
    labels_path = target.parent / f"{target.name}.{LABELS}"
    return LabellingJob(read, (source, target), labels_path, model)


def _job_of_results(folder: Path) -> LabellingJob:
    """Find the tables that results came from, and their model."""
    inputs = inputs_of(folder)
    remedy = f"name two files, ilspace label SOURCE TARGET --label {inputs['label']}"
    paths = found_again(folder, inputs, remedy=remedy)
    read = read_again(folder, inputs, paths)
    model: Any = load(folder / MODEL)
    answer = _answer_of_results(folder, inputs, read, model)
    places = (*paths.sources, paths.target)
    return LabellingJob(read, places, folder / LABELS, model, inputs, folder, answer)


def _answer_of_results(
    folder: Path, inputs: dict[str, Any], read: Inputs, model: TableClassifier
) -> Answer | None:
    """What a job found, from its files; None if it is lost which target labels it knew."""
    notes: list[str] = []
    if "labels" in inputs:
        try:
            read, notes = with_recorded(read, recorded_again(folder, inputs["labels"]))
        except TableError:
            return None
    pair = read.pair
    encoded = Encoded(model.encode(pair.source, "source"), model.encode(pair.target))
    said = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    interval = said["expected_accuracy_interval"]
    estimate = Estimate(
        said["held_out_source_accuracy"],
        said["expected_accuracy"],
        interval and tuple(interval),
        said["n_target_labels"],
        said["tables_told_apart"],
        compare_columns(model.plan_, pair),
    )
    return Answer(
        model,
        pair,
        encoded,
        model.rule_.votes(encoded.target),
        estimate,
        inputs,
        tuple(each for each in said["notes"] if each not in notes),
        said["seconds"],
        said["changed_by_own_scaling"],
        pictures=read.pictures,
    )
