"""Losses with closed-form Euclidean gradients, independent of any manifold."""

from ilspace.objective.ils import (
    DomainData,
    ILSObjective,
    SmoothHinge,
    anchor_penalty,
    metric_penalty,
    projected_discrepancy,
    slack_penalty,
    stein_divergence,
)

__all__ = [
    "DomainData",
    "ILSObjective",
    "SmoothHinge",
    "anchor_penalty",
    "metric_penalty",
    "projected_discrepancy",
    "slack_penalty",
    "stein_divergence",
]
