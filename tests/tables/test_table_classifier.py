"""The estimator of tables: parity with the members it asks, laws, files."""

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
from sklearn.linear_model import LogisticRegression
from tables.small_tables import NUMBERS, small_tables

import ilspace
from ilspace import ILSClassifier, TableClassifier
from ilspace.baselines import CORAL
from ilspace.estimators.persistence import estimator_of, state_of
from ilspace.storage import ModelFileError, write_model
from ilspace.tables import TableError
from ilspace.tables.members import MEMBERS
from ilspace.tables.prediction import label_file

TABLES = small_tables()
X, Y, XT = TABLES.features
SOME = np.array([each if i < 9 else None for i, each in enumerate(TABLES.truth)], dtype=object)
OTHER = XT[["depth", "colour"]].set_axis(["p", "q"], axis=1)  # nothing in common


@pytest.fixture(scope="module")
def fitted():
    return TableClassifier().fit(X, Y, XT)


@pytest.fixture(scope="module")
def many():
    """Enough rows of tables that overlap: some predictions are trusted, and some are not."""
    tables = small_tables(seed=4, n=90, nt=60)
    model = TableClassifier(trust=0.9).fit(*tables.features)
    assert 0.2 < model.label_rows(tables.target)["trusted"].mean() < 0.95
    return tables, model


# -- what it is made of --------------------------------------------------------------------------


@pytest.mark.parametrize("yt", [None, SOME], ids=["unlabelled", "labelled"])
def test_members_are_trained_alone_on_encoded_rows(yt):
    model = TableClassifier().fit(X, Y, XT, yt)
    assert [each.name for each in model.members_] == list(MEMBERS)
    sources = {"source": model.source_encoder_, "own": model.own_encoder_}
    targets = {"source": model.source_encoder_, "own": model.target_encoder_}
    said = model.member_probabilities(XT)
    for member, found in zip(model.members_, said, strict=True):
        alone = MEMBERS[member.name].make(class_prior=model.class_prior_, random_state=0)
        rows = targets[member.scaling].encode(XT)
        alone.fit(sources[member.scaling].encode(X), Y, rows, yt)
        np.testing.assert_array_equal(found, alone.predict_proba(rows, "target"))
        assert member.adapts == (member.name not in ("linear", "linear-own"))


def test_probabilities_are_their_mean_to_a_power(fitted):
    average = fitted.member_probabilities(XT).mean(axis=0)
    powers = average**fitted.agreement_.inverse_temperature
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.predict_proba(XT), expected, rtol=1e-9)
    assert fitted.predict(XT).tolist() == fitted.classes_[average.argmax(axis=1)].tolist()
    mean = fitted.predict_proba(XT).max(axis=1).mean()
    assert mean == pytest.approx(fitted.agreement_.expected_accuracy, abs=1e-6)
    assert np.mean(fitted.predict(XT) == TABLES.truth) > 0.8
    np.testing.assert_array_equal(
        fitted.transform(XT), fitted.ils_.transform(fitted.encode(XT), "target")
    )


def test_rows_are_told_all_there_is(fitted):
    labelled = fitted.label_rows(XT)
    assert labelled["label"].tolist() == labelled["adapted"].tolist() == fitted.predict(XT).tolist()
    np.testing.assert_allclose(labelled["probability"], fitted.predict_proba(XT).max(axis=1))
    rows, target = (fitted.source_encoder_.encode(each) for each in (X, XT))
    factor = np.sqrt(rows.shape[1] / np.mean(np.sum(rows**2, axis=1)))
    rule = LogisticRegression(max_iter=300).fit(factor * rows, Y)
    assert labelled["unadapted"].tolist() == rule.predict(factor * target).tolist()
    assert (labelled["adapted"] != labelled["unadapted"]).any()


def test_labels_without_adaptation_know_no_target_label(fitted):
    helped = TableClassifier().fit(X, Y, XT, SOME)
    unadapted = [each.label_rows(XT)["unadapted"].tolist() for each in (fitted, helped)]
    assert unadapted[0] == unadapted[1]
    assert helped.predict(XT)[:9].tolist() == SOME[:9].tolist()


