"""What the methods that we compare with have in common."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metaestimators import available_if

from ilspace.adapters._classifier import DomainClassifier
from ilspace.adapters._latent import LatentAdapter
from ilspace.adapters.baselines._classifiers import CLASSIFIERS, make_classifier
from ilspace.adapters.domain_rows import DomainRows
from ilspace.backend import on_host

CLASSIFIER_CONSTRAINTS = [StrOptions(set(CLASSIFIERS)), HasMethods(["fit", "predict"])]
"""What the parameter `classifier` of a method may be."""


class Baseline(DomainClassifier):
    """Base of the methods: checks what each needs, then calls :meth:`_adapt`.

    A method states below what it needs; `fit` names the remedy where it is missing. One domain
    alone, ``fit(X, y)``, plays both parts. Rows are made dense, and worked on in double precision
    and in memory: Dask collections are refused.
    """

    _needs_target_labels: ClassVar[bool] = False
    _takes_different_columns: ClassVar[bool] = False
    _takes_dask = False

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, Xt=None, yt=None, *, sample_domain=None):
        """Learn from both domains.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Source rows; or rows of both domains, told apart by `sample_domain`.
        y : array-like of shape (n,)
            Their labels.
        Xt : array-like or sparse matrix of shape (nt, n_target_features), optional
            Target rows. Without, the source is the target too.
        yt : array-like of shape (nt,), optional
            Labels of the target rows; None, NaN or -1 mark those without.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows of X, negative for target rows.

        Returns
        -------
        self
            Fitted.
        """
        self.classes_, domains = self._check_domains(X, y, Xt, yt, sample_domain, None)
        domains = tuple(_dense(domain) for domain in domains)
        source, target = domains if len(domains) == 2 else domains * 2
        self._check_setting(target)
        self._adapt(source, target)
        self._train(source, target)
        return self

    def _adapt(self, source: DomainRows, target: DomainRows) -> None:
        """Learn what relates the domains, and store it."""
        raise NotImplementedError

    def _train(self, source: DomainRows, target: DomainRows) -> None:
        """Learn to classify, where that is a step of its own."""

    def _check_setting(self, target: DomainRows) -> None:
        name = type(self).__name__
        if not self._takes_different_columns and not self._shares_features:
            raise ValueError(
                f"{name} compares the domains column by column, so X and Xt must have the same "
                f"features, but have {self.n_features_in_} and {self.n_target_features_in_}, or "
                "other names: use a method for different columns, such as ILSClassifier, MMDT, "
                "HFA or CDLS."
            )
        if self._needs_target_labels and len(target.labelled) == 0:
            raise ValueError(
                f"{name} learns from labelled target rows, but yt has no label: label a few rows "
                "of each class, or use a method without target labels, such as ILSClassifier or "
                "CORAL."
            )

    def _check_components(self, n_components: int | None, most: int, default: int) -> int:
        """Settle the dimension of a space in which at most `most` directions make sense."""
        if n_components is None:
            return max(1, min(default, most))
        if n_components > most:
            raise ValueError(
                f"n_components must be at most {most}, what the rows and columns of the domains "
                f"allow, but is {n_components}: choose fewer, or leave it out."
            )
        return n_components


class ScoringBaseline(Baseline):
    """Base of methods that score classes themselves, one against the rest.

    They say how sure they are in :meth:`_scores`: a column a class, or one for two classes.
    """

    __metadata_request__decision_function = {"sample_domain": True, "allow_source": True}

    def _scores(self, X, is_source: np.ndarray) -> np.ndarray:
        """Score of each row, on the host, for each class; for two classes, for the second."""
        raise NotImplementedError

    def _predict_codes(self, X, is_source: np.ndarray) -> np.ndarray:
        scores = self._scores(on_host(X), is_source)
        return scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(int)

    def decision_function(self, X, domain="target", *, sample_domain=None, allow_source=False):
        """Signed distance, up to scale, to the hyperplane of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of one domain, seen at fit or not.
        domain : {"target", "source"}, default="target"
            Which one.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows, negative for target rows.
        allow_source : bool, default=False
            Accepted for pipelines that pass it; source rows are always allowed.

        Returns
        -------
        ndarray of shape (n, n_classes), or (n,) for two classes
            Larger is surer; for two classes, of the second one.
        """
        rows, is_source = self._check_rows(X, domain, sample_domain, allow_source)
        scores = self._scores(on_host(rows), is_source)
        return scores if scores.shape[1] > 1 else scores[:, 0]


def _classifier_has(method: str):
    """Tell whether the classifier, made or still to be made, has a method."""

    def check(self) -> bool:
        fitted = getattr(self, "classifier_", None)
        if fitted is None:
            fitted = make_classifier(self.classifier)
        getattr(fitted, method)  # raises the AttributeError that users expect
        return True

    return check


class LatentBaseline(Baseline, LatentAdapter):
    """Base of methods that send both domains to one space and train a classifier there.

    :meth:`_adapt` learns the space: it sets the means and maps of
    :class:`~ilspace.adapters._latent.LatentAdapter`, or overrides ``_latent``. The classifier is
    then trained on all labelled rows there.
    """

    __metadata_request__predict_proba = {"sample_domain": True, "allow_source": True}
    __metadata_request__decision_function = {"sample_domain": True, "allow_source": True}

    classifier: Any

    def _train(self, source: DomainRows, target: DomainRows) -> None:
        rows, codes = [], []
        for domain, is_source in self._teachers(source, target):
            labelled = domain.labelled
            if len(labelled):
                rows.append(self._latent(domain.X[labelled], np.full(len(labelled), is_source)))
                codes.append(domain.codes[labelled])
        self.classifier_ = self._make_classifier()
        self.classifier_.fit(np.concatenate(rows), np.concatenate(codes))

    def _make_classifier(self) -> Any:
        """Classifier to train."""
        return make_classifier(self.classifier)

    def _teachers(self, source: DomainRows, target: DomainRows):
        """Domains whose labelled rows train the classifier, and whether each is the source."""
        return ((source, True),) if source is target else ((source, True), (target, False))

    def _predict_codes(self, X, is_source: np.ndarray) -> np.ndarray:
        return self.classifier_.predict(self._latent(X, is_source))

    @available_if(_classifier_has("predict_proba"))
    def predict_proba(self, X, domain="target", *, sample_domain=None, allow_source=False):
        """Probabilities of the classes, from the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of one domain, seen at fit or not.
        domain : {"target", "source"}, default="target"
            Which one.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows, negative for target rows.
        allow_source : bool, default=False
            Accepted for pipelines that pass it; source rows are always allowed.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Rows sum to 1.
        """
        rows = self._check_rows(X, domain, sample_domain, allow_source)
        return self.classifier_.predict_proba(self._latent(*rows))

    @available_if(_classifier_has("decision_function"))
    def decision_function(self, X, domain="target", *, sample_domain=None, allow_source=False):
        """Confidence in each class, from the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of one domain, seen at fit or not.
        domain : {"target", "source"}, default="target"
            Which one.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows, negative for target rows.
        allow_source : bool, default=False
            Accepted for pipelines that pass it; source rows are always allowed.

        Returns
        -------
        ndarray of shape (n, n_classes), or (n,) for two classes
            Larger is surer; for two classes, of the second one.
        """
        rows = self._check_rows(X, domain, sample_domain, allow_source)
        return self.classifier_.decision_function(self._latent(*rows))


def _dense(domain: DomainRows) -> DomainRows:
    """The same rows on the host, dense, in double precision."""
    rows = on_host(domain.X)
    rows = rows.toarray() if sparse.issparse(rows) else rows
    return DomainRows(rows.astype(np.float64, copy=False), domain.codes)
