"""Checks of data that comes in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from ilspace._typing import Array
from ilspace.adapters._checks import check_weights
from ilspace.adapters._labels import encode_source, encode_target, natural_labels
from ilspace.adapters.domain_rows import DomainRows, take_rows
from ilspace.backend import array_namespace, is_foreign, like, on_host, to_numpy

if TYPE_CHECKING:
    from ilspace.adapters.ils import ILSTransformer


def first_piece(model: ILSTransformer, X, y, Xt, yt, classes, sample_weight):
    """Check the first piece, which decides the columns and the classes.

    Parameters
    ----------
    model : ILSTransformer
        Learns the columns of both domains.
    X, y, Xt, yt : array-like
        As `fit` takes them.
    classes : array-like or None
        All classes that will ever come; those of `y` by default.
    sample_weight : array-like or None
        Weights of the rows.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        The classes.
    domains : tuple of DomainRows
        The pieces of the domains.
    """
    if X is None:
        raise ValueError(
            "The first call of partial_fit must bring labelled source rows, but X is None: pass X "
            "and y, and Xt if there is a target."
        )
    if classes is None:
        return model._check_domains(X, y, Xt, yt, None, sample_weight)
    known = np.unique(np.asarray(natural_labels(classes, "class")))

    def encode(y):
        encode_source(y)  # refuses a single class
        return known, _codes_among(known, y, "classes must hold all labels of y", "add them there")

    return model._check_domains(X, y, Xt, yt, None, sample_weight, encode=encode)


def next_piece(
    model: ILSTransformer, X, y, Xt, yt, classes, sample_weight, *, references: tuple[Array, ...]
) -> tuple[DomainRows | None, ...]:
    """Check a later piece against what the first one decided.

    Parameters
    ----------
    model : ILSTransformer
        Knows columns and classes.
    X, y, Xt, yt : array-like or None
        As `fit` takes them; each domain may be missing.
    classes : array-like or None
        Must be the known ones, if given.
    sample_weight : array-like or None
        Weights of the rows.
    references : tuple of array or sparse matrix
        Remembered rows of each domain, of the library and type that the piece will have.

    Returns
    -------
    tuple of DomainRows or None
        The pieces of the domains, None where one is missing.
    """
    if classes is not None and not np.array_equal(
        np.unique(np.asarray(natural_labels(classes, "class"))), model.classes_
    ):
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
            "A piece must bring rows of a domain, but X and Xt are None: pass one of them."
        )
    if Xt is not None and len(references) == 1:
        raise ValueError(
            "Target rows must be there from the first call of partial_fit on, but that had none: "
            "begin with a new estimator and pass Xt at once."
        )
    if X is not None and y is None:
        raise ValueError(
            f"{type(model).__name__} requires y to be passed, but the target y is None: the "
            "source rows need labels (labels of target rows go into yt)."
        )
    source = None if X is None else model._check_rows(X, "source", None, True)[0]
    target = None if Xt is None else model._check_rows(Xt, "target", None, True)[0]
    sizes = [0 if rows is None else rows.shape[0] for rows in (source, target)]
    if sample_weight is not None:
        sample_weight = np.asarray(on_host(sample_weight))
    weights = check_weights(sample_weight, *sizes)
    shares = (None, None) if weights is None else np.split(weights, sizes[:1])
    codes = (
        _source_codes(y, model.classes_, sizes[0]),
        encode_target(yt, model.classes_, sizes[1]),
    )
    return tuple(
        None if rows is None else _piece(rows, code, share, reference)
        for rows, code, share, reference in zip(
            (source, target), codes, shares, references, strict=False
        )
    )


def _source_codes(y, classes: np.ndarray, n_rows: int) -> np.ndarray:
    if y is None:
        return np.empty(0, dtype=np.int64)
    labels = np.asarray(natural_labels(y))
    if labels.shape != (n_rows,):
        raise ValueError(
            f"y must have one entry a row of X, shape ({n_rows},), but has shape {labels.shape}."
        )
    rule = "y may hold only the classes of the first call of partial_fit"
    return _codes_among(classes, labels, rule, "name all classes there")


def _codes_among(classes: np.ndarray, labels: np.ndarray, rule: str, remedy: str) -> np.ndarray:
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    unseen = [label for label in dict.fromkeys(labels.tolist()) if label not in code_of]
    if unseen:
        raise ValueError(
            f"{rule}, but {unseen[:5]} is not among {classes[:10].tolist()}: {remedy}."
        )
    return np.array([code_of[label] for label in labels.tolist()], dtype=np.int64)


def _piece(rows, codes: np.ndarray, weights, reference) -> DomainRows | None:
    """Rows of positive weight, in the library and of the type of others."""
    if weights is not None:
        kept = np.flatnonzero(weights > 0)
        if len(kept) == 0:
            return None
        rows, codes, weights = take_rows(rows, kept), codes[kept], weights[kept]
    if sparse.issparse(reference):
        return DomainRows(sparse.csr_array(rows, dtype=reference.dtype), codes, weights)
    if sparse.issparse(rows):
        rows = rows.toarray()
    if is_foreign(rows) != is_foreign(reference):
        rows = like(to_numpy(rows), reference)
    rows = array_namespace(rows).astype(rows, reference.dtype, copy=False)
    return DomainRows(rows, codes, weights)
