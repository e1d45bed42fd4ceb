"""Loaders that return :class:`Domain` records, and the named preprocessings of their features."""

from ilspace.datasets._files import DataCorrupt, DataMissing, locate, search_roots
from ilspace.datasets.digits import load_digit_pair
from ilspace.datasets.domain import Domain
from ilspace.datasets.folders import load_domain, load_folder
from ilspace.datasets.office_caltech import load_office_caltech
from ilspace.datasets.preprocessing import PREPROCESSINGS, preprocess

__all__ = [
    "PREPROCESSINGS",
    "DataCorrupt",
    "DataMissing",
    "Domain",
    "load_digit_pair",
    "load_domain",
    "load_folder",
    "load_office_caltech",
    "locate",
    "preprocess",
    "search_roots",
]
