"""Classifiers that a committee asks, and how each sees two tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from ilspace.backend import as_generator
from ilspace.domains import Domain, Domains
from ilspace.domains.labels import encode_source, encode_target
from ilspace.estimators import ILSClassifier
from ilspace.estimators.persistence import Fitted, loadable
from ilspace.ils.map import to_latent
from ilspace.ils.plain import PLAIN_MAP
from ilspace.ils.ridge_rule import train_plain_rule
from ilspace.rules.class_prior import LABEL_WEIGHT
from ilspace.rules.ridge import EXPANSION, unit_rows
from ilspace.rules.self_training import class_weights
from ilspace.storage import ModelFileError, schema

_MOST_DIMENSIONS = 100
"""Mean squared length of the rows that a logistic regression sees, or their columns if fewer."""

_NEVER = -1e6
"""Intercept of a class that is never predicted."""

_SMALL = schema.Check("be at most 1e100", lambda weights: np.all(np.abs(weights) <= 1e100))
"""What a file may hold: larger numbers give no probabilities."""

_POSITION = {"source": 0, "target": -1}


class TwoTables(ClassifierMixin, BaseEstimator):
    """A classifier of rows of the same columns in two tables.

    Parameters
    ----------
    class_prior : array-like of shape (n_classes,), default=None
        Shares of the classes in the target, by which labelled rows are weighed.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws rows where there are many.
    """

    _revision: ClassVar[int] = 1

    _parameter_constraints = {
        "class_prior": ["array-like", None],
        "random_state": ["random_state"],
    }

    classes_: np.ndarray

    def __init__(self, class_prior=None, random_state=None):
        self.class_prior = class_prior
        self.random_state = random_state

    def fit(self, X, y, Xt=None, yt=None, *, sample_weight=None):
        """Learn from labelled rows of a table, and rows of another one.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Rows of the source.
        y : ndarray of shape (n,)
            Their labels.
        Xt : ndarray of shape (nt, d), optional
            Rows of the target.
        yt : ndarray of shape (nt,), optional
            Their labels, None for a row without.
        sample_weight : ndarray of shape (n,), optional
            Positive weights of the source rows.

        Returns
        -------
        self
            Fitted.
        """
        self.classes_, codes = encode_source(y)
        if Xt is None:
            Xt = np.zeros((0, X.shape[1]))
        target = Domain(Xt, encode_target(yt, self.classes_, len(Xt)))
        self.n_features_in_ = X.shape[1]
        self._learn(Domain(X, codes, sample_weight), target)
        return self

    def _learn(self, source: Domain, target: Domain) -> None:
        raise NotImplementedError

    def predict(self, X, domain="target"):
        """Class of each row.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Rows of one table.
        domain : {"target", "source"}, default="target"
            Which one.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        return self.classes_[self.predict_proba(X, domain).argmax(axis=1)]

    def predict_proba(self, X, domain="target"):
        """Probabilities of the classes.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Rows of one table.
        domain : {"target", "source"}, default="target"
            Which one.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Rows sum to 1.
        """
        raise NotImplementedError


