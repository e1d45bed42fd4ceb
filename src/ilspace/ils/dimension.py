"""Dimension of a latent space, without labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ilspace.backend import on_host
from ilspace.domains import Domain, Domains, take_rows
from ilspace.ils.problem import DEFAULT_COMPONENTS
from ilspace.ils.settings import ObjectiveSettings

MOST_COMPONENTS = 100
"""Bound of the dimension that :func:`dimension` may choose."""

_ROWS, _ENTRIES = 2_000, 2**24
"""Most rows, and most entries of them, that are looked at."""


def dimension(domains: Domains, settings: ObjectiveSettings | None = None) -> int | None:
    """Dimension of the latent space in self-training.

    Parameters
    ----------
    domains : Domains
        Checked input, in memory.
    settings : ObjectiveSettings, optional
        What will be minimised: without shrinkage the covariances must have full rank.

    Returns
    -------
    int or None
        None, for the default of 30 or the rank of the target, unless the domains have the same
        columns and the target has more informative axes than 30: then their number, at most 100
        and less than the number of rows of any source; without shrinkage, also at most the rank of
        any source.
    """
    if not domains.shares_features or domains.target is None:
        return None
    n_most = min(MOST_COMPONENTS, *(source.n_rows - 1 for source in domains.sources))
    if settings is not None and settings.shrinkage == 0 and settings.trade_off > 0:
        spaces = (each.space(n_most, reduce=True, on_target_axes=False) for each in domains.sources)
        n_most = min(n_most, *(space.rank for space in spaces))
    found = min(n_informative_axes(domains.target), n_most)
    return found if found > DEFAULT_COMPONENTS else None


def n_informative_axes(domain: Domain) -> int:
    """Number of principal axes along which a domain varies more than without correlations.

    Horn's parallel analysis :cite:p:`horn1965`: the variances along the principal axes are compared
    with those of the same columns, each permuted on its own, which leaves their variances and
    destroys their correlations. Nothing is drawn at random, and up to 2,000 rows their order does
    not matter: they are sorted by length, and the permutations are fixed.

    Parameters
    ----------
    domain : Domain
        The target; of more than 2,000 rows evenly spaced ones are looked at.

    Returns
    -------
    int
        Their number. For each domain of Office+Caltech10: 15 to 74 of SURF features, 31 to 127 of
        deep ones.
    """
    n_rows = min(domain.n_rows, _ROWS, max(_ENTRIES // domain.n_features, 2))
    rows = _dense(domain, np.linspace(0, domain.n_rows - 1, n_rows).astype(int))
    rows = rows - rows.mean(axis=0)
    rows = rows[np.argsort(np.sum(rows**2, axis=1), kind="stable")]
    permuted = np.random.default_rng(0).permuted(rows, axis=0)
    n_axes = min(n_rows - 1, domain.n_features)
    exceeds = _variances(rows)[:n_axes] > _variances(permuted)[:n_axes]
    return int(np.argmin(exceeds))  # the sums are equal, so that not all can exceed


def _dense(domain: Domain, chosen: np.ndarray) -> np.ndarray:
    rows: Any = on_host(take_rows(domain.X, chosen))
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)


def _variances(rows: np.ndarray) -> np.ndarray:
    """Variances along the principal axes, times the number of rows, in descending order."""
    n, d = rows.shape
    return np.linalg.eigvalsh(rows @ rows.T if n < d else rows.T @ rows)[::-1]
