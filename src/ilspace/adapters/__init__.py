"""Level 3: the surface of scikit-learn: validate, assemble, call, store."""

from ilspace.adapters.ils import ILSTransformer
from ilspace.adapters.ils_classifier import ILSClassifier

__all__ = ["ILSClassifier", "ILSTransformer"]
