"""Estimators on disk: skops files that are audited before anything in them is made.

A skops file is a zip archive: ``schema.json`` says of which types an object is made, and every
array is a file of its own. skops trusts all of scikit-learn, and checks types only. Here the types
are a list, declared sizes are bounded, and what scikit-learn's compiled code would follow without
looking, such as the children of a tree's nodes, is checked.
"""

from __future__ import annotations

import dataclasses
import io
import json
import math
import os
import re
import stat
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import BaseDecisionTree
from sklearn.utils.validation import check_is_fitted

from ilspace.backend import is_foreign, to_numpy
from ilspace.storage import write_whole

FORMAT, PROTOCOL = 3, 2
"""Ours, and that of skops. Files of formats 1 and 2 were no skops files."""

LARGEST, LARGEST_RATIO = 2 * 1024**3, 50
"""Bytes that the contents of a file may take, and how many times its own length."""

_SPARE = 2**25
"""Bytes that the contents of the smallest file may take."""

_MOST_NODES = 500_000
"""Objects that a file may hold."""

_SKLEARN = (
    "LogisticRegression RidgeClassifier SGDClassifier Perceptron LinearSVC PCA TruncatedSVD "
    "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis GaussianNB BernoulliNB MultinomialNB "
    "NearestCentroid KNeighborsClassifier DecisionTreeClassifier "
    "ExtraTreeClassifier RandomForestClassifier ExtraTreesClassifier VotingClassifier Pipeline "
    "HistGradientBoostingClassifier FeatureUnion SimpleImputer StandardScaler MinMaxScaler "
    "MaxAbsScaler RobustScaler Normalizer QuantileTransformer OneHotEncoder OrdinalEncoder "
    "LabelEncoder LabelBinarizer TfidfVectorizer TfidfTransformer HashingVectorizer "
    # and their parts
    "CountVectorizer _BinMapper TreePredictor Interval LogitLink HalfLogitLink MultinomialLogit "
    "HalfBinomialLoss HalfMultinomialLoss"
)
_SKRUB = (
    "TableVectorizer PassThrough ShortReprDict ApplyToCols ApplyToEachCol OnEachColumn "
    "CheckInputDataFrame CleanCategories CleanNullStrings DatetimeEncoder DropUninformative "
    "DropIfTooManyNulls DurationToFloat StringEncoder ToDatetime ToFloat ToFloat32 ToStr "
    "ToCategorical ScalingFactor All And Cols Filter Sub Or Not Inv"
)
_KNOWN = {
    "(Dict|List|Tuple)Node": r"builtins\.(dict|list|tuple)|sklearn\.utils\._bunch\.Bunch",
    "(Object|Tuple)Node": r"ilspace\..+",
    "ObjectNode": "|".join(
        rf"{package}\..+\.({names.replace(' ', '|')})"
        for package, names in (("sklearn", _SKLEARN), ("skrub", _SKRUB))
    ),
    "JsonNode": r"builtins\.str",
    "NdArrayNode": r"numpy\.\w+",
    "DTypeNode": r"numpy\.dtype",
    "TypeNode": r"builtins\.(str|int|float|bool)|numpy\.\w+",
    "FunctionNode": r"skrub\._dataframe\._common\.is_\w+|skrub\.selectors\._selectors\._\w+"
    r"|skrub\._table_vectorizer\._created_by_predicate",
    "LossNode": r"(sklearn\._loss\.)?_loss\.Cy\w+",
    "TreeNode": r"sklearn\.tree\._tree\.Tree",
    "RandomGeneratorNode": r"numpy\.random\.[\w.]+",
    "SparseMatrixNode": r"scipy\.sparse\.[\w.]+",
    "ConstructorFromReduceNode": r"ilspace\.optimizers\.problem\.Status",
}
"""What opens without a word, by the kind of its node: all other types are to be named."""

_OPEN = re.compile("|".join(f"(?:{node} (?:{names}))" for node, names in _KNOWN.items()))

_UNSAVED = {"_metadata_request", "_sklearn_output_config", "_online"}


class ModelFileError(ValueError):
    """A file that is no model, or one that must not be used."""


