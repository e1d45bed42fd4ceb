"""Level 0: the only place that knows array libraries exist."""

from ilspace.backend.linalg import (
    cholesky_frame,
    dot,
    identity,
    is_linalg_error,
    logdet_and_inverse,
    principal_axes,
    spectral_map,
    symmetric_exponential,
    symmetric_part,
    upright,
)
from ilspace.backend.namespace import (
    array_namespace,
    is_foreign,
    like,
    on_host,
    spacing,
    to_numpy,
)
from ilspace.backend.random import as_generator
from ilspace.backend.threads import one_thread

__all__ = [
    "array_namespace",
    "as_generator",
    "cholesky_frame",
    "dot",
    "identity",
    "is_foreign",
    "is_linalg_error",
    "like",
    "logdet_and_inverse",
    "on_host",
    "one_thread",
    "principal_axes",
    "spacing",
    "spectral_map",
    "symmetric_exponential",
    "symmetric_part",
    "to_numpy",
    "upright",
]
