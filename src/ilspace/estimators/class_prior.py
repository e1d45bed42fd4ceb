"""Class shares of the target: what was asked for, and the domains that follow from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ilspace.backend import as_generator
from ilspace.domains import Domains, check_class_prior
from ilspace.domains.class_prior import check_several_classes, class_factors
from ilspace.ils import OnlineState
from ilspace.rules.class_prior import (
    LEAST_COUNTED,
    MOST_ROWS,
    ClassPriorEstimate,
    counted_class_prior,
    estimate_class_prior,
    in_source_scale,
)

_ENTRIES = 2**24
"""Most entries of the rows of a domain that an estimate looks at."""


class Assumed(NamedTuple):
    """Class shares that a fit assumes in the target.

    Attributes
    ----------
    shares : ndarray of shape (n_classes,)
        The shares; where nothing was asked for, those of the source.
    estimate : ClassPriorEstimate or None
        The estimate, where they were estimated.
    """

    shares: np.ndarray
    estimate: ClassPriorEstimate | None = None


def assume(asked: Any, domains: Domains, random_state: Any) -> tuple[Domains, Assumed]:
    """Weigh the domains as the class shares say.

    Parameters
    ----------
    asked : {"source", "auto"}, array-like or mapping
        The parameter `class_prior`.
    domains : Domains
        Checked input, in memory or on the workers.
    random_state : int, RandomState instance, Generator or None
        Draws rows for an estimate.

    Returns
    -------
    domains : Domains
        To learn from, without the classes of share 0.
    assumed : Assumed
        The shares.
    """
    if isinstance(asked, str) and asked == "source":
        shares = domains.source_shares
        return replace(domains.among(shares), class_prior=shares[shares > 0]), Assumed(shares)
    if isinstance(asked, str):
        estimate = _estimated(domains, as_generator(random_state))
        return domains.with_class_prior(estimate.shares), Assumed(estimate.shares, estimate)
    shares = check_class_prior(asked, domains.classes)
    return domains.with_class_prior(shares), Assumed(shares)


def _estimated(domains: Domains, rng: np.random.Generator) -> ClassPriorEstimate:
    if domains.target is None:
        raise ValueError(
            'class_prior="auto" estimates the class shares of a target, but there is none: pass '
            "Xt, or give the shares."
        )
    n_classes = len(domains.classes)
    counts = domains.target.class_counts(n_classes)
    all_known = domains.target.n_labelled == domains.target.n_rows
    counted = counted_class_prior(counts, all_known=all_known)
    if counted is not None:
        return counted
    if not domains.shares_features:
        raise ValueError(
            "Of domains with different columns the class shares can only be counted, in at least "
            f"{LEAST_COUNTED} randomly chosen target labels, but there are {counts.sum()}, or as "
            "many of each class: label more rows, or give class_prior."
        )
    n_most = min(MOST_ROWS, max(_ENTRIES // domains.target.n_features, 2))
    samples = [source.sample(n_most, rng) for source in domains.sources]
    X, codes, weights = (np.concatenate(each) for each in zip(*samples, strict=True))
    # shares of all rows, not of the drawn ones
    drawn = np.bincount(codes, weights, minlength=n_classes)
    weights = weights * class_factors(domains.source_shares, drawn)[codes]
    Xt, known, _ = domains.target.sample(n_most, rng)
    X, Xt = in_source_scale(X, Xt)
    return estimate_class_prior(X, codes, Xt, known, n_classes, rng=rng, weights=weights)


def assume_in_batches(
    model: Any, batch: Domains, before: OnlineState | None
) -> tuple[Domains, np.ndarray | None]:
    """Prepare a batch for class shares; its rows are weighed when all that came are known.

    Parameters
    ----------
    model : ILSTransformer
        Its `class_prior` is None, ``"source"``, array-like or a mapping; not changed.
    batch : Domains
        The batch, with all classes.
    before : OnlineState or None
        State after the previous batch; None for the first, which must have rows of two classes.

    Returns
    -------
    batch : Domains
        Without the classes of share 0; a domain that has no other rows is None.
    shares : ndarray of shape (n_classes,) or None
        The given shares; None where they are those of the source.
    """
    asked, shares = model.class_prior, None
    if asked is not None and not isinstance(asked, str):
        shares = check_class_prior(asked, batch.classes)
        kept = batch.among(shares)
        if before is None:
            check_several_classes(kept.source_shares)
        sources = tuple(None if each is None or each.n_rows == 0 else each for each in kept.sources)
        batch = replace(kept, sources=sources, class_prior=shares[shares > 0])
    if before is not None and not (
        before.seen[0].by_class is None
        if shares is None
        else np.array_equal(shares, model.class_prior_)
    ):
        raise ValueError(
            "class_prior must be that of the first call of partial_fit, but is another one: "
            "begin with a new estimator."
        )
    return batch, shares
