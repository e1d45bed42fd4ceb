"""Rules that give rows a class: by their neighbours, by a linear model, by a kernel expansion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import has_fit_parameter

from ilspace._typing import Array
from ilspace.backend import array_namespace, like, to_numpy
from ilspace.domains import Domains
from ilspace.estimators.base import Position
from ilspace.ils import ILSMap
from ilspace.ils.map import as_dtype
from ilspace.ils.plain import PlainMap
from ilspace.ils.ridge_rule import both_spaces, train_rule
from ilspace.rules.neighbors import class_distances, mean_distances, vote
from ilspace.rules.ridge import KernelExpansion
from ilspace.rules.self_training import class_weights

_NEVER = -1e9
"""A logit that no row outweighs."""


class Rule:
    """Base of rules, which classify rows of any domain, given the latent space.

    Attributes
    ----------
    inverse_temperature : float
        Factor of the scores whose softmax are probabilities.
    """

    inverse_temperature: float

    def scores(self, ils: ILSMap, X: Any, position: Position) -> Array:
        """Scores of the classes, of shape (n, n_classes); the largest is the predicted one.

        Parameters
        ----------
        ils : ILSMap
            The latent space.
        X : array or sparse matrix of shape (n, d)
            Checked rows.
        position : int or ndarray
            Their domain.

        Returns
        -------
        array of shape (n, n_classes)
            The scores.
        """
        raise NotImplementedError

    def probabilities(self, scores: Array) -> Array:
        """Probabilities of the classes: the softmax of the scaled scores.

        Parameters
        ----------
        scores : array of shape (n, n_classes)
            What :meth:`scores` gave.

        Returns
        -------
        array of shape (n, n_classes)
            Rows sum to 1.
        """
        xp = array_namespace(scores)
        centred = scores - xp.max(scores, axis=1, keepdims=True)
        odds = xp.exp(self.inverse_temperature * centred)
        return odds / xp.sum(odds, axis=1, keepdims=True)


class LatentRows(NamedTuple):
    """Labelled rows of a domain in the latent space.

    Attributes
    ----------
    rows : array of shape (n, p)
        The rows.
    codes : ndarray of int, shape (n,)
        Positions of their classes in `classes_`.
    """

    rows: Array
    codes: np.ndarray


@dataclass(frozen=True)
class NearestRule(Rule):
    """The class of the nearest labelled row in the latent space.

    Attributes
    ----------
    labelled : tuple of LatentRows
        Labelled rows of each domain.
    source_vote : float or None
        Share of the source in the distance to a class, which is a mean of the distances to its
        nearest rows of both domains; None for the nearest of either. Of several sources the
        distance is the weighted mean of those to the nearest row of each.
    sharpness : float
        Sharpness of the loss, which is the inverse temperature of its odds.
    n_classes : int
        Number of classes.
    log_odds : tuple of ndarray of shape (n_classes,), or None
        For each domain, logarithms of the factors of these odds: the share of a class in the target
        over that among the labelled rows of the domain. None where nothing is said of the shares.
    source_shares : ndarray of shape (n_sources,) or None
        Weights of several sources in the distance to a class, of sum 1; None for one source.
    """

    labelled: tuple[LatentRows, ...]
    source_vote: float | None
    sharpness: float
    n_classes: int
    log_odds: tuple[np.ndarray, ...] | None = None
    source_shares: np.ndarray | None = None

    @property
    def inverse_temperature(self) -> float:
        """The sharpness: probabilities are the odds of the loss, normalised."""
        return self.sharpness

    @classmethod
    def fitted(cls, ils: ILSMap, domains: Domains) -> NearestRule:
        """Keep the labelled rows.

        Parameters
        ----------
        ils : ILSMap
            The latent space.
        domains : Domains
            The domains.

        Returns
        -------
        NearestRule
            Where the columns differ the source has a vote of 0.3, so that many source rows cannot
            drown a few target rows.
        """
        labelled = tuple(LatentRows(*each) for each in domains.latent_rows(ils))
        source_vote = None if domains.shares_features else 0.3
        n_classes, log_odds = len(domains.classes), None
        if domains.class_prior is not None:
            log_odds = tuple(_log_odds(domains.class_prior, codes) for _, codes in labelled)
        shares = domains.shares_of_sources if len(domains.sources) > 1 else None
        return cls(labelled, source_vote, ils.sharpness, n_classes, log_odds, shares)

    def scores(self, ils: ILSMap, X: Any, position: Position) -> Array:
        """Logarithms of the odds of the classes, over the sharpness.

        Parameters
        ----------
        ils, X, position : object
            As for :meth:`Rule.scores`.

        Returns
        -------
        array of shape (n, n_classes)
            Squared distances, negative, unless the shares of the classes say more.
        """
        return self.scores_of(self.distances(ils, X, position))

    def scores_of(self, distances: list[Array]) -> Array:
        """Scores from what :meth:`distances` gave.

        Parameters
        ----------
        distances : list of array of shape (n, n_classes)
            One per domain.

        Returns
        -------
        array of shape (n, n_classes)
            The scores.
        """
        if self.log_odds is not None:
            pairs = zip(distances, self.log_odds, strict=True)
            distances = [each - like(odds / self.sharpness, each)[None, :] for each, odds in pairs]
        return -self.combined(distances)

    def distances(self, ils: ILSMap, X: Any, position: Position) -> list[Array]:
        """Squared distances to the nearest labelled row of each class, for each domain.

        Parameters
        ----------
        ils : ILSMap
            The latent space.
        X : array or sparse matrix of shape (n, d)
            Checked rows.
        position : int or ndarray
            Their domain.

        Returns
        -------
        list of array of shape (n, n_classes)
            One per domain.
        """
        latent = ils.transform(X, position)
        found = (class_distances(latent, *each, self.n_classes) for each in self.labelled)
        return [as_dtype(each, latent.dtype) for each in found]

    def combined(self, distances: list[Array]) -> Array:
        """Distances to the rows of all domains together, as the vote says.

        Parameters
        ----------
        distances : list of array of shape (n, n_classes)
            One per domain.

        Returns
        -------
        array of shape (n, n_classes)
            The combined distances.
        """
        if len(distances) == 1:
            return distances[0]
        *from_sources, from_target = distances
        from_source = from_sources[0]
        if self.source_shares is not None:
            from_source = mean_distances(from_sources, self.source_shares)
        return as_dtype(vote(from_source, from_target, self.source_vote), from_source.dtype)


@dataclass(frozen=True)
class LinearRule(Rule):
    """Logistic regression in the latent space.

    Attributes
    ----------
    weights : array of shape (p, n_classes)
        Coefficients.
    intercept : array of shape (n_classes,)
        Intercepts.
    """

    weights: Array
    intercept: Array

    inverse_temperature = 1.0

    @classmethod
    def fitted(cls, ils: ILSMap, domains: Domains) -> LinearRule:
        """Train on the labelled rows.

        Parameters
        ----------
        ils : ILSMap
            The latent space.
        domains : Domains
            The domains.

        Returns
        -------
        LinearRule
            The model, of the columns of the latent space scaled to a mean square of 1.
        """
        rows, codes, weights = _labelled_rows(ils, domains)
        scale = 1 / (np.sqrt(np.mean(rows**2)) or 1.0)
        model = LogisticRegression(max_iter=1000).fit(scale * rows, codes, weights)
        coef, intercept = scale * model.coef_, model.intercept_
        if len(coef) == 1:  # of two classes the second alone
            coef, intercept = np.vstack([-coef, coef]) / 2, np.r_[-intercept, intercept] / 2
        if len(coef) < len(domains.classes):  # a class without labelled rows
            missing = np.setdiff1d(np.arange(len(domains.classes)), model.classes_)
            places = missing - np.arange(len(missing))
            coef = np.insert(coef, places, 0.0, axis=0)
            intercept = np.insert(intercept, places, _NEVER)
        return cls(like(coef.T.copy(), ils.metric), like(intercept, ils.metric))

    def scores(self, ils: ILSMap, X: Any, position: Position) -> Array:
        """Logits.

        Parameters
        ----------
        ils, X, position : object
            As for :meth:`Rule.scores`.

        Returns
        -------
        array of shape (n, n_classes)
            The scores.
        """
        latent = ils.transform(X, position)
        return latent @ as_dtype(self.weights, latent.dtype) + as_dtype(
            self.intercept, latent.dtype
        )


@dataclass(frozen=True)
class RidgeRule(Rule):
    """Kernel ridge regression of rows in the plain and the latent space side by side.

    Attributes
    ----------
    plain : PlainMap
        The plain space.
    expansion : KernelExpansion
        Scores of the classes. Its landmarks are rows of both domains, in both spaces.
    inverse_temperature : float
        Factor of the scores whose softmax are probabilities.
    """

    plain: PlainMap
    expansion: KernelExpansion
    inverse_temperature: float

    @classmethod
    def fitted(cls, ils: ILSMap, domains: Domains, rng: np.random.Generator) -> RidgeRule:
        """Train on the labelled rows, without self-training.

        Parameters
        ----------
        ils : ILSMap
            The latent space.
        domains : Domains
            The domains, in memory.
        rng : Generator
            Draws rows where there are many.

        Returns
        -------
        RidgeRule
            The rule.
        """
        return cls(*train_rule(ils, domains, rng))

    def scores(self, ils: ILSMap, X: Any, position: Position) -> Array:
        """Values of the expansion.

        Parameters
        ----------
        ils, X, position : object
            As for :meth:`Rule.scores`.

        Returns
        -------
        array of shape (n, n_classes)
            The scores.
        """
        rows = both_spaces(X, self.plain, ils, position)
        found = self.expansion.scores(as_dtype(rows, self.expansion.landmarks.dtype))
        return as_dtype(found, rows.dtype)


@dataclass(frozen=True)
class OwnRule(Rule):
    """A scikit-learn classifier in the latent space.

    Attributes
    ----------
    classifier : estimator
        Fitted to the positions of the classes in `classes_`.
    n_classes : int
        Number of classes.
    """

    classifier: Any
    n_classes: int

    @classmethod
    def fitted(cls, ils: ILSMap, domains: Domains, classifier: Any) -> OwnRule:
        """Train a clone of a classifier on the labelled rows.

        Parameters
        ----------
        ils : ILSMap
            The latent space.
        domains : Domains
            The domains.
        classifier : estimator
            The classifier, not fitted.

        Returns
        -------
        OwnRule
            The rule.
        """
        rows, codes, weights = _labelled_rows(ils, domains)
        options = {}
        if weights is not None and has_fit_parameter(classifier, "sample_weight"):
            options["sample_weight"] = weights
        return cls(clone(classifier).fit(rows, codes, **options), len(domains.classes))

    def scores(self, ils: ILSMap, X: Any, position: Position) -> Array:
        """Probabilities where the classifier has them, else 1 for its class.

        Parameters
        ----------
        ils, X, position : object
            As for :meth:`Rule.scores`.

        Returns
        -------
        array of shape (n, n_classes)
            The scores.
        """
        latent = to_numpy(ils.transform(X, position))
        found = np.zeros((len(latent), self.n_classes))
        if hasattr(self.classifier, "predict_proba"):
            found[:, self.classifier.classes_] = self.classifier.predict_proba(latent)
        else:
            found[np.arange(len(latent)), self.classifier.predict(latent)] = 1.0
        return found

    def probabilities(self, scores: Array) -> Array:
        """The scores; see :class:`Rule`.

        Parameters
        ----------
        scores : array of shape (n, n_classes)
            The scores.

        Returns
        -------
        array of shape (n, n_classes)
            The same.
        """
        return scores


RULES = {"nearest": NearestRule, "linear": LinearRule, "ridge": RidgeRule}
"""Rules by name."""


def _log_odds(class_prior: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Logarithms of the shares of classes over those among some rows; 0 where there are none."""
    counts = np.bincount(codes, minlength=len(class_prior))
    has = (counts > 0) & (class_prior > 0)
    return np.log(np.where(has, class_prior * len(codes) / np.maximum(counts, 1), 1.0))


def _labelled_rows(
    ils: ILSMap, domains: Domains
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Labelled rows of all domains in the latent space, on the host; classes and weights."""
    latent = domains.latent_rows(ils)
    rows = np.concatenate([to_numpy(each).astype(np.float64) for each, _ in latent])
    codes = np.concatenate([codes for _, codes in latent])
    prior = domains.class_prior
    equal = domains.source_weights is None and all(each.weights is None for each in domains.all)
    if prior is None and equal and not domains.is_unseen:
        return rows, codes, None
    parts = zip(domains.all, latent, domains.rule_factors, strict=True)
    weights = [factor * domain.weights_of(each) for domain, (_, each), factor in parts]
    weights = np.concatenate(weights)
    if prior is not None:
        weights = class_weights(codes, weights, len(prior), prior)
    return rows, codes, weights
