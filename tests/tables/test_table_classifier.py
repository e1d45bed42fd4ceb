"""The estimator of tables: parity with the estimators it is made of, laws, files."""

import io
import json
import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.neighbors import NearestCentroid
from tables.small_tables import NUMBERS, small_tables

import ilspace
from ilspace import ILSClassifier, TableClassifier
from ilspace.baselines import CORAL
from ilspace.estimators.persistence import estimator_of, state_of
from ilspace.selection import LabelFreeSearch
from ilspace.storage import ModelFileError
from ilspace.tables import TableError
from ilspace.tables.prediction import label_file
from ilspace.tables.trust import learn_trust

TABLES = small_tables()
X, Y, XT = TABLES.features
SOME = np.array([each if i < 9 else None for i, each in enumerate(TABLES.truth)], dtype=object)


@pytest.fixture(scope="module")
def fitted():
    return TableClassifier().fit(X, Y, XT)


def test_is_the_estimator_on_encoded_rows(fitted):
    rows, target = fitted.encode(X, "source"), fitted.encode(XT)
    alone = ILSClassifier(self_training=0).fit(rows, Y, target)
    np.testing.assert_array_equal(fitted.predict(XT), alone.predict(target))
    powers = alone.predict_proba(target) ** fitted.exponent_
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.predict_proba(XT), expected, rtol=1e-9)
    np.testing.assert_array_equal(fitted.transform(XT), alone.transform(target))
    np.testing.assert_array_equal(fitted.transform(X, "source"), alone.transform(rows, "source"))
    assert np.mean(fitted.predict(XT) == TABLES.truth) > 0.8


def test_labels_probabilities_and_distances_are_those_of_neighbours(fitted):
    labelled = fitted.label_rows(XT)
    latent = fitted.transform(XT)[:, None] - fitted.transform(X, "source")
    distances = np.sqrt(np.sum(latent**2, axis=2))
    np.testing.assert_allclose(labelled["distance"], distances.min(axis=1), rtol=1e-6)
    assert labelled["label"].tolist() == Y[distances.argmin(axis=1)].tolist()
    assert labelled["probability"].tolist() == fitted.predict_proba(XT).max(axis=1).tolist()


@pytest.fixture(scope="module")
def many():
    """Enough rows to hold some out: some predictions are trusted, and some are not."""
    tables = small_tables(n=300, nt=200)
    model = TableClassifier().fit(*tables.features)
    assert 0.2 < model.label_rows(tables.target)["trusted"].mean() < 0.95
    return tables, model


def test_trust_comes_from_rows_that_were_held_out(many):
    tables, fitted = many
    source, y, target = tables.features
    held = fitted.holdout_rows_
    assert len(held) == 60
    assert np.bincount(np.searchsorted(fitted.classes_, y[held])).tolist() == [20, 20, 20]
    rows, kept = fitted.encode(source, "source"), np.setdiff1d(np.arange(len(y)), held)
    alone = ILSClassifier(self_training=0).fit(rows[kept], y[kept], fitted.encode(target))
    label, probabilities, distance = alone.nearest(rows[held], "source")
    assert fitted.holdout_score_ == np.mean(label == y[held]) < 1
    codes = np.searchsorted(fitted.classes_, y[held])
    losses = {}
    for exponent in fitted.exponent_ * np.array([0.99, 1.0, 1.01]):
        powers = probabilities**exponent
        scaled = powers / powers.sum(axis=1, keepdims=True)
        # one row more, of any class
        losses[exponent] = len(codes) * log_loss(codes, scaled) - np.mean(np.log(scaled))
    assert min(losses, key=losses.__getitem__) == fitted.exponent_
    powers = probabilities**fitted.exponent_
    probability = (powers / powers.sum(axis=1, keepdims=True)).max(axis=1)
    expected = learn_trust(probability, distance, is_right=label == y[held], accuracy=0.9)
    assert fitted.trust_.confidence == pytest.approx(expected.confidence, rel=1e-9)
    assert fitted.trust_.distance == pytest.approx(expected.distance, rel=1e-9)


