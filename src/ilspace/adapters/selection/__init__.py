"""Criteria that need no target labels, and a search that chooses by them."""

from ilspace.adapters.selection.calibration import calibrated
from ilspace.adapters.selection.criteria import (
    CRITERIA,
    CalibratedInformation,
    CircularValidation,
    Criterion,
    DeepEmbeddedValidation,
    ImportanceWeighting,
    InformationMaximization,
    MixupConsistency,
    PredictionEntropy,
    SoftNeighbourhoodDensity,
    SourceAccuracy,
)
from ilspace.adapters.selection.density_ratio import density_ratio
from ilspace.adapters.selection.evidence import Evidence
from ilspace.adapters.selection.grid import default_grid
from ilspace.adapters.selection.measures import (
    confidence,
    controlled_risk,
    information,
    neighbourhood_density,
    weighted_accuracy,
)
from ilspace.adapters.selection.search import LabelFreeSearch

__all__ = [
    "CRITERIA",
    "CalibratedInformation",
    "CircularValidation",
    "Criterion",
    "DeepEmbeddedValidation",
    "Evidence",
    "ImportanceWeighting",
    "InformationMaximization",
    "LabelFreeSearch",
    "MixupConsistency",
    "PredictionEntropy",
    "SoftNeighbourhoodDensity",
    "SourceAccuracy",
    "calibrated",
    "confidence",
    "controlled_risk",
    "default_grid",
    "density_ratio",
    "information",
    "neighbourhood_density",
    "weighted_accuracy",
]
