"""Whatever is in a file, it is a model that works, or it is refused by the one error."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shifted import shifted

from ilspace import ILSClassifier, ILSTransformer

DATA = shifted()
X, y, Xt, _ = DATA


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models of all kinds, saved."""
    folder = tmp_path_factory.mktemp("fuzz")
    labels, some = np.array(["cat", "dog", "élan"])[y], DATA.marked(None)
    texts = [None if each is None else ["cat", "dog", "élan"][each] for each in some]
    single = X.astype(np.float32), y, Xt.astype(np.float32)
    start: Any = (np.eye(6)[:, :2], np.eye(6)[:, 1:3])
    models = {
        "text": ILSClassifier(2, self_training=0).fit(X, labels, Xt, texts),
        "widths": ILSClassifier(2, self_training=0).fit(X, y, Xt[:, :4], some),
        "single": ILSClassifier(np.int64(2), self_training=0).fit(*single, some),
        "alone": ILSClassifier(2).fit(X, y > 1),
        "ridge": ILSClassifier(2).fit(X, labels, Xt, texts),
        "ridge of widths": ILSClassifier(2, self_training=1).fit(*single[:2], Xt[:, :4], some),
        "linear": ILSClassifier(2, classifier="linear").fit(*single),
        "transformer": ILSTransformer(2, init=start).fit(X, y, Xt),
        "slacks": ILSTransformer.as_in_paper(2, tol=0.5, random_state=0).fit(X, y, Xt),
    }
    for name, model in models.items():
        model.save(folder / f"{name}.safetensors")
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="reads and limits memory as Linux does")
@pytest.mark.parametrize(
    ("n_files", "seed"),
    [(1_500, 0), pytest.param(100_000, 1, marks=pytest.mark.slow)],
)
def test_damaged_files(folder, n_files, seed):
    script = Path(__file__).with_name("fuzz.py")
    ended = subprocess.run(
        [sys.executable, str(script), str(folder), str(n_files), str(seed)],
        capture_output=True,
        text=True,
        timeout=60 + n_files / 20,  # a hang, not slowness, is what this is about
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    report = json.loads(ended.stdout)
    assert report["wrong"] == []
    outcomes = report["outcomes"]
    assert sum(outcomes.values()) == n_files
    # the damage reaches all checks, and is not always fatal
    assert len(report["flaws"]) > 30
    assert outcomes["damage_content loaded"] > n_files / 50
    assert outcomes["damage_content refused"] > n_files / 5
    assert outcomes["damage_header refused"] > n_files / 10
