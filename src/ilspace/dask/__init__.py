"""Everything that depends on Dask: domains, sums over pairs, and blocks after fit.

Importing it does not import Dask.
"""

from ilspace.dask.checks import check_dask_domains, refuse_in_one_place
from ilspace.dask.clusters import ClusterError, cluster
from ilspace.dask.domains import DaskDomains
from ilspace.dask.lazy import by_blocks
