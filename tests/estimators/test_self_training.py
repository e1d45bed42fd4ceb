"""The classifier with self-training: accuracy, rules, probabilities, files, unusual inputs."""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm
from shifted import shifted
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier

import ilspace
from ilspace import ILSClassifier
from ilspace.ils import ridge_rule, rounds
from ilspace.rules import ridge

DATA = shifted(1, n=45, nt=40)
X, y, Xt, yt = DATA
SOME = DATA.marked(None, 6)
RULES = ("auto", "nearest", "linear", "ridge")


def turned(seed):
    """Classes that overlap, turned so far that the source alone says little of the target."""
    rng = np.random.default_rng(seed)
    y, yt = np.arange(60) % 4, np.arange(90) % 4
    means, skew = rng.standard_normal((4, 20)), 0.15 * rng.standard_normal((20, 20))
    X = rng.standard_normal((60, 20)) + means[y]
    Xt = (rng.standard_normal((90, 20)) + means[yt]) @ expm(skew - skew.T) + 2
    return X, y, Xt, yt


def test_self_training_is_worth_it():
    scores = {0: [], "auto": []}
    for seed in range(6):
        X, y, Xt, yt = turned(seed)
        for n_rounds, found in scores.items():
            model = ILSClassifier(self_training=n_rounds, random_state=0).fit(X, y, Xt)
            found.append(model.score(Xt, yt))
    # 0.84 and 0.95 on average
    assert np.mean(scores["auto"]) > np.mean(scores[0]) + 0.08
    assert min(np.subtract(scores["auto"], scores[0])) > 0.03


def test_two_rounds_by_default_where_there_is_a_target():
    assert len(ILSClassifier(3).fit(X, y, Xt).rounds_) == 2
    assert len(ILSClassifier(3, self_training=3).fit(X, y, Xt).rounds_) == 3
    assert ILSClassifier(3, self_training=0).fit(X, y, Xt).rounds_ == ()
    for n_rounds in ("auto", 2):
        assert ILSClassifier(3, self_training=n_rounds).fit(X, y).rounds_ == ()
    assert ILSClassifier(3).partial_fit(X, y, Xt).rounds_ == ()


@pytest.mark.parametrize("n_rounds", [True, False, -1, 2.0])
def test_rounds_are_counted(n_rounds):
    with pytest.raises(ValueError, match=r"must be an int in the range \[0, inf\).*'auto'"):
        ILSClassifier(3, self_training=n_rounds).fit(X, y, Xt)


def test_only_the_ridge_is_calibrated(monkeypatch):
    monkeypatch.setattr(ridge_rule, "held_out_inverse_temperature", lambda *_, **__: 1 / 0)
    for rule in ("nearest", "linear", KNeighborsClassifier()):
        ILSClassifier(3, classifier=rule).fit(X, y, Xt)
    with pytest.raises(ZeroDivisionError):
        ILSClassifier(3).fit(X, y, Xt)


def test_rounds_say_what_they_did():
    model = ILSClassifier(3).fit(X, y, Xt, SOME)
    first, last = model.rounds_
    assert 17 <= first.n_selected <= 20  # half of 34 rows, rounded up per class
    assert last.n_selected == 34
    for each in model.rounds_:
        assert 0 <= each.changed <= 1
        assert each.kept
    assert last.n_iter == model.n_iter_
    assert last.status is model.solution_.status


@pytest.mark.parametrize("n_rounds", [-1, 1.5, "many", None])
def test_other_numbers_of_rounds_are_refused(n_rounds):
    with pytest.raises(ValueError, match="'self_training'"):
        ILSClassifier(3, self_training=n_rounds).fit(X, y, Xt)


# -- the rule ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("n_rounds", [0, 2])
@pytest.mark.parametrize("labels", [None, SOME], ids=["unsupervised", "semi-supervised"])
def test_every_named_rule(name, n_rounds, labels):
    model = ILSClassifier(3, classifier=name, self_training=n_rounds).fit(X, y, Xt, labels)
    resolved = ("ridge" if n_rounds else "nearest") if name == "auto" else name
    assert type(model._rule).__name__ == f"{resolved.capitalize()}Rule"
    for method in ("class_distances", "nearest"):
        assert hasattr(model, method) == (resolved == "nearest")
    for rows, truth, domain in ((Xt, yt, "target"), (X, y, "source")):
        predicted = model.predict(rows, domain)
        assert np.mean(predicted == truth) > 0.9
        probabilities = model.predict_proba(rows, domain)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        assert (probabilities >= 0).all()
        np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], predicted)


