"""What a classifier of tables is on disk, and back, with every entry checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ilspace.adapters import ILSClassifier
from ilspace.adapters.persistence import estimator_of, state_of
from ilspace.storage import ModelFileError, array_entry, check_keys, entry
from ilspace.tables.columns import Column, ColumnPlan
from ilspace.tables.encoding import SCALINGS, TableEncoder
from ilspace.tables.second_opinion import NearestMean
from ilspace.tables.trust import Trust

if TYPE_CHECKING:
    from ilspace.tables.classifier import TableClassifier


def table_state(model: TableClassifier) -> dict[str, Any]:
    """What the fit learned, as plain data.

    Parameters
    ----------
    model : TableClassifier
        Fitted.

    Returns
    -------
    dict
        For :func:`restore_table`.
    """
    return {
        "estimator": state_of(model.estimator_),
        "ids": list(model.plan_.ids),
        "are_shared": model.plan_.are_shared,
        "notes": list(model.plan_.notes),
        "source": _encoder_state(model.source_encoder_),
        "target": _encoder_state(model.target_encoder_),
        "confidence": model.trust_.confidence,
        "distance": model.trust_.distance,
        "exponent": model.exponent_,
        "means": model.unadapted_.means,
        "mean_codes": model.unadapted_.codes,
        "asks_target_labels": model.asks_target_labels_,
        "is_unchecked": model.is_unchecked_,
        "holdout_score": model.holdout_score_,
    }


def _encoder_state(encoder: TableEncoder) -> dict[str, Any]:
    return {
        "names": [each.name for each in encoder.columns],
        "categories": [list(each.categories) for each in encoder.columns],
        "scaling": encoder.scaling,
        "fill": encoder.fill,
        "center": encoder.center,
        "scale": encoder.scale,
    }


def restore_table(model: TableClassifier, state: dict[str, Any]) -> None:
    """Take back what :func:`table_state` gave, after checking that it fits together.

    Parameters
    ----------
    model : TableClassifier
        Not fitted; is fitted afterwards.
    state : dict
        From anywhere.
    """
    check_keys(
        state,
        (
            *("estimator", "ids", "are_shared", "notes", "source", "target"),
            *("confidence", "distance", "exponent", "means", "mean_codes", "holdout_score"),
            *("asks_target_labels", "is_unchecked"),
        ),
    )
    estimator = estimator_of(entry(state, "estimator", dict))
    if not isinstance(estimator, ILSClassifier):
        raise ModelFileError(f"it labels rows by a {type(estimator).__name__}")
    encoders = [_restored_encoder(entry(state, side, dict)) for side in ("source", "target")]
    widths = (estimator.n_features_in_, estimator.n_target_features_in_)
    if widths != tuple(len(each.center) for each in encoders):
        raise ModelFileError("its columns are not as many as those that its estimator takes")
    if entry(state, "are_shared", bool) and encoders[0].columns != encoders[1].columns:
        raise ModelFileError("its tables should share their columns and do not")
    if not all(_can_be_written(str(each)) for each in estimator.classes_):
        raise ModelFileError("its classes are not all texts")
    score = state["holdout_score"]
    if score is not None and not (isinstance(score, float) and 0 <= score <= 1):
        raise ModelFileError("its accuracy on held-out rows is none")
    model.source_encoder_, model.target_encoder_ = encoders
    model.plan_ = ColumnPlan(
        encoders[0].columns,
        encoders[1].columns,
        tuple(_texts(state, "ids")),
        entry(state, "are_shared", bool),
        tuple(_texts(state, "notes")),
    )
    model.trust_ = Trust(_bound(state, "confidence"), _bound(state, "distance"))
    model.exponent_ = _bound(state, "exponent")
    if not 0 < model.exponent_ < np.inf:
        raise ModelFileError(f"its exponent of probabilities is {model.exponent_}")
    model.asks_target_labels_ = entry(state, "asks_target_labels", bool)
    model.is_unchecked_ = entry(state, "is_unchecked", bool)
    if not (model.plan_.are_shared or model.asks_target_labels_):
        raise ModelFileError("its rule without adaptation needs columns that are not shared")
    side = encoders[1] if model.asks_target_labels_ else encoders[0]
    model.unadapted_ = _restored_means(state, len(estimator.classes_), len(side.center))
    model.holdout_score_ = score
    model.search_ = model.holdout_rows_ = model.holdout_estimator_ = None
    model.n_features_in_ = len(encoders[0].columns)
    model.estimator_, model.classes_ = estimator, estimator.classes_


def _restored_means(state: dict[str, Any], n_classes: int, width: int) -> NearestMean:
    codes = array_entry(state, "mean_codes", shape=(None,), kinds="i")
    if len(codes) == 0 or not np.all((codes >= 0) & (codes < n_classes)):
        raise ModelFileError("its class means are not of its classes")
    return NearestMean(codes, array_entry(state, "means", shape=(len(codes), width)))


def _restored_encoder(state: dict[str, Any]) -> TableEncoder:
    check_keys(state, ("names", "categories", "scaling", "fill", "center", "scale"))
    names, categories = _texts(state, "names"), entry(state, "categories", list)
    if len(categories) != len(names) or len(set(names)) != len(names):
        raise ModelFileError("its columns have no names, or the same ones")
    columns = tuple(
        Column(name, tuple(_texts({name: listed}, name)))
        for name, listed in zip(names, categories, strict=True)
    )
    width = sum(len(each.categories) or 1 for each in columns)
    n_numbers = sum(not each.categories for each in columns)
    scaling = entry(state, "scaling", str)
    scale = array_entry(state, "scale", shape=(width,))
    if scaling not in SCALINGS or not (scale > 0).all():
        raise ModelFileError("its scaling is unknown, or divides by zero")
    return TableEncoder(
        columns,
        scaling,
        array_entry(state, "fill", shape=(n_numbers,)),
        array_entry(state, "center", shape=(width,)),
        scale,
    )


def _texts(state: dict[str, Any], name: str) -> list[str]:
    listed = entry(state, name, list)
    if not all(isinstance(each, str) and _can_be_written(each) for each in listed):
        raise ModelFileError(f"its {name[:40]!r} are not all texts")
    return listed


def _can_be_written(text: str) -> bool:
    """Tell texts from those with half a character, which no file of labels can hold."""
    return text.isascii() or not any("\ud800" <= each <= "\udfff" for each in text)


def _bound(state: dict[str, Any], name: str) -> float:
    value = entry(state, name, float)
    if np.isnan(value) or value < 0:
        raise ModelFileError(f"its bound of the {name} is {value}")
    return value
