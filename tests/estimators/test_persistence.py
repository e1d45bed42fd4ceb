"""Estimators that are saved and loaded are the same, and nothing else is loaded."""

import dataclasses
import errno
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
import safetensors
from scipy import sparse
from shifted import shifted
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

import ilspace
from ilspace import ILSClassifier, ILSTransformer, ObjectiveSettings
from ilspace.estimators import persistence
from ilspace.estimators.persistence import Fitted, estimator_of, loadable, save_estimator, state_of
from ilspace.storage import ModelFileError, write_model

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

DATA = shifted()
X, y, Xt, yt = DATA
SOME = DATA.marked(None)
CLASSES = {
    "text": np.array(["cat", "dog", "élan"]),
    "int": np.array([-5, 3, 2**40]),
    "bool": np.array([False, True, True]),
    "float": np.array([1.0, 2.0, 3.0]),
    "small int": np.array([1, 2, 3], dtype=np.int8),
}
WEIGHTS: Any = (1.0, 0.5, 1, np.float32(2))
IDENTITY: Any = np.eye(2).tolist()
SETTINGS = {
    "unsupervised": (X, Xt, None),
    "semi-supervised": (X, Xt, SOME),
    "different widths": (X, Xt[:, :4], SOME),
    "one domain": (X, None, None),
    "sparse": (sparse.csr_matrix(X), sparse.csr_matrix(Xt), None),
}

MODELS = {
    "self-trained": ILSClassifier(2),
    "nearest": ILSClassifier(2, self_training=0),
    "nearest after rounds": ILSClassifier(2, classifier="nearest", self_training=1),
    "linear": ILSClassifier(2, classifier="linear"),
    "ridge": ILSClassifier(2, classifier="ridge", self_training=0),
    "transformer": ILSTransformer(2),
}


def labelled(setting, classes):
    """Arguments of fit, with labels of another type."""
    source, target, marks = SETTINGS[setting]
    if marks is not None:
        marks = [None if each is None else classes[each].item() for each in marks]
    return source, classes[y], target, marks


def assert_alike(met, wanted, queries):
    """All that an estimator answers is equal, bit for bit."""
    methods = ("transform", "predict", "predict_proba", "class_distances")
    for domain, rows in queries.items():
        for method in (each for each in methods if hasattr(wanted, each)):
            one, other = (getattr(each, method)(rows, domain) for each in (met, wanted))
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            assert one.tobytes() == other.tobytes()
        one, other = (each.get_mahalanobis_matrix(domain) for each in (met, wanted))
        assert one.tobytes() == other.tobytes()
    assert vars(met).keys() == vars(wanted).keys()
    for name, value in vars(wanted).items():
        assert repr(getattr(met, name)) == repr(value), name
        if isinstance(value, np.ndarray):
            assert getattr(met, name).tobytes() == value.tobytes() or value.dtype == object
            assert getattr(met, name).dtype == value.dtype
            assert getattr(met, name).flags.writeable


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_round_trip_is_exact(path, model, setting, dtype):
    source, labels, target, marks = labelled(setting, CLASSES["text"])
    source = source.astype(dtype)
    target = None if target is None else target.astype(dtype)
    model = clone(model).fit(source, labels, target, marks)
    model.save(path)
    loaded = ilspace.load(path)
    assert type(loaded) is type(model)
    assert_alike(loaded, model, {"source": source, "target": source if target is None else target})


@pytest.mark.parametrize("kind", CLASSES)
def test_classes_keep_their_type(path, kind):
    model = ILSClassifier(2).fit(*labelled("semi-supervised", CLASSES[kind]))
    model.save(str(path))
    loaded = ilspace.load(str(path))
    assert loaded.classes_.dtype == model.classes_.dtype
    assert_alike(loaded, model, {"target": Xt, "source": X})


def test_names_of_columns(path):
    source = pd.DataFrame(X, columns=[f"c{place}" for place in range(6)])
    target = pd.DataFrame(Xt[:, :4], columns=["ä", "b", "c", "d"])
    model = ILSClassifier(2).fit(source, y, target, SOME)
    model.save(path)
    loaded = ilspace.load(path)
    assert_alike(loaded, model, {"source": source, "target": target})
    assert loaded.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(target[["b", "ä", "c", "d"]])


