"""Everything that depends on the array library."""

from ilspace.backend.linalg import (
    cholesky_frame,
    dot,
    fix_signs,
    identity,
    is_linalg_error,
    logdet_and_inverse,
    one_thread,
    principal_axes,
    spectral_map,
    symmetric_exponential,
    symmetric_part,
)
from ilspace.backend.namespace import (
    array_namespace,
    as_generator,
    is_dask,
    is_foreign,
    like,
    on_host,
    refuse_dask,
    spacing,
    to_numpy,
)

__all__ = [
    "array_namespace",
    "as_generator",
    "cholesky_frame",
    "dot",
    "identity",
    "is_dask",
    "is_foreign",
    "is_linalg_error",
    "like",
    "logdet_and_inverse",
    "on_host",
    "one_thread",
    "principal_axes",
    "refuse_dask",
    "spacing",
    "spectral_map",
    "symmetric_exponential",
    "symmetric_part",
    "to_numpy",
    "fix_signs",
]
