"""The model learns in a process of its own, so that no answer waits for it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from ilspace.labelling.job import LabellingJob
from ilspace.labelling.learner import Learner, Snapshot, Task


class Teachable(Protocol):
    """What a session asks to learn."""

    def start(self, on_done: Callable[[Snapshot | str], object]) -> None:
        """Begin.

        Parameters
        ----------
        on_done : callable
            Called with each snapshot, or with a sentence that says why there is none.
        """
        ...

    def learn(self, task: Task) -> bool:
        """Begin to learn.

        Parameters
        ----------
        task : Task
            All answers.

        Returns
        -------
        bool
            False if that is not possible any more.
        """
        ...

    def close(self) -> None:
        """End."""
        ...


class LearnsAtOnce:
    """Learns while the caller waits: for one question, and for tests.

    Parameters
    ----------
    learner : Learner
        What learns.
    """

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self.on_done: Callable[[Snapshot | str], object] = lambda found: None

    def start(self, on_done: Callable[[Snapshot | str], object]) -> None:
        """Begin.

        Parameters
        ----------
        on_done : callable
            Called with each snapshot, or with a sentence.
        """
        self.on_done = on_done

    def learn(self, task: Task) -> bool:
        """Learn.

        Parameters
        ----------
        task : Task
            All answers.

        Returns
        -------
        bool
            Always true.
        """
        for each in _learned(self.learner, task):
            self.on_done(each)
        return True

    def close(self) -> None:
        """Nothing is left to end."""


class LearnsInBackground:
    """Learns in a process of its own.

    A thread would not do: some of the linear algebra keeps all others waiting.

    Parameters
    ----------
    job : LabellingJob
        The tables.
    strategy : str
        How rows are chosen.
    """

    def __init__(self, job: LabellingJob, strategy: str = "auto") -> None:
        context = multiprocessing.get_context("spawn")
        # what describes pictures stays here, as it may be a network
        read, answer = replace(job.read, pictures=None), job.answer
        job = replace(job, read=read, answer=answer and replace(answer, pictures=None))
        self._here, there = context.Pipe()
        self._process = context.Process(
            target=_work, args=(there, job, strategy), name="ilspace-learner", daemon=True
        )
        self._process.start()
        there.close()  # so that the end of the other process is noticed
        self._thread: threading.Thread | None = None

    def start(self, on_done: Callable[[Snapshot | str], object]) -> None:
        """Begin.

        Parameters
        ----------
        on_done : callable
            Called with each snapshot, or with a sentence; in a thread of its own.
        """
        self._thread = threading.Thread(target=self._listen, args=(on_done,), daemon=True)
        self._thread.start()

    def learn(self, task: Task) -> bool:
        """Learn, later.

        Parameters
        ----------
        task : Task
            All answers.

        Returns
        -------
        bool
            False if the process has ended.
        """
        try:
            self._here.send(task)
        except OSError:
            return False
        return True

    def close(self) -> None:
        """End, also in the middle of a fit."""
        self._process.terminate()
        self._process.join(5)
        if self._thread is not None:
            self._thread.join(5)
        self._here.close()

    def _listen(self, on_done: Callable[[Snapshot | str], object]) -> None:
        while True:
            try:
                found = self._here.recv()
            except (EOFError, OSError):
                on_done(
                    "The process that fits the model has ended, perhaps for lack of memory. Labels "
                    "are still saved; start ilspace label again to have the model back."
                )
                return
            on_done(found)


def _work(there: Any, job: LabellingJob, strategy: str) -> None:
    """Learn from each task that comes, until nobody is left to send one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who started this
    with suppress(OSError, AttributeError):
        os.nice(10)  # the page goes first
    warnings.simplefilter("ignore")  # there is nobody to read them
    learner = Learner(job, strategy)
    while True:
        try:
            task = there.recv()
        except EOFError:
            return
        try:
            for each in _learned(learner, task):
                there.send(each)
        except OSError:
            return


def _learned(learner: Learner, task: Task) -> Iterator[Snapshot | str]:
    try:
        yield from learner.learn(task)
    except (ValueError, TypeError, RuntimeError, MemoryError) as error:
        yield f"The model cannot be fitted yet: {' '.join(str(error).split())}"
