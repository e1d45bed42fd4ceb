"""The methods that the invariant latent space is compared with, as estimators of one family.

All have the same ``fit(X, y=None, Xt=None, yt=None, *, sample_domain=None)``.
"""

from ilspace.adapters.baselines import (
    CDLS,
    CORAL,
    DME,
    GFK,
    HFA,
    KISSME,
    MMDT,
    SGF,
    TCA,
    ARCt,
    FeatureAugmentation,
    HeMap,
    ManifoldAlignment,
    Pooled,
    SourceOnly,
    SubspaceAlignment,
    TargetOnly,
)

__all__ = [
    "CDLS",
    "CORAL",
    "DME",
    "GFK",
    "HFA",
    "KISSME",
    "MMDT",
    "SGF",
    "TCA",
    "ARCt",
    "FeatureAugmentation",
    "HeMap",
    "ManifoldAlignment",
    "Pooled",
    "SourceOnly",
    "SubspaceAlignment",
    "TargetOnly",
]
