"""Estimators that are saved and loaded are the same, and nothing else is loaded."""

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
from adapters.shifted import shifted
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

import ilspace
from ilspace import ILSClassifier, ILSTransformer
from ilspace.adapters import persistence
from ilspace.adapters.persistence import Persistent, estimator_of, loadable, state_of
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
        {"start": np.eye(6)[:, :2], "metric_start": np.eye(2).tolist()},
        {"start": (np.eye(6)[:, :2], pd.DataFrame(np.eye(6)[:, 1:3]))},
        {"mobility": (1.0, 0.5, 1, np.float32(2))},
        {"source_vote": np.float64(0.3), "n_components": np.int64(2)},
        {"pairs": "sampled", "slack_weight": 0.5, "random_state": 3, "max_iter": 2},
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
    model.set_params(n_components=2).source_mean_ = np.zeros(3)
    with pytest.raises(ValueError, match=r"mean should have shape \(6,\) and has shape \(3,\)"):
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
        loadable(type("ILSClassifier", (Persistent,), {}))


def test_a_class_that_is_made_again_takes_its_own_place():
    kind, again = (
        type("Again", (Persistent,), {"__module__": "some", "__qualname__": "outer.Again"})
        for _ in range(2)
    )
    other = type("Again", (Persistent,), {"__module__": "some", "__qualname__": "inner.Again"})
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
        "import importlib, ilspace.adapters.ils_classifier as it\n"
        "importlib.reload(it)\n"
        "from ilspace.adapters.persistence import _KINDS\n"
        "assert _KINDS['ILSClassifier'] is it.ILSClassifier"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_file_names_classes_only_from_the_list(path):
    write_model(path, {"parameters": {}, "estimators": {}, "fitted": {}}, kind="os.system")
    with pytest.raises(ModelFileError, match=r"model.safetensors .*'os.system', and known are ILS"):
        ilspace.load(path)


STATE = state_of(ILSClassifier(2).fit(*labelled("semi-supervised", CLASSES["text"])))


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


DOMAIN = "fitted/latent/domains/1"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("kind", 3),
        ("parameters", []),
        ("parameters", {"n_features": 3}),
        ("parameters/solver", "magic"),
        ("parameters/tol", -1.0),
        ("parameters/mobility", (1.0, 2.0)),
        ("parameters/slack_weight", 1.0),
        ("parameters/callback", "os.system"),
        ("estimators", {"solver": {"kind": "ILSClassifier", "parameters": {}}}),
        ("estimators", {"solver": {"kind": "ILSClassifier", "parameters": {}, "estimators": {}}}),
        ("fitted", None),
        ("fitted/source_vote", 2.0),
        ("fitted/source_vote", True),
        ("fitted/source_vote", "auto"),
        ("fitted/source_vote", float("nan")),
        ("fitted/labelled", []),
        ("fitted/labelled/0/codes", np.full(30, 7)),
        ("fitted/labelled/0/codes", np.full(30, -1)),
        ("fitted/labelled/0/codes", np.full(30, 2**62)),
        ("fitted/labelled/0/codes", np.zeros(30, int)),
        ("fitted/labelled/0/codes", np.zeros(30)),
        ("fitted/labelled/0/rows", np.zeros((30, 3))),
        ("fitted/labelled/0/rows", np.zeros((29, 2))),
        ("fitted/labelled/0/rows", np.zeros((30, 2), np.float32)),
        ("fitted/labelled/0/rows", np.full((30, 2), np.nan)),
        ("fitted/latent/classes", np.array(["a", "b"])),
        ("fitted/latent/classes", np.array(["a", "c", "b"])),
        ("fitted/latent/classes", np.array(["a", "b", "b"])),
        ("fitted/latent/classes", np.array(["a", 1, None], dtype=object)),
        ("fitted/latent/classes", ["a", "b", "c"]),
        ("fitted/latent/shares_features", 1),
        ("fitted/latent/sharpness", 0.0),
        ("fitted/latent/sharpness", float("inf")),
        ("fitted/latent/status", "HAPPY"),
        ("fitted/latent/domains", []),
        ("fitted/latent/domains", STATE["fitted"]["latent"]["domains"][:1]),
        ("fitted/latent/domains", STATE["fitted"]["latent"]["domains"] * 2),
        (f"{DOMAIN}/map", np.zeros((5, 2))),
        (f"{DOMAIN}/map", np.zeros((6, 3))),
        (f"{DOMAIN}/map", np.zeros((6, 2), int)),
        (f"{DOMAIN}/map", np.zeros((6, 2), np.float32)),
        (f"{DOMAIN}/map", np.zeros((0, 2))),
        (f"{DOMAIN}/mean", np.zeros(5)),
        (f"{DOMAIN}/mean", np.zeros((6, 1))),
        (f"{DOMAIN}/mean", np.zeros(6, np.float32)),
        (f"{DOMAIN}/mean", np.array(0.0)),
        (f"{DOMAIN}/scale", -1.0),
        (f"{DOMAIN}/names", np.array(["a"], dtype=object)),
        (f"{DOMAIN}/names", np.arange(6).astype(object)),
        (f"{DOMAIN}/n_rows", 3),
        (f"{DOMAIN}/class_counts", np.array([2, 2])),
        (f"{DOMAIN}/class_counts", np.array([2**63 - 1, 2**63 - 1, 8])),
        (f"{DOMAIN}/class_counts", np.array([-2, 4, 4])),
        ("fitted/latent/point", []),
        ("fitted/latent/point/0", np.zeros((6, 3))),
        ("fitted/latent/point/2", np.zeros((6, 3))),
        ("fitted/latent/point/2", None),
        ("fitted/latent/history/value", np.zeros(1)),
        ("fitted/latent/history/value", np.zeros((1, 1))),
        ("fitted/latent/history/evaluations", np.zeros(1)),
        ("fitted/latent/history", {"value": np.zeros(1)}),
        (
            "fitted/latent/history",
            {name: column[:0] for name, column in STATE["fitted"]["latent"]["history"].items()},
        ),
    ],
)
def test_a_state_that_does_not_fit_together(place, value):
    with pytest.raises(ModelFileError) as caught:
        estimator_of(edited(place, value))
    if place.startswith("fitted"):  # a check of its own, not the net below all checks
        assert "cannot be rebuilt" not in str(caught.value)


