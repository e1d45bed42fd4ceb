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


def labelled(setting, classes):
    """Arguments of fit, with labels of another type."""
    source, target, marks = SETTINGS[setting]
    if marks is not None:
        marks = [None if each is None else classes[each].item() for each in marks]
    return source, classes[y], target, marks


def assert_alike(met, wanted, queries):
    """All that an estimator answers is equal, bit for bit."""
    methods = ["transform", "predict", "predict_proba", "class_distances"]
    for domain, rows in queries.items():
        for method in methods if hasattr(wanted, "predict") else methods[:1]:
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
@pytest.mark.parametrize("make", [ILSClassifier, ILSTransformer])
def test_a_round_trip_is_exact(path, make, setting, dtype):
    source, labels, target, marks = labelled(setting, CLASSES["text"])
    source = source.astype(dtype)
    target = None if target is None else target.astype(dtype)
    model = make(2).fit(source, labels, target, marks)
    model.save(path)
    loaded = ilspace.load(path)
    assert type(loaded) is make
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
        {"source_vote": np.float64(0.3), "n_components": np.int64(2)},
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
    for method in ("class_distances", "predict_proba"):
        one, other = (getattr(each, method)(target) for each in (loaded, model))
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
    assert training(ILSTransformer(2).fit(X, y, Xt, SOME)) == first
    other = training(ILSClassifier(2).fit(X, y, Xt + 1e-9, SOME))
    assert other.pop("fingerprint") != first.pop("fingerprint")
    assert other == first


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


GOOD = ILSClassifier(2, objective=ObjectiveSettings()).fit(
    *labelled("semi-supervised", CLASSES["text"])
)
STATE = state_of(GOOD)
MAP = STATE["fitted"]["map_"]


def edited(place, value) -> Any:
    """A copy of a good state with one entry changed."""

    def copy(node, keys):
        if not keys:
            return value
        if isinstance(node, list):
            here = int(keys[0])
            return [*node[:here], copy(node[here], keys[1:]), *node[here + 1 :]]
        return node | {keys[0]: copy(node[keys[0]], keys[1:])}

    return copy(STATE, place.split("/"))


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
        ("fitted/source_vote_", 2.0),
        ("fitted/source_vote_", True),
        ("fitted/source_vote_", "auto"),
        ("fitted/source_vote_", float("nan")),
        ("fitted/_labelled", []),
        ("fitted/_labelled", {}),
        ("fitted/_labelled/0", {"rows": np.zeros((30, 2))}),
        ("fitted/_labelled/0/codes", np.full(30, 7)),
        ("fitted/_labelled/0/codes", np.full(30, -1)),
        ("fitted/_labelled/0/codes", np.full(30, 2**62)),
        ("fitted/_labelled/0/codes", np.zeros(30, int)),
        ("fitted/_labelled/0/codes", np.zeros(30)),
        ("fitted/_labelled/0/codes", np.zeros(0, int)),
        ("fitted/_labelled/0/rows", np.zeros((30, 3))),
        ("fitted/_labelled/0/rows", np.zeros((29, 2))),
        ("fitted/_labelled/0/rows", np.zeros((30, 2), np.float32)),
        ("fitted/_labelled/0/rows", np.full((30, 2), np.nan)),
        ("fitted/_labelled/0/rows", np.full((30, 2), 1e308)),
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


def test_the_state_that_the_flaws_start_from_is_good():
    assert_alike(estimator_of(STATE), estimator_of(edited("kind", "ILSClassifier")), {"source": X})


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
    state = state_of(ILSClassifier(2).fit(*single))
    state["fitted"]["_labelled"][0]["rows"] = np.full((30, 2), 1e30, np.float32)
    with pytest.raises(ModelFileError, match=r"rows should be small enough for squared distances"):
        estimator_of(state)


@pytest.mark.parametrize("name", ["means", "maps"])
def test_what_loads_does_not_overflow(name):
    """The largest numbers that are let through still give probabilities."""
    model = estimator_of(edited(f"fitted/map_/{name}/1", np.full_like(MAP[name][1], 9e76)))
    assert np.isfinite(model.predict_proba(Xt)).all()


def test_an_entry_is_named_by_its_place():
    with pytest.raises(
        ModelFileError, match=r"its map_\.scales\[1\] should be positive and finite"
    ):
        estimator_of(edited("fitted/map_/scales/1", -1.0))
    with pytest.raises(
        ModelFileError, match=r"its _labelled\[0\]\.rows should have shape \(30, 2\)"
    ):
        estimator_of(edited("fitted/_labelled/0/rows", np.zeros((30, 3))))


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
