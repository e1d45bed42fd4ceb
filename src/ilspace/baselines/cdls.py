"""Cross-domain landmark selection: map the source to the target by weighted rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import has_fit_parameter

from ilspace._warnings import warn
from ilspace.baselines._base import LatentBaseline, mean_length
from ilspace.baselines._constraints import POSITIVE
from ilspace.baselines._landmarks import Landmarks
from ilspace.baselines._subspaces import principal_subspace
from ilspace.domains import Domain

_LENGTH = 10.0
"""Root mean square length of target rows: C = 1 then lets a support vector machine fit them."""


class CDLS(LatentBaseline):
    r"""Cross-domain landmark selection, CDLS :cite:p:`tsai2016`.

    .. math::
        \min_{A, \alpha, \beta}\ E(A, \alpha, \beta) \qquad \text{so that}\qquad
        0 \le \alpha, \beta \le 1, \quad \sum_{i \in c}\alpha_i = \delta n_s^c, \quad
        \sum_{k \in c}\beta_k = \delta n_u^c

    Target rows are represented by their principal components, source rows by :math:`A^\top x`. The
    objective E (see :class:`Landmarks`) compares the means of the domains, the means of each class,
    and all pairs of rows of a class; weights :math:`\alpha` of source rows and :math:`\beta` of
    target rows without labels select the landmarks among them. Each round solves for A in closed
    form, trains the classifier on the weighted source rows and the labelled target rows, lets it
    label the other target rows, and solves a quadratic program for the weights.

    Use it where some target rows have labels and many have none; the columns of the domains may
    differ. Costs a principal component analysis of the target, a linear system in
    :math:`\min(n_s, d_s)` unknowns and some hundred products with the rows for each round, and
    memory for the rows.

    The number of components, the share 0.5, the regularisation 0.5 of rows of unit length, the
    five rounds and the weight of the source in the classifier are the authors'. Their program lets
    the weights of a pair multiply its squared distance, which is not convex; here they multiply
    the rows, as in their paper. Rows are centred, and each domain is scaled to one mean square
    length, so that the units do not matter.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the target's subspace, by default 100 or the most that the rows allow.
    share : float, default=0.5
        Mean weight of the rows of a class, :math:`\delta`; 1 keeps all rows as they are.
    regularization : float, default=0.5
        Weight of the squared norm of A, :math:`\lambda`, for source rows of mean square length 1.
    n_rounds : int, default=5
        Number of rounds. In the first round, all weights are 1 and there are no pseudo-labels.
    classifier : {"1nn", "svm"} or estimator, default="svm"
        Trained on the source rows and the labelled target rows in the target's subspace. Source
        rows are weighted such that all together weigh as much as `share` times the labelled target
        rows; a classifier without `sample_weight` is trained on the rows of nonzero weight.

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
    _parameter_constraints = {"regularization": [POSITIVE]}

    def __init__(
        self, n_components=None, *, share=0.5, regularization=0.5, n_rounds=5, classifier="svm"
    ):
        self.n_components = n_components
        self.share = share
        self.regularization = regularization
        self.n_rounds = n_rounds
        self.classifier = classifier

    def _adapt(self, source: Domain, target: Domain) -> None:
        offsets, target_offsets = self._center(source, target)
        m = self._check_components(self.n_components, min(target_offsets.shape), default=100)
        basis = principal_subspace(target_offsets, m)
        self._target_map = basis * (_LENGTH / mean_length(target_offsets))
        self.n_components_ = self._n_features_out = m
        if source is target:  # one domain: nothing to transform
            self._source_map = self._target_map
            self.source_weights_ = self.target_weights_ = np.ones(len(offsets))
            return
        latent = target_offsets @ self._target_map
        without = target.codes < 0
        # the best map lies in the span of the source rows: solve for it in coordinates of that
        unit = 1 / mean_length(offsets)
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
        """Alternate between map and weights; sets `classifier_`."""
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
                warn(
                    "The weights of CDLS did not converge: scale the columns, or choose a larger "
                    "share.",
                    ConvergenceWarning,
                )
        return transform, weights, others

    def _teach(self, problem: Landmarks, transform: np.ndarray, weights: np.ndarray):
        rows = np.vstack([problem.source @ transform, problem.labelled])
        codes = np.concatenate([problem.source_codes, problem.labelled_codes])
        balance = len(problem.labelled) / len(problem.source)
        weights = np.concatenate([balance * weights, np.ones(len(problem.labelled))])
        classifier = self._make_classifier()
        # a classifier without sample_weight must not see rows of weight 0
        kept = weights > 1e-6 * weights.max()
        if has_fit_parameter(classifier, "sample_weight"):
            return classifier.fit(rows[kept], codes[kept], sample_weight=weights[kept])
        return classifier.fit(rows[kept], codes[kept])

    def _train(self, source: Domain, target: Domain) -> None:
        if source is target:  # else the alternation has trained the classifier
            super()._train(source, target)