@pytest.mark.parametrize(
    "parameters",
    [
        {
            "init": np.eye(6)[:, :2],
            "objective": ObjectiveSettings(metric_init=IDENTITY),
        },
        {"init": (np.eye(6)[:, :2], pd.DataFrame(np.eye(6)[:, 1:3]))},
        {"objective": ObjectiveSettings(step_weights=WEIGHTS)},
        {"self_training": np.int64(1), "n_components": np.int64(2)},
        {"self_training": 0},
        {"classifier": "linear", "n_components": 2},
        {
            "objective": ObjectiveSettings(pairs="sampled", slack_weight=0.5),
            "random_state": 3,
            "max_iter": 2,
        },
    ],
    ids=lambda parameters: "-".join(parameters),
)
def test_parameters_come_back_and_fit_the_same_again(path, parameters):
    source, target = X.astype(np.float32), Xt.astype(np.float32)
    model = ILSClassifier(**parameters).fit(source, y, target, SOME)
    model.save(path)
    loaded = ilspace.load(path)
    one, other = (each.predict_proba(target) for each in (loaded, model))
    assert one.tobytes() == other.tobytes()
    again = clone(loaded).fit(source, y, target, SOME)
    assert again.transform(target).tobytes() == model.transform(target).tobytes()
    assert len(loaded.solution_.point) == len(model.solution_.point)


def test_what_is_not_saved_loads_as_none(path):
    model = ILSClassifier(2, callback=lambda *_: False, random_state=np.random.RandomState(0))
    model.fit(X, y, Xt).save(path)
    assert model.callback is not None
    loaded = ilspace.load(path)
    assert loaded.callback is None
    assert loaded.random_state is None


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_arrays_of_other_libraries_load_as_numpy(path, library):
    xp = pytest.importorskip(library)
    rows, target = xp.asarray(X.copy()), xp.asarray(Xt.copy())
    model = ILSClassifier(2).fit(rows, y, target, SOME)
    assert type(model.metric_) is not np.ndarray
    model.save(path)
    loaded = ilspace.load(path)
    assert type(loaded.metric_) is np.ndarray
    answer = loaded.transform(Xt)
    assert type(answer) is np.ndarray
    np.testing.assert_allclose(answer, np.asarray(model.transform(target)), rtol=1e-12)
    chances = np.asarray(model.predict_proba(target))
    np.testing.assert_allclose(loaded.predict_proba(Xt), chances, rtol=1e-12)


def test_saving_what_was_loaded_gives_the_same_model(path):
    def digest():
        with safetensors.safe_open(path, "numpy") as file:
            return file.metadata()["sha256"]

    ILSClassifier(2).fit(X, y, Xt, SOME).save(path)
    first = digest()
    ilspace.load(path).save(path)
    assert digest() == first


def test_the_file_tells_two_fits_apart(path):
    def training(model):
        model.save(path)
        with safetensors.safe_open(path, "numpy") as file:
            return json.loads(file.metadata()["training"])

    first = training(ILSClassifier(2).fit(X, y, Xt, SOME))
    assert first["rows"] == [30, 24]
    assert first["columns"] == [6, 6]
    assert first["labelled"] == [[10, 10, 10], [2, 2, 2]]
    other = training(ILSClassifier(2).fit(X, y, Xt + 1e-9, SOME))
    assert other.pop("fingerprint") != first.pop("fingerprint")
    assert other == first
    space = training(ILSClassifier(2, self_training=0).fit(X, y, Xt, SOME))
    assert training(ILSTransformer(2).fit(X, y, Xt, SOME)) == space


