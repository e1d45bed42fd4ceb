"""A classifier in the invariant latent space."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ilspace._typing import Array
from ilspace.backend import array_namespace, as_generator, to_numpy
from ilspace.dask import refuse_in_one_place
from ilspace.domains import Domain, Domains
from ilspace.estimators.base import DomainClassifier, Position
from ilspace.estimators.class_prior import Assumed
from ilspace.estimators.rules import RULES, LinearRule, NearestRule, OwnRule, RidgeRule, Rule
from ilspace.estimators.transformer import ILSTransformer
from ilspace.ils import ILSMap
from ilspace.ils.rounds import N_ROUNDS, Round, SelfTrained, self_train

_RULES = ("auto", *RULES)


class _Count(Interval):
    """Numbers of an interval, to which True and False do not belong."""

    def is_satisfied_by(self, val):
        return not isinstance(val, bool) and super().is_satisfied_by(val)


def _is_nearest(model: ILSClassifier) -> bool:
    """Check that the rule, fitted or not, is that of the nearest labelled row."""
    rule = getattr(model, "_rule", None)
    if isinstance(rule, NearestRule) or (rule is None and model._named_rule() == "nearest"):
        return True
    raise AttributeError(
        'Distances to labelled rows are those of the rule "nearest", but this model has another '
        'one: use classifier="nearest".'
    )


def _has_probabilities(model: ILSClassifier) -> bool:
    """Tell whether the rule, fitted or not, has probabilities."""
    rule = getattr(model, "_rule", None)
    if isinstance(rule, OwnRule):
        return hasattr(rule.classifier, "predict_proba")
    is_named = isinstance(model.classifier, str)
    return rule is not None or is_named or hasattr(model.classifier, "predict_proba")


class ILSClassifier(DomainClassifier, ILSTransformer):
    r"""Classify target rows in the invariant latent space.

    Learns the space as :class:`ILSTransformer` does, in rounds of self-training: the most confident
    predictions of each class (pseudo-labels) are added to the labels from which the next space is
    learned, more of them and selected anew in each round. The classifier in the latent space, the
    *rule*, is a kernel ridge regression with graph regularization, itself self-trained; its inputs
    are the latent features and the first 100 principal components of both domains (for domains
    with different features, 20 axes of the target with which the labelled class means agree).

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the latent space; by default 30, or 20 for domains with different features, or
        60 for several sources without a target, or the rank of the rows if that is smaller. With
        self-training and the same features in all domains, the number of significant principal
        components of the target by parallel analysis, if that is larger: 100 at most.
    n_atoms : int, default=None
        Number of atoms of a dictionary of the latent space, with which :class:`ILSTransformer`
        denoises latent rows; None for no dictionary.
    classifier : {"auto", "nearest", "linear", "ridge"} or classifier, default="auto"
        The rule. ``"ridge"``: the one described above; ``"nearest"``: the class of the nearest
        labelled row in the latent space, as in the paper; ``"linear"``: logistic regression
        there; or any classifier of scikit-learn, of which a clone is trained on the labelled rows
        there. ``"auto"``: ``"ridge"`` with self-training, and for several sources in memory that
        have no target; else ``"nearest"``.
    self_training : int or "auto", default="auto"
        Number of rounds. 0: one fit of the space, then the rule, which learns from the given labels
        alone. ``"auto"``: 2 where there is a target, in memory; 0 for Dask collections, and in
        :meth:`partial_fit`, which never trains itself. With fewer than 10,000 rows each round sees
        them all, else it trains its rule on a sample of so many.
    class_prior : {"source", "auto"}, array-like of shape (n_classes,) or mapping, default=None
        Class probabilities of the target. None: no assumption; the space is learned with those of
        the source, and the rule ``"ridge"`` gives all classes the same weight.
        ``"source"``: those of the source. ``"auto"``: estimated by
        :func:`~ilspace.rules.estimate_class_prior`, or counted where 20 or more target
        labels look randomly chosen. Or the probabilities, in the order of `classes_` or by class;
        sums within 1 % of one are normalised. They weight the source rows as in
        :class:`ILSTransformer`; in the rules ``"ridge"`` and ``"linear"`` they are the weights of
        the classes, of all labelled and pseudo-labelled rows together, and so in a classifier that
        takes `sample_weight`; in the rule ``"nearest"`` they are factors of the odds, over the
        frequencies among labelled rows. A class of probability 0 is never predicted.
    unseen_mean : {"batch"}, default=None
        How to centre rows of an unseen domain, in models fitted without a target. None: by the mean
        of all source rows. ``"batch"``: by their own mean, so that all rows of one call must be of
        one domain, and are predicted together.
    objective : ObjectiveSettings, default=None
        What is minimised; None for the defaults of :class:`~ilspace.ObjectiveSettings`.
    init : {"auto", "target-pca", "joint-pca", "pls", "class-means"} or array(s), default="auto"
        Initial projections; :class:`ILSTransformer` says when to use which.
    solver : str, default="conjugate-gradient"
        Optimizer: ``"conjugate-gradient"``, ``"steepest-descent"``, ``"lbfgs"``,
        ``"alternating"``, ``"projected-gradient"``, ``"sgd"`` or ``"adam"``; the last two are
        stochastic, for many labelled rows. In a round the selected rows are labelled rows like
        others; of a batch solver, which compares all pairs, they are a sample where there would
        be more than 5,000 labelled rows in all, of 1,000 at least.
    batch_size : int, default=512
        Labelled rows per mini-batch of ``"sgd"`` and ``"adam"``.
    max_iter : int, default=200
        Maximum number of iterations of the fit of each round.
    tol : float, default=1e-3
        Stop a fit when the relative decrease of the objective per iteration falls below `tol`.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws the dissimilar pairs of ``pairs="sampled"``, the mini-batches of the stochastic
        solvers, and the samples of self-training where there are many rows.
    verbose : int, default=0
        1 writes a line to standard error for each round and every ten iterations, 2 for each.
    callback : callable, default=None
        Called with the number of iterations and the iterate in the fit of each round; a true return
        value ends the fit and the rounds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    rounds_ : tuple of Round
        What each round of self-training did: `n_selected` pseudo-labels were used, the fraction
        `changed` of the predictions changed, the fit took `n_iter` iterations and ended with
        `status`; it was `kept`, unless it left a class without predictions: then it was undone,
        and the rounds ended.
    source_projection_, target_projection_, metric_, solution_, ... : as in ILSTransformer
        What :class:`ILSTransformer` learns, in the last round.

    Notes
    -----
    Given labels are never changed; in the rule a labelled target row has three times the weight of
    a source row, a pseudo-labelled one half of it. `sample_weight` multiplies these weights; the
    neighbour graph and the bandwidth do not depend on it. Classes have the same weight, unless
    `class_prior` says otherwise. A first round that is undone is followed by a fit with the given
    labels alone, to which `solution_` then belongs.

    A model with the rule ``"ridge"`` holds up to 2,500 rows of both domains in its two spaces, by
    default of 200 columns at most, and so does the file that :meth:`save` writes: 4.2 MB for ten
    classes, besides the maps. Of more rows it holds 1,000.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace import ILSClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["cat", "dog"], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * (y == "dog")[:, None]
    >>> Xt = X @ np.diag([1, 2, 1, 0.5, 1]) + 3
    >>> clf = ILSClassifier(n_components=2).fit(X, y, Xt)
    >>> clf.predict(Xt[[0, -1]])
    array(['cat', 'dog'], dtype='<U3')
    """

    __metadata_request__predict_proba = {"sample_domain": True, "allow_source": True}

    _parameter_constraints = {
        **ILSTransformer._parameter_constraints,
        "classifier": [StrOptions(set(_RULES)), HasMethods(["fit", "predict"])],
        "self_training": [_Count(Integral, 0, None, closed="left"), StrOptions({"auto"})],
    }

    _as_in_paper: ClassVar[dict[str, Any]] = {"classifier": "nearest", "self_training": 0}

    _rule: Rule
    rounds_: tuple[Round, ...]

    def __init__(
        self,
        n_components=None,
        *,
        n_atoms: int | None = None,
        classifier: Any = "auto",
        self_training: int | str = "auto",
        class_prior: Any = None,
        unseen_mean: str | None = None,
        objective=None,
        init="auto",
        solver="conjugate-gradient",
        batch_size=512,
        max_iter=200,
        tol=1e-3,
        random_state=None,
        verbose=0,
        callback=None,
    ):
        super().__init__(
            n_components,
            n_atoms=n_atoms,
            class_prior=class_prior,
            unseen_mean=unseen_mean,
            objective=objective,
            init=init,
            solver=solver,
            batch_size=batch_size,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            verbose=verbose,
            callback=callback,
        )
        self.classifier = classifier
        self.self_training = self_training

    # -- fit -------------------------------------------------------------------------------------

    def _learn(self, domains: Domains) -> ILSMap | SelfTrained:
        n_rounds = self.self_training
        if isinstance(n_rounds, str):
            n_rounds = N_ROUNDS if isinstance(domains.target, Domain) else 0
        if n_rounds == 0 or domains.target is None or domains.is_unseen:
            return super()._learn(domains)
        options = self._method() | {"random_state": self.random_state}
        is_ridge = self._named_rule(True) == "ridge"
        return self_train(domains, n_rounds=n_rounds, calibrate=is_ridge, **options)

    def _store(self, ils: ILSMap | SelfTrained, domains: Domains, assumed: Assumed) -> None:
        trained = ils if isinstance(ils, SelfTrained) else None
        ils = ils.ils if isinstance(ils, SelfTrained) else ils
        super()._store(ils, domains, assumed)
        self.rounds_ = () if trained is None else trained.rounds
        self._rule = self._trained_rule(ils, domains, trained)

    def _trained_rule(self, ils: ILSMap, domains: Domains, trained: SelfTrained | None) -> Rule:
        is_unseen = domains.is_unseen and isinstance(domains.target, Domain)
        name = self._named_rule(trained is not None or is_unseen)
        if name is None:
            return OwnRule.fitted(ils, domains, self.classifier)
        if name == "ridge" and trained is not None:
            return RidgeRule(*trained.rule)
        if name == "ridge":
            return RidgeRule.fitted(ils, domains, as_generator(self.random_state))
        return (LinearRule if name == "linear" else NearestRule).fitted(ils, domains)

    def _named_rule(self, is_self_trained: bool = False) -> str | None:
        """Name of the rule; None for a classifier of the user's."""
        if not isinstance(self.classifier, str):
            return None
        if self.classifier != "auto":
            return self.classifier
        return "ridge" if is_self_trained else "nearest"

    def _check_supported_in_batches(self) -> None:
        super()._check_supported_in_batches()
        if self._named_rule() == "ridge":
            raise ValueError(
                'partial_fit keeps labelled rows alone, but classifier="ridge" needs all rows at '
                'once: use classifier="nearest" or "linear", or fit.'
            )

    def _check_supported_on_workers(self) -> None:
        super()._check_supported_on_workers()
        if self.self_training not in ("auto", 0):
            refuse_in_one_place(f"self_training={self.self_training}", "use self_training=0")
        if isinstance(self.classifier, str) and self.classifier == "ridge":
            refuse_in_one_place('classifier="ridge"', 'use classifier="nearest"')

    # -- after fit -------------------------------------------------------------------------------

    @available_if(_is_nearest)
    def class_distances(
        self, X, domain: str | float = "target", *, sample_domain=None, allow_source=False
    ):
        """Squared distance of each row to each class, in the latent space.

        Of the rule ``"nearest"``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of one domain, seen at fit or not.
        domain : {"target", "source", "unseen"}, str or number, default="target"
            Which one; of several sources ``"source"`` is the first, others have names and numbers.
            ``"unseen"`` is any other domain, where `fit` had no target.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows, negative for target rows.
        allow_source : bool, default=False
            Accepted for pipelines that pass it; source rows are always allowed.

        Returns
        -------
        array of shape (n, n_classes)
            To the nearest labelled row of each class; for domains of different columns the mean of
            the distances to that of the source, with weight 0.3, and of the target. Of a Dask
            collection a Dask array, of which nothing is computed yet.
        """
        check_is_fitted(self)
        width = len(self.classes_)
        return self._on_rows(_distances_of, X, domain, sample_domain, width=width)

    @available_if(_has_probabilities)
    def predict_proba(
        self, X, domain: str | float = "target", *, sample_domain=None, allow_source=False
    ):
        r"""Probabilities of the classes.

        Of the rule ``"ridge"``: the softmax of its scores, scaled to the least log-loss on rows
        whose given labels were hidden from it. They are too confident where the domains differ,
        and rows that the fit never saw get less confident ones than they could. Of the rule
        ``"nearest"``: the loss models the odds that two rows at squared distance d are of one class
        as :math:`e^{-\beta(d - 1)}`; these odds, for the nearest row of each class, are normalised,
        and not calibrated.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of one domain, seen at fit or not.
        domain : {"target", "source", "unseen"}, str or number, default="target"
            Which one; of several sources ``"source"`` is the first, others have names and numbers.
            ``"unseen"`` is any other domain, where `fit` had no target.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows, negative for target rows.
        allow_source : bool, default=False
            Accepted for pipelines that pass it; source rows are always allowed.

        Returns
        -------
        array of shape (n, n_classes)
            Rows sum to 1; the largest entry is the predicted class. Of a Dask collection a Dask
            array, of which nothing is computed yet.
        """
        check_is_fitted(self)
        width = len(self.classes_)
        return self._on_rows(_probabilities_of, X, domain, sample_domain, width=width)

    @available_if(_is_nearest)
    def nearest(self, X, domain: str | float = "target"):
        """Class of each row, how sure that is, and how far the nearest labelled row is.

        Of the rule ``"nearest"``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of one domain, seen at fit or not.
        domain : {"target", "source", "unseen"}, str or number, default="target"
            Which one; of several sources ``"source"`` is the first, others have names and numbers.
            ``"unseen"`` is any other domain, where `fit` had no target.

        Returns
        -------
        label : ndarray of shape (n,)
            As :meth:`predict` gives it.
        probabilities : ndarray of shape (n, n_classes)
            As :meth:`predict_proba` gives them.
        distance : ndarray of shape (n,)
            To the nearest labelled row of any class and domain in the latent space, not squared.
        """
        check_is_fitted(self)
        rule: Any = self._rule
        by_domain = rule.distances(self.map_, *self._recentred(*self._check_rows(X, domain)))
        scores = rule.scores_of(by_domain)
        codes = self._possible[np.argmax(to_numpy(scores), axis=1)]
        probabilities = to_numpy(self._of_all_classes(rule.probabilities(scores), 0.0))
        squares = np.min([np.min(to_numpy(each), axis=1) for each in by_domain], axis=0)
        return self.classes_[codes], probabilities, np.sqrt(squares)

    def _predict_codes(self, X, position: Position) -> np.ndarray:
        return self._possible[np.argmax(to_numpy(self._scores(X, position)), axis=1)]

    def _scores(self, X, position: Position) -> Array:
        """Scores of the classes that have a share."""
        return self._rule.scores(self.map_, X, position)

    def _of_all_classes(self, columns: Array, filler: float) -> Array:
        """Columns of all classes, from those of the classes that have a share."""
        if len(self._possible) == len(self.classes_):
            return columns
        xp = array_namespace(columns)
        found = [xp.full_like(columns[:, 0], filler)] * len(self.classes_)
        for position, code in enumerate(self._possible.tolist()):
            found[code] = columns[:, position]
        return xp.stack(found, axis=1)


def _distances_of(model: ILSClassifier, X, position: Position) -> Array:
    rule: Any = model._rule
    found = rule.combined(rule.distances(model.map_, X, position))
    return model._of_all_classes(found, np.inf)


def _probabilities_of(model: ILSClassifier, X, position: Position) -> Array:
    found = model._rule.probabilities(model._scores(X, position))
    return model._of_all_classes(found, 0.0)
