"""Estimators that are saved and loaded are the same, and nothing else is loaded."""

import errno
import io
import json
import os
import subprocess
import sys
import zipfile
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy import sparse
from shifted import shifted
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import ilspace
from ilspace import ILSClassifier, ILSTransformer, ObjectiveSettings, baselines
from ilspace.estimators import saving
from ilspace.estimators.saving import ModelFileError

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
        if not hasattr(value, "fit"):
            assert repr(getattr(met, name)) == repr(value), name
        if isinstance(value, np.ndarray):
            assert getattr(met, name).tobytes() == value.tobytes() or value.dtype == object
            assert getattr(met, name).dtype == value.dtype
            assert getattr(met, name).flags.writeable


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


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


def test_slacks_come_back(path):
    model = ILSTransformer.as_in_paper(2, tol=0.5, random_state=0).fit(X, y, Xt)
    model.save(path)
    slacks = ilspace.load(path).solution_.point[3:]
    assert len(slacks) == 1
    assert slacks[0].tobytes() == model.solution_.point[3].tobytes()


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


def test_a_missing_folder(path):
    with pytest.raises(FileNotFoundError, match="must exist"):
        ILSClassifier(2).fit(X, y, Xt).save(path / "model")


# -- whatever is public --------------------------------------------------------------------------


@pytest.mark.parametrize("name", baselines.__all__)
def test_all_baselines_are_saved(path, name):
    model = getattr(baselines, name)()
    model.fit(X, y, Xt, SOME)
    model.save(path)
    loaded = ilspace.load(path)
    method = "predict" if hasattr(model, "predict") else "transform"
    np.testing.assert_array_equal(getattr(loaded, method)(Xt), getattr(model, method)(Xt))


@pytest.mark.parametrize(
    "classifier",
    [
        LogisticRegression(),
        GaussianNB(),
        KNeighborsClassifier(algorithm="brute"),
        ExtraTreesClassifier(5, random_state=0),
        HistGradientBoostingClassifier(max_iter=3, random_state=0),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=lambda each: type(each).__name__,
)
def test_classifiers_of_scikit_learn_inside(path, classifier):
    model = ILSClassifier(2, classifier=classifier, self_training=0).fit(X, y, Xt)
    model.save(path)
    np.testing.assert_array_equal(ilspace.load(path).predict_proba(Xt), model.predict_proba(Xt))


def test_what_is_not_listed_opens_only_if_it_is_trusted(path):
    model = ILSClassifier(2, classifier=SVC(), self_training=0).fit(X, y, Xt)
    model.save(path)
    with pytest.raises(ModelFileError, match=r"holds sklearn.svm._classes.SVC, which opens only"):
        ilspace.load(path)
    for trusted in ("sklearn.svm._classes.SVC", SVC):
        loaded = ilspace.load(path, trusted=[trusted])
        np.testing.assert_array_equal(loaded.predict(Xt), model.predict(Xt))


def test_a_subclass_is_not_taken_for_its_parent(path):
    Mine(2).fit(X, y, Xt).save(path)
    with pytest.raises(ModelFileError, match="Mine, which opens only"):
        ilspace.load(path)


class Mine(ILSClassifier):
    pass


def test_what_skops_cannot_write_is_not_saved(path):
    model = ILSClassifier(2, classifier=Opaque(), self_training=0).fit(X, y, Xt)
    with pytest.raises(TypeError, match="ILSClassifier must hold what skops can write") as caught:
        model.save(path)
    assert "\n" not in str(caught.value)
    assert not path.exists()


class Opaque(GaussianNB):
    def fit(self, X, y, sample_weight=None):
        self.secret_ = (each for each in ())
        return super().fit(X, y, sample_weight)


# -- files that are none -------------------------------------------------------------------------


def rewritten(path, *, schema=None, arrays=None, about=None):
    """Write a file anew with other parts."""
    content = io.BytesIO(path.read_bytes())
    with zipfile.ZipFile(content) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            part = old.read(name)
            if name == "schema.json" and schema is not None:
                found = json.loads(part)
                part = json.dumps(schema(found) or found).encode()
            elif name.endswith(".npy") and arrays is not None:
                output = io.BytesIO()
                np.save(output, arrays(np.load(io.BytesIO(part))))
                part = output.getvalue()
            new.writestr(name, part)
        told = json.loads(old.comment)
        new.comment = json.dumps(told if about is None else about(told)).encode()


@pytest.fixture
def saved(path):
    ILSClassifier(2, self_training=0, classifier="linear").fit(X, y, Xt).save(path)
    return path


def refused(path, message):
    with pytest.raises(ModelFileError, match=message) as caught:
        ilspace.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value).replace(str(path), "")) <= 200


