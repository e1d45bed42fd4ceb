"""Losses with closed-form Euclidean gradients, independent of any manifold."""

from ilspace.objective.cumulants import (
    CumulantTerm,
    cumulant_discrepancy,
    cumulants,
    latent_directions,
)
from ilspace.objective.dictionary import dictionary_loss, sparse_codes
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
    "CumulantTerm",
    "DomainData",
    "ILSObjective",
    "SmoothHinge",
    "anchor_penalty",
    "cumulant_discrepancy",
    "cumulants",
    "dictionary_loss",
    "latent_directions",
    "metric_penalty",
    "projected_discrepancy",
    "slack_penalty",
    "sparse_codes",
    "stein_divergence",
]
