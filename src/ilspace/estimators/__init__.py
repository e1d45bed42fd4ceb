"""The surface of scikit-learn: check, call the method, store."""

from ilspace.estimators.classifier import ILSClassifier
from ilspace.estimators.saving import load
from ilspace.estimators.transformer import ILSTransformer
from ilspace.ils import ObjectiveSettings

__all__ = ["ILSClassifier", "ILSTransformer", "ObjectiveSettings", "load"]
