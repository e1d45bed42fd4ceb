"""Self-training around the invariant latent space: rounds of fits that learn from predictions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ilspace.backend import as_generator
from ilspace.domains import Domains
from ilspace.ils.dimension import dimension
from ilspace.ils.fit import fit_ils, threads_for
from ilspace.ils.map import ILSMap
from ilspace.ils.plain import plain_map
from ilspace.ils.ridge_rule import TrainedRule, TrainingRows, sample_rows
from ilspace.ils.settings import ObjectiveSettings
from ilspace.optimizers import STOCHASTIC_SOLVERS, Iterate, Status
from ilspace.rules.self_training import empties_a_class, surest

N_ROUNDS = 2
"""Default number of rounds."""

PAIR_ROWS = 5_000
"""Most labelled rows, selected ones included, of a fit that sums over all pairs."""


class Round(NamedTuple):
    """What a round of self-training did.

    Attributes
    ----------
    n_selected : int
        Target rows whose predicted classes the latent space was learned with.
    changed : float
        Share of the predictions that changed.
    n_iter : int
        Iterations of the fit.
    status : Status
        How it ended.
    kept : bool
        False where the round left a class without predictions, and was undone.
    """

    n_selected: int
    changed: float
    n_iter: int
    status: Status
    kept: bool


class SelfTrained(NamedTuple):
    """What self-training finds.

    Attributes
    ----------
    ils : ILSMap
        The latent space of the last round.
    rule : TrainedRule
        On rows of the plain and the latent space side by side.
    rounds : tuple of Round
        What each round did.
    """

    ils: ILSMap
    rule: TrainedRule
    rounds: tuple[Round, ...]


def self_train(
    domains: Domains,
    *,
    n_rounds: int = N_ROUNDS,
    calibrate: bool = True,
    random_state: Any = None,
    verbose: int = 0,
    callback: Callable[[int, Iterate], object] | None = None,
    name: str = "self_train",
    **method: Any,
) -> SelfTrained:
    r"""Learn an invariant latent space in rounds, each with more of the predictions as labels.

    A selective ridge (:func:`~ilspace.rules.self_training.selective_ridge`) in a plain space,
    :func:`~ilspace.ils.plain.plain_map`, predicts the target rows. In round t of T the surest t/T
    of the predictions of each class, chosen anew, join the labels; :func:`~ilspace.ils.fit_ils`
    learns the latent space from them, and a selective ridge that sees both spaces predicts anew. A
    round that leaves a class without predictions is undone, and the rounds end.

    Parameters
    ----------
    domains : Domains
        Checked input, in memory, with a target.
    n_rounds : int, default=2
        Number T of rounds.
    calibrate : bool, default=True
        Whether to find the inverse temperature of the rule, which costs as much as half a round.
    random_state : int, RandomState instance, Generator or None, default=None
        Source of randomness of the fits, and of samples where there are many rows.
    verbose : int, default=0
        1 writes a line on standard error for each round, besides those of the fits.
    callback : callable, optional
        Called in each fit, as :func:`~ilspace.ils.fit_ils` does; a true return value ends that fit
        and the rounds.
    name : str, default="self_train"
        Prefix of the lines on standard error.
    **method : object
        Other parameters of :func:`~ilspace.ils.fit_ils`; `n_components` is by default that of
        :func:`~ilspace.ils.dimension.dimension`.

    Returns
    -------
    SelfTrained
        The latent space and the rule.
    """
    rng, n_classes = as_generator(random_state), len(domains.classes)
    rows, stop = TrainingRows(domains, rng), _Stop(callback)
    options = {"verbose": verbose, "callback": callback and stop, "name": name, **method}
    with threads_for(domains.all):
        plain = plain_map(domains)
        if options.get("n_components") is None and isinstance(options.get("init", "auto"), str):
            settings = options.get("objective") or ObjectiveSettings()
            options["n_components"] = dimension(domains, settings)

    def fitted(selected: np.ndarray, codes: np.ndarray) -> ILSMap:
        labelled = rows.relabelled(domains, selected, codes)
        return fit_ils(labelled, random_state=rng, **options)

    n_most = PAIR_ROWS - sum(domain.n_labelled for domain in domains.all)
    if options.get("solver") in STOCHASTIC_SOLVERS:
        n_most = len(rows.free)
    free, ils, rounds = rows.free, None, []
    with rows.threads():
        ridge, found = rows.predict(plain, rng=rng)
        for number in range(1, n_rounds + 1):
            selected = free[surest(found.margins[free], found.codes[free], number / n_rounds)]
            selected = _at_most(n_most, selected, rng)
            space = fitted(selected, found.codes)
            next_ridge, new = rows.predict(plain, space, rng=rng)
            kept = not empties_a_class(found.codes[free], new.codes[free], n_classes)
            changed = float(np.mean(found.codes[free] != new.codes[free])) if len(free) else 0.0
            solution = space.solution
            rounds.append(Round(len(selected), changed, solution.n_iter, solution.status, kept))
            if verbose:
                _report(rounds, n_rounds, name)
            if kept:
                ils, ridge, found = space, next_ridge, new
            if stop.is_asked_for or not kept or len(free) == 0:
                break
        if ils is None:  # back to the known labels
            ils = fitted(free[:0], found.codes)
            ridge, found = rows.predict(plain, ils, rng=rng)
        scale = rows.inverse_temperature(ridge, found) if calibrate else 1.0
    return SelfTrained(ils, TrainedRule(plain, found.expansion, scale), tuple(rounds))


def _at_most(n_most: int, selected: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Selected rows, or a sample of them where a sum over all pairs would take too long."""
    n_most = max(n_most, PAIR_ROWS // 5)  # some, however many labels are known
    return selected[sample_rows(len(selected), n_most, rng)]


class _Stop:
    """A callback that remembers whether the user's asked to stop."""

    def __init__(self, callback: Callable[[int, Iterate], object] | None):
        self.callback, self.is_asked_for = callback, False

    def __call__(self, count: int, now: Iterate) -> bool:
        if self.callback is not None and self.callback(count, now):
            self.is_asked_for = True
        return self.is_asked_for


def _report(rounds: list[Round], n_rounds: int, name: str) -> None:
    last = rounds[-1]
    undone = "" if last.kept else "; undone, since a class was left without predictions"
    sys.stderr.write(
        f"[{name}] round {len(rounds)} of {n_rounds}: {last.n_selected} predictions selected, "
        f"{last.changed:.1%} changed{undone}\n"
    )
