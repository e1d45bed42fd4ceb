"""Several sources for methods that know one: their rows pooled, or a vote of single models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods

from ilspace.backend import on_host
from ilspace.baselines._base import Baseline, by_domain, dense_domain
from ilspace.domains import Domain, Domains, check_class_prior
from ilspace.estimators import ILSClassifier
from ilspace.ils import source_evidence, weights_of_evidence, weights_of_trust


class _OfSeveralSources(Baseline):
    """Base of wrappers around a method of one source."""

    _takes_several_sources = True
    _takes_different_columns = True
    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "weighted": ["boolean"],
    }

    estimator: Any

    def _method(self) -> Any:
        """A new estimator."""
        return ILSClassifier() if self.estimator is None else clone(self.estimator)

    def _method_parts(self) -> list[Any]:
        """What it makes for itself, for a description of the method."""
        return [ILSClassifier()] if self.estimator is None else []

    def _fit_domains(self, domains: Domains) -> None:
        sources = tuple(map(dense_domain, domains.sources))
        target = None if domains.target is None else dense_domain(domains.target)
        self._learn_from(replace(domains, sources=sources, target=target))

    def _learn_from(self, domains: Domains) -> None:
        """Learn from dense rows of all domains."""
        raise NotImplementedError

    def _fitted(self, source: Domain, target: Domain | None) -> Any:
        """The method, fitted to one source and the target; its classes are codes."""
        given, method = (), self._method()
        prior = getattr(method, "class_prior", None)
        if prior is not None and not isinstance(prior, str):
            method.set_params(class_prior=self._shares_by_code(prior, np.unique(source.codes)))
        if target is not None:  # labels of classes that this source lacks are for the others
            known = np.where(np.isin(target.codes, source.codes), target.codes, -1)
            given = (target.X, known)
        return method.fit(source.X, source.codes, *given)

    def _shares_by_code(self, prior: Any, codes: np.ndarray) -> dict[int, float]:
        """Class shares, by name or in the order of `classes_`, of the classes of one source."""
        shares = check_class_prior(prior, self.classes_)[codes]
        if not shares.sum() > 0:
            raise ValueError(
                "Every source must have a class with a share, but one has none: leave that source "
                "out, or give its classes a share."
            )
        return dict(zip(codes.tolist(), (shares / shares.sum()).tolist(), strict=True))

    def _check_rows(self, *given, **options):
        """Validate rows given after fit; returns them and the position of the domain of each."""
        X, position = super(Baseline, self)._check_rows(*given, **options)
        return X, np.broadcast_to(position, (X.shape[0],))


class PooledSources(_OfSeveralSources):
    """Pool the rows of all sources, and adapt from them as if they were one domain.

    What a method that keeps its sources apart must beat. The sources need the same columns.

    Parameters
    ----------
    estimator : classifier, default=None
        A classifier of this package, of which a clone is fitted; None for
        :class:`~ilspace.ILSClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    estimator_ : classifier
        The fitted one; its classes are positions in `classes_`.

    See Also
    --------
    SourceVote : One model per source.
    ilspace.ILSClassifier : Keeps several sources apart.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import CORAL, PooledSources
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X1, X2, Xt = (rng.normal(size=(40, 5)) + 4 * y[:, None] + i for i in range(3))
    >>> PooledSources(CORAL()).fit([X1, X2], [y, y], Xt).score(Xt, y)
    1.0
    """

    estimator_: Any

    def __init__(self, estimator=None):
        self.estimator = estimator

    def _learn_from(self, domains: Domains) -> None:
        widths = {each.n_features for each in domains.sources}
        if len(widths) > 1:
            raise ValueError(
                "Sources can be pooled only where they have the same columns, but theirs are "
                f"{', '.join(str(each.n_features) for each in domains.sources)}: use SourceVote, "
                "or ILSClassifier."
            )
        rows, codes = (
            np.concatenate([getattr(each, name) for each in domains.sources])
            for name in ("X", "codes")
        )
        self.estimator_ = self._fitted(Domain(rows, codes), domains.target)

    def _predict_codes(self, X, position: np.ndarray) -> np.ndarray:
        def codes(rows: Any, is_source: bool) -> np.ndarray:
            return self.estimator_.predict(rows, "source" if is_source else "target")[:, None]

        return by_domain(codes, on_host(X), position >= 0, 1)[:, 0].astype(np.int64)


class SourceVote(_OfSeveralSources):
    """Adapt from each source alone, and let the models vote.

    The classes are those of the largest mean probability; of models without probabilities each has
    one vote. A source of a single class has none. A source row is classified by the model of its
    source. Columns may differ per source
    where the method takes such domains.

    Parameters
    ----------
    estimator : classifier, default=None
        A classifier of this package, of which one clone per source is fitted; None for
        :class:`~ilspace.ILSClassifier`.
    weighted : bool, default=False
        Whether models weigh as their sources do in :class:`~ilspace.ILSClassifier`: by how far
        each source agrees about the target with all, without target labels.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws rows where weights are found from many.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    estimators_ : tuple of classifier
        One per source; their classes are positions in `classes_`.
    source_weights_ : ndarray of shape (n_sources,)
        Their weights, of sum 1.

    See Also
    --------
    PooledSources : One model of all sources.
    ilspace.ILSClassifier : One latent space for all sources.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import CORAL, SourceVote
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X1, X2, Xt = (rng.normal(size=(40, 5)) + 4 * y[:, None] + i for i in range(3))
    >>> SourceVote(CORAL()).fit([X1, X2], [y, y], Xt).score(Xt, y)
    1.0
    """

    estimators_: tuple[Any, ...]
    source_weights_: np.ndarray

    def __init__(self, estimator=None, *, weighted=False, random_state=None):
        self.estimator = estimator
        self.weighted = weighted
        self.random_state = random_state

    def _learn_from(self, domains: Domains) -> None:
        self.source_weights_ = domains.shares_of_sources
        if self.weighted and len(domains.sources) > 1:
            evidence = source_evidence(domains, self.random_state)
            self.source_weights_ = (
                weights_of_trust(evidence)
                if domains.target is None
                else weights_of_evidence(evidence)
            )
        several = [len(np.unique(each.codes)) > 1 for each in domains.sources]
        if not any(several):
            raise ValueError(
                "A source must have two classes or more to learn from, but each of them has one: "
                "pool them with PooledSources, or use ILSClassifier."
            )
        self.estimators_ = tuple(
            self._fitted(each, domains.target) if can_learn else _OneClass(each.codes[0])
            for each, can_learn in zip(domains.sources, several, strict=True)
        )

    def _predict_codes(self, X, position: np.ndarray) -> np.ndarray:
        X, codes = on_host(X), np.empty(X.shape[0], dtype=np.int64)
        for number in np.unique(position).tolist():
            chosen = np.flatnonzero(position == number)
            if number >= 0:
                codes[chosen] = self.estimators_[number].predict(X[chosen], "source")
            else:
                codes[chosen] = self._vote(X[chosen]).argmax(axis=1)
        return codes

    def _vote(self, X: Any) -> np.ndarray:
        """Weighted votes for the classes of target rows."""
        votes, knowing = np.zeros((X.shape[0], len(self.classes_))), np.zeros(len(self.classes_))
        for model, weight in zip(self.estimators_, self.source_weights_, strict=True):
            if isinstance(model, _OneClass):
                continue
            votes += weight * _votes(model, X, len(self.classes_))
            knowing[model.classes_] += weight
        # who has never seen a class says nothing of it
        return votes / np.where(knowing > 0, knowing, 1.0)


def _votes(model: Any, X: Any, n_classes: int) -> np.ndarray:
    """Probabilities of all classes for target rows, or 1 for the predicted one."""
    votes = np.zeros((X.shape[0], n_classes))
    if hasattr(model, "predict_proba"):
        votes[:, model.classes_] = model.predict_proba(X)
    else:
        votes[np.arange(len(votes)), model.predict(X)] = 1.0
    return votes


class _OneClass:
    """What is said of the rows of a source that has a single class."""

    def __init__(self, code: int):
        self.classes_ = np.array([code])

    def predict(self, X: Any, domain: str = "target") -> np.ndarray:
        """That class, for each row."""
        return np.repeat(self.classes_, X.shape[0])
