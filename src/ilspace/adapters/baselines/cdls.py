"""Cross-domain landmark selection: send the source to the target by the rows worth it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real

import numpy as np
from scipy import linalg, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import has_fit_parameter

from ilspace.adapters._base import DomainRows
from ilspace.adapters.baselines._base import CLASSIFIER_CONSTRAINTS, LatentBaseline
from ilspace.adapters.baselines._classifiers import make_classifier
from ilspace.adapters.baselines._subspaces import principal_subspace

_LENGTH = 10.0
"""Root mean square length of target rows: C = 1 then lets a support vector machine fit them."""


@dataclass(frozen=True)
class Landmarks:
    r"""What is minimised, for given rows and pseudo-labels.

    .. math::
        E(A, \alpha, \beta) = \Big\|\tfrac{1}{\delta n_s}\sum_i\alpha_iA^\top x_i
        - \tfrac{1}{n_l + \delta n_u}\Big(\sum_j z_j + \sum_k\beta_ku_k\Big)\Big\|^2
        + \sum_c\big(E_c + \tfrac{1}{e_c}P_c\big) + \lambda\|A\|_F^2

    The first term compares the means of the domains; :math:`E_c` is the same term for the rows of
    class c, and :math:`P_c` the sum of :math:`\|\alpha_iA^\top x_i - z_j\|^2`,
    :math:`\|z_j - \beta_ku_k\|^2` and :math:`\|\beta_ku_k - \alpha_iA^\top x_i\|^2` over all pairs
    of the class, where :math:`e_c = \delta n_s^cn_l^c + \delta n_l^cn_u^c + \delta^2n_u^cn_s^c`.

    Attributes
    ----------
    source : ndarray of shape (n_source, d)
        Source rows x.
    labelled, unlabelled : ndarray of shape (n, m)
        Target rows z with labels, and u without.
    source_codes, labelled_codes, pseudo_codes : ndarray of shape (n,)
        Their classes; pseudo-labels may be -1, for rows that take part in the first term only.
    n_classes : int
        Number of classes.
    share : float
        Mean weight :math:`\delta` of the rows of a class.
    regularization : float
        The weight :math:`\lambda`.
    """

    source: np.ndarray
    labelled: np.ndarray
    unlabelled: np.ndarray
    source_codes: np.ndarray
    labelled_codes: np.ndarray
    pseudo_codes: np.ndarray
    n_classes: int
    share: float
    regularization: float

    # -- constants -------------------------------------------------------------------------------
    # A class is a column of the indicators; one more column for all rows makes the first term,
    # which has no pairs, one class among the others.

    @cached_property
    def _source_in(self) -> sparse.csr_array:
        return _indicators(self.source_codes, self.n_classes)

    @cached_property
    def _unlabelled_in(self) -> sparse.csr_array:
        return _indicators(self.pseudo_codes, self.n_classes)

    @cached_property
    def _labelled_sums(self) -> np.ndarray:
        return _indicators(self.labelled_codes, self.n_classes).T @ self.labelled

    @cached_property
    def _counts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Numbers of source, labelled and unlabelled rows of each class."""
        codes = (self.source_codes, self.labelled_codes, self.pseudo_codes)
        sums = (_indicators(each, self.n_classes).sum(axis=0) for each in codes)
        n_source, n_labelled, n_unlabelled = sums
        return n_source, n_labelled, n_unlabelled

    @cached_property
    def _factors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Factors of the source sums, of the target sums, and of the pairs; 0 without rows."""
        n_source, n_labelled, n_unlabelled = self._counts
        chosen, other = self.share * n_source, self.share * n_unlabelled
        n_target = n_labelled + other
        pairs = chosen * n_target + n_labelled * other
        pairs[-1] = 0  # all rows
        present = (n_source > 0) & (n_target > 0)

        def inverse(values: np.ndarray) -> np.ndarray:
            return np.divide(1, values, out=np.zeros(len(values)), where=present & (values > 0))

        return inverse(chosen), inverse(n_target), inverse(pairs)

    # -- the objective ---------------------------------------------------------------------------

    def value(
        self, transform: np.ndarray, source_weights: np.ndarray, target_weights: np.ndarray
    ) -> float:
        """The objective.

        Parameters
        ----------
        transform : ndarray of shape (d, m)
            The map A.
        source_weights : ndarray of shape (n_source,)
            Weights alpha.
        target_weights : ndarray of shape (n_unlabelled,)
            Weights beta.

        Returns
        -------
        float
            Its value.
        """
        sent = source_weights[:, None] * (self.source @ transform)
        shown = target_weights[:, None] * self.unlabelled
        of_source, of_target, of_pairs = self._factors
        n_source, n_labelled, n_unlabelled = self._counts
        sums, others = self._source_in.T @ sent, self._unlabelled_in.T @ shown
        target_sums = self._labelled_sums + others
        gaps = of_source[:, None] * sums - of_target[:, None] * target_sums
        squares = (
            (n_labelled + n_unlabelled) * (self._source_in.T @ _squares(sent))
            + (n_source + n_unlabelled)
            * (_indicators(self.labelled_codes, self.n_classes).T @ _squares(self.labelled))
            + (n_source + n_labelled) * (self._unlabelled_in.T @ _squares(shown))
        )
        products = np.sum(sums * target_sums, axis=1) + np.sum(self._labelled_sums * others, axis=1)
        penalty = self.regularization * np.sum(transform**2)
        return float(np.sum(gaps**2) + of_pairs @ (squares - 2 * products) + penalty)

    def best_transform(self, source_weights: np.ndarray, target_weights: np.ndarray) -> np.ndarray:
        """The map that minimises the objective for given weights, in closed form.

        Parameters
        ----------
        source_weights : ndarray of shape (n_source,)
            Weights alpha.
        target_weights : ndarray of shape (n_unlabelled,)
            Weights beta.

        Returns
        -------
        ndarray of shape (d, m)
            The map A.
        """
        of_source, of_target, of_pairs = self._factors
        _, n_labelled, n_unlabelled = self._counts
        sums = self._source_in.T @ (source_weights[:, None] * self.source)
        shown = self._unlabelled_in.T @ (target_weights[:, None] * self.unlabelled)
        target_sums = self._labelled_sums + shown
        means = of_source[:, None] * sums
        curvatures = source_weights**2 * (
            self._source_in @ (of_pairs * (n_labelled + n_unlabelled))
        )
        normal = means.T @ means + self.source.T @ (curvatures[:, None] * self.source)
        normal[np.diag_indices_from(normal)] += self.regularization
        products = means.T @ (of_target[:, None] * target_sums)
        products += sums.T @ (of_pairs[:, None] * target_sums)
        return linalg.solve(normal, products, assume_a="pos")

    def best_weights(
        self, transform: np.ndarray, *, tol: float = 1e-4, max_iter: int = 1000
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """The weights that minimise the objective for a given map: a convex quadratic program.

        Parameters
        ----------
        transform : ndarray of shape (d, m)
            The map A.
        tol : float, default=1e-4
            Largest change of a weight by a projected gradient step at which to stop.
        max_iter : int, default=1000
            Most steps.

        Returns
        -------
        source_weights : ndarray of shape (n_source,)
            Weights alpha.
        target_weights : ndarray of shape (n_unlabelled,)
            Weights beta.
        is_solved : bool
            Whether `tol` was reached.
        """
        rows = np.vstack([self.source @ transform, self.unlabelled])
        n = len(self.source)
        groups = np.concatenate([self.source_codes, self.n_classes + self.pseudo_codes])
        totals = self.share * np.bincount(groups, minlength=2 * self.n_classes)
        product, linear, curvatures = self.quadratic(rows)
        weights, is_solved = minimise_capped(
            product, linear, groups, totals, curvatures, tol=tol, max_iter=max_iter
        )
        return weights[:n], weights[n:], is_solved

    def quadratic(
        self, rows: np.ndarray
    ) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray, np.ndarray]:
        r"""Half the objective as a function of the weights, :math:`\frac12w^\top Hw + f^\top w`.

        Parameters
        ----------
        rows : ndarray of shape (n_source + n_unlabelled, m)
            Source rows in the target's space, then target rows without labels.

        Returns
        -------
        product : callable
            Computes :math:`Hv` from a vector, at the cost of a few products with the rows.
        linear : ndarray of shape (n_source + n_unlabelled,)
            The vector f.
        curvatures : ndarray of shape (n_source + n_unlabelled,)
            The diagonal of H.
        """
        of_source, of_target, of_pairs = self._factors
        n_source, n_labelled, n_unlabelled = self._counts
        within = sparse.block_diag((self._source_in, self._unlabelled_in), format="csr")
        # what a row adds to the gaps between the means, by class: its own factor, signed
        signed = np.concatenate([of_source, -of_target])
        per_pair = np.concatenate([of_pairs, of_pairs])
        n_pairs = np.concatenate([n_labelled + n_unlabelled, n_labelled + n_source])
        lengths, own = _squares(rows), within @ (per_pair * n_pairs)
        swap = np.roll(np.arange(len(signed)), len(of_pairs))

        def spread(sums: np.ndarray) -> np.ndarray:
            return np.einsum("ij,ij->i", within @ sums, rows)

        def product(vector: np.ndarray) -> np.ndarray:
            sums = within.T @ (vector[:, None] * rows)
            gaps = signed[:, None] * sums
            gaps = gaps + gaps[swap]
            pulls = signed[:, None] * gaps - per_pair[:, None] * sums[swap]
            return spread(pulls) + own * lengths * vector

        fixed = np.concatenate([of_target, of_target]) * signed + per_pair
        linear = spread(-fixed[:, None] * np.vstack([self._labelled_sums] * 2))
        return product, linear, lengths * (own + within @ signed**2)


def project_capped(values: np.ndarray, groups: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Nearest weights between 0 and 1 whose sums over groups are given.

    Subtracts one number a group and clips; the number is found by halving intervals, then exactly.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Any numbers.
    groups : ndarray of int, shape (n,)
        Group of each.
    totals : ndarray of shape (n_groups,)
        Sum for each group, at most the size of the group.

    Returns
    -------
    ndarray of shape (n,)
        The weights.
    """
    if len(values) == 0:
        return values

    def group_sums(weights: np.ndarray) -> np.ndarray:
        return np.bincount(groups, weights, minlength=len(totals))

    low, high = np.full(len(totals), values.min() - 1), np.full(len(totals), values.max())
    for _ in range(50):
        middle = (low + high) / 2
        is_high = group_sums(np.clip(values - middle[groups], 0, 1)) > totals
        low, high = np.where(is_high, middle, low), np.where(is_high, high, middle)
    weights = np.clip(values - high[groups], 0, 1)
    inside = (weights > 0) & (weights < 1)
    missing = (totals - group_sums(weights)) / np.maximum(group_sums(inside), 1)
    return np.clip(weights + np.where(inside, missing[groups], 0), 0, 1)


