"""Level 1: what is kept of data too large to keep: means, covariances, the span of the rows."""

from ilspace.scale.moments import weighted_mean
from ilspace.scale.rowspan import RowSpace, row_space

__all__ = ["RowSpace", "row_space", "weighted_mean"]