def test_another_process_predicts_the_same(path):
    model = ILSClassifier(2).fit(X, y, Xt)
    model.save(path)
    np.save(path.with_name("rows.npy"), Xt)
    script = """
import sys, numpy, ilspace
rows = numpy.load(sys.argv[2])
print(ilspace.load(sys.argv[1]).predict_proba(rows).tobytes().hex())
"""
    ended = subprocess.run(
        [sys.executable, "-c", script, str(path), str(path.with_name("rows.npy"))],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.strip() == model.predict_proba(Xt).tobytes().hex()


# -- what does not go ----------------------------------------------------------------------------


def test_only_what_is_fitted_is_saved(path):
    with pytest.raises(NotFittedError):
        ILSClassifier().save(path)
    assert not path.exists()


def test_a_failed_save_leaves_the_old_model(path, monkeypatch):
    model = ILSClassifier(2).fit(X, y, Xt)
    model.save(path)
    old = path.read_bytes()

    def full(_):
        raise OSError(errno.ENOSPC, "No space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        model.save(path)
    assert path.read_bytes() == old
    assert os.listdir(path.parent) == [path.name]


def test_what_could_not_be_loaded_is_not_saved(path):
    model = ILSClassifier(2).fit(X, y, Xt)
    with pytest.raises(ValueError, match="parameter is out of range.*'n_components'"):
        model.set_params(n_components=-1).save(path)
    ils = model.set_params(n_components=2).map_
    model.map_ = dataclasses.replace(ils, means=(ils.means[0], np.zeros(3)))
    with pytest.raises(
        ValueError, match=r"maps\[1\] should have shape \(3, 2\) and has .*\(6, 2\)"
    ):
        model.save(path)
    model.map_ = dataclasses.replace(ils, sharpness=0.0)
    with pytest.raises(ValueError, match=r"map_.sharpness should be positive .* and is 0.0:"):
        model.save(path)
    assert not path.exists()


def test_a_missing_folder(path):
    with pytest.raises(FileNotFoundError, match="must exist"):
        ILSClassifier(2).fit(X, y, Xt).save(path / "model")


def test_a_classifier_of_another_library_is_not_saved(path):
    model = ILSClassifier(2, classifier=GaussianNB()).fit(X, y, Xt)
    message = (
        r"^Only models whose classifier is one of .*'ridge' can be saved, .* a GaussianNB: use"
    )
    with pytest.raises(TypeError, match=message) as caught:
        model.save(path)
    assert "\n" not in str(caught.value)
    assert not path.exists()


def test_a_subclass_is_not_taken_for_its_parent(path):
    class Mine(ILSClassifier):
        pass

    with pytest.raises(TypeError, match="this is a Mine: decorate"):
        Mine(2).fit(X, y, Xt).save(path)


def test_two_classes_of_one_name():
    with pytest.raises(ValueError, match="ILSClassifier is taken"):
        loadable(type("ILSClassifier", (BaseEstimator,), {}))


def test_a_class_that_is_made_again_takes_its_own_place():
    kind, again = (
        type("Again", (BaseEstimator,), {"__module__": "some", "__qualname__": "outer.Again"})
        for _ in range(2)
    )
    other = type("Again", (BaseEstimator,), {"__module__": "some", "__qualname__": "inner.Again"})
    try:
        assert loadable(kind) is kind
        assert loadable(again) is again
        assert persistence._KINDS["Again"] is again
        with pytest.raises(ValueError, match="Again is taken"):
            loadable(other)
    finally:
        del persistence._KINDS["Again"]


def test_a_module_can_be_reloaded():
    script = (
        "import importlib, ilspace.estimators.classifier as it\n"
        "importlib.reload(it)\n"
        "from ilspace.estimators.persistence import _KINDS\n"
        "assert _KINDS['ILSClassifier'] is it.ILSClassifier"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_file_names_classes_only_from_the_list(path):
    write_model(path, {"parameters": {}, "estimators": {}, "fitted": {}}, kind="os.system")
    with pytest.raises(ModelFileError, match=r"model.safetensors .*'os.system', and known are ILS"):
        ilspace.load(path)


def test_settings_are_no_model(path):
    write_model(path, {"parameters": {}, "estimators": {}, "fitted": {}}, kind="ObjectiveSettings")
    with pytest.raises(ModelFileError, match="its ObjectiveSettings is nothing that is fitted"):
        ilspace.load(path)


def good(**parameters):
    """State of a good model."""
    model = ILSClassifier(2, objective=ObjectiveSettings(), **parameters)
    return state_of(model.fit(*labelled("semi-supervised", CLASSES["text"])))


STATE = good(self_training=0)
MAP = STATE["fitted"]["map_"]
TRAINED, LINEAR = good(), good(classifier="linear", self_training=0)
RULE = TRAINED["fitted"]["_rule"]


def edited(place, value, state=STATE) -> Any:
    """A copy of a good state with one entry changed."""

    def copy(node, keys):
        if not keys:
            return value
        if isinstance(node, list):
            here = int(keys[0])
            return [*node[:here], copy(node[here], keys[1:]), *node[here + 1 :]]
        return node | {keys[0]: copy(node[keys[0]], keys[1:])}

    return copy(state, place.split("/"))


BOTH = ("means", "maps", "scales", "projections")
"""What a map has per domain."""

ONE_DOMAIN = MAP | {name: MAP[name][:1] for name in BOTH}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("kind", 3),
        ("parameters", []),
        ("parameters", {"n_features": 3}),
        ("parameters/solver", "magic"),
        ("parameters/tol", -1.0),
        ("parameters/init", 3.0),
        ("parameters/callback", "os.system"),
        ("estimators", {"solver": {"kind": "ILSClassifier", "parameters": {}}}),
        ("estimators", {"solver": {"kind": "ILSClassifier", "parameters": {}, "estimators": {}}}),
        (
            "estimators",
            {"objective": {"kind": "ILSClassifier", "parameters": {}, "estimators": {}}},
        ),
        ("estimators/objective/kind", "Objective"),
        ("estimators/objective/parameters", {"weight": 1.0}),
        ("estimators/objective/parameters/trade_off", -1.0),
        ("estimators/objective/parameters/step_weights", "auto"),
        ("estimators/objective/parameters/step_weights", (1.0, 2.0)),
        ("estimators/objective/parameters/slack_weight", 1.0),
        ("fitted", None),
        ("fitted", {}),
        ("fitted/_rule/source_vote", 2.0),
        ("fitted/_rule/source_vote", True),
        ("fitted/_rule/source_vote", "auto"),
        ("fitted/_rule/source_vote", float("nan")),
        ("fitted/_rule/labelled", []),
        ("fitted/_rule/labelled", {}),
        ("fitted/_rule/labelled/0", {"rows": np.zeros((30, 2))}),
        ("fitted/_rule/labelled/0/codes", np.full(30, 7)),
        ("fitted/_rule/labelled/0/codes", np.full(30, -1)),
        ("fitted/_rule/labelled/0/codes", np.full(30, 2**62)),
        ("fitted/_rule/labelled/0/codes", np.zeros(30, int)),
        ("fitted/_rule/labelled/0/codes", np.zeros(30)),
        ("fitted/_rule/labelled/0/codes", np.zeros(0, int)),
        ("fitted/_rule/labelled/0/rows", np.zeros((30, 3))),
        ("fitted/_rule/labelled/0/rows", np.zeros((29, 2))),
        ("fitted/_rule/labelled/0/rows", np.zeros((30, 2), np.float32)),
        ("fitted/_rule/labelled/0/rows", np.full((30, 2), np.nan)),
        ("fitted/_rule/labelled/0/rows", np.full((30, 2), 1e308)),
        ("fitted/_rule", None),
        ("fitted/_rule", {}),
        ("fitted/_rule/kind", "ridge"),
        ("fitted/_rule/kind", "forest"),
        ("fitted/_rule/kind", 3),
        ("fitted/_rule/kind", ["nearest"]),
        ("fitted/_rule/n_classes", 2),
        ("fitted/_rule/n_classes", True),
        ("fitted/_rule/sharpness", 0.0),
        ("fitted/_rule/sharpness", float("inf")),
        ("fitted/rounds_", None),
        ("fitted/rounds_", [3]),
        ("fitted/classes_", np.array(["a", "b"])),
        ("fitted/classes_", np.array(["a", "c", "b"])),
        ("fitted/classes_", np.array(["a", "b", "b"])),
        ("fitted/classes_", np.array(["a", 1, None], dtype=object)),
        ("fitted/classes_", np.array([1.0, 2.0, np.nan])),
        ("fitted/classes_", ["a", "b", "c"]),
        ("fitted/_shares_features", 1),
        ("fitted/feature_names_in_", np.array(["a"], dtype=object)),
        ("fitted/feature_names_in_", np.arange(6).astype(object)),
        ("fitted/target_feature_names_in_", np.array(["a"], dtype=object)),
        ("fitted/target_feature_names_in_", np.arange(6).astype(object)),
        ("fitted/_n_rows", [30]),
        ("fitted/_n_rows/1", 3),
        ("fitted/_n_rows/1", True),
        ("fitted/_class_counts/1", np.array([2, 2])),
        ("fitted/_class_counts/1", np.array([2**63 - 1, 2**63 - 1, 8])),
        ("fitted/_class_counts/1", np.array([-2, 4, 4])),
        ("fitted/_class_counts/1", np.array([2.0, 2.0, 2.0])),
        ("fitted/map_", None),
        ("fitted/map_", ONE_DOMAIN),
        ("fitted/map_", MAP | {name: MAP[name] * 2 for name in BOTH}),
        ("fitted/map_", MAP | {name: [] for name in BOTH}),
        ("fitted/map_/sharpness", 0.0),
        ("fitted/map_/sharpness", float("inf")),
        ("fitted/map_/status", "HAPPY"),
        ("fitted/map_/status", ["SETTLED"]),
        ("fitted/map_/maps", MAP["maps"] * 2),
        ("fitted/map_/maps/1", np.zeros((5, 2))),
        ("fitted/map_/maps/1", np.zeros((6, 3))),
        ("fitted/map_/maps/1", np.zeros((6, 2), int)),
        ("fitted/map_/maps/1", np.zeros((6, 2), np.float32)),
        ("fitted/map_/maps/1", np.zeros((0, 2))),
        ("fitted/map_/maps/1", np.full((6, 2), 1e308)),
        ("fitted/map_/means/1", np.zeros(5)),
        ("fitted/map_/means/1", np.zeros((6, 1))),
        ("fitted/map_/means/1", np.zeros(6, np.float32)),
        ("fitted/map_/means/1", np.full(6, -1e308)),
        ("fitted/map_/means/1", np.array(0.0)),
        ("fitted/map_/scales/1", -1.0),
        ("fitted/map_/projections", MAP["projections"][:1]),
        ("fitted/map_/projections/0", np.zeros((6, 3))),
        ("fitted/map_/metric", np.zeros((6, 3))),
        ("fitted/map_/metric", None),
        ("fitted/map_/slacks", [np.zeros(3), np.zeros(3)]),
        ("fitted/map_/slacks", [np.zeros((3, 1))]),
        ("fitted/map_/slacks", None),
        ("fitted/map_/history/value", np.zeros(1)),
        ("fitted/map_/history/value", np.zeros((1, 1))),
        ("fitted/map_/history/evaluations", np.zeros(len(MAP["history"]["evaluations"]))),
        ("fitted/map_/history", {"value": np.zeros(1)}),
        ("fitted/map_/history", {name: column[:0] for name, column in MAP["history"].items()}),
    ],
)
def test_a_state_that_does_not_fit_together(place, value):
    with pytest.raises(ModelFileError) as caught:
        estimator_of(edited(place, value))
    assert "\n" not in str(caught.value)
    if place.startswith("fitted"):  # a check of its own, not the net below all checks
        assert "cannot be rebuilt" not in str(caught.value)


WIDTH, N_LANDMARKS = RULE["expansion"]["landmarks"].shape[1], len(X) + len(Xt)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("_rule", STATE["fitted"]["_rule"] | {"kind": "ridge"}),
        ("_rule/inverse_temperature", -1.0),
        ("_rule/plain", None),
        ("_rule/plain/means", RULE["plain"]["means"][:1]),
        ("_rule/plain/maps", RULE["plain"]["maps"] * 2),
        ("_rule/plain/maps/1", np.zeros((5, 6))),
        ("_rule/plain/maps/1", np.zeros((6, 5))),
        ("_rule/plain/maps/1", np.zeros((6, 6), int)),
        ("_rule/plain/maps/1", np.full((6, 6), 1e308)),
        ("_rule/plain/maps", [np.zeros((6, 5))] * 2),
        ("_rule/plain/means/0", np.full(6, np.nan)),
        ("_rule/expansion", RULE["plain"]),
        ("_rule/expansion/bandwidth", 0.0),
        ("_rule/expansion/bandwidth", 1),
        ("_rule/expansion/landmarks", np.zeros((N_LANDMARKS, WIDTH + 1))),
        ("_rule/expansion/landmarks", np.zeros((N_LANDMARKS - 1, WIDTH))),
        ("_rule/expansion/landmarks", np.zeros((N_LANDMARKS, WIDTH), np.float32)),
        ("_rule/expansion/landmarks", np.full((N_LANDMARKS, WIDTH), 3.0)),
        ("_rule/expansion/coefficients", np.zeros((N_LANDMARKS, 2))),
        ("_rule/expansion/coefficients", np.full((N_LANDMARKS, 3), np.inf)),
        ("_rule/expansion/coefficients", np.full((N_LANDMARKS, 3), -1e31)),
        (
            "_rule/expansion",
            RULE["expansion"]
            | {"landmarks": np.zeros((0, WIDTH)), "coefficients": np.zeros((0, 3))},
        ),
        ("rounds_/0/n_selected", 1.0),
        ("rounds_/0/changed", 1.5),
        ("rounds_/0/changed", float("nan")),
        ("rounds_/0/status", "HAPPY"),
        ("rounds_/0/kept", 1),
    ],
)
def test_a_ridge_that_does_not_fit_together(place, value):
    with pytest.raises(ModelFileError) as caught:
        estimator_of(edited(f"fitted/{place}", value, TRAINED))
    assert "\n" not in str(caught.value)
    assert "cannot be rebuilt" not in str(caught.value)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("weights", np.zeros((3, 3))),
        ("weights", np.zeros((2, 2))),
        ("weights", np.full((2, 3), np.nan)),
        ("weights", np.full((2, 3), 1e300)),
        ("intercept", np.zeros(2)),
        ("intercept", 0.0),
    ],
)
def test_a_linear_rule_that_does_not_fit_together(place, value):
    with pytest.raises(ModelFileError, match=f"its _rule.{place} should") as caught:
        estimator_of(edited(f"fitted/_rule/{place}", value, LINEAR))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("state", [STATE, TRAINED, LINEAR], ids=["nearest", "ridge", "linear"])
