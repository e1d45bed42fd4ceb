"""From files to labels, a model and a report."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ilspace.ils.rounds import PAIR_ROWS
from ilspace.tables.classifier import JUDGED_ROWS, TableClassifier
from ilspace.tables.diagnosis import Diagnosis, diagnose
from ilspace.tables.errors import TableError, as_table_errors
from ilspace.tables.inputs import PicturePair, read_inputs, refuse_two_standard_inputs
from ilspace.tables.kinds import used_text_features
from ilspace.tables.labels import LabelledTables
from ilspace.tables.members import METHODS
from ilspace.tables.partitioned import PartitionedTable, fit_whole
from ilspace.tables.pictures import PictureOptions
from ilspace.tables.prediction import new_rows, threads_for_rows, with_given
from ilspace.tables.recorded import (
    RecordedLabels,
    expect_by_predictions,
    notes_on_recorded,
    with_recorded,
)
from ilspace.tables.sentences import AUTO
from ilspace.tables.training import COMMITTEE, Step

_SHOWN_ROWS = 5
"""Labelled rows that a notebook shows."""

_FOR_DEVELOPERS = (DeprecationWarning, FutureWarning, PendingDeprecationWarning, ResourceWarning)


@dataclass(frozen=True)
class Listener:
    """Who is told how a job goes; all by default do nothing.

    Attributes
    ----------
    on_stage : callable
        Called with the name of the stage that begins.
    on_step : callable
        Called with a :class:`~ilspace.tables.training.Step` at each iteration of a fit.
    on_count : callable
        Called with how many steps of a stage are done, and of how many.
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
        What :meth:`ilspace.TableClassifier.label_rows` says of the target rows, and in the column
        ``given``, if some target rows had labels, which.
    diagnosis : Diagnosis
        Whether and how it helps.
    warnings : tuple of str
        What was said during the fit.
    seconds : float
        Time it took.
    inputs : dict
        What was asked for.
    whole : PartitionedTable or None
        All rows of the target, where `target` is a sample of them.
    sample_domain : ndarray of shape (n,) or None
        Number of the source of each row of `source`, from 1; None where there is one.
    pictures : PicturePair or None
        Where the pictures of the rows are, if they have some.
    """

    model: TableClassifier
    source: pd.DataFrame
    y: np.ndarray
    target: pd.DataFrame
    yt: np.ndarray | None
    labelled: pd.DataFrame
    diagnosis: Diagnosis
    warnings: tuple[str, ...]
    seconds: float
    inputs: dict[str, Any]
    whole: PartitionedTable | None = None
    pictures: PicturePair | None = None
    sample_domain: np.ndarray | None = None

    def __repr__(self) -> str:
        """The verdict and how much is trusted; the tables would fill pages."""
        return f"<Adaptation: {self.diagnosis.verdict.sentence} {self._trusted()}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, how much is trusted, and some labels."""
        shown = self.labelled.head(_SHOWN_ROWS).to_html(border=0, float_format="%.2f")
        return f"{self.diagnosis.verdict._repr_html_()}<p>{self._trusted()}</p>{shown}"

    def _trusted(self) -> str:
        predicted = self.predicted
        return f"Trusted predictions: {predicted['trusted'].mean():.0%} of {len(predicted)}."

    @property
    def n_target_rows(self) -> int:
        """Rows of the target, in the sample or not."""
        return len(self.target) if self.whole is None else self.whole.n_rows

    @property
    def predicted(self) -> pd.DataFrame:
        """What is said of the rows that had no label; of all, if each had one."""
        return new_rows(self.labelled)


