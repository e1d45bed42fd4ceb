"""Level 0: the only place that knows array libraries exist."""

from ilspace.backend.linalg import (
    dot,
    identity,
    inverse,
    is_linalg_error,
    logdet,
    principal_axes,
    spectral_map,
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
    "dot",
    "identity",
    "inverse",
    "is_foreign",
    "is_linalg_error",
    "like",
    "logdet",
    "on_host",
    "one_thread",
    "principal_axes",
    "spacing",
    "spectral_map",
    "symmetric_part",
    "to_numpy",
    "upright",
]