def test_the_state_that_the_flaws_start_from_is_good(state):
    again = edited("kind", "ILSClassifier", state)
    assert_alike(estimator_of(state), estimator_of(again), {"source": X})


def test_domains_of_different_widths_do_not_share_their_columns():
    state = state_of(ILSTransformer(2).fit(X, y, Xt[:, :4], SOME))
    state["fitted"]["_shares_features"] = True
    with pytest.raises(ModelFileError, match="share their columns"):
        estimator_of(state)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize(
    ("d", "p", "dtype", "message"),
    [
        (0, 2, np.float64, r"its map_\.projections\[0\] should not be empty"),
        (6, 0, np.float64, r"its map_\.metric should not be empty"),
        (6, 2, np.float16, r"its map_\.means\[0\] should be of 32 or 64 bits"),
    ],
)
def test_parts_that_agree_and_still_are_no_map(n, d, p, dtype, message):
    state = state_of(ILSTransformer(2).fit(X, y, Xt if n == 2 else None))
    state["fitted"]["map_"] |= {
        "means": [np.ones(d, dtype)] * n,
        "maps": [np.ones((d, p), dtype)] * n,
        "projections": [np.ones((d, p))] * n,
        "metric": np.ones((p, p)),
    }
    with pytest.raises(ModelFileError, match=message):
        estimator_of(state)


