"""Weights of several sources: what was asked for, and the domains that follow from it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ilspace.backend import on_host
from ilspace.domains import Domains
from ilspace.ils import ObjectiveSettings, source_evidence, weights_of_evidence, weights_of_trust


def weigh_sources(
    settings: ObjectiveSettings | None,
    domains: Domains,
    random_state: Any,
    *,
    verbose: int = 0,
    name: str = "fit_ils",
) -> Domains:
    """Weigh several sources as the settings say.

    Parameters
    ----------
    settings : ObjectiveSettings or None
        Its `source_weights` may be ``"equal"``, or one number per source; otherwise they are found
        without target labels.
    domains : Domains
        Checked input, in memory or on the workers.
    random_state : int, RandomState instance, Generator or None
        Draws rows where there are many.
    verbose : int, default=0
        1 writes the weights that were found on standard error.
    name : str, default="fit_ils"
        Prefix of that line.

    Returns
    -------
    Domains
        Itself for one source, from which nothing is drawn.
    """
    n_sources = len(domains.sources)
    asked = None if settings is None else settings.source_weights
    if asked is None and n_sources > 1:
        evidence = source_evidence(domains, random_state)
        if domains.target is None:
            weights = weights_of_trust(evidence)
        else:
            weights = weights_of_evidence(evidence)
        if verbose:
            pairs = zip(domains.names, weights, strict=False)  # the target has none
            listed = ", ".join(f"{source} {weight:.3f}" for source, weight in pairs)
            sys.stderr.write(f"[{name}] weights of the sources: {listed}\n")
        return domains.with_source_weights(weights)
    if asked is None or isinstance(asked, str):
        return domains
    weights = np.asarray(on_host(asked), dtype=np.float64)
    if weights.shape != (n_sources,) or not ((weights > 0) & (weights < np.inf)).all():
        raise ValueError(
            f"source_weights must hold one positive number per source, {n_sources} here, but is "
            f"{weights.tolist()!r:.200}: leave a source out that is to have no weight."
        )
    return domains.with_source_weights(weights)
