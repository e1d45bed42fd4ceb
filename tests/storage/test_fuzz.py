"""Whatever is in a file, it is a model that answers, or it is refused by the one error."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from shifted import shifted
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier

from ilspace import ILSClassifier, ILSTransformer, TableClassifier, baselines

DATA = shifted()
X, y, Xt, _ = DATA


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models of all kinds, saved; with few trees, as most of the time goes to writing them."""
    folder = tmp_path_factory.mktemp("fuzz")
    labels, some = np.array(["cat", "dog", "élan"])[y], DATA.marked(None)
    texts = [None if each is None else ["cat", "dog", "élan"][each] for each in some]
    table = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(
        color=np.array(["red", "green", "blue"])[y], sex=np.array(["f", "m", "m"])[y]
    )
    boosting = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=3)
    trees = ExtraTreesClassifier(3, random_state=0)
    models = {
        "ridge": ILSClassifier(2).fit(X, labels, Xt, texts),
        "nearest": ILSClassifier(2, self_training=0).fit(X, y, Xt[:, :4], some),
        "linear": ILSClassifier(2, classifier="linear").fit(X, y, Xt),
        "transformer": ILSTransformer(2).fit(X, y, Xt),
        "boosting": TableClassifier(boosting).fit(table, labels, table),
        "trees": TableClassifier(trees, own_scaling=True).fit(table, labels, table),
        "neighbors": baselines.GFK().fit(X, y, Xt),
    }
    for name, model in models.items():
        model.save(folder / f"{name}.skops")
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="reads and limits memory as Linux does")
@pytest.mark.parametrize(
    ("n_files", "seed"),
    [(150, 0), pytest.param(2_000, 1, marks=pytest.mark.slow)],
)
def test_damaged_files(folder, n_files, seed):
    script = Path(__file__).with_name("fuzz.py")
    ended = subprocess.run(
        [sys.executable, str(script), str(folder), str(n_files), str(seed)],
        capture_output=True,
        text=True,
        timeout=120 + n_files / 5,  # a hang, not slowness, is what this is about
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    report = json.loads(ended.stdout)
    assert report["wrong"] == []
    outcomes = report["outcomes"]
    assert sum(outcomes.values()) == n_files
    # the damage reaches all checks, and is not always fatal
    assert len(report["flaws"]) > 10
    assert outcomes["damage_arrays loaded"] > n_files / 50
    assert outcomes["damage_schema loaded"] > n_files / 50
    assert outcomes["damage_schema refused"] > n_files / 10
