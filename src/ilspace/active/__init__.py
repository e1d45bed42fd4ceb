"""Choose which target rows to label, and estimate the accuracy that the labels bring.

`QuerySelector` asks for rows and learns from the answers. Beneath it are query strategies, plain
functions of a `Pool` of target rows.
"""

from ilspace.active.accuracy import AccuracyEstimate, Asked, estimate_accuracy
from ilspace.active.answers import NONE_OF_THESE, Prediction
from ilspace.active.facility import covered_doubt, facility_location
from ilspace.active.pool import Pool
from ilspace.active.selector import QuerySelector
from ilspace.active.strategies import (
    STRATEGIES,
    as_query_strategy,
    committee_disagreement,
    entropy_sampling,
    margin_sampling,
    random_sampling,
    uncertain_clusters,
)

__all__ = [
    "NONE_OF_THESE",
    "STRATEGIES",
    "AccuracyEstimate",
    "Asked",
    "Pool",
    "Prediction",
    "QuerySelector",
    "as_query_strategy",
    "committee_disagreement",
    "covered_doubt",
    "entropy_sampling",
    "estimate_accuracy",
    "facility_location",
    "margin_sampling",
    "random_sampling",
    "uncertain_clusters",
]
