"""Selective pseudo-labelling: the surest predictions of each class join the labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.preprocessing import normalize

from ilspace.backend import fix_signs
from ilspace.baselines._base import ScoringBaseline, contrast, dense_rows
from ilspace.baselines._constraints import POSITIVE
from ilspace.baselines._subspaces import principal_subspace
from ilspace.domains import Domain
from ilspace.rules.self_training import surest

_MAX_KMEANS_ITER = 100


def class_means(rows: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Mean of the rows of each class, at unit length.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Rows.
    codes : ndarray of shape (n,)
        Class of each, -1 where it counts in none; each class has a row.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of shape (n_classes, d)
        The means.
    """
    return normalize((codes == np.arange(n_classes)[:, None]).astype(float) @ rows)


def locality_preserving_projection(
    rows: np.ndarray, codes: np.ndarray, n_components: int, regularization: float
) -> np.ndarray:
    r"""Supervised locality preserving projection, SLPP.

    .. math:: \max_P\operatorname{tr}\Bigl(
        \bigl(P^\top(X^\top LX + \alpha I)P\bigr)^{-1}P^\top X^\top DXP\Bigr)

    with :math:`W_{ij} = 1` for two rows of one class and 0 for all others, its degrees D, and
    :math:`L = D - W`.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Rows X.
    codes : ndarray of shape (n,)
        Class of each, -1 where it has none.
    n_components : int
        Number of columns of P, at most d.
    regularization : float
        The multiple :math:`\alpha` of the identity, positive.

    Returns
    -------
    ndarray of shape (d, n_components)
        P, scaled such that :math:`P^\top(X^\top LX + \alpha I)P = I`, the best column first.
    """
    d = rows.shape[1]
    indicators = (codes == np.arange(codes.max() + 1)[:, None]).astype(float)
    sums = indicators @ rows
    degrees = indicators.sum(axis=1) @ indicators
    total = (rows.T * degrees) @ rows
    within = total - sums.T @ sums + regularization * np.eye(d)
    subset = (d - n_components, d - 1)
    _, vectors = linalg.eigh(total, (within + within.T) / 2, subset_by_index=subset)
    return fix_signs(vectors[:, ::-1])


def matched_clusters(rows: np.ndarray, prototypes: np.ndarray) -> np.ndarray:
    """Clusters of rows, each matched to a class.

    They are found by k-means from the prototypes, and matched one to one such that the sum of
    distances between matched clusters and prototypes is least. A cluster that loses all its rows
    keeps its centre.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Rows of unit length.
    prototypes : ndarray of shape (n_classes, d)
        One row of unit length per class.

    Returns
    -------
    ndarray of shape (n_classes, d)
        Cluster centres at unit length, in the order of the classes.
    """
    centers, before = prototypes.copy(), None
    for _ in range(_MAX_KMEANS_ITER):
        nearest = cdist(rows, centers).argmin(axis=1)
        if before is not None and (nearest == before).all():
            break
        members = (nearest == np.arange(len(centers))[:, None]).astype(float)
        counts = members.sum(axis=1)
        some, before = counts > 0, nearest
        centers[some] = (members @ rows)[some] / counts[some, None]
    centers = normalize(centers)
    _, matched = linear_sum_assignment(cdist(prototypes, centers))
    return centers[matched]


