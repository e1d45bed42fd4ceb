"""Tables of one's own: from two files to labels, a model and a report."""

from importlib import import_module
from typing import TYPE_CHECKING

from ilspace.estimators import load  # here all kinds of models are known
from ilspace.tables.classifier import TableClassifier
from ilspace.tables.errors import TableError
from ilspace.tables.reading import read_chunks, read_table

if TYPE_CHECKING:
    from ilspace.tables.job import Adaptation, adapt_files
    from ilspace.tables.verdict import Verdict

__all__ = [
    "Adaptation",
    "TableClassifier",
    "TableError",
    "Verdict",
    "adapt_files",
    "load",
    "read_chunks",
    "read_table",
]

_HOMES = {
    "Adaptation": "ilspace.tables.job",
    "Verdict": "ilspace.tables.verdict",
    "adapt_files": "ilspace.tables.job",
}


def __getattr__(name: str) -> object:
    """Import what needs pandas when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ilspace.tables' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value
