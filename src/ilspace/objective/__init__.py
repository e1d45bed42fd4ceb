"""Level 1: losses with closed-form Euclidean gradients, which have never heard of a manifold."""

from ilspace.objective.discrepancy import projected_discrepancy, stein_divergence
from ilspace.objective.ils import DomainData, ILSObjective
from ilspace.objective.pair_loss import SmoothHinge
from ilspace.objective.regularizers import anchor_penalty, metric_penalty, slack_penalty

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