@dataclass(frozen=True)
class ClassSpace:
    """A projection, and where the classes are in it.

    Attributes
    ----------
    projection : ndarray of shape (d, p)
        Linear map P of rows.
    mean : ndarray of shape (p,)
        Mean of the projected rows.
    prototypes : ndarray of shape (n_classes, p)
        Means of the labelled rows of each class.
    clusters : ndarray of shape (n_classes, p)
        Cluster of target rows that is matched to each class.
    """

    projection: np.ndarray
    mean: np.ndarray
    prototypes: np.ndarray
    clusters: np.ndarray

    @classmethod
    def learn(
        cls,
        rows: np.ndarray,
        codes: np.ndarray,
        known: np.ndarray,
        is_target: np.ndarray,
        n_components: int,
        regularization: float,
    ) -> ClassSpace:
        """Learn a space from labels and pseudo-labels.

        Parameters
        ----------
        rows : ndarray of shape (n, d)
            Rows of both domains.
        codes : ndarray of shape (n,)
            Classes and pseudo-labels, -1 where a row has neither.
        known : ndarray of shape (n,)
            Classes without the pseudo-labels.
        is_target : ndarray of bool, shape (n,)
            Which are target rows.
        n_components : int
            Dimension of the space.
        regularization : float
            As in :func:`locality_preserving_projection`.

        Returns
        -------
        ClassSpace
            The space.
        """
        projection = locality_preserving_projection(rows, codes, n_components, regularization)
        projected = rows @ projection
        mean = projected.mean(axis=0)
        latent = normalize(projected - mean)
        prototypes = class_means(latent, known, known.max() + 1)
        return cls(projection, mean, prototypes, matched_clusters(latent[is_target], prototypes))

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        r"""How sure each class is, by the nearer of its prototype and its cluster.

        .. math:: \max\Bigl(\frac{e^{-\|z - \bar z_c\|}}{\sum_be^{-\|z - \bar z_b\|}},
            \frac{e^{-\|z - \bar z'_c\|}}{\sum_be^{-\|z - \bar z'_b\|}}\Bigr)

        with the prototypes :math:`\bar z_c` and the clusters :math:`\bar z'_c`.

        Parameters
        ----------
        rows : ndarray of shape (n, d)
            Rows of either domain.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Between 0 and 1; rows sum to 1 or more.
        """
        latent = normalize(rows @ self.projection - self.mean)
        by_both = (
            softmax(-cdist(latent, each), axis=1) for each in (self.prototypes, self.clusters)
        )
        return np.maximum(*by_both)


def surest_of_each_class(probabilities: np.ndarray, share: float) -> np.ndarray:
    """Predictions of the surest rows of each predicted class.

    Parameters
    ----------
    probabilities : ndarray of shape (n, n_classes)
        How sure each class is.
    share : float
        Share of the rows of each predicted class, rounded up to whole rows.

    Returns
    -------
    ndarray of shape (n,)
        The predicted class, -1 for rows that are not among the surest.
    """
    predicted, sureness = probabilities.argmax(axis=1), probabilities.max(axis=1)
    codes, chosen = np.full(len(predicted), -1), surest(sureness, predicted, share)
    codes[chosen] = predicted[chosen]
    return codes


def selective_pseudo_labels(
    rows: np.ndarray,
    known: np.ndarray,
    is_target: np.ndarray,
    n_components: int,
    *,
    regularization: float,
    n_rounds: int,
):
    """Learn spaces from ever more pseudo-labels.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Rows of both domains.
    known : ndarray of shape (n,)
        Class of each, -1 where it is not known; these stay as they are.
    is_target : ndarray of bool, shape (n,)
        Which are target rows.
    n_components : int
        Dimension of the spaces.
    regularization : float
        As in :func:`locality_preserving_projection`.
    n_rounds : int
        Number of rounds T.

    Yields
    ------
    space : ClassSpace
        The first is learned from the known classes alone. In round t, the surest t/T of each class
        that the space before predicts, chosen anew, are added to them.
    codes : ndarray of shape (n,)
        The labels and pseudo-labels that it is learned from.
    """
    codes, free = known, is_target & (known < 0)
    space = ClassSpace.learn(rows, codes, known, is_target, n_components, regularization)
    yield space, codes
    for t in range(1, n_rounds + 1) if free.any() else ():
        codes = known.copy()
        codes[free] = surest_of_each_class(space.probabilities(rows[free]), t / n_rounds)
        space = ClassSpace.learn(rows, codes, known, is_target, n_components, regularization)
        yield space, codes


