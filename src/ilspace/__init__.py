"""Invariant latent spaces for domain adaptation, as scikit-learn estimators."""

from importlib import import_module
from typing import TYPE_CHECKING

from ilspace._version import __version__ as __version__

if TYPE_CHECKING:
    from ilspace.estimators import ILSClassifier, ILSTransformer, ObjectiveSettings
    from ilspace.estimators.saving import load
    from ilspace.tables import TableClassifier, adapt

__all__ = [
    "ILSClassifier",
    "ILSTransformer",
    "ObjectiveSettings",
    "TableClassifier",
    "adapt",
    "load",
]

_HOMES = {
    "ILSClassifier": "ilspace.estimators",
    "ILSTransformer": "ilspace.estimators",
    "ObjectiveSettings": "ilspace.estimators",
    "TableClassifier": "ilspace.tables",
    "adapt": "ilspace.tables",
    "load": "ilspace.estimators.saving",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: the command line is then there at once."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ilspace' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
