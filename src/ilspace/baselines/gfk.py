"""Geodesic flow kernel: integrate over all subspaces between the domains."""

from __future__ import annotations

import numpy as np

from ilspace.baselines._subspaces import SubspaceBaseline
from ilspace.domains import Domain


def principal_vectors(
    source: np.ndarray, target: np.ndarray, /
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Principal vectors and angles of two subspaces.

    Parameters
    ----------
    source, target : ndarray of shape (d, p)
        Orthonormal bases, p at most d.

    Returns
    -------
    first, second : ndarray of shape (d, p)
        Orthonormal bases :math:`A, B` of the same subspaces with
        :math:`A^\top B = \operatorname{diag}(\cos\theta)`.
    angles : ndarray of shape (p,)
        The angles :math:`\theta`, ascending, between 0 and :math:`\pi/2`.
    """
    left, _, right = np.linalg.svd(source.T @ target)
    first, second = source @ left, target @ right.T
    # arccos is inaccurate for small angles; half-angles from both diagonals of the rhombus are not
    apart = np.linalg.norm(second - first, axis=0)
    together = np.linalg.norm(second + first, axis=0)
    return first, second, np.minimum(2 * np.arctan2(apart, together), np.pi / 2)


def geodesic_flow_factor(
    first: np.ndarray, second: np.ndarray, angles: np.ndarray, /
) -> np.ndarray:
    r"""Factor L of the geodesic flow kernel :math:`G = LL^\top`.

    With the principal vectors :math:`a_i, b_i` at angle :math:`\theta_i`, the geodesic rotates
    each pair in its own plane, symmetrically about :math:`a_i + b_i`. So the kernel is
    diagonal in the directions :math:`a_i \pm b_i`, with the weights

    .. math:: \int_{-1/2}^{1/2}\cos^2(t\theta)\,dt = \tfrac12\Bigl(1+\frac{\sin\theta}\theta\Bigr),
        \qquad
        \int_{-1/2}^{1/2}\sin^2(t\theta)\,dt = \tfrac12\Bigl(1-\frac{\sin\theta}\theta\Bigr).

    No basis of the orthogonal complement is needed, so the subspaces may have any dimension.

    Parameters
    ----------
    first, second : ndarray of shape (d, p)
        Principal vectors of the two ends of the geodesic.
    angles : ndarray of shape (p,)
        Angles between them.

    Returns
    -------
    ndarray of shape (d, 2 p)
        Orthogonal columns: those along the sums, then those along the differences.
    """
    ratio = np.sinc(angles / np.pi)
    along = np.sqrt((1 + ratio) / 2) / (2 * np.cos(angles / 2))
    apart = 2 * np.sin(angles / 2)
    # both vanish with the angle; below this one the limit is exact to rounding
    tiny = angles < 1e-4
    across = np.where(tiny, 1 / np.sqrt(12), np.sqrt((1 - ratio) / 2) / np.where(tiny, 1.0, apart))
    return np.hstack([(first + second) * along, (second - first) * across])


class GFK(SubspaceBaseline):
    r"""Geodesic flow kernel, GFK :cite:p:`gong2012`.

    .. math:: k(x, y) = x^\top G y, \qquad G = \int_0^1\Phi(t)\Phi(t)^\top\,dt

    with the geodesic :math:`\Phi` of the Grassmann manifold from a subspace of the source,
    :math:`\Phi(0)`, to the principal subspace of the target, :math:`\Phi(1)`. Rows are
    represented by :math:`L^\top x` with :math:`G = LL^\top`, so that Euclidean distance is the
    distance of the kernel, and 1-NN is kernel 1-NN.

    Use it where the domains share their columns, the target has no labels, and a subspace holds the
    relevant variance; labels of the source improve its subspace (`source_basis`). Costs two
    subspaces, :math:`O(nd\min(n, d))`, and :math:`O(dp^2)` in closed form; memory for the
    covariances.

    Parameters
    ----------
    n_components : int, default=None
        Dimension p of the subspaces, by default 20 or the most that the rows allow. A given
        `source_basis` decides it instead.
    source_basis : {"pca", "pls"} or array of shape (n_features, n_components), default="pls"
        Subspace of the source: its principal axes, partial least squares of its labels, or given
        directions, such as an ``ILSTransformer``'s ``source_projection_``.
    classifier : {"1nn", "svm"} or estimator, default="1nn"
        Trained on all labelled rows in the feature space of the kernel.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    source_mean_, target_mean_ : ndarray of shape (n_features,)
        Means of the domains.
    angles_ : ndarray of shape (n_components_,)
        Principal angles between the subspaces, ascending.
    factor_ : ndarray of shape (n_features, 2 * n_components_)
        The factor L of the kernel.
    n_components_ : int
        Dimension of the subspaces; `transform` returns twice as many columns.
    classifier_ : estimator
        The fitted classifier; its classes are positions in `classes_`.

    See Also
    --------
    SGF : A few subspaces of the geodesic instead of all.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import GFK
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None]
    >>> GFK(2).fit(X, y, X + 3).score(X + 3, y)
    1.0
    """

    def __init__(self, n_components=None, *, source_basis="pls", classifier="1nn"):
        self.n_components = n_components
        self.source_basis = source_basis
        self.classifier = classifier

    def _adapt(self, source: Domain, target: Domain) -> None:
        ends = principal_vectors(*self._find_subspaces(source, target, default=20))
        self.angles_, self.factor_ = ends[2], self._factor(*ends)
        self._source_map = self._target_map = self.factor_
        self._n_features_out = self.factor_.shape[1]

    def _factor(self, first: np.ndarray, second: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """Factor of the kernel, from the principal vectors of its two ends."""
        return geodesic_flow_factor(first, second, angles)
