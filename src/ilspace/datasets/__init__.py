"""Loaders that return records of domains, and the named preprocessings of their features."""

from ilspace.datasets._files import DataCorrupt, DataMissing, locate, search_roots
from ilspace.datasets.digits import load_digit_pair
from ilspace.datasets.domain import Domain
from ilspace.datasets.folders import load_domain, load_folder
from ilspace.datasets.office_caltech import load_office_caltech
from ilspace.datasets.preprocessing import PREPROCESSINGS, preprocess
from ilspace.datasets.table_domains import TableDomain, load_table_domains

__all__ = [
    "PREPROCESSINGS",
    "DataCorrupt",
    "DataMissing",
    "Domain",
    "TableDomain",
    "load_digit_pair",
    "load_domain",
    "load_folder",
    "load_office_caltech",
    "load_table_domains",
    "locate",
    "preprocess",
    "search_roots",
]
