"""Cross-domain transforms learned from pairs: an asymmetric similarity, or a symmetric metric."""

from __future__ import annotations

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from ilspace._warnings import warn
from ilspace.baselines._base import LatentBaseline, by_domain, dense_rows, mean_length
from ilspace.baselines._pair_transforms import Learned, asymmetric_transform, symmetric_metric
from ilspace.domains import Domain


def span(kernel: np.ndarray) -> np.ndarray:
    """Coordinates in the space that a kernel spans.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        Kernel matrix K of some rows.

    Returns
    -------
    ndarray of shape (n, rank)
        The matrix E for which kernel values k of any row with these rows become coordinates
        ``k @ E`` of its projection on their span, in an orthonormal basis.
    """
    values, vectors = linalg.eigh(kernel)
    kept = values > len(values) * np.finfo(float).eps * max(values[-1], 0)
    kept[-1] = True  # rows that all vanish still need one coordinate
    return vectors[:, kept] / np.sqrt(np.where(values[kept] > 0, values[kept], 1.0))


class ARCt(LatentBaseline):
    r"""Cross-domain transform ARC-t :cite:p:`kulis2011`, or metric :cite:p:`saenko2010`.

    .. math::
        \min_W\ \tfrac12\|W - W_0\|_F^2
        + \tfrac\gamma2\sum_{c_i = c_j}\max(0, u - x_i^\top Wz_j)^2
        + \tfrac\gamma2\sum_{c_i \ne c_j}\max(0, x_i^\top Wz_j - l)^2

    over all pairs of a labelled source row x and a labelled target row z. Target rows stay as they
    are, source rows become :math:`W^\top x`. The transform stays near the identity where the
    domains share their columns, and near 0 where they do not. With ``symmetric=True``, both
    domains are measured by one metric M instead, which keeps pairs of a class near and others far
    at the least LogDet divergence from the identity (see :func:`symmetric_metric`). Both are
    learned in the space of a kernel.

    Use it where some target rows have labels, and pairs across the domains are more informative
    than single rows; unlabelled rows only enter the means and scales. Costs :math:`O(n^3)` for n
    labelled rows, then :math:`O(n_sn_t(n_s + n_t))` for each iteration (:math:`O(n^3)` for the
    metric), and memory for all pairs; rows beyond a few thousand are too many.

    The bounds u and l are quantiles of the similarities between labelled rows, and the identity is
    the start, as in the authors' program; there, the Gaussian kernel is the default and the
    penalty 1 or 100. Each domain is centred and scaled to mean square length 1, so that the units
    do not matter.

    Parameters
    ----------
    symmetric : bool, default=False
        Whether to learn one metric for both domains, which then must share their columns.
    kernel : {"linear", "rbf"}, default="linear"
        Inner product of the rows, or :math:`\exp(-\gamma_k\|x - z\|^2)`.
    gamma : float, default=0.5
        The number :math:`\gamma_k` of the Gaussian kernel, for rows of mean square length 1.
    penalty : float, default=1.0
        Weight :math:`\gamma` of a violated bound.
    tail : float, default=0.02
        The bounds u and l are the quantiles ``1 - tail`` and ``tail`` of the similarities of
        labelled rows.
    max_iter : int, default=1000
        Maximum number of iterations.
    classifier : {"1nn", "svm"} or estimator, default="svm"
        Trained on all labelled rows in the target's space.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    source_mean_ : ndarray of shape (n_features,)
        Mean of the source.
    target_mean_ : ndarray of shape (n_target_features,)
        Mean of the target.
    transform_ : ndarray of shape (n_source_coordinates, n_target_coordinates)
        The transform W, or a root B of the metric :math:`M = BB^\top`, in orthonormal coordinates
        of the span of the labelled rows.
    bounds_ : tuple of two floats
        The bounds l and u of the similarities; for the metric, those of the squared distances of
        pairs of a class and of other pairs.
    n_iter_ : int
        Number of iterations, 1 where none was needed.
    classifier_ : estimator
        The fitted classifier; its classes are positions in `classes_`.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import ARCt
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None]
    >>> Xt = 7 * X[:, :3]
    >>> yt = np.where(np.arange(40) % 10 == 0, y, -1)
    >>> ARCt().fit(X, y, Xt, yt).score(Xt, y)
    1.0
    """

    _needs_target_labels = True
    _takes_different_columns = True

    def __init__(
        self,
        symmetric=False,
        *,
        kernel="linear",
        gamma=0.5,
        penalty=1.0,
        tail=0.02,
        max_iter=1000,
        classifier="svm",
    ):
        self.symmetric = symmetric
        self.kernel = kernel
        self.gamma = gamma
        self.penalty = penalty
        self.tail = tail
        self.max_iter = max_iter
        self.classifier = classifier

    def _adapt(self, source: Domain, target: Domain) -> None:
        if self.symmetric and not self._shares_features:
            raise ValueError(
                "ARCt(symmetric=True) measures both domains by one metric, so X and Xt must have "
                f"the same features, but have {self.n_features_in_} and "
                f"{self.n_target_features_in_}, or other names: use symmetric=False."
            )
        offsets = self._center(source, target)
        self._lengths = mean_length(offsets[1]), mean_length(offsets[0])
        rows, others = offsets[0] / self._lengths[1], offsets[1][target.labelled] / self._lengths[0]
        # domains of the same columns share their coordinates as well
        bases = (np.vstack([rows, others]),) if self._shares_features else (others, rows)
        kernels = [self._kernel(each, each) for each in bases]
        spans = [span(each) for each in kernels]
        self._bases = bases[0], bases[-1]
        rows = self._kernel(rows, bases[-1]) @ spans[-1]
        others = self._kernel(others, bases[0]) @ spans[0]
        same = source.codes[:, None] == target.codes[target.labelled]
        self.bounds_ = self._quantiles(kernels)
        learned = self._learn(rows, others, same, alone=source is target)
        self.transform_, self.n_iter_ = learned.matrix, max(learned.n_iter, 1)
        if not learned.is_solved:
            warn(
                f"ARCt did not converge in {self.n_iter_} iterations: raise max_iter, or lower the "
                "penalty.",
                ConvergenceWarning,
            )
        target_map = spans[0] @ self.transform_ if self.symmetric else spans[0]
        self._maps = target_map, spans[-1] @ self.transform_
        self._n_features_out = target_map.shape[1]

    def _quantiles(self, kernels: list[np.ndarray]) -> tuple[float, float]:
        """Bounds: quantiles of the similarities, or distances, of labelled rows."""
        tails = (self.tail, 1 - self.tail)
        if not self.symmetric:
            lower, upper = np.quantile(np.concatenate([each.ravel() for each in kernels]), tails)
            return float(lower), float(upper)
        lengths = np.diag(kernels[0])
        distances = lengths[:, None] + lengths - 2 * kernels[0]
        near, far = np.quantile(distances[np.triu_indices(len(distances), 1)], tails)
        far = float(far) if far > 0 else 1.0
        # a bound of 0, from equal rows, could not be met
        return max(float(near), 1e-3 * far), far

    def _learn(
        self, rows: np.ndarray, others: np.ndarray, same: np.ndarray, *, alone: bool
    ) -> Learned:
        how = {"penalty": self.penalty, "max_iter": self.max_iter}
        first, second = self.bounds_
        if self.symmetric:
            return symmetric_metric(rows, others, same, near=first, far=second, **how)
        shape = (rows.shape[1], others.shape[1])
        prior = np.eye(*shape) if self._shares_features else np.zeros(shape)
        if alone:  # one domain: nothing to transform
            return Learned(prior, 0, True)
        return asymmetric_transform(
            rows, others, same, prior=prior, lower=first, upper=second, **how
        )

    def _kernel(self, rows: np.ndarray, basis: np.ndarray) -> np.ndarray:
        return rows @ basis.T if self.kernel == "linear" else rbf_kernel(rows, basis, self.gamma)

    def _latent(self, X, is_source: np.ndarray) -> np.ndarray:
        def embed(rows: np.ndarray, flag: bool) -> np.ndarray:
            offsets = rows - (self.source_mean_ if flag else self.target_mean_)
            return self._kernel(offsets / self._lengths[flag], self._bases[flag]) @ self._maps[flag]

        rows = dense_rows(X)
        latent = by_domain(embed, rows, is_source, self._n_features_out)
        return latent.astype(rows.dtype, copy=False)