@pytest.mark.parametrize("name", RULES[1:])
def test_the_rule_does_not_change_the_space(name):
    wanted = ILSClassifier(3).fit(X, y, Xt).transform(Xt)
    met = ILSClassifier(3, classifier=name, self_training=2).fit(X, y, Xt).transform(Xt)
    assert met.tobytes() == wanted.tobytes()


def test_logistic_regression_is_that_of_scikit_learn():
    for classes in (3, 2):
        labels = np.minimum(y, classes - 1)
        model = ILSClassifier(3, classifier="linear", self_training=0).fit(X, labels, Xt)
        rows = model.transform(X, "source")
        scale = 1 / np.sqrt(np.mean(rows**2))
        wanted = LogisticRegression(max_iter=1000).fit(scale * rows, labels)
        np.testing.assert_allclose(
            model.predict_proba(Xt), wanted.predict_proba(scale * model.transform(Xt)), atol=1e-9
        )


class Remembering(ClassifierMixin, BaseEstimator):
    """A classifier that keeps what it was fitted with, and has no probabilities."""

    def fit(self, X, y, sample_weight=None):
        self.seen_, self.classes_ = (X, y, sample_weight), np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[-1])


def test_a_classifier_of_the_users_learns_from_the_given_labels():
    given = Remembering()
    weights = np.random.default_rng(0).uniform(1, 2, 85)
    model = ILSClassifier(3, classifier=given).fit(
        X, y + 10, Xt, [None if e is None else e + 10 for e in SOME], sample_weight=weights
    )
    assert not hasattr(given, "seen_")  # a clone is fitted
    rows, codes, shares = model._rule.classifier.seen_  # pyright: ignore[reportAttributeAccessIssue]
    assert len(model.rounds_) == 2
    wanted = np.concatenate([model.transform(X, "source"), model.transform(Xt[:6])])
    np.testing.assert_allclose(rows, wanted, atol=1e-12)
    np.testing.assert_array_equal(codes, np.r_[y, yt[:6]])
    np.testing.assert_array_equal(shares, weights[:51])
    assert model.predict(Xt).tolist() == [12] * 40
    assert not hasattr(model, "predict_proba")
    assert not hasattr(ILSClassifier(classifier=Remembering()), "predict_proba")


@pytest.mark.parametrize(
    "given", [KNeighborsClassifier(1), LogisticRegression(), RidgeClassifier(), DummyClassifier()]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_classifiers_of_scikit_learn(given, weighted):
    weights = np.linspace(1, 2, 85) if weighted else None
    model = ILSClassifier(3, classifier=given).fit(X, y, Xt, SOME, sample_weight=weights)
    predicted = model.predict(Xt)
    assert isinstance(given, DummyClassifier) or np.mean(predicted == yt) > 0.9
    if hasattr(given, "predict_proba"):
        found = model.predict_proba(Xt)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], predicted)


def test_a_class_that_the_users_classifier_does_not_know_has_probability_zero():
    # class 3 is named beforehand, and no row has it
    model = ILSClassifier(3, classifier=LogisticRegression())
    model.partial_fit(X, y, Xt, classes=[0, 1, 2, 3])
    found = model.predict_proba(Xt)
    assert found.shape == (40, 4)
    assert (found[:, 3] == 0).all()


def test_names_of_rules_are_refused_if_unknown():
    with pytest.raises(ValueError, match="'classifier'.*'auto'"):
        ILSClassifier(3, classifier="forest").fit(X, y, Xt)
    no_classifier: Any = object()
    with pytest.raises(ValueError, match="'classifier'"):
        ILSClassifier(3, classifier=no_classifier).fit(X, y, Xt)