def test_what_is_recommended_is_the_label(fitted):
    model = estimator_of(state_of(fitted))
    model.recommended_ = "unadapted"
    labelled, before = model.label_rows(XT), fitted.label_rows(XT)
    assert labelled["label"].tolist() == labelled["unadapted"].tolist()
    pd.testing.assert_frame_equal(
        labelled[["adapted", "unadapted"]], before[["adapted", "unadapted"]]
    )
    codes = np.searchsorted(model.classes_, labelled["label"].to_numpy(str))
    expected = model.predict_proba(XT)[np.arange(len(codes)), codes]
    np.testing.assert_array_equal(labelled["probability"], expected)
    # whoever is not of the opinion of all is doubted
    moved = labelled["label"] != before["label"]
    assert labelled["doubts"][moved].str.contains("split").all()
    assert model.predict(XT).tolist() == before["adapted"].tolist()


# -- one method ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MEMBERS)
def test_one_member_alone(name, fitted):
    model = TableClassifier(name).fit(X, Y, XT)
    (member,) = model.members_
    position = list(MEMBERS).index(name)
    np.testing.assert_array_equal(
        model.member_probabilities(XT)[0], fitted.member_probabilities(XT)[position]
    )
    assert (member.name, model.agreement_.agreement) == (name, 1)
    assert (
        model.predict(XT).tolist()
        == member.estimator.classes_[model.member_probabilities(XT)[0].argmax(axis=1)].tolist()
    )
    pd.testing.assert_series_equal(
        model.label_rows(XT)["unadapted"], fitted.label_rows(XT)["unadapted"]
    )
    if name != "ils":
        with pytest.raises(TableError, match=f"The method {name} has no latent space: use ils"):
            model.transform(XT)


@pytest.mark.parametrize("method", ["CORAL", CORAL()], ids=["name", "estimator"])
def test_methods_of_the_baselines(method, tmp_path):
    model = TableClassifier(method).fit(X, Y, XT)
    alone = CORAL().fit(model.encode(X, "source"), Y, model.encode(XT))
    assert model.predict(XT).tolist() == alone.predict(model.encode(XT)).tolist()
    with pytest.raises(TypeError, match="Only estimators of known classes .* this is a CORAL"):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_an_estimator_of_ones_own(tmp_path):
    own = ILSClassifier(2, classifier="nearest", self_training=0, random_state=0)
    model = TableClassifier(own).fit(X, Y, XT)
    assert model.members_[0].estimator is not own
    alone = clone(own).fit(model.encode(X, "source"), Y, model.encode(XT))
    assert model.predict(XT).tolist() == alone.predict(model.encode(XT)).tolist()
    np.testing.assert_array_equal(model.transform(XT), alone.transform(model.encode(XT)))
    model.save(tmp_path / "m")
    again = ilspace.load(tmp_path / "m")
    assert again.method.get_params() == own.get_params()
    pd.testing.assert_frame_equal(again.label_rows(XT), model.label_rows(XT), check_exact=True)


def test_methods_that_will_not_do():
    with pytest.raises(TableError, match="must be one of committee, linear, .*, but is 'magic'"):
        TableClassifier("magic").fit(X, Y, XT)
    with pytest.raises(TableError, match="linear needs tables that share their columns.*use ils"):
        TableClassifier("linear").fit(X, Y, OTHER, SOME)
    with pytest.raises(ValueError, match="must have the same features"):
        TableClassifier("CORAL").fit(X, Y, OTHER, SOME)


# -- class shares --------------------------------------------------------------------------------