def test_what_is_no_archive(path):
    for content in (b"", b"PK\x03\x04", b"some text", bytes(1000)):
        path.write_bytes(content)
        refused(path, "intact model")


def test_files_of_the_earlier_kind(path):
    header = json.dumps({"__metadata__": {"format": "ilspace-model"}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    refused(path, "an earlier version of ilspace wrote it")


def test_another_format_and_another_major_version_of_scikit_learn(saved):
    rewritten(saved, about=lambda told: told | {"format": 4})
    refused(saved, "is of format 4")
    theirs = {"scikit-learn": "2.0.1"}
    rewritten(saved, about=lambda told: {"format": 3, "versions": told["versions"] | theirs})
    refused(saved, r"needs scikit-learn 2\.0\.1, and this is")


def test_an_archive_of_another_skops_protocol(saved):
    rewritten(saved, schema=lambda found: found | {"protocol": 0})
    refused(saved, "another version of skops")


def test_something_else_that_skops_wrote(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", "{}")
    refused(path, "intact model")
    save_as(LogisticRegression().fit(X, y).coef_, path)
    refused(path, "holds a ndarray")
    save_as(LogisticRegression(), path)
    refused(path, "NotFittedError")


def save_as(value, path):
    """Write anything as a model file."""
    content = io.BytesIO()
    skops.io.dump(value, content, compression=zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(content, "a") as archive:
        versions = saving._versions()
        archive.comment = json.dumps({"format": 3, "versions": versions}).encode()
    path.write_bytes(content.getvalue())


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="must be a file"):
        ilspace.load(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        ilspace.load(tmp_path / "nothing")


def test_contents_far_larger_than_the_file(saved):
    with zipfile.ZipFile(saved, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.bin", bytes(2**26))
    assert saved.stat().st_size < 2**17
    refused(saved, "contents would take")


def test_more_objects_than_a_model_has(saved, monkeypatch):
    monkeypatch.setattr(saving, "_MOST_NODES", 1_000)
    rewritten(saved, schema=lambda found: found | {"x": [[]] * 5_000})
    refused(saved, "more than 1000 objects")


def test_a_list_within_a_list_without_end(saved):
    text = b"[" * 100_000 + b"]" * 100_000
    content = io.BytesIO(saved.read_bytes())
    with zipfile.ZipFile(content) as old, zipfile.ZipFile(saved, "w") as new:
        new.comment = old.comment
        new.writestr("schema.json", text)
    refused(saved, "cannot be read")


def test_an_array_that_says_it_is_longer_than_its_file(saved):
    content = io.BytesIO(saved.read_bytes())
    with zipfile.ZipFile(content) as old, zipfile.ZipFile(saved, "w") as new:
        new.comment = old.comment
        for name in old.namelist():
            part = old.read(name)
            if name.endswith(".npy"):
                header = io.BytesIO()
                about = {"descr": "<f8", "fortran_order": False, "shape": (10**11,)}
                np.lib.format.write_array_header_1_0(header, about)
                part = header.getvalue() + bytes(80)
            new.writestr(name, part)
    refused(saved, r"the array .*\.npy is damaged")


def test_names_of_functions_and_modules_are_not_followed(saved):
    def rename(found):
        found["content"]["content"]["tol"] = {
            "__class__": "system",
            "__module__": "os",
            "__loader__": "FunctionNode",
            "__id__": 1,
        }

    rewritten(saved, schema=rename)
    refused(saved, r"holds os.system, which opens only")


def test_parts_that_do_not_fit_together(saved):
    rewritten(saved, arrays=lambda each: each[:1])
    refused(saved, "do not fit together|cannot be read")


# -- what compiled code would follow -------------------------------------------------------------


def wrapped(model, path):
    """Save a model with another inside."""
    fitted = ILSClassifier(2, self_training=0, classifier="linear").fit(X, y, Xt)
    fitted.other_ = model
    save_as(fitted, path)


def edited_tree(change):
    trees = ExtraTreesClassifier(3, random_state=0).fit(X, y)
    tree = trees.estimators_[1]
    state = deepcopy(tree.tree_.__getstate__())
    change(state["nodes"])
    fresh = type(tree.tree_)(6, np.array([3], dtype=np.intp), 1)
    fresh.__setstate__(state)
    tree.tree_ = fresh
    return trees


def set_to(field, place, value):
    def change(nodes):
        nodes[field][place] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        set_to("left_child", 0, 0),  # never ends
        set_to("right_child", 2, 1),
        set_to("left_child", 0, 10**9),
        set_to("right_child", 0, -7),
        set_to("feature", 0, 6),
        set_to("feature", 0, -(10**9)),
    ],
)
def test_trees_that_lead_elsewhere(path, change):
    wrapped(edited_tree(lambda nodes: None), path)
    ilspace.load(path)
    wrapped(edited_tree(change), path)
    refused(path, "a tree is damaged")


@pytest.mark.parametrize(
    "change",
    [
        set_to("left", 0, 0),
        set_to("right", 0, 10**6),
        set_to("feature_idx", 0, 6),
        set_to("is_categorical", 0, 1),
    ],
)
def test_boosted_trees_that_lead_elsewhere(path, change):
    model = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=3).fit(X, y)
    wrapped(model, path)
    ilspace.load(path)
    change(model._predictors[1][0].nodes)
    wrapped(model, path)
    refused(path, "a tree (is damaged|splits by category)")


def test_trees_of_other_columns_than_their_forest(path):
    trees = ExtraTreesClassifier(2, random_state=0).fit(X, y)
    trees.estimators_[0] = ExtraTreesClassifier(1).fit(np.c_[X, X], y).estimators_[0]
    wrapped(trees, path)
    refused(path, "a tree is of other columns")


def edited_neighbors(**state):
    model = KNeighborsClassifier(2, algorithm="brute").fit(X, y)
    vars(model).update(state)
    return model


@pytest.mark.parametrize(
    "model",
    [
        edited_neighbors(n_samples_fit_=10**6),
        edited_neighbors(_y=np.full(len(X), 3)),
        edited_neighbors(_y=y[:5]),
        edited_neighbors(_fit_X=X[:5]),
    ],
)
def test_neighbors_that_are_not_there(path, model):
    wrapped(model, path)
    refused(path, "neighbors are")


def test_encoders_that_would_write_elsewhere(path):
    encoder = OneHotEncoder(sparse_output=False).fit(np.array([["a"], ["b"], ["c"]]))
    encoder._n_features_outs = [1]
    wrapped(encoder, path)
    refused(path, "categories of an encoder")
    encoder = OneHotEncoder(sparse_output=False, drop=["a"]).fit(np.array([["a"], ["b"]]))
    encoder._drop_idx_after_grouping = np.array([-9], dtype=object)
    wrapped(encoder, path)
    refused(path, "categories of an encoder")


def test_vocabularies_with_gaps_and_patterns_without_end(path):
    texts = TfidfVectorizer().fit(["one two", "two three"])
    wrapped(texts, path)
    ilspace.load(path)
    texts.vocabulary_["two"] = 10**9
    wrapped(texts, path)
    refused(path, "vocabulary has gaps")
    wrapped(TfidfVectorizer(token_pattern=r"(a+)+$").fit(["aa aa"]), path)
    refused(path, "pattern of words")


def test_sparse_rows_whose_columns_are_not_there(path):
    rows = sparse.csr_array(X)
    rows.indices[3] = 10**8
    wrapped(edited_neighbors(_fit_X=rows), path)
    refused(path, "cannot be read|do not fit")


def test_many_processes(path):
    wrapped(KNeighborsClassifier(algorithm="brute", n_jobs=10**6).fit(X, y), path)
    refused(path, "many processes")