def test_each_doubt_by_itself(many):
    tables, model = many
    labelled, sparse = model.label_rows(tables.target), tables.target.copy()
    doubts = {word: labelled["doubts"].str.contains(word) for word in ("unsure", "far")}
    assert (doubts["unsure"] == (labelled["probability"] < model.trust_.confidence)).all()
    assert (doubts["far"] == (labelled["distance"] > model.trust_.distance)).all()
    assert (labelled["trusted"] == (labelled["doubts"] == "")).all()
    trusted = np.flatnonzero(labelled["trusted"])[:20]
    for name in ("height", "width", "colour"):  # three of five columns
        sparse.loc[sparse.index[trusted], name] = None
    again = model.label_rows(sparse)
    assert again["doubts"][trusted].str.contains("missing").all()
    others = np.setdiff1d(np.arange(len(sparse)), trusted)
    pd.testing.assert_frame_equal(again.iloc[others], labelled.iloc[others])


def test_a_category_never_seen_is_a_gap(many):
    tables, model = many
    row = tables.target.iloc[[int(np.flatnonzero(model.label_rows(tables.target)["trusted"])[0])]]
    unknown = row.assign(colour="beige", height=np.nan, width="n.m.")
    assert "missing" in model.label_rows(unknown)["doubts"].iloc[0]


def test_missing_values_are_missing_however_a_file_is_read(many, tmp_path):
    tables, model = many
    sparse = tables.target.copy()
    sparse[["height", "width", "colour"]] = None
    sparse.to_csv(tmp_path / "sparse.csv", index=False)
    text = io.StringIO()
    label_file(model, tmp_path / "sparse.csv", output=text)
    met = pd.read_csv(io.StringIO(text.getvalue()), keep_default_na=False)
    assert met["doubts"].tolist() == model.label_rows(sparse)["doubts"].tolist()
    assert not met["trusted"].any()


@pytest.mark.parametrize("marker", [None, np.nan, -1])
@pytest.mark.parametrize("names", [["depth", "colour"], ["height", "width", "depth"]])
def test_markers_of_rows_without_a_label(marker, names):
    target = XT[names]
    if "colour" in names:
        target = target.set_axis(["p", "q"], axis=1)  # nothing in common
    marked = np.array([marker if each is None else each for each in SOME], dtype=object)
    expected = TableClassifier().fit(X, Y, target, SOME)
    met = TableClassifier().fit(X, Y, target, marked)
    pd.testing.assert_frame_equal(met.label_rows(target), expected.label_rows(target))


def test_no_mark_is_a_label():
    with pytest.raises(TableError, match="no target row has one"):
        TableClassifier().fit(X, Y, XT[["depth"]].set_axis(["p"], axis=1), [-1] * len(XT))


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([None, *Y[1:]], "must have a label"),
        (Y[:-1], "inconsistent numbers of samples"),
        (np.full(len(Y), "one"), "At least 2 classes"),
        (None, "requires y to be passed"),
    ],
)
def test_labels_that_will_not_do(y, said):
    with pytest.raises(ValueError, match=said):
        TableClassifier().fit(X, y, XT)


def test_a_large_part_can_be_held_out():
    rows = [*range(30), 0, 1]
    y = np.append(Y, ["rare", "rare"])
    model = TableClassifier(holdout=0.9).fit(X.iloc[rows], y, XT)
    assert model.holdout_rows_ is not None
    kept = np.setdiff1d(np.arange(len(y)), model.holdout_rows_)
    assert set(y[kept]) == set(y)