def test_class_shares(fitted):
    estimate = fitted.prior_estimate_
    # made to sum to 1, which may change the last digit
    np.testing.assert_allclose(fitted.class_prior_, estimate.shares, rtol=1e-14)
    assert fitted.class_prior_.sum() == pytest.approx(1)
    source = TableClassifier("linear", class_prior="source").fit(X[:20], Y[:20], XT)
    np.testing.assert_allclose(source.class_prior_, np.array([7, 7, 6]) / 20)
    assert source.prior_estimate_ is None
    names = {"élan": 0.5, "ant": 0.2, "bee": 0.3}
    for given in (names, [0.2, 0.3, 0.5], np.array([0.2, 0.3, 0.5])):
        model = TableClassifier("linear", class_prior=given).fit(X, Y, XT)
        np.testing.assert_allclose(model.class_prior_, [0.2, 0.3, 0.5])
    # the scaling of each table by itself is then by rows of these shares
    means = model.source_encoder_.read(X).values
    weights = np.array([0.2, 0.3, 0.5])[np.unique(Y, return_inverse=True)[1]]
    known = ~np.isnan(means[:, 0])
    expected = np.average(means[known, 0], weights=weights[known])
    assert model.own_encoder_.fill[0] == pytest.approx(expected)


def test_a_class_of_share_0_is_never_predicted():
    shares = {"ant": 0.5, "bee": 0.5, "élan": 0.0}
    for method in ("linear", "self-training"):
        model = TableClassifier(method, class_prior=shares).fit(X, Y, XT)
        assert set(model.predict(XT)) <= {"ant", "bee"}
        assert model.classes_.tolist() == ["ant", "bee", "élan"]


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ({"ant": 0.5, "wasp": 0.5}, "wasp"),
        ({"ant": 0.5, "bee": 0.2, "élan": 0.2}, "sum"),
        ({"ant": 1.0, "bee": 0.0, "élan": 0.0}, "At least 2 classes"),
    ],
)
def test_shares_that_will_not_do(shares, said):
    with pytest.raises(ValueError, match=said):
        TableClassifier("linear", class_prior=shares).fit(X, Y, XT)


# -- trust ---------------------------------------------------------------------------------------


def test_each_doubt_by_itself(many):
    tables, model = many
    labelled, sparse = model.label_rows(tables.target), tables.target.copy()
    said = model.member_probabilities(tables.target)
    split = (said.argmax(axis=2) != said.mean(axis=0).argmax(axis=1)).any(axis=0)
    encoder = model.target_encoder_
    far = encoder.distances(encoder.read(tables.target)) > model.trust_.distance
    sure = model.predict_proba(tables.target).max(axis=1)
    expected = {"unsure": sure < 0.9, "far": far, "split": split}
    for word, rows in expected.items():
        assert labelled["doubts"].str.contains(word).tolist() == rows.tolist()
        assert 0 < rows.mean() < 0.5
    assert (labelled["trusted"] == (labelled["doubts"] == "")).all()
    trusted = np.flatnonzero(labelled["trusted"])[:20]
    for name in ("height", "width", "colour"):  # three of five columns
        sparse.loc[sparse.index[trusted], name] = None
    again = model.label_rows(sparse)
    assert again["doubts"][trusted].str.contains("missing").all()
    others = np.setdiff1d(np.arange(len(sparse)), trusted)
    pd.testing.assert_frame_equal(again.iloc[others], labelled.iloc[others])


def test_trust_takes_a_probability(many):
    tables, _ = many
    source, y, target = tables.features
    shares = [
        TableClassifier(trust=trust).fit(source, y, target).label_rows(target)["trusted"]
        for trust in (0.5, 0.99)
    ]
    assert shares[0].mean() > shares[1].mean()
    assert shares[0][shares[1]].all()


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


def test_few_rows_of_a_class_are_trusted_with_nothing():
    model = TableClassifier().fit(X[:11], Y[:11], XT)  # of the last class, three
    assert model.trust_.withheld[0] == "a class has fewer than 4 source rows"
    labelled = model.label_rows(XT)
    assert labelled["doubts"].str.contains("withheld").all()
    assert not labelled["trusted"].any()


