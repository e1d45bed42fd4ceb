"""The criteria as scikit-learn scorers, and what they may look at."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from shifted import shifted
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from ilspace import ILSClassifier
from ilspace.baselines import CORAL, HFA, SubspaceAlignment
from ilspace.selection import (
    CRITERIA,
    CircularValidation,
    DeepEmbeddedValidation,
    Evidence,
    MixupConsistency,
    calibrated,
    confidence,
    controlled_risk,
    density_ratio,
    information,
    neighbourhood_density,
    weighted_accuracy,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

CASE = shifted(n=60, nt=48, n_classes=3)
X, y, Xt, yt = CASE
ROWS, _, DOMAIN = CASE.mixed
LABELS = np.concatenate([y, yt])
FIT = np.random.default_rng(0).uniform(size=108) < 0.6
SEEN = ~FIT
names = pytest.mark.parametrize("name", list(CRITERIA))


@pytest.fixture(scope="module")
def fitted():
    labels = np.where(DOMAIN > 0, LABELS, -1)
    return ILSClassifier(2).fit(ROWS[FIT], labels[FIT], sample_domain=DOMAIN[FIT])


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def score(
    name, fitted, rows: Any = ROWS[SEEN], labels: Any = LABELS[SEEN], domain: Any = DOMAIN[SEEN]
):
    return CRITERIA[name]()(fitted, rows, labels, sample_domain=domain)


class Unreadable:
    """A label that nobody may look at."""

    def _refuse(self, *_, **__) -> Any:
        raise AssertionError("a target label was read")

    __eq__ = __ne__ = __lt__ = __hash__ = __array__ = __float__ = _refuse


# -- what a criterion looks at -------------------------------------------------------------------


@names
@pytest.mark.parametrize(
    "mark",
    [-1, None, np.nan, "garbage", Unreadable()],
    ids=["-1", "None", "nan", "garbage", "unreadable"],
)
def test_labels_of_target_rows_are_not_read(name, mark, fitted):
    is_source = DOMAIN[SEEN] > 0
    labels = np.empty(SEEN.sum(), dtype=object)
    labels[is_source] = y[SEEN[: len(y)]].tolist()
    for row in np.flatnonzero(~is_source):
        labels[row] = mark
    expected = score(name, fitted)
    assert score(name, fitted, labels=labels) == expected
    assert score(name, fitted, labels=list(labels)) == expected


@pytest.mark.parametrize("name", sorted(set(CRITERIA) - {"mixval"}))  # pairs rows by place
def test_the_place_of_a_row_does_not_matter(name, fitted):
    order = np.random.default_rng(0).permutation(SEEN.sum())
    rows, labels, domain = ROWS[SEEN][order], LABELS[SEEN][order], DOMAIN[SEEN][order]
    # the folds of the domain classifier depend on the order
    tolerance = 0.1 if name == "dev" else 1e-9
    expected = score(name, fitted)
    assert score(name, fitted, rows, labels, domain) == pytest.approx(expected, abs=tolerance)


@names
def test_containers(name, fitted):
    expected = score(name, fitted)
    lists = (ROWS[SEEN].tolist(), LABELS[SEEN].tolist(), DOMAIN[SEEN].tolist())
    assert score(name, fitted, *lists) == expected
    thin = sparse.csr_matrix(ROWS[SEEN])
    assert score(name, fitted, thin) == pytest.approx(expected, abs=0.05)
    columns = list("abcdef")
    frame = pd.DataFrame(ROWS, columns=columns)
    named = clone(fitted).fit(
        frame[FIT], np.where(DOMAIN > 0, LABELS, -1)[FIT], sample_domain=DOMAIN[FIT]
    )
    again = score(name, named, frame[SEEN], pd.Series(LABELS)[SEEN], pd.Series(DOMAIN)[SEEN])
    assert again == pytest.approx(expected)


@pytest.mark.parametrize("name", ["calibrated", "circular", "dev", "iwcv", "source"])
def test_source_rows_are_missing(name, fitted):
    with pytest.raises(ValueError, match="there are none"):
        score(name, fitted, Xt, yt, np.full(len(Xt), -1))


@pytest.mark.parametrize(
    ("labels", "domain", "message"),
    [
        (LABELS, None, "sample_domain must say .*set_config"),
        (LABELS, np.ones(108), "no negative entry"),
        (None, DOMAIN, "y is None"),
    ],
)
def test_what_a_scorer_must_be_told(labels, domain, message, fitted):
    with pytest.raises(ValueError, match=message):
        score("source", fitted, ROWS, labels, domain)


# -- the numbers ---------------------------------------------------------------------------------


def test_criteria_are_measures_of_what_the_model_says(fitted):
    is_source = DOMAIN > 0
    source, labels = ROWS[SEEN & is_source], LABELS[SEEN & is_source]
    target = ROWS[SEEN & ~is_source]
    correct = fitted.predict(source, domain="source") == labels
    latent = fitted.transform(source, domain="source"), fitted.transform(target)
    given = fitted.predict_proba(target)
    of_source = fitted.predict_proba(source, domain="source")
    losses = [
        log_loss(labels[[i]], row[None], labels=fitted.classes_) for i, row in enumerate(of_source)
    ]
    weights = density_ratio(*latent)
    expected = {
        "entropy": confidence(given),
        "calibrated": information(calibrated(given, known=of_source, codes=labels)),
        "infomax": information(given),
        "snd": neighbourhood_density(given),
        "source": correct.mean(),
        "iwcv": weighted_accuracy(correct, density_ratio(source, target)),
        "dev": controlled_risk(1.0 - correct, weights),
    }
    for name, value in expected.items():
        assert score(name, fitted) == pytest.approx(value), name
    log = DeepEmbeddedValidation(loss="log")(
        fitted, ROWS[SEEN], LABELS[SEEN], sample_domain=DOMAIN[SEEN]
    )
    assert log == pytest.approx(controlled_risk(losses, weights))


def test_being_surer_of_everything_helps_only_where_nobody_calibrates(fitted):
    class Surer(ILSClassifier):
        def predict_proba(self, X, domain="target", *, sample_domain=None, allow_source=False):
            given = super().predict_proba(X, domain, sample_domain=sample_domain)
            return given**3 / np.sum(given**3, axis=1, keepdims=True)

    labels = np.where(DOMAIN > 0, LABELS, -1)
    surer = Surer(2).fit(ROWS[FIT], labels[FIT], sample_domain=DOMAIN[FIT])
    assert score("calibrated", surer) == pytest.approx(score("calibrated", fitted), abs=1e-3)
    for name in ("entropy", "infomax"):
        assert score(name, surer) > score(name, fitted)


def test_circular_validation_goes_there_and_back(fitted):
    is_source = DOMAIN > 0
    source, labels = ROWS[SEEN & is_source], LABELS[SEEN & is_source]
    target = ROWS[SEEN & ~is_source]
    back = ILSClassifier(2).fit(target, fitted.predict(target), source)
    assert score("circular", fitted) == back.score(source, labels)


def test_circular_validation_of_one_predicted_class():
    class Same(DummyClassifier):
        def fit(self, X, y, **_):
            return super().fit(X, y)

        def predict(self, X, **_):
            return super().predict(X)

    same = Same(strategy="constant", constant=1).fit(X, y)
    evidence = Evidence(same, X, y, np.arange(9), Xt)
    assert CircularValidation().judge(evidence) == np.mean(y[:9] == 1)
    assert CircularValidation(rows="all").judge(evidence) == np.mean(y == 1)


def test_wrong_predictions_do_not_lead_back(fitted):
    """The criterion falls as predicted target labels are shuffled."""

    class Confused(ILSClassifier):
        def predict(self, X, domain="target", *, sample_domain=None, allow_source=False):
            found = super().predict(X, domain, sample_domain=sample_domain)
            if len(X) == len(Xt):  # on the way there, not on the way back
                found = np.random.default_rng(0).permutation(found)
            return found

    honest, confused = ILSClassifier(2).fit(X, y, Xt), Confused(2).fit(X, y, Xt)
    there, lost = (
        CircularValidation().judge(Evidence(each, X, y, np.arange(len(y)), Xt))
        for each in (honest, confused)
    )
    assert there > 0.9
    assert lost < 0.7


def test_mixed_rows_keep_the_class_of_the_larger_part():
    far = np.eye(3)[np.arange(30) % 3] * 100
    model = ILSClassifier(2).fit(far + np.random.default_rng(0).normal(size=far.shape), y[:30], far)
    evidence = Evidence(model, far, y[:30], np.arange(0), far, seed=1)
    assert MixupConsistency(share=0.9).judge(evidence) == 1
    assert MixupConsistency(share=0.1).judge(evidence) < 0.7


def test_labels_of_another_order_and_kind(fitted):
    """Columns of the probabilities are looked up by class, not by position."""
    words = np.array(["z", "b", "m"])
    labels = words[LABELS].astype(object)
    labels[DOMAIN < 0] = None
    model = ILSClassifier(2).fit(ROWS[FIT], labels[FIT].tolist(), sample_domain=DOMAIN[FIT])
    for name, kind in CRITERIA.items():
        found = kind()(model, ROWS[SEEN], labels[SEEN], sample_domain=DOMAIN[SEEN])
        assert found == pytest.approx(score(name, fitted)), name
    log = DeepEmbeddedValidation(loss="log")
    assert log(model, ROWS[SEEN], labels[SEEN], DOMAIN[SEEN]) == pytest.approx(
        log(fitted, ROWS[SEEN], LABELS[SEEN], DOMAIN[SEEN])
    )


@pytest.mark.parametrize(
    ("criterion", "message"),
    [
        (CircularValidation(rows="some"), 'rows must be "held-out" or "all"'),
        (DeepEmbeddedValidation(loss="hinge"), 'loss must be "zero-one" or "log"'),
    ],
)
def test_bad_parameters(criterion, message, fitted):
    with pytest.raises(ValueError, match=message):
        criterion(fitted, ROWS, LABELS, sample_domain=DOMAIN)


# -- other estimators ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [CORAL, SubspaceAlignment])
@names
def test_baselines(kind, name):
    model = kind().fit(X, y, Xt)
    assert np.isfinite(score(name, model, ROWS, LABELS, DOMAIN))


def test_a_method_of_scores_only():
    few = np.where(np.arange(len(yt)) < 9, yt, -1)
    model = HFA().fit(X, y, Xt, few)
    assert not hasattr(model, "predict_proba")
    for name in ("entropy", "infomax", "snd", "source"):
        assert np.isfinite(score(name, model, ROWS, LABELS, DOMAIN)), name


def test_a_model_without_probabilities_or_scores():
    class Hard(ILSClassifier):
        predict_proba: Any = property()  # raises AttributeError

    with pytest.raises(ValueError, match="neither predict_proba nor decision_function"):
        score("entropy", Hard(2).fit(X, y, Xt), ROWS, LABELS, DOMAIN)


# -- in scikit-learn's searches ------------------------------------------------------------------


@names
def test_grid_search(name, routing):
    search = GridSearchCV(
        ILSClassifier(), {"n_components": [1, 3]}, scoring=CRITERIA[name](), cv=3, refit=False
    )
    labels = np.where(DOMAIN > 0, LABELS, -1)
    order = np.random.default_rng(0).permutation(len(ROWS))
    search.fit(ROWS[order], labels[order], sample_domain=DOMAIN[order])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_grid_search_with_many_criteria(routing):
    scorers = {name: CRITERIA[name]() for name in ("circular", "infomax")}
    search = GridSearchCV(
        ILSClassifier(), {"n_components": [1, 3]}, scoring=scorers, cv=3, refit="infomax"
    )
    search.fit(ROWS, np.where(DOMAIN > 0, LABELS, -1), sample_domain=DOMAIN)
    assert np.isfinite(search.cv_results_["mean_test_circular"]).all()
    assert search.best_params_ == {"n_components": 3}


def test_grid_search_without_routing_says_what_to_do(fitted):
    search = GridSearchCV(
        ILSClassifier(), {"n_components": [1]}, scoring=CRITERIA["snd"](), error_score="raise"
    )
    with pytest.raises(ValueError, match="enable_metadata_routing=True"):
        search.fit(ROWS, np.where(DOMAIN > 0, LABELS, -1), sample_domain=DOMAIN)


@names
def test_criteria_are_estimators(name):
    criterion = CRITERIA[name]()
    assert repr(clone(criterion)) == repr(criterion)
    assert clone(criterion).get_params() == criterion.get_params()


def test_log_losses_of_a_class_never_learned():
    class Plain(LogisticRegression):
        def predict_proba(self, X, **_):
            return super().predict_proba(X)

    two = Plain().fit(X[y < 2], y[y < 2])
    losses = Evidence(two, X, y, np.arange(len(y)), Xt).log_losses
    assert (losses[y == 2] > 30).all()
    assert (losses[y < 2] < 30).all()
