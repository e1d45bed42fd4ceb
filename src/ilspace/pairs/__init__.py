"""The labelled rows, and which pairs of them are compared."""

from ilspace.pairs.labelled import LabelledRows, RowPairs, all_pairs
from ilspace.pairs.minibatch import BalancedBatches
from ilspace.pairs.sampled import SampledPairs, sample_pairs
from ilspace.pairs.statistics import PairStatistics, pair_statistics
from ilspace.pairs.tiles import AllPairs

__all__ = [
    "AllPairs",
    "BalancedBatches",
    "LabelledRows",
    "PairStatistics",
    "RowPairs",
    "SampledPairs",
    "all_pairs",
    "pair_statistics",
    "sample_pairs",
]