def test_the_state_that_the_flaws_start_from_is_good():
    assert_alike(estimator_of(STATE), estimator_of(edited("kind", "ILSClassifier")), {"source": X})


def test_domains_of_different_widths_do_not_share_their_columns():
    state = state_of(ILSTransformer(2).fit(X, y, Xt[:, :4], SOME))
    state["fitted"]["shares_features"] = True
    with pytest.raises(ModelFileError, match="share their columns"):
        estimator_of(state)


# -- an estimator that holds another one ---------------------------------------------------------


class Wrapper(Persistent):
    """Scales its columns before the estimator that it holds sees them."""

    _parameter_constraints = {"estimator": [Persistent], "factor": [float]}

    def __init__(self, estimator, factor=1.0):
        self.estimator = estimator
        self.factor = factor

    def fit(self, X, y, Xt):
        self.estimator_ = clone(self.estimator).fit(X * self.factor, y, Xt * self.factor)
        return self

    def predict(self, X):
        return self.estimator_.predict(X * self.factor)

    def _get_state(self):
        return {"estimator": state_of(self.estimator_)}

    def _set_state(self, state):
        self.estimator_ = estimator_of(state["estimator"])


@pytest.fixture
def known(monkeypatch):
    from ilspace.adapters import persistence

    monkeypatch.setattr(persistence, "_KINDS", dict(persistence._KINDS))
    return loadable(Wrapper)


def test_an_estimator_that_holds_another_one(path, known):
    model = known(ILSClassifier(2, tol=0.01), factor=2.0).fit(X, CLASSES["text"][y], Xt)
    model.save(path)
    loaded = ilspace.load(path)
    assert loaded.predict(Xt).tolist() == model.predict(Xt).tolist()
    assert repr(loaded) == repr(model)
    assert_alike(loaded.estimator_, model.estimator_, {"target": Xt})
    with pytest.raises(NotFittedError):
        loaded.estimator.predict(Xt)  # a parameter, and not fitted


def test_a_check_that_a_class_forgot_is_still_the_one_error(known):
    state = state_of(known(ILSClassifier(2)).fit(X, y, Xt))
    with pytest.raises(ModelFileError, match="its Wrapper cannot be rebuilt"):
        estimator_of({**state, "fitted": {}})


def test_a_parameter_that_is_no_plain_data(path, known):
    model = known(ILSClassifier(2)).fit(X, y, Xt)
    model.factor = BaseEstimator()
    with pytest.raises(ValueError, match="out of range"):
        model.save(path)
