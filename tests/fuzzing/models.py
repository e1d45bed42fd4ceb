"""Damaged models: loaded, or refused in words, in little memory."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.ensemble import HistGradientBoostingClassifier
from tables.small_tables import quick, small_tables

from ilspace import ILSClassifier, TableClassifier

TESTS = Path(__file__).resolve().parents[1]


def run(seed):
    """Load 200 damaged models in a process that may not take much memory."""
    X, y, Xt = small_tables().features
    rows = X[["height", "width"]].fillna(0), y, Xt[["height", "width"]].fillna(0)
    boosting = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=3)
    models = [
        TableClassifier(quick(), own_scaling=True).fit(X, y, Xt),
        TableClassifier(boosting).fit(X, y, Xt),
        TableClassifier("ils").fit(X, y, Xt),
        ILSClassifier(2).fit(*rows),
    ]
    with tempfile.TemporaryDirectory() as name:
        for i, model in enumerate((models[seed % 4], models[(seed + 1) % 4])):
            model.save(Path(name) / f"{i}.skops")
        command = [sys.executable, str(TESTS / "storage" / "fuzz.py"), name, "200", str(seed)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert json.loads(ended.stdout)["wrong"] == []
    return "200 damaged"
