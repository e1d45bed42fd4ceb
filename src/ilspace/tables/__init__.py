"""Tables of one's own: from two files to labels, a model and a report."""

from ilspace.estimators import load  # here all kinds of models are known
from ilspace.tables.classifier import TableClassifier
from ilspace.tables.errors import TableError
from ilspace.tables.reading import read_chunks, read_table

__all__ = ["TableClassifier", "TableError", "load", "read_chunks", "read_table"]