def test_in_other_units_nothing_can_be_checked(many):
    tables, _ = many
    source, y, target = tables.features
    for each in NUMBERS:
        target = target.assign(**{each: 10 * target[each] + 100})
    model = TableClassifier().fit(source, y, target)
    assert any("hardly overlap" in each for each in model.trust_.withheld)
    assert not model.label_rows(target)["trusted"].any()


def cancer(*, rare):
    """Tumours in two tables; in the second, few are bad."""
    rows, truth = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(truth))
    here, there = order[:280], order[280:]
    if rare:
        there = there[(truth[there] == 1) | (np.arange(len(there)) % 7 == 0)]
    table, labels = pd.DataFrame(rows).add_prefix("c"), np.array(["bad", "good"])[truth]
    return (table.iloc[here], labels[here], table.iloc[there]), labels[there]


@pytest.fixture(scope="module")
def tumours():
    tables, truth = cancer(rare=True)
    return TableClassifier().fit(*tables), tables, truth


def test_where_a_class_is_rare_what_is_trusted_is_right(tumours):
    model, (_, _, target), truth = tumours
    labelled = model.label_rows(target)
    right = (labelled["label"] == truth).to_numpy()
    assert right[labelled["trusted"]].mean() > 0.95
    assert labelled["trusted"].mean() > 0.5
    assert right.mean() > 0.9


def test_probabilities_are_about_as_sure_as_they_are_right():
    (source, y, target), truth = cancer(rare=False)
    labelled = TableClassifier().fit(source, y, target).label_rows(target)
    accuracy = np.mean(labelled["label"] == truth)
    assert labelled["probability"].mean() == pytest.approx(accuracy, abs=0.05)


# -- labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize("marker", [None, np.nan, -1])
@pytest.mark.parametrize("names", [["depth", "colour"], ["height", "width", "depth"]])
def test_markers_of_rows_without_a_label(marker, names):
    target = OTHER if "colour" in names else XT[names]
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


def test_different_columns_need_labels():
    other = XT[["depth", "weight", "colour"]].set_axis(["p", "q", "r"], axis=1)
    with pytest.raises(TableError, match="related by labels alone, but no target row has one"):
        TableClassifier().fit(X, Y, other)
    with pytest.raises(TableError, match="related by labels alone"):
        TableClassifier().fit(X, Y, other, [None] * len(other))
    model = TableClassifier().fit(X, Y, other, SOME)
    assert [each.name for each in model.members_] == ["ils"]
    assert model.encode(other).shape[1] == 5
    assert np.mean(model.predict(other) == TABLES.truth) > 0.6
    labelled = model.label_rows(other)
    assert model.unadapted_ is None
    assert labelled["unadapted"].isna().all()
    assert labelled["label"].tolist() == labelled["adapted"].tolist()


# -- an estimator like others --------------------------------------------------------------------


def test_score_and_the_attributes_of_scikit_learn(fitted):
    assert fitted.score(XT, TABLES.truth) == np.mean(fitted.predict(XT) == TABLES.truth)
    assert fitted.score(X, Y, domain="source") == np.mean(fitted.predict(X, "source") == Y)
    weights = (fitted.predict(XT) == TABLES.truth).astype(float)
    assert fitted.score(XT, TABLES.truth, weights) == 1
    assert fitted.n_features_in_ == 5
    for method in ("encode", "member_probabilities", "predict", "predict_proba", "transform"):
        with pytest.raises(ValueError, match='domain must be "source" or "target"'):
            getattr(fitted, method)(XT, "trget")


def test_callbacks_of_the_estimator_are_called_too():
    calls, steps = [], []
    own = ILSClassifier(callback=lambda iteration, now: calls.append(iteration))
    model = TableClassifier(own, callback=steps.append).fit(X, Y, XT)
    assert calls == [each.iteration for each in steps]
    assert {each.member for each in steps} == {"ILSClassifier"}
    assert model.members_[0].estimator.callback is own.callback
    stopped = TableClassifier(ILSClassifier(callback=lambda iteration, now: iteration == 1))
    assert stopped.fit(X, Y, XT).ils_.solution_.n_iter == 1


