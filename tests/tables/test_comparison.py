"""Whether to adapt: scores against loops of one's own, and verdicts that follow from them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from tables.small_tables import small_tables

from ilspace.tables import TableClassifier, comparison
from ilspace.tables.comparison import (
    ADAPTED,
    NEIGHBOURS,
    NOT_ADAPTED,
    POOLED,
    SCALED,
    TARGET_ALONE,
    compare,
)

TABLES = small_tables()
X, Y, XT = TABLES.features


def labels(n_rows):
    return np.array([each if i < n_rows else None for i, each in enumerate(TABLES.truth)], object)


def compared(yt=None, source=X, y=Y, target=XT, **options):
    model = TableClassifier(holdout=0).fit(source, y, target, yt)
    unadapted = model.label_rows(target)["unadapted"].to_numpy()
    return model, compare(model, source, y, target=target, yt=yt, unadapted=unadapted, **options)


@pytest.fixture(scope="module")
def unlabelled():
    steps = []
    return *compared(on_step=lambda *step: steps.append(step)), steps


def test_without_target_labels_source_labels_go_there_and_back(unlabelled):
    _, met, steps = unlabelled
    assert met.judged_by == "circular validation"
    assert list(met.scores) == [ADAPTED, NOT_ADAPTED, NEIGHBOURS, SCALED]
    assert met.n_rows == len(Y)
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_simple_classifiers_are_nearest_neighbours_there_and_back(unlabelled):
    model, met, _ = unlabelled
    own = model.encode(X, "source"), model.encode(XT)
    unaware = own[0], model.source_encoder_.encode(XT)
    order = np.argsort(Y, kind="stable")
    fold = np.empty(len(Y), int)
    fold[order] = np.arange(len(Y)) % 4
    for name, (source, target) in ((SCALED, own), (NEIGHBOURS, unaware)):
        right = 0
        for each in range(4):
            kept, held = fold != each, fold == each
            there = KNeighborsClassifier(1).fit(source[kept], Y[kept]).predict(target)
            back = KNeighborsClassifier(1).fit(target, there).predict(source[held])
            right += np.sum(back == Y[held])
        assert met.scores[name] == pytest.approx(right / len(Y))


@pytest.mark.filterwarnings("ignore:self.within_class_std_dev_ has")
@pytest.mark.parametrize("has_all_classes", [True, False])
def test_not_adapted_is_the_rule_of_the_column_unadapted(has_all_classes):
    yt = labels(24)
    if not has_all_classes:
        yt[TABLES.truth == "ant"] = None
    model, met = compared(yt)
    known = np.flatnonzero([each is not None for each in yt])
    source, target = model.encode(X, "source"), model.encode(XT)
    column = model.label_rows(XT)["unadapted"].to_numpy()
    assert model.asks_target_labels_ is has_all_classes
    if not has_all_classes:
        said = NearestCentroid().fit(source, Y).predict(model.source_encoder_.encode(XT))
        assert column.tolist() == said.tolist()
        assert met.scores[NOT_ADAPTED] == pytest.approx(np.mean(said[known] == yt[known]))
        return
    rule = NearestCentroid().fit(target[known], yt[known].astype(str))
    assert column.tolist() == rule.predict(target).tolist()
    fold = np.empty(len(known), int)
    fold[np.argsort(yt[known].astype(str), kind="stable")] = np.arange(len(known)) % 5
    right = 0
    for each in range(5):
        given, hidden = known[fold != each], known[fold == each]
        rule = NearestCentroid().fit(target[given], yt[given].astype(str))
        right += np.sum(rule.predict(target[hidden]) == yt[hidden])
    assert met.scores[NOT_ADAPTED] == pytest.approx(right / len(known))


def test_with_target_labels_each_row_is_judged_without_its_own():
    yt = labels(15)
    model, met = compared(yt)
    assert met.judged_by == "target labels"
    assert list(met.scores) == [
        ADAPTED,
        NOT_ADAPTED,
        NEIGHBOURS,
        SCALED,
        POOLED,
        TARGET_ALONE,
    ]
    assert met.n_rows == 15
    target, known = model.encode(XT), np.arange(15)
    order = np.argsort(yt[known].astype(str), kind="stable")
    fold = np.empty(15, int)
    fold[order] = np.arange(15) % 5
    alone = adapted = pooled = 0
    source = model.encode(X, "source")
    for each in range(5):
        given, hidden = known[fold != each], known[fold == each]
        nearest = KNeighborsClassifier(1).fit(target[given], yt[given].astype(str))
        alone += np.sum(nearest.predict(target[hidden]) == yt[hidden])
        all_rows = np.concatenate([source, target[given]])
        nearest.fit(all_rows, np.concatenate([Y, yt[given].astype(str)]))
        pooled += np.sum(nearest.predict(target[hidden]) == yt[hidden])
        some = yt.copy()
        some[hidden] = None
        fitted = clone(model.estimator_).fit(source, Y, target, some)
        adapted += np.sum(fitted.predict(target[hidden]) == yt[hidden])
    assert met.scores[TARGET_ALONE] == pytest.approx(alone / 15)
    assert met.scores[POOLED] == pytest.approx(pooled / 15)
    assert met.scores[ADAPTED] == pytest.approx(adapted / 15)


def test_few_labels_do_not_judge():
    _, met = compared(labels(9))
    assert met.judged_by == "circular validation"
    assert list(met.scores) == [ADAPTED, NOT_ADAPTED, NEIGHBOURS, SCALED]


@pytest.mark.parametrize("n_labelled", [6, 12])
def test_different_columns(n_labelled):
    other = XT[["depth", "weight"]].set_axis(["p", "q"], axis=1)
    _, met = compared(labels(n_labelled), target=other)
    if n_labelled == 12:
        assert list(met.scores) == [ADAPTED, NOT_ADAPTED, TARGET_ALONE]
    else:
        assert (met.judged_by, met.scores, met.helps) == ("nothing", {}, None)
        assert met.verdict.startswith("Nothing to compare with: the tables share no columns")


@pytest.mark.parametrize("rows", [slice(0, 3), slice(0, 2), [*range(0, 30, 3), 1]])
def test_too_few_rows_of_a_class_to_hold_one_out(rows):
    source, y = X.iloc[rows], Y[rows]
    _, met = compared(source=source, y=y)
    assert met.judged_by == "nothing"
    assert "too few source rows" in met.verdict


def without(gained, lost, p_value):
    right = {name: np.zeros(30, bool) for name in (ADAPTED, NOT_ADAPTED, SCALED)}
    right[ADAPTED][:gained] = True
    right[SCALED][gained : gained + lost] = True
    scores = {name: float(each.mean()) for name, each in right.items()}
    return comparison._verdict_without(scores, right, p_value)


def test_tables_that_do_not_differ():
    assert without(10, 0, 0.3).startswith("Adaptation may not be needed: no difference")


@pytest.mark.parametrize(
    ("gained", "lost", "said"),
    [
        (10, 0, "There is a sign that adaptation helps"),
        (0, 10, "There is a sign that adaptation does harm"),
        (8, 5, "There is a sign that adaptation helps, and none that it does more than to scale"),
        (4, 3, "There is no clear sign"),
        (0, 0, "There is no clear sign"),
    ],
)
def test_verdict_without_labels(gained, lost, said):
    assert without(gained, lost, 0.001).startswith(said)


def test_without_labels_nothing_is_proven(unlabelled):
    _, met, _ = unlabelled
    assert met.helps is None
    assert met.verdict.endswith("Label ten or more target rows to be sure.")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (lambda rows, rare: rows + 0.1, ""),
        (lambda rows, rare: rare, "'a' is predicted for 90% of the target and has 50%"),
        (lambda rows, rare: 10 * rows + 60, "nearly all target rows would be of one class"),
        (lambda rows, rare: rare[:10], ""),
    ],
)
def test_other_class_frequencies_get_a_word(target, said):
    rng = np.random.default_rng(0)
    y = np.array(["a"] * 40 + ["b"] * 40)
    source = rng.normal(size=(80, 3)) + 6 * (y == "b")[:, None]
    rare = rng.normal(size=(80, 3)) + 6 * (np.arange(80) < 8)[:, None]
    tables = [pd.DataFrame(each, columns=list("uvw")) for each in (source, target(source, rare))]
    model = TableClassifier(holdout=0).fit(tables[0], y, tables[1])
    met = comparison._caution(model, y, model.label_rows(tables[1])["unadapted"].to_numpy())
    assert said in met
    assert bool(met) is bool(said)


def test_rare_classes_survive_the_thinning(monkeypatch):
    monkeypatch.setattr(comparison, "MOST_ROWS", 20)
    y = np.array(["common"] * 500 + ["rare"] * 2 + ["single"])
    kept = y[comparison._some_of_each_class(y)]
    assert {name: int(np.sum(kept == name)) for name in np.unique(y)}.items() >= {
        ("rare", 2),
        ("single", 1),
    }
    assert len(kept) <= 20 + 6


@pytest.mark.parametrize(
    ("gained", "lost", "helps", "said"),
    [
        (10, 0, True, "Adaptation helps"),
        (0, 10, False, "Adaptation does not help"),
        (3, 1, None, "No clear difference"),
        (0, 0, None, "No clear difference"),
    ],
)
def test_verdict_by_labels(gained, lost, helps, said):
    right = {name: np.zeros(30, bool) for name in (ADAPTED, NOT_ADAPTED, SCALED)}
    right[ADAPTED][:gained] = True
    right[SCALED][gained : gained + lost] = True
    met = comparison._verdict_by_labels({k: float(v.mean()) for k, v in right.items()}, right)
    assert met[0] is helps
    assert met[1].startswith(said)
    assert ("Use the simpler one" in met[1]) is (helps is False)


def test_adaptation_that_harms_is_called_so():
    rng = np.random.default_rng(0)
    truth = np.repeat(["a", "b"], 30)
    target = pd.DataFrame(
        rng.normal(size=(60, 2)) + 9 * (truth == "b")[:, None], columns=["u", "v"]
    )
    source, y = target + rng.normal(size=(60, 2)), np.roll(truth, 15)  # half of them wrong
    _, met = compared(truth.astype(object), source=source, y=y, target=target)
    assert met.scores[TARGET_ALONE] == 1
    assert met.helps is False
    assert met.verdict.startswith("Adaptation does not help")


def test_many_rows_are_thinned(monkeypatch):
    monkeypatch.setattr(comparison, "MOST_ROWS", 12)
    _, met = compared(labels(24))
    assert met.n_rows == 12
