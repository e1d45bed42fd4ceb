"""HeMap: one spectral embedding of two domains that may have different columns."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import pairwise_distances_argmin

from ilspace.backend import as_generator, principal_axes
from ilspace.baselines._base import LatentBaseline, mean_length
from ilspace.domains import Domain


def spectral_embedding(
    source: np.ndarray, target: np.ndarray, n_components: int, tie: float
) -> tuple[np.ndarray, np.ndarray]:
    r"""Embedding of paired rows that keeps each domain and the ties between them.

    The leading eigenvectors, one below the other, of

    .. math::

       \begin{pmatrix}
       2SS^\top + \tfrac{\beta^2}{2}TT^\top & \beta(SS^\top + TT^\top)\\
       \beta(SS^\top + TT^\top) & 2TT^\top + \tfrac{\beta^2}{2}SS^\top
       \end{pmatrix} = \tfrac12 FF^\top, \qquad
       F = \begin{pmatrix}2S & \beta T\\ \beta S & 2T\end{pmatrix},

    found as the left singular vectors of F from the smaller of its two Gram matrices.

    Parameters
    ----------
    source : ndarray of shape (n, d_s)
        Rows S.
    target : ndarray of shape (n, d_t)
        Rows T, each the counterpart of a row of S.
    n_components : int
        Number k of components.
    tie : float
        Weight :math:`\beta`.

    Returns
    -------
    source, target : ndarray of shape (n, n_components)
        The embeddings :math:`B_S, B_T`. Together their columns are orthonormal,
        :math:`B_S^\top B_S + B_T^\top B_T = I`; columns beyond the rank of F vanish.
    """
    n = len(source)
    factor = np.block([[2 * source, tie * target], [tie * source, 2 * target]])
    if factor.shape[0] <= factor.shape[1]:
        both = principal_axes(factor @ factor.T, n_components)[1]
    else:
        values, right = principal_axes(factor.T @ factor, n_components)
        known = values > len(factor) * np.finfo(float).eps * max(values[0], 0.0)
        both = factor @ right * np.where(known, 1 / np.sqrt(np.where(known, values, 1.0)), 0.0)
    return both[:n], both[n:]


def least_squares_map(rows: np.ndarray, embedding: np.ndarray, ridge: float) -> np.ndarray:
    r"""Linear map of rows to their embedding.

    .. math:: \arg\min_W \|XW - B\|_F^2 + \frac{\rho\|X\|_F^2}{d}\|W\|_F^2

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Rows X.
    embedding : ndarray of shape (n, k)
        Their embedding B.
    ridge : float
        Regularisation :math:`\rho`. At 0 the map of the least norm is taken, which reproduces the
        embedding if the rows are linearly independent.

    Returns
    -------
    ndarray of shape (d, k)
        The map.
    """
    n, d = rows.shape
    weight = ridge * np.sum(rows**2) / d
    if weight == 0:
        return np.linalg.lstsq(rows, embedding, rcond=None)[0]
    if n < d:
        return rows.T @ np.linalg.solve(rows @ rows.T + weight * np.eye(n), embedding)
    return np.linalg.solve(rows.T @ rows + weight * np.eye(d), rows.T @ embedding)


def pair_by_class(
    source_codes: np.ndarray, target_codes: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Pair labelled rows of the same class, each at least once.

    Within a class the rows are taken in random order, and the domain with fewer rows starts
    again from its first as often as needed.

    Parameters
    ----------
    source_codes : ndarray of shape (n_s,)
        Classes of the source rows, -1 without label.
    target_codes : ndarray of shape (n_t,)
        Classes of the target rows.
    rng : numpy.random.Generator
        Shuffles the rows.

    Returns
    -------
    source, target : ndarray of shape (n_pairs,)
        Row indices, sorted by class.
    """
    pairs = [np.empty((2, 0), dtype=int)]
    for code in np.intersect1d(source_codes[source_codes >= 0], target_codes):
        members = [np.flatnonzero(codes == code) for codes in (source_codes, target_codes)]
        size = max(map(len, members))
        pairs.append(np.array([np.resize(rng.permutation(each), size) for each in members]))
    source, target = np.concatenate(pairs, axis=1)
    return source, target


