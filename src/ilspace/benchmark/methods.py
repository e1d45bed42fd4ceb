"""Methods of a benchmark: built from their names, and described by a digest."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ilspace import baselines, estimators
from ilspace.benchmark.field.constant import ConstantAnswer
from ilspace.benchmark.learned_basis import LearnedBasis
from ilspace.benchmark.oracle import OracleSearch
from ilspace.benchmark.plan_entries import PlanError
from ilspace.benchmark.plans import Cell, Method
from ilspace.benchmark.tasks import Task
from ilspace.ils import ObjectiveSettings
from ilspace.selection import LabelFreeSearch
from ilspace.tables import TableClassifier

NOT_PART_OF_METHOD = frozenset({"verbose", "callback", "n_jobs"})
"""Parameters that do not change the results."""


def standardized_logistic_regression() -> Pipeline:
    """Logistic regression on standardized columns, missing numbers filled with means.

    Returns
    -------
    Pipeline
        Not fitted.
    """
    return make_pipeline(
        SimpleImputer(keep_empty_features=True), StandardScaler(), LogisticRegression(max_iter=1000)
    )


KINDS = {
    **{name: getattr(estimators, name) for name in estimators.__all__},
    **{name: getattr(baselines, name) for name in baselines.__all__},
    "TableClassifier": TableClassifier,
    "ConstantAnswer": ConstantAnswer,
    "HistGradientBoostingClassifier": HistGradientBoostingClassifier,
    "StandardizedLogisticRegression": standardized_logistic_regression,
}
"""Classes by the names that plans use."""


def make_estimator(name: str, parameters: dict[str, Any], seed: int | None) -> Any:
    """Make an estimator from its name.

    Parameters
    ----------
    name : str
        One of `KINDS`, a class of `ilspace`, `ilspace.baselines` or `ilspace.tables`, or a
        classmethod such as ``"ILSClassifier.as_in_paper"``.
    parameters : dict
        Its parameters, also nested ones such as ``objective__trade_off``; ``"None"`` is None,
        ``source_basis="ils"`` is the basis that ILS learns, and a table with the entry `estimator`,
        and perhaps `parameters`, is another estimator.
    seed : int or None
        Value of `random_state`, where it has one that is not given.

    Returns
    -------
    estimator
        Not fitted.
    """
    kind_name, _, maker = name.partition(".")
    if kind_name not in KINDS:
        raise PlanError(f"There is no estimator {name!r}; there are {', '.join(KINDS)}.")
    kind = KINDS[kind_name]
    parameters = {
        k: None if isinstance(v, str) and v == "None" else _inner(v, seed)
        for k, v in parameters.items()
    }
    nested = {key: each for key, each in parameters.items() if "__" in key}
    direct = {key: each for key, each in parameters.items() if key not in nested}
    try:
        estimator = (getattr(kind, maker) if maker else kind)(**direct)
        _spell_out(estimator).set_params(**nested)
    except AttributeError:
        raise PlanError(f"{kind_name} has no maker {maker!r}: correct it in the plan.") from None
    except (TypeError, ValueError) as error:
        raise PlanError(
            f"The parameters of {name} must be among {', '.join(kind().get_params())}, but are "
            f"{', '.join(parameters)}: correct them in the plan ({error})."
        ) from None
    basis = parameters.get("source_basis")
    if isinstance(basis, str) and basis == "ils":
        return LearnedBasis(estimator)
    if "random_state" in estimator.get_params() and "random_state" not in parameters:
        estimator.set_params(random_state=seed)
    return estimator


def _inner(value: Any, seed: int | None) -> Any:
    """An estimator where a parameter describes one; else the value."""
    if not isinstance(value, Mapping) or "estimator" not in value:
        return value
    return make_estimator(value["estimator"], dict(value.get("parameters", {})), seed)


def _spell_out(estimator: Any) -> Any:
    """Make an objective of default settings one of its own, so that they are described."""
    if getattr(estimator, "objective", "none") is None:
        estimator.set_params(objective=ObjectiveSettings())
    return estimator


def make_method(method: Method | Cell, seed: int | None, hidden: Any = None) -> Any:
    """Make the estimator of a cell, within its parameter search if any.

    Parameters
    ----------
    method : Method or Cell
        What to make.
    seed : int or None
        Value of `random_state`, where the plan gives none.
    hidden : tuple of X, y, optional
        Target rows and their true labels; needed to fit a method whose selection is ``"oracle"``.

    Returns
    -------
    estimator
        Not fitted.
    """
    estimator = make_estimator(method.estimator, dict(method.parameters), seed)
    if method.selection == "label-free":
        search = LabelFreeSearch(estimator, dict(method.grid), random_state=seed)
        return search.set_params(criteria=list(search.choose_by))  # the others would not be used
    if method.selection == "oracle":
        return OracleSearch(estimator, dict(method.grid), hidden)
    return estimator


def describe_method(method: Method | Cell) -> dict[str, Any]:
    """Description of all that determines the results of a method for given data and seed.

    Parameters
    ----------
    method : Method or Cell
        The method.

    Returns
    -------
    dict
        Plain data for JSON: name of the class, revision and resolved parameters, defaults
        included; the same again for each estimator among the parameters, and for the parts that an
        estimator makes for itself. The revision is the sum
        of the attributes `_revision` of the class and its bases, so that raising any one counts.
        Of scikit-learn's estimators those that differ from their defaults, of which another version
        has more.
        Parameters that do not change the results, and the seed of a cell, are left out; a
        `random_state` given by the plan is not.
    """
    return _described(make_method(method, None))


def method_digest(description: Mapping[str, Any]) -> str:
    """Digest of a description.

    Parameters
    ----------
    description : mapping
        What :func:`describe_method` returns.

    Returns
    -------
    str
        The first 16 hexadecimal digits of the SHA-256 of the description as JSON with sorted keys
        and without spaces.
    """
    text = json.dumps(description, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def check_digest(cell: Task) -> None:
    """Refuse a cell whose method differs from that of the plan.

    Parameters
    ----------
    cell : Task
        A cell to run.
    """
    here = method_digest(cell.describe())
    if here != cell.digest:
        name = cell.as_dict()["method"]
        raise PlanError(
            f"{name} must be the method of digest {cell.digest} that the plan asks for, but is one "
            f"of digest {here} where it runs: install the same version of ilspace on all workers."
        )


def _parts(estimator: Any) -> list[Any]:
    """Estimators that one makes for itself: their defaults and revisions count as its own.

    A class says which they are by a method `_method_parts`, which returns them unfitted.
    """
    if isinstance(estimator, TableClassifier) and isinstance(estimator.method, str):
        name = "ILSClassifier" if estimator.method in ("auto", "ils") else estimator.method
        return [KINDS[name]()] if name in KINDS else []
    if hasattr(estimator, "_method_parts"):
        return list(estimator._method_parts())
    return []


def _is_default(estimator: Any, name: str, value: Any) -> bool:
    """Tell whether a parameter has its default."""
    default = inspect.signature(type(estimator)).parameters[name].default
    return type(value) is type(default) and value == default


def _described(value: Any) -> Any:
    """Value of a parameter as plain data.

    An integer and a float of the same value remain different, as they are to scikit-learn.
    """
    if hasattr(value, "get_params") and not isinstance(value, type):
        is_of_sklearn = type(value).__module__.startswith("sklearn.")
        parameters = {
            name: _described(each)
            for name, each in value.get_params(deep=False).items()
            if name not in NOT_PART_OF_METHOD and not (name == "random_state" and each is None)
            if not (
                (is_of_sklearn or name in getattr(value, "_came_later", ()))
                and _is_default(value, name, each)
            )
        }
        revision = sum(vars(each).get("_revision", 0) for each in type(value).__mro__)
        name = type(value).__name__
        described = {"estimator": name, "revision": revision, "parameters": parameters}
        parts = [_described(_spell_out(each)) for each in _parts(value)]
        return described | {"parts": parts} if parts else described
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): _described(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_described(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)  # JSON has no such number
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise PlanError(
        "A parameter of a benchmarked method must be a number, a string, an array, an estimator, "
        f"or a list or mapping of these, but one is a {type(value).__name__}: choose one of these, "
        "so that a change of it is noticed."
    )
