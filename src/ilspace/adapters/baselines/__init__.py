"""The methods that the invariant latent space is compared with, one file each."""

from ilspace.adapters.baselines.arct import ARCt
from ilspace.adapters.baselines.cdls import CDLS
from ilspace.adapters.baselines.coral import CORAL
from ilspace.adapters.baselines.dme import DME
from ilspace.adapters.baselines.feature_augmentation import FeatureAugmentation
from ilspace.adapters.baselines.gfk import GFK
from ilspace.adapters.baselines.hemap import HeMap
from ilspace.adapters.baselines.hfa import HFA
from ilspace.adapters.baselines.kissme import KISSME
from ilspace.adapters.baselines.manifold_alignment import ManifoldAlignment
from ilspace.adapters.baselines.mmdt import MMDT
from ilspace.adapters.baselines.sgf import SGF
from ilspace.adapters.baselines.single_domain import Pooled, SourceOnly, TargetOnly
from ilspace.adapters.baselines.subspace_alignment import SubspaceAlignment
from ilspace.adapters.baselines.tca import TCA

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
