"""Heterogeneous feature augmentation: support vector machines with a learned common space."""

from __future__ import annotations

import numpy as np
from scipy.linalg import block_diag
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from ilspace.baselines._base import ScoringBaseline, by_domain
from ilspace.baselines._constraints import POSITIVE
from ilspace.domains import Domain

_TOLERANCE = 1e-5
"""Tolerance of the support vector machines."""

_MAX_SOLVER_STEPS = 1_000_000
"""Iteration limit: badly scaled rows end with a warning instead of never."""


def augmented_svm(
    kernel: np.ndarray, signs: np.ndarray, costs: np.ndarray, trace_bound: float
) -> tuple[np.ndarray, float]:
    r"""Saddle point of the problem of :class:`HFA` in two classes.

    The objective is concave in :math:`\alpha` and linear in H over convex sets, the second of
    which is compact, so minimum and maximum may be exchanged. The inner problem is then solved by
    :math:`H = \lambda\beta\beta^\top/\|\beta\|^2`, for which :math:`\beta^\top(H + I)\beta =
    (1 + \lambda)\|\beta\|^2`: what is left is a support vector machine with the kernel
    :math:`(1 + \lambda)K`.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        Kernel K, zero between domains.
    signs : ndarray of shape (n,)
        Labels, 1 or -1, both of which occur.
    costs : ndarray of shape (n,)
        Upper bounds of the dual variables, positive.
    trace_bound : float
        Bound :math:`\lambda` of the trace of H.

    Returns
    -------
    dual_coef : ndarray of shape (n,)
        Dual coefficients with the signs of their classes, :math:`\alpha\circ y`.
    intercept : float
        Intercept of the decision function.
    """
    # a seed, though it draws nothing: without, it would move NumPy's global generator
    options = {"tol": _TOLERANCE, "max_iter": _MAX_SOLVER_STEPS, "random_state": 0}
    machine = SVC(C=1.0, kernel="precomputed", **options)
    machine.fit((1 + trace_bound) * kernel, signs, sample_weight=costs)
    dual_coef = np.zeros(len(signs))
    dual_coef[machine.support_] = machine.dual_coef_[0]
    return dual_coef, float(machine.intercept_[0])


def default_gamma(rows: np.ndarray, /) -> float:
    """One over the mean squared distance between rows.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Rows.

    Returns
    -------
    float
        Positive; 1 where all rows are the same.
    """
    mean_distance = 2 * rows.var(axis=0).sum()
    return 1 / mean_distance if mean_distance > 0 else 1.0


