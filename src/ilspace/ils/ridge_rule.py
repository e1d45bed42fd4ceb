"""The kernel ridge rule on rows of the plain and the latent space, and what it is trained on."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ilspace._typing import Array
from ilspace.backend import array_namespace, one_thread
from ilspace.domains import Domains, take_rows
from ilspace.domains.domain import working
from ilspace.ils.map import ILSMap
from ilspace.ils.plain import PlainMap, plain_map
from ilspace.rules.class_prior import LABEL_WEIGHT, sample_of_classes
from ilspace.rules.ridge import KernelExpansion, LaplacianRidge, laplacian_ridge, unit_rows
from ilspace.rules.self_training import Prediction, held_out_inverse_temperature, selective_ridge

SELECTED_WEIGHT = 0.5
"""Weight of a selected target row in the rule; a source row weighs 1."""

TRAINING_ROWS = 10_000
"""Most rows that the rule is trained on."""

LANDMARKS = 1_000
"""Rows in the expansion of a rule that has more than 2,500 training rows; else it has them all."""

FEW_ROWS = 1_500
"""Up to so many training rows one thread is faster than two."""


class TrainedRule(NamedTuple):
    """A kernel ridge rule in the plain space, or on rows of it and of a latent space.

    Attributes
    ----------
    plain : PlainMap
        The plain space.
    expansion : KernelExpansion
        Scores of the classes.
    inverse_temperature : float
        Factor of the scores whose softmax are probabilities; 1 where it was not asked for.
    """

    plain: PlainMap
    expansion: KernelExpansion
    inverse_temperature: float


def train_rule(ils: ILSMap, domains: Domains, rng: np.random.Generator) -> TrainedRule:
    """Train the rule on the known labels alone, in the plain and a given latent space.

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
    TrainedRule
        The rule.
    """
    rows, plain = TrainingRows(domains, rng), plain_map(domains)
    ridge, found = rows.predict(plain, ils, rng=rng, n_steps=0)
    scale = rows.inverse_temperature(ridge, found, n_steps=0)
    return TrainedRule(plain, found.expansion, scale)


def train_plain_rule(domains: Domains, rng: np.random.Generator) -> TrainedRule:
    """Train the self-training rule in the plain space, without a latent one.

    Parameters
    ----------
    domains : Domains
        Checked input, in memory.
    rng : Generator
        Draws rows and landmarks where there are many.

    Returns
    -------
    TrainedRule
        The rule.
    """
    rows, plain = TrainingRows(domains, rng), plain_map(domains)
    with rows.threads():
        ridge, found = rows.predict(plain, rng=rng)
        return TrainedRule(plain, found.expansion, rows.inverse_temperature(ridge, found))


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
    n_classes : int
        Number of classes.
    class_prior : ndarray of shape (n_classes,) or None
        Shares of the classes that the rule is to assume.
    """

    def __init__(self, domains: Domains, rng: np.random.Generator):
        self.n_classes, self.class_prior = len(domains.classes), domains.class_prior
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
        self.rows = [working(take_rows(domain.X, sample)) for domain, sample in chosen]
        self.codes = np.concatenate([domain.codes[sample] for domain, sample in chosen])
        own = np.concatenate(
            [
                (factor * domain.row_weights)[sample]
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

    def predict(
        self, *spaces: PlainMap | ILSMap, rng: np.random.Generator, **options: Any
    ) -> tuple[LaplacianRidge, Prediction]:
        """Train a selective ridge on the rows in some spaces, and predict those without a class.

        Parameters
        ----------
        *spaces : PlainMap or ILSMap
            The spaces.
        rng : Generator
            Draws landmarks where there are many rows.
        **options : object
            As for :func:`~ilspace.rules.self_training.selective_ridge`.

        Returns
        -------
        ridge : LaplacianRidge
            The regression, prepared for the rows.
        found : Prediction
            What the rule says of them.
        """
        ridge = laplacian_ridge(self.side_by_side(*spaces), LANDMARKS, rng)
        found = selective_ridge(
            ridge, self.codes, self.weights, self.n_classes, class_prior=self.class_prior, **options
        )
        return ridge, found

    def inverse_temperature(
        self, ridge: LaplacianRidge, found: Prediction, **options: Any
    ) -> float:
        """Factor of the scores whose softmax are probabilities.

        Parameters
        ----------
        ridge : LaplacianRidge
            The regression, prepared for the rows.
        found : Prediction
            What the rule says of them.
        **options : object
            As for :meth:`predict`.

        Returns
        -------
        float
            The factor.
        """
        return held_out_inverse_temperature(
            ridge,
            self.codes,
            self.weights,
            self.n_classes,
            margins=found.margins,
            selected_weights=self.selected_weights,
            class_prior=self.class_prior,
            **options,
        )

    def threads(self) -> AbstractContextManager[None]:
        """A limit of the number of threads while the rule is trained, where that is faster."""
        return one_thread() if len(self.codes) <= FEW_ROWS else nullcontext()

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


def sample_rows(n_rows: int, n_most: int, rng: np.random.Generator) -> np.ndarray:
    """Indices of all rows, or of a random sample in ascending order.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    n_most : int
        Most rows to draw; one is drawn in any case.
    rng : Generator
        Draws them.

    Returns
    -------
    ndarray of int
        The indices.
    """
    if n_rows <= n_most:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, max(n_most, 1), replace=False))


def _sample_of_target(codes: np.ndarray, n_most: int, rng: np.random.Generator) -> np.ndarray:
    """Indices of target rows, with as many labelled ones as possible."""
    labelled, free = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
    labelled = labelled[sample_of_classes(codes[labelled], n_most, rng)]
    if len(free):
        free = free[sample_rows(len(free), max(n_most - len(labelled), 1), rng)]
    return np.sort(np.concatenate([labelled, free]))
