"""Nearest labelled rows, class by class."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ilspace._typing import Array
from ilspace.adapters._classifier import DomainClassifier
from ilspace.adapters._latent import LatentAdapter, as_dtype
from ilspace.adapters.domain_rows import DomainRows
from ilspace.adapters.lazy import by_blocks
from ilspace.backend import array_namespace, is_foreign, like, to_numpy
from ilspace.scale.dask_rows import is_dask

_TILE, _LARGE_TILE = 2**22, 2**25
"""Most distances held at once: what a core's cache can follow, and what keeps a GPU busy."""

_WIDEST = 2**16
"""Most labelled rows that a tile compares with."""


def class_distances(queries: Array, rows: Array, codes: np.ndarray, n_classes: int) -> Array:
    """Squared Euclidean distance of each query to the nearest row of each class.

    Parameters
    ----------
    queries : array of shape (n, p)
        Rows to classify, in the latent space.
    rows : array of shape (m, p)
        Labelled rows.
    codes : ndarray of shape (m,)
        Their classes, from 0.
    n_classes : int
        How many classes there are.

    Returns
    -------
    array of shape (n, n_classes)
        Infinity for a class that has no row.
    """
    xp = array_namespace(queries)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=n_classes))
    rows = xp.take(rows, like(order, rows), axis=0)
    norms = xp.sum(rows * rows, axis=1)
    spans = [(int(start), int(stop)) for start, stop in zip(np.r_[0, ends[:-1]], ends, strict=True)]
    tile = _LARGE_TILE if is_foreign(queries) else _TILE
    height = max(1, tile // max(1, min(len(codes), _WIDEST)))
    blocks = []
    for top in range(0, queries.shape[0], height):
        block = queries[top : min(top + height, queries.shape[0]), :]
        squares = xp.sum(block * block, axis=1)
        columns = [xp.full_like(squares, xp.inf) for _ in spans]
        for left in range(0, len(codes), _WIDEST):
            right = min(left + _WIDEST, len(codes))
            distances = norms[None, left:right] - 2 * (block @ rows[left:right, :].mT)
            for code, (start, stop) in enumerate(spans):
                start, stop = max(start, left) - left, min(stop, right) - left
                if start < stop:
                    near = xp.min(distances[:, start:stop], axis=1)
                    columns[code] = xp.minimum(columns[code], near)
        nearest = xp.stack(columns, axis=1) + squares[:, None]
        blocks.append(xp.maximum(nearest, xp.zeros_like(nearest)))
    return xp.concat(blocks, axis=0)


def vote(source: Array, target: Array, source_vote: float | None) -> Array:
    """Combine the class distances to source rows and to labelled target rows.

    Parameters
    ----------
    source, target : array of shape (n, n_classes)
        Class distances to the rows of each domain; infinity for a class without rows.
    source_vote : float or None
        Share of the source in the weighted mean; None for the nearest row of either domain.

    Returns
    -------
    array of shape (n, n_classes)
        The combined distances. A class with rows in one domain only keeps its distance there.
    """
    xp = array_namespace(source)
    if source_vote is None:
        return xp.minimum(source, target)
    both = xp.isfinite(source) & xp.isfinite(target)
    zero = xp.zeros_like(source)
    mean = source_vote * xp.where(both, source, zero) + (1 - source_vote) * xp.where(
        both, target, zero
    )
    return xp.where(both, mean, xp.minimum(source, target))


class NearestClassifier(DomainClassifier, LatentAdapter):
    """Base of latent adapters that give a row the class of its nearest labelled rows.

    Their `fit` ends with :meth:`_store_labelled`.
    """

    __metadata_request__predict_proba = {"sample_domain": True, "allow_source": True}

    sharpness_: float
    source_vote_: float | None

    def _store_labelled(self, domains: tuple[DomainRows, ...]) -> None:
        """Keep the labelled rows of each domain, in the latent space, with their classes."""
        self._labelled = tuple(
            (
                self._latent(domain.labelled_rows, np.full(len(labelled), is_source)),
                domain.codes[labelled],
            )
            for domain, labelled, is_source in (
                (domain, domain.labelled, position == 0) for position, domain in enumerate(domains)
            )
        )

    def class_distances(self, X, domain="target", *, sample_domain=None, allow_source=False):
        """Squared distance of each row to each class, in the latent space.

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
        array of shape (n, n_classes)
            To the nearest labelled row of each class, the domains combined by `source_vote`. Of a
            Dask collection a Dask array, of which nothing is computed yet.
        """
        if is_dask(X):
            return self._class_columns(X, _distances_of, domain, sample_domain)
        return self._class_distances(*self._check_rows(X, domain, sample_domain, allow_source))

    def _class_columns(self, X, work, domain: str, sample_domain):
        """One lazy column a class."""
        check_is_fitted(self)
        n_classes = len(self.classes_)
        return by_blocks(
            self, X, work=work, domain=domain, sample_domain=sample_domain, width=n_classes
        )

    def _class_distances(self, X, is_source: np.ndarray) -> Array:
        return self._combined(self._domain_distances(X, is_source))

    def _combined(self, by_domain: list[Array]) -> Array:
        """Distances to the rows of both domains together, as the vote says."""
        if len(by_domain) == 1:
            return by_domain[0]
        from_source, from_target = by_domain
        return as_dtype(vote(from_source, from_target, self.source_vote_), from_source.dtype)

    def _domain_distances(self, X, is_source: np.ndarray) -> list[Array]:
        """Class distances to the labelled rows of each domain."""
        latent = self._latent(X, is_source)
        xp = array_namespace(latent)
        far = xp.zeros_like(latent[:, :1]) + xp.full_like(latent[:1, :1], xp.inf)
        far = xp.broadcast_to(far, (latent.shape[0], len(self.classes_)))
        by_domain = [
            class_distances(latent, rows, codes, len(self.classes_)) if len(codes) else far
            for rows, codes in self._labelled
        ]
        return [as_dtype(each, latent.dtype) for each in by_domain]

    def _predict_codes(self, X, is_source: np.ndarray) -> np.ndarray:
        return np.argmin(to_numpy(self._class_distances(X, is_source)), axis=1)

    def predict_proba(self, X, domain="target", *, sample_domain=None, allow_source=False):
        r"""Probabilities of the classes.

        The loss models the odds that two rows at squared distance d are of one class as
        :math:`e^{-\beta(d - 1)}`; these odds, for the nearest row of each class, are normalised.
        They rank the rows by how sure the rule is, but are not calibrated.

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
        array of shape (n, n_classes)
            Rows sum to 1; the largest entry is the predicted class. Of a Dask collection a Dask
            array, of which nothing is computed yet.
        """
        if is_dask(X):
            return self._class_columns(X, _probabilities_of, domain, sample_domain)
        return self._probabilities(
            self.class_distances(X, domain, sample_domain=sample_domain, allow_source=allow_source)
        )

    def _probabilities(self, distances: Array) -> Array:
        xp = array_namespace(distances)
        odds = xp.exp(self.sharpness_ * (xp.min(distances, axis=1, keepdims=True) - distances))
        return odds / xp.sum(odds, axis=1, keepdims=True)

    def nearest(self, X, domain="target"):
        """Class of each row, how sure that is, and how far the nearest labelled row is.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of one domain, seen at fit or not.
        domain : {"target", "source"}, default="target"
            Which one.

        Returns
        -------
        label : ndarray of shape (n,)
            As :meth:`predict` gives it.
        probabilities : ndarray of shape (n, n_classes)
            As :meth:`predict_proba` gives them.
        distance : ndarray of shape (n,)
            To the nearest labelled row of any class and domain in the latent space, not squared.
        """
        by_domain = self._domain_distances(*self._check_rows(X, domain, None, True))
        combined = self._combined(by_domain)
        codes = np.argmin(to_numpy(combined), axis=1)
        probabilities = to_numpy(self._probabilities(combined))
        squares = np.min([np.min(to_numpy(each), axis=1) for each in by_domain], axis=0)
        return self.classes_[codes], probabilities, np.sqrt(squares)


def _distances_of(model: NearestClassifier, X, is_source: np.ndarray) -> Array:
    return model._class_distances(X, is_source)


def _probabilities_of(model: NearestClassifier, X, is_source: np.ndarray) -> Array:
    return model._probabilities(model._class_distances(X, is_source))
