"""What all adapters share: the checks of two domains, and scikit-learn's private helpers."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names,
    _check_y,
    _get_feature_names,
    check_is_fitted,
    validate_data,
)

from ilspace.adapters._checks import (
    check_finite,
    check_foreign,
    check_magnitude,
    check_size,
    check_weights,
)
from ilspace.adapters._labels import encode_source, encode_target, natural_labels
from ilspace.adapters.domain_rows import (
    DomainRows,
    check_domain,
    source_mask,
    split_domains,
    take_rows,
)
from ilspace.backend import is_foreign, on_host
from ilspace.scale.dask_rows import refuse_dask

_FLOATS = (np.float64, np.float32)


class DomainAdapter(BaseEstimator):
    """Base of estimators that learn from a source and a target domain.

    They share ``fit(X, y, Xt, yt, *, sample_domain, sample_weight)``: rows of the two domains
    either apart (``X, y`` and ``Xt, yt``) or together, with ``sample_domain`` positive for
    source rows and negative for target rows.
    """

    __metadata_request__fit = {"Xt": True, "yt": True, "sample_domain": True}
    __metadata_request__transform = {"sample_domain": True, "allow_source": True}

    _takes_dask: ClassVar[bool] = True
    """Whether `fit` and most other methods know what to do with Dask collections."""

    _revision: ClassVar[int] = 1
    """Raised when the same parameters give other results; a subclass may have one of its own."""

    def __sklearn_tags__(self):
        """Say what the common checks may expect."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _refuse_dask(self, **given) -> None:
        """Refuse Dask collections, by their names, that would be computed here unasked."""
        taker, instead = type(self).__name__, "ILSClassifier"
        if self._takes_dask:
            taker, instead = f"This method of {taker}", "transform"
        remedy = f"compute it ({{name}}.compute()), or use {instead}, which takes Dask collections"
        refuse_dask(taker, remedy=remedy, **given)

    # -- fit -------------------------------------------------------------------------------------

    def _check_domains(
        self, X, y, Xt, yt, sample_domain, sample_weight, *, encode=encode_source
    ) -> tuple[np.ndarray, tuple[DomainRows, ...]]:
        """Check everything `fit` was given; classes, and one record a domain."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                "the source rows need labels (labels of target rows go into yt)."
            )
        self._refuse_dask(X=X, Xt=Xt)
        if sample_weight is not None:
            sample_weight = np.asarray(on_host(sample_weight))
        if sample_domain is not None:
            X, y, Xt, yt, sample_weight = split_domains(X, y, Xt, yt, sample_domain, sample_weight)
        X, y = self._check_source(X, y)
        classes, codes = encode(y)
        n_source = X.shape[0]
        if Xt is None:
            if yt is not None:
                raise ValueError("yt labels the rows of Xt, but Xt is None: pass both, or neither.")
            self._remember_target(self.n_features_in_, getattr(self, "feature_names_in_", None))
            self._shares_features = True
            weights = check_weights(sample_weight, n_source, 0)
            return classes, (_check_classes(_kept(X, codes, weights)),)
        if is_foreign(X) != is_foreign(Xt):
            raise ValueError(
                f"X and Xt must belong to one array library, but are {type(X).__name__} and "
                f"{type(Xt).__name__}: convert one of them."
            )
        Xt = self._check_target(Xt)
        target_codes = encode_target(yt, classes, Xt.shape[0])
        weights = check_weights(sample_weight, n_source, Xt.shape[0])
        source_weights = None if weights is None else weights[:n_source]
        target_weights = None if weights is None else weights[n_source:]
        source = _check_classes(_kept(X, codes, source_weights))
        target = _kept(Xt, target_codes, target_weights)
        if not self._shares_features and len(target.labelled) == 0:
            raise ValueError(
                f"Domains of different features (here {self.n_features_in_} source and "
                f"{self.n_target_features_in_} target columns{self._different_names()}) have no "
                "correspondence but their labels, and yt has none of positive weight: label a few "
                "target rows of each class, or give both domains the same columns."
            )
        return classes, (source, target)

    def _check_source(self, X, y):
        y = natural_labels(y)
        if is_foreign(X):
            check_foreign(X, "X", at_least=2)
            _check_feature_names(self, X, reset=True)
            self.n_features_in_ = X.shape[1]
            y = _check_y(y)
            check_consistent_length(X, y)
        else:
            X, y = validate_data(
                self, X, y, accept_sparse="csr", dtype=_FLOATS, ensure_min_samples=2
            )
        check_classification_targets(y)
        check_magnitude(X, "X")
        return X, y

    def _check_target(self, Xt):
        names = _get_feature_names(Xt)
        if is_foreign(Xt):
            check_foreign(Xt, "Xt", at_least=2)
        else:
            Xt = check_array(
                Xt,
                accept_sparse="csr",
                dtype=_FLOATS,
                ensure_all_finite=False,
                ensure_min_samples=0,
                input_name="Xt",
                estimator=self,
            )
            check_size(Xt, "Xt", at_least=2)
            check_finite(Xt, "Xt")
        check_magnitude(Xt, "Xt")
        self._remember_target(Xt.shape[1], names)
        source_names = getattr(self, "feature_names_in_", None)
        self._shares_features = self.n_target_features_in_ == self.n_features_in_
        if self._shares_features and names is not None and source_names is not None:
            self._shares_features = bool(np.array_equal(names, source_names))
            if not self._shares_features and set(names) == set(source_names):
                raise ValueError(
                    "Xt must have its columns in the order of X's, but has the same names in "
                    "another order: pass Xt[X.columns]."
                )
            if not self._shares_features and not set(names).isdisjoint(source_names):
                warnings.warn(
                    "X and Xt have some columns in common but not all"
                    f"{self._different_names()}: they are taken for domains of different columns, "
                    "which only labels relate. Rename or drop columns if that is not meant.",
                    UserWarning,
                    stacklevel=5,  # the caller of fit
                )
        return Xt

    def _different_names(self) -> str:
        """Names that only one domain has, for messages; nothing where there are no names."""
        source = getattr(self, "feature_names_in_", None)
        target = getattr(self, "target_feature_names_in_", None)
        if source is None or target is None:
            return ""
        only_source, only_target = (
            [name for name in these if name not in set(those)][:5]
            for these, those in ((source, target), (target, source))
        )
        return f"; only in X: {only_source}, only in Xt: {only_target}"

    def _remember_target(self, n_features: int, names: np.ndarray | None) -> None:
        self.n_target_features_in_ = n_features
        if hasattr(self, "target_feature_names_in_"):
            del self.target_feature_names_in_
        if names is not None:
            self.target_feature_names_in_ = names

    # -- after fit -------------------------------------------------------------------------------

    def _check_rows(self, X, domain: str, sample_domain, allow_source: bool, *, named: bool = True):
        """Check rows given after fit; the rows, and the mask of those from the source.

        Rows that are not `named` are of a kind that cannot have feature names.
        """
        check_is_fitted(self)
        check_domain(domain)
        self._refuse_dask(X=X)
        is_source = None
        if sample_domain is not None:
            is_source = source_mask(sample_domain, X)
            domain = "source" if is_source.all() else "target"
            if is_source.any() and not is_source.all() and not self._shares_features:
                raise ValueError(
                    "Rows of both domains can be given at once only where the domains have the "
                    "same features: call once for each domain."
                )
        # a domain that was given without names, or with others, is not to be held to the source's
        alike = self._shares_features and (
            hasattr(self, "feature_names_in_") == hasattr(self, "target_feature_names_in_")
        )
        if is_foreign(X):
            check_foreign(X, "X")
            self._check_width(X, domain)
        elif named and (domain == "source" or alike):
            X = validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, reset=False)
        else:
            names = _get_feature_names(X)
            X = check_array(X, accept_sparse="csr", dtype=_FLOATS)
            self._check_width(X, domain)
            if names is not None:
                self._check_target_names(names)
        check_magnitude(X, "X", fitting=False)
        if is_source is None:
            is_source = np.full(X.shape[0], domain == "source")
        return X, is_source

    def _check_target_names(self, names: np.ndarray) -> None:
        expected = getattr(self, "target_feature_names_in_", None)
        if expected is not None and not np.array_equal(names, expected):
            raise ValueError(
                "The feature names should match those of Xt at fit, in the same order: pass "
                "X[estimator.target_feature_names_in_]."
            )
        if expected is not None:
            return
        # Xt came without names; where it shares its columns with X, those names tell the order
        source = getattr(self, "feature_names_in_", None) if self._shares_features else None
        if source is None or set(names) != set(source):
            warnings.warn(
                f"X has feature names, but {type(self).__name__} was fitted without feature names "
                "of the target",
                UserWarning,
                stacklevel=5,
            )
        elif not np.array_equal(names, source):
            raise ValueError(
                "The feature names should match those of X at fit, in the same order: pass "
                "X[estimator.feature_names_in_]."
            )

    def _check_width(self, X, domain: str) -> None:
        expected = self.n_features_in_ if domain == "source" else self.n_target_features_in_
        if X.shape[1] != expected:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {expected} "
                f"features as input of the {domain} domain."
            )


def _kept(X, codes: np.ndarray, weights: np.ndarray | None) -> DomainRows:
    """Leave out rows of weight zero: they are as good as absent."""
    if weights is None or (weights > 0).all():
        return DomainRows(X, codes, weights)
    rows = np.flatnonzero(weights > 0)
    if len(rows) < 2:
        raise ValueError(
            f"Each domain needs at least 2 rows of positive weight, but one has {len(rows)}: give "
            "more rows a weight, or leave the domain out."
        )
    return DomainRows(take_rows(X, rows), codes[rows], weights[rows])


def _check_classes(source: DomainRows) -> DomainRows:
    """Refuse weights that leave one class."""
    if len(np.unique(source.codes[source.labelled])) < 2:
        raise ValueError(
            "At least 2 classes are needed among the source rows of positive weight, but "
            "sample_weight leaves one class: give rows of another class a weight."
        )
    return source