def test_rows_whose_distances_overflow_in_single_precision():
    single = X.astype(np.float32), y, Xt.astype(np.float32)
    state = state_of(ILSClassifier(2, self_training=0).fit(*single))
    state["fitted"]["_rule"]["labelled"][0]["rows"] = np.full((30, 2), 1e30, np.float32)
    with pytest.raises(ModelFileError, match=r"rows should be small enough for squared distances"):
        estimator_of(state)


@pytest.mark.parametrize("state", [STATE, TRAINED, LINEAR], ids=["nearest", "ridge", "linear"])
@pytest.mark.parametrize("name", ["means", "maps"])
def test_what_loads_does_not_overflow(name, state):
    """The largest numbers that are let through still give probabilities."""
    large = np.full_like(MAP[name][1], 9e76)
    model = estimator_of(edited(f"fitted/map_/{name}/1", large, state))
    assert np.isfinite(model.predict_proba(Xt)).all()


@pytest.mark.parametrize(
    ("place", "size"),
    [("plain/maps/1", 9e76), ("expansion/coefficients", 1e30), ("expansion/landmarks", 2.0)],
)
def test_a_ridge_that_loads_does_not_overflow(place, size):
    part, name, *at = place.split("/")
    there = RULE[part][name][1] if at else RULE[part][name]
    model = estimator_of(edited(f"fitted/_rule/{place}", np.full_like(there, size), TRAINED))
    assert np.isfinite(model.predict_proba(Xt)).all()