def test_steps_tell_who_learns_and_the_objective():
    steps = []
    model = TableClassifier(callback=steps.append).fit(X, Y, XT)
    assert {each.member for each in steps} == {"ils"}
    first = [each.iteration for each in steps]
    assert first[0] == 0
    assert steps[-1].objective < steps[0].objective
    assert model.ils_.callback is None


def test_a_true_answer_stops_a_fit():
    model = TableClassifier("ils", callback=lambda step: step.iteration == 1).fit(X, Y, XT)
    assert model.ils_.solution_.n_iter == 1


def test_order_of_columns_does_not_matter(fitted):
    columns = np.random.default_rng(0).permutation(XT.columns)
    shuffled = TableClassifier().fit(X[X.columns[::-1]], Y, XT[columns].assign(extra=1.0))
    found, expected = shuffled.label_rows(XT[columns]), fitted.label_rows(XT)
    pd.testing.assert_frame_equal(found, expected, rtol=1e-6)


def test_order_of_rows_does_not_matter(fitted):
    rng = np.random.default_rng(0)
    here, there = rng.permutation(len(X)), rng.permutation(len(XT))
    expected = fitted.label_rows(XT).iloc[there].reset_index(drop=True)
    pd.testing.assert_frame_equal(fitted.label_rows(XT.iloc[there]), expected)
    other = TableClassifier().fit(X.iloc[here], Y[here], XT.iloc[there])
    pd.testing.assert_frame_equal(other.label_rows(XT.iloc[there]), expected, rtol=1e-3)


def test_numbered_columns_will_do():
    arrays = [pd.DataFrame(each[list(NUMBERS)].fillna(0).to_numpy()) for each in (X, XT)]
    assert TableClassifier().fit(arrays[0], Y, arrays[1]).predict(arrays[1]).shape == (len(XT),)


def test_classes_need_not_be_strings():
    codes = np.unique(Y, return_inverse=True)[1]
    model = TableClassifier("linear", class_prior={0: 0.2, 1: 0.3, 2: 0.5}).fit(X, codes, XT)
    labelled = model.label_rows(XT)
    for name in ("label", "adapted", "unadapted"):
        assert set(labelled[name]) <= {0, 1, 2}


def test_numbers_that_cannot_be_read_are_refused(fitted):
    with pytest.raises(TableError, match="'width' must hold numbers.*'1,5'"):
        fitted.predict(XT.assign(width="1,5"))


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
    "more columns than rows": lambda x, xt: tuple(
        pd.DataFrame(np.random.default_rng(len(each)).normal(size=(len(each), 90))).add_prefix("w")
        for each in (x, xt)
    ),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.filterwarnings("ignore:ILSClassifier stopped")
def test_odd_tables(name):
    source, target = ODD[name](X, XT)
    labelled = TableClassifier().fit(source, Y, target).label_rows(target)
    for each in ("label", "adapted", "unadapted"):
        assert labelled[each].isin(set(Y)).all()
    assert np.isfinite(labelled["probability"]).all()


@pytest.mark.parametrize("rows", [[0, 1], [0, 1, 2], [*range(0, 30, 3), 1, 2]])
def test_few_rows_of_a_class(rows):
    model = TableClassifier().fit(X.iloc[rows], Y[rows], XT)
    assert set(model.predict(XT)) <= set(Y[rows])


def test_a_class_of_one_row_does_not_stop_the_others():
    rows, labels = pd.concat([X, X[:1]]), np.append(Y, "a typo")
    model = TableClassifier().fit(rows, labels, XT)
    assert "a typo" in model.classes_
    assert np.mean(model.predict(XT) == TABLES.truth) > 0.6


@pytest.mark.parametrize(
    ("source", "target"),
    [(X, pd.concat([XT[:1], XT[:1]])), (X, XT[:1]), (X[["width"]] * 0, XT[["width"]])],
    ids=["equal target rows", "one target row", "constant source"],
)
def test_tables_that_do_not_vary_are_refused(source, target):
    with pytest.raises(ValueError, match="must vary, but all its rows are equal"):
        TableClassifier().fit(source, Y, target)


