"""What the model knows after some answers: guesses, questions, a map, an estimate."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from ilspace.active import NONE_OF_THESE, Prediction, QuerySelector
from ilspace.labelling.answers import Answers, Kind
from ilspace.labelling.job import LabellingJob

QUEUE = 60
"""Rows that are chosen ahead, so that nobody waits for the next fit."""

GAIN = 10
"""Labels whose expected gain is told."""

_BATCH = 20_000
"""Rows that are looked at at once."""

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
    predicted : dict of int to Prediction
        What was said of labelled rows when they were shown.
    """

    labels: dict[int, str]
    skipped: tuple[int, ...] = ()
    predicted: dict[int, Prediction] = field(default_factory=dict, compare=False)

    @property
    def n_labels(self) -> int:
        """Labels that are classes."""
        return sum(each != NONE_OF_THESE for each in self.labels.values())

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
        predicted = {row - 1: each for row, each in answers.predictions().items()}
        return cls(labels, tuple(row - 1 for row in answers.rows(Kind.SKIP)), predicted)


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
    accuracy : dict or None
        ``value``, ``low``, ``high`` and ``level`` of the estimated accuracy on rows without a
        label; None if none is left.
    gain : float or None
        Accuracy that ten more labels are expected to add.
    map : LatentMap
        Where rows lie.
    seconds : float
        Time it took.
    n_learned : int
        Target labels that it learned from, with those that the table came with.
    is_random : bool
        Whether the rows to ask about were drawn at random.
    """

    task: Task
    codes: np.ndarray
    probability: np.ndarray
    queue: np.ndarray
    queue_probabilities: np.ndarray
    accuracy: dict[str, float] | None
    gain: float | None
    map: LatentMap
    seconds: float
    n_learned: int = 0
    is_random: bool = False


class Learner:
    """Fits the model anew as answers come.

    Parameters
    ----------
    job : LabellingJob
        The tables.
    strategy : str, default="auto"
        As for :class:`~ilspace.active.QuerySelector`.
    make : callable, optional
        Makes the selector of an estimator, a strategy and a seed.
    """

    def __init__(
        self,
        job: LabellingJob,
        strategy: str = "auto",
        make: Callable[..., Any] = QuerySelector,
    ) -> None:
        self.job = job
        self.codes = {name: code for code, name in enumerate(job.classes)}
        seed = job.options.get("random_state", 0)
        self.selector = make(job.estimator(), strategy, seed)
        self._last: Task | None = None
        self._last_places: tuple[np.ndarray, np.ndarray] | None = None
        rng = np.random.default_rng(seed)
        n_source, n_target = len(job.tables.source), job.n_rows
        self._source_points = np.sort(rng.permutation(n_source)[:_SOURCE_POINTS])
        self._target_points = np.sort(rng.permutation(n_target)[:_TARGET_POINTS])

    def learn(self, task: Task, *, n_ahead: int = QUEUE) -> Snapshot:
        """Fit with all answers, and say what is known then.

        Parameters
        ----------
        task : Task
            All answers so far; some that were there before may be gone.
        n_ahead : int
            Rows to choose ahead.

        Returns
        -------
        Snapshot
            What the model says.
        """
        start = time.perf_counter()
        self._teach(task)
        model, n_rows = self.selector.estimator_, self.job.n_rows
        codes, sure = np.empty(n_rows, dtype=np.int32), np.empty(n_rows, dtype=np.float32)
        order = np.array([self.codes[str(each)] for each in model.classes_])
        for top in range(0, n_rows, _BATCH):
            said = model.predict_proba(self.job.tables.target.iloc[top : top + _BATCH])
            codes[top : top + _BATCH] = order[said.argmax(axis=1)]
            sure[top : top + _BATCH] = said.max(axis=1)
        queue = self.selector.query(n_ahead)
        ahead = np.zeros((len(queue), len(self.job.classes)), dtype=np.float32)
        if len(queue):
            ahead[:, order] = model.predict_proba(self.job.tables.target.iloc[queue])
        accuracy = gain = None
        free = self.selector.labels_ == np.array(None)
        if free.any():
            found = self.selector.estimate_accuracy()
            accuracy = {
                name: float(getattr(found, name)) for name in ("value", "low", "high", "level")
            }
        if len(queue):
            gain = float(self.selector.expected_gain(min(GAIN, len(queue))))
        places = self._map(model, task, queue)
        known, is_random = self._known(task), self.selector.strategy == "random"
        n_learned = 0 if known is None else int(np.sum(known != np.array(None)))
        seconds = time.perf_counter() - start
        said = (codes, sure, queue, ahead, accuracy, gain, places, seconds)
        return Snapshot(task, *said, n_learned, is_random)

    def _teach(self, task: Task) -> None:
        """Bring the selector to where all answers are known."""
        tables, sources, before = self.job.tables, self.job.sources(), self._last
        self._last = None  # should this fail, the next one begins anew
        if before is None:
            # without columns in common nothing can be fitted before there are labels
            try:
                self.selector.fit(**sources, Xt=tables.target, yt=tables.yt)
            except ValueError:
                known = self._known(task)
                if known is None:
                    raise
                self.selector.fit(**sources, Xt=tables.target, yt=known)
            before = Task({})
        changed = {r for r, label in before.labels.items() if task.labels.get(r, label) != label}
        gone = (before.labels.keys() - task.labels.keys()) | changed
        gone |= set(before.skipped) - set(task.skipped)
        new = {r: each for r, each in task.labels.items() if r in gone or r not in before.labels}
        if gone:
            self.selector.forget(sorted(gone))
        if task.skipped:
            self.selector.skip(list(task.skipped))
        if new:
            labels = np.array([*new.values(), None], dtype=object)[:-1]
            self.selector.teach(list(new), labels, predicted=task.predicted)
        self._last = task

    def _known(self, task: Task) -> np.ndarray | None:
        """Labels of all target rows, if there are any."""
        yt = np.full(self.job.n_rows, None, dtype=object)
        if self.job.tables.yt is not None:
            yt[:] = self.job.tables.yt
        for row, label in task.labels.items():
            if label != NONE_OF_THESE:
                yt[row] = label
        return yt if (yt != np.array(None)).any() else None

    def _map(self, model: Any, task: Task, queue: np.ndarray) -> LatentMap:
        """Draw the plane, turned so that rows move as little as possible since the last one."""
        tables = self.job.tables
        listed = np.array([*task.labels, *queue.tolist()], dtype=np.intp)
        rows = np.union1d(self._target_points, listed)
        some, numbers = tables.source.iloc[self._source_points], tables.sample_domain
        if model.ils_ is None:
            parts = model.encode(tables.target.iloc[rows]), model.encode(some, "source")
        else:
            own = None if numbers is None else numbers[self._source_points]
            place = model.transform
            parts = place(tables.target.iloc[rows]), place(some, "source", sample_domain=own)
        width = min(each.shape[1] for each in parts)
        both = np.concatenate([each[:, :width] for each in parts])
        found = PCA(min(2, *both.shape)).fit_transform(both)
        plane = np.zeros((len(both), 2))
        plane[:, : found.shape[1]] = found
        plane = self._turned(rows, plane)
        self._last_places = rows, plane
        largest = float(np.quantile(np.abs(plane), 0.995)) or 1.0
        plane = np.clip(plane / largest, -1.05, 1.05)
        source = np.array([self.codes[str(each)] for each in tables.y[self._source_points]])
        return LatentMap(rows, plane[: len(rows)], plane[len(rows) :], source)

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
