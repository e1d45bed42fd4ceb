"""The methods that the invariant latent space is compared with, as estimators of one family.

All have the same ``fit(X, y=None, Xt=None, yt=None, *, sample_domain=None)``.
"""

from ilspace.adapters.baselines import (
    CORAL,
    GFK,
    HFA,
    MMDT,
    SGF,
    TCA,
    SourceOnly,
    SubspaceAlignment,
    TargetOnly,
)

__all__ = [
    "CORAL",
    "GFK",
    "HFA",
    "MMDT",
    "SGF",
    "TCA",
    "SourceOnly",
    "SubspaceAlignment",
    "TargetOnly",
]