class HFA(ScoringBaseline):
    r"""Heterogeneous feature augmentation, HFA :cite:p:`duan2012,li2014`.

    Source rows are represented by :math:`(Px, x, 0)`, target rows by :math:`(Qz, 0, z)`, and
    support vector machines learned together with the projections P and Q to the common space.
    These occur only in :math:`H = [P, Q]^\top[P, Q]`; with kernels, one-vs-rest,

    .. math:: \min_{H\succeq0,\,\operatorname{tr}H\le\lambda}\ \max_{\alpha}
              \ \mathbf 1^\top\alpha
              - \tfrac12(\alpha\circ y)^\top K^{1/2}(H + I)K^{1/2}(\alpha\circ y),
              \quad 0\le\alpha_i\le C_i,\ y^\top\alpha = 0

    where K is the kernel matrix of both domains, zero between them. The problem is convex, and
    its solution known: :math:`\alpha` is that of a support vector machine with the kernel
    :math:`(1 + \lambda)K`, and :math:`H = \lambda\beta\beta^\top/\|\beta\|^2` with
    :math:`\beta = K^{1/2}(\alpha\circ y)`. The published iterations tend to it; here it is
    computed at once. It also shows how little is transferred: the score of a target row,

    .. math:: f(z) = (1 + \lambda)\sum_{j\in\mathrm{target}}\alpha_jy_jk(z, z_j) + b,

    depends on the source through the intercept b alone.

    Use it as a reference where a few target rows of each class are labelled, whatever the columns
    of the domains; expect the accuracy of support vector machines on those rows alone.
    Costs one support vector machine per class, :math:`O(n^2)` to :math:`O(n^3)` for n labelled
    rows, and memory for the kernel matrix, :math:`O(n^2)`. Unlabelled target rows are not used.

    Parameters
    ----------
    kernel : {"rbf", "linear"}, default="rbf"
        Kernel of rows of one domain.
    gamma : float, default=None
        Factor in :math:`k(x, x') = \exp(-\gamma\|x - x'\|^2)`, by default one over the mean
        squared distance between labelled rows, for each domain separately.
    trace_bound : float, default=100.0
        Bound :math:`\lambda` of the trace of H: a larger one regularises the hyperplanes less. With
        0 there is no common space.
    source_cost : float, default=1.0
        Cost :math:`C_i` of slacks of source rows.
    target_cost : float, default=1.0
        Cost :math:`C_i` of slacks of target rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    source_rows_ : ndarray of shape (n_source_labelled, n_features)
        The labelled source rows.
    target_rows_ : ndarray of shape (n_target_labelled, n_target_features)
        The labelled target rows.
    source_gamma_, target_gamma_ : float
        Factors in the kernels of the domains.
    dual_coef_ : ndarray of shape (n_classes, n_source_labelled + n_target_labelled)
        Coefficients :math:`\alpha\circ y` of each class against the rest, source rows first; for
        two classes one row, of the second.
    intercept_ : ndarray of shape (n_classes,)
        Intercepts; for two classes one.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import HFA
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None]
    >>> yt = np.where(np.arange(40) % 10 < 2, y, -1)
    >>> HFA().fit(X, y, -X[:, :3], yt).score(-X[:, :3], y)
    1.0
    """

    _parameter_constraints = {"gamma": [POSITIVE, None]}

    _needs_target_labels = True
    _takes_different_columns = True

    def __init__(
        self, kernel="rbf", *, gamma=None, trace_bound=100.0, source_cost=1.0, target_cost=1.0
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.trace_bound = trace_bound
        self.source_cost = source_cost
        self.target_cost = target_cost

    def _adapt(self, source: Domain, target: Domain) -> None:
        rows = source.labelled_rows, target.labelled_rows
        gammas = [default_gamma(each) if self.gamma is None else self.gamma for each in rows]
        self.source_rows_, self.target_rows_ = rows
        self.source_gamma_, self.target_gamma_ = gammas
        kernel = block_diag(*map(self._similarities, rows, (True, False)))
        costs = np.repeat([self.source_cost, self.target_cost], [len(each) for each in rows])
        codes = np.concatenate([source.labelled_codes, target.labelled_codes])
        # two classes: one machine is the negative of the other
        n_classes = len(self.classes_)
        positives = range(n_classes) if n_classes > 2 else (1,)
        machines = [
            augmented_svm(kernel, np.where(codes == code, 1.0, -1.0), costs, self.trace_bound)
            for code in positives
        ]
        self.dual_coef_ = np.array([dual_coef for dual_coef, _ in machines])
        self.intercept_ = np.array([intercept for _, intercept in machines])

    def _similarities(self, X, is_source: bool) -> np.ndarray:
        """Kernel between rows of a domain and its labelled ones."""
        rows = self.source_rows_ if is_source else self.target_rows_
        gamma = self.source_gamma_ if is_source else self.target_gamma_
        return pairwise_kernels(X, rows, metric=self.kernel, filter_params=True, gamma=gamma)

    def _scores(self, X, is_source: np.ndarray) -> np.ndarray:
        def score(rows, flag: bool) -> np.ndarray:
            return self._similarities(rows, flag) @ coefs[not flag].T

        coefs = np.split(self.dual_coef_, [len(self.source_rows_)], axis=1)
        scores = by_domain(score, X, is_source, len(self.intercept_))
        return (1 + self.trace_bound) * scores + self.intercept_
