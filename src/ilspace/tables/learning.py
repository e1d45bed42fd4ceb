"""What learns from two encoded tables: the committee on pooled rows, or an adapting estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from ilspace.backend import as_generator
from ilspace.domains import Domain, Domains, check_class_prior
from ilspace.domains.class_prior import class_factors, refuse_labels_of_no_share
from ilspace.estimators import ILSClassifier
from ilspace.ils import ObjectiveSettings, source_evidence, weights_of_evidence
from ilspace.ils.rounds import PAIR_ROWS
from ilspace.rules.class_prior import estimate_class_prior, sample_of_classes
from ilspace.rules.self_training import surest
from ilspace.tables.encoding import DomainScaler, Encoded
from ilspace.tables.pair import Pair

TREES = 200
"""Extra trees; as in the measurements behind the committee."""

TREE_ROWS = 10_000
"""Rows that a tree sees at most, so that a model of many rows stays small."""


SELECTED = 0.5
"""Share of the rows predicted to be of each class whose predictions are learned from as well, where
each table is scaled by itself, and the probabilities of both fits averaged. Chosen among 0.25, 0.5,
0.75 and two rounds on random three quarters of the rows of the field benchmark's pairs of tables,
whose results are therefore those of an oracle over this setting."""

_MAP_AXES = 20
"""Principal axes that rows are shown on, and chosen by, where there is no latent space."""


class Step(NamedTuple):
    """Progress passed to `callback`.

    Attributes
    ----------
    member : str
        Which estimator learns.
    iteration : int
        Optimizer iteration, starting at 0.
    objective : float
        Value that is minimized.
    """

    member: str
    iteration: int
    objective: float


def make_committee(n_rows: int = 0, random_state: Any = 0) -> dict[str, Any]:
    """Make the three models whose mean probability labels tables.

    Parameters
    ----------
    n_rows : int, default=0
        Rows that it is to learn from: of more than 10,000 each tree sees a sample.
    random_state : int, RandomState instance or None, default=0
        For the trees.

    Returns
    -------
    dict of str to estimator
        Gradient boosting, extra trees and logistic regression, not fitted.
    """
    is_large = n_rows > TREE_ROWS
    sampled = {"bootstrap": True, "max_samples": TREE_ROWS, "n_jobs": -1} if is_large else {}
    linear = make_pipeline(
        SimpleImputer(keep_empty_features=True), StandardScaler(), LogisticRegression(max_iter=1000)
    )
    boosting = HistGradientBoostingClassifier(random_state=random_state)
    trees = ExtraTreesClassifier(TREES, min_samples_leaf=2, random_state=random_state, **sampled)
    return {"boosting": boosting, "trees": trees, "linear": linear}


class PooledRule(BaseEstimator):
    """A scikit-learn classifier of the labelled rows of both tables, as if they were one.

    Parameters
    ----------
    classifier : estimator or None, default=None
        The committee by default.
    own_scaling : bool, default=False
        Whether numbers become ranks within their own table; then the members are fitted again,
        with the surest half of their predictions of each class, and all of them are averaged.
    class_prior : mapping, array-like, "auto", "source" or None, default=None
        Shares of the classes in the target; those given correct the probabilities.
    random_state : int, RandomState instance or None, default=0
        For the committee.

    Attributes
    ----------
    members_ : dict of str to estimator
        The committee, or the classifier alone; fitted to codes of the classes.
    ranks_ : dict of str to QuantileTransformer
        By domain; empty without `own_scaling`.
    factors_ : ndarray of shape (n_classes,)
        What the probabilities of target rows are multiplied by.
    class_prior_ : ndarray of shape (n_classes,)
        Shares of the classes that were assumed.
    """

    adapts = False

    def __init__(self, classifier=None, *, own_scaling=False, class_prior=None, random_state=0):
        self.classifier = classifier
        self.own_scaling = own_scaling
        self.class_prior = class_prior
        self.random_state = random_state

    def fit(self, rows: Encoded, pair: Pair, callback: object = None):
        """Learn from the source rows, and target rows that have a label, with equal weights.

        Parameters
        ----------
        rows : Encoded
            Rows of both tables.
        pair : Pair
            Their labels.
        callback : None
            Ignored.

        Returns
        -------
        self
            Fitted.
        """
        has_label, n_classes = pair.known >= 0, len(pair.classes)
        self.ranks_ = {}
        if self.own_scaling:
            target = rows.target if len(rows.target) else rows.source
            self.ranks_ = {"source": _ranks(rows.source), "target": _ranks(target)}
        X = self._view(rows.source, "source")
        if has_label.any():
            X = np.concatenate([X, self._view(rows.target[has_label], "target")])
        X = _without_empty_columns(X)
        codes = np.concatenate([pair.codes, pair.known[has_label]])
        shares = np.bincount(codes, minlength=n_classes) / len(codes)
        self.class_prior_, self.factors_ = shares, np.ones(n_classes)
        if self.class_prior is not None and not isinstance(self.class_prior, str):
            self.class_prior_ = check_class_prior(self.class_prior, pair.classes)
            counts = np.bincount(pair.known[has_label], minlength=n_classes)
            refuse_labels_of_no_share(counts, self.class_prior_, pair.classes)
            self.factors_ = class_factors(self.class_prior_, shares) * (self.class_prior_ > 0)
        self.n_classes_, self.members_ = n_classes, self._fitted(X, codes)
        free = rows.target[~has_label]
        if self.own_scaling and len(free):
            found = self.votes(free).mean(axis=0)
            guessed = found.argmax(axis=1)
            sure = surest(found.max(axis=1), guessed, SELECTED)
            more = np.concatenate([X, self._view(free[sure], "target")])
            again = self._fitted(more, np.concatenate([codes, guessed[sure]]))
            self.members_ |= {f"{name}, self-trained": each for name, each in again.items()}
        some = np.random.default_rng(0).permutation(len(X))[:TREE_ROWS]
        self.n_components_ = min(_MAP_AXES, X.shape[1], len(some))
        self.space_ = make_pipeline(
            SimpleImputer(keep_empty_features=True),
            StandardScaler(),
            PCA(self.n_components_, random_state=0),
        )
        with np.errstate(invalid="ignore"):  # equal rows have no variance to divide by
            self.space_.fit(X[some])
        return self

    def _fitted(self, X: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
        """The classifier, or the members of the committee, fitted."""
        members = make_committee(len(X), self.random_state)
        if self.classifier is not None:
            members = {type(self.classifier).__name__: clone(self.classifier)}
        elif 1 in np.bincount(codes):  # to stop early it would hold out rows of each class
            members["boosting"].set_params(early_stopping=False)
        return {name: each.fit(X, codes) for name, each in members.items()}

    def latent(self, X, domain="target", *, sample_domain=None):
        """Rows on principal axes.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Encoded rows of one table.
        domain : {"target", "source"} or str, default="target"
            Which one.
        sample_domain : None
            Ignored.

        Returns
        -------
        ndarray of shape (n, n_components)
            Of all columns, standardized.
        """
        return self.space_.transform(self._view(X, domain))

    def votes(self, X, domain="target"):
        """Probabilities by each member.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Encoded rows of one table.
        domain : {"target", "source"}, default="target"
            Which one; only target rows have the given shares of the classes.

        Returns
        -------
        ndarray of shape (n_members, n, n_classes)
            Rows sum to 1.
        """
        X = self._view(X, domain)
        whole = np.zeros((len(self.members_), len(X), self.n_classes_))
        for member, found in zip(self.members_.values(), whole, strict=True):
            found[:, member.classes_] = probabilities(member, X)
        return reweighted(whole, self.factors_) if domain == "target" else whole

    def _view(self, X: np.ndarray, domain: str) -> np.ndarray:
        ranks = self.ranks_.get("source" if domain != "target" else domain)
        return X if ranks is None else ranks.transform(X)


def _ranks(X: np.ndarray) -> QuantileTransformer:
    """Ranks within a table, as shares; NaN stays NaN."""
    ranks = QuantileTransformer(n_quantiles=min(1000, len(X)), subsample=None)
    return ranks.fit(_without_empty_columns(X))


def _without_empty_columns(X: np.ndarray) -> np.ndarray:
    """Zeros in columns without any number: some of the rows may have none where all rows do."""
    is_empty = np.isnan(X).all(axis=0)
    return np.where(is_empty, 0.0, X) if is_empty.any() else X


def reweighted(found: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Multiply probabilities of classes, and let them sum to 1 again.

    Parameters
    ----------
    found : ndarray of shape (..., n_classes)
        Probabilities.
    factors : ndarray of shape (n_classes,)
        Not negative; 0 for a class that does not occur.

    Returns
    -------
    ndarray of shape (..., n_classes)
        Sum 1 along the last axis.
    """
    if (factors == 1).all():
        return found
    found = found * factors
    total = found.sum(axis=-1, keepdims=True)
    return np.where(total > 0, found / np.where(total > 0, total, 1.0), factors / factors.sum())


