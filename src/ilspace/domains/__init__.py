"""Checked input: rows, labels and weights of all domains, in one frozen record."""

from ilspace.domains.checks import check_domains
from ilspace.domains.class_prior import check_class_prior
from ilspace.domains.domain import Domain, take_rows
from ilspace.domains.domains import Domains
from ilspace.domains.names import (
    check_domain,
    domain_numbers,
    domain_position,
    domain_positions,
    source_mask,
)
from ilspace.domains.several import split_domains

__all__ = [
    "Domain",
    "Domains",
    "check_class_prior",
    "check_domain",
    "check_domains",
    "domain_numbers",
    "domain_position",
    "domain_positions",
    "source_mask",
    "split_domains",
    "take_rows",
]
