"""KISSME: a metric from the likelihood ratio of similar and dissimilar differences."""

from __future__ import annotations

import numpy as np

from ilspace.backend import spectral_map
from ilspace.baselines._base import LatentBaseline
from ilspace.baselines._subspaces import principal_subspace
from ilspace.domains import Domain
from ilspace.ils.init import kissme
from ilspace.pairs import pair_statistics


def likelihood_ratio_metric(rows: np.ndarray, codes: np.ndarray) -> np.ndarray:
    r"""Metric of all pairs of labelled rows, from the statistics of their classes.

    .. math:: M \propto \bigl[\Sigma_{\text{similar}}^{-1} - \Sigma_{\text{dissimilar}}^{-1}\bigr]_+

    with the mean outer products :math:`\Sigma` of the differences of similar and of dissimilar
    pairs. Costs O(n p²): the classes' scatters give the sums over pairs.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        Labelled rows.
    codes : ndarray of shape (n,)
        Their classes, from 0.

    Returns
    -------
    ndarray of shape (p, p)
        Positive definite: eigenvalues below a thousandth of the largest are raised to that. The
        identity where there are no similar, or no dissimilar, pairs.
    """
    statistics = pair_statistics(rows, codes)
    if not np.trace(statistics.similar_covariance) > 0:  # all similar rows equal: nothing to learn
        return np.eye(rows.shape[1])
    return kissme(statistics)


class KISSME(LatentBaseline):
    r"""Metric learning by a likelihood ratio, KISSME :cite:p:`koestinger2012`.

    .. math::

       M &= \bigl[\Sigma_{\text{similar}}^{-1} - \Sigma_{\text{dissimilar}}^{-1}\bigr]_+, \\
       \Sigma_{\text{similar}} &= \operatorname*{mean}_{y_i = y_j}(z_i - z_j)(z_i - z_j)^\top, \\
       \Sigma_{\text{dissimilar}} &= \operatorname*{mean}_{y_i \ne y_j}(z_i - z_j)(z_i - z_j)^\top

    where :math:`z = P^\top(x - \bar x)` are the leading principal components of both domains, each
    centred at its own mean, and :math:`[\cdot]_+` raises the small and negative eigenvalues to a
    thousandth of the largest, so that no direction is lost. All pairs of labelled rows count,
    within and across the domains: no pair is drawn, and none is looped over.

    It learns a metric and corrects no shift but that of the means. Use it as a reference for what
    the labels alone contribute; the paper on the invariant latent space starts from this metric
    where the target has labels. Costs one principal component analysis of all rows,
    :math:`O(nd\min(n, d))`, and memory for their covariance; the metric itself
    :math:`O(np^2 + p^3)`.

    Parameters
    ----------
    n_components : int, default=None
        Number p of principal components, by default 20 or the most that the rows allow. It must
        stay well below the number of labelled rows: the inverse of the similar covariance
        amplifies directions that few rows determine.
    classifier : {"1nn", "svm"} or estimator, default="1nn"
        Trained on all labelled rows under the metric.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    source_mean_, target_mean_ : ndarray of shape (n_features,)
        Means of the domains.
    components_ : ndarray of shape (n_features, n_components)
        Principal axes P of both domains.
    metric_ : ndarray of shape (n_components, n_components)
        The metric M of the components, scaled so that similar pairs keep their mean distance.
    n_components_ : int
        Number of components.
    classifier_ : estimator
        The fitted classifier; its classes are positions in `classes_`.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import KISSME
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None]
    >>> KISSME(3).fit(X, y, X + 3).score(X + 3, y)
    1.0
    """

    def __init__(self, n_components=None, *, classifier="1nn"):
        self.n_components = n_components
        self.classifier = classifier

    def _adapt(self, source: Domain, target: Domain) -> None:
        n_domains = 1 if target is source else 2
        offsets = np.concatenate(self._center(source, target)[:n_domains])
        codes = np.concatenate([source.codes, target.codes][:n_domains])
        p = self._check_components(self.n_components, min(offsets.shape), default=20)
        self.components_ = principal_subspace(offsets, p)
        labelled = np.flatnonzero(codes >= 0)
        self.metric_ = likelihood_ratio_metric(
            offsets[labelled] @ self.components_, codes[labelled]
        )
        self._source_map = self.components_ @ spectral_map(self.metric_, np.sqrt)
        self._target_map = self._source_map
        self.n_components_ = self._n_features_out = p