# -- predictions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_rounds", [0, 2])
def test_new_rows_are_scored_by_the_expansion(n_rounds, dtype):
    source, target = X.astype(dtype), Xt.astype(dtype)
    model = ILSClassifier(3, classifier="ridge", self_training=n_rounds).fit(source, y, target)
    rule: Any = model._rule
    new = np.random.default_rng(0).standard_normal((9, 6)).astype(dtype)
    for position, (domain, seen) in enumerate((("source", source), ("target", target))):
        centred = new.astype(float) - seen.astype(float).mean(axis=0)
        blocks = [centred @ rule.plain.maps[position], model.transform(new, domain)]
        rows = np.hstack([b / np.linalg.norm(b, axis=1, keepdims=True) for b in blocks])
        gaps = ((rows[:, None] - rule.expansion.landmarks[None]) ** 2).sum(axis=2)
        kernel = np.exp(-gaps / rule.expansion.bandwidth) + 0.05
        scores = kernel @ rule.expansion.coefficients
        np.testing.assert_array_equal(model.predict(new, domain), scores.argmax(axis=1))
        odds = np.exp(rule.inverse_temperature * scores)
        met = model.predict_proba(new, domain)
        assert met.dtype == dtype
        wanted = odds / odds.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(met, wanted, atol=1e-9 if dtype is np.float64 else 1e-4)


def test_rows_of_both_domains_at_once():
    model = ILSClassifier(3).fit(X, y, Xt)
    mixed, domain = np.concatenate([X[:5], Xt[:4]]), np.r_[np.ones(5), -np.ones(4)]
    wanted = np.concatenate([model.predict_proba(X[:5], "source"), model.predict_proba(Xt[:4])])
    met = model.predict_proba(mixed, sample_domain=domain)
    np.testing.assert_allclose(met, wanted, atol=1e-12)


def test_no_rows_have_no_predictions():
    model = ILSClassifier(3).fit(X, y, Xt)
    rule: Any = model._rule
    assert rule.scores(model.map_, Xt[:0], 1).shape == (0, 3)


def test_probabilities_are_calibrated_where_the_domains_are_alike():
    rng = np.random.default_rng(3)
    means = rng.standard_normal((3, 5))
    y, yt = np.arange(240) % 3, np.arange(300) % 3
    X, Xt = means[y] + rng.standard_normal((240, 5)), means[yt] + rng.standard_normal((300, 5))
    model = ILSClassifier(random_state=0).fit(X, y, Xt)
    confidence = model.predict_proba(Xt).max(axis=1)
    assert abs(confidence.mean() - model.score(Xt, yt)) < 0.08


def test_known_labels_of_the_target_stay_in_the_space(monkeypatch):
    # a wrong label is learned from, never replaced
    wrong = [(each + 1) % 3 for each in yt[:6].tolist()] + [None] * 34
    seen = []
    fit = rounds.fit_ils
    monkeypatch.setattr(
        rounds, "fit_ils", lambda domains, **o: seen.append(domains) or fit(domains, **o)
    )
    ILSClassifier(3).fit(X, y, Xt, wrong)
    for domains in seen:
        assert domains.target.codes[:6].tolist() == wrong[:6]


# -- size and files ------------------------------------------------------------------------------


@pytest.mark.parametrize("n_rounds", [0, 2])
def test_the_rule_holds_no_more_rows_than_allowed(monkeypatch, n_rounds):
    assert ridge_rule.LANDMARKS * ridge.EXACT == 2500
    monkeypatch.setattr(ridge_rule, "LANDMARKS", 30)
    model = ILSClassifier(3, classifier="ridge", self_training=n_rounds, random_state=0)
    expansion: Any = getattr(model.fit(X, y, Xt)._rule, "expansion")  # noqa: B009
    assert expansion.landmarks.shape == (30, 9)
    assert expansion.coefficients.shape == (30, 3)
    assert model.score(Xt, yt) > 0.9
    again = ILSClassifier(3, classifier="ridge", self_training=n_rounds, random_state=0)
    assert again.fit(X, y, Xt).predict_proba(Xt).tobytes() == model.predict_proba(Xt).tobytes()


