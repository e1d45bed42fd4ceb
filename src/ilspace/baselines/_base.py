"""What the methods that we compare with have in common."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ilspace.backend import on_host
from ilspace.baselines._classifiers import CLASSIFIERS, make_classifier
from ilspace.domains import Domain, check_domain
from ilspace.estimators.base import DomainClassifier, latent_distance, latent_of
from ilspace.ils.map import to_latent

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
        domains = self._check_domains(X, y, Xt, yt, sample_domain=sample_domain)
        self._remember_columns(domains)
        source = _dense(domains.sources[0])
        target = source if domains.target is None else _dense(domains.target)
        self._check_setting(target)
        self._adapt(source, target)
        self._train(source, target)
        return self

    def _adapt(self, source: Domain, target: Domain) -> None:
        """Learn what relates the domains, and store it."""
        raise NotImplementedError

    def _train(self, source: Domain, target: Domain) -> None:
        """Learn to classify, where that is a step of its own."""

    def _check_rows(self, *given, **options):
        """Check rows given after fit; the rows, and the mask of those from the source."""
        X, position = super()._check_rows(*given, **options)
        return X, np.broadcast_to(np.asarray(position) >= 0, (X.shape[0],))

    def _check_setting(self, target: Domain) -> None:
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


class LatentBaseline(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Baseline):
    """Base of methods that send both domains to one space and train a classifier there.

    :meth:`_adapt` learns the space: it sets the means and maps declared below, or overrides
    ``_latent``. The classifier is then trained on all labelled rows there.
    """

    __metadata_request__predict_proba = {"sample_domain": True, "allow_source": True}
    __metadata_request__decision_function = {"sample_domain": True, "allow_source": True}

    classifier: Any
    source_mean_: np.ndarray
    target_mean_: np.ndarray
    _source_map: np.ndarray
    _target_map: np.ndarray

    def __sklearn_tags__(self):
        """Say what the common checks may expect."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def transform(self, X, domain="target", *, sample_domain=None, allow_source=False):
        """Send rows to the latent space, where Euclidean distance is the learned one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of one domain, seen at fit or not.
        domain : {"target", "source"}, default="target"
            Which one.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows, negative for target rows; each row then goes through the
            projection of its own domain.
        allow_source : bool, default=False
            Accepted for pipelines that pass it; source rows are always allowed.

        Returns
        -------
        array of shape (n, n_components_)
            The rows in the latent space. Of a Dask collection a Dask array, block by block, of
            which nothing is computed yet.
        """
        check_is_fitted(self)
        where = (domain, sample_domain, allow_source)
        return self._on_rows(latent_of, X, *where, width=self._n_features_out)

    def _latent(self, X, is_source: np.ndarray) -> Any:
        means, maps = (self.source_mean_, self.target_mean_), (self._source_map, self._target_map)
        return to_latent(X, means, maps, np.where(is_source, 0, -1))

    def fit_transform(self, X, y=None, Xt=None, yt=None, *, sample_domain=None, **fit_parameters):
        """Fit, then send the rows of X to the latent space, each through its own projection.

        Parameters
        ----------
        X, y, Xt, yt : array-like
            As for :meth:`fit`.
        sample_domain : array-like of shape (n,), optional
            As for :meth:`fit`.
        **fit_parameters
            What else :meth:`fit` takes, such as `sample_weight`.

        Returns
        -------
        array of shape (n, n_components_)
            The rows of X: source rows, unless `sample_domain` says otherwise.
        """
        self.fit(X, y, Xt, yt, sample_domain=sample_domain, **fit_parameters)
        return self.transform(X, "source", sample_domain=sample_domain, allow_source=True)

    def get_mahalanobis_matrix(self, domain="target"):
        """Learned metric in the columns of one domain.

        Parameters
        ----------
        domain : {"target", "source"}, default="target"
            Which one.

        Returns
        -------
        array of shape (n_features, n_features)
            Positive semi-definite, of rank `n_components_`.
        """
        check_is_fitted(self)
        check_domain(domain)
        mapping = getattr(self, f"_{domain}_map", None)
        width = self.n_features_in_ if domain == "source" else self.n_target_features_in_
        if mapping is None or mapping.shape[0] != width:
            raise ValueError(
                f"This {type(self).__name__} measures rows in a space of its own, so there is no "
                "Mahalanobis matrix in the columns of a domain: use transform or pair_distance."
            )
        return mapping @ mapping.mT

    def pair_distance(self, pairs, domain="target"):
        """Learned distance between the two rows of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)
            Pairs of rows of one domain.
        domain : {"target", "source"}, default="target"
            Which one.

        Returns
        -------
        array of shape (n_pairs,)
            Distances, not squared.
        """
        return latent_distance(self, pairs, domain)

    def _train(self, source: Domain, target: Domain) -> None:
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

    def _teachers(self, source: Domain, target: Domain):
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


def _dense(domain: Domain) -> Domain:
    """The same rows on the host, dense, in double precision."""
    rows = on_host(domain.X)
    rows = rows.toarray() if sparse.issparse(rows) else rows
    return Domain(rows.astype(np.float64, copy=False), domain.codes)
