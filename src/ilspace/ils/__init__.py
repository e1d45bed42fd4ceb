"""The method itself, callable without an estimator.

``fit_ils(check_domains(X, y, Xt, yt))`` learns the maps of an invariant latent space, and
``update_ils`` continues batch by batch; :class:`ObjectiveSettings` defines what is minimised.
"""

from ilspace.ils.fit import fit_ils
from ilspace.ils.init import INITS
from ilspace.ils.map import ILSMap
from ilspace.ils.online import OnlineState, update_ils
from ilspace.ils.problem import ILSProblem, make_problem
from ilspace.ils.settings import ObjectiveSettings
from ilspace.ils.sources import (
    SourceEvidence,
    source_evidence,
    weights_of_agreement,
    weights_of_evidence,
    weights_of_trust,
)

__all__ = [
    "INITS",
    "ILSMap",
    "ILSProblem",
    "ObjectiveSettings",
    "OnlineState",
    "SourceEvidence",
    "fit_ils",
    "make_problem",
    "source_evidence",
    "update_ils",
    "weights_of_agreement",
    "weights_of_evidence",
    "weights_of_trust",
]