def save_estimator(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file that :func:`load` reads, all of it or nothing.

    Parameters
    ----------
    estimator : estimator
        Fitted. Tensors of other libraries are saved as NumPy arrays; `callback` and a
        `random_state` that is a generator are not saved, and load as None.
    path : str or path-like
        Where; the folder must exist, and a file that is there is replaced.
    """
    import skops.io

    check_is_fitted(estimator)
    content, about = io.BytesIO(), {"format": FORMAT, "versions": _versions()}
    try:
        skops.io.dump(_portable(estimator, {}), content, compression=zipfile.ZIP_DEFLATED)
    except Exception as error:  # skops has no error of its own for all that it cannot write
        raise TypeError(
            f"A {type(estimator).__name__} must hold what skops can write, but does not "
            f"({' '.join(str(error).split())[:200]}): use another estimator inside it."
        ) from error
    with zipfile.ZipFile(content, "a") as archive:
        archive.comment = json.dumps(about).encode()
    write_whole(Path(path), content.getvalue())


def load(path: str | os.PathLike[str], *, trusted: Sequence[str | type] = ()) -> Any:
    """Load an estimator that its method `save` wrote.

    Files of this package's estimators open without a word, with linear models, forests, boosted
    trees and encoders of scikit-learn and skrub inside them. No code from such a file runs, its
    size is bounded, and what compiled code relies on is checked. Yet a model is only as trustworthy
    as who made it: it may predict whatever its author wanted.

    Parameters
    ----------
    path : str or path-like
        The file.
    trusted : sequence of str or type, default=()
        Further types that may be made, such as ``"sklearn.svm._classes.SVC"``; the error names
        those that a file needs. Nothing of them is checked: a crafted file may then crash the
        process or run code, so name types only for files whose author you know.

    Returns
    -------
    estimator
        Fitted, on NumPy arrays; it predicts the same, bit for bit, as what was saved.

    Raises
    ------
    ModelFileError
        If the file is cut off, changed, too large, of another version, or no model at all; a
        `ValueError`.

    Examples
    --------
    >>> import tempfile, numpy as np, ilspace
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [5.0, 6.0], [6.0, 4.0]])
    >>> clf = ilspace.ILSClassifier(n_components=1).fit(X, ["a", "a", "b", "b"], X + 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clf.save(f"{folder}/model.skops")
    ...     ilspace.load(f"{folder}/model.skops").predict(X + 1)
    array(['a', 'a', 'b', 'b'], dtype='<U1')
    """
    import skops.io

    path, about = Path(path), os.stat(path)
    if not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST:  # a pipe would wait for ever
        raise ModelFileError(f"The model {path} must be a file of at most {LARGEST} bytes.")
    content = path.read_bytes()
    known = {each if isinstance(each, str) else _name(each) for each in trusted}
    with _refusing(path):
        names = _audit(content, known)
        estimator = skops.io.loads(content, trusted=sorted(names))
        is_estimator = isinstance(estimator, BaseEstimator)
        _require(is_estimator, f"it holds a {type(estimator).__name__}")
        check_is_fitted(estimator)
        _check_parts(estimator, set(), known)
        _try_out(estimator)
    return estimator


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong with a file into one error that names it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except Exception as error:
        is_ours = isinstance(error, ModelFileError)
        said = str(error) if is_ours else f"it cannot be read ({type(error).__name__})"
        raise ModelFileError(
            f"The file {path} must be an intact model of ilspace, but {said}: fit and save it "
            "again, or fetch an intact copy."
        ) from error


# -- writing -------------------------------------------------------------------------------------


def _portable(value: Any, made: dict[int, Any]) -> Any:
    """What of an object a file can hold; parts that occur twice stay one."""
    if id(value) in made:
        return made[id(value)][1]
    found, is_ours = value, type(value).__module__.startswith("ilspace.")
    if is_foreign(value):
        found = to_numpy(value)
    elif isinstance(value, tuple | list):
        parts = [_portable(each, made) for each in value]
        found = type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    elif isinstance(value, Mapping) or getattr(value, "ndim", 0) == 1 and hasattr(value, "to_dict"):
        found = {key: _portable(each, made) for key, each in dict(value).items()}
    elif hasattr(value, "iloc"):
        found = np.asarray(value)
    elif isinstance(value, np.random.RandomState | np.random.Generator):
        found = None
    elif is_ours and (isinstance(value, BaseEstimator) or dataclasses.is_dataclass(value)):
        found = copy(value)
        for name, each in vars(value).items():
            vars(found)[name] = None if name == "callback" else _portable(each, made)
        for name in _UNSAVED & vars(found).keys():
            del vars(found)[name]
    made[id(value)] = value, found  # the value too, so that its number is not used again
    return found


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("ilspace", "scikit-learn", "skops")}


# -- reading -------------------------------------------------------------------------------------


def _audit(content: bytes, trusted: set[str]) -> set[str]:
    """Types that an archive names; refuse it where one is unknown, or where it is too large."""
    _require(b"__metadata__" not in content[:64], "an earlier version of ilspace wrote it")
    _require(content.startswith(b"PK\x03\x04"), "it is no archive")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        size = sum(each.file_size for each in members)
        most = min(LARGEST, LARGEST_RATIO * len(content) + _SPARE)
        _require(size <= most, f"its contents would take {size} bytes")
        about, ours = json.loads(archive.comment), _versions()["scikit-learn"]
        _require(about["format"] == FORMAT, f"it is of format {about['format']!r:.20}")
        theirs = str(about["versions"]["scikit-learn"])[:20]
        is_alike = theirs.partition(".")[0] == ours.partition(".")[0]
        _require(is_alike, f"it needs scikit-learn {theirs}, and this is {ours}")
        for each in members:
            if each.filename.endswith(".npy"):
                _check_array(archive, each)
        text = archive.read("schema.json")
        is_small = text.count(b'"__loader__"') <= _MOST_NODES >= text.count(b"[") / 4
        _require(is_small, f"it holds more than {_MOST_NODES} objects")
        schema, names, unknown, told = json.loads(text), set(), set(), defaultdict(list)
        _require(schema["protocol"] == PROTOCOL, "another version of skops wrote it")
        for node in _nodes(schema):
            name, loader = f"{node['__module__']}.{node['__class__']}", node["__loader__"]
            told[node.get("__id__")].append(node)
            names.add(name)
            if not _OPEN.fullmatch(f"{loader} {name}") and name not in trusted:
                unknown.add(name)
            if loader == "NdArrayNode" and node["type"] == "json":
                kinds = {each["__class__"] for each in node["content"]}
                _require(kinds <= {"str", "int64", "float64"}, "it holds an array of objects")
        for node in (each for one in told.values() for each in one if "__reduce__" in each):
            parts = node["__reduce__"]["args"], *node["__reduce__"]["args"]["content"]
            # of nodes with one number skops reads the first alone
            are_so = all(one == each for each in parts for one in told[each["__id__"]])
            _require(are_so, "two objects are one")
            if node["__loader__"] == "TreeNode":
                sizes = np.load(archive.open(parts[2]["file"]))
                shape = (json.loads(parts[3]["content"]),)
                _require(sizes.dtype == np.intp and sizes.shape == shape, "a tree is damaged")
    first = ", ".join(sorted(unknown))[:60]
    _require(
        not unknown, f"it holds {first}, which opens only by ilspace.load(path, trusted=[...])"
    )
    return names


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """What a schema would make."""
    if isinstance(value, dict) and "__loader__" in value:
        yield value
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, dict | list):
            yield from _nodes(each)


def _check_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Refuse an array that says it is longer than its file."""
    with archive.open(member) as stream:
        major = np.lib.format.read_magic(stream)[0]
        read = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
        shape, _, dtype = read[major](stream)
        is_whole = stream.tell() + math.prod(shape) * dtype.itemsize == member.file_size
        is_plain = not dtype.hasobject and (dtype.names is None or len(shape) == 1)
        _require(is_whole and is_plain, f"the array {member.filename:.40} is damaged")


# -- checks of what was made ---------------------------------------------------------------------


def _check_parts(value: Any, seen: set[int], trusted: set[str]) -> None:
    """Check whatever compiled code would follow without looking, in an object and all its parts."""
    if id(value) in seen or _name(type(value)) in trusted:
        return
    seen.add(id(value))
    if isinstance(value, HistGradientBoostingClassifier):
        for each in chain.from_iterable(getattr(value, "_predictors", ())):
            leaf = each.nodes["is_leaf"].astype(bool)
            names = "left", "right", "feature_idx"
            _check_nodes(each.nodes, ~leaf, names, value.n_features_in_)
            _require(not each.nodes["is_categorical"].any(), "a tree splits by category")
    elif isinstance(value, BaseDecisionTree) and hasattr(value, "tree_"):
        _require(value.tree_.node_count == value.tree_.capacity, "a tree is damaged")
        nodes = value.tree_.__getstate__()["nodes"]
        names = "left_child", "right_child", "feature"
        _check_nodes(nodes, nodes["left_child"] != -1, names, value.n_features_in_)
        _require(value.tree_.n_features == value.n_features_in_, "a tree is of other columns")
    elif isinstance(value, KNeighborsClassifier) and hasattr(value, "_fit_X"):
        codes, n = np.asarray(value._y), value._fit_X.shape[0]
        is_plain = value._fit_method == "brute" and value._tree is None
        _require(is_plain and value.n_samples_fit_ == n == len(codes), "neighbors are missing")
        is_code = codes.dtype.kind == "i" and codes.min() >= 0 and codes.max() < len(value.classes_)
        _require(is_code, "neighbors are of no class")
    elif isinstance(value, OneHotEncoder) and hasattr(value, "categories_"):
        dropped = value._drop_idx_after_grouping
        pairs = zip(
            value.categories_, () if dropped is None else dropped, strict=dropped is not None
        )
        are_known = all(each is None or 0 <= each < len(known) for known, each in pairs)
        n_outputs = value._compute_n_features_outs()
        is_whole = not value._infrequent_enabled and list(value._n_features_outs) == n_outputs
        _require(are_known and is_whole, "the categories of an encoder do not agree")
    elif sparse.issparse(value):
        value.check_format(full_check=True)
    places = sorted(getattr(value, "vocabulary_", ()) and value.vocabulary_.values())
    _require(places == [*range(len(places))], "a vocabulary has gaps")
    pattern = CountVectorizer().token_pattern  # another one may take for ever
    _require(getattr(value, "token_pattern", pattern) == pattern, "it has its own pattern of words")
    _require(getattr(value, "n_jobs", None) in (None, 1, -1), "it wants many processes")
    for each in getattr(value, "estimators_", ()):
        if isinstance(each, BaseDecisionTree):
            _require(each.n_features_in_ == value.n_features_in_, "a tree is of other columns")
    parts = value if isinstance(value, Mapping) else getattr(value, "__dict__", {})
    for each in value if isinstance(value, list | tuple) else parts.values():
        if not isinstance(each, np.ndarray | np.generic | str | type):
            _check_parts(each, seen, trusted)


def _check_nodes(
    nodes: np.ndarray, inner: np.ndarray, names: tuple[str, str, str], n_features: int
) -> None:
    """Refuse a tree whose walk would leave it, or never end."""
    left, right, features = (nodes[each][inner].astype(np.int64) for each in names)
    children, places = np.stack([left, right]), np.flatnonzero(inner)
    goes_down = (children > places).all() and (children < len(nodes)).all()
    has_columns = (features >= 0).all() and (features < n_features).all()
    _require(len(nodes) and goes_down and has_columns, "a tree is damaged")


def _require(holds: Any, flaw: str) -> None:
    if not holds:
        raise ModelFileError(flaw)


def _try_out(estimator: Any) -> None:
    """Let a model answer for a row, in which whatever does not fit together shows."""
    name = next(each for each in ("predict", "transform") if hasattr(estimator, each))
    if hasattr(estimator, "plan_"):
        import pandas as pd

        rows: Any = pd.DataFrame(
            {each: [None, None] for each in estimator.plan_.target}, dtype=object
        )
    else:
        width = getattr(estimator, "n_target_features_in_", estimator.n_features_in_)
        _require(type(width) is int and 0 < width <= 10**8, "it has no columns")
        rows = np.eye(2, width)
    try:
        getattr(estimator, name)(rows)
    except Exception as error:
        raise ModelFileError("its parts do not fit together") from error


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