class SPL(ScoringBaseline):
    r"""Structured prediction based selective pseudo-labelling, SPL :cite:p:`wang2020`.

    .. math:: \max_P\operatorname{tr}\Bigl(
        \bigl(P^\top(X^\top LX + \alpha I)P\bigr)^{-1}P^\top X^\top DXP\Bigr), \qquad L = D - W

    where :math:`W_{ij} = 1` for rows of one class, by label or pseudo-label. In the space of P,
    centred and at unit length, a class is where its labelled rows have their mean, and where the
    cluster of target rows is that is matched to it; a row belongs to the class that is surest by
    the nearer of both. In round t of T, the surest t/T of the target rows of each predicted class
    get their predictions as pseudo-labels, chosen anew, and P is learned again.

    Rows are first scaled to unit length, projected to their principal axes and scaled again. The
    labels of labelled target rows stay as they are in all rounds, and count in the class means.
    The authors' numbers of axes and components for Office+Caltech10, their rounds and
    :math:`\alpha = 1` are the defaults. In their code, clusters keep the class that they start
    from; here they are matched to classes, as in their paper.

    Use it where the domains share their columns, and features are good enough for clusters to be
    classes, such as those of deep networks: it then gains much, elsewhere it may do harm. Costs a
    principal component analysis, then :math:`O(na^2 + a^3)` for a axes and some k-means
    iterations for each round.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the space of P, by default 128 or the most that the axes allow.
    n_axes : int or None, default=128
        Number of principal axes, at most as many as the rows have; None for all.
    regularization : float, default=1.0
        The multiple :math:`\alpha` of the identity, for rows of unit length.
    n_rounds : int, default=10
        Number of rounds T.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    source_mean_, target_mean_ : ndarray of shape (n_features,)
        Mean of the rows of both domains at unit length, twice the same.
    axes_ : ndarray of shape (n_features, n_axes)
        Their principal axes.
    space_ : ClassSpace
        Projection, prototypes and clusters.
    n_components_ : int
        Dimension of the space.
    n_pseudo_labels_ : ndarray of shape (n_rounds + 1,)
        Number of pseudo-labels that each space was learned from, 0 for the first; shape (1,) if
        all target rows have labels.
    transduction_ : ndarray of shape (n_target,)
        Labels of the target rows of the fit: those given, and predictions for the others.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import SPL
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * np.eye(2, 5)[y]
    >>> SPL().fit(X, y, X + [0, 0, 1, 1, 1]).score(X + [0, 0, 1, 1, 1], y)
    1.0
    """

    _parameter_constraints = {"regularization": [POSITIVE]}

    def __init__(self, n_components=None, *, n_axes=128, regularization=1.0, n_rounds=10):
        self.n_components = n_components
        self.n_axes = n_axes
        self.regularization = regularization
        self.n_rounds = n_rounds

    def _adapt(self, source: Domain, target: Domain) -> None:
        domains = (source,) if source is target else (source, target)
        rows = normalize(np.vstack([domain.X for domain in domains]))
        known = np.concatenate([domain.codes for domain in domains])
        is_target = np.arange(len(rows)) >= len(rows) - len(target.X)
        self.source_mean_ = self.target_mean_ = rows.mean(axis=0)
        n_axes = min(self.n_axes or len(rows), *rows.shape)
        self.axes_ = principal_subspace(rows - self.source_mean_, n_axes)
        p = self.n_components_ = self._check_components(self.n_components, n_axes, default=128)
        rows = self._coordinates(rows)
        options = {"regularization": self.regularization, "n_rounds": self.n_rounds}
        counts = []
        for self.space_, codes in selective_pseudo_labels(rows, known, is_target, p, **options):
            counts.append(np.count_nonzero(codes != known))
        self.n_pseudo_labels_ = np.array(counts)
        predicted = self.space_.probabilities(rows[is_target]).argmax(axis=1)
        self.transduction_ = self.classes_[np.where(target.codes < 0, predicted, target.codes)]

    def _coordinates(self, X) -> np.ndarray:
        """Rows on the principal axes, at unit length."""
        return normalize((normalize(dense_rows(X)) - self.source_mean_) @ self.axes_)

    def _scores(self, X, is_source: np.ndarray) -> np.ndarray:
        return contrast(self.space_.probabilities(self._coordinates(X)))
