"""Estimators on disk, as plain data that is checked and never executed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ilspace.backend import is_foreign, to_numpy
from ilspace.storage import (
    ModelFileError,
    check_keys,
    entry,
    naming_file,
    read_model,
    write_model,
)


class Persistent(BaseEstimator):
    """Base of estimators that can be saved to a file.

    A class says in :meth:`_get_state` what its fit learned, and takes it back in
    :meth:`_set_state`; :func:`loadable` lets :func:`load` find it.
    """

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file that :func:`ilspace.load` reads.

        The file is a safetensors file, with what are no arrays as JSON in its metadata. It holds
        the parameters and what `fit` learned, bit for bit; not `callback`, nor a `random_state`
        that is a generator (both load as None), nor what `set_output` and the metadata requests
        were told. Tensors of other libraries are saved, and load, as NumPy arrays. The file is
        written whole or not at all: a previous one stays until the new one is complete.

        Parameters
        ----------
        path : str or path-like
            Where; the folder must exist, and a file that is there is replaced.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        """
        state = state_of(self)
        estimator_of(state)  # what could not be loaded is not saved
        write_model(Path(path), state, kind=state.pop("kind"), training=self._training())

    def _get_state(self) -> dict[str, Any]:
        """What fit learned, as plain data: see :func:`ilspace.storage.write_model`."""
        raise NotImplementedError

    def _set_state(self, state: dict[str, Any]) -> None:
        """Take back what fit learned; anything odd in it is a :class:`ModelFileError`."""
        raise NotImplementedError

    def _training(self) -> dict[str, Any]:
        """What the estimator was trained on, for those who look at the file."""
        return {}

    def _get_parameters(self) -> dict[str, Any]:
        """Parameters to save: plain data, and other estimators that can be saved."""
        parameters = self.get_params(deep=False)
        return {
            name: None if name == "callback" else _plain(each) for name, each in parameters.items()
        }


_KINDS: dict[str, type[Persistent]] = {}
"""Classes that a file may name; filled as the modules of the package are imported."""

_Kind = TypeVar("_Kind", bound=type[Persistent])


def loadable(kind: _Kind) -> _Kind:
    """Let files name a class; a decorator.

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
        If the file is cut off, changed, of a later version, or no model at all; a `ValueError`.

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


def state_of(estimator: Persistent) -> dict[str, Any]:
    """A fitted estimator as plain data, for the state of an estimator that holds it.

    Parameters
    ----------
    estimator : Persistent
        Fitted, of a class that is :func:`loadable`.

    Returns
    -------
    dict
        For :func:`estimator_of`.
    """
    check_is_fitted(estimator)
    return {**_template_of(estimator), "fitted": estimator._get_state()}


def estimator_of(state: dict[str, Any]) -> Any:
    """A fitted estimator from plain data.

    Parameters
    ----------
    state : dict
        From :func:`state_of`, or from anywhere: it is checked.

    Returns
    -------
    estimator
        Fitted.
    """
    check_keys(state, ("kind", "parameters", "estimators", "fitted"))
    fitted = entry(state, "fitted", dict)
    estimator = _estimator_from({key: each for key, each in state.items() if key != "fitted"})
    try:
        estimator._set_state(fitted)
    except ModelFileError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # a check that a class forgot; the caller is still to meet one kind of error only
        raise ModelFileError(
            f"its {type(estimator).__name__} cannot be rebuilt ({str(error)[:300]})"
        ) from error
    return estimator


def _template_of(estimator: Persistent) -> dict[str, Any]:
    """An estimator as plain data, without what its fit learned."""
    kind = type(estimator)
    if _KINDS.get(kind.__name__) is not kind:
        raise TypeError(
            f"Only estimators of known classes ({', '.join(sorted(_KINDS))}) can be saved, but "
            f"this is a {kind.__name__}: decorate its class with "
            "ilspace.adapters.persistence.loadable."
        )
    parameters = estimator._get_parameters()
    inner = {name: each for name, each in parameters.items() if isinstance(each, Persistent)}
    return {
        "kind": kind.__name__,
        "parameters": {name: each for name, each in parameters.items() if name not in inner},
        "estimators": {name: _template_of(each) for name, each in inner.items()},
    }


def _estimator_from(template: Any) -> Persistent:
    """An estimator that is not fitted, with parameters of the kinds its class allows."""
    check_keys(template, ("kind", "parameters", "estimators"))
    name = entry(template, "kind", str)
    kind = _KINDS.get(name)
    if kind is None:
        raise ModelFileError(
            f"it holds a {name[:60]!r}, and known are {', '.join(sorted(_KINDS))}",
            remedy="upgrade ilspace, or import the module that defines it",
        )
    parameters = entry(template, "parameters", dict)
    inner = entry(template, "estimators", dict)
    unknown = (parameters.keys() | inner.keys()) - set(kind._get_param_names())
    if unknown or parameters.keys() & inner.keys():
        raise ModelFileError(f"its {name} has the parameters {sorted(unknown)}, or some twice")
    estimator = kind(**parameters, **{key: _estimator_from(each) for key, each in inner.items()})
    try:
        estimator._validate_params()
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ModelFileError(f"a parameter is out of range ({str(error)[:300]})") from error
    return estimator


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
