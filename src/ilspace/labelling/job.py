"""What is to be labelled: the tables, how they are read, and where labels go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ilspace.labelling.label_file import LabelFile
from ilspace.tables import TableClassifier, TableError
from ilspace.tables.inputs import read_inputs
from ilspace.tables.labels import LabelledTables
from ilspace.tables.pictures import PictureOptions, are_pictures
from ilspace.tables.prediction import LABELS
from ilspace.tables.reading import STANDARD_INPUT
from ilspace.tables.results import found_again, inputs_of, pictures_of
from ilspace.tables.sentences import TFIDF

_DIGITS = "1234567890"
"""Keys of classes, as they lie on a keyboard."""


@dataclass(frozen=True)
class LabellingJob:
    """A labelled table, or several, and one that gets labels.

    Attributes
    ----------
    tables : LabelledTables
        The tables and the labels that they came with.
    classes : tuple of str
        The classes, in the order of their keys.
    label : str
        Name of the column of labels.
    paths : tuple of Path
        Files of the source, or of each of several, and last that of the target.
    labels_path : Path
        Where labels go.
    options : dict
        How the committee is made: parameters of
        :class:`~ilspace.tables.TableClassifier`.
    sha256 : str or None
        Digest of the target.
    pictures : Path or None
        Folder that paths of pictures start from, where they are the rows; else it is unknown.
    source_names : tuple of str
        Names of several sources.
    """

    tables: LabelledTables
    classes: tuple[str, ...]
    label: str
    paths: tuple[Path, ...]
    labels_path: Path
    options: dict[str, Any] = field(default_factory=dict)
    sha256: str | None = None
    pictures: Path | None = None
    source_names: tuple[str, ...] = ()

    @property
    def target_path(self) -> Path:
        """File of the target."""
        return self.paths[-1]

    @property
    def n_rows(self) -> int:
        """Rows of the target."""
        return len(self.tables.target)

    @property
    def given(self) -> dict[int, str]:
        """Labels that the target came with, by number of the row, from 1."""
        yt = self.tables.yt
        if yt is None:
            return {}
        return {row: str(each) for row, each in enumerate(yt, start=1) if each is not None}

    @property
    def keys(self) -> tuple[str, ...]:
        """Key of each class, empty from the eleventh on; classes that are digits have their own."""
        free = iter([each for each in _DIGITS if each not in self.classes])
        return tuple(
            each if len(each) == 1 and each in _DIGITS else next(free, "") for each in self.classes
        )

    def sources(self) -> dict[str, Any]:
        """Source rows and their labels, as a fit takes them.

        Returns
        -------
        dict
            ``Xs`` and ``ys``; of several sources lists, and ``source_names``.
        """
        X, y, numbers = self.tables.source, self.tables.y, self.tables.sample_domain
        if numbers is None:
            return {"Xs": X, "ys": y}
        own = [np.flatnonzero(numbers == number) for number in np.unique(numbers)]
        rows, labels = [X.iloc[each] for each in own], [y[each] for each in own]
        return {"Xs": rows, "ys": labels, "source_names": self.source_names}

    def estimator(self) -> TableClassifier:
        """Make what learns, not yet fitted."""
        return TableClassifier(**self.options)

    def open_labels(self) -> LabelFile:
        """Open the file of labels, or get ready to make it."""
        about = {"column": self.label, "rows": self.n_rows, "sha256": self.sha256}
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
    beside = target.parent / f"{target.name}.{LABELS}"
    return _read_job([source], target, label, beside, dict(options or {}))


def _job_of_results(folder: Path) -> LabellingJob:
    """Find the tables that results came from."""
    inputs = inputs_of(folder)
    remedy = f"name two files, ilspace label SOURCE TARGET --label {inputs['label']}"
    found = found_again(folder, inputs, remedy=remedy)
    prior = inputs["class_frequencies"]
    options = {
        "method": inputs["method"],
        "scaling": inputs["scaling"],
        "matching": inputs["columns"],
        "class_prior": prior,
        "ids": tuple(inputs["id"]),
        "ignored": tuple(inputs["ignore"]),
        "text": tuple(inputs["text"]),
        "text_features": inputs.get("text_features", TFIDF),
        "random_state": inputs["seed"],
    }
    known = pictures_of(folder)
    pictures = PictureOptions(known["column"], known["backbone"]) if known else None
    return _read_job(
        found.sources, found.target, inputs["label"], folder / LABELS, options, pictures
    )


def _read_job(
    sources: Sequence[Path],
    target: Path,
    label: str | None,
    labels_path: Path,
    options: dict[str, Any],
    pictures: PictureOptions | None = None,
) -> LabellingJob:
    ids = tuple(options.get("ids", ()))
    for names, option in ((ids, "--id"), (options.get("ignored", ()), "--ignore")):
        if label in names:
            raise TableError(
                f"The column of labels must not be left out, but {label!r} is given to {option} "
                "too: name it once."
            )
    read = read_inputs(sources, target, label=label, ids=ids, pictures=pictures)
    if read.pictures is not None and "scaling" not in options:
        options = options | {"scaling": read.pictures.embedder.backbone.scaling}
    return LabellingJob(
        read.tables,
        tuple(str(each) for each in np.unique(read.tables.y)),
        read.label,
        (*sources, target),
        labels_path,
        options | {"ids": read.ids},
        read.files["target"]["sha256"],
        None if read.pictures is None else read.pictures.target.folder,
        tuple(read.sources),
    )
