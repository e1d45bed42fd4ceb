"""Choose parameters without target labels.

`LabelFreeSearch` evaluates a parameter grid and keeps one setting. Its criteria are scikit-learn
scorers as well, and the measures beneath them are plain functions of predictions.
"""

from ilspace.selection.calibration import calibrated
from ilspace.selection.criteria import (
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
from ilspace.selection.density_ratio import density_ratio
from ilspace.selection.evidence import Evidence
from ilspace.selection.grid import default_grid
from ilspace.selection.measures import (
    confidence,
    controlled_risk,
    information,
    neighbourhood_density,
    weighted_accuracy,
)
from ilspace.selection.search import LabelFreeSearch

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
