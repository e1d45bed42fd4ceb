"""Invariant latent spaces for domain adaptation, as scikit-learn estimators."""

from ilspace.adapters import ILSClassifier, ILSTransformer

__version__ = "0.1.0.dev0"

__all__ = ["ILSClassifier", "ILSTransformer"]