def test_the_file_holds_rows(tmp_path, monkeypatch):
    for n_most in (10, 30):
        monkeypatch.setattr(ridge_rule, "LANDMARKS", n_most)
        model = ILSClassifier(3, random_state=0).fit(X, y, Xt)
        model.save(tmp_path / "model")
        rule: Any = ilspace.load(tmp_path / "model")._rule
        both = np.concatenate(
            [
                ridge_rule.both_spaces(rows, rule.plain, model.map_, position)
                for position, rows in enumerate((X, Xt))
            ]
        )
        # each landmark is one of the rows
        gaps = np.abs(rule.expansion.landmarks[:, None] - both[None]).max(axis=2)
        assert gaps.min(axis=1).max() < 1e-12
        assert len(rule.expansion.landmarks) == n_most


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("n_rounds", [0, 2])
@pytest.mark.parametrize("setting", ["unsupervised", "semi-supervised", "different widths"])
def test_a_round_trip_is_exact(tmp_path, name, n_rounds, setting, dtype):
    source = X[:, :4] if setting == "different widths" else X
    labels = None if setting == "unsupervised" else SOME
    source, target = source.astype(dtype), Xt.astype(dtype)
    model = ILSClassifier(3, classifier=name, self_training=n_rounds).fit(source, y, target, labels)
    model.save(tmp_path / "model")
    loaded = ilspace.load(tmp_path / "model")
    assert loaded.rounds_ == model.rounds_
    assert type(loaded._rule) is type(model._rule)
    for rows, domain in ((source, "source"), (target, "target")):
        for method in ("predict", "predict_proba", "transform"):
            one, other = (getattr(each, method)(rows, domain) for each in (loaded, model))
            assert one.dtype == other.dtype
            assert one.tobytes() == other.tobytes()
    assert loaded.get_params()["classifier"] == name


def test_one_domain_round_trip(tmp_path):
    model = ILSClassifier(3, classifier="ridge").fit(X, y)
    model.save(tmp_path / "model")
    loaded = ilspace.load(tmp_path / "model")
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_arrays_of_other_libraries(tmp_path, library):
    xp = pytest.importorskip(library)
    model = ILSClassifier(3).fit(xp.asarray(X.copy()), y, xp.asarray(Xt.copy()), SOME)
    wanted = ILSClassifier(3).fit(X, y, Xt, SOME).predict_proba(Xt)
    met = model.predict_proba(xp.asarray(Xt.copy()))
    assert type(met) is not np.ndarray
    np.testing.assert_allclose(np.asarray(met), wanted, atol=1e-6)
    model.save(tmp_path / "model")
    np.testing.assert_allclose(
        ilspace.load(tmp_path / "model").predict_proba(Xt), wanted, atol=1e-6
    )


@pytest.mark.parametrize("n_landmarks", [ridge_rule.LANDMARKS, 12])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_on_a_gpu(tmp_path, monkeypatch, dtype, n_landmarks):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    monkeypatch.setattr(ridge_rule, "LANDMARKS", n_landmarks)
    wanted = ILSClassifier(3, random_state=0).fit(X, y, Xt, SOME)
    rows, others = (torch.asarray(each.astype(dtype), device="cuda") for each in (X, Xt))
    model = ILSClassifier(3, random_state=0).fit(rows, y, others, SOME)
    met = model.predict_proba(others)
    assert met.device.type == "cuda"
    assert met.dtype == getattr(torch, dtype)
    atol = 1e-6 if dtype == "float64" else 1e-2
    np.testing.assert_allclose(met.cpu().numpy(), wanted.predict_proba(Xt), atol=atol)
    np.testing.assert_array_equal(model.predict(others), wanted.predict(Xt))
    model.save(tmp_path / "model")
    loaded = ilspace.load(tmp_path / "model").predict_proba(Xt.astype(dtype))
    np.testing.assert_allclose(loaded, met.cpu().numpy(), atol=atol)


# -- unusual inputs ------------------------------------------------------------------------------


def assert_sound(model, rows):
    """Probabilities of all rows, of which the largest is the prediction."""
    found = model.predict_proba(rows)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(rows))


def test_a_class_of_one_row():
    rare = y.copy()
    rare[4] = 7
    model = ILSClassifier(3).fit(X, rare, Xt)
    assert_sound(model, Xt)
    assert model.classes_.tolist() == [0, 1, 2, 7]
    assert model.score(Xt, yt) > 0.7


def test_a_class_that_nobody_predicts():
    kept = np.flatnonzero(yt != 2)
    model = ILSClassifier(3).fit(X, y, Xt[kept])
    assert_sound(model, Xt[kept])


def test_a_class_of_the_source_alone_far_from_all_others():
    source = np.concatenate([X, X[:5] + 100])
    labels = np.r_[y, np.full(5, 9)]
    model = ILSClassifier(3).fit(source, labels, Xt)
    assert_sound(model, Xt)
    assert (model.predict(X[:5] + 100, "source") == 9).all()


