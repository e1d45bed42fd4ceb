"""Estimators on disk, as plain data that is checked and never executed."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ilspace.backend import is_foreign, to_numpy
from ilspace.storage import ModelFileError, naming_file, read_model, write_model
from ilspace.storage.schema import Field, Place, Value, pack, unpack

_TEMPLATE = {"kind": Value(str), "parameters": Value(dict), "estimators": Value(dict)}
"""An estimator that is not fitted: parameters, and those of them that are estimators."""


def save_estimator(
    estimator: Any, path: str | os.PathLike[str], *, training: dict[str, Any] | None = None
) -> None:
    """Write a fitted estimator to a file that :func:`load` reads.

    Parameters
    ----------
    estimator : estimator
        Fitted, of a class that is :func:`loadable`.
    path : str or path-like
        Where; the folder must exist, and a file that is there is replaced.
    training : dict, optional
        What it was trained on, for those who look at the file.
    """
    state = state_of(estimator)
    estimator_of(state)  # what could not be loaded is not saved
    write_model(Path(path), state, kind=state.pop("kind"), training=training or {})


_KINDS: dict[str, type[BaseEstimator]] = {}
"""Classes that a file may name; filled as the modules of the package are imported."""

_Kind = TypeVar("_Kind", bound=type[BaseEstimator])


def loadable(kind: _Kind) -> _Kind:
    """Let files name a class; a decorator.

    A class declares in ``_schema`` what its fit learned, in the words of
    :mod:`ilspace.storage.schema`. Its method ``_restored``, if it has one, is called when all of
    this is set: it completes what is not in a file, and refuses what does not agree by a
    :class:`~ilspace.storage.ModelFileError`. A class of settings, which is not fitted, needs
    neither.

    Subclasses are not included: a file of theirs would load as what it is not. A class that is
    made again, as a module is reloaded, takes the place of the one before.

    Parameters
    ----------
    kind : type
        The class.

    Returns
    -------
    type
        The same.
    """
    known = _KINDS.get(kind.__name__, kind)
    if (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        raise ValueError(
            f"A kind of model must have a name of its own, but {kind.__name__} is taken."
        )
    _KINDS[kind.__name__] = kind
    return kind


def load(path: str | os.PathLike[str]):
    """Load an estimator that its method `save` wrote.

    No code from the file runs, and all of it is checked. What loads predicts the same, bit for
    bit, as what was saved. Yet a model is only as trustworthy as who made it: its checksum finds
    accidents, not forgers.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator
        Fitted, on NumPy arrays.

    Raises
    ------
    ModelFileError
        If the file is cut off, changed, of another format version, or no model at all; a
        `ValueError`.

    Examples
    --------
    >>> import tempfile, numpy as np, ilspace
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [5.0, 6.0], [6.0, 4.0]])
    >>> clf = ilspace.ILSClassifier(n_components=1).fit(X, ["a", "a", "b", "b"], X + 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clf.save(f"{folder}/model.safetensors")
    ...     ilspace.load(f"{folder}/model.safetensors").predict(X + 1)
    array(['a', 'a', 'b', 'b'], dtype='<U1')
    """
    path = Path(path)
    kind, state = read_model(path)
    with naming_file(path):
        return estimator_of({**state, "kind": kind})


def state_of(estimator: Any) -> dict[str, Any]:
    """A fitted estimator as plain data, for the state of an estimator that holds it.

    Parameters
    ----------
    estimator : estimator
        Fitted, of a class that is :func:`loadable`.

    Returns
    -------
    dict
        For :func:`estimator_of`.
    """
    check_is_fitted(estimator)
    return {**_template_of(estimator), "fitted": pack(estimator._schema, estimator)}


def estimator_of(state: Any, path: str = "") -> Any:
    """A fitted estimator from plain data.

    Parameters
    ----------
    state : dict
        From :func:`state_of`, or from anywhere: it is checked.
    path : str, default=""
        Entry of the file that it is, for errors; empty where it is all of it.

    Returns
    -------
    estimator
        Fitted.
    """
    place = Place(path)
    state = unpack({**_TEMPLATE, "fitted": Value(dict)}, state, place)
    fitted = state.pop("fitted")
    estimator = _estimator_from(state)
    if not hasattr(estimator, "_schema"):
        raise ModelFileError(f"its {type(estimator).__name__} is nothing that is fitted")
    try:
        vars(estimator).update(unpack(estimator._schema, fitted, place))
        getattr(estimator, "_restored", lambda: None)()
    except ModelFileError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # a check that a class forgot; the caller is still to meet one kind of error only
        raise ModelFileError(
            f"its {type(estimator).__name__} cannot be rebuilt ({str(error)[:300]})"
        ) from error
    return estimator


@dataclass(frozen=True)
class Fitted(Field):
    """A field of a schema: a fitted estimator that another one holds.

    Attributes
    ----------
    kind : type
        Its class, :func:`loadable`, or one that its class inherits from.
    sizes : dict of str to str
        Symbols for attributes of it that are numbers.
    """

    kind: type
    sizes: dict[str, str] = field(default_factory=dict)

    def _pack(self, value):
        return state_of(value)

    def _parse(self, data, place):
        estimator = estimator_of(data, place.path)
        if not isinstance(estimator, self.kind):
            place.refuse(f"be a {self.kind.__name__}", f"is a {type(estimator).__name__}")
        for name, symbol in self.sizes.items():
            met = getattr(estimator, name)
            if place.symbol(symbol, met) != met:
                place.refuse(f"have {name}={place.symbol(symbol, met)}", f"has {met}")
        return estimator


def training_record(model: Any) -> dict[str, Any]:
    """What tells one fit from another: sizes, and a digest of what was learned, not of the data.

    Parameters
    ----------
    model : ILSTransformer
        Fitted.

    Returns
    -------
    dict
        Rows, columns and labelled rows per class of each domain, and a fingerprint.
    """
    check_is_fitted(model)
    ils, digest = model.map_, hashlib.sha256()
    for learned in zip(model._class_counts, ils.means, ils.maps, strict=True):
        for each in learned:
            digest.update(np.ascontiguousarray(to_numpy(each)).tobytes())
    if ils.dictionary is not None:
        digest.update(np.ascontiguousarray(to_numpy(ils.dictionary.atoms)).tobytes())
    return {
        "rows": list(model._n_rows),
        "columns": [mean.shape[0] for mean in ils.means],
        "labelled": [counts.tolist() for counts in model._class_counts],
        "fingerprint": digest.hexdigest(),
    }


def _template_of(estimator: Any) -> dict[str, Any]:
    """An estimator as plain data, without what its fit learned."""
    kind = type(estimator)
    if _KINDS.get(kind.__name__) is not kind:
        raise TypeError(
            f"Only estimators of known classes ({', '.join(sorted(_KINDS))}) can be saved, but "
            f"this is a {kind.__name__}: decorate its class with "
            "ilspace.estimators.persistence.loadable."
        )
    parameters = _parameters_of(estimator)
    inner = {name: each for name, each in parameters.items() if type(each) in _KINDS.values()}
    return {
        "kind": kind.__name__,
        "parameters": {name: each for name, each in parameters.items() if name not in inner},
        "estimators": {name: _template_of(each) for name, each in inner.items()},
    }


def _estimator_from(template: Any) -> Any:
    """An estimator that is not fitted, with parameters of the kinds its class allows."""
    name, parameters, inner = unpack(_TEMPLATE, template).values()
    kind = _KINDS.get(name)
    if kind is None:
        raise ModelFileError(
            f"it holds a {name[:60]!r}, and known are {', '.join(sorted(_KINDS))}",
            remedy="upgrade ilspace, or import the module that defines it",
        )
    unknown = sorted((parameters.keys() | inner.keys()) - set(kind._get_param_names()))
    if unknown:
        raise ModelFileError(
            f"it was written by another version of ilspace, whose {name} has the parameters "
            f"{', '.join(unknown)[:200]}",
            remedy="fit again, or adapt again",
        )
    if parameters.keys() & inner.keys():
        raise ModelFileError(f"its {name} has some parameters twice")
    estimator = kind(**parameters, **{key: _estimator_from(each) for key, each in inner.items()})
    try:
        estimator._validate_params()
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ModelFileError(f"a parameter is out of range ({str(error)[:300]})") from error
    return estimator


def _parameters_of(estimator: BaseEstimator) -> dict[str, Any]:
    """Parameters to save: plain data, and other estimators that can be saved."""
    saved = getattr(estimator, "_saved_parameters", lambda: estimator.get_params(deep=False))()
    return {name: None if name == "callback" else _plain(each) for name, each in saved.items()}


def _plain(value: Any) -> Any:
    """A parameter as plain data where that is possible."""
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return None
    if is_foreign(value):
        return to_numpy(value)
    if isinstance(value, list | tuple):
        items = [_plain(each) for each in value]
        return items if isinstance(value, list) else tuple(items)
    if hasattr(value, "__array__") and not isinstance(value, np.ndarray | np.generic):
        return np.asarray(value)  # a DataFrame
    return value
