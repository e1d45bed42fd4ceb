"""Inside SKADA's pipelines, in a process of their own: importing SKADA changes scikit-learn."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(find_spec("skada") is None, reason="SKADA is not installed")

_HEAD = """
import numpy as np
from shifted import shifted
from skada import make_da_pipeline
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from ilspace import ILSClassifier, ILSTransformer

case = shifted()
X, y, Xt, yt = case
rows, labels, domain = case.mixed
direct = ILSClassifier().fit(X, y, Xt)
chance = 1 / 3
"""

_CLASSIFIER = """
pipeline = make_da_pipeline(ILSClassifier()).fit(rows, labels, sample_domain=domain)
assert pipeline.score(Xt, yt) > chance + 0.4
assert np.array_equal(pipeline.predict(Xt), direct.predict(Xt))
assert np.array_equal(pipeline.predict_proba(Xt), direct.predict_proba(Xt))
assert np.array_equal(pipeline.predict_proba(Xt, sample_domain=-2), direct.predict_proba(Xt))
both = pipeline.predict_proba(rows, sample_domain=domain, allow_source=True)
assert np.allclose(both[: len(X)], direct.predict_proba(X, domain="source"), rtol=1e-12, atol=0)
assert np.allclose(both[len(X) :], direct.predict_proba(Xt), rtol=1e-12, atol=0)
truth = np.concatenate([y, yt])
assert pipeline.score(rows, truth, sample_domain=domain, allow_source=True) > chance + 0.4
"""

_SEMI_SUPERVISED = """
few = np.where(np.arange(len(yt)) < 6, yt, -1)
pipeline = make_da_pipeline(ILSClassifier(), mask_target_labels=False)
pipeline.fit(rows, np.concatenate([y, few]), sample_domain=domain)
expected = ILSClassifier().fit(X, y, Xt, few)
assert np.array_equal(pipeline.predict_proba(Xt), expected.predict_proba(Xt))
"""

_ADAPTER = """
for last in (KNeighborsClassifier(1), LogisticRegression()):
    pipeline = make_da_pipeline(ILSTransformer(), last).fit(rows, labels, sample_domain=domain)
    assert pipeline.score(Xt, yt) > chance + 0.4, last
    assert pipeline.score(Xt, yt, sample_domain=-2 * np.ones(len(Xt))) > chance + 0.4, last
    if isinstance(last, KNeighborsClassifier):
        nearest = ILSClassifier(self_training=0).fit(X, y, Xt)
        assert np.array_equal(pipeline.predict(Xt), nearest.predict(Xt))
"""

_BEHIND_A_SCALER = """
for steps in ([ILSTransformer(), KNeighborsClassifier(1)], [ILSClassifier()]):
    pipeline = make_da_pipeline(StandardScaler(), *steps)
    pipeline.fit(rows, labels.copy(), sample_domain=domain)
    assert pipeline.score(Xt, yt) > chance + 0.4, steps
"""

_SEARCH = """
from skada.metrics import PredictionEntropyScorer
from skada.model_selection import SourceTargetShuffleSplit
from sklearn.model_selection import GridSearchCV
search = GridSearchCV(
    make_da_pipeline(ILSClassifier()),
    {"ilsclassifier__n_components": [2, 3]},
    scoring=PredictionEntropyScorer(),
    cv=SourceTargetShuffleSplit(n_splits=2, random_state=0),
).fit(rows, labels, sample_domain=domain)
assert np.isfinite(search.cv_results_["mean_test_score"]).all()
"""


def test_in_a_pipeline_of_skada():
    body = _CLASSIFIER + _SEMI_SUPERVISED + _ADAPTER + _BEHIND_A_SCALER + _SEARCH
    path = [str(Path(__file__).parents[1]), *sys.path]
    script = f"import sys; sys.path[:] = {path!r}\n{_HEAD}{body}"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
