"""Weights of several sources, found without target labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import cohen_kappa_score

from ilspace._typing import Array
from ilspace.backend import as_generator
from ilspace.domains import Domain, Domains, take_rows
from ilspace.ils.plain import plain_map
from ilspace.ils.ridge_rule import LANDMARKS, TRAINING_ROWS, TrainingRows
from ilspace.rules.ridge import laplacian_ridge
from ilspace.rules.self_training import ranks, selective_ridge

CONTRAST = 1.5
"""Power of the odds of agreement. Chosen among 1, 1.5 and 2 by target accuracy on three draws of
SURF and two of deep features of Office+Caltech10 that no table reports."""

_FOLDS = 3
"""Parts of a source that are predicted from the others."""

_LEAST, _MOST = 0.02, 0.98
"""Bounds of an agreement: below, a source is as good as left out; above, chance decides."""

_UNRELIABLE = 1 / 3
"""Reliability, relative to the largest, below which labels are taken for random. On draws of
Office+Caltech10 sources have 0.4 or more, and up to 0.25 where their labels are shuffled."""

_NOTHING = 1e-6
"""What is left of the weight of such a source: its rows may be next to those of the target, where
a small weight is enough to decide, and the space is learned with the fourth root."""


class SourceEvidence(NamedTuple):
    r"""What is known of several sources without target labels.

    Attributes
    ----------
    reliability : ndarray of shape (n_sources,)
        Cohen's :math:`\kappa` of the labels of a source and of what a rule predicts that was
        trained on other rows of that source: 0 for labels that are drawn at random.
    agreement : ndarray of shape (n_sources,)
        Cohen's :math:`\kappa` of what a rule of the source alone and a rule of all sources predict
        for the target rows: low for a source that is unlike the target. Of a source that lacks
        classes, for the rows of those that it has; of one with a single class nothing is known, so
        that it gets the median of the others. Without a target: of what a rule of the source alone
        predicts for the rows of all other sources, and of their labels.
    """

    reliability: np.ndarray
    agreement: np.ndarray


def source_evidence(domains: Domains, random_state: Any = None) -> SourceEvidence:
    """Find out how far several sources can be relied on, without target labels.

    All rules are kernel ridge regressions in the plain space, where nothing is learned from labels.
    That of all sources, which weighs each by its reliability, trains itself. Target labels, where
    some are known, are hidden from the rules of single sources.

    Parameters
    ----------
    domains : Domains
        Checked input; of Dask collections a sample is read.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws rows where there are many.

    Returns
    -------
    SourceEvidence
        Reliability and agreement of each source.
    """
    rng = as_generator(random_state)
    domains = _in_memory(domains, rng)
    rows = TrainingRows(domains, rng)
    with rows.threads():
        return _evidence(domains, rows, rng)


def _evidence(domains: Domains, rows: TrainingRows, rng: np.random.Generator) -> SourceEvidence:
    n_classes, prior = len(domains.classes), domains.class_prior
    placed = rows.side_by_side(plain_map(domains))
    owners = np.repeat(np.arange(len(rows.samples)), [len(each) for each in rows.samples])
    own = [np.flatnonzero(owners == i) for i in range(len(domains.sources))]
    held_out = [
        _held_out_agreement(take_rows(placed, each), rows.codes[each], n_classes, rng)
        for each in own
    ]
    reliability = _known(np.array(held_out))
    if domains.target is None:
        ridge = laplacian_ridge(placed, LANDMARKS, rng)
        found = [
            _agreement_elsewhere(ridge, rows.codes, owners == i, n_classes) for i in range(len(own))
        ]
        return SourceEvidence(reliability, _known(np.array(found)))
    trusted = np.maximum(reliability, _LEAST) / max(np.max(reliability), _LEAST)
    trusted = np.where(_are_random(reliability), _NOTHING, trusted)
    weights = rows.weights * np.append(trusted, 1.0)[owners]
    ridge = laplacian_ridge(placed, LANDMARKS, rng)
    together = selective_ridge(ridge, rows.codes, weights, n_classes, class_prior=prior).codes

    def agreement(position: int) -> float:
        known = np.where(owners == position, rows.codes, -1)
        alone = selective_ridge(
            ridge, known, rows.weights, n_classes, class_prior=prior, n_steps=0
        ).codes
        # of classes that a source has not got it cannot say anything
        asked = (owners == len(own)) & np.isin(together, rows.codes[own[position]])
        return _kappa(alone[asked], together[asked], n_classes)

    return SourceEvidence(reliability, _known(np.array([agreement(i) for i in range(len(own))])))


def _agreement_elsewhere(
    ridge: Any, codes: np.ndarray, is_own: np.ndarray, n_classes: int
) -> float:
    """Agreement of what a source alone says of the rows of all others with their labels."""
    known, weights = np.where(is_own, codes, -1), np.ones(len(codes))
    alone = selective_ridge(ridge, known, weights, n_classes, n_steps=0).codes
    asked = ~is_own & np.isin(codes, codes[is_own])
    return _kappa(alone[asked], codes[asked], n_classes)


def _held_out_agreement(
    rows: Array, codes: np.ndarray, n_classes: int, rng: np.random.Generator
) -> float:
    """Agreement of labels with what is predicted for each third of the rows from the others."""
    ridge = laplacian_ridge(rows, LANDMARKS, rng)
    fold = ranks(np.zeros(len(codes)), codes) % _FOLDS
    found = codes.copy()
    for number in range(_FOLDS):
        hidden = fold == number
        if hidden.any() and not hidden.all():
            left, weights = np.where(hidden, -1, codes), np.ones(len(codes))
            predicted = selective_ridge(ridge, left, weights, n_classes, n_steps=0).codes
            found[hidden] = predicted[hidden]
    return _kappa(found, codes, n_classes)


def _kappa(found: np.ndarray, wanted: np.ndarray, n_classes: int) -> float:
    """Cohen's kappa; NaN where fewer than two classes are wanted."""
    if len(np.unique(wanted)) < 2:
        return np.nan
    return float(cohen_kappa_score(found, wanted, labels=np.arange(n_classes)))


