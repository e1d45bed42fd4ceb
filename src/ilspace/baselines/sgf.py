"""Sampling geodesic flow: a few subspaces between the domains."""

from __future__ import annotations

import numpy as np

from ilspace.baselines.gfk import GFK


def geodesic(
    first: np.ndarray, second: np.ndarray, angles: np.ndarray, times: np.ndarray, /
) -> np.ndarray:
    r"""Subspaces on the geodesic between two.

    Each principal vector moves on a great circle,

    .. math:: \phi_i(t) = \frac{\sin((1-t)\theta_i)}{\sin\theta_i}a_i
        + \frac{\sin(t\theta_i)}{\sin\theta_i}b_i .

    Parameters
    ----------
    first, second : ndarray of shape (d, p)
        Principal vectors :math:`a_i, b_i` of the two ends.
    angles : ndarray of shape (p,)
        Angles :math:`\theta_i` between them.
    times : ndarray of shape (n_times,)
        Where on the geodesic, 0 at the first end and 1 at the second.

    Returns
    -------
    ndarray of shape (n_times, d, p)
        Orthonormal bases.
    """

    def share(part: np.ndarray) -> np.ndarray:
        # sin(part * angle) / sin(angle), which is `part` where the angle vanishes
        return part * np.sinc(part * angles / np.pi) / np.sinc(angles / np.pi)

    times = times[:, None, None]
    return first * share(1 - times) + second * share(times)


class SGF(GFK):
    r"""Sampling geodesic flow, SGF :cite:p:`gopalan2011`.

    .. math:: z(x) = \frac1{\sqrt N}\bigl(\Phi(t_1)^\top x, \dots, \Phi(t_N)^\top x\bigr),
        \qquad t_k = \frac{k-1}{N-1},

    with the geodesic :math:`\Phi` of the Grassmann manifold from a subspace of the source,
    :math:`\Phi(0)`, to the principal subspace of the target, :math:`\Phi(1)`: rows are
    represented by their projections onto N subspaces, both ends included. The inner product of
    two representations tends to the geodesic flow kernel, with an error of order 1/N.

    Use it to see what the intermediate subspaces contribute; otherwise :class:`GFK` is the
    limit, in closed form, with fewer coordinates. Costs two subspaces,
    :math:`O(nd\min(n, d))`, then time and memory :math:`O(Ndp)`.

    Parameters
    ----------
    n_components : int, default=None
        Dimension p of the subspaces, by default 20 or the most that the rows allow. A given
        `source_basis` decides it instead.
    n_samples : int, default=10
        Number N of subspaces, at least 2.
    source_basis : {"pca", "pls"} or array of shape (n_features, n_components), default="pls"
        Subspace of the source: its principal axes, partial least squares of its labels, or given
        directions, such as an ``ILSTransformer``'s ``source_projection_``.
    classifier : {"1nn", "svm"} or estimator, default="1nn"
        Trained on the projections of all labelled rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    source_mean_, target_mean_ : ndarray of shape (n_features,)
        Means of the domains.
    angles_ : ndarray of shape (n_components_,)
        Principal angles between the subspaces, ascending.
    factor_ : ndarray of shape (n_features, n_samples * n_components_)
        Bases of the sampled subspaces side by side, divided by :math:`\sqrt N`.
    n_components_ : int
        Dimension of the subspaces; `transform` returns `n_samples` times as many columns.
    classifier_ : estimator
        The fitted classifier; its classes are positions in `classes_`.

    See Also
    --------
    GFK : All subspaces of the geodesic.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import SGF
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None]
    >>> SGF(2, n_samples=5).fit(X, y, X + 3).score(X + 3, y)
    1.0
    """

    def __init__(self, n_components=None, *, n_samples=10, source_basis="pls", classifier="1nn"):
        super().__init__(n_components, source_basis=source_basis, classifier=classifier)
        self.n_samples = n_samples

    def _factor(self, first: np.ndarray, second: np.ndarray, angles: np.ndarray) -> np.ndarray:
        times = np.linspace(0, 1, self.n_samples)
        return np.hstack([*geodesic(first, second, angles, times)]) / np.sqrt(self.n_samples)
