"""What an invariant latent space is on disk, and back, with every number checked."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ilspace.backend import to_numpy
from ilspace.optimizers import Progress, Solution, Status
from ilspace.storage import ModelFileError, array_entry, check_keys, entry

if TYPE_CHECKING:
    from ilspace.adapters.ils import ILSTransformer
    from ilspace.adapters.ils_classifier import ILSClassifier

_DOMAINS = ("source", "target")
_ENTRIES = ("classes", "shares_features", "domains", "point", "sharpness", "status", "history")
_DOMAIN_ENTRIES = ("n_rows", "class_counts", "names", "mean", "map", "scale")


def latent_state(model: ILSTransformer) -> dict[str, Any]:
    """What the fit of a transformer learned, as plain data.

    Projections and metric are in the solution's point already, which is the more exact of both.

    Parameters
    ----------
    model : ILSTransformer
        Fitted.

    Returns
    -------
    dict
        For :func:`restore_latent`.
    """
    names = {
        "source": getattr(model, "feature_names_in_", None),
        "target": getattr(model, "target_feature_names_in_", None),
    }
    return {
        "classes": model.classes_,
        "shares_features": model._shares_features,
        "domains": [
            {
                "n_rows": n_rows,
                "class_counts": counts,
                "names": names[domain],
                "mean": to_numpy(getattr(model, f"{domain}_mean_")),
                "map": to_numpy(getattr(model, f"_{domain}_map")),
                "scale": getattr(model, f"{domain}_scale_"),
            }
            for domain, n_rows, counts in zip(
                _DOMAINS, model._n_rows, model._class_counts, strict=False
            )
        ],
        "point": [to_numpy(each) for each in model.solution_.point],
        "sharpness": model.sharpness_,
        "status": model.solution_.status.name,
        "history": {
            name: np.array([getattr(each, name) for each in model.solution_.history])
            for name in Progress._fields
        },
    }


def training_record(model: ILSTransformer) -> dict[str, Any]:
    """What tells one fit from another: sizes, and a digest of what was learned, not of the data.

    Parameters
    ----------
    model : ILSTransformer
        Fitted.

    Returns
    -------
    dict
        Rows, columns and labelled rows a class of each domain, and a fingerprint.
    """
    state = latent_state(model)
    digest = hashlib.sha256()
    for domain in state["domains"]:
        for name in ("class_counts", "mean", "map"):
            digest.update(np.ascontiguousarray(domain[name]).tobytes())
    return {
        "rows": list(model._n_rows),
        "columns": [len(domain["mean"]) for domain in state["domains"]],
        "labelled": [domain["class_counts"].tolist() for domain in state["domains"]],
        "fingerprint": digest.hexdigest(),
    }


def labelled_state(model: ILSClassifier) -> list[dict[str, np.ndarray]]:
    """The labelled rows of a classifier in its latent space, as plain data.

    Parameters
    ----------
    model : ILSClassifier
        Fitted.

    Returns
    -------
    list of dict
        Rows and codes of each domain, for :func:`restore_labelled`.
    """
    return [{"rows": to_numpy(rows), "codes": codes} for rows, codes in model._labelled]


def restore_latent(model: ILSTransformer, state: dict[str, Any]) -> None:
    """Take back what :func:`latent_state` gave, after checking that it fits together.

    Parameters
    ----------
    model : ILSTransformer
        Not fitted; is fitted afterwards.
    state : dict
        From anywhere.
    """
    check_keys(state, _ENTRIES)
    classes = _checked_classes(state)
    domains = entry(state, "domains", list)
    if len(domains) not in (1, 2):
        raise ModelFileError(f"it has {len(domains)} domains")
    p, dtype = _restore_domains(model, domains, len(classes))
    model.classes_ = classes
    model._shares_features = entry(state, "shares_features", bool)
    if model._shares_features and model.n_features_in_ != model.n_target_features_in_:
        raise ModelFileError("its domains should share their columns and have different numbers")
    model.sharpness_ = _positive(state, "sharpness")
    model.n_components_ = model._n_features_out = p
    point = _checked_point(model, state, len(domains))
    model.source_projection_ = point[0].astype(dtype, copy=False)
    model.target_projection_ = point[len(domains) - 1].astype(dtype, copy=False)
    model.metric_ = point[len(domains)].astype(dtype, copy=False)
    model.solution_ = Solution(point, _checked_status(state), _checked_history(state))
    model.n_iter_ = model.solution_.n_iter


def restore_labelled(model: ILSClassifier, listed: list[Any]) -> None:
    """Take back what :func:`labelled_state` gave, after checking that it fits the rest.

    Parameters
    ----------
    model : ILSClassifier
        With what :func:`restore_latent` took back.
    listed : list
        From anywhere.
    """
    if len(listed) != len(model._n_rows):
        raise ModelFileError(f"it has labelled rows of {len(listed)} domains")
    labelled = []
    for part, counts in zip(listed, model._class_counts, strict=True):
        check_keys(part, ("rows", "codes"))
        codes = array_entry(part, "codes", shape=(int(counts.sum()),), kinds="i")
        rows = array_entry(part, "rows", shape=(len(codes), model.n_components_))
        in_range = ((codes >= 0) & (codes < len(counts))).all()
        if not in_range or (np.bincount(codes, minlength=len(counts)) != counts).any():
            raise ModelFileError("its labelled rows are not of the classes that they should be of")
        if rows.dtype != model._target_map.dtype:
            raise ModelFileError(f"its labelled rows are of type {rows.dtype}")
        labelled.append((rows, codes))
    model._labelled = tuple(labelled)


# -- checks --------------------------------------------------------------------------------------


def _restore_domains(
    model: ILSTransformer, domains: list[Any], n_classes: int
) -> tuple[int, np.dtype]:
    """Set what belongs to one domain; the latent dimension, and the type of the numbers."""
    n_rows, class_counts, p, dtype = [], [], None, np.dtype(np.float64)
    for domain, part in zip(_DOMAINS, domains, strict=False):
        check_keys(part, _DOMAIN_ENTRIES)
        mapping = array_entry(part, "map", shape=(None, p))
        d, p = mapping.shape
        mean = array_entry(part, "mean", shape=(d,))
        dtype = mapping.dtype if domain == "source" else dtype
        if min(d, p) < 1 or not mean.dtype == mapping.dtype == dtype or dtype.itemsize < 4:
            raise ModelFileError("its maps are empty, or not of one type")
        counts = array_entry(part, "class_counts", shape=(n_classes,), kinds="i")
        rows = entry(part, "n_rows", int)
        if counts.min() < 0 or counts.max() > rows or counts.sum() > rows:
            raise ModelFileError("it counts more rows in the classes than rows at all")
        n_rows.append(rows)
        class_counts.append(counts)
        setattr(model, f"{domain}_mean_", mean)
        setattr(model, f"_{domain}_map", mapping)
        setattr(model, f"{domain}_scale_", _positive(part, "scale"))
        names = _checked_names(part, d)
        if domain == "source":
            model.n_features_in_ = d
            if names is not None:
                model.feature_names_in_ = names
        if domain == "target" or len(domains) == 1:
            model._remember_target(d, names)
    if len(domains) == 1:  # a metric learned on one domain serves as both
        model.target_mean_, model._target_map = model.source_mean_, model._source_map
        model.target_scale_ = model.source_scale_
    model._n_rows, model._class_counts = tuple(n_rows), tuple(class_counts)
    return int(p or 0), dtype


def _checked_classes(state: dict[str, Any]) -> np.ndarray:
    classes = array_entry(state, "classes", shape=(None,), kinds="biufUO")
    try:
        is_sorted = np.array_equal(np.unique(classes), classes)
    except TypeError:  # objects that have no order
        is_sorted = False
    if len(classes) < 2 or not is_sorted:
        raise ModelFileError("its classes are fewer than two, not sorted, or not different")
    return classes


def _checked_names(part: dict[str, Any], n_columns: int) -> np.ndarray | None:
    if part["names"] is None:
        return None
    names = array_entry(part, "names", shape=(n_columns,), kinds="O")
    if not all(isinstance(each, str) for each in names):
        raise ModelFileError("a name of a column is not a text")
    return names


def _checked_point(
    model: ILSTransformer, state: dict[str, Any], n_domains: int
) -> tuple[np.ndarray, ...]:
    """Projections, metric and perhaps slacks."""
    p = model.n_components_
    widths = (model.n_features_in_, model.n_target_features_in_)[:n_domains]
    shapes: list[tuple[int | None, ...]] = [*((d, p) for d in widths), (p, p), (None,)]
    point = entry(state, "point", list)
    if len(point) not in (n_domains + 1, n_domains + 2):
        raise ModelFileError(f"its solution has {len(point)} parts")
    return tuple(
        array_entry({"solution": each}, "solution", shape=shape)
        for each, shape in zip(point, shapes, strict=False)
    )


def _checked_status(state: dict[str, Any]) -> Status:
    name = entry(state, "status", str)
    if name not in Status.__members__:
        raise ModelFileError(f"its status is {name[:40]!r}")
    return Status[name]


def _checked_history(state: dict[str, Any]) -> tuple[Progress, ...]:
    history = entry(state, "history", dict)
    check_keys(history, Progress._fields)
    lengths = set()
    for name, column in history.items():
        kind = "i" if name == "evaluations" else "f"
        # not finite where a run diverged, and the first step is none
        if not isinstance(column, np.ndarray) or column.ndim != 1 or column.dtype.kind != kind:
            raise ModelFileError(f"the {name} of its history are not numbers")
        lengths.add(len(column))
    if len(lengths) != 1 or 0 in lengths:
        raise ModelFileError("its history is empty, or has columns of different lengths")
    columns = (history[name].tolist() for name in Progress._fields)
    return tuple(Progress(*line) for line in zip(*columns, strict=True))


def _positive(state: dict[str, Any], name: str) -> float:
    value = entry(state, name, float)
    if not 0 < value < math.inf:
        raise ModelFileError(f"its {name} is {value}, not a positive number")
    return value
