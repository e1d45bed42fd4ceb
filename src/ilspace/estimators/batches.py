"""Checks of data that come in batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ilspace._typing import Array
from ilspace._warnings import warn
from ilspace.backend import array_namespace, is_foreign, like, on_host, refuse_dask, to_numpy
from ilspace.domains import Domain, Domains, check_domains, take_rows
from ilspace.domains.checks import check_weights, require_labels
from ilspace.domains.labels import class_names, codes_among, encode_target, natural_labels
from ilspace.domains.several import is_list_of_sources
from ilspace.ils import OnlineState


def check_batch(
    model: Any, X, y, Xt, yt, *, before: OnlineState | None, classes, sample_weight
) -> Domains:
    """Check a batch: the first one decides the columns and the classes of all others.

    Parameters
    ----------
    model : ILSTransformer
        Not changed; after the first batch it knows columns and classes.
    X, y, Xt, yt : array-like or None
        As `fit` takes them; in a later batch each domain may be missing.
    before : OnlineState or None
        State after the previous batch; None for the first.
    classes : array-like or None
        All classes that will ever come; by default those of the first batch.
    sample_weight : array-like or None
        Weights of the rows.

    Returns
    -------
    Domains
        The batch; a domain without rows is None.
    """
    refuse_dask(
        "partial_fit",
        remedy="pass one block after another ({name}.partitions[0].compute() and so on), or "
        "all of it to fit, which takes Dask collections",
        X=X,
        Xt=Xt,
    )
    if X is not None and is_list_of_sources(X):
        raise ValueError(
            f"partial_fit learns from one source and a target, but X is a list of {len(X)} "
            "sources: fit them at once, or pool the rows of a batch."
        )
    if before is not None:
        known = tuple(each.reservoir.X for each in before.seen)
        return _next_batch(model, X, y, Xt, yt, classes, sample_weight, references=known)
    if X is None:
        raise ValueError(
            "The first call of partial_fit must bring labelled source rows, but X is None: pass X "
            "and y, and Xt if there is a target."
        )
    batch = check_domains(
        X, y, Xt, yt, sample_weight=sample_weight, classes=classes, caller=type(model).__name__
    )
    if hasattr(model, "solution_"):
        warn(
            "partial_fit begins anew with this batch: the model was fitted at once or "
            "loaded from a file, which leaves no rows to go on from. Make a new estimator "
            "if that is meant."
        )
    return batch


def _next_batch(
    model: Any, X, y, Xt, yt, classes, sample_weight, *, references: tuple[Array, ...]
) -> Domains:
    """Check a later batch, whose rows become of the library and type of those that were kept."""
    if classes is not None and not np.array_equal(class_names(classes), model.classes_):
        raise ValueError(
            "classes must be those of the first call of partial_fit, "
            f"{model.classes_[:10].tolist()}, or None, but is {list(classes)[:10]}."
        )
    for labels, rows, name in ((y, X, "X"), (yt, Xt, "Xt")):
        if labels is not None and rows is None:
            raise ValueError(
                f"y{name[1:]} labels the rows of {name}, but {name} is None: pass both, or neither."
            )
    if X is None and Xt is None:
        raise ValueError(
            "A batch must bring rows of a domain, but X and Xt are None: pass one of them."
        )
    if Xt is not None and len(references) == 1:
        raise ValueError(
            "Target rows must be there from the first call of partial_fit on, but that had none: "
            "begin with a new estimator and pass Xt at once."
        )
    if X is not None:
        require_labels(y, type(model).__name__)
    source = None if X is None else model._check_rows(X, "source")[0]
    target = None if Xt is None else model._check_rows(Xt, "target")[0]
    sizes = [0 if rows is None else rows.shape[0] for rows in (source, target)]
    if sample_weight is not None:
        sample_weight = np.asarray(on_host(sample_weight))
    weights = check_weights(sample_weight, *sizes)
    shares = (None, None) if weights is None else np.split(weights, sizes[:1])
    codes = (
        _source_codes(y, model.classes_, sizes[0]),
        encode_target(yt, model.classes_, sizes[1]),
    )
    found = [
        None if rows is None else _batch(rows, code, share, reference)
        for rows, code, share, reference in zip(
            (source, target), codes, shares, references, strict=False
        )
    ]
    return Domains(
        (found[0],), found[1] if len(found) > 1 else None, model.classes_, model._shares_features
    )


def _source_codes(y, classes: np.ndarray, n_rows: int) -> np.ndarray:
    if y is None:
        return np.empty(0, dtype=np.int64)
    labels = np.asarray(natural_labels(y))
    if labels.shape != (n_rows,):
        raise ValueError(
            f"y must have one entry per row of X, shape ({n_rows},), but has shape {labels.shape}."
        )
    rule = "y may hold only the classes of the first call of partial_fit"
    return codes_among(classes, labels, rule, "name all classes there")


def _batch(rows, codes: np.ndarray, weights, reference) -> Domain | None:
    """Rows of positive weight, in the library and of the type of others."""
    if weights is not None:
        kept = np.flatnonzero(weights > 0)
        if len(kept) == 0:
            return None
        rows, codes, weights = take_rows(rows, kept), codes[kept], weights[kept]
    if sparse.issparse(reference):
        return Domain(sparse.csr_array(rows, dtype=reference.dtype), codes, weights)
    if sparse.issparse(rows):
        rows = rows.toarray()
    if is_foreign(rows) != is_foreign(reference):
        rows = like(to_numpy(rows), reference)
    rows = array_namespace(rows).astype(rows, reference.dtype, copy=False)
    return Domain(rows, codes, weights)
