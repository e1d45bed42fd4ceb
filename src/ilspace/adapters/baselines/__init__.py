"""The methods that the invariant latent space is compared with, one file each."""

from ilspace.adapters.baselines.coral import CORAL
from ilspace.adapters.baselines.gfk import GFK
from ilspace.adapters.baselines.hfa import HFA
from ilspace.adapters.baselines.mmdt import MMDT
from ilspace.adapters.baselines.sgf import SGF
from ilspace.adapters.baselines.single_domain import SourceOnly, TargetOnly
from ilspace.adapters.baselines.subspace_alignment import SubspaceAlignment
from ilspace.adapters.baselines.tca import TCA

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
