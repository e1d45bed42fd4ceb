"""What a file holds of a fitted ILS estimator, and what must agree in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ilspace.ils import ObjectiveSettings
from ilspace.ils.map import MAP
from ilspace.optimizers import STOCHASTIC_SOLVERS
from ilspace.rules.class_prior import ESTIMATE
from ilspace.storage import ModelFileError
from ilspace.storage.schema import NOT_EMPTY, POSITIVE, ArrayOf, Check, Each, Optional, Value


def _are_classes(labels: np.ndarray) -> bool:
    """Tell whether labels are two or more, sorted and distinct."""
    try:
        return len(labels) > 1 and np.array_equal(np.unique(labels), labels)
    except TypeError:  # objects that have no order
        return False


_ARE_STRINGS = Check("hold strings", lambda names: all(isinstance(each, str) for each in names))
_SHARES = Check("lie between 0 and 1", lambda shares: np.all((shares >= 0) & (shares <= 1)))

FITTED = {
    "classes_": ArrayOf(
        ("c",),
        kinds="biufUO",
        check=Check("be two or more labels, sorted and distinct", _are_classes),
    ),
    "map_": MAP,
    "feature_names_in_": Optional(ArrayOf(("d0",), kinds="O", check=_ARE_STRINGS)),
    "target_feature_names_in_": Optional(ArrayOf(("t",), kinds="O", check=_ARE_STRINGS)),
    "_shares_features": Value(bool),
    "_has_target": Optional(Value(bool), came_later=True),
    "source_names_": Each(Value(str), "sources", check=NOT_EMPTY),
    "source_weights_": ArrayOf(("sources",), check=POSITIVE),
    "_source_numbers": Each(Value(float, check=POSITIVE), "sources"),
    "_source_columns": Each(Optional(ArrayOf(("d#",), kinds="O", check=_ARE_STRINGS)), "sources"),
    "_n_rows": Each(Value(int), "n"),
    "_class_counts": Each(
        ArrayOf(("c",), kinds="i", check=Check("not be negative", lambda each: (each >= 0).all())),
        "n",
    ),
    "class_prior_": ArrayOf(("c",), check=_SHARES),
    "class_prior_estimate_": Optional(ESTIMATE),
    "_possible": ArrayOf(("possible",), kinds="i"),
}
"""What :meth:`~ilspace.ILSTransformer.fit` learns, but for what follows from it."""


def restore(model: Any) -> None:
    """Complete the attributes that a file gave, and refuse those that do not agree.

    Parameters
    ----------
    model : ILSTransformer
        With its parameters, and all attributes of `FITTED`.

    Raises
    ------
    ModelFileError
        Where attributes do not agree.
    """
    settings = model.objective or ObjectiveSettings()
    settings.checked(stochastic=model.solver in STOCHASTIC_SOLVERS)
    model._set_map(model.map_)
    model.solution_ = model.map_.solution
    model._source_widths = tuple(map(len, model.map_.means[: len(model.source_names_)]))
    if len(model.map_.means) not in {len(model.source_names_), len(model.source_names_) + 1}:
        raise ModelFileError("it names more or fewer sources than it maps")
    if model._has_target is None:  # of a file that was written before there were unseen domains
        model._has_target = len(model.map_.means) > len(model.source_names_)
    if sorted(set(model._source_numbers)) != list(model._source_numbers):
        raise ModelFileError("the numbers of its sources should ascend")
    model.n_features_in_ = len(model.source_mean_)
    model.n_target_features_in_ = len(model.target_mean_)
    names = model.target_feature_names_in_
    if names is not None and len(names) != model.n_target_features_in_:
        raise ModelFileError(
            f"it names {len(names)} columns of the target and maps {model.n_target_features_in_}"
        )
    if model._shares_features and {*model._source_widths} != {model.n_target_features_in_}:
        raise ModelFileError(
            "its domains should share their columns and have "
            f"{model.n_features_in_} and {model.n_target_features_in_}"
        )
    n_classes = len(model.classes_)
    if not np.array_equal(np.intersect1d(model._possible, np.arange(n_classes)), model._possible):
        raise ModelFileError("its possible classes are none of its classes, or not in order")
    for n_rows, counts in zip(model._n_rows, model._class_counts, strict=True):
        if sum(counts.tolist()) > n_rows:
            raise ModelFileError(f"it counts more rows in its classes than its {n_rows} rows")
    for name in ("feature_names_in_", "target_feature_names_in_"):
        if getattr(model, name) is None:
            delattr(model, name)
