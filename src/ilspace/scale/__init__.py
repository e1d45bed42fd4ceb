"""Summaries of the rows of a domain: means, covariances, the span of the rows."""

from ilspace.scale.moments import Moments, is_single, map_rows, row_moments, weighted_mean
from ilspace.scale.projected import HeldRows, power_moments
from ilspace.scale.rowspan import RowSpace, moment_space, row_space

__all__ = [
    "HeldRows",
    "Moments",
    "RowSpace",
    "is_single",
    "map_rows",
    "moment_space",
    "power_moments",
    "row_moments",
    "row_space",
    "weighted_mean",
]
