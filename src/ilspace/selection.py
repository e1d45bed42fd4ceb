"""Choose parameters without target labels.

`LabelFreeSearch` tries settings and keeps one. The criteria that it judges by are scikit-learn
scorers as well, and the measures beneath them are plain functions of predictions.
"""

from ilspace.adapters.selection import (
    CRITERIA,
    CalibratedInformation,
    CircularValidation,
    Criterion,
    DeepEmbeddedValidation,
    Evidence,
    ImportanceWeighting,
    InformationMaximization,
    LabelFreeSearch,
    MixupConsistency,
    PredictionEntropy,
    SoftNeighbourhoodDensity,
    SourceAccuracy,
    calibrated,
    confidence,
    controlled_risk,
    default_grid,
    density_ratio,
    information,
    neighbourhood_density,
    weighted_accuracy,
)

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