def test_score_and_the_attributes_of_scikit_learn(fitted):
    assert fitted.score(XT, TABLES.truth) == np.mean(fitted.predict(XT) == TABLES.truth)
    assert fitted.score(X, Y, domain="source") == np.mean(fitted.predict(X, "source") == Y)
    weights = (fitted.predict(XT) == TABLES.truth).astype(float)
    assert fitted.score(XT, TABLES.truth, weights) == 1
    assert fitted.n_features_in_ == 5
    for method in ("encode", "label_rows", "predict"):
        with pytest.raises(ValueError, match='domain must be "source" or "target"'):
            getattr(fitted, method)(XT, "trget")


def test_callbacks_of_the_estimator_are_called_too():
    calls, steps = [], []
    own = ILSClassifier(callback=lambda iteration, now: calls.append(iteration))
    model = TableClassifier(own, callback=steps.append).fit(X, Y, XT)
    assert calls == [each.iteration for each in steps]
    assert model.estimator_.callback is own.callback
    stopped = TableClassifier(ILSClassifier(callback=lambda iteration, now: iteration == 1))
    assert stopped.fit(X, Y, XT).estimator_.n_iter_ == 1


def test_a_search_over_another_estimator_is_refused():
    search = LabelFreeSearch(CORAL(), {"classifier": ["1nn"]})
    with pytest.raises(
        ValueError, match="settings of an ILSClassifier, but tries those of a CORAL"
    ):
        TableClassifier(search).fit(X, Y, XT)


@pytest.mark.parametrize(
    "estimator",
    [
        ILSClassifier(classifier="linear"),
        ILSClassifier(classifier="ridge"),
        ILSClassifier(classifier=NearestCentroid()),
        LabelFreeSearch(ILSClassifier(classifier="linear"), {"n_components": [2, 3]}),
        LabelFreeSearch(ILSClassifier(2), {"classifier": ["linear"]}, random_state=0),
    ],
    ids=["linear", "ridge", "own", "search", "searched"],
)
def test_a_rule_without_distances_is_refused(estimator):
    with pytest.raises(ValueError, match='must be "nearest", but is .*depends on the distance'):
        TableClassifier(estimator).fit(X, Y, XT)


def test_rounds_of_self_training_are_for_those_who_ask():
    model = TableClassifier(ILSClassifier(4, self_training=1)).fit(X, Y, XT)
    assert len(model.estimator_.rounds_) == 1
    assert model.estimator_.classifier == "nearest"
    alone = ILSClassifier(4, classifier="nearest", self_training=1)
    alone.fit(model.encode(X, "source"), Y, model.encode(XT))
    np.testing.assert_array_equal(model.predict(XT), alone.predict(model.encode(XT)))
    assert TableClassifier(ILSClassifier(4)).fit(X, Y, XT).estimator_.rounds_ == ()


@pytest.mark.filterwarnings("ignore:self.within_class_std_dev_ has")
@pytest.mark.parametrize("are_shared", [True, False])
def test_without_adaptation_the_nearest_class_mean_decides(are_shared):
    tables = small_tables(n=90, nt=60)
    source, y, target = tables.features
    some = np.array([each if i < 9 else None for i, each in enumerate(tables.truth)], object)
    if not are_shared:
        target = target[["depth", "colour"]].set_axis(["p", "q"], axis=1)
    # labels of two classes of three do not make a rule, but where there is no other
    if are_shared:
        some[tables.truth == "ant"] = None
    model = TableClassifier(trust=0.0).fit(source, y, target, some)
    assert model.asks_target_labels_ is not are_shared
    if are_shared:
        rule = NearestCentroid().fit(model.encode(source, "source"), y)
        expected = rule.predict(model.source_encoder_.encode(target))
    else:
        rule = NearestCentroid().fit(model.encode(target)[:9], some[:9].astype(str))
        expected = rule.predict(model.encode(target))
    labelled = model.label_rows(target)
    assert labelled["unadapted"].tolist() == expected.tolist()
    agree = labelled["unadapted"] == labelled["label"]
    assert 0 < agree.mean() < 1
    assert not labelled["trusted"][~agree].any()
    assert labelled["trusted"][agree].any()
    assert "unadapted" not in model.label_rows(source, "source")