def test_an_entry_is_named_by_its_place():
    with pytest.raises(
        ModelFileError, match=r"its map_\.scales\[1\] should be positive and finite"
    ):
        estimator_of(edited("fitted/map_/scales/1", -1.0))
    with pytest.raises(
        ModelFileError, match=r"its _rule\.labelled\[0\]\.rows should have shape \(30, 2\)"
    ):
        estimator_of(edited("fitted/_rule/labelled/0/rows", np.zeros((30, 3))))


def test_slacks_come_back(path):
    model = ILSTransformer.as_in_paper(2, tol=0.5, random_state=0).fit(X, y, Xt)
    model.save(path)
    slacks = ilspace.load(path).solution_.point[3:]
    assert len(slacks) == 1
    assert slacks[0].tobytes() == model.solution_.point[3].tobytes()


# -- an estimator that holds another one ---------------------------------------------------------


class Wrapper(BaseEstimator):
    """Scales its columns before the estimator that it holds sees them."""

    _parameter_constraints = {"estimator": [BaseEstimator], "factor": [float]}
    _schema = {"estimator_": Fitted(ILSTransformer, {"n_features_in_": "d"})}

    def __init__(self, estimator, factor=1.0):
        self.estimator = estimator
        self.factor = factor

    def fit(self, X, y, Xt):
        self.estimator_ = clone(self.estimator).fit(X * self.factor, y, Xt * self.factor)
        return self

    def predict(self, X):
        return self.estimator_.predict(X * self.factor)

    def _restored(self):
        self.width_ = {6: 6}[self.estimator_.n_features_in_]  # as a check that forgot other widths


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setattr(persistence, "_KINDS", dict(persistence._KINDS))
    return loadable(Wrapper)


