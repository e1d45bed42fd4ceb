"""A small labelling job, and models for it that are quick or silent."""

from pathlib import Path

import numpy as np
from tables.small_tables import small_tables, write_csv

from ilspace.labelling.job import open_job
from ilspace.labelling.learner import LatentMap, Snapshot, Task

CLASSES = ("ant", "bee", "élan")


def make_job(folder: Path, *, nt=24, target=None, **options):
    """Two files in a folder, and the job they make."""
    paths = write_csv(folder, small_tables(nt=nt), target)
    return open_job([Path(each) for each in paths], label="class", options=options)


class Silent:
    """Never has a model; remembers what it was asked to learn."""

    def __init__(self):
        self.tasks = []

    def start(self, on_done):
        self.on_done = on_done

    def learn(self, task: Task) -> bool:
        self.tasks.append(task)
        return True

    def close(self):
        pass


def snapshot(job, task=None, *, queue=(3, 5, 7)):
    """What a model would say that takes every row for the first class."""
    n, c = job.n_rows, len(job.classes)
    rows = np.array(queue)
    probabilities = np.full((len(rows), c), 0.3 / (c - 1))
    probabilities[:, 0] = 0.7
    places = np.zeros((n, 2))
    drawn = LatentMap(np.arange(n), places, np.zeros((2, 2)), np.array([0, 1]))
    accuracy = {"value": 0.7, "low": 0.5, "high": 0.8}
    return Snapshot(
        task or Task({}),
        np.zeros(n, dtype=np.int32),
        np.linspace(0.9, 0.5, n, dtype=np.float32),
        rows,
        probabilities,
        drawn,
        0.1,
        rely=[{"title": "Expected accuracy", "value": "70%", "text": "Between 50% and 80%."}],
        accuracy=accuracy,
    )