def test_rows_that_adaptation_moves_into_a_rare_class_are_not_trusted():
    rows, truth = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(truth))
    here, there = order[:280], order[280:]
    is_rare = truth[there] == 0
    there = there[~is_rare | (np.arange(len(there)) % 7 == 0)]
    table, labels = pd.DataFrame(rows).add_prefix("c"), np.array(["bad", "good"])[truth]
    model = TableClassifier().fit(table.iloc[here], labels[here], table.iloc[there])
    labelled, right = model.label_rows(table.iloc[there]), model.predict(table.iloc[there])
    right = right == labels[there]
    assert right.mean() < 0.85  # adaptation does harm
    assert right[labelled["trusted"]].mean() > 0.95
    assert labelled["trusted"].mean() > 0.5


def test_probabilities_are_as_sure_as_they_are_right():
    rows, truth = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(truth))
    here, there = order[:280], order[280:]
    table, labels = pd.DataFrame(rows).add_prefix("c"), np.array(["bad", "good"])[truth]
    model = TableClassifier().fit(table.iloc[here], labels[here], 3 * table.iloc[there] + 1)
    probability = model.label_rows(3 * table.iloc[there] + 1)["probability"]
    right = model.predict(3 * table.iloc[there] + 1) == labels[there]
    assert probability.mean() == pytest.approx(right.mean(), abs=0.05)
    plain = TableClassifier(holdout=0).fit(
        table.iloc[here], labels[here], 3 * table.iloc[there] + 1
    )
    assert plain.exponent_ == 1
    assert plain.label_rows(3 * table.iloc[there] + 1)["probability"].mean() < right.mean() - 0.2


def test_order_of_columns_and_rows_does_not_matter(fitted):
    rng = np.random.default_rng(0)
    columns, rows = rng.permutation(XT.columns), rng.permutation(len(XT))
    shuffled = TableClassifier().fit(X, Y, XT[columns].assign(extra=1.0))
    pd.testing.assert_frame_equal(shuffled.label_rows(XT[columns]), fitted.label_rows(XT))
    met = fitted.label_rows(XT.iloc[rows])
    expected = fitted.label_rows(XT).iloc[rows].reset_index(drop=True)
    assert met["label"].tolist() == expected["label"].tolist()
    np.testing.assert_allclose(met["distance"], expected["distance"], rtol=1e-9)


def test_numbered_columns_will_do():
    arrays = [pd.DataFrame(each[list(NUMBERS)].fillna(0).to_numpy()) for each in (X, XT)]
    assert TableClassifier().fit(arrays[0], Y, arrays[1]).predict(arrays[1]).shape == (len(XT),)


def test_steps_tell_objective_and_held_out_accuracy():
    steps = []
    model = TableClassifier(callback=steps.append).fit(X, Y, XT)
    assert {each.stage for each in steps} == {"held-out", "all"}
    for stage in ("held-out", "all"):
        values = [each.objective for each in steps if each.stage == stage]
        assert values[-1] < values[0]
    first = [each.iteration for each in steps if each.stage == "held-out"]
    assert first == list(range(len(first)))
    *_, last = [each for each in steps if each.stage == "held-out"]
    assert last.accuracy == model.holdout_score_
    assert all(each.accuracy == model.holdout_score_ for each in steps if each.stage == "all")
    assert model.estimator_.callback is None


def test_steps_in_more_columns_than_rows():
    wide = [
        pd.DataFrame(np.random.default_rng(seed).normal(size=(len(rows), 90))).add_prefix("w")
        for seed, rows in enumerate((X, XT))
    ]
    seen = []
    TableClassifier(callback=seen.append).fit(wide[0], Y, wide[1])
    assert all(0 <= each.accuracy <= 1 for each in seen)


def test_a_true_answer_stops_a_fit():
    model = TableClassifier(callback=lambda step: step.iteration == 1).fit(X, Y, XT)
    assert model.estimator_.n_iter_ == 1