def minimise_capped(
    product: Callable[[np.ndarray], np.ndarray],
    linear: np.ndarray,
    groups: np.ndarray,
    totals: np.ndarray,
    curvatures: np.ndarray,
    *,
    tol: float,
    max_iter: int,
) -> tuple[np.ndarray, bool]:
    r"""Minimise a convex quadratic over weights in [0, 1] whose sums over groups are given.

    Spectral projected gradient :cite:p:`birgin2000`, with the exact step along each direction: the
    value never grows, and a step costs one product and one projection. Interior points would
    factor the Hessian in each step, where a few digits are enough here.

    Parameters
    ----------
    product : callable
        Computes :math:`Hv` from a vector.
    linear : ndarray of shape (n,)
        The vector f of :math:`\frac12w^\top Hw + f^\top w`.
    groups : ndarray of int, shape (n,)
        Group of each weight.
    totals : ndarray of shape (n_groups,)
        Sum of the weights of each group.
    curvatures : ndarray of shape (n,)
        The diagonal of H; its mean over a group scales the steps there.
    tol : float
        Largest change of a weight by a projected gradient step at which to stop.
    max_iter : int
        Most steps.

    Returns
    -------
    weights : ndarray of shape (n,)
        Where it ended.
    is_solved : bool
        Whether `tol` was reached.
    """
    sizes = np.maximum(np.bincount(groups, minlength=len(totals)), 1)
    scales = np.bincount(groups, curvatures, minlength=len(totals)) / sizes
    metric = np.where(scales > 0, scales, 1.0)[groups]
    weights = (totals / sizes)[groups]
    gradient, step = product(weights) + linear, 1.0
    for _ in range(max_iter):
        # sums over groups stay: what the gradient has in common there only costs digits
        gradient = gradient - (np.bincount(groups, gradient, minlength=len(totals)) / sizes)[groups]
        direction = project_capped(weights - step * gradient / metric, groups, totals) - weights
        slope = gradient @ direction
        # a shorter step moves less, but not by more than its share
        if slope >= 0 or np.abs(direction).max() <= tol * min(1.0, step):
            return weights, True
        turned = product(direction)
        curvature = direction @ turned
        length = min(1.0, -slope / curvature) if curvature > 0 else 1.0
        weights = np.clip(weights + length * direction, 0, 1)
        gradient = gradient + length * turned
        step = direction @ (metric * direction) / curvature if curvature > 0 else 1.0
        step = min(max(step, 1e-4), 1e4)
    return weights, False