class AdaptedRule(BaseEstimator):
    """An estimator of this package on rows that each domain scales by its own moments.

    Parameters
    ----------
    estimator : estimator or None, default=None
        With ``fit(X, y, Xt, yt)``; :class:`~ilspace.ILSClassifier` by default.
    scaling : str, default="zscore"
        One of `encoding.SCALINGS`.
    class_prior : {"auto", "source"}, mapping, array-like or None, default="auto"
        Shares of the classes in the target, for ILSClassifier: estimated, as in the source, or
        given. They weigh source rows wherever these are averaged.
    are_shared : bool, default=True
        Whether columns mean the same in both tables.
    random_state : int, RandomState instance or None, default=0
        For the default estimator, and where rows are drawn.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to names of the classes.
    scalers_ : dict of str to DomainScaler
        By domain.
    class_prior_ : ndarray of shape (n_classes,)
        Shares of the classes that were assumed.
    source_weights_ : ndarray of shape (n_sources,)
        Weights of the sources, of sum 1, found without target labels.
    """

    adapts = True

    def __init__(
        self,
        estimator=None,
        *,
        scaling="zscore",
        class_prior="auto",
        are_shared=True,
        random_state=0,
    ):
        self.estimator = estimator
        self.scaling = scaling
        self.class_prior = class_prior
        self.are_shared = are_shared
        self.random_state = random_state

    def fit(self, rows: Encoded, pair: Pair, callback: Callable[[Step], object] | None = None):
        """Learn from the rows of both tables.

        Parameters
        ----------
        rows : Encoded
            Rows of both tables.
        pair : Pair
            Their labels.
        callback : callable or None, default=None
            Called with a :class:`Step` at each iteration; a true answer stops the fit.

        Returns
        -------
        self
            Fitted.
        """
        prior = self._prior(rows, pair)
        counts = np.bincount(pair.known[pair.known >= 0], minlength=len(pair.classes))
        refuse_labels_of_no_share(counts, prior, pair.classes)
        weights = class_factors(prior, np.bincount(pair.codes))[pair.codes]
        self.scalers_ = {
            "source": DomainScaler(self.scaling).fit(rows.source, sample_weight=weights),
            "target": DomainScaler(self.scaling).fit(rows.target),
        }
        X, Xt = self._view(rows.source, "source"), self._view(rows.target, "target")
        self.classes_, self.class_prior_ = pair.classes, prior
        self.source_weights_ = self._weights(X, Xt, pair)
        estimator = clone(self.estimator) if self.estimator is not None else ILSClassifier()
        own, takes = None, estimator.get_params(deep=False)
        if self.estimator is None:
            shares = None if self.class_prior is None else prior
            estimator.set_params(class_prior=shares, random_state=self.random_state)
        if callback is not None and "callback" in takes:
            own = takes["callback"]
            estimator.set_params(callback=_told(callback, type(estimator).__name__, own))
        self._learn(estimator, X, Xt, pair)
        if callback is not None and "callback" in takes:
            estimator.set_params(callback=own)
        self.estimator_ = estimator
        self.n_components_ = getattr(estimator, "n_components_", X.shape[1])
        return self

    def _prior(self, rows: Encoded, pair: Pair) -> np.ndarray:
        """Shares of the classes in the target."""
        prior = self.class_prior
        if isinstance(prior, str) and prior == "auto" and self.are_shared:
            by_source = DomainScaler(self.scaling).fit(rows.source)
            prior = estimate_class_prior(
                by_source.transform(rows.source),
                pair.codes,
                by_source.transform(rows.target),
                pair.known,
                len(pair.classes),
                rng=as_generator(self.random_state),
            )
            prior = None if prior is None else prior.shares
        if prior is None or isinstance(prior, str):
            return np.bincount(pair.codes) / len(pair.codes)
        return check_class_prior(prior, pair.classes)

    def _weights(self, X: np.ndarray, Xt: np.ndarray, pair: Pair) -> np.ndarray:
        """Weights of the sources, of sum 1."""
        owners = pair.owners
        if owners is None:
            return np.ones(1)
        numbers = range(len(pair.source_names))
        sources = tuple(Domain(X[owners == i], pair.codes[owners == i]) for i in numbers)
        domains = Domains(sources, Domain(Xt, pair.known), pair.classes, self.are_shared)
        return weights_of_evidence(source_evidence(domains, as_generator(self.random_state)))

    def _learn(self, estimator: Any, X: np.ndarray, Xt: np.ndarray, pair: Pair) -> None:
        """Fit the estimator; one that sums over pairs of labelled rows sees a sample of many."""
        y, known, rows = pair.classes[pair.codes], pair.known, np.arange(len(X))
        if isinstance(estimator, ILSClassifier):
            rng = as_generator(self.random_state)
            if len(rows) > PAIR_ROWS:
                rows = sample_of_classes(pair.codes, PAIR_ROWS, rng)
            labelled = np.flatnonzero(known >= 0)
            if len(labelled) > PAIR_ROWS:
                kept = labelled[sample_of_classes(known[labelled], PAIR_ROWS, rng)]
                known = np.where(np.isin(np.arange(len(known)), kept), known, -1)
        has_label = known >= 0
        yt = np.where(has_label, pair.classes[known], np.array(None)) if has_label.any() else None
        if pair.owners is None or not isinstance(estimator, ILSClassifier):
            estimator.fit(X[rows], y[rows], Xt, yt)
            return
        owners = pair.owners[rows]
        # a sample of many rows may have left too little of a small source
        kept = [i for i in range(len(pair.source_names)) if np.sum(owners == i) > 1]
        settings = clone(estimator.objective) if estimator.objective else ObjectiveSettings()
        if settings.source_weights is None:
            settings.set_params(source_weights=self.source_weights_[kept].tolist())
        estimator.set_params(objective=settings)
        parts = [rows[owners == i] for i in kept]
        names = [pair.source_names[i] for i in kept]
        estimator.fit(
            [X[each] for each in parts], [y[each] for each in parts], Xt, yt, source_names=names
        )

    def _view(self, X: np.ndarray, domain: str) -> np.ndarray:
        return self.scalers_["target" if domain == "target" else "source"].transform(X)

    def votes(self, X, domain="target"):
        """Probabilities by the estimator.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Encoded rows of one table.
        domain : {"target", "source"} or str, default="target"
            Which one; of several sources one by its name, ``"source"`` for the first.

        Returns
        -------
        ndarray of shape (1, n, n_classes)
            Rows sum to 1; 0 for classes of share 0.
        """
        found = probabilities(self.estimator_, self._view(X, domain), self._called(domain))
        return reweighted(found[None], (self.class_prior_ > 0).astype(float))

    def latent(self, X, domain="target", *, sample_domain=None):
        """Rows in the latent space.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Encoded rows of one table.
        domain : {"target", "source"} or str, default="target"
            Which one.
        sample_domain : array-like of shape (n,), optional
            Number of the source of each row, from 1.

        Returns
        -------
        ndarray of shape (n, p)
            Scaled rows if the estimator has no latent space.
        """
        rows = self._view(X, domain)
        if not hasattr(self.estimator_, "map_"):
            return rows
        return self.estimator_.transform(rows, self._called(domain), sample_domain=sample_domain)

    def _called(self, domain: str) -> str:
        known = getattr(self.estimator_, "source_names_", ())
        return domain if domain == "target" or domain in known else "source"


def _told(
    tell: Callable[[Step], object], name: str, own: Callable[..., object] | None
) -> Callable[..., object]:
    """Make the callback of an estimator; its own is called as well, and each may stop the fit."""

    def step(iteration: int, now: Any) -> object:
        wants_end = tell(Step(name, iteration, float(now.progress.value)))
        return (own is not None and own(iteration, now)) or wants_end

    return step


def probabilities(estimator: Any, X: np.ndarray, *domain: str) -> np.ndarray:
    """Class probabilities by any classifier.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : ndarray of shape (n, d)
        Rows.
    *domain : str
        Domain of the rows, for an estimator of this package.

    Returns
    -------
    ndarray of shape (n, n_classes)
        `predict_proba`, the softmax of scores, or 1 for the predicted class, whichever there is.
    """
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X, *domain), dtype=np.float64)
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X, *domain), dtype=np.float64)
        if scores.ndim == 1:
            scores = np.stack([-scores, scores], axis=1) / 2
        if scores.shape[1] == len(estimator.classes_):  # else it has not seen labels of all classes
            return softmax(scores, axis=1)
    said = np.asarray(estimator.predict(X, *domain))
    return (said[:, None] == estimator.classes_).astype(np.float64)