def _known(values: np.ndarray) -> np.ndarray:
    """Values with the median of the known ones in place of NaN; 0 where none is known."""
    known = values[~np.isnan(values)]
    return np.where(np.isnan(values), np.median(known) if len(known) else 0.0, values)


def weights_of_agreement(agreement: np.ndarray) -> np.ndarray:
    r"""Weights of sources: a power of the odds of their agreement.

    .. math:: w_i \propto \Bigl(\frac{\kappa_i}{1 - \kappa_i}\Bigr)^{3/2}

    Parameters
    ----------
    agreement : ndarray of shape (n_sources,)
        From :func:`source_evidence`.

    Returns
    -------
    ndarray of shape (n_sources,)
        Positive, of sum 1.
    """
    bounded = np.clip(agreement, _LEAST, _MOST)
    weights = (bounded / (1 - bounded)) ** CONTRAST
    return weights / weights.sum()


def weights_of_evidence(evidence: SourceEvidence) -> np.ndarray:
    """Weights of sources for a target: those of their agreement, unless labels seem random.

    Parameters
    ----------
    evidence : SourceEvidence
        From :func:`source_evidence`.

    Returns
    -------
    ndarray of shape (n_sources,)
        Positive, of sum 1.
    """
    weights = weights_of_agreement(evidence.agreement)
    weights = np.where(_are_random(evidence.reliability), _NOTHING * weights, weights)
    return weights / weights.sum()


def _are_random(reliability: np.ndarray) -> np.ndarray:
    """Which sources have labels that other rows of the source do not predict."""
    return reliability < _UNRELIABLE * max(np.max(reliability), _LEAST)


def weights_of_trust(evidence: SourceEvidence) -> np.ndarray:
    r"""Weights of sources without a target: equal, but for those that cannot be relied on.

    .. math:: w_i \propto \min\Bigl(1, \frac{2 r_i}{\operatorname{med} r}\Bigr)
        \min\Bigl(1, \frac{2 \kappa_i}{\operatorname{med} \kappa}\Bigr)

    Of two sources the second factor is left out: where they disagree it cannot tell who is right.
    Nothing says which source a domain to come is like: on draws of Office+Caltech10 that no table
    reports, weights that follow the agreement more closely cost 2 to 3 points against equal ones.

    Parameters
    ----------
    evidence : SourceEvidence
        Reliability r and agreement :math:`\kappa`, from :func:`source_evidence`.

    Returns
    -------
    ndarray of shape (n_sources,)
        Positive, of sum 1.
    """
    weights = np.ones(len(evidence.reliability))
    for values in evidence if len(weights) > 2 else evidence[:1]:
        half = max(np.median(values) / 2, _LEAST)
        weights *= np.clip(values / half, _LEAST, 1.0)
    return weights / weights.sum()


def _in_memory(domains: Domains, rng: np.random.Generator) -> Domains:
    """The domains, or samples of them where the rows are elsewhere."""
    if isinstance(domains.sources[0], Domain):
        return domains
    n_most = TRAINING_ROWS // (2 * len(domains.sources))
    sources = tuple(Domain(*each.sample(n_most, rng)) for each in domains.sources)
    if (prior := domains.class_prior) is not None:
        sources = tuple(each.with_class_shares(prior) for each in sources)
    target: Any = domains.target
    if target is not None:
        target = Domain(*target.sample(TRAINING_ROWS // 2, rng))
    return Domains(
        sources,
        target,
        domains.classes,
        domains.shares_features,
        domains.class_prior,
    )
