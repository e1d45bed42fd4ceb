"""Max-margin domain transforms: one linear map of the target for the classifiers of all classes."""

from __future__ import annotations

import numpy as np

from ilspace.baselines._base import ScoringBaseline, by_domain
from ilspace.baselines._max_margin import max_margin_matrix, one_against_rest, slacks
from ilspace.baselines._subspaces import principal_subspace
from ilspace.domains import Domain

_RELEASED_WEIGHT = 2e4
"""Weight of the transform for which the two steps of the released code share one objective.

There the map costs ||W - I||^2 / 2 and each squared slack 5e-5, while the hyperplanes pay 1.
"""


def with_one(rows: np.ndarray, /) -> np.ndarray:
    """Append a column of ones, so that linear maps become affine.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Rows.

    Returns
    -------
    ndarray of shape (n, d + 1)
        A copy with one more column.
    """
    return np.column_stack([rows, np.ones(len(rows))])


class MMDT(ScoringBaseline):
    r"""Max-margin domain transforms, MMDT :cite:p:`hoffman2013`.

    .. math:: \min_{W,\Theta}\ &\tfrac w2\|W - W_0\|_F^2 + \tfrac12\sum_k\|\theta_k\|^2
              + C_s\sum_{i,k}\ell(y_{ik}\,\theta_k^\top\bar x_i)
              + C_t\sum_{j,k}\ell(y_{jk}\,\theta_k^\top W\bar z_j), \\
              &\ell(m) = \max(0, 1 - m)^2

    over labelled source rows x and target rows z, with a one appended, and one-vs-rest hyperplanes.
    W maps the target to the source, and is regularised towards the identity :math:`W_0 = I` where
    the domains share their columns, otherwise towards zero. The two unknowns are learned in turn;
    no step increases the objective. As in the released code the hinge is squared, the rows are
    first projected to principal axes, and two rounds are enough.

    Use it where a few target rows of each class are labelled: one map serves all classes, so
    they learn from one another, and new rows cost no more than with a linear classifier. Scale
    the columns first, since the costs weigh against the size of the rows. Costs the principal
    axes, :math:`O(nd\min(n, d))`, then some hundred products of :math:`O(npk)` for n labelled
    rows, p axes and k classes; memory for the rows and the covariance.

    Parameters
    ----------
    n_components : int, default=None
        Number of principal axes p, by default 20 or the most that the rows allow. Domains of the
        same columns share the axes of all rows, labelled or not; otherwise each has its own, and
        all of its dimensions where it has fewer. More axes may overfit the labelled rows.
    source_cost : float, default=0.05
        Cost :math:`C_s` of slacks of source rows.
    target_cost : float, default=1.0
        Cost :math:`C_t` of slacks of target rows.
    transform_weight : float, default=None
        Weight w of the regularisation towards :math:`W_0`: with shared columns, a large one trains
        a linear classifier on the rows as they are. By default 20000 with shared columns, the value
        that the released code amounts to, otherwise 1.
    max_iter : int, default=2
        Maximum number of rounds, each of one step for the hyperplanes and one for W.
    tol : float, default=1e-6
        Relative decrease of the objective per round at which to stop.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    source_mean_ : ndarray of shape (n_features,)
        Mean of the source rows.
    target_mean_ : ndarray of shape (n_target_features,)
        Mean of the target rows; that of all rows, for both, with shared columns.
    source_projection_ : ndarray of shape (n_features, n_source_components)
        Principal axes of the source.
    target_projection_ : ndarray of shape (n_target_features, n_target_components)
        Principal axes of the target; the same with shared columns.
    transformation_ : ndarray of shape (n_source_components + 1, n_target_components + 1)
        The map W of projected target rows with a one appended.
    hyperplanes_ : ndarray of shape (n_classes, n_source_components + 1)
        The hyperplanes :math:`\theta_k`.
    objective_ : ndarray of shape (2 * n_iter_ + 1,)
        The objective at the start, then after every step.
    n_iter_ : int
        Number of rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import MMDT
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None]
    >>> yt = np.where(np.arange(40) % 10 < 2, y, -1)
    >>> MMDT().fit(X, y, -X[:, :3], yt).score(-X[:, :3], y)
    1.0
    """

    _needs_target_labels = True
    _takes_different_columns = True

    def __init__(
        self,
        n_components=None,
        *,
        source_cost=0.05,
        target_cost=1.0,
        transform_weight=None,
        max_iter=2,
        tol=1e-6,
    ):
        self.n_components = n_components
        self.source_cost = source_cost
        self.target_cost = target_cost
        self.transform_weight = transform_weight
        self.max_iter = max_iter
        self.tol = tol

    def _adapt(self, source: Domain, target: Domain) -> None:
        groups = [source.X, target.X]
        if self._shares_features:
            groups = [np.vstack(groups)]
        limits = [min(group.shape) for group in groups]
        p = self._check_components(self.n_components, max(limits), default=20)
        means = [group.mean(axis=0) for group in groups]
        axes = [
            principal_subspace(group - mean, min(p, limit))
            for group, mean, limit in zip(groups, means, limits, strict=True)
        ]
        self.source_mean_, self.target_mean_ = means[0], means[-1]
        self.source_projection_, self.target_projection_ = axes[0], axes[-1]
        n_classes = len(self.classes_)
        try:
            with np.errstate(over="raise"):
                self._alternate(
                    with_one((source.labelled_rows - means[0]) @ axes[0]),
                    with_one((target.labelled_rows - means[-1]) @ axes[-1]),
                    [one_against_rest(each.labelled_codes, n_classes) for each in (source, target)],
                )
        except FloatingPointError:
            raise ValueError(
                "MMDT multiplies the rows of both domains with each other, so they must be of a "
                "similar scale, but their products overflow: scale the columns, for instance with "
                "sklearn.preprocessing.StandardScaler."
            ) from None
        self._scorers = (
            _scorer(means[-1], axes[-1], self.hyperplanes_ @ self.transformation_),
            _scorer(means[0], axes[0], self.hyperplanes_),
        )

    def _alternate(self, source: np.ndarray, target: np.ndarray, labels: list[np.ndarray]) -> None:
        signs, target_signs = np.vstack(labels), labels[1]
        weight = self.transform_weight
        if weight is None:
            weight = _RELEASED_WEIGHT if self._shares_features else 1.0
        shape = (source.shape[1], target.shape[1])
        anchor = np.eye(*shape) if self._shares_features else np.zeros(shape)
        costs = np.repeat([self.source_cost, self.target_cost], [len(source), len(target)])
        units, target_costs = np.eye(signs.shape[1]), costs[len(source) :]

        def objective() -> float:
            scores = np.vstack([source, target @ transform.T]) @ planes.T
            return float(
                weight / 2 * np.sum((transform - anchor) ** 2)
                + np.sum(planes**2) / 2
                + np.sum(costs[:, None] * slacks(scores, signs) ** 2)
            )

        transform, planes = anchor, np.zeros((signs.shape[1], shape[0]))
        values = [objective()]
        for _ in range(self.max_iter):
            moved = np.vstack([source, target @ transform.T])
            planes = max_margin_matrix(moved, units, signs, costs, start=planes.T).T
            values.append(objective())
            terms = {"weight": weight, "offsets": target @ anchor.T @ planes.T}
            change = max_margin_matrix(
                target, planes, target_signs, target_costs, start=(transform - anchor).T, **terms
            )
            transform = anchor + change.T
            values.append(objective())
            if values[-3] - values[-1] <= self.tol * values[-3]:
                break
        self.transformation_, self.hyperplanes_ = transform, planes
        self.objective_ = np.array(values)
        self.n_iter_ = len(values) // 2

    def _scores(self, X, is_source: np.ndarray) -> np.ndarray:
        def score(rows, flag: bool) -> np.ndarray:
            slopes, intercepts = self._scorers[flag]
            return rows @ slopes + intercepts

        scores = by_domain(score, X, is_source, len(self.classes_))
        # for two classes both decision functions agree, up to sign and rounding
        return np.diff(scores, axis=1) / 2 if scores.shape[1] == 2 else scores


def _scorer(mean: np.ndarray, axes: np.ndarray, planes: np.ndarray):
    """Coefficients and intercepts of the scores in the original columns."""
    slopes = axes @ planes[:, :-1].T
    return slopes, planes[:, -1] - mean @ slopes