@pytest.mark.parametrize(
    "yt", [TABLES.truth, np.array([each if each == "ant" else None for each in TABLES.truth])]
)
def test_all_rows_labelled_or_one_class_alone(yt):
    model = TableClassifier().fit(X, Y, XT, yt)
    given = np.array([each is not None for each in yt])
    assert model.predict(XT)[given].tolist() == yt[given].tolist()


def test_many_missing_values():
    tables = small_tables(missing=0.3, n=90, nt=60)
    source, y, target = tables.features
    model = TableClassifier().fit(source, y, target)
    assert np.mean(model.predict(target) == tables.truth) > 0.6


def test_what_is_asked_for_must_make_sense():
    with pytest.raises(ValueError, match="scaling"):
        TableClassifier(scaling="much").fit(X, Y, XT)
    for method in ("predict", "predict_proba", "label_rows", "transform", "save"):
        with pytest.raises(NotFittedError):
            getattr(TableClassifier(), method)(XT)
    model = TableClassifier("linear").fit(X, Y, XT)
    with pytest.raises(TableError):
        model.fit(X[["width"]], Y, XT[["height"]])
    with pytest.raises(NotFittedError):  # the plan is of the new tables, the rest of the old ones
        model.predict(XT)
    assert clone(model).get_params() == model.get_params()


# -- on disk -------------------------------------------------------------------------------------


def save_all(folder):
    models = {name: (TableClassifier(name).fit(X, Y, XT), XT) for name in MEMBERS}
    models["committee"] = TableClassifier().fit(X, Y, XT), XT
    models["unlike"] = TableClassifier().fit(X, Y, OTHER, SOME), OTHER
    shares = {"ant": 0.2, "bee": 0.3, "élan": 0.5}
    options = {"scaling": "l2", "ids": ["sample"], "class_prior": shares}
    models["given"] = TableClassifier(**options).fit(X, Y, XT, SOME), XT
    models["given"][0].recommended_ = "unadapted"
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
        for learned in ("plan_", "trust_", "agreement_", "recommended_", "n_features_in_"):
            assert getattr(again, learned) == getattr(model, learned)
        assert again.class_prior_.tolist() == model.class_prior_.tolist()
        np.testing.assert_array_equal(
            again.member_probabilities(X, "source"), model.member_probabilities(X, "source")
        )
        assert again.method == model.method
        assert again.prior_estimate_ is None


def test_pieces_that_do_not_fit_together_are_refused(fitted):
    state = state_of(fitted)
    linear, _, self_training, _, ils = (each["estimator"] for each in state["fitted"]["members_"])
    narrow = {**linear["fitted"], "coef_": np.zeros((3, 2))}
    fewer = {"classes_": np.array(["a", "b"]), "coef_": np.zeros((2, 7))}
    fewer |= {"intercept_": np.zeros(2)}
    for place, value, said in (
        ("trust_/confidence", -1.0, r"trust_\.confidence should be 0 or more and is -1\.0"),
        ("trust_/distance", np.nan, r"trust_\.distance should be 0 or more and is nan"),
        ("trust_/withheld", [1], r"trust_\.withheld\[0\] should be of type str"),
        ("agreement_/confidence", 1.5, "confidence should lie between 0 and 1"),
        ("agreement_/agreement", 1, "agreement should be of type float"),
        ("agreement_/inverse_temperature", 0.0, "inverse_temperature should be positive"),
        (
            "agreement_/inverse_temperature",
            np.inf,
            "inverse_temperature should be positive and finite",
        ),
        ("recommended_", "both", "recommended_ should be adapted or unadapted"),
        ("class_prior_", np.ones(2) / 2, "its class shares are not of its classes"),
        ("unadapted_", None, "its rule without adaptation should be there and is not"),
        ("unadapted_", ils, "unadapted_ should be a LogisticRule and is a ILSClassifier"),
        ("unadapted_/fitted", narrow, r"fill should have shape \(2,\)"),
        ("unadapted_/fitted", fewer, "its rule without adaptation has other classes"),
        ("plan_/are_shared", False, "should be there and is not"),
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
        ("own_encoder_/center", np.full(7, np.nan), "center should be finite"),
        ("members_", [], "members_ should not be empty"),
        ("members_", None, "members_ should be"),
        ("members_/0/scaling", "other", "scaling should be source or own"),
        ("members_/0/adapts", 1, "adapts should be of type bool"),
        ("members_/0/estimator", None, "estimator should have the entries"),
        ("members_/0/estimator", state, "cannot be rebuilt|other classes"),
        ("members_/1/estimator/fitted", narrow, "cannot be rebuilt"),
        ("members_/1/estimator/fitted", fewer, "its member linear-own has other classes"),
        ("members_/2/estimator/kind", "Estimator", "it holds a 'Estimator'"),
        ("members_/4/estimator", self_training | {"kind": "ILSClassifier"}, "class_prior|entries"),
        ("members_/4/estimator/fitted/map_/sharpness", 0.0, r"map_\.sharpness should"),
        ("extra", 1, "should have the entries"),
    ):
        changed = deepcopy(state)
        *holders, last = place.split("/")
        holder = changed["fitted"]
        for key in holders:
            holder = holder[int(key) if key.isdigit() else key]
        holder[int(last) if last.isdigit() else last] = value
        with pytest.raises(ModelFileError, match=said):
            estimator_of(changed)
    assert estimator_of(state).plan_ == fitted.plan_


