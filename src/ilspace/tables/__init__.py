"""Tables of one's own: from two tables to labels, and what is known of them."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ilspace.tables.answer import Answer
    from ilspace.tables.classifier import TableClassifier
    from ilspace.tables.job import adapt
    from ilspace.tables.reading import read_chunks, read_table
    from ilspace.tables.values import TableError

__all__ = ["Answer", "TableClassifier", "TableError", "adapt", "read_chunks", "read_table"]

_HOMES = {
    "Answer": "answer",
    "TableClassifier": "classifier",
    "TableError": "values",
    "adapt": "job",
    "read_chunks": "reading",
    "read_table": "reading",
}


def __getattr__(name: str) -> object:
    """Import what needs pandas when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ilspace.tables' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"ilspace.tables.{_HOMES[name]}"), name)
    return value
