"""Everything that depends on the array library."""

from ilspace.backend.linalg import (
    cholesky_frame,
    dot,
    fix_signs,
    from_spectrum,
    identity,
    is_linalg_error,
    logdet_and_inverse,
    one_thread,
    principal_axes,
    spectral_map,
    symmetric_exponential,
    symmetric_part,
    threads_allowed,
    threads_for_rows,
)
from ilspace.backend.namespace import (
    array_namespace,
    as_generator,
    can_fuse,
    holds_dask,
    is_dask,
    is_foreign,
    like,
    on_host,
    refuse_dask,
    spacing,
    to_numpy,
)
