"""What the model knows after some answers: guesses, questions, a map, an estimate."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA

from ilspace.active import NONE_OF_THESE, STRATEGIES, Pool
from ilspace.active.pool import sample_pool
from ilspace.backend import threads_for_rows
from ilspace.labelling.answers import Answers, Kind
from ilspace.labelling.job import LabellingJob
from ilspace.labelling.label_file import read_recorded
from ilspace.tables.answer import Answer
from ilspace.tables.classifier import TableClassifier
from ilspace.tables.encoding import Encoded
from ilspace.tables.job import answer_of, fitted_again
from ilspace.tables.outputs import write_outputs
from ilspace.tables.pair import Pair
from ilspace.tables.results import with_recorded
from ilspace.tables.values import as_table_errors

QUEUE = 60
"""Rows that are chosen ahead, so that nobody waits for the next fit."""

_TARGET_POINTS, _SOURCE_POINTS = 700, 300
"""Rows of each table on the map; labelled ones and those to ask about come on top."""


@dataclass(frozen=True)
class Task:
    """Answers to learn from.

    Attributes
    ----------
    labels : dict of int to str
        Labels of target rows, from 0; also ``NONE_OF_THESE``.
    skipped : tuple of int
        Rows that nobody could label.
    """

    labels: dict[int, str]
    skipped: tuple[int, ...] = ()

    @property
    def classes(self) -> dict[int, str]:
        """Those of the labels that are classes."""
        return {row: each for row, each in self.labels.items() if each != NONE_OF_THESE}

    @classmethod
    def of(cls, answers: Answers) -> Task:
        """Collect what holds.

        Parameters
        ----------
        answers : Answers
            Rows numbered from 1.

        Returns
        -------
        Task
            Rows numbered from 0.
        """
        labels = {row - 1: label for row, label in answers.labels.items()}
        labels |= {row - 1: NONE_OF_THESE for row in answers.rows(Kind.OTHER)}
        return cls(labels, tuple(row - 1 for row in answers.rows(Kind.SKIP)))


@dataclass(frozen=True)
class LatentMap:
    """Rows in the plane in which they vary most.

    Attributes
    ----------
    target : int array of shape (n,)
        Which target rows, from 0.
    target_places, source_places : ndarray of shape (n, 2) and (m, 2)
        Where they and source rows lie, from -1 to 1.
    source_codes : int array of shape (m,)
        Classes of the source rows.
    """

    target: np.ndarray
    target_places: np.ndarray
    source_places: np.ndarray
    source_codes: np.ndarray


@dataclass(frozen=True)
class Snapshot:
    """What a fitted model says.

    Attributes
    ----------
    task : Task
        What it learned from.
    codes : int array of shape (nt,)
        The most probable class of each target row.
    probability : ndarray of shape (nt,)
        Its probability.
    queue : int array of shape (n,)
        Rows to ask about, from 0, best first.
    queue_probabilities : ndarray of shape (n, n_classes)
        What is said of them.
    map : LatentMap
        Where rows lie.
    seconds : float
        Time it took.
    n_learned : int
        Target labels that it learned from, with those that the table came with.
    is_random : bool
        Whether the rows to ask about were drawn at random.
    rely : list of dict or None
        What can be relied on, as :attr:`~ilspace.tables.answer.Answer.rely` says it; None while it
        is being estimated.
    accuracy : dict or None
        ``value``, ``low`` and ``high`` of the expected accuracy; None where there is none.
    """

    task: Task
    codes: np.ndarray
    probability: np.ndarray
    queue: np.ndarray
    queue_probabilities: np.ndarray
    map: LatentMap
    seconds: float
    n_learned: int = 0
    is_random: bool = False
    rely: list[dict[str, Any]] | None = None
    accuracy: dict[str, float] | None = None


class _Fit(NamedTuple):
    """A fitted model, what it was fitted to, and what it says of the target rows."""

    model: TableClassifier
    pair: Pair
    encoded: Encoded
    votes: np.ndarray


class Learner:
    """Fits the model anew as answers come.

    Parameters
    ----------
    job : LabellingJob
        The tables.
    strategy : str, default="auto"
        One of :data:`~ilspace.active.STRATEGIES`, or ``"auto"``: facility-location.

    Attributes
    ----------
    answer : Answer or None
        Labels by the last model, and what is known of them.
    """

    def __init__(self, job: LabellingJob, strategy: str = "auto") -> None:
        self.job = job
        self.answer = job.answer
        self.strategy = "facility-location" if strategy == "auto" else strategy
        self._seed = job.model.random_state
        self._last_places: tuple[np.ndarray, np.ndarray] | None = None
        rng = np.random.default_rng(self._seed)
        n_source = len(job.pair.codes)
        self._source_points = np.sort(rng.permutation(n_source)[:_SOURCE_POINTS])
        self._target_points = np.sort(rng.permutation(job.n_rows)[:_TARGET_POINTS])

    def learn(self, task: Task, *, n_ahead: int = QUEUE) -> Iterator[Snapshot]:
        """Fit with all answers, and say what is known then.

        Parameters
        ----------
        task : Task
            All answers so far; some that were there before may be gone.
        n_ahead : int
            Rows to choose ahead.

        Yields
        ------
        Snapshot
            What the model says; a second time once it is known what can be relied on.
        """
        start = time.perf_counter()
        rows = [*task.classes]
        pair = self.job.pair.with_labels(
            rows, [*map(self.job.classes.index, task.classes.values())]
        )
        with threads_for_rows(len(pair.codes) + len(pair.known)), as_table_errors():
            answer, fit, found = self.answer, None, None
            if answer is None or not np.array_equal(answer.pair.known, pair.known):
                fit = self._fit(pair)
                found = self._look(fit, task, n_ahead, start)
                yield found
                answer = self.answer = answer_of(*fit)
            if found is None:
                fit = _Fit(answer.model, answer.pair, answer.encoded, answer.votes)
                found = self._look(fit, task, n_ahead, start)
        said = answer.estimate
        accuracy = None
        if said.expected is not None and said.interval is not None:
            accuracy = dict(
                zip(("value", "low", "high"), (said.expected, *said.interval), strict=True)
            )
        yield replace(found, rely=answer.rely, accuracy=accuracy)

    def _fit(self, pair: Pair) -> _Fit:
        """Fit the model to other labels; its tables are encoded once."""
        last, model = self.answer, self.job.model
        if last is None:
            encoded = model.fit_pair(pair)
        else:
            encoded, asked = last.encoded, bool(self.job.inputs.get("own_scaling"))
            model = fitted_again(last.model, pair, encoded, own_scaling=asked)
        return _Fit(model, pair, encoded, model.rule_.votes(encoded.target))

    def _look(self, fit: _Fit, task: Task, n_ahead: int, start: float) -> Snapshot:
        """Ask a model for all that is shown."""
        said = fit.votes.mean(axis=0)
        latent = fit.model.rule_.latent(fit.encoded.target)
        queue = self._queue(fit, latent, task, n_ahead)
        return Snapshot(
            task,
            said.argmax(axis=1),
            said.max(axis=1),
            queue,
            said[queue],
            self._map(fit, latent, np.union1d([*task.labels], queue).astype(np.intp)),
            time.perf_counter() - start,
            int(fit.pair.has_labels.sum()),
            self.strategy == "random",
        )

    def _queue(self, fit: _Fit, latent: np.ndarray, task: Task, n: int) -> np.ndarray:
        """Rows to ask about, best first: those without an answer."""
        has_label = fit.pair.has_labels
        has_label[[*task.labels]] = True
        askable = ~has_label
        askable[[*task.skipped]] = False
        rng = np.random.default_rng([self._seed, int(np.sum(~askable))])
        rows = sample_pool(askable, has_label, n, rng)
        votes = fit.votes[:, rows]
        pool = Pool(
            latent[rows],
            votes.mean(axis=0),
            np.flatnonzero(askable[rows]),
            np.flatnonzero(has_label[rows]),
            votes if len(votes) > 1 else None,
        )
        return rows[STRATEGIES[self.strategy](pool, n, random_state=rng)]

    def _map(self, fit: _Fit, latent: np.ndarray, rows: np.ndarray) -> LatentMap:
        """Draw the plane, turned so that rows move as little as possible since the last one."""
        rows, some, pair = np.union1d(self._target_points, rows), self._source_points, fit.pair
        numbers = None if pair.owners is None else pair.owners[some] + 1
        source = fit.model.rule_.latent(fit.encoded.source[some], "source", sample_domain=numbers)
        width = min(latent.shape[1], source.shape[1])
        both = np.concatenate([latent[rows, :width], source[:, :width]])
        found = PCA(min(2, *both.shape)).fit_transform(both)
        plane = np.zeros((len(both), 2))
        plane[:, : found.shape[1]] = found
        plane = self._turned(rows, plane)
        self._last_places = rows, plane
        largest = float(np.quantile(np.abs(plane), 0.995)) or 1.0
        plane = np.clip(plane / largest, -1.05, 1.05)
        return LatentMap(rows, plane[: len(rows)], plane[len(rows) :], pair.codes[some])

    def _turned(self, rows: np.ndarray, plane: np.ndarray) -> np.ndarray:
        """Rotate or reflect new places toward the last ones (orthogonal Procrustes)."""
        if self._last_places is None:
            return plane
        last_rows, last = self._last_places
        _, old, new = np.intersect1d(last_rows, rows, return_indices=True)
        n_source = len(self._source_points)
        was = np.concatenate([last[old], last[len(last) - n_source :]])
        is_now = np.concatenate([plane[new], plane[len(plane) - n_source :]])
        left, _, right = np.linalg.svd(is_now.T @ was)
        return plane @ left @ right


def write_results(job: LabellingJob) -> Answer | None:
    """Learn from all labels so far, and write the results anew.

    Parameters
    ----------
    job : LabellingJob
        Of a folder of results.

    Returns
    -------
    Answer or None
        What was written; None where the results know all labels already, or there is no folder.
    """
    if job.folder is None or not job.labels_path.exists():
        return None
    start = time.perf_counter()
    recorded = read_recorded(job.labels_path)
    if job.inputs.get("labels") == recorded.about_file():
        return None
    read, notes = with_recorded(job.read, recorded)
    learner = Learner(job)
    *_, _ = learner.learn(Task(dict(recorded.labels)))
    answer = learner.answer
    assert answer is not None
    notes = [*read.pair.notes, *answer.model.plan_.notes, *notes, *answer.notes]
    answer = replace(
        answer,
        inputs=job.inputs | {"labels": recorded.about_file()},
        notes=tuple(dict.fromkeys(notes)),
        seconds=time.perf_counter() - start,
        pictures=read.pictures,
    )
    written = {"as_parquet": job.inputs.get("format") == "parquet"}
    written["spreadsheet"] = job.inputs.get("spreadsheet") is True
    write_outputs(answer, job.folder, force=True, **written)
    return answer
