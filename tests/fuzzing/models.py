"""Damaged models: loaded, or refused in words, in little memory."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tables.small_tables import small_tables

from ilspace import ILSClassifier, TableClassifier

TESTS = Path(__file__).resolve().parents[1]


def run(seed):
    """Load 200 damaged models in a process that may not take much memory."""
    with tempfile.TemporaryDirectory() as name:
        X, y, Xt = small_tables().features
        if seed % 2:
            model, script = TableClassifier("linear").fit(X, y, Xt), "tables/fuzz.py"
        else:
            rows = X[["height", "width"]].fillna(0), y, Xt[["height", "width"]].fillna(0)
            model, script = ILSClassifier(2).fit(*rows), "storage/fuzz.py"
        model.save(Path(name) / "model.safetensors")
        model.save(Path(name) / "other.safetensors")
        command = [sys.executable, str(TESTS / script), name, "200", str(seed)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert json.loads(ended.stdout)["wrong"] == []
    return "200 damaged"
