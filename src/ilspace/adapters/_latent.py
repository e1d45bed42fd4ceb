"""Estimators that send both domains to one latent space by linear maps."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ilspace._typing import Array
from ilspace.adapters._base import DomainAdapter
from ilspace.adapters.domain_rows import check_domain
from ilspace.adapters.lazy import by_blocks
from ilspace.backend import array_namespace, is_foreign, like, to_numpy
from ilspace.scale.dask_rows import is_dask


class LatentAdapter(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DomainAdapter):
    """Base of estimators whose fit ends in one linear map a domain.

    Their `fit` sets the means and maps declared below; what one may do with them is here.
    """

    source_mean_: Array
    target_mean_: Array
    _source_map: Array
    _target_map: Array

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
        if is_dask(X):
            check_is_fitted(self)
            return by_blocks(
                self,
                X,
                work=_latent_of,
                domain=domain,
                sample_domain=sample_domain,
                width=self._n_features_out,
            )
        X, is_source = self._check_rows(X, domain, sample_domain, allow_source)
        return self._latent(X, is_source)

    def _latent(self, X, is_source: np.ndarray) -> Array:
        X = _moved(X, self._target_map)
        dtype = X.dtype
        if is_source.all() and len(is_source):
            return as_dtype(_mapped(X, self.source_mean_, self._source_map), dtype)
        latent = _mapped(X, self.target_mean_, self._target_map)
        if is_source.any():
            other = _mapped(X, self.source_mean_, self._source_map)
            xp = array_namespace(latent)
            latent = xp.where(like(is_source, latent)[:, None], other, latent)
        return as_dtype(latent, dtype)

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

    # -- the learned metric, under the names that metric-learn gave them -------------------------

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
        pairs = pairs if is_foreign(pairs) else np.asarray(pairs)
        if pairs.ndim != 3 or pairs.shape[1] != 2:
            raise ValueError(
                f"pairs must have shape (n_pairs, 2, n_features), but has shape {pairs.shape}."
            )
        first, second = (
            self._latent(*self._check_rows(pairs[:, side, :], domain, None, True, named=False))
            for side in (0, 1)
        )
        offsets = first - second
        xp = array_namespace(offsets)
        return xp.sqrt(xp.sum(offsets * offsets, axis=1))


def _latent_of(model: LatentAdapter, X, is_source: np.ndarray) -> Array:
    return model._latent(X, is_source)


def as_dtype(array: Array, dtype) -> Array:
    return array_namespace(array).astype(array, dtype, copy=False)


def _moved(X, reference: Array):
    """Rows in the library of the fitted arrays, if they come from another one."""
    if is_foreign(X) == is_foreign(reference):
        return X
    return like(X.toarray() if sparse.issparse(X) else to_numpy(X), reference)


def _mapped(rows, mean: Array, mapping: Array) -> Array:
    """Centre rows and map them; sparse ones stay sparse."""
    if sparse.issparse(rows):
        return rows @ mapping - mean @ mapping
    # OpenBLAS now and then raises the flag in a small single precision product of ordinary numbers,
    # which comes out right and raises none when it is computed again; the rows were checked before
    with np.errstate(invalid="ignore"):
        return array_namespace(mapping).matmul(rows - mean, mapping)
