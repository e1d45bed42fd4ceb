"""What all estimators of two domains share: checks before and after fit, and predictions."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_array
from sklearn.utils.validation import _get_feature_names, check_is_fitted, validate_data

from ilspace._typing import Array
from ilspace._warnings import warn
from ilspace.backend import array_namespace, holds_dask, is_dask, is_foreign, refuse_dask
from ilspace.dask import by_blocks, check_dask_domains
from ilspace.domains import (
    Domains,
    check_domains,
    domain_numbers,
    domain_position,
    domain_positions,
)
from ilspace.domains.labels import natural_labels
from ilspace.domains.rows import FLOATS, check_foreign, check_magnitude, quiet_checks
from ilspace.estimators.saving import save_estimator

Position = int | np.ndarray
"""Domain of rows: from 0 for the sources, -1 for the target; one number, or one per row."""


class DomainAdapter(BaseEstimator):
    """Base of estimators that learn from a source and a target domain.

    They share ``fit(X, y, Xt, yt, *, sample_domain)``: rows of the two domains either apart
    (``X, y`` and ``Xt, yt``) or together, with ``sample_domain`` positive for source rows and
    negative for target rows.
    """

    __metadata_request__fit = {"Xt": True, "yt": True, "sample_domain": True}
    __metadata_request__transform = {"sample_domain": True, "allow_source": True}

    _takes_dask: ClassVar[bool] = True
    """Whether `fit` and most other methods take Dask collections."""

    _takes_several_sources: ClassVar[bool] = False
    """Whether `fit` keeps several sources apart; else rows of all positive numbers are one."""

    _revision: ClassVar[int] = 1
    """Raised when the same parameters give other results; a subclass may have one of its own."""

    _came_later: ClassVar[frozenset[str]] = frozenset({"class_prior", "n_atoms", "unseen_mean"})
    """Parameters that came when results were stored already: the default, which changes nothing, is
    left out of a description of the method, so that these stay current."""

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file that :func:`ilspace.load` reads.

        The file holds the parameters and what `fit` learned, bit for bit; not `callback`, nor a
        `random_state` that is a generator (both load as None), nor what `set_output` and the
        metadata requests were told. Tensors of other libraries are saved, and load, as NumPy
        arrays. The file is written whole or not at all: a previous one stays until the new one is
        complete.

        Parameters
        ----------
        path : str or path-like
            Where; the folder must exist, and a file that is there is replaced.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If it holds something that skops cannot write.
        """
        save_estimator(self, path)

    # -- fit -------------------------------------------------------------------------------------

    def _check_domains(self, X, y, Xt, yt, **given) -> Domains:
        """Check everything `fit` was given; nothing is written on the estimator."""
        caller = type(self).__name__
        if not self._takes_dask:
            self._refuse_dask(X=X, Xt=Xt)
        elif holds_dask(X, Xt):
            return check_dask_domains(X, y, Xt, yt, caller=caller, **given)
        several = self._takes_several_sources
        return check_domains(X, y, Xt, yt, caller=caller, several=several, **given)

    def _remember_columns(self, domains: Domains) -> None:
        """Set the attributes that describe the columns and the classes."""
        source, target = domains.sources[0], domains.all[-1]
        self.classes_ = domains.classes
        self.source_names_ = domains.names[: len(domains.sources)]
        self._source_numbers = domains.numbers
        self._source_columns = tuple(each.feature_names for each in domains.sources)
        self._source_widths = tuple(each.n_features for each in domains.sources)
        self._shares_features = domains.shares_features
        self._has_target = domains.target is not None
        self.n_features_in_, self.n_target_features_in_ = source.n_features, target.n_features
        for name, domain in (("feature_names_in_", source), ("target_feature_names_in_", target)):
            self.__dict__.pop(name, None)
            if domain.feature_names is not None:
                setattr(self, name, domain.feature_names)

    # -- after fit -------------------------------------------------------------------------------

    def _check_rows(
        self, X, domain: str | float, sample_domain=None, *, named: bool = True
    ) -> tuple[Any, Position]:
        """Check rows given after fit; the rows, and the position of their domain.

        Rows that are not `named` are of a kind that cannot have feature names.
        """
        check_is_fitted(self)
        first = self._position(domain)
        position: Position = first
        self._refuse_dask(X=X)
        if sample_domain is not None:
            numbers = domain_numbers(sample_domain, X)
            own = domain_positions(numbers, self._source_numbers)
            first = int(np.min(own)) if len(own) else -1
            position = own if (own >= 0).any() else -1
            if first < np.max(own, initial=-1) and not self._shares_features:
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
            self._check_width(X, first)
        elif named and (first == 0 or (first < 0 and alike)):
            with quiet_checks(X, "X"):
                X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        else:
            names = _get_feature_names(X)
            with quiet_checks(X, "X"):
                X = check_array(X, accept_sparse="csr", dtype=FLOATS)
            self._check_width(X, first)
            if names is not None and first < 0:
                self._check_target_names(names)
            elif names is not None and named:
                self._check_source_names(names, first)
        check_magnitude(X, "X", fitting=False)
        return X, position

    def _position(self, domain: str | float) -> int:
        """Position of a domain that is named or numbered."""
        if isinstance(domain, str) and domain == "unseen":
            if self._has_target:
                raise ValueError(
                    'domain="unseen" is for models that were fitted without a target, but this one '
                    'has one: use domain="target", or fit the sources alone.'
                )
            domain = "target"  # which was none: the last map is for all domains to come
        return domain_position(domain, self.source_names_, self._source_numbers)

    def _on_rows(
        self,
        work: Callable[..., Any],
        X,
        domain: str | float,
        sample_domain,
        *,
        width: int | None,
        dtype: Any = None,
    ) -> Any:
        """Check rows and work on them; on those of a Dask collection block by block, when asked.

        `work` takes this estimator and what `_check_rows` returns; its result has `width` columns,
        or is 1-d where that is None.
        """
        if not is_dask(X):
            return work(self, *self._recentred(*self._check_rows(X, domain, sample_domain)))
        check_is_fitted(self)
        X = self._recentred_blocks(X, domain, sample_domain)
        return by_blocks(
            self, X, work=work, domain=domain, sample_domain=sample_domain, width=width, dtype=dtype
        )

    def _recentred(self, X: Any, position: Position) -> tuple[Any, Position]:
        """Checked rows, centred as the estimator is told to centre those of an unseen domain."""
        return X, position

    def _recentred_blocks(self, X: Any, domain: str | float, sample_domain: Any) -> Any:
        """The same for a Dask collection that is not checked yet."""
        return X

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
            warn(
                f"X has feature names, but {type(self).__name__} was fitted without feature names "
                "of the target"
            )
        elif not np.array_equal(names, source):
            raise ValueError(
                "The feature names should match those of X at fit, in the same order: pass "
                "X[estimator.feature_names_in_]."
            )

    def _check_source_names(self, names: np.ndarray, position: int) -> None:
        """Compare columns with those of a source after the first, if it had names."""
        expected = self._source_columns[position]
        if expected is not None and not np.array_equal(names, expected):
            raise ValueError(
                f"The feature names should match those of {self.source_names_[position]} at fit, "
                "in the same order, but do not."
            )

    def _check_width(self, X, position: int) -> None:
        expected, name = self.n_target_features_in_, "target"
        if position >= 0:
            expected, name = self._source_widths[position], self.source_names_[position]
        if X.shape[1] != expected:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {expected} "
                f"features as input of the {name} domain."
            )


