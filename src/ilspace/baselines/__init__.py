"""Baselines that the invariant latent space is compared with, as estimators of one API.

All have the same ``fit(X, y=None, Xt=None, yt=None, *, sample_domain=None)``.
"""

from ilspace.baselines.arct import ARCt
from ilspace.baselines.bda import BDA
from ilspace.baselines.cdls import CDLS
from ilspace.baselines.coral import CORAL
from ilspace.baselines.dme import DME
from ilspace.baselines.easytl import EasyTL
from ilspace.baselines.feature_augmentation import FeatureAugmentation
from ilspace.baselines.gfk import GFK
from ilspace.baselines.hemap import HeMap
from ilspace.baselines.hfa import HFA
from ilspace.baselines.jda import JDA
from ilspace.baselines.jgsa import JGSA
from ilspace.baselines.kissme import KISSME
from ilspace.baselines.manifold_alignment import ManifoldAlignment
from ilspace.baselines.meda import MEDA
from ilspace.baselines.mmdt import MMDT
from ilspace.baselines.otda import OTDA
from ilspace.baselines.self_training import SelfTraining
from ilspace.baselines.several_sources import PooledSources, SourceVote
from ilspace.baselines.sgf import SGF
from ilspace.baselines.single_domain import Pooled, SourceOnly, TargetOnly
from ilspace.baselines.spl import SPL
from ilspace.baselines.subspace_alignment import SubspaceAlignment
from ilspace.baselines.tca import TCA

__all__ = [
    "BDA",
    "CDLS",
    "CORAL",
    "DME",
    "GFK",
    "HFA",
    "JDA",
    "JGSA",
    "KISSME",
    "MEDA",
    "MMDT",
    "OTDA",
    "SGF",
    "SPL",
    "TCA",
    "ARCt",
    "EasyTL",
    "FeatureAugmentation",
    "HeMap",
    "ManifoldAlignment",
    "Pooled",
    "PooledSources",
    "SelfTraining",
    "SourceOnly",
    "SourceVote",
    "SubspaceAlignment",
    "TargetOnly",
]