class CDLS(LatentBaseline):
    r"""Cross-domain landmark selection, CDLS :cite:p:`tsai2016`.

    .. math::
        \min_{A, \alpha, \beta}\ E(A, \alpha, \beta) \qquad \text{so that}\qquad
        0 \le \alpha, \beta \le 1, \quad \sum_{i \in c}\alpha_i = \delta n_s^c, \quad
        \sum_{k \in c}\beta_k = \delta n_u^c

    Target rows are represented by their principal components, source rows by :math:`A^\top x`. The
    objective E (see :class:`Landmarks`) compares the means of the domains, the means of each
    class, and all pairs of rows of a class; weights :math:`\alpha` of source rows and
    :math:`\beta` of target rows without labels say which rows are good landmarks for that. Each
    round solves for A in closed form, trains the classifier on the weighted source rows and the
    labelled target rows, lets it label the other target rows, and solves a quadratic program for
    the weights.

    Use it where some target rows have labels and many have none; the columns of the domains may
    differ. Costs a principal component analysis of the target, a linear system in
    :math:`\min(n_s, d_s)` unknowns and some hundred products with the rows for each round, and
    memory for the rows.

    The number of components, the share 0.5, the regularisation 0.5 of rows of unit length, the
    five rounds and the weight of the source in the classifier are the authors'. Their program lets
    the weights of a pair multiply its squared distance, which is not convex; here they multiply
    the rows, as in their paper. Rows are centred, and each domain is scaled to one mean square
    length, so that no unit matters.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the target's subspace, by default 100 or the most that the rows allow.
    share : float, default=0.5
        Mean weight of the rows of a class, :math:`\delta`; 1 keeps all rows as they are.
    regularization : float, default=0.5
        Weight of the squared norm of A, :math:`\lambda`, for source rows of mean square length 1.
    n_rounds : int, default=5
        How often the map is solved for. In the first round, all weights are 1 and there are no
        pseudo-labels.
    classifier : {"1nn", "svm"} or estimator, default="svm"
        Trained on the source rows and the labelled target rows in the target's subspace. Source
        rows are weighted such that all together weigh as much as `share` times the labelled target
        rows; a classifier that takes no weights gets the rows whose weight is not 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    source_mean_ : ndarray of shape (n_features,)
        Mean of the source.
    target_mean_ : ndarray of shape (n_target_features,)
        Mean of the target.
    source_weights_ : ndarray of shape (n_source,)
        Weights of the source rows.
    target_weights_ : ndarray of shape (n_target,)
        Weights of the target rows, 1 for those with labels.
    n_components_ : int
        Dimension of the target's subspace.
    classifier_ : estimator
        The fitted classifier; its classes are positions in `classes_`.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import CDLS
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None]
    >>> Xt = 7 * X[:, :3]
    >>> yt = np.where(np.arange(40) % 10 == 0, y, -1)
    >>> CDLS().fit(X, y, Xt, yt).score(Xt, y)
    1.0
    """

    _needs_target_labels = True
    _takes_different_columns = True
    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "share": [Interval(Real, 0, 1, closed="right")],
        "regularization": [Interval(Real, 0, None, closed="neither")],
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "classifier": CLASSIFIER_CONSTRAINTS,
    }

    def __init__(
        self, n_components=None, *, share=0.5, regularization=0.5, n_rounds=5, classifier="svm"
    ):
        self.n_components = n_components
        self.share = share
        self.regularization = regularization
        self.n_rounds = n_rounds
        self.classifier = classifier

    def _adapt(self, source: DomainRows, target: DomainRows) -> None:
        self.source_mean_, self.target_mean_ = source.X.mean(axis=0), target.X.mean(axis=0)
        offsets, target_offsets = source.X - self.source_mean_, target.X - self.target_mean_
        m = self._check_components(self.n_components, min(target_offsets.shape), default=100)
        basis = principal_subspace(target_offsets, m)
        self._target_map = basis * (_LENGTH / _length(target_offsets))
        self.n_components_ = self._n_features_out = m
        if source is target:  # a domain alone is there already
            self._source_map = self._target_map
            self.source_weights_ = self.target_weights_ = np.ones(len(offsets))
            return
        latent = target_offsets @ self._target_map
        without = target.codes < 0
        # the best map lies in the span of the source rows: solve for it in coordinates of that
        unit = 1 / _length(offsets)
        left, lengths, axes = linalg.svd(unit * offsets, full_matrices=False)
        problem = Landmarks(
            source=left * lengths,
            labelled=latent[~without],
            unlabelled=latent[without],
            source_codes=source.codes,
            labelled_codes=target.codes[~without],
            pseudo_codes=np.full(without.sum(), -1),
            n_classes=len(self.classes_),
            share=1.0,
            regularization=self.regularization,
        )
        transform, self.source_weights_, others = self._alternate(problem)
        self.target_weights_ = np.ones(len(without))
        self.target_weights_[without] = others
        self._source_map = unit * axes.T @ transform

    def _alternate(self, problem: Landmarks) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Map and weights in turn; leaves the last classifier behind."""
        weights, others = np.ones(len(problem.source)), np.ones(len(problem.unlabelled))
        for n_left in reversed(range(self.n_rounds)):
            transform = problem.best_transform(weights, others)
            self.classifier_ = self._teach(problem, transform, weights)
            if n_left == 0:
                break
            pseudo = problem.pseudo_codes
            if len(pseudo):
                pseudo = self.classifier_.predict(problem.unlabelled)
            problem = replace(problem, pseudo_codes=pseudo, share=self.share)
            weights, others, is_solved = problem.best_weights(transform)
            if not is_solved:
                warnings.warn(
                    "The weights of CDLS did not settle in the steps that they are given: scale "
                    "the columns, or choose a larger share.",
                    ConvergenceWarning,
                    stacklevel=2,
                )
        return transform, weights, others

    def _teach(self, problem: Landmarks, transform: np.ndarray, weights: np.ndarray):
        rows = np.vstack([problem.source @ transform, problem.labelled])
        codes = np.concatenate([problem.source_codes, problem.labelled_codes])
        balance = len(problem.labelled) / len(problem.source)
        weights = np.concatenate([balance * weights, np.ones(len(problem.labelled))])
        classifier = make_classifier(self.classifier)
        # a classifier that knows no weights shall not see what has none
        kept = weights > 1e-6 * weights.max()
        if has_fit_parameter(classifier, "sample_weight"):
            return classifier.fit(rows[kept], codes[kept], sample_weight=weights[kept])
        return classifier.fit(rows[kept], codes[kept])

    def _train(self, source: DomainRows, target: DomainRows) -> None:
        if source is target:  # else the classifier has taken part in the alternation
            super()._train(source, target)


def _indicators(codes: np.ndarray, n_classes: int) -> sparse.csr_array:
    """Which class each row belongs to, if any; a last column that all rows belong to."""
    rows, n = np.flatnonzero(codes >= 0), len(codes)
    shape = (n, n_classes + 1)
    each = np.concatenate([rows, np.arange(n)])
    columns = np.concatenate([codes[rows], np.full(n, n_classes)])
    return sparse.csr_array((np.ones(len(each)), (each, columns)), shape=shape)


def _squares(rows: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", rows, rows)


def _length(rows: np.ndarray) -> float:
    """Root mean square length of the rows; 1 where they all vanish."""
    return float(np.sqrt(_squares(rows).mean())) or 1.0
