"""From two tables to labels, and what is known of them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ilspace.backend import threads_for_rows
from ilspace.ils.rounds import PAIR_ROWS
from ilspace.tables.answer import Answer
from ilspace.tables.classifier import TableClassifier
from ilspace.tables.encoding import Encoded
from ilspace.tables.estimates import MOST_ROWS, estimate, have_shifted
from ilspace.tables.inputs import Inputs, Table, read_inputs
from ilspace.tables.learning import PooledRule, Step
from ilspace.tables.pair import Pair
from ilspace.tables.pictures import PictureOptions
from ilspace.tables.results import RecordedLabels, with_recorded
from ilspace.tables.values import TableError, as_table_errors

_FOR_DEVELOPERS = (DeprecationWarning, FutureWarning, PendingDeprecationWarning, ResourceWarning)


@dataclass(frozen=True)
class Listener:
    """Who is told how a job goes; all by default do nothing.

    Attributes
    ----------
    on_stage : callable
        Called with the name of the stage that begins.
    on_step : callable
        Called with a :class:`~ilspace.tables.learning.Step` at each iteration of a fit.
    on_count : callable
        Called with how many steps of a stage are done, and of how many.
    """

    on_stage: Callable[[str], object] = lambda stage: None
    on_step: Callable[[Step], object] = lambda step: None
    on_count: Callable[[int, int], object] = lambda done, total: None


def adapt(
    source: Table | Sequence[Table],
    target: Table,
    label: str | None = None,
    *,
    method: Any = "auto",
    kind: str = "auto",
    own_scaling: bool | None = None,
    class_prior: Mapping[str, float] | str = "auto",
    ids: Sequence[str] = (),
    ignored: Sequence[str] = (),
    keep: Sequence[str] = (),
    text: Sequence[str] = (),
    matching: str = "auto",
    scaling: str = "auto",
    random_state: int = 0,
    partitioned: bool = False,
    pictures: PictureOptions | None = None,
    recorded: RecordedLabels | None = None,
    listener: Listener | None = None,
) -> Answer:
    """Label the rows of a table, learning from a labelled table, or several.

    Parameters
    ----------
    source : DataFrame, str or Path, or sequence of them
        Labelled table, as :func:`~ilspace.tables.read_table` reads it, or folder of pictures; or
        one table per source, of which the columns are used that all have.
    target : DataFrame, str or Path
        Table, or folder of pictures, to label.
    label : str, optional
        The column of labels. The target may have it too, with missing values: then its labels
        are used. Folders of pictures need none: a folder in them is a class.
    method : str or estimator, default="auto"
        As for :class:`TableClassifier`.
    kind : {"auto", "table", "features"}, default="auto"
        Likewise.
    own_scaling : bool, optional
        Whether numbers become ranks within their own table. By default they do not, and where most
        numeric columns have shifted the answer says how many labels that would change.
    class_prior : {"auto", "source"} or mapping, default="auto"
        As for :class:`TableClassifier`.
    ids, ignored, keep, text : sequence of str
        Columns that identify rows, to leave out, to use whatever they look like, and of free text.
    matching, scaling : str, default="auto"
        As for :class:`TableClassifier`.
    random_state : int, default=0
        Same number, same result.
    partitioned : bool, default=False
        Whether the target stays in its Parquet files, of which a sample is read here.
    pictures : PictureOptions, optional
        How pictures become columns, and in which column of a table their paths are.
    recorded : RecordedLabels, optional
        Target labels that ``ilspace label`` recorded.
    listener : Listener, optional
        Who is told how it goes.

    Returns
    -------
    Answer
        Labels, the model, and what is known of them.

    Examples
    --------
    >>> import pandas as pd
    >>> import ilspace
    >>> old = pd.DataFrame({"size": [1.0, 1.2, 0.9, 4.0, 4.1, 3.8] * 5, "kind": list("sssbbb") * 5})
    >>> new = pd.DataFrame({"size": [1.1, 3.9, 0.8, 4.2]})
    >>> ilspace.adapt(old, new, label="kind").predictions["label"].tolist()
    ['s', 'b', 's', 'b']
    """
    start, tell = time.perf_counter(), listener or Listener()
    for names, option in ((ids, "--id"), (ignored, "--ignore"), (keep, "--keep"), (text, "--text")):
        if label is not None and label in names:
            raise TableError(
                f"The column of labels must not be left out, nor be a feature, but {label!r} is "
                f"given to {option} too: name it once."
            )
    tell.on_stage("reading")
    read = read_inputs(
        source,
        target,
        label=label,
        ids=ids,
        random_state=random_state,
        partitioned=partitioned,
        pictures=pictures,
        on_stage=tell.on_stage,
        on_count=tell.on_count,
    )
    notes: list[str] = []
    if recorded is not None:
        read, notes = with_recorded(read, recorded)
    if read.pictures is not None and scaling == "auto":
        scaling = read.pictures.embedder.backbone.scaling
    settings: dict[str, Any] = {
        **{"kind": kind, "class_prior": class_prior, "scaling": scaling, "matching": matching},
        **{"ids": read.pair.ids, "ignored": tuple(ignored), "keep": tuple(keep)},
        **{"text": tuple(text), "random_state": random_state},
    }
    model = TableClassifier(
        method, **settings, own_scaling=bool(own_scaling), callback=_following(tell)
    )
    with _heard() as heard, as_table_errors():
        answer = label_pair(model, read, tries=own_scaling is None, listener=tell)
    answer.model.set_params(callback=None)  # whoever was told is not part of the model
    kinds = {"table": "a table of mixed columns", "features": "features of one kind"}
    taken = [f"Taken for {kinds[answer.model.kind_]}; --kind overrules."] if kind == "auto" else []
    notes = [*read.pair.notes, *taken, *answer.model.plan_.notes, *notes, *answer.notes, *heard]
    asked = {"source": read.source_name, "target": read.target_name, "label": read.pair.label}
    asked |= {"method": answer.method, "own_scaling": own_scaling}
    asked |= settings | {"files": read.files}
    if recorded is not None:
        asked["labels"] = recorded.about_file()
    if read.sources:
        asked["sources"] = read.sources
    if read.pictures is not None:
        asked["pictures"] = {
            "column": pictures and pictures.column,
            **read.pictures.embedder.about(),
        }
    seconds = time.perf_counter() - start
    return replace(answer, inputs=asked, notes=tuple(dict.fromkeys(notes)), seconds=seconds)


def label_pair(
    model: TableClassifier,
    read: Inputs,
    *,
    tries: bool = False,
    listener: Listener | None = None,
) -> Answer:
    """Fit, label and estimate.

    Parameters
    ----------
    model : TableClassifier
        Settings; it is fitted.
    read : Inputs
        The tables.
    tries : bool, default=False
        Whether to find how many labels `own_scaling` would change, where columns have shifted.
    listener : Listener, optional
        Who is told how it goes.

    Returns
    -------
    Answer
        Without what was asked for.
    """
    tell, pair = listener or Listener(), read.pair
    if pair.target is None:
        raise TableError("There must be a target to label, but there is none: name it.")
    with threads_for_rows(len(pair.codes) + len(pair.known)):
        tell.on_stage("fitting")
        encoded = model.fit_pair(pair)
        tell.on_stage("labelling")
        votes = model.rule_.votes(encoded.target)
        tell.on_stage("estimating")
        answer = answer_of(model, pair, encoded, votes, tries=tries, on_count=tell.on_count)
    return replace(answer, whole=read.whole, pictures=read.pictures)


def answer_of(
    model: TableClassifier,
    pair: Pair,
    encoded: Encoded,
    votes: np.ndarray,
    *,
    tries: bool = False,
    on_count: Callable[[int, int], object] = lambda done, total: None,
) -> Answer:
    """Find what is known of the labels that a model gives.

    Parameters
    ----------
    model : TableClassifier
        Fitted to the pair.
    pair : Pair
        The tables and their labels.
    encoded : Encoded
        Their rows as numbers.
    votes : ndarray of shape (n_members, nt, n_classes)
        Probabilities of the target rows by each member.
    tries : bool, default=False
        As for :func:`label_pair`.
    on_count : callable, optional
        Called with how many folds are done, and of how many.

    Returns
    -------
    Answer
        Without what was asked for.
    """
    found = estimate(model, pair, encoded, votes.mean(axis=0), on_count=on_count)
    changed = None
    is_pooled = isinstance(model.rule_, PooledRule) and model.kind_ == "table"
    if tries and is_pooled and have_shifted(model.plan_, found.drift):
        other = fitted_again(model, pair, encoded, own_scaling=True).rule_.votes(encoded.target)
        codes = [each.mean(axis=0).argmax(axis=1) for each in (votes, other)]
        changed = float(np.mean(codes[0] != codes[1]))
    return Answer(
        model,
        pair,
        encoded,
        votes,
        found,
        inputs={},
        notes=tuple(_samples(model, pair)),
        seconds=0.0,
        changed_by_own_scaling=changed,
    )


def fitted_again(
    model: TableClassifier, pair: Pair, encoded: Encoded, **settings: Any
) -> TableClassifier:
    """Fit the rule of a model anew, to rows that are encoded already.

    Parameters
    ----------
    model : TableClassifier
        Fitted to the same rows; is not changed.
    pair : Pair
        The tables, with other target labels perhaps.
    encoded : Encoded
        Their rows as numbers.
    **settings
        Parameters of the model that are to change.

    Returns
    -------
    TableClassifier
        Fitted.
    """
    model = copy(model).set_params(**settings)
    model.rule_ = model.make_rule(encoded).fit(encoded, pair)
    model.class_prior_ = model.rule_.class_prior_
    return model


def _samples(model: TableClassifier, pair: Pair) -> list[str]:
    """What was learned, or estimated, from a sample of the rows."""
    said, n = [], len(pair.codes)
    if pair.owners is not None and not model.rule_.adapts:
        said.append(f"The rows of all sources are pooled: {', '.join(pair.source_names)}.")
    if model.rule_.adapts and n > PAIR_ROWS:
        said.append(
            f"The source has {n} rows, of which a sample of {PAIR_ROWS} trains the latent space."
        )
    if n > MOST_ROWS:
        said.append(f"The held-out accuracy is that of {MOST_ROWS} of the {n} source rows.")
    return said


@contextmanager
def _heard() -> Iterator[list[str]]:
    """Collect warnings as sentences, which are there when the context ends."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # of labels that are almost as many as rows there is a note
        warnings.filterwarnings("ignore", "The number of unique classes is greater", UserWarning)
        yield said
    said += [
        " ".join(str(each.message).split())
        for each in caught
        if not issubclass(each.category, _FOR_DEVELOPERS)
    ]


def _following(tell: Listener) -> Callable[[Step], object]:
    last: list[str] = []

    def follow(step: Step) -> None:
        if last != [step.member]:
            last[:] = [step.member]
            tell.on_stage(f"fitting {step.member}")
        tell.on_step(step)

    return follow
