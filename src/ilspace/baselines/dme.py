"""Distribution-matching embedding: a projection after which the domains are distributed alike."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from ilspace._typing import Objective
from ilspace._warnings import warn
from ilspace.baselines._base import LatentBaseline, dense_rows
from ilspace.baselines._discrepancies import DISCREPANCIES
from ilspace.baselines._subspaces import principal_subspace
from ilspace.domains import Domain
from ilspace.ils.map import as_dtype
from ilspace.manifolds import Stiefel
from ilspace.optimizers import Iterate, Problem, Solution, Status, solve

_MOST_KERNEL_AXES = 300
"""Principal components kept of the kernel's space; more would cost seconds and add noise."""


def with_clusters(discrepancy: Objective, scatter: np.ndarray, weight: float) -> Objective:
    r"""Add the spread of the source classes, :math:`\lambda\,\mathrm{tr}(W^\top SW)`.

    Parameters
    ----------
    discrepancy : callable
        The objective to add to.
    scatter : ndarray of shape (d, d)
        Scatter S within the classes.
    weight : float
        Weight :math:`\lambda`.

    Returns
    -------
    callable
        The sum.
    """

    def objective(point: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = discrepancy(point)
        seen = scatter @ point
        return value + weight * float(np.sum(seen * point)), gradient + 2 * weight * seen

    return objective


def scatter_within(rows: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Mean outer product of labelled rows about the means of their classes.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Labelled rows.
    codes : ndarray of shape (n,)
        Their classes, from 0.

    Returns
    -------
    ndarray of shape (d, d)
        The scatter.
    """
    member = codes[:, None] == np.unique(codes)
    means = (member / member.sum(axis=0)).T @ rows
    offsets = rows - member @ means
    return offsets.T @ offsets / len(rows)


def match_distributions(
    objective: Objective, start: np.ndarray, *, tol: float, max_iter: int
) -> Solution:
    """Minimise over projections with orthonormal columns, by conjugate gradient.

    Parameters
    ----------
    objective : callable
        Value and Euclidean gradient at a projection.
    start : ndarray of shape (d, p)
        Orthonormal columns to begin with.
    tol : float
        Decrease of the objective per iteration at which to stop, relative to its initial value
        and averaged over three: the objective may tend to zero, so relative to the current value
        it would never be small.
    max_iter : int
        Maximum number of iterations.

    Returns
    -------
    Solution
        The solution; ``Status.STOPPED`` where `tol` stopped it.
    """
    values: list[float] = []

    def is_settled(count: int, now: Iterate) -> bool:
        values.append(now.progress.value)
        return count >= 3 and values[-4] - values[-1] <= 3 * tol * abs(values[0])

    problem = Problem(Stiefel(*start.shape), objective)
    return solve(problem, start, tol=0.0, max_iter=max_iter, on_step=is_settled)


class DME(LatentBaseline):
    r"""Distribution-matching embedding, DME :cite:p:`baktashmotlagh2016`.

    .. math::

       \min_{W^\top W = I}\ D(W^\top X_s, W^\top X_t) + \lambda\,\mathrm{tr}(W^\top S_wW)

    over orthonormal projections of shape (d, p). D is the squared maximum mean discrepancy with a
    Gaussian or a quadratic kernel, or the squared Hellinger distance between kernel density
    estimates; see :func:`~ilspace.baselines._discrepancies.gaussian_mmd` and the functions
    beside it. The second term keeps the classes of the source together, :math:`S_w` being their
    scatter; target labels serve the classifier alone. Solved by Riemannian conjugate gradient from
    the principal axes of all rows, each domain centred. Projecting the rows of a Gaussian kernel's
    space instead gives the nonlinear form.

    Use it where the domains share their columns and differ by more than their first moments. The
    problem is not convex: the result depends on the start, and minimising to convergence keeps
    trading variance for agreement. Costs O(N²p) time per iteration and O(N²) memory for N rows
    of both domains, half a second for 1,300; the quadratic kernel O(d²p) time and O(d²) memory.

    Parameters
    ----------
    n_components : int, default=None
        Dimension p of the embedding, by default 20, or half of the columns if that is less: with
        all of them nothing is left to choose.
    discrepancy : {"mmd", "mmd-polynomial", "hellinger"}, default="mmd"
        Distance D between the distributions.
    embedding : {"linear", "rbf"}, default="linear"
        What is projected: the columns, or the leading 300 components of a kernel principal
        component analysis of all rows with a Gaussian kernel.
    bandwidth_scale : float, default=3.0
        Width :math:`\sigma` of the kernel of D, in medians of the squared distances between source
        rows at the start. The authors take the median itself; 1 overfits the training rows, which
        costs up to three points.
    cluster_weight : float, default=None
        Weight of the second term; :math:`\lambda` is this over :math:`\sigma`, and :math:`S_w` a
        mean over rows. By default 0.005 with the maximum mean discrepancy, which gains one to
        three points on images, and 0 with the Hellinger distance, whose values are smaller by
        far: there the term takes over. 0.05 collapses the classes.
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-3
        Decrease of the objective per iteration at which to stop, relative to its initial value
        and averaged over three.
    classifier : {"1nn", "svm"} or estimator, default="1nn"
        Trained on all labelled rows in the embedding.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    projection_ : ndarray of shape (n_features, n_components)
        The projection W of centred rows, or of the kernel's components.
    kernel_ : KernelPCA or None
        The kernel principal component analysis of the nonlinear form.
    bandwidth_ : float
        The :math:`\sigma` used.
    source_mean_, target_mean_ : ndarray of shape (n_features,)
        The mean of all rows, one for both: W removes a shift of the domains.
    solution_ : Solution or None
        Status and history of the optimization; None where there was nothing to optimise, as with
        one domain alone.
    n_iter_ : int
        Number of iterations, 1 where there was nothing to optimise.
    n_components_ : int
        Dimension of the embedding.
    classifier_ : estimator
        The fitted classifier; its classes are positions in `classes_`.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import DME
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5))
    >>> X[:, 0] += 6 * y
    >>> Xt = X + np.array([0, 9, 0, 0, 0])
    >>> DME(2).fit(X, y, Xt).score(Xt, y)
    1.0
    """

    _parameter_constraints = {"max_iter": [Interval(Integral, 0, None, closed="left")]}

    def __init__(
        self,
        n_components=None,
        *,
        discrepancy="mmd",
        embedding="linear",
        bandwidth_scale=3.0,
        cluster_weight=None,
        max_iter=100,
        tol=1e-3,
        classifier="1nn",
    ):
        self.n_components = n_components
        self.discrepancy = discrepancy
        self.embedding = embedding
        self.bandwidth_scale = bandwidth_scale
        self.cluster_weight = cluster_weight
        self.max_iter = max_iter
        self.tol = tol
        self.classifier = classifier

    def _adapt(self, source: Domain, target: Domain) -> None:
        alone = target is source
        rows = source.X if alone else np.concatenate([source.X, target.X])
        self.source_mean_ = self.target_mean_ = rows.mean(axis=0)
        self.kernel_, basis, coordinates = self._coordinates(rows - self.source_mean_)
        k = coordinates.shape[1]
        p = self._check_components(self.n_components, k, default=min(20, (k + 1) // 2))
        parts = np.split(coordinates, [] if alone else [len(source.X)])
        # axes of the spread within the domains: those of all rows would begin with their shift
        start = principal_subspace(np.concatenate([each - each.mean(axis=0) for each in parts]), p)
        self.bandwidth_ = self.bandwidth_scale * _median_square(parts[0] @ start)
        self.solution_ = None
        if not alone and p < k:
            self.solution_ = self._solve(parts[0], parts[1], source.codes, start)
        self.n_iter_ = 1 if self.solution_ is None else max(self.solution_.n_iter, 1)
        chosen = start if self.solution_ is None else self.solution_.point
        self.projection_ = chosen if basis is None else basis @ chosen
        self._source_map = self._target_map = self.projection_
        self.n_components_ = self._n_features_out = p

    def _coordinates(self, offsets: np.ndarray):
        """Kernel, basis and principal components of all rows; nothing lies outside their span."""
        if self.embedding == "linear":
            basis = principal_subspace(offsets, min(offsets.shape))
            return None, basis, offsets @ basis
        n_axes = min(_MOST_KERNEL_AXES, len(offsets))
        gamma = 1 / _median_square(offsets)
        kernel = KernelPCA(n_axes, kernel="rbf", gamma=gamma, eigen_solver="dense")
        kernel.set_output(transform="default")  # arrays, whatever the global setting
        return kernel, None, kernel.fit_transform(offsets)

    def _solve(
        self, source: np.ndarray, target: np.ndarray, codes: np.ndarray, start: np.ndarray
    ) -> Solution | None:
        objective = DISCREPANCIES[self.discrepancy](source, target, self.bandwidth_)
        if not objective(start)[0] > 1e-12:  # the domains agree already
            return None
        weight = self.cluster_weight
        if weight is None:
            weight = 0.0 if self.discrepancy == "hellinger" else 0.005
        if weight > 0:
            labelled = np.flatnonzero(codes >= 0)
            scatter = scatter_within(source[labelled], codes[labelled])
            objective = with_clusters(objective, scatter, weight / self.bandwidth_)
        solution = match_distributions(objective, start, tol=self.tol, max_iter=self.max_iter)
        if self.max_iter and solution.status in (Status.EXHAUSTED, Status.DIVERGED):
            warn(
                f"DME stopped after {solution.n_iter} iterations: {solution.status.value} (status "
                f"{solution.status.name}); raise max_iter or tol, or scale the columns alike.",
                ConvergenceWarning,
            )
        return solution

    def _latent(self, X, is_source: np.ndarray):
        if self.kernel_ is None:
            return super()._latent(X, is_source)
        rows = dense_rows(X)
        components = self.kernel_.transform(rows - self.source_mean_)
        return as_dtype(components @ self.projection_, rows.dtype)


def _median_square(rows: np.ndarray) -> float:
    """Median squared distance between rows; their mean, or 1, where most rows are equal."""
    squares = pdist(rows, "sqeuclidean")
    return float(np.median(squares) or np.mean(squares) or 1.0)