@loadable
class LogisticRule(TwoTables):
    """Logistic regression on the labelled rows of both tables, as if they were one.

    A labelled target row weighs as much as three source rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    coef_ : ndarray of shape (n_classes, n_features)
        Coefficients of the scores.
    intercept_ : ndarray of shape (n_classes,)
        Their intercepts; large and negative for a class of share 0.
    """

    _schema = {
        "classes_": schema.ArrayOf(("c",), kinds="biufUO", check=schema.NOT_EMPTY),
        "coef_": schema.ArrayOf(("c", "d"), check=_SMALL),
        "intercept_": schema.ArrayOf(("c",), check=_SMALL),
    }

    def _learn(self, source: Domain, target: Domain) -> None:
        labelled = target.codes >= 0
        rows = np.concatenate([source.X, target.X[labelled]])
        codes = np.concatenate([source.codes, target.codes[labelled]])
        weights = np.append(source.labelled_weights, np.full(labelled.sum(), LABEL_WEIGHT))
        self._regress(rows, codes, weights)

    def _regress(self, rows: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> None:
        """Fit the coefficients to labelled rows."""
        n_classes = len(self.classes_)
        if self.class_prior is not None:
            prior = np.asarray(self.class_prior, dtype=np.float64)
            weights = class_weights(codes, weights, n_classes, prior)
        used = weights > 0
        rows, codes, weights = rows[used], codes[used], weights[used]
        self.coef_ = np.zeros((n_classes, rows.shape[1]))
        self.intercept_ = np.full(n_classes, _NEVER)
        if len(np.unique(codes)) < 2:
            self.intercept_[codes[:1]] = 0.0
            return
        length = np.sqrt(np.mean(np.sum(rows**2, axis=1))) or 1.0
        scale = np.sqrt(min(rows.shape[1], _MOST_DIMENSIONS)) / length
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # probabilities hardly move
            rule = LogisticRegression(max_iter=300).fit(scale * rows, codes, weights)
        coef, intercept = rule.coef_, rule.intercept_
        if len(rule.classes_) == 2:  # scikit-learn gives the second class alone
            coef = np.concatenate([-coef, coef]) / 2
            intercept = np.concatenate([-intercept, intercept]) / 2
        self.coef_[rule.classes_], self.intercept_[rule.classes_] = scale * coef, intercept

    def _restored(self):
        self.n_features_in_ = self.coef_.shape[1]

    def predict_proba(self, X, domain="target"):
        """Probabilities of the classes.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Rows of one table.
        domain : {"target", "source"}, default="target"
            Which one: both are treated alike.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Rows sum to 1.
        """
        return softmax(X @ self.coef_.T + self.intercept_, axis=1)


@loadable
class TargetLogisticRule(LogisticRule):
    """Logistic regression on the labelled target rows alone."""

    def _learn(self, source: Domain, target: Domain) -> None:
        labelled = target.codes >= 0
        if not labelled.any():
            raise ValueError(
                "The method linear-target learns from labelled target rows, but none has a label: "
                "label some, or choose another method."
            )
        self._regress(target.X[labelled], target.codes[labelled], np.ones(labelled.sum()))


@loadable
class PlainSelfTraining(TwoTables):
    """The self-training rule of ILSClassifier on principal axes of both tables, each centred.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    codes_ : ndarray of int
        Positions of the classes that have a share.
    plain_ : PlainMap
        The principal axes.
    expansion_ : KernelExpansion
        The rule.
    inverse_temperature_ : float
        Factor of its scores whose softmax are probabilities.
    """

    _schema = {
        "classes_": schema.ArrayOf(("all",), kinds="biufUO", check=schema.NOT_EMPTY),
        "codes_": schema.ArrayOf(("c",), kinds="i", check=schema.NOT_EMPTY),
        "plain_": PLAIN_MAP,
        "expansion_": EXPANSION,
        "inverse_temperature_": schema.Value(float, check=schema.POSITIVE),
    }

    def _learn(self, source: Domain, target: Domain) -> None:
        domains = Domains((source,), target, self.classes_, True)
        self.codes_ = np.arange(len(self.classes_))
        if self.class_prior is not None:
            prior = np.asarray(self.class_prior, dtype=np.float64)
            domains, self.codes_ = domains.with_class_prior(prior), np.flatnonzero(prior)
        found = train_plain_rule(domains, as_generator(self.random_state))
        self.plain_, self.expansion_ = found.plain, found.expansion
        self.inverse_temperature_ = found.inverse_temperature

    def _restored(self):
        self.n_features_in_ = len(self.plain_.means[0])
        if not np.isin(self.codes_, np.arange(len(self.classes_))).all():
            raise ModelFileError("its rule knows other classes than it has")

    def predict_proba(self, X, domain="target"):
        """Probabilities of the classes.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Rows of one table.
        domain : {"target", "source"}, default="target"
            Which one: each is centred by itself.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Rows sum to 1.
        """
        plain = self.plain_
        rows = unit_rows(to_latent(X, plain.means, plain.maps, _POSITION[domain]))
        found = np.zeros((len(rows), len(self.classes_)))
        scores = self.inverse_temperature_ * self.expansion_.scores(rows)
        found[:, self.codes_] = softmax(scores, axis=1)
        return found


@dataclass(frozen=True)
class Member:
    """A kind of classifier that can be asked.

    Attributes
    ----------
    about : str
        What it is, in a few words.
    scaling : {"source", "own"}
        Whether the target is scaled as the source is, as if there were one table, or by itself.
    adapts : bool
        Whether it learns from target rows without labels.
    make : callable
        Called with `class_prior` and `random_state`, gives an estimator.
    sums_pairs : bool, default=False
        Whether a fit takes the square of the labelled rows, so that it sees a sample of many.
    """

    about: str
    scaling: str
    adapts: bool
    make: Callable[..., Any]
    sums_pairs: bool = False


MEMBERS: Mapping[str, Member] = MappingProxyType(
    {
        "linear": Member(
            "logistic regression, both tables in the source's scaling",
            "source",
            False,
            LogisticRule,
        ),
        "linear-own": Member(
            "logistic regression, each table scaled by itself", "own", False, LogisticRule
        ),
        "self-training": Member(
            "self-training, both tables in the source's scaling",
            "source",
            True,
            PlainSelfTraining,
        ),
        "self-training-own": Member(
            "self-training, each table scaled by itself", "own", True, PlainSelfTraining
        ),
        "ils": Member(
            "invariant latent space with self-training",
            "own",
            True,
            ILSClassifier,
            sums_pairs=True,
        ),
    }
)
"""The members of the committee, by name."""

METHODS: Mapping[str, Member] = MappingProxyType(
    {
        **MEMBERS,
        "linear-target": Member(
            "logistic regression on the target labels alone", "own", False, TargetLogisticRule
        ),
    }
)
"""All that can be asked alone."""


@dataclass(frozen=True)
class Asked:
    """A member after its fit.

    Attributes
    ----------
    name : str
        Its name.
    scaling : {"source", "own"}
        How it sees target rows.
    adapts : bool
        Whether it learns from target rows without labels.
    estimator : estimator
        Fitted.
    """

    name: str
    scaling: str
    adapts: bool
    estimator: Any


ASKED = schema.Record(
    Asked,
    {
        "name": schema.Value(str),
        "scaling": schema.Value(
            str, check=schema.Check("be source or own", ("source", "own").__contains__)
        ),
        "adapts": schema.Value(bool),
        "estimator": Fitted(BaseEstimator),
    },
)
"""What a file holds of a member."""


def probabilities(estimator: Any, rows: np.ndarray, domain: str) -> np.ndarray:
    """What an estimator says of rows, as probabilities.

    Parameters
    ----------
    estimator : estimator
        Fitted; of this package, or alike.
    rows : ndarray of shape (n, d)
        Rows of one table.
    domain : {"target", "source"} or str
        Which one; names of sources are for those that know several.

    Returns
    -------
    ndarray of shape (n, n_classes)
        Rows sum to 1: those of `predict_proba`, the softmax of scores, or all for the predicted
        class, whichever the estimator has.
    """
    if domain != "target" and domain not in getattr(estimator, "source_names_", ()):
        domain = "source"
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(rows, domain), dtype=np.float64)
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(rows, domain), dtype=np.float64)
        if scores.ndim == 1:
            scores = np.stack([-scores, scores], axis=1) / 2
        if scores.shape[1] == len(estimator.classes_):  # else it has not seen labels of all classes
            return softmax(scores, axis=1)
    said = np.asarray(estimator.predict(rows, domain))
    return (said[:, None] == estimator.classes_).astype(np.float64)