def test_classes_that_no_file_can_hold_are_refused(fitted):
    state = state_of(fitted)
    for each in (state["fitted"]["unadapted_"], *state["fitted"]["members_"]):
        each.get("estimator", each)["fitted"]["classes_"] = np.array(["a", "b", "\ud800"])
    with pytest.raises(ModelFileError, match="a class of it holds half a character"):
        estimator_of(state)


def test_a_model_of_an_earlier_version_is_to_be_made_again(fitted, tmp_path):
    state = state_of(fitted)
    del state["parameters"]["method"], state["parameters"]["class_prior"]
    state["parameters"] |= {"estimator": None, "holdout": 0.2}
    path = tmp_path / "m.safetensors"
    write_model(path, state, kind=state.pop("kind"), training={})
    with pytest.raises(ModelFileError) as refused:
        ilspace.load(path)
    assert str(refused.value) == (
        f"The file {path} must be an intact model of ilspace, but it was written by another "
        "version of ilspace, whose TableClassifier has the parameters estimator, holdout: fit "
        "again, or adapt again."
    )


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


def arrays_of(state, path=()):
    """Arrays of numbers in the plain data of a model, and where they are."""
    if isinstance(state, dict):
        for name, each in state.items():
            yield from arrays_of(each, (*path, name))
    elif isinstance(state, (list, tuple)):
        for i, each in enumerate(state):
            yield from arrays_of(each, (*path, i))
    elif isinstance(state, np.ndarray) and state.dtype.kind == "f":
        yield path, state


def with_giants(state, path, size):
    """Plain data in which one array is replaced by huge numbers of both signs."""
    state = deepcopy(state)
    inner = state
    for each in path:
        inner = inner[each]
    signs = np.where(np.arange(inner.size).reshape(inner.shape) % 2, 1.0, -1.0)
    inner[...] = signs * min(size, np.finfo(inner.dtype).max)
    return state


@pytest.mark.parametrize("size", [1e308, 1e200])
def test_a_file_with_giant_numbers_is_refused_or_gives_numbers(fitted, size):
    state = state_of(fitted) | {"kind": "TableClassifier"}
    n_refused = 0
    for path, _ in arrays_of(state):
        try:
            model = estimator_of(with_giants(state, path, size))
        except ModelFileError:
            n_refused += 1
        else:
            with np.errstate(all="ignore"):
                said = model.predict_proba(TABLES.target)
            assert np.isfinite(said).all(), path
    assert n_refused >= 20
