"""With SKADA, in a process of its own: importing it changes scikit-learn."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("skada") is None, reason="SKADA is not installed"),
]

_HEAD = """
import numpy as np
from shifted import shifted
from skada import metrics, make_da_pipeline, CORALAdapter, SubspaceAlignmentAdapter
from skada.model_selection import SourceTargetShuffleSplit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity
from ilspace import ILSClassifier
from ilspace.selection import *

case = shifted(n=60, nt=48)
X, y, Xt, yt = case
rows, labels, domain = case.mixed
folds = SourceTargetShuffleSplit(n_splits=1, random_state=0)
"""

_OUR_SCORERS = """
models = {
    "subspacealignmentadapter__n_components": (SubspaceAlignmentAdapter(), LogisticRegression()),
    "coraladapter__reg": (CORALAdapter(), LogisticRegression()),
    "ilsclassifier__n_components": (ILSClassifier(),),
}
for name, steps in models.items():
    values = [0.1, 0.5] if name.endswith("reg") else [2, 3]
    for kind in CRITERIA.values():
        search = GridSearchCV(
            make_da_pipeline(*steps), {name: values}, scoring=kind(), cv=folds, refit=False,
            error_score="raise",
        ).fit(rows, labels.copy(), sample_domain=domain)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all(), (name, kind)
    search = LabelFreeSearch(make_da_pipeline(*steps), {name: values}, random_state=0)
    search.fit(X, y, Xt)
    assert search.cv_results_["error"] == [None, None]
    assert search.score(Xt, yt) > 0.7
    assert search.predict(X, domain="source").shape == y.shape
    assert list(search.classes_) == [0, 1, 2]
# a pipeline of one step is that step
alone, piped = ILSClassifier(2), make_da_pipeline(ILSClassifier(2))
alone.fit(X, y, Xt)
piped.fit(rows, labels.copy(), sample_domain=domain)
for kind in (*(each() for each in CRITERIA.values()), DeepEmbeddedValidation(loss="log")):
    ours = [kind(each, rows, labels, sample_domain=domain) for each in (alone, piped)]
    np.testing.assert_allclose(*ours, err_msg=repr(kind))
"""

_THEIR_SCORERS = """
theirs = [
    metrics.PredictionEntropyScorer(),
    metrics.SoftNeighborhoodDensity(),
    metrics.CircularValidation(),
    metrics.MixValScorer(random_state=0),
    metrics.ImportanceWeightedScorer(),
]
for estimator, name in (
    (ILSClassifier().set_score_request(sample_weight=True), "n_components"),
    (
        make_da_pipeline(ILSClassifier().set_score_request(sample_weight=True)),
        "ilsclassifier__n_components",
    ),
):
    for scorer in theirs:
        search = GridSearchCV(
            estimator, {name: [2, 3]}, scoring=scorer, cv=folds, refit=False, error_score="raise"
        ).fit(rows, labels.copy(), sample_domain=domain)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all(), scorer
# their deep embedded validation wants a pipeline, or a deep model
search = GridSearchCV(
    make_da_pipeline(ILSClassifier()), {"ilsclassifier__n_components": [2, 3]},
    scoring=metrics.DeepEmbeddedValidation(random_state=0), cv=folds, refit=False,
    error_score="raise",
).fit(rows, labels.copy(), sample_domain=domain)
assert np.isfinite(search.cv_results_["mean_test_score"]).all()
"""

_PARITY = """
model = make_da_pipeline(ILSClassifier(2)).fit(rows, labels.copy(), sample_domain=domain)
given = (model, rows, labels)
is_source = domain > 0

# theirs is the mean over rows and classes, ours over rows
theirs = metrics.PredictionEntropyScorer()(*given, sample_domain=domain)
ours = PredictionEntropy()(*given, sample_domain=domain)
np.testing.assert_allclose(ours, 3 * theirs, rtol=1e-5)  # they add 1e-7 to the probabilities

# they keep a row among its neighbours, at similarity -1 in place of 1
theirs = metrics.SoftNeighborhoodDensity()(*given, sample_domain=domain)
np.testing.assert_allclose(SoftNeighbourhoodDensity()(*given, sample_domain=domain), theirs)

# circular validation: theirs is balanced accuracy, the same here as the classes are equal in size
theirs = metrics.CircularValidation()(*given, sample_domain=domain)
np.testing.assert_allclose(CircularValidation()(*given, sample_domain=domain), theirs)

# importance weighting, given their weights: two kernel densities of the rows themselves
densities = [KernelDensity().fit(each).score_samples(X) for each in (Xt, X)]
correct = model.predict(X, sample_domain=np.ones(len(X)), allow_source=True) == y
weighted = make_da_pipeline(ILSClassifier(2).set_score_request(sample_weight=True))
weighted.fit(rows, labels.copy(), sample_domain=domain)
theirs = metrics.ImportanceWeightedScorer()(weighted, rows, labels, sample_domain=domain)
np.testing.assert_allclose(weighted_accuracy(correct, np.exp(densities[0] - densities[1])), theirs)
"""

_EMBEDDED = """
from sklearn.model_selection import train_test_split

# their risk, from their rows and weights; of domains so near that no weight is cut
Xt = X + 0.3
rows, domain = np.concatenate([X, Xt]), np.repeat([1, -2], len(X))
labels = np.concatenate([y, np.full(len(Xt), -1)])
model = make_da_pipeline(LogisticRegression(C=0.1)).fit(rows, labels.copy(), sample_domain=domain)
theirs = metrics.DeepEmbeddedValidation(random_state=0)(model, rows, labels, sample_domain=domain)
# a column of losses, where their default is a row that broadcasts against the column of weights
column = metrics.DeepEmbeddedValidation(
    random_state=0,
    loss_func=lambda true, found: -np.log(found[np.arange(len(true)), true])[:, None],
)
mended = column(model, rows, labels, sample_domain=domain)
train, rest, _, truth = train_test_split(
    X, y, test_size=0.33, random_state=np.random.RandomState(0)
)
weights = density_ratio(train, Xt, at=rest, classifier=LogisticRegression())
losses = -np.log(model.predict_proba(rest)[np.arange(len(truth)), truth])
ours = controlled_risk(losses, weights)
cut = weights.max() >= np.sqrt(len(weights)) * weights.mean() * (1 - 1e-9)
assert not cut
np.testing.assert_allclose(ours, mended, rtol=1e-6)
assert abs(theirs - mended) > 1e-3
"""


@pytest.mark.parametrize(
    "body",
    [_OUR_SCORERS, _THEIR_SCORERS, _PARITY + _EMBEDDED],
    ids=["our scorers", "their scorers", "parity"],
)
def test_with_skada(body):
    path = [str(Path(__file__).parents[1]), *sys.path]
    script = f"import sys; sys.path[:] = {path!r}\n{_HEAD}{body}"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
