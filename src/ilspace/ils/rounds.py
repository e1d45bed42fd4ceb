"""Self-training around the invariant latent space: rounds of fits that learn from predictions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ilspace._typing import Array
from ilspace.backend import array_namespace, as_generator, one_thread
from ilspace.domains import Domain, Domains, take_rows
from ilspace.ils.dimension import dimension
from ilspace.ils.fit import fit_ils, threads_for
from ilspace.ils.map import ILSMap
from ilspace.ils.plain import PlainMap, plain_map
from ilspace.ils.settings import ObjectiveSettings
from ilspace.optimizers import STOCHASTIC_SOLVERS, Iterate, Status
from ilspace.rules.class_prior import LABEL_WEIGHT, sample_of_classes
from ilspace.rules.ridge import KernelExpansion, LaplacianRidge, laplacian_ridge, unit_rows
from ilspace.rules.self_training import (
    Prediction,
    empties_a_class,
    held_out_inverse_temperature,
    selective_ridge,
    surest,
)

N_ROUNDS = 2
"""Default number of rounds."""

SELECTED_WEIGHT = 0.5
"""Weight of a selected target row in the rule; a source row weighs 1."""

TRAINING_ROWS = 10_000
"""Most rows that the rule is trained on."""

LANDMARKS = 1_000
"""Rows in the expansion of a rule that has more than 2,500 training rows; else it has them all."""

FEW_ROWS = 1_500
"""Up to so many training rows one thread is faster than two."""

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


@dataclass(frozen=True)
class SelfTrained:
    """What self-training finds.

    Attributes
    ----------
    ils : ILSMap
        The latent space of the last round.
    plain : PlainMap
        The plain space.
    expansion : KernelExpansion
        The rule, on rows of both spaces side by side.
    inverse_temperature : float
        Factor of its scores whose softmax are probabilities; 1 where it was not asked for.
    rounds : tuple of Round
        What each round did.
    """

    ils: ILSMap
    plain: PlainMap
    expansion: KernelExpansion
    inverse_temperature: float
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
    few = one_thread() if len(rows.codes) <= FEW_ROWS else nullcontext()

    def fitted(selected: np.ndarray, codes: np.ndarray) -> ILSMap:
        labelled = rows.relabelled(domains, selected, codes)
        return fit_ils(labelled, random_state=rng, **options)

    def predicted(*spaces: Any) -> tuple[LaplacianRidge, Prediction]:
        ridge = laplacian_ridge(rows.side_by_side(*spaces), LANDMARKS, rng)
        return ridge, selective_ridge(
            ridge, rows.codes, rows.weights, n_classes, class_prior=domains.class_prior
        )

    n_most = PAIR_ROWS - sum(domain.n_labelled for domain in domains.all)
    if options.get("solver") in STOCHASTIC_SOLVERS:
        n_most = len(rows.free)
    free, ils, rounds = rows.free, None, []
    with few:
        ridge, found = predicted(plain)
        for number in range(1, n_rounds + 1):
            selected = free[surest(found.margins[free], found.codes[free], number / n_rounds)]
            selected = _at_most(n_most, selected, rng)
            space = fitted(selected, found.codes)
            next_ridge, new = predicted(plain, space)
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
            ridge, found = predicted(plain, ils)
        prior, scale = domains.class_prior, 1.0
        if calibrate:
            scale = rows.inverse_temperature(ridge, found, n_classes, class_prior=prior)
    return SelfTrained(ils, plain, found.expansion, scale, tuple(rounds))


def train_rule(ils: ILSMap, domains: Domains, rng: np.random.Generator) -> SelfTrained:
    """Train the rule of :func:`self_train` on the known labels alone, in a given latent space.

    Parameters
    ----------
    ils : ILSMap
        The latent space.
    domains : Domains
        Checked input, in memory; a target is not needed.
    rng : Generator
        Draws rows where there are many.

    Returns
    -------
    SelfTrained
        Without rounds.
    """
    rows, plain, n_classes = TrainingRows(domains, rng), plain_map(domains), len(domains.classes)
    ridge = laplacian_ridge(rows.side_by_side(plain, ils), LANDMARKS, rng)
    options: dict[str, Any] = {"class_prior": domains.class_prior, "n_steps": 0}
    found = selective_ridge(ridge, rows.codes, rows.weights, n_classes, **options)
    scale = rows.inverse_temperature(ridge, found, n_classes, **options)
    return SelfTrained(ils, plain, found.expansion, scale, ())


@dataclass(frozen=True)
class PlainTrained:
    """A self-training rule in the plain space alone.

    Attributes
    ----------
    plain : PlainMap
        The plain space.
    expansion : KernelExpansion
        The rule.
    inverse_temperature : float
        Factor of its scores whose softmax are probabilities.
    """

    plain: PlainMap
    expansion: KernelExpansion
    inverse_temperature: float


def train_plain_rule(domains: Domains, rng: np.random.Generator) -> PlainTrained:
    """Train the self-training rule in the plain space, without a latent one.

    Parameters
    ----------
    domains : Domains
        Checked input, in memory.
    rng : Generator
        Draws rows and landmarks where there are many.

    Returns
    -------
    PlainTrained
        The rule.
    """
    rows, plain, n_classes = TrainingRows(domains, rng), plain_map(domains), len(domains.classes)
    with one_thread() if len(rows.codes) <= FEW_ROWS else nullcontext():
        ridge = laplacian_ridge(rows.side_by_side(plain), LANDMARKS, rng)
        options: dict[str, Any] = {"class_prior": domains.class_prior}
        found = selective_ridge(ridge, rows.codes, rows.weights, n_classes, **options)
        temperature = rows.inverse_temperature(ridge, found, n_classes, **options)
    return PlainTrained(plain, found.expansion, temperature)


def both_spaces(X: Any, plain: PlainMap, ils: ILSMap, domain: int | np.ndarray) -> Array:
    """Rows in the plain and in the latent space side by side, each at length 1.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows; not checked.
    plain : PlainMap
        The plain space.
    ils : ILSMap
        The latent space.
    domain : int or ndarray of int, shape (n,)
        Index of their domain, or one per row.

    Returns
    -------
    array of shape (n, q + p)
        In the floating type of the rows.
    """
    mapped = [each.transform(X, domain) for each in (plain, ils)]
    return array_namespace(mapped[0]).concat([unit_rows(each) for each in mapped], axis=1)


class TrainingRows:
    """Rows that the rule is trained on: all, or a sample of each domain, the sources first.

    Parameters
    ----------
    domains : Domains
        Checked input, in memory.
    rng : Generator
        Draws the samples.

    Attributes
    ----------
    samples : list of ndarray of int
        Rows of each domain.
    codes : ndarray of int, shape (n,)
        Known classes of all of them; -1 where none is known.
    weights : ndarray of shape (n,)
        Their weights, once they have a class.
    free : ndarray of int
        Positions of those whose class is not known.
    """

    def __init__(self, domains: Domains, rng: np.random.Generator):
        sizes = [domain.n_rows for domain in domains.sources]
        n_target = 0 if domains.target is None else domains.target.n_rows
        # the sources together and the target have half each, or what the other leaves
        n_source = max(TRAINING_ROWS // 2, TRAINING_ROWS - n_target)
        self.samples = [
            sample_of_classes(domain.codes, n_source * domain.n_rows // sum(sizes), rng)
            for domain in domains.sources
        ]
        if domains.target is not None:
            n_target = max(TRAINING_ROWS // 2, TRAINING_ROWS - sum(sizes))
            self.samples.append(_sample_of_target(domains.target.codes, n_target, rng))
        chosen = list(zip(domains.all, self.samples, strict=True))
        self.rows = [
            Domain(take_rows(domain.X, sample), domain.codes[sample]).working_rows
            for domain, sample in chosen
        ]
        self.codes = np.concatenate([domain.codes[sample] for domain, sample in chosen])
        own = np.concatenate(
            [
                (factor * _own_weights(domain))[sample]
                for (domain, sample), factor in zip(chosen, domains.rule_factors, strict=True)
            ]
        )
        of_target = np.arange(len(own)) >= len(own) - len(self.samples[-1])
        if domains.target is None or domains.is_unseen:  # which holds source rows
            of_target[:] = False
        self.selected_weights = SELECTED_WEIGHT * own
        self.weights = np.where(of_target, LABEL_WEIGHT * own, own)
        self.weights[self.codes < 0] = self.selected_weights[self.codes < 0]
        self.free = np.flatnonzero(self.codes < 0)

    def side_by_side(self, *spaces: PlainMap | ILSMap) -> Array:
        """Rows in some spaces, each at length 1.

        Parameters
        ----------
        *spaces : PlainMap or ILSMap
            The spaces.

        Returns
        -------
        array of shape (n, q)
            The columns of all spaces side by side.
        """
        blocks = [
            [unit_rows(space.transform(X, position)) for space in spaces]
            for position, X in enumerate(self.rows)
        ]
        xp = array_namespace(blocks[0][0])
        return xp.concat([xp.concat(each, axis=1) for each in blocks], axis=0)

    def inverse_temperature(
        self, ridge: LaplacianRidge, found: Prediction, n_classes: int, **options: Any
    ) -> float:
        """Factor of the scores whose softmax are probabilities.

        Parameters
        ----------
        ridge : LaplacianRidge
            The regression, prepared for the rows.
        found : Prediction
            What the rule says of them.
        n_classes : int
            Number of classes.
        **options : object
            As for :func:`~ilspace.rules.self_training.selective_ridge`.

        Returns
        -------
        float
            The factor.
        """
        return held_out_inverse_temperature(
            ridge,
            self.codes,
            self.weights,
            n_classes,
            margins=found.margins,
            selected_weights=self.selected_weights,
            **options,
        )

    def relabelled(self, domains: Domains, selected: np.ndarray, codes: np.ndarray) -> Domains:
        """The domains with the predicted classes of selected rows as target labels.

        Parameters
        ----------
        domains : Domains
            The domains.
        selected : ndarray of int
            Selected rows, all of the target.
        codes : ndarray of int, shape (n,)
            Predicted classes of all rows.

        Returns
        -------
        Domains
            With more target labels.
        """
        n_source = sum(map(len, self.samples[:-1]))
        target: Any = domains.target
        labels = target.codes.copy()
        labels[self.samples[-1][selected - n_source]] = codes[selected]
        return replace(domains, target=target.with_codes(labels))


def _sample(n_rows: int, n_most: int, rng: np.random.Generator) -> np.ndarray:
    """Indices of all rows, or of a random sample in ascending order."""
    if n_rows <= n_most:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, max(n_most, 1), replace=False))


def _sample_of_target(codes: np.ndarray, n_most: int, rng: np.random.Generator) -> np.ndarray:
    """Indices of target rows, with as many labelled ones as possible."""
    labelled, free = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
    labelled = labelled[sample_of_classes(codes[labelled], n_most, rng)]
    if len(free):
        free = free[_sample(len(free), max(n_most - len(labelled), 1), rng)]
    return np.sort(np.concatenate([labelled, free]))


def _own_weights(domain: Domain) -> np.ndarray:
    return np.ones(domain.n_rows) if domain.weights is None else domain.weights


def _at_most(n_most: int, selected: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Selected rows, or a sample of them where a sum over all pairs would take too long."""
    n_most = max(n_most, PAIR_ROWS // 5)  # some, however many labels are known
    return selected[_sample(len(selected), n_most, rng)]


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
