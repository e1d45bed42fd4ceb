"""The rule that gives rows a class: which one there is, and what it can do."""

import numpy as np
import pytest
from shifted import shifted
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from ilspace import ILSClassifier

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

DATA = shifted()
X, y, Xt, yt = DATA
SOME = DATA.marked(None)
OF_THE_NEAREST = ("class_distances", "nearest")


@pytest.mark.parametrize(
    ("parameters", "given", "kind", "n_rounds"),
    [
        ({}, (X, y, Xt), "RidgeRule", 2),
        ({}, (X, y, Xt, SOME), "RidgeRule", 2),
        ({}, (X, y, Xt[:, :4], SOME), "RidgeRule", 2),
        ({}, (X, y, Xt, yt), "RidgeRule", 1),  # no row is left to predict
        ({}, (X, y), "NearestRule", 0),
        ({"self_training": 3}, (X, y), "NearestRule", 0),
        ({"self_training": 0}, (X, y, Xt), "NearestRule", 0),
        ({"self_training": 1}, (X, y, Xt), "RidgeRule", 1),
        ({"classifier": "nearest"}, (X, y, Xt), "NearestRule", 2),
        ({"classifier": "linear"}, (X, y, Xt), "LinearRule", 2),
        ({"classifier": "ridge", "self_training": 0}, (X, y, Xt), "RidgeRule", 0),
        ({"classifier": "ridge"}, (X, y), "RidgeRule", 0),
        ({"classifier": GaussianNB()}, (X, y, Xt), "OwnRule", 2),
    ],
)
def test_which_rule_and_how_many_rounds(parameters, given, kind, n_rounds):
    fitted = ILSClassifier(3, **parameters).fit(*given)
    assert type(fitted._rule).__name__ == kind
    assert len(fitted.rounds_) == n_rounds
    for name in OF_THE_NEAREST:
        assert hasattr(fitted, name) == (kind == "NearestRule")
    assert hasattr(fitted, "predict_proba")
    rows, truth = (given[2], yt) if len(given) > 2 else (X, y)
    assert fitted.score(rows, truth) > 0.9


def test_as_in_the_paper_the_nearest_row_decides_after_one_fit():
    fitted = ILSClassifier.as_in_paper(3, random_state=0).fit(X, y, Xt)
    assert (fitted.classifier, fitted.self_training, fitted.rounds_) == ("nearest", 0, ())
    assert hasattr(fitted, "nearest")


def test_pieces_are_never_trained_on_predictions():
    for rule, n_rounds in (("auto", "auto"), ("auto", 2), ("nearest", "auto")):
        model = ILSClassifier(3, classifier=rule, self_training=n_rounds, random_state=0)
        model.partial_fit(X, y, Xt)
        assert model.rounds_ == ()
        assert hasattr(model, "nearest")


@pytest.mark.parametrize("classifier", ["linear", GaussianNB()], ids=str)
def test_pieces_with_another_rule(classifier):
    model = ILSClassifier(3, classifier=classifier, random_state=0)
    model.partial_fit(X[:15], y[:15], Xt[:12]).partial_fit(X[15:], y[15:], Xt[12:])
    assert model.score(Xt, yt) > 0.9
    assert not hasattr(model, "nearest")


def test_a_ridge_does_not_learn_from_pieces():
    model = ILSClassifier(3, classifier="ridge").fit(X, y, Xt)
    before = vars(model).copy()
    with pytest.raises(ValueError, match='"ridge" needs all rows at once: use .*"nearest"'):
        model.partial_fit(X, y, Xt)
    assert vars(model) == before


def test_what_a_rule_cannot_do_is_not_there_before_fit_either():
    assert not hasattr(ILSClassifier(classifier=LinearSVC()), "predict_proba")
    for rule in ("linear", "ridge", GaussianNB()):
        model = ILSClassifier(classifier=rule)
        assert hasattr(model, "predict_proba")
        assert not any(hasattr(model, name) for name in OF_THE_NEAREST)
    with pytest.raises(AttributeError, match="'ILSClassifier' has no attribute 'nearest'"):
        ILSClassifier(2).fit(X, y, Xt).nearest(Xt)


def test_a_classifier_without_probabilities():
    fitted = ILSClassifier(3, classifier=LinearSVC()).fit(X, y, Xt)
    assert not hasattr(fitted, "predict_proba")
    alone = LinearSVC().fit(fitted.transform(X, "source"), y)
    np.testing.assert_array_equal(fitted.predict(Xt), alone.predict(fitted.transform(Xt)))
    assert fitted.score(Xt, yt) > 0.9


@pytest.mark.parametrize("width", [6, 4])
def test_a_classifier_learns_from_the_labelled_rows_in_the_latent_space(width):
    own, names, target = GaussianNB(), np.array(["cat", "dog", "emu"]), Xt[:, :width]
    some = [None if each is None else names[each] for each in SOME]
    fitted = ILSClassifier(3, classifier=own, self_training=0).fit(X, names[y], target, some)
    assert not hasattr(own, "classes_")  # a clone of it was fitted
    latent = fitted.transform(target)
    rows = np.concatenate([fitted.transform(X, "source"), latent[:6]])
    alone = clone(own).fit(rows, names[np.r_[y, yt[:6]]])
    np.testing.assert_array_equal(fitted.predict(target), alone.predict(latent))
    np.testing.assert_allclose(fitted.predict_proba(target), alone.predict_proba(latent))


def test_a_classifier_that_takes_no_weights_goes_without():
    weights = np.linspace(0.5, 2, len(X))
    for own in (KNeighborsClassifier(3), GaussianNB()):
        fitted = ILSClassifier(3, classifier=own, self_training=0)
        fitted.fit(X, y, Xt, sample_weight=weights)
        given = {"sample_weight": weights} if isinstance(own, GaussianNB) else {}
        alone = clone(own).fit(fitted.transform(X, "source"), y, **given)
        expected = alone.predict_proba(fitted.transform(Xt))
        np.testing.assert_allclose(fitted.predict_proba(Xt), expected, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_linear_rule_is_a_logistic_regression(n_classes):
    kept, kept_t = y < n_classes, yt < n_classes
    fitted = ILSClassifier(3, classifier="linear", self_training=0)
    fitted.fit(X[kept], y[kept], Xt[kept_t])
    rows = fitted.transform(X[kept], "source")
    scale = 1 / np.sqrt(np.mean(rows**2))
    alone = LogisticRegression(max_iter=1000).fit(scale * rows, y[kept])
    expected = alone.predict_proba(scale * fitted.transform(Xt))
    np.testing.assert_allclose(fitted.predict_proba(Xt), expected, atol=1e-8)


def test_parameters_of_a_classifier_can_be_set():
    model = ILSClassifier(classifier=KNeighborsClassifier())
    assert model.get_params()["classifier__n_neighbors"] == 5
    assert model.set_params(classifier__n_neighbors=1).classifier.n_neighbors == 1
