"""Base classes of the baselines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ilspace.backend import on_host
from ilspace.baselines._classifiers import make_classifier
from ilspace.baselines._constraints import CONSTRAINTS
from ilspace.domains import Domain, Domains, check_domain
from ilspace.estimators.base import DomainClassifier, latent_distance, latent_of
from ilspace.ils.map import to_latent


def dense_rows(X: Any) -> np.ndarray:
    """Rows as a dense array on the host.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows of any library.

    Returns
    -------
    ndarray of shape (n, d)
        The same rows.
    """
    rows = on_host(X)
    return rows.toarray() if sparse.issparse(rows) else rows


def dense_domain(domain: Domain) -> Domain:
    """The same rows as a dense array in double precision, on the host.

    Parameters
    ----------
    domain : Domain
        Rows of any library.

    Returns
    -------
    Domain
        Without weights and names.
    """
    return Domain(dense_rows(domain.X).astype(np.float64, copy=False), domain.codes)


def mean_length(rows: np.ndarray) -> float:
    """Root mean square length of rows.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The rows.

    Returns
    -------
    float
        Positive; 1 where all rows are zero.
    """
    return float(np.sqrt(np.mean(np.sum(rows**2, axis=1)))) or 1.0


def by_domain(
    function: Callable[[Any, bool], np.ndarray], X, is_source: np.ndarray, width: int
) -> np.ndarray:
    """Apply a function to the rows of each domain.

    Parameters
    ----------
    function : callable
        Called as ``function(rows, is_source)`` with the rows of one domain, if there are any.
    X : array or sparse matrix of shape (n, d)
        Rows of both domains.
    is_source : ndarray of bool, shape (n,)
        Which of them are source rows.
    width : int
        Number of columns of the result.

    Returns
    -------
    ndarray of shape (n, width)
        The results, in the order of the rows.
    """
    found = np.empty((len(is_source), width))
    for flag in (True, False):
        chosen = np.flatnonzero(is_source == flag)
        if len(chosen):
            found[chosen] = function(X[chosen], flag)
    return found


def contrast(scores: np.ndarray) -> np.ndarray:
    """Decision values from scores of all classes, as :class:`ScoringBaseline` wants them.

    Parameters
    ----------
    scores : ndarray of shape (n, n_classes)
        Larger means more confident.

    Returns
    -------
    ndarray of shape (n, n_classes), or (n, 1) for two classes
        The scores; for two classes, those of the second minus those of the first.
    """
    return scores if scores.shape[1] > 2 else scores[:, 1:] - scores[:, :1]


class Baseline(DomainClassifier):
    """Base of the baselines: validates the input, then calls :meth:`_adapt`.

    Class attributes state the requirements of a method. With one domain alone, ``fit(X, y)``, it
    is source and target. Rows are converted to dense float64 arrays in memory: Dask collections
    are refused.
    """

    _needs_target_labels: ClassVar[bool] = False
    _takes_different_columns: ClassVar[bool] = False
    _takes_dask = False
    _parameter_constraints: ClassVar[dict] = {}

    source_mean_: np.ndarray
    target_mean_: np.ndarray

    def __init_subclass__(cls, **options) -> None:
        """Constrain each parameter: as the class says, or as all baselines of that name do."""
        super().__init_subclass__(**options)
        own = cls._parameter_constraints
        names = cls._get_param_names() or own  # a base without parameters hands its own on
        cls._parameter_constraints = {name: (CONSTRAINTS | own)[name] for name in names}

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, Xt=None, yt=None, *, sample_domain=None):
        """Learn from both domains.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Source rows; or rows of both domains, distinguished by `sample_domain`.
        y : array-like of shape (n,)
            Their labels.
        Xt : array-like or sparse matrix of shape (nt, n_target_features), optional
            Target rows; by default the source is the target too.
        yt : array-like of shape (nt,), optional
            Labels of the target rows; None, NaN or -1 where a label is missing.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows of X, negative for target rows.

        Returns
        -------
        self
            Fitted.
        """
        self.__dict__.pop(
            "_is_fitted", None
        )  # a fit that fails half-way must not leave half a model
        domains = self._check_domains(X, y, Xt, yt, sample_domain=sample_domain)
        self._remember_columns(domains)
        self._fit_domains(domains)
        self._is_fitted = True
        return self

    def _fit_domains(self, domains: Domains) -> None:
        """Adapt, and train a classifier, on dense rows."""
        source = dense_domain(domains.sources[0])
        target = source if domains.target is None else dense_domain(domains.target)
        self._check_setting(target)
        self._adapt(source, target)
        self._train(source, target)

    def __sklearn_is_fitted__(self):
        """Tell a finished fit from one that raised half-way."""
        return hasattr(self, "_is_fitted")

    def _adapt(self, source: Domain, target: Domain) -> None:
        """Learn the adaptation, and store it in attributes."""
        raise NotImplementedError

    def _train(self, source: Domain, target: Domain) -> None:
        """Train the classifier, where that is a separate step."""

    def _check_rows(self, *given, **options):
        """Validate rows given after fit; returns them and the mask of source rows."""
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

    def _center(self, source: Domain, target: Domain) -> tuple[np.ndarray, np.ndarray]:
        """Set the means, and return the centred rows of both domains."""
        self.source_mean_, self.target_mean_ = source.X.mean(axis=0), target.X.mean(axis=0)
        return source.X - self.source_mean_, target.X - self.target_mean_

    def _check_components(self, n_components: int | None, most: int, default: int) -> int:
        """Validate `n_components`, or return the default, at most `most`."""
        if n_components is None:
            return max(1, min(default, most))
        if n_components > most:
            raise ValueError(
                f"n_components must be at most {most}, what the rows and columns of the domains "
                f"allow, but is {n_components}: choose fewer, or leave it out."
            )
        return n_components


class ScoringBaseline(Baseline):
    """Base of methods with their own one-vs-rest decision function, :meth:`_scores`."""

    __metadata_request__decision_function = {"sample_domain": True, "allow_source": True}

    def _scores(self, X, is_source: np.ndarray) -> np.ndarray:
        """Decision values, one column per class; for two classes one, of the second."""
        raise NotImplementedError

    def _predict_codes(self, X, is_source: np.ndarray) -> np.ndarray:
        scores = self._scores(on_host(X), is_source)
        return scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(int)

    def decision_function(self, X, domain="target", *, sample_domain=None, allow_source=False):
        """Decision value of each class, one against the rest.

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
            Larger means more confident; for two classes, in the second one.
        """
        rows, is_source = self._check_rows(X, domain, sample_domain)
        scores = self._scores(on_host(rows), is_source)
        return scores if scores.shape[1] > 1 else scores[:, 0]


def _classifier_has(method: str):
    """Check that the classifier, fitted or not, has a method."""

    def check(self) -> bool:
        fitted = getattr(self, "classifier_", None)
        if fitted is None:
            fitted = make_classifier(self.classifier)
        getattr(fitted, method)  # raises the AttributeError that users expect
        return True

    return check


class LatentBaseline(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Baseline):
    """Base of methods that map both domains to one space and train a classifier there.

    :meth:`_adapt` learns the space: it sets the means and maps declared below, or overrides
    ``_latent``. The classifier is then trained on all labelled rows there.
    """

    __metadata_request__predict_proba = {"sample_domain": True, "allow_source": True}
    __metadata_request__decision_function = {"sample_domain": True, "allow_source": True}

    classifier: Any
    _source_map: np.ndarray
    _target_map: np.ndarray

    def __sklearn_tags__(self):
        """Estimator tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def transform(self, X, domain="target", *, sample_domain=None, allow_source=False):
        """Map rows to the latent space, where Euclidean distance is the learned one.

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
            The rows in the latent space; a lazy Dask array for a Dask collection.
        """
        check_is_fitted(self)
        return self._on_rows(latent_of, X, domain, sample_domain, width=self._n_features_out)

    def _latent(self, X, is_source: np.ndarray) -> Any:
        means, maps = (self.source_mean_, self.target_mean_), (self._source_map, self._target_map)
        return to_latent(X, means, maps, np.where(is_source, 0, -1))

    def fit_transform(self, X, y=None, Xt=None, yt=None, *, sample_domain=None, **fit_parameters):
        """Fit, then map the rows of X to the latent space, each by the projection of its domain.

        Parameters
        ----------
        X, y, Xt, yt : array-like
            As for :meth:`fit`.
        sample_domain : array-like of shape (n,), optional
            As for :meth:`fit`.
        **fit_parameters
            Further parameters of :meth:`fit`, such as `sample_weight`.

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
                f"This {type(self).__name__} is not a linear map of the columns, so there is no "
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
        """Domains whose labelled rows train the classifier, with a flag for the source."""
        return ((source, True),) if source is target else ((source, True), (target, False))

    def _predict_codes(self, X, is_source: np.ndarray) -> np.ndarray:
        return self.classifier_.predict(self._latent(X, is_source))

    @available_if(_classifier_has("predict_proba"))
    def predict_proba(self, X, domain="target", *, sample_domain=None, allow_source=False):
        """Class probabilities of the classifier.

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
        rows = self._check_rows(X, domain, sample_domain)
        found = self.classifier_.predict_proba(self._latent(*rows))
        seen = self.classifier_.classes_
        if len(seen) == len(self.classes_):
            return found
        every = np.zeros((len(found), len(self.classes_)), dtype=found.dtype)
        every[:, seen] = found  # labels of the others were not given
        return every

    @available_if(_classifier_has("decision_function"))
    def decision_function(self, X, domain="target", *, sample_domain=None, allow_source=False):
        """Decision values of the classifier.

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
            Larger means more confident; for two classes, in the second one.
        """
        rows = self._check_rows(X, domain, sample_domain)
        return self.classifier_.decision_function(self._latent(*rows))
