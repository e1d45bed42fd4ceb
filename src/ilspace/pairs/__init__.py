"""Level 1: who is compared with whom."""

from ilspace.pairs.blocks import BalancedBlocks
from ilspace.pairs.choice import all_pairs
from ilspace.pairs.sampled import SampledPairs, sample_pairs
from ilspace.pairs.statistics import PairStatistics, pair_statistics
from ilspace.pairs.tiles import AllPairs

__all__ = [
    "all_pairs",
    "AllPairs",
    "BalancedBlocks",
    "PairStatistics",
    "SampledPairs",
    "pair_statistics",
    "sample_pairs",
]
