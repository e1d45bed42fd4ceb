"""What all adapters share: the checks of two domains, and scikit-learn's private helpers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, check_array, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names,
    _check_sample_weight,
    _check_y,
    _get_feature_names,
    check_is_fitted,
    validate_data,
)

from ilspace._typing import Array
from ilspace.adapters._labels import encode_source, encode_target, natural_labels
from ilspace.backend import array_namespace, is_foreign, like, to_numpy
from ilspace.scale.dask_rows import refuse_dask

_FLOATS = (np.float64, np.float32)


@dataclass(frozen=True)
class DomainRows:
    """The checked rows of one domain.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
        All rows.
    codes : ndarray of shape (n,)
        Class of each row, -1 where it has no label.
    weights : ndarray of shape (n,) or None
        Weight of each row, all positive; None where they are equal.
    """

    X: Array
    codes: np.ndarray
    weights: np.ndarray | None = None

    @property
    def labelled(self) -> np.ndarray:
        """Row numbers that have a label."""
        return np.flatnonzero(self.codes >= 0)

    @property
    def labelled_rows(self) -> Array:
        """Rows that have a label; those of `X` itself where all have one."""
        labelled = self.labelled
        return self.X if len(labelled) == len(self.codes) else take_rows(self.X, labelled)


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
            sample_weight = np.asarray(
                to_numpy(sample_weight) if is_foreign(sample_weight) else sample_weight
            )
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
            _check_foreign(X, "X", at_least=2)
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
            _check_foreign(Xt, "Xt", at_least=2)
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
            _check_foreign(X, "X")
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


def check_domain(domain: object) -> None:
    """Refuse a domain other than the two there are.

    Parameters
    ----------
    domain : object
        What was given as one.
    """
    if domain not in ("source", "target"):
        raise ValueError(f'domain must be "source" or "target", but is {domain!r}.')


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


def take_rows(X, rows: np.ndarray):
    """Some rows of an array of any library, a DataFrame, a list or a sparse matrix.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, ...)
        All rows.
    rows : ndarray of int
        Their numbers.

    Returns
    -------
    array-like or sparse matrix
        A copy of these rows.
    """
    if is_foreign(X):
        return array_namespace(X).take(X, like(rows, X), axis=0)
    return _safe_indexing(X, rows)


def check_weights(sample_weight, n_source: int, n_target: int) -> np.ndarray | None:
    """Weights of the source rows, followed by those of the target rows.

    Parameters
    ----------
    sample_weight : ndarray or None
        One weight for all rows, one a source row, or one a row of either domain.
    n_source, n_target : int
        Number of rows of each domain.

    Returns
    -------
    ndarray of shape (n_source + n_target,) or None
        Target rows weigh 1 where only source rows were given weights.
    """
    if sample_weight is None:
        return None
    if sample_weight.ndim == 0:
        sample_weight = np.full(n_source + n_target, sample_weight)
    n = len(sample_weight)
    if n not in (n_source, n_source + n_target):
        both = f", or one a source row and then one a target row ({n_source + n_target})"
        raise ValueError(
            f"sample_weight must have one entry a source row ({n_source})"
            f"{both if n_target else ''}, but has {n}."
        )
    weights = _check_sample_weight(
        sample_weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True
    )
    if len(weights) < n_source + n_target:
        weights = np.concatenate([weights, np.ones(n_target)])
    return weights


def source_mask(sample_domain, X) -> np.ndarray:
    """Find the rows that belong to the source.

    Parameters
    ----------
    sample_domain : array-like of shape (n,) or number
        Positive for source rows, negative for target rows; one number stands for all rows.
    X : array-like or sparse matrix of shape (n, ...)
        The rows.

    Returns
    -------
    ndarray of bool, shape (n,)
        True for source rows.
    """
    domains = np.asarray(to_numpy(sample_domain) if is_foreign(sample_domain) else sample_domain)
    if domains.ndim == 0:
        domains = np.full(np.shape(X)[0], domains)
    check_consistent_length(X, domains)
    if domains.ndim > 1:
        raise ValueError(
            f"sample_domain must be 1-d, one entry a row, but has shape {domains.shape}."
        )
    if domains.dtype.kind not in "iuf" or not ((domains > 0) | (domains < 0)).all():
        raise ValueError(
            "sample_domain must hold positive numbers for source rows and negative ones for "
            f"target rows, but holds {np.unique(domains)[:5].tolist()}."
        )
    return domains > 0


def split_domains(X, y, Xt, yt, sample_domain, sample_weight):
    """Take rows of both domains apart.

    Parameters
    ----------
    X, y : array-like
        Rows of both domains, and their labels.
    Xt, yt : None
        Refused otherwise: the target would be there twice.
    sample_domain : array-like of shape (n,) or number
        Positive for source rows, negative for target rows.
    sample_weight : ndarray or None
        Weights of the rows.

    Returns
    -------
    X, y, Xt, yt : array-like
        Rows and labels of the source, then of the target; None where there is no target row.
    sample_weight : ndarray or None
        Weights of the source rows, then of the target rows.
    """
    if Xt is not None or yt is not None:
        raise ValueError(
            "Give the target either as Xt (and yt) or as rows of X with a negative "
            "sample_domain, but not both."
        )
    if sparse.issparse(X):
        X = X.tocsr()
    is_source = source_mask(sample_domain, X)
    check_consistent_length(X, y)
    source, target = np.flatnonzero(is_source), np.flatnonzero(~is_source)
    if len(source) == 0:
        raise ValueError(
            "Some rows must belong to the source, but sample_domain has no positive entry."
        )
    y = to_numpy(y) if is_foreign(y) else y
    if sample_weight is not None and sample_weight.ndim > 0:
        if len(sample_weight) != len(is_source):
            raise ValueError(
                f"sample_weight must have one entry a row of X ({len(is_source)}) if sample_domain "
                f"is given, but has {len(sample_weight)}."
            )
        sample_weight = sample_weight[np.concatenate([source, target])]
    if len(target) == 0:
        return X, y, None, None, sample_weight
    return (
        take_rows(X, source),
        take_rows(y, source),
        take_rows(X, target),
        take_rows(y, target),
        sample_weight,
    )


def _check_foreign(X: Array, name: str, at_least: int = 1) -> None:
    """Check a tensor where it is: scikit-learn would copy it to the host first."""
    xp = array_namespace(X)
    if X.ndim != 2 or X.shape[1] < 1:
        raise ValueError(f"{name} must be 2-d with rows and columns, but has shape {X.shape}.")
    check_size(X, name, at_least)
    if not xp.isdtype(X.dtype, "real floating"):
        raise ValueError(f"{name} must be of a real floating type, but is {X.dtype}: convert it.")
    check_finite(X, name)


def check_size(X, name: str, at_least: int) -> None:
    """Refuse too few rows.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The rows.
    name : str
        What to call them.
    at_least : int
        How many are enough.
    """
    if X.shape[0] < at_least:
        raise ValueError(
            f"{name} must have at least {at_least} rows, but has {X.shape[0]} (shape "
            f"{tuple(X.shape)}): add rows."
        )


def check_finite(X, name: str) -> None:
    """Refuse NaN and infinity.

    Parameters
    ----------
    X : array or sparse matrix
        The rows.
    name : str
        What to call them.
    """
    values = X.data if sparse.issparse(X) else X
    xp = array_namespace(values)
    if not bool(xp.all(xp.isfinite(values))):
        raise ValueError(
            f"{name} must be finite, but contains NaN or infinity: impute or drop such rows."
        )


def check_magnitude(X, name: str, *, fitting: bool = True) -> None:
    """Refuse rows whose distances, squared and squared again, would overflow or vanish.

    Parameters
    ----------
    X : array or sparse matrix
        The rows.
    name : str
        What to call them.
    fitting : bool, default=True
        Whether they are to be learned from; rows that come later may be small.
    """
    values = X.data if sparse.issparse(X) else X
    if 0 in values.shape:
        return
    xp = array_namespace(values)
    # NumPy's rows are worked on in double precision, other libraries' in their own
    limits = xp.finfo(values.dtype if is_foreign(values) else np.float64)
    largest = max(float(xp.max(values)), -float(xp.min(values)))
    lowest, highest = float(limits.smallest_normal) ** 0.2, float(limits.max) ** 0.2
    if largest > highest or (fitting and 0 < largest < lowest):
        raise ValueError(
            f"The largest magnitude in {name} must lie between {lowest:.0e} and {highest:.0e}, "
            f"where squared distances can be computed, but is {largest:.3g}: scale the columns, "
            "for instance with sklearn.preprocessing.StandardScaler."
        )