def test_one_target_row_is_refused_and_two_are_enough():
    with pytest.raises(ValueError, match="Xt"):
        ILSClassifier().fit(X, y, Xt[:1])
    model = ILSClassifier().fit(X, y, Xt[:2])
    assert_sound(model, Xt)
    assert model.rounds_[-1].n_selected == 2


def test_target_rows_that_all_have_labels():
    model = ILSClassifier(3).fit(X, y, Xt, yt)
    assert len(model.rounds_) == 1
    assert model.rounds_[0][:2] == (0, 0.0)
    assert model.score(Xt, yt) > 0.95


def test_fewer_rows_than_neighbours():
    model = ILSClassifier().fit(X[:4], y[:4], Xt[:3])
    assert_sound(model, Xt)
    model = ILSClassifier().fit(X[:2], [0, 1], Xt[:2])
    assert_sound(model, Xt)


def test_two_classes():
    labels = np.minimum(y, 1)
    model = ILSClassifier(3).fit(X, labels, Xt)
    assert_sound(model, Xt)
    assert model.score(Xt, np.minimum(yt, 1)) > 0.9


def test_a_hundred_classes():
    rng = np.random.default_rng(0)
    labels, means = np.arange(300) % 100, 3 * rng.standard_normal((100, 12))
    source = means[labels] + 0.3 * rng.standard_normal((300, 12))
    target = means[labels[:150]] + 0.3 * rng.standard_normal((150, 12)) + 1
    model = ILSClassifier().fit(source, labels, target)
    assert_sound(model, target)
    assert model.score(target, labels[:150]) > 0.95


def test_rows_that_come_several_times():
    # more copies of a row than it has neighbours
    rows, target = np.repeat(X[:30], 12, axis=0), np.repeat(Xt[:24], 12, axis=0)
    many = ILSClassifier(3).fit(rows, np.repeat(y[:30], 12), target)
    assert_sound(many, Xt)
    assert many.score(Xt, yt) > 0.9


def test_constant_columns_do_not_matter():
    wanted = ILSClassifier(3).fit(X, y, Xt).predict_proba(Xt)
    source, target = np.insert(X, [0, 3], 5.0, axis=1), np.insert(Xt, [0, 3], 5.0, axis=1)
    met = ILSClassifier(3).fit(source, y, target).predict_proba(target)
    # all but nothing: the shrinkage of a covariance knows how many columns there are
    np.testing.assert_allclose(met, wanted, atol=1e-4)


@pytest.mark.parametrize("n_columns", [6, 5])
@pytest.mark.parametrize(("varies", "named"), [("Xt", "source"), ("X", "target"), ("", "source")])
def test_rows_that_are_all_equal_are_refused_by_name(n_columns, varies, named):
    source = X[:, :n_columns] if varies == "X" else np.ones((45, n_columns))
    target = Xt if varies == "Xt" else np.zeros((40, 6))
    with pytest.raises(ValueError, match=f"The {named} domain must vary"):
        ILSClassifier().fit(source, y, target, SOME)


def test_units_do_not_matter():
    wanted = ILSClassifier(3).fit(X, y, Xt).predict_proba(Xt)
    for factor in (1e-6, 1e6):
        model = ILSClassifier(3).fit(factor * X, y, factor * Xt)
        np.testing.assert_allclose(model.predict_proba(factor * Xt), wanted, atol=1e-6)


def test_the_order_of_rows_and_the_names_of_classes_do_not_matter():
    wanted = ILSClassifier(3).fit(X, y, Xt, SOME).predict_proba(Xt)
    order, torder = (
        np.random.default_rng(0).permutation(45),
        np.random.default_rng(1).permutation(40),
    )
    names = np.array(["c", "a", "b"])
    labels = [None if each is None else names[each] for each in SOME]
    model = ILSClassifier(3).fit(
        X[order], names[y[order]], Xt[torder], [labels[row] for row in torder]
    )
    # the inverse temperature is fitted on every third row, so only what it scales is the same
    met = model.predict_proba(Xt)[:, [2, 0, 1]]
    np.testing.assert_array_equal(met.argmax(axis=1), wanted.argmax(axis=1))
    np.testing.assert_array_equal(model.predict(Xt), names[wanted.argmax(axis=1)])
