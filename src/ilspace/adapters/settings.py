"""What the user decides about the problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Parameters of an estimator that say what is to be minimised, and from where.

    Attributes
    ----------
    start, metric_start : str or array
        Where to begin.
    pairs : {"all", "sampled"}
        Which pairs to compare.
    margin_scale : float
        Mean squared distance of similar pairs at the start, in margins.
    sharpness : float or "auto"
        Sharpness of the hinge.
    trade_off, metric_weight : float
        Weights of the discrepancy and of the metric's regulariser.
    anchors : tuple of float
        Weights of the anchors of the source and the target projection.
    slack_weight : float or None
        Weight of the slacks; None for no slacks.
    shrinkage : float
        Shrinkage of the covariances.
    reduce : bool
        Whether to optimise in the span of the rows.
    retraction : {"qr", "polar"}
        Retraction of the projections.
    orthonormal : bool
        Whether the projections keep orthonormal columns.
    mobility : tuple of float or None
        Mobility of source projection, target projection, metric and slacks.
    block_size : int or None
        Rows of a block, for a solver that sees one after another; None for one that sees all.
    """

    start: object
    metric_start: object
    pairs: str
    margin_scale: float
    sharpness: float | str
    trade_off: float
    metric_weight: float
    anchors: tuple[float, float]
    slack_weight: float | None
    shrinkage: float
    reduce: bool
    retraction: Any
    orthonormal: bool
    mobility: tuple[float, ...] | None
    block_size: int | None
