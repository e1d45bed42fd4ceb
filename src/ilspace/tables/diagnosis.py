"""What there is to know about an adaptation, gathered for the summary and the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ilspace.backend import spectral_map
from ilspace.tables.classifier import TableClassifier
from ilspace.tables.comparison import Comparison, compare
from ilspace.tables.labels import LabelledTables
from ilspace.tables.prediction import new_rows
from ilspace.tables.shift import Shift, measure_shift

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
    comparison : Comparison
        Beside simpler classifiers.
    shift_before : Shift or None
        Between the tables as they are; None where they share no columns.
    shift_after : Shift
        In the latent space.
    source_balance, target_balance : dict of str to float
        Share of each class among the labels of the source, and among the predictions for rows
        without a label of their own.
    directions : tuple of Direction
        The leading ones.
    """

    comparison: Comparison
    shift_before: Shift | None
    shift_after: Shift
    source_balance: dict[str, float]
    target_balance: dict[str, float]
    directions: tuple[Direction, ...]


def diagnose(
    model: TableClassifier,
    tables: LabelledTables,
    labelled: pd.DataFrame,
    *,
    on_step: Callable[[int, int], object] | None = None,
) -> Diagnosis:
    """Gather what there is to know.

    Parameters
    ----------
    model : TableClassifier
        Fitted to these tables.
    tables : LabelledTables
        The tables.
    labelled : DataFrame
        What :meth:`TableClassifier.label_rows` says of the target rows.
    on_step : callable, optional
        Called with the number of classifiers compared, and of all.

    Returns
    -------
    Diagnosis
        All of it.
    """
    before, after = _shifts(model, tables.source, tables.target)
    p_value = None if before is None else before.mmd_p_value
    unadapted = labelled["unadapted"].to_numpy()
    try:
        comparison = compare(
            model, **tables._asdict(), unadapted=unadapted, shift_p_value=p_value, on_step=on_step
        )
    except ValueError as error:  # the labels are there, and worth more than a comparison
        reason = " ".join(str(error).split())
        comparison = Comparison("nothing", 0, {}, None, f"Nothing to compare with: {reason}")
    predicted = new_rows(labelled)["label"].to_numpy()
    balances = _balance(tables.y, model.classes_), _balance(predicted, model.classes_)
    return Diagnosis(comparison, before, after, *balances, leading_directions(model, tables.target))


def _shifts(model, source: pd.DataFrame, target: pd.DataFrame) -> tuple[Shift | None, Shift]:
    """Shift before and after, of rows that no fit has drawn together, if some were held out."""
    estimator = model.estimator_
    if model.holdout_rows_ is not None:
        source, estimator = source.iloc[model.holdout_rows_], model.holdout_estimator_
    rows, target_rows = model.encode(source, "source"), model.encode(target)
    are_shared = model.plan_.are_shared
    before = measure_shift(rows, model.source_encoder_.encode(target)) if are_shared else None
    latent = estimator.transform(rows, "source"), estimator.transform(target_rows)
    return before, measure_shift(*latent)


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
        Those of the largest variance first.
    """
    latent = model.transform(target)
    latent = latent - latent.mean(axis=0)
    _, sizes, axes = np.linalg.svd(latent, full_matrices=False)
    shares = sizes**2 / max(float(np.sum(sizes**2)), np.finfo(float).tiny)
    estimator = model.estimator_
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
