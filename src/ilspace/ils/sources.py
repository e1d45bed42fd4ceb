"""Weights of several sources, found without target labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import cohen_kappa_score

from ilspace.backend import as_generator
from ilspace.domains import Domain, Domains
from ilspace.ils.plain import plain_map
from ilspace.ils.rounds import LANDMARKS, TRAINING_ROWS, TrainingRows
from ilspace.rules.ridge import laplacian_ridge
from ilspace.rules.self_training import selective_ridge

CONTRAST = 2.0
"""Power of the odds of agreement. Chosen among 1, 2 and 3 on two draws of SURF and one of deep
features of Office+Caltech10 that no table reports."""

_LEAST, _MOST = 0.02, 0.98
"""Bounds of an agreement: below, a source is as good as left out; above, chance decides."""


def source_agreement(domains: Domains, random_state: Any = None) -> np.ndarray:
    r"""How far each source alone agrees about the target with all sources together.

    A self-training rule in the plain space learns from all sources and predicts the target rows.
    The same rule, trained on the labels of one source alone, predicts them too; Cohen's
    :math:`\kappa` compares the two, which is 0 for an agreement by chance. A source that is unlike
    the target, or whose labels are wrong, agrees little. Labelled target rows are held out from
    the single sources.

    Parameters
    ----------
    domains : Domains
        Checked input with a target; of Dask collections a sample is read.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws rows where there are many.

    Returns
    -------
    ndarray of shape (n_sources,)
        At most 1.
    """
    rng, n_classes = as_generator(random_state), len(domains.classes)
    domains = _in_memory(domains, rng)
    rows, prior = TrainingRows(domains, rng), {"class_prior": domains.class_prior}
    ridge = laplacian_ridge(rows.side_by_side(plain_map(domains)), LANDMARKS, rng)
    together = selective_ridge(ridge, rows.codes, rows.weights, n_classes, **prior).codes
    owners = np.repeat(np.arange(len(rows.samples)), [len(each) for each in rows.samples])
    of_target = owners == len(domains.sources)

    def kappa(position: int) -> float:
        known = np.where(owners == position, rows.codes, -1)
        alone = selective_ridge(ridge, known, rows.weights, n_classes, **prior, n_steps=0).codes
        both = alone[of_target], together[of_target]
        return float(cohen_kappa_score(*both, labels=np.arange(n_classes)))

    return np.nan_to_num([kappa(position) for position in range(len(domains.sources))])


def weights_of_agreement(agreement: np.ndarray) -> np.ndarray:
    r"""Weights of sources: the squared odds of their agreement.

    .. math:: w_i \propto \Bigl(\frac{\kappa_i}{1 - \kappa_i}\Bigr)^2

    Parameters
    ----------
    agreement : ndarray of shape (n_sources,)
        From :func:`source_agreement`.

    Returns
    -------
    ndarray of shape (n_sources,)
        Positive, of sum 1.
    """
    bounded = np.clip(agreement, _LEAST, _MOST)
    weights = (bounded / (1 - bounded)) ** CONTRAST
    return weights / weights.sum()


def _in_memory(domains: Domains, rng: np.random.Generator) -> Domains:
    """The domains, or samples of them where the rows are elsewhere."""
    if isinstance(domains.target, Domain):
        return domains
    n_most = TRAINING_ROWS // (2 * len(domains.sources))
    sources = tuple(Domain(*each.sample(n_most, rng)) for each in domains.sources)
    target: Any = domains.target
    return Domains(
        sources,
        Domain(*target.sample(TRAINING_ROWS // 2, rng)),
        domains.classes,
        domains.shares_features,
        domains.class_prior,
    )