class DomainClassifier(ClassifierMixin, DomainAdapter):
    """Base of estimators that give rows of either domain a class.

    They set `classes_` and say in :meth:`_predict_codes` which of them a row belongs to.
    """

    __metadata_request__predict = {"sample_domain": True, "allow_source": True}
    __metadata_request__score = {"sample_domain": True, "allow_source": True}

    classes_: np.ndarray

    def _predict_codes(self, X, position: Position) -> np.ndarray:
        """Position in `classes_` of the class of each row."""
        raise NotImplementedError

    def predict(self, X, domain: str | float = "target", *, sample_domain=None, allow_source=False):
        """Class of each row.

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
        ndarray of shape (n,)
            Labels. Of a Dask collection a Dask array, of which nothing is computed yet.
        """
        check_is_fitted(self)
        dtype = self.classes_.dtype
        return self._on_rows(_labels_of, X, domain, sample_domain, width=None, dtype=dtype)

    def score(
        self,
        X,
        y,
        sample_weight=None,
        *,
        domain: str | float = "target",
        sample_domain=None,
        allow_source=False,
    ):
        """Share of rows that are given their true class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of one domain.
        y : array-like of shape (n,)
            Their true labels.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        domain : {"target", "source", "unseen"}, str or number, default="target"
            Which one; of several sources ``"source"`` is the first, others have names and numbers.
            ``"unseen"`` is any other domain, where `fit` had no target.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows, negative for target rows.
        allow_source : bool, default=False
            Accepted for pipelines that pass it; source rows are always allowed.

        Returns
        -------
        float
            Accuracy.
        """
        predicted = self.predict(X, domain, sample_domain=sample_domain, allow_source=allow_source)
        return accuracy_score(
            natural_labels(y, "row"), np.asarray(predicted), sample_weight=sample_weight
        )


def _labels_of(model: DomainClassifier, X, position: Position) -> np.ndarray:
    return model.classes_[model._predict_codes(X, position)]


def latent_distance(model: Any, pairs, domain: str | float) -> Array:
    """Distance between the two rows of each pair in the latent space of a fitted model.

    Parameters
    ----------
    model : DomainAdapter
        One that sends rows to a latent space.
    pairs : array-like of shape (n_pairs, 2, n_features)
        Pairs of rows of one domain.
    domain : str or number
        Which one.

    Returns
    -------
    array of shape (n_pairs,)
        Distances, not squared.
    """
    pairs = pairs if is_foreign(pairs) else np.asarray(pairs)
    if pairs.ndim != 3 or pairs.shape[1] != 2:
        raise ValueError(
            f"pairs must have shape (n_pairs, 2, n_features), but has shape {pairs.shape}."
        )
    first, second = (
        model._latent(*model._check_rows(pairs[:, side, :], domain, named=False)) for side in (0, 1)
    )
    offsets = first - second
    xp = array_namespace(offsets)
    return xp.sqrt(xp.sum(offsets * offsets, axis=1))


def latent_of(model: Any, X, position) -> Array:
    """Checked rows in the latent space of a fitted model, for :meth:`DomainAdapter._on_rows`.

    Parameters
    ----------
    model : DomainAdapter
        One that sends rows to a latent space.
    X : array or sparse matrix of shape (n, n_features)
        Checked rows.
    position : int or ndarray
        Their domain.

    Returns
    -------
    array of shape (n, n_components)
        The rows there.
    """
    return model._latent(X, position)