def test_labelled_target_rows_help_without_being_asked():
    model = TableClassifier().fit(X, Y, XT, SOME)
    target = model.encode(XT)
    alone = ILSClassifier(self_training=0).fit(model.encode(X, "source"), Y, target, SOME)
    np.testing.assert_array_equal(model.predict(XT), alone.predict(target))
    assert not np.array_equal(model.transform(XT), TableClassifier().fit(X, Y, XT).transform(XT))


def test_different_columns_need_labels():
    other = XT[["depth", "weight", "colour"]].set_axis(["p", "q", "r"], axis=1)
    with pytest.raises(TableError, match="related by labels alone, but no target row has one"):
        TableClassifier().fit(X, Y, other)
    with pytest.raises(TableError, match="related by labels alone"):
        TableClassifier().fit(X, Y, other, [None] * len(other))
    model = TableClassifier().fit(X, Y, other, SOME)
    assert model.encode(other).shape[1] == 5
    assert np.mean(model.predict(other) == TABLES.truth) > 0.6


@pytest.mark.parametrize("yt", [None, SOME])
def test_a_search_chooses_and_its_choice_is_kept(yt, tmp_path):
    grid = {"n_components": [2, 4]}
    search = LabelFreeSearch(ILSClassifier(), grid, random_state=0)
    model = TableClassifier(search).fit(X, Y, XT, yt)
    assert model.search_ is not None
    assert model.estimator_.n_components == model.search_.best_params_["n_components"]
    model.save(tmp_path / "m")
    assert ilspace.load(tmp_path / "m").estimator.n_components == model.estimator_.n_components


@pytest.mark.parametrize(
    ("rows", "is_held_out"),
    [([*range(30)], True), ([*range(0, 30, 3), 1, 2], False), ([0, 1, 2], False)],
)
def test_without_rows_to_hold_out_nothing_is_trusted(rows, is_held_out):
    model = TableClassifier().fit(X.iloc[rows], Y[rows], XT)
    assert (model.holdout_score_ is not None) is is_held_out
    if not is_held_out:
        assert not model.label_rows(XT)["trusted"].any()
    assert TableClassifier(holdout=0).fit(X, Y, XT).holdout_score_ is None


def test_a_class_of_one_row_does_not_stop_the_others():
    rows, labels = pd.concat([X, X[:1]]), np.append(Y, "a typo")
    model = TableClassifier().fit(rows, labels, XT)
    assert model.holdout_rows_ is not None
    assert len(Y) not in model.holdout_rows_


def test_in_other_units_nothing_can_be_checked(many):
    tables, _ = many
    source, y, target = tables.features
    for each in NUMBERS:
        target = target.assign(**{each: 10 * target[each] + 100})
    model = TableClassifier().fit(source, y, target)
    assert np.mean(model.predict(target) == tables.truth) > 0.8
    assert model.is_unchecked_
    labelled = model.label_rows(target)
    assert labelled["doubts"].str.contains("unchecked").all()
    assert not labelled["trusted"].any()
    some = np.array([each if i < 30 else None for i, each in enumerate(tables.truth)], object)
    helped = TableClassifier().fit(source, y, target, some)
    assert helped.asks_target_labels_
    assert not helped.is_unchecked_
    assert helped.label_rows(target)["trusted"].mean() > 0.2


def test_numbers_that_cannot_be_read_are_refused():
    model = TableClassifier().fit(X, Y, XT)
    with pytest.raises(TableError, match="'width' must hold numbers.*'1,5'"):
        model.predict(XT.assign(width="1,5"))


