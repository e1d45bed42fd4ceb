"""The methods that the invariant latent space is compared with, one file each."""

from ilspace.adapters.baselines.single_domain import SourceOnly, TargetOnly
from ilspace.adapters.baselines.subspace_alignment import SubspaceAlignment

__all__ = ["SourceOnly", "SubspaceAlignment", "TargetOnly"]