class HeMap(LatentBaseline):
    r"""Heterogeneous spectral mapping, HeMap :cite:p:`shi2010`.

    .. math::

       \min_{B_S, B_T, P_S, P_T}\ \|S - B_SP_S\|_F^2 + \|T - B_TP_T\|_F^2
         + \tfrac\beta2\bigl(\|S - B_TP_S\|_F^2 + \|T - B_SP_T\|_F^2\bigr)

    with orthonormal :math:`B_S, B_T`: each domain is reconstructed from its own embedding, and
    with weight :math:`\beta` from the other's. For given embeddings the best P are known, and what
    is left is a trace to be maximised; its relaxation to :math:`B_S^\top B_S + B_T^\top B_T = I`
    is solved by the leading eigenvectors of one matrix, see :func:`spectral_embedding`. Rows never
    seen, and those of the fit too, are mapped by the ridge regression of the embedding on the rows,
    see :func:`least_squares_map`.

    S and T must have as many rows, the first of one the counterpart of the first of the other. The
    authors resample to equal numbers and leave the counterparts to chance, which makes the tie
    meaningless. Here rows of one class are paired where the target has labels, the scarcer ones
    more than once; every target row without a label is paired with its nearest source row where the
    domains share their columns, and left out where they do not. Each domain is scaled so that its
    rows have length 1 on average, so that neither dominates.

    Use it for domains of different columns with some target labels, as the simplest spectral
    method; it is sensitive to the pairing, and mostly less accurate than methods that learn from
    the labels themselves. Costs :math:`O(n(d_s + d_t)\min(2n, d_s + d_t))` for n pairs, the cube of
    that minimum, and memory for its square.

    Parameters
    ----------
    n_components : int, default=None
        Dimension k of the embedding, by default 20 or the most that the rows allow.
    tie : float, default=1.0
        Weight :math:`\beta` of the ties between the domains. At 0 they are embedded apart.
    ridge : float, default=3.0
        Regularisation of the maps, relative to the mean squared length of the columns. At 0 they
        reproduce the embedding of linearly independent rows, which amounts to whitening, and costs
        up to ten points on wide rows.
    classifier : {"1nn", "svm"} or estimator, default="1nn"
        Trained on all labelled rows in the embedding.
    random_state : int, RandomState instance, Generator or None, default=0
        Draws which rows of a class are paired.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    source_mean_, target_mean_ : ndarray of shape (n_features,)
        Means of the domains.
    pairs_ : ndarray of shape (n_pairs, 2)
        Row indices of the counterparts in source and target.
    source_embedding_, target_embedding_ : ndarray of shape (n_pairs, n_components)
        Embeddings :math:`B_S, B_T` of the paired rows.
    source_projection_, target_projection_ : ndarray of shape (n_features, n_components)
        Maps of centred rows.
    n_components_ : int
        Dimension of the embedding.
    classifier_ : estimator
        The fitted classifier; its classes are positions in `classes_`.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import HeMap
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None]
    >>> Xt = 7 - 2 * X[:, :3]
    >>> few = np.where(np.arange(40) % 4 == 0, y, -1)
    >>> HeMap(1).fit(X, y, Xt, few).score(Xt, y)
    1.0
    """

    _takes_different_columns = True

    def __init__(self, n_components=None, *, tie=1.0, ridge=3.0, classifier="1nn", random_state=0):
        self.n_components = n_components
        self.tie = tie
        self.ridge = ridge
        self.classifier = classifier
        self.random_state = random_state

    def _adapt(self, source: Domain, target: Domain) -> None:
        offsets, target_offsets = self._center(source, target)
        tie = self.tie
        if target is source:
            first = second = np.arange(len(offsets))
            tie = 2.0  # then vectors with opposite halves have the eigenvalue 0
        else:
            rng = as_generator(self.random_state)
            first, second = pair_by_class(source.codes, target.codes, rng)
            others = np.flatnonzero(target.codes < 0)
            if self._shares_features and len(others):
                nearest = pairwise_distances_argmin(target_offsets[others], offsets)
                first, second = np.append(first, nearest), np.append(second, others)
        self.pairs_ = np.stack([first, second], axis=1)
        S, T = offsets[first], target_offsets[second]
        k = self._check_components(self.n_components, min(*S.shape, T.shape[1]), default=20)
        # rows of length 1 on average, so that neither domain dominates
        self.source_embedding_, self.target_embedding_ = spectral_embedding(
            S / mean_length(offsets), T / mean_length(target_offsets), k, tie
        )
        self._source_map = least_squares_map(S, self.source_embedding_, self.ridge)
        self._target_map = least_squares_map(T, self.target_embedding_, self.ridge)
        self.source_projection_, self.target_projection_ = self._source_map, self._target_map
        self.n_components_ = self._n_features_out = k
