"""Feature augmentation: a shared copy of the columns, and one copy for each domain."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ilspace.baselines._base import LatentBaseline, dense_rows, mean_length
from ilspace.domains import Domain


def augment(rows: np.ndarray, damped: np.ndarray, *, is_source: bool) -> np.ndarray:
    r"""Shared columns, then those of the source, then those of the target.

    .. math::
        \Phi_s(x) = \left(x, \tfrac{x + Tx}{2}, \tfrac{x - Tx}{2}\right), \qquad
        \Phi_t(x) = \left(x, \tfrac{x - Tx}{2}, \tfrac{x + Tx}{2}\right)

    With :math:`T = I` this is :math:`(x, x, 0)` and :math:`(x, 0, x)` :cite:p:`daume2007`.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Rows of one domain.
    damped : ndarray of shape (n, d)
        The rows :math:`Tx`; the rows themselves for plain augmentation.
    is_source : bool
        Which domain.

    Returns
    -------
    ndarray of shape (n, 3 * d)
        Augmented rows.
    """
    own, other = (rows + damped) / 2, (rows - damped) / 2
    return np.hstack([rows, own, other] if is_source else [rows, other, own])


def damping(unlabelled: np.ndarray, agreement: float) -> tuple[np.ndarray, np.ndarray]:
    r"""Shrinkage of the domain-specific columns by agreement on unlabelled rows.

    .. math:: T = (I + 4a X_u^\top X_u)^{-1/2} = I - V\,\mathrm{diag}(s)\,V^\top

    A linear classifier on the rows of :func:`augment` with a quadratic penalty on its weights is
    then the one on plain augmented rows :math:`(x, x, 0), (x, 0, x)` that also pays
    :math:`a\sum_u (w_s^\top x_u - w_t^\top x_u)^2`.

    Parameters
    ----------
    unlabelled : ndarray of shape (n, d)
        Target rows without labels :math:`X_u`.
    agreement : float
        Weight :math:`a` of one row.

    Returns
    -------
    axes : ndarray of shape (d, min(n, d))
        Orthonormal columns :math:`V`.
    shrinkage : ndarray of shape (min(n, d),)
        The numbers :math:`s`, from 0 (free) to 1 (the domains must agree).
    """
    d = unlabelled.shape[1]
    if agreement == 0 or len(unlabelled) == 0:
        return np.zeros((d, 0)), np.zeros(0)
    _, lengths, axes = linalg.svd(unlabelled, full_matrices=False)
    return axes.T, 1 - 1 / np.sqrt(1 + 4 * agreement * lengths**2)


class FeatureAugmentation(LatentBaseline):
    r"""Feature augmentation, EA :cite:p:`daume2007`, and with agreement EA++ :cite:p:`daume2010`.

    .. math::

        \min_{w_0, w_s, w_t}\ &\tfrac12(\|w_0\|^2 + \|w_s\|^2 + \|w_t\|^2)
        + C\sum_{x \in S}\ell\bigl((w_0 + w_s)^\top x\bigr) \\
        &+ C\sum_{x \in T}\ell\bigl((w_0 + w_t)^\top x\bigr)
        + a\sum_{x \in U}\bigl((w_s - w_t)^\top x\bigr)^2

    Each domain has a classifier of its own; what they share is in :math:`w_0`. That is one linear
    classifier on the rows :math:`(x, x, 0)` of the source S and :math:`(x, 0, x)` of the target T.
    EA++ adds the target rows without labels U as :math:`(0, x, -x)`, where both classifiers should
    agree. Its authors add each of them once per class; with the squared hinge of linear support
    vector machines, two copies of weight a/2 with both labels cost :math:`a(1 + p^2)` for an
    output :math:`|p| \le 1`, which is the quadratic term above. It is built into the features
    (see :func:`damping`), so it holds for every linear classifier and any number of classes, and
    no row is added. Rows are divided by their root mean square length, so that neither C nor a
    depends on the units.

    Use it first where the domains share their columns and some target rows have labels: EA has no
    parameter of its own. Costs what the classifier costs on three times the columns; EA++ a
    singular value decomposition of the rows without labels besides, :math:`O(nd\min(n, d))`.

    Parameters
    ----------
    agreement : float, default=0.0
        Weight a of each target row without a label. 0 is EA; the larger, the more alike the two
        classifiers are on the target.
    classifier : {"1nn", "svm"} or estimator, default="svm"
        Trained on all labelled rows in the augmented space.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    length_ : float
        Root mean square length of the rows of both domains.
    axes_ : ndarray of shape (n_features, n_axes)
        Orthonormal directions in which the domains were made to agree; no columns for EA.
    shrinkage_ : ndarray of shape (n_axes,)
        How much, from 0 to 1.
    classifier_ : estimator
        The fitted classifier; its classes are positions in `classes_`.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import FeatureAugmentation
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None]
    >>> yt = np.where(np.arange(40) % 10 == 0, y, -1)
    >>> FeatureAugmentation().fit(X, y, X + 2, yt).score(X + 2, y)
    1.0
    """

    _needs_target_labels = True

    def __init__(self, agreement=0.0, *, classifier="svm"):
        self.agreement = agreement
        self.classifier = classifier

    def _adapt(self, source: Domain, target: Domain) -> None:
        self.length_ = mean_length(np.vstack([source.X, target.X]))
        unlabelled = target.X[target.codes < 0] / self.length_
        self.axes_, self.shrinkage_ = damping(unlabelled, self.agreement)
        self._is_alone = source is target
        self._n_features_out = 3 * target.X.shape[1]

    def _latent(self, X, is_source: np.ndarray) -> np.ndarray:
        rows = dense_rows(X)
        # in double precision, as the length may be beyond single
        dtype, rows = rows.dtype, rows.astype(np.float64, copy=False) / self.length_
        damped = rows - ((rows @ self.axes_) * self.shrinkage_) @ self.axes_.T
        latent = augment(rows, damped, is_source=False)
        if is_source.any() and not self._is_alone:  # one domain alone has target rows only
            latent[is_source] = augment(rows[is_source], damped[is_source], is_source=True)
        return latent.astype(dtype, copy=False)