def adapt_files(
    source: str | Path | Sequence[str | Path],
    target: str | Path,
    *,
    label: str | None = None,
    ids: Sequence[str] = (),
    ignored: Sequence[str] = (),
    text: Sequence[str] = (),
    text_features: str = AUTO,
    matching: str = "auto",
    scaling: str = "auto",
    method: str = COMMITTEE,
    class_prior: Mapping[str, float] | str = "auto",
    seed: int = 0,
    partitioned: bool = False,
    pictures: PictureOptions | None = None,
    recorded: RecordedLabels | None = None,
    listener: Listener | None = None,
) -> Adaptation:
    """Learn from two files, or from several sources and a target.

    Parameters
    ----------
    source : str or Path, or sequence of them
        Labelled table, as :func:`~ilspace.tables.read_table` reads it, or folder of pictures; or
        one table per source, which are named as their files are, and of which the columns are used
        that all have.
    target : str or Path
        Table, or folder of pictures, to label.
    label : str, optional
        The column of labels. The target may have it too, with missing values: then its labels
        are used. Folders of pictures need none: a folder in them is a class.
    ids, ignored : sequence of str
        Columns that name rows, and columns to leave out.
    text : sequence of str
        Columns of free text; others are found by their values.
    text_features : {"auto", "tfidf", "wordllama", "both"}, default="auto"
        What describes free text, as for :class:`TableClassifier`.
    matching, scaling : str
        As for :class:`TableClassifier`.
    method : str, default="committee"
        As for :class:`TableClassifier`.
    class_prior : {"auto", "source"} or mapping of str to float, default="auto"
        Shares of the classes in the target, as for :class:`TableClassifier`.
    seed : int, default=0
        Same seed, same result.
    partitioned : bool, default=False
        Whether the target stays in its Parquet files, which Dask reads a partition at a time.
        Columns and trust are then judged by a sample of its rows, and so is the report.
    pictures : PictureOptions, optional
        How pictures become columns, and in which column of a table their paths are.
    recorded : RecordedLabels, optional
        Target labels that ``ilspace label`` recorded.
    listener : Listener, optional
        Who is told how it goes.

    Returns
    -------
    Adaptation
        The model, the labels and what is to be known about them.
    """
    start = time.perf_counter()
    tell = listener or Listener()
    sources = [source] if isinstance(source, str | Path) else list(source)
    refuse_two_standard_inputs(sources, target)
    for names, option in ((ids, "--id"), (ignored, "--ignore"), (text, "--text")):
        if label is not None and label in names:
            raise TableError(
                f"The column of labels must not be left out, nor be a feature, but {label!r} is "
                f"given to {option} too: name it once."
            )
    tell.on_stage("reading")
    read = read_inputs(
        sources,
        target,
        label=label,
        ids=ids,
        seed=seed,
        partitioned=partitioned,
        pictures=pictures,
        on_stage=tell.on_stage,
        on_count=tell.on_count,
    )
    tables, whole, notes, ids = read.tables, read.whole, list(read.notes), read.ids
    if recorded is not None:
        tables = with_recorded(read, recorded)
    source_table, _, target_table, yt, numbers = tables
    if read.pictures is not None and scaling == "auto":
        scaling = read.pictures.embedder.backbone.scaling
    columns = {
        "scaling": scaling,
        "matching": matching,
        "ids": tuple(ids),
        "ignored": tuple(ignored),
        "text": tuple(text),
        "text_features": text_features,
    }
    model = TableClassifier(
        method, class_prior=class_prior, **columns, random_state=seed, callback=_following(tell)
    )
    n_rows = len(source_table) + len(target_table)
    with threads_for_rows(n_rows), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # a source in memory is sent to the workers of a cluster; Dask would have it otherwise
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        # of labels that are almost as many as rows there is a note
        warnings.filterwarnings("ignore", "The number of unique classes is greater", UserWarning)
        tell.on_stage("fitting")
        with as_table_errors():
            model.fit(*tables, source_names=None if numbers is None else tuple(read.sources))
            if whole is not None:
                fit_whole(model, tables, whole)
        if recorded is not None:
            notes += notes_on_recorded(model, recorded)
            if expect_by_predictions(model, tables, recorded) and recorded.were_chosen:
                notes.append(
                    f"The expected accuracy allows for the labels in {recorded.path} having been "
                    "asked for where a model was unsure."
                )
        tell.on_stage("judging")
        with as_table_errors():
            diagnosis = diagnose(model, _judged(tables, seed))
        model.recommended_ = diagnosis.verdict.recommended
        tell.on_stage("labelling")
        labelled = model.label_rows(target_table)
        if yt is not None:
            labelled = with_given(labelled, yt)
    notes += [*_samples(tables, model), *_cautions(model)]
    notes += dict.fromkeys(
        " ".join(str(each.message).split())
        for each in caught
        if not issubclass(each.category, _FOR_DEVELOPERS)
    )
    joined = ", ".join(map(str, sources))
    inputs: dict[str, Any] = {"source": joined, "target": str(target), "label": read.label}
    inputs["seed"] = seed
    inputs |= {"method": method, "scaling": scaling, "columns": matching}
    inputs |= {"id": list(ids), "ignore": list(ignored), "text": list(text)}
    inputs["text_features"] = used_text_features(model.plan_.target, text_features)
    inputs["class_frequencies"] = class_prior if isinstance(class_prior, str) else dict(class_prior)
    inputs["files"] = read.files
    if recorded is not None:
        inputs["labels"] = recorded.about_file()
    if numbers is not None:
        inputs["sources"] = read.sources
    if read.pictures is not None:
        column = None if pictures is None else pictures.column
        inputs["pictures"] = {"column": column, **read.pictures.embedder.about()}
    seconds = time.perf_counter() - start
    told = (labelled, diagnosis, tuple(notes), seconds, inputs, whole, read.pictures, numbers)
    return Adaptation(model, *tables[:4], *told)


def _judged(tables: LabelledTables, seed: int) -> LabelledTables:
    """The tables, with a sample of the target that has all its labels where there are few."""
    if len(tables.target) <= JUDGED_ROWS:
        return tables
    order = np.random.default_rng(seed).permutation(len(tables.target))
    if tables.yt is not None:
        order = order[np.argsort(pd.isna(tables.yt[order]), kind="stable")]
        # half of them at most: rows without labels are to be judged too
        n_labelled = int(pd.notna(tables.yt).sum())
        order = np.delete(order, np.arange(min(JUDGED_ROWS // 2, n_labelled), n_labelled))
    kept = np.sort(order[:JUDGED_ROWS])
    yt = None if tables.yt is None else tables.yt[kept]
    return tables._replace(target=tables.target.iloc[kept], yt=yt)


def _samples(tables: LabelledTables, model: TableClassifier) -> list[str]:
    """What was learned, or judged, by a sample of the rows."""
    said = []
    n, nt = len(tables.source), len(tables.target)
    names = {each.name for each in model.members_ if each.name in METHODS}
    if n > PAIR_ROWS and any(METHODS[each].sums_pairs for each in names):
        said.append(
            f"The source has {n} rows, of which a sample of {PAIR_ROWS} trains the latent space; "
            "self-training draws from all, and logistic regression learns from all."
        )
    if nt > JUDGED_ROWS:
        said.append(
            f"The target has {nt} rows, of which a sample of {JUDGED_ROWS} stands for all where "
            "predictions are judged."
        )
    return said


def _cautions(model: TableClassifier) -> list[str]:
    """What is to be known of the trust in predictions."""
    if not model.trust_.withheld:
        return []
    return [f"No prediction is trusted: {'; '.join(model.trust_.withheld)}."]


def _following(tell: Listener) -> Callable[[Step], object]:
    last: list[str] = []

    def follow(step: Step) -> None:
        if last != [step.member]:
            last[:] = [step.member]
            tell.on_stage(f"fitting {step.member}")
        tell.on_step(step)

    return follow