ODD = {
    "two target rows": lambda x, xt: (x, xt[:2]),
    "one column": lambda x, xt: (x[["width"]], xt[["width"]]),
    "categories alone": lambda x, xt: (x[["colour"]], xt[["colour"]]),
    "a constant column": lambda x, xt: (x.assign(k=0.1), xt.assign(k=0.3)),
    "a column constant in one": lambda x, xt: (x, xt.assign(width=1.0)),
    "duplicate rows": lambda x, xt: (x, pd.concat([xt, xt, xt])),
    "huge numbers": lambda x, xt: (x.assign(width=x["width"] * 1e90), xt.assign(width=1e99)),
    "infinite numbers": lambda x, xt: (x.assign(width=x["width"].replace(np.nan, np.inf)), xt),
    "tiny numbers": lambda x, xt: (x.assign(width=x["width"] * 1e-150), xt),
    "odd names": lambda x, xt: (x.add_suffix("\n<é>"), xt.add_suffix("\n<é>")),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.filterwarnings("ignore:ILSClassifier stopped")
def test_odd_tables(name):
    source, target = ODD[name](X, XT)
    labelled = TableClassifier().fit(source, Y, target).label_rows(target)
    assert labelled["label"].isin(set(Y)).all()
    assert np.isfinite(labelled[["probability", "distance"]]).all(axis=None)


def test_many_missing_values():
    tables = small_tables(missing=0.3, n=90, nt=60)
    source, y, target = tables.features
    model = TableClassifier().fit(source, y, target)
    assert np.mean(model.predict(target) == tables.truth) > 0.6


def test_what_is_asked_for_must_make_sense():
    with pytest.raises(ValueError, match="scaling"):
        TableClassifier(scaling="much").fit(X, Y, XT)
    with pytest.raises(NotFittedError):
        TableClassifier().predict(XT)
    model = TableClassifier().fit(X, Y, XT)
    with pytest.raises(TableError):
        model.fit(X[["width"]], Y, XT[["height"]])
    with pytest.raises(NotFittedError):  # the plan is of the new tables, the rest of the old ones
        model.predict(XT)
    assert clone(model).get_params() == model.get_params()


# -- on disk -------------------------------------------------------------------------------------


def save_all(folder):
    other = XT[["depth", "colour"]].set_axis(["p", "q"], axis=1)
    said = [each.assign(said=each["colour"] + " and " + each["sample"]) for each in (X, XT)]
    models = {
        "text": (TableClassifier(text=["said"]).fit(said[0], Y, said[1]), said[1]),
        "plain": (TableClassifier().fit(X, Y, XT), XT),
        "unlike": (TableClassifier(holdout=0).fit(X, Y, other, SOME), other),
        "few": (TableClassifier(scaling="l2", ids=["sample"]).fit(X, Y, XT, SOME), XT),
    }
    for name, (model, _) in models.items():
        model.save(folder / f"{name}.safetensors")
    return models


def test_a_fresh_process_answers_the_same_bit_for_bit(tmp_path):
    models = save_all(tmp_path)
    code = (
        "import sys, ilspace, pandas\n"
        "for name in sys.argv[2:]:\n"
        "    model = ilspace.load(f'{sys.argv[1]}/{name}.safetensors')\n"
        "    table = pandas.read_pickle(f'{sys.argv[1]}/{name}.pickle')\n"
        "    model.label_rows(table).to_pickle(f'{sys.argv[1]}/{name}.answer')\n"
    )
    for name, (_, table) in models.items():
        table.to_pickle(tmp_path / f"{name}.pickle")
    subprocess.run([sys.executable, "-c", code, str(tmp_path), *models], check=True)
    for name, (model, table) in models.items():
        answer = pd.read_pickle(tmp_path / f"{name}.answer")
        pd.testing.assert_frame_equal(answer, model.label_rows(table), check_exact=True)
        again = ilspace.load(tmp_path / f"{name}.safetensors")
        assert (again.plan_, again.trust_) == (model.plan_, model.trust_)
        assert again.holdout_score_ == model.holdout_score_
        assert again.search_ is None


def test_pieces_that_do_not_fit_together_are_refused(fitted):
    state = state_of(fitted)
    for place, value, said in (
        ("trust_/confidence", -1.0, r"trust_\.confidence should be 0 or more and is -1\.0"),
        ("trust_/distance", np.nan, r"trust_\.distance should be 0 or more and is nan"),
        ("holdout_score_", 1.5, "holdout_score_ should lie between 0 and 1"),
        ("holdout_score_", 1, "holdout_score_ should be of type float"),
        ("exponent_", 0.0, "exponent_ should be positive"),
        ("exponent_", np.inf, "exponent_ should be positive and finite"),
        ("unadapted_/codes", np.array([0, 1, 3]), "not of its classes"),
        ("unadapted_/codes", np.array([0, 1, -1]), "not of its classes"),
        ("unadapted_/codes", np.array([0, 1]), r"unadapted_\.means should have shape"),
        ("unadapted_/means", np.zeros((3, 2)), "its class means have 2 columns, not 7"),
        ("unadapted_", {"codes": np.zeros(0, int), "means": np.zeros((0, 7))}, "not be empty"),
        ("asks_target_labels_", 1, "asks_target_labels_ should be of type bool"),
        ("plan_/are_shared", False, "needs columns that are not shared"),
        ("plan_/ids", [1], r"plan_\.ids\[0\] should be of type str"),
        ("plan_/ids", ["\ud800"], r"plan_\.ids\[0\] should hold whole characters"),
        ("target_encoder_/scaling", "much", "scaling should be one of .* and is 'much'"),
        ("target_encoder_/scaling", None, "scaling should be of type str"),
        ("target_encoder_/columns/0/name", "width", "should have distinct names"),
        ("target_encoder_/columns/0/name", "other", "should share"),
        ("target_encoder_/columns/0/categories", ["a"], "should have the entries name and is"),
        ("target_encoder_/columns/0/kind", "colour", "should be of a kind among .*number"),
        ("target_encoder_/columns", [], "as many numbers as its columns need"),
        ("target_encoder_/fill", np.zeros(1), r"(fill|center) should have shape"),
        ("target_encoder_/scale", np.zeros(7), "scale should be positive and finite"),
        ("target_encoder_/scale", np.ones(8), r"scale should have shape \(7,\)"),
        ("source_encoder_/center", np.ones(8), r"center should have shape \(7,\)"),
        ("source_encoder_/center", np.full(7, np.nan), "center should be finite"),
        ("estimator_", None, "estimator_ should have the entries"),
        ("estimator_", state, "estimator_ should be a ILSClassifier and is a TableClassifier"),
        ("estimator_/fitted/map_/sharpness", 0.0, r"its estimator_\.map_\.sharpness should"),
        ("extra", 1, "should have the entries"),
    ):
        changed = deepcopy(state)
        *holders, last = place.split("/")
        holder = changed["fitted"]
        for key in holders:
            holder = holder[int(key) if key.isdigit() else key]
        holder[last] = value
        with pytest.raises(ModelFileError, match=said):
            estimator_of(changed)
    assert estimator_of(state).plan_ == fitted.plan_


def test_classes_that_no_file_can_hold_are_refused(fitted):
    state = state_of(fitted)
    estimator = state["fitted"]["estimator_"]["fitted"]
    estimator["classes_"] = np.array(["a", "b", "\ud800"])
    with pytest.raises(ModelFileError, match="a class of it holds half a character"):
        estimator_of(state)


@pytest.mark.skipif(sys.platform != "linux", reason="reads and limits memory as Linux does")
@pytest.mark.slow
@pytest.mark.parametrize(("n_files", "seed"), [(2_000, 1)])
def test_damaged_files(tmp_path, n_files, seed):
    save_all(tmp_path)
    script = Path(__file__).with_name("fuzz.py")
    ended = subprocess.run(
        [sys.executable, str(script), str(tmp_path), str(n_files), str(seed)],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    report = json.loads(ended.stdout)
    assert report["wrong"] == []
    assert sum(report["outcomes"].values()) == n_files
    assert report["outcomes"]["damage_content loaded"] > n_files / 50
    assert report["outcomes"]["damage_content refused"] > n_files / 5