def test_an_estimator_that_holds_another_one(path, known):
    model = known(ILSClassifier(2, tol=0.01), factor=2.0).fit(X, CLASSES["text"][y], Xt)
    save_estimator(model, path)
    loaded = ilspace.load(path)
    assert loaded.predict(Xt).tolist() == model.predict(Xt).tolist()
    assert repr(loaded) == repr(model)
    assert_alike(loaded.estimator_, model.estimator_, {"target": Xt})
    with pytest.raises(NotFittedError):
        loaded.estimator.predict(Xt)  # a parameter, and not fitted


def test_a_check_that_a_class_forgot_is_still_the_one_error(known):
    state = state_of(known(ILSClassifier(2)).fit(X[:, :4], y, Xt[:, :4]))
    with pytest.raises(ModelFileError, match="its Wrapper cannot be rebuilt"):
        estimator_of(state)


def test_a_flaw_of_the_estimator_within_names_both(known):
    state = state_of(known(ILSClassifier(2)).fit(X, y, Xt))
    inner = {"estimator_": edited("fitted/map_/sharpness", 0.0)}
    with pytest.raises(ModelFileError, match=r"its estimator_\.map_\.sharpness should be positive"):
        estimator_of({**state, "fitted": inner})
    other = {"estimator_": state}
    with pytest.raises(ModelFileError, match="its estimator_ should be a ILST.* and is a Wrapper"):
        estimator_of({**state, "fitted": other})
    with pytest.raises(ModelFileError, match="its content should have the entries estimator_"):
        estimator_of({**state, "fitted": {}})


def test_a_parameter_that_is_no_plain_data(path, known):
    model = known(ILSClassifier(2)).fit(X, y, Xt)
    model.factor = BaseEstimator()
    with pytest.raises(ValueError, match="out of range"):
        save_estimator(model, path)
