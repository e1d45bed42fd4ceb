"""A labelling page in a process of its own."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

SINGLE = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class Served:
    """``ilspace label`` as a user starts it; ends with the block."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "ilspace.cli", "label", *map(str, arguments)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=SINGLE)
        assert self.process.stderr is not None
        self.stderr = self.process.stderr
        line = self.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + self.stderr.read()
        self.address = found[0]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.kill()

    def kill(self):
        """As a power cut would."""
        self.process.kill()
        self.process.wait()
        self.stderr.close()

    def ask(self, path, content=None):
        """Talk to it as the page does."""
        base = urlsplit(self.address)
        data = None if content is None else json.dumps(content).encode()
        headers = {"Content-Type": "application/json", "Origin": f"http://{base.netloc}"}
        request = urllib.request.Request(f"{self.address}api/{path}", data, headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)


def labels_in(path: Path) -> list[dict]:
    """Events in a file of labels, without the first line; torn lines are left out."""
    found = []
    for line in path.read_bytes().splitlines()[1:]:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found
