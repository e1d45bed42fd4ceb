"""One sitting: which row is shown to whom, what is recorded, and what the model knows by now."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ilspace.labelling.answers import Answers, Event, Kind, now
from ilspace.labelling.background import Teachable
from ilspace.labelling.job import LabellingJob
from ilspace.labelling.learner import Snapshot, Task
from ilspace.labelling.rows import find_layout, picture_of, shown_row

REFIT_AFTER = 10
"""Answers after which the model is fitted again."""

_GONE_AFTER = 120.0
"""Seconds after which a window that no longer asks is taken for closed."""


class AnswerError(ValueError):
    """An answer that cannot be taken, in a sentence."""


class AnsweredElsewhereError(AnswerError):
    """The row has an answer by now, from another window."""


@dataclass
class _Window:
    """Who looks at which row."""

    row: int | None = None  # from 0
    is_random: bool = False  # drawn, not chosen
    seen: float = field(default_factory=time.monotonic)


class Session:
    """Answers from any number of windows, and a model that learns meanwhile.

    All methods may be called from several threads.

    Parameters
    ----------
    job : LabellingJob
        What is labelled.
    teachable : Teachable
        What learns.
    refit_after : int
        New answers after which it learns again.
    pictures : Path, optional
        Folder that paths of pictures start from; by default that of the target.
    """

    def __init__(
        self,
        job: LabellingJob,
        teachable: Teachable,
        *,
        refit_after: int = REFIT_AFTER,
        pictures: Path | None = None,
    ) -> None:
        self.job = job
        self.file = job.open_labels()
        self.refit_after = refit_after
        self.pictures = pictures or job.pictures or job.target_path.absolute().parent
        self.layout = find_layout(job.target, ids=job.ids, text=job.model.text)
        self.snapshot: Snapshot | None = None
        self.trouble = ""
        self.rely: list[dict[str, Any]] = []
        self.history: list[dict[str, float]] = []
        self.version = 0
        self._changed = threading.Condition(threading.RLock())
        self._windows: dict[str, _Window] = {}
        self._closed: set[str] = set()
        self._earlier = set(self.file.answers.events)
        self._given = job.given
        self._random = np.random.default_rng().permutation(job.n_rows)
        self._by_doubt: np.ndarray | None = None
        self._is_learning = False
        self._tried = Task({})
        self._since = time.monotonic()
        self._teachable = teachable
        teachable.start(self._take)
        with self._changed:
            self._learn()

    def close(self) -> None:
        """End the model; labels are on disk already."""
        self._teachable.close()

    # -- rows ------------------------------------------------------------------------------------

    def state(self, window: str) -> dict[str, Any]:
        """All that a window shows.

        Parameters
        ----------
        window : str
            Which; any name.

        Returns
        -------
        dict
            For JSON: ``row`` (None when all are answered), ``progress``, ``model``.
        """
        with self._changed:
            if self.file.refresh():
                self._learn_if_due()
            own = self._windows.setdefault(window, _Window())
            self._closed.discard(window)
            own.seen = time.monotonic()
            self._close_windows()
            if own.row is None or own.row + 1 in self._answered:
                own.row, own.is_random = self._next()
            shown = None
            if own.row is not None:
                shown = shown_row(self.job.target, own.row, self.layout)
                shown |= self._said(own.row)
            return {"row": shown, "progress": self._progress(window), "model": self._model()}

    @property
    def _answered(self) -> dict[int, Event]:
        return self.file.answers.by_row

    def _close_windows(self) -> None:
        late = time.monotonic() - _GONE_AFTER
        for name in [name for name, each in self._windows.items() if each.seen < late]:
            del self._windows[name]
            self._closed.add(name)

    def _next(self) -> tuple[int | None, bool]:
        """The best row that nobody has answered or looks at, from 0; whether it is a random one."""
        looked_at = {each.row for each in self._windows.values()}

        def is_free(row: int) -> bool:
            taken = row + 1 in self._answered or row + 1 in self._given
            return not taken and row not in looked_at

        rest = self._random
        if self.snapshot is not None:
            for row in self.snapshot.queue.tolist():
                if is_free(row):
                    return row, self.snapshot.is_random
            if self._by_doubt is None:
                self._by_doubt = np.argsort(self.snapshot.probability, kind="stable")
            rest = self._by_doubt
        found = next((int(row) for row in rest if is_free(int(row))), None)
        return found, self.snapshot is None

    def _said(self, row: int) -> dict[str, Any]:
        """What the model says of a row."""
        found = self.snapshot
        if found is None:
            return {"guess": None, "probability": None, "probabilities": None}
        place = np.flatnonzero(found.queue == row)
        probabilities = None
        if len(place):
            probabilities = [round(float(p), 4) for p in found.queue_probabilities[place[0]]]
        return {
            "guess": self.job.classes[found.codes[row]],
            "probability": round(float(found.probability[row]), 4),
            "probabilities": probabilities,
        }

    def picture(self, row: int, column: str) -> tuple[bytes, str] | None:
        """Read the picture of a row.

        Parameters
        ----------
        row : int
            Number of the row, from 1.
        column : str
            One of the columns that hold paths.

        Returns
        -------
        content : bytes
            The file.
        kind : str
            Its media type; None is returned instead of both if there is no such picture.
        """
        if column not in self.layout.pictures or not 0 < row <= self.job.n_rows:
            return None
        entry = self.job.target[column].iloc[row - 1]
        return picture_of(self.pictures, entry) if isinstance(entry, str) else None

    # -- answers ---------------------------------------------------------------------------------

    def answer(
        self, window: str, *, event: str, kind: Kind, row: int, label: str | None = None
    ) -> None:
        """Record what is said of a row; it is on disk when this returns.

        Parameters
        ----------
        window : str
            Where it was said.
        event : str
            Identifier; the same one sent again changes nothing.
        kind : Kind
            Label, skip or other.
        row : int
            Number of the row, from 1.
        label : str, optional
            The class, for a label.

        Raises
        ------
        AnswerError
            If row or class do not exist, or the row has an answer by now.
        LabelWriteError
            If the disk is full, say; nothing is changed.
        """
        with self._changed:
            self.file.refresh()
            if event in self.file.answers.events:
                return
            if not 0 < row <= self.job.n_rows:
                raise AnswerError(f"Rows are 1 to {self.job.n_rows}, but {row} was named.")
            if (kind is Kind.LABEL) != (label in self.job.classes):
                raise AnswerError("A label must be one of the classes, but is not.")

            def check(answers: Answers) -> None:
                if row in answers.by_row or row in self._given:
                    raise AnsweredElsewhereError(
                        f"Row {row} has an answer by now, from another window."
                    )

            check(self.file.answers)
            said, own = self._said(row - 1), self._windows.get(window)
            was_drawn = own is not None and own.row == row - 1 and own.is_random
            self.file.append(
                Event(
                    event,
                    kind,
                    row,
                    label if kind is Kind.LABEL else None,
                    by=window,
                    at=now(),
                    guess=said["guess"],
                    probability=said["probability"],
                    learned=self._n_learned_without(row - 1),
                    random=was_drawn or None,
                ),
                check=check,
            )
            self._recorded()

    def _n_learned_without(self, row: int) -> int | None:
        """Labels that the model has learned from; None if that of the row was among them."""
        found = self.snapshot
        return None if found is None or row in found.task.labels else found.n_learned

    def undo(self, window: str, *, event: str) -> int | None:
        """Take the last answer of a window back, and show its row again.

        Parameters
        ----------
        window : str
            Which; answers from windows that are closed, or from before this sitting, count as its
            own. Those that another program records meanwhile do not.
        event : str
            Identifier; the same one sent again changes nothing.

        Returns
        -------
        int or None
            Number of the row; None if there is nothing to undo.
        """
        with self._changed:
            self.file.refresh()
            answers = self.file.answers
            done = answers.events.get(event)
            if done is not None:
                return done.row
            self._close_windows()
            last = answers.last(self._is_own(window))
            if last is None:
                return None
            undone = Event(event, Kind.UNDO, last.row, of=last.event, by=window, at=now())
            self.file.append(undone)
            own = self._windows.setdefault(window, _Window())
            own.row, own.is_random = last.row - 1, last.random is True
            self._recorded()
            return last.row

    def _is_own(self, window: str) -> Callable[[Event], bool]:
        """Say of an event whether a window may undo it."""

        def is_own(event: Event) -> bool:
            if event.by == window:
                return True
            is_old = event.event in self._earlier or event.by in self._closed
            return is_old and event.by not in self._windows

        return is_own

    def _recorded(self) -> None:
        self.version += 1
        self._learn_if_due()
        self._changed.notify_all()

    # -- model -----------------------------------------------------------------------------------

    def _learn_if_due(self) -> None:
        known, task = self._tried, Task.of(self.file.answers)
        new = {**task.labels, **dict.fromkeys(task.skipped)}
        old = {**known.labels, **dict.fromkeys(known.skipped)}
        changes = [row for row in new.keys() | old.keys() if new.get(row, 0) != old.get(row, 0)]
        if not self._is_learning and len(changes) >= self.refit_after:
            self._learn()

    def _learn(self) -> None:
        self._tried = Task.of(self.file.answers)
        self._since = time.monotonic()
        self._is_learning = True
        if not self._teachable.learn(self._tried):
            self._is_learning = False

    def _take(self, found: Snapshot | str) -> None:
        """Take a new model over."""
        with self._changed:
            self._is_learning = not isinstance(found, str) and found.rely is None
            self.version += 1
            if isinstance(found, str):
                self.trouble = found
            else:
                self.snapshot, self.trouble, self._by_doubt = found, "", None
                self.rely = found.rely or self.rely
                if found.accuracy is not None:
                    self.history.append({"labels": len(found.task.classes)} | found.accuracy)
            self._learn_if_due()
            self._changed.notify_all()

    def wait(self, seconds: float = 600.0) -> None:
        """Wait until the model is not learning.

        Parameters
        ----------
        seconds : float
            At most so long.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._is_learning, seconds)

    def _progress(self, window: str) -> dict[str, Any]:
        answers = self.file.answers
        counts = {kind: len(answers.rows(kind)) for kind in (Kind.LABEL, Kind.SKIP, Kind.OTHER)}
        n_given = len(self._given)
        last = answers.last(self._is_own(window))
        return {
            "labelled": counts[Kind.LABEL],
            "skipped": counts[Kind.SKIP],
            "other": counts[Kind.OTHER],
            "given": n_given,
            "rows": self.job.n_rows,
            "left": self.job.n_rows - n_given - len(answers.by_row),
            "windows": len(self._windows),
            "can_undo": last is not None,
        }

    def _model(self) -> dict[str, Any]:
        found = self.snapshot
        state: dict[str, Any] = {
            "version": self.version,
            "learning": self._is_learning,
            "seconds": round(time.monotonic() - self._since, 1) if self._is_learning else None,
            "trouble": self.trouble,
            "refit_after": self.refit_after,
            "rely": self.rely,
            "history": self.history[-50:],
        }
        if found is not None:
            state |= {
                "labels": len(found.task.classes),
                "fit_seconds": round(found.seconds, 1),
            }
        return state

    def map(self) -> dict[str, Any] | None:
        """The map of the rows.

        Returns
        -------
        dict or None
            For JSON; None before the first model.
        """
        with self._changed:
            found = self.snapshot
            if found is None:
                return None
            drawn, labels = found.map, self.file.answers.labels
            given = self._given | labels
            known = {name: code for code, name in enumerate(self.job.classes)}
            return {
                "target": [
                    [int(row) + 1, *_point(place), int(found.codes[row])]
                    + [round(float(found.probability[row]), 2), known.get(given.get(row + 1, ""))]
                    for row, place in zip(drawn.target, drawn.target_places, strict=True)
                ],
                "source": [
                    [*_point(place), int(code)]
                    for place, code in zip(drawn.source_places, drawn.source_codes, strict=True)
                ],
            }


def _point(place: np.ndarray) -> list[float]:
    return [round(float(each), 3) for each in place]
