"""What there is to know about an adaptation, gathered for the summary and the report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ilspace.backend import spectral_map
from ilspace.tables.classifier import TableClassifier
from ilspace.tables.labels import LabelledTables
from ilspace.tables.shift import Shift, measure_shift
from ilspace.tables.verdict import Verdict, judge

N_DIRECTIONS = 5
N_FEATURES = 5


@dataclass(frozen=True)
class Direction:
    """A principal direction of the latent space, as the target's columns make it.

    Attributes
    ----------
    share : float
        Of the variance of the target rows in the latent space.
    features : tuple of (str, float)
        Columns that weigh most, and their weights; all squared weights together are 1.
    """

    share: float
    features: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Diagnosis:
    """What there is to know about an adaptation.

    Attributes
    ----------
    verdict : Verdict
        Which labels to use.
    shift_before : Shift or None
        Between the tables as they are; None where they share no columns.
    shift_after : Shift or None
        In the latent space; None without one.
    source_balance, target_balance : dict of str to float
        Share of each class among the labels of the source, and among the recommended ones of rows
        without a label of their own.
    directions : tuple of Direction
        The leading ones.
    """

    verdict: Verdict
    shift_before: Shift | None
    shift_after: Shift | None
    source_balance: dict[str, float]
    target_balance: dict[str, float]
    directions: tuple[Direction, ...]


def diagnose(model: TableClassifier, tables: LabelledTables) -> Diagnosis:
    """Gather what there is to know.

    Parameters
    ----------
    model : TableClassifier
        Fitted to these tables.
    tables : LabelledTables
        The tables.

    Returns
    -------
    Diagnosis
        All of it.
    """
    before, after = _shifts(model, tables)
    p_value = None if before is None else before.mmd_p_value
    verdict = judge(model, tables, shift_p_value=p_value)
    labels = model.label_rows(_without_labels(tables))[verdict.recommended].to_numpy()
    balance, found = (_balance(each, model.classes_) for each in (tables.y, labels))
    directions = leading_directions(model, tables.target)
    return Diagnosis(verdict, before, after, balance, found, directions)


def _shifts(model: TableClassifier, tables: LabelledTables) -> tuple[Shift | None, Shift | None]:
    """Shift before and after adaptation."""
    before = after = None
    source, target = tables.source, tables.target
    if model.plan_.are_shared:
        encode = model.source_encoder_.encode
        before = measure_shift(encode(source), encode(target))
    if model.ils_ is not None:
        sent = model.transform(source, "source", sample_domain=tables.sample_domain)
        after = measure_shift(sent, model.transform(target))
    return before, after


def _without_labels(tables: LabelledTables) -> pd.DataFrame:
    """Target rows without a label of their own; all, if each has one."""
    if tables.yt is None or pd.notna(tables.yt).all():
        return tables.target
    return tables.target[pd.isna(tables.yt)]


def _balance(labels: np.ndarray, classes: np.ndarray) -> dict[str, float]:
    return {str(each): float(np.mean(labels == each)) for each in classes}


def leading_directions(model: TableClassifier, target: pd.DataFrame) -> tuple[Direction, ...]:
    """Principal directions of the target rows in the latent space, and what they are made of.

    Parameters
    ----------
    model : TableClassifier
        Fitted.
    target : DataFrame
        Rows of the target.

    Returns
    -------
    tuple of Direction
        Those of the largest variance first; none without a latent space.
    """
    estimator = model.ils_
    if estimator is None:
        return ()
    latent = model.transform(target)
    latent = latent - latent.mean(axis=0)
    _, sizes, axes = np.linalg.svd(latent, full_matrices=False)
    shares = sizes**2 / max(float(np.sum(sizes**2)), np.finfo(float).tiny)
    to_latent = estimator.target_projection_ @ spectral_map(estimator.metric_, np.sqrt)
    names = model.target_encoder_.names
    directions = []
    for share, axis in zip(shares[:N_DIRECTIONS], axes, strict=False):
        weights = to_latent @ axis
        weights = weights / max(float(np.linalg.norm(weights)), np.finfo(float).tiny)
        largest = np.argsort(-np.abs(weights))[:N_FEATURES]
        features = tuple((names[each], float(weights[each])) for each in largest)
        directions.append(Direction(float(share), features))
    return tuple(directions)
