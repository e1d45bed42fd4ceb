"""Killed at random moments while labels arrive: none lost, none doubled."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from http.client import HTTPException

import pytest
from labelling.served import SINGLE, Served, labels_in
from labelling.small_job import make_job

from ilspace.labelling.answers import new_id

pytestmark = pytest.mark.slow

N_KILLS = 50

WRITERS = """
import io, os, re, sys
from pathlib import Path
from ilspace.labelling.answers import Event, Kind
from ilspace.labelling.label_file import LabelFile

def write():
    file = LabelFile(Path(sys.argv[1]), {"column": "class"})
    for line in iter(io.FileIO(0, closefd=False).readline, b""):
        whole = re.fullmatch(rb"<(\\w+) (\\d+)>\\n", line)
        if whole is None:  # the writer before was killed while it read this line
            continue
        event, row = whole[1].decode(), whole[2]
        file.append(Event(event, Kind.LABEL, int(row), "bee"))
        os.write(1, f"{event}\\n".encode())

while True:  # one writer after the other, each told by its number
    child = os.fork()
    if child == 0:
        write()
        os._exit(0)
    os.write(1, f"writer {child}\\n".encode())
    _, status = os.waitpid(child, 0)
    if status == 0:
        break
"""


class Person(threading.Thread):
    """Sends labels until each is acknowledged, to writers that are killed at random moments."""

    def __init__(self, path, number):
        super().__init__()
        self.rng, self.number = random.Random(number), number
        self.sent, self.n_kills = {}, 0
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITERS, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=SINGLE,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.into, self.out = self.process.stdin, self.process.stdout

    def run(self):
        self.follow()
        while self.n_kills < N_KILLS // 2:
            event = new_id()
            self.sent[event] = 2 * len(self.sent) + self.number
            line = f"<{event} {self.sent[event]}>\n".encode()
            self.send(line)
            while (word := self.out.readline().split())[0] != event.encode():
                if word[0] == b"writer":  # the last one was killed: the label is sent again
                    self.n_kills += 1
                    self.follow(int(word[1]))
                    self.send(line)
        self.timer.join()
        self.into.close()
        self.out.read()
        self.process.wait()
        self.out.close()

    def send(self, line):
        self.into.write(line)
        self.into.flush()

    def follow(self, pid=None):
        if pid is None:
            pid = int(self.out.readline().split()[1])
        self.timer = threading.Timer(self.rng.uniform(0, 0.02), os.kill, (pid, signal.SIGKILL))
        self.timer.start()


def test_fifty_kills_of_two_writers_lose_and_double_nothing(tmp_path):
    path = tmp_path / "labels.jsonl"
    people = [Person(path, number) for number in (1, 2)]
    for each in people:
        each.start()
    for each in people:
        each.join()
    sent = people[0].sent | people[1].sent
    counts = Counter(each["event"] for each in labels_in(path))
    assert set(counts) == set(sent)
    assert set(counts.values()) == {1}
    assert {each["event"]: each["row"] for each in labels_in(path)} == sent
    assert sum(each.n_kills for each in people) >= N_KILLS


def test_killed_servers_lose_and_double_nothing(tmp_path):
    """The page itself is killed twice while labels arrive."""
    job, rng = make_job(tmp_path, nt=600), random.Random(1)
    arguments = [*job.paths, "--label", "class", "--refit-after", "1000"]
    acknowledged, pending = {}, None
    for _ in range(2):
        with Served(*arguments) as server:
            state = server.ask("state?window=w")
            timer = threading.Timer(rng.uniform(0.3, 0.7), server.process.kill)
            timer.start()
            try:
                while True:
                    if pending is None:
                        row = state["row"]["row"]
                        pending = {"event": new_id(), "row": row, "kind": "label", "label": "bee"}
                    state = server.ask("answer", {"window": "w"} | pending)
                    acknowledged[pending["event"]] = pending["row"]
                    pending = None
            except (OSError, HTTPException, json.JSONDecodeError):
                pass
            timer.join()
    events = {each["event"]: each["row"] for each in labels_in(job.labels_path)}
    assert len(events) == len(labels_in(job.labels_path))
    assert acknowledged.items() <= events.items()
    assert len(events) - len(acknowledged) <= 1  # the last may be on disk without word of it
    assert len(set(events.values())) == len(events) > 20
