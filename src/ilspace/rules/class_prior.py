"""Shares of the classes in the target: counted where labels allow it, else estimated."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls
from scipy.spatial.distance import pdist
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

LABEL_WEIGHT = 3.0
"""Weight of a labelled target row in a rule; a source row weighs 1."""

LEAST_COUNTED = 20
"""Target labels from which on they are counted."""

MOST_ROWS = 2_000
"""Rows of each domain that an estimate looks at."""

NOT_A_MIXTURE = 0.4
"""Squared discrepancy of kernel means that no class shares explain, from which on a target is not
believed to be a mixture of the classes of the source. Chosen on random three quarters of the rows
of each domain of the field pairs, where 0.2 to 0.6 did about as well."""

NOT_SURE = 0.1
"""How much less sure than of held-out source rows a rule may be of the target, to be believed at
all. Found likewise, where 0.1 to 0.2 did about as well; that it is needed at all, and 0.1 rather
than 0.15, was seen on all rows of the tables and digits, whose results are therefore those of an
oracle over this setting."""

_CONFIDENCE_ROWS, _FOLDS = 1_000, 3
"""Source rows that tell how sure a rule is of what it has not seen, and folds of rows that are held
out in turn."""

_WIDE = 50
"""Columns from which on rows are scaled to one length."""

_LENGTH = 10.0
"""That length, for a logistic regression with C = 1."""

_AXES, _BANDWIDTH_ROWS, _TILE = 100, 1_000, 512
"""Principal axes in which distances are taken; rows that give the bandwidth; rows of a tile."""

_LEVEL = 0.95
"""Level of the intervals of counted shares, and of a mean of predictions."""

_DOUBT = 0.5
"""Weight in an interval of what no class shares explain, in standard deviations of a label."""


class ClassPriorEstimate(NamedTuple):
    """Estimated shares of the classes in the target.

    Attributes
    ----------
    shares : ndarray of shape (n_classes,)
        The estimate; positive, of sum 1.
    low, high : ndarray of shape (n_classes,)
        An interval for each share.
    overlap : float
        How far the target looks like a mixture of the classes of the source, from 0 to 1: how much
        the predictions of a rule that was trained on the source are believed. 1 where labels were
        counted.
    counted : bool
        Whether target labels were counted.
    """

    shares: np.ndarray
    low: np.ndarray
    high: np.ndarray
    overlap: float
    counted: bool


def counted_class_prior(
    counts: np.ndarray, *, all_known: bool = False
) -> ClassPriorEstimate | None:
    """Shares of the classes from labels of the target, if these look randomly chosen.

    The posterior of the shares under Jeffreys' prior: a Dirichlet distribution with 1/2 added to
    each count. The intervals are its marginals', of 95 %.

    Parameters
    ----------
    counts : ndarray of int, shape (n_classes,)
        Labelled target rows of each class.
    all_known : bool, default=False
        Whether all target rows are labelled.

    Returns
    -------
    ClassPriorEstimate or None
        None for fewer than 20 labels, or as many of each class, give or take one: such labels were
        chosen by class, and say nothing of the shares. Labels chosen in another way, such as
        doubtful rows, cannot be told from random ones.
    """
    n, n_classes = int(counts.sum()), len(counts)
    chosen_by_class = n < LEAST_COUNTED or int(counts.max() - counts.min()) <= 1
    if n == 0 or (chosen_by_class and not all_known):
        return None
    first, total = counts + 0.5, n + n_classes / 2
    low, high = (
        stats.beta.ppf(level, first, total - first)
        for level in ((1 - _LEVEL) / 2, (1 + _LEVEL) / 2)
    )
    return ClassPriorEstimate(first / total, low, high, 1.0, True)


def estimate_class_prior(
    X: np.ndarray,
    codes: np.ndarray,
    Xt: np.ndarray,
    known: np.ndarray,
    n_classes: int,
    *,
    rng: np.random.Generator,
    weights: np.ndarray | None = None,
) -> ClassPriorEstimate:
    r"""Estimate the shares of the classes in a target.

    Where 20 or more target labels look randomly chosen they are counted, by
    :func:`counted_class_prior`. Else, with p the shares in the source and :math:`\mu` the mean
    probabilities of the unlabelled target rows by a logistic regression of the labelled rows,

    .. math:: \hat q = p + t\,(\mu - p), \qquad
        1 - t = 2^{-m}\,\bigl(1 - (1 - r / 0.4)_+\,(1 - \ell / 0.1)_+\bigr)

    The trust t tells a shift of the class shares from a rule that collapsed, since columns have
    other units in the target, say: :math:`r = \min_q \|\sum_c q_c\varphi_c - \varphi_t\|^2` is the
    squared maximum mean discrepancy :cite:p:`gretton2012` between the target and the mixture of
    the source's classes that is closest to it, less what it is for samples of one distribution.
    Under a shift of class shares alone it is 0; for a target that lies elsewhere it is 1 or so.
    And :math:`\ell \ge 0` is how much less sure, in its mean largest probability, the rule is of
    the target than of held-out source rows, of the classes as often as they are predicted there,
    less a standard error; it too is 0 or so under a shift of class shares.

    Labels of target rows speak for the rule: m is the number of them that are predicted right
    while they are held out, of the class with the fewest, and each halves the doubt. A rule that
    has collapsed is right on no row of some class, so that m is 0, as it is without labels. That
    the fewest count, and rows held out, was found on random three quarters of the rows of the
    table pairs and some of Office+Caltech10: labels that the rule has learned from are right too
    easily where there are many columns.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Source rows; :func:`in_source_scale` scales them where the caller has not.
    codes : ndarray of int, shape (n,)
        Their classes, from 0.
    Xt : ndarray of shape (nt, d)
        Target rows in the same columns and units.
    known : ndarray of int, shape (nt,)
        Their classes, -1 where there is no label.
    n_classes : int
        Number of classes.
    rng : Generator
        Draws 2,000 rows of each domain where there are more, and what randomised linear algebra
        needs.
    weights : ndarray of shape (n,), optional
        Weights of the source rows.

    Returns
    -------
    ClassPriorEstimate
        Half of its interval is the sum of three: 1.96 standard errors of :math:`\mu`; the larger
        difference of :math:`\mu` from p and from the closest mixture's shares; and, for what no
        shares explain, :math:`\tfrac12\sqrt{r\,\hat q(1 - \hat q)}`. It is a rule of thumb,
        chosen among nine on the field pairs, where 78 to 100 % of the true shares, by group of
        pairs, lay in it.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.rules import estimate_class_prior
    >>> rng = np.random.default_rng(0)
    >>> y, yt = np.repeat([0, 1], 100), np.repeat([0, 1], [20, 180])
    >>> X, Xt = (rng.normal(size=(200, 2)) + 4 * each[:, None] for each in (y, yt))
    >>> estimate_class_prior(X, y, Xt, np.full(200, -1), 2, rng=rng).shares.round(1)
    array([0.1, 0.9])
    """
    counted = counted_class_prior(
        np.bincount(known[known >= 0], minlength=n_classes), all_known=bool(np.all(known >= 0))
    )
    if counted is not None:
        return counted
    if X.shape[1] != Xt.shape[1]:
        raise ValueError(
            "Class shares can be estimated where the domains have the same columns, or from "
            f"{LEAST_COUNTED} randomly chosen target labels, but there are {X.shape[1]} and "
            f"{Xt.shape[1]} columns and {np.sum(known >= 0)} labels: give the shares instead."
        )
    weights = np.ones(len(codes)) if weights is None else weights
    masses = np.bincount(codes, weights, minlength=n_classes)
    prior = masses / masses.sum()
    some, others = sample_of_classes(codes, MOST_ROWS, rng), _sample_of_target(known, rng)
    X, codes, Xt, known, weights = X[some], codes[some], Xt[others], known[others], weights[some]
    probabilities = _predicted(X, codes, Xt, known, n_classes, weights=weights)
    mean = probabilities.mean(axis=0)
    mixture, distance, noise = mixture_of_classes(X, codes, Xt[known < 0], weights, rng=rng)
    unexplained = max(distance - noise, 0.0)
    trust = float(np.clip(1 - unexplained / NOT_A_MIXTURE, 0, 1))
    lost = _confidence_lost(X, codes, weights, probabilities)
    trust *= float(np.clip(1 - lost / NOT_SURE, 0, 1))
    right = _fewest_right(X, codes, Xt[known >= 0], known[known >= 0], weights, n_classes)
    trust = 1 - (1 - trust) * 0.5**right
    shares = prior + trust * (mean - prior)
    error = stats.norm.ppf((1 + _LEVEL) / 2) * probabilities.std(axis=0) / len(probabilities) ** 0.5
    mixture = np.pad(mixture, (0, n_classes - len(mixture)))
    disagreement = np.maximum(np.abs(mean - prior), np.abs(mean - mixture))
    doubt = _DOUBT * np.sqrt(min(unexplained, 1.0) * shares * (1 - shares))
    half = error + disagreement + doubt
    low, high = (np.clip(shares + sign * half, 0, 1) for sign in (-1, 1))
    return ClassPriorEstimate(shares, low, high, trust, False)


def overlap_of_classes(
    X: np.ndarray, codes: np.ndarray, Xt: np.ndarray, *, rng: np.random.Generator
) -> float:
    """How far a target looks like a mixture of the classes of the source.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Source rows.
    codes : ndarray of int, shape (n,)
        Their classes, from 0.
    Xt : ndarray of shape (nt, d)
        Target rows in the same columns and units.
    rng : Generator
        Draws 2,000 rows of each domain where there are more.

    Returns
    -------
    float
        1 for a mixture, 0 where the discrepancy that no shares explain is 0.4 or more.
    """
    some = sample_of_classes(codes, MOST_ROWS, rng)
    others = _sample_of_target(np.full(len(Xt), -1), rng)
    _, distance, noise = mixture_of_classes(X[some], codes[some], Xt[others], rng=rng)
    return float(np.clip(1 - max(distance - noise, 0.0) / NOT_A_MIXTURE, 0, 1))


def in_source_scale(X: np.ndarray, Xt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scale the rows of both domains as the source says.

    Parameters
    ----------
    X, Xt : ndarray of shape (n, d) and (nt, d)
        Source and target rows, in the same columns.

    Returns
    -------
    X, Xt : ndarray
        Columns less the mean of the source, over its standard deviation; columns that are constant
        there are 0. Rows of 50 columns and more are scaled to length 1.
    """
    mean, scale = X.mean(axis=0), X.std(axis=0)
    varies = scale > 1e-12 * np.maximum(np.abs(mean), np.finfo(float).tiny)
    factors = np.where(varies, 1 / np.where(varies, scale, 1.0), 0.0)
    scaled = [(rows - mean) * factors for rows in (X, Xt)]
    if X.shape[1] >= _WIDE:
        norms = [np.linalg.norm(rows, axis=1, keepdims=True) for rows in scaled]
        scaled = [rows / np.where(n > 0, n, 1.0) for rows, n in zip(scaled, norms, strict=True)]
    return scaled[0], scaled[1]


def sample_of_classes(codes: np.ndarray, n_most: int, rng: np.random.Generator) -> np.ndarray:
    """Indices of all rows, or of a random sample with a row of each class, in ascending order.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Class of each row.
    n_most : int
        Most rows to draw.
    rng : Generator
        Draws them.

    Returns
    -------
    ndarray of int
        The indices.
    """
    if len(codes) <= n_most:
        return np.arange(len(codes))
    order = rng.permutation(len(codes))
    _, first = np.unique(codes[order], return_index=True)
    order = np.concatenate([order[first], np.delete(order, first)])
    return np.sort(order[: max(n_most, 1)])


def _sample_of_target(known: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Indices of a random sample of the rows without a label, and of some with one."""
    chosen = [np.flatnonzero(known < 0), np.flatnonzero(known >= 0)]
    return np.sort(np.concatenate([rng.permutation(each)[:MOST_ROWS] for each in chosen]))


def _predicted(
    X: np.ndarray,
    codes: np.ndarray,
    Xt: np.ndarray,
    known: np.ndarray,
    n_classes: int,
    *,
    weights: np.ndarray,
) -> np.ndarray:
    """Probabilities of the target rows without a label, by a rule of those with one."""
    labelled = known >= 0
    size = _LENGTH if X.shape[1] >= _WIDE else 1 / (np.sqrt(np.mean(X**2)) or 1.0)
    rows, labels = np.concatenate([X, Xt[labelled]]), np.concatenate([codes, known[labelled]])
    each = np.append(weights / weights.mean(), np.full(labelled.sum(), LABEL_WEIGHT))
    with warnings.catch_warnings():
        # means of probabilities hardly move any more
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(max_iter=300).fit(size * rows, labels, each)
    probabilities = np.zeros((len(Xt) - int(labelled.sum()), n_classes))
    probabilities[:, model.classes_] = model.predict_proba(size * Xt[~labelled])
    return probabilities


def _fewest_right(
    X: np.ndarray,
    codes: np.ndarray,
    Xt: np.ndarray,
    known: np.ndarray,
    weights: np.ndarray,
    n_classes: int,
) -> int:
    """Labelled target rows that a rule without them is right on, of the class with the fewest."""
    counts = np.bincount(known, minlength=n_classes)
    if counts.min() == 0:
        return 0
    fold = np.empty(len(known), dtype=int)
    fold[np.lexsort((Xt.sum(axis=1), known))] = np.arange(len(known)) % _FOLDS
    is_right = np.zeros(len(known), dtype=bool)
    for each in np.unique(fold):
        held = fold == each
        given = np.where(held, -1, known)
        found = _predicted(X, codes, Xt, given, n_classes, weights=weights).argmax(axis=1)
        is_right[held] = found == known[held]
    return int(np.bincount(known[is_right], minlength=n_classes).min())


def _confidence_lost(
    X: np.ndarray, codes: np.ndarray, weights: np.ndarray, probabilities: np.ndarray
) -> float:
    """How much less sure a rule is of the target than of source rows that it has not seen."""
    n_classes = probabilities.shape[1]
    # distinct rows by class and sum, so that neither their order nor copies of them count
    keys, rank = np.unique(np.stack([codes, X.sum(axis=1)], axis=1), axis=0, return_inverse=True)
    labels, rank = keys[:, 0].astype(int), rank.ravel()
    place = np.arange(len(labels)) - np.searchsorted(labels, labels)
    step = -(-len(labels) // _CONFIDENCE_ROWS)
    kept = place % step == 0
    kept &= np.bincount(labels[kept], minlength=n_classes)[labels] >= _FOLDS
    rows = np.flatnonzero(kept[rank])
    X, codes, weights, fold = (
        X[rows],
        codes[rows],
        weights[rows],
        (place // step % _FOLDS)[rank[rows]],
    )
    if len(np.unique(codes)) < 2 or len(probabilities) == 0:
        return 0.0
    sure = np.empty(len(codes))
    for each in range(_FOLDS):
        held = fold == each
        unknown = np.full(held.sum(), -1)
        given = X[~held], codes[~held], X[held], unknown, n_classes
        sure[held] = _predicted(*given, weights=weights[~held]).max(axis=1)
    # of the classes as frequent as they are predicted in the target
    masses, shares = np.bincount(codes, weights, n_classes), probabilities.mean(axis=0)
    found = probabilities.max(axis=1)
    here = np.average(sure, weights=weights * shares[codes] / masses[codes])
    noise = np.sqrt(sure.var() / len(sure) + found.var() / len(found))
    return max(float(here - found.mean() - noise), 0.0)


def mixture_of_classes(
    X: np.ndarray,
    codes: np.ndarray,
    Xt: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    rng: np.random.Generator,
) -> tuple[np.ndarray, float, float]:
    r"""Mixture of the source's classes whose kernel mean is closest to the target's.

    .. math:: \min_{q \ge 0,\ \sum_c q_c = 1}\ \Bigl\|\sum_c q_c\varphi_c - \varphi_t\Bigr\|^2

    with :math:`\varphi` the mean of the features of the kernel
    :math:`e^{-\|x - z\|^2/h}`, h the median squared distance of two rows. Rows of more than 100
    columns are projected on their first 100 principal axes.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Source rows.
    codes : ndarray of int, shape (n,)
        Their classes, from 0.
    Xt : ndarray of shape (nt, d)
        Target rows.
    weights : ndarray of shape (n,), optional
        Weights of the source rows.
    rng : Generator
        Draws rows for the median, and what a randomised decomposition needs.

    Returns
    -------
    shares : ndarray of shape (n_classes,)
        The minimiser q; 0 for classes without rows.
    unexplained : float
        The minimum.
    noise : float
        What the minimum would be, on average, for samples of one distribution.
    """
    rows = np.concatenate([X, Xt])
    if rows.shape[1] > _AXES and len(rows) > _AXES:
        seed = int(rng.integers(2**31))
        rows = PCA(_AXES, svd_solver="randomized", random_state=seed).fit_transform(rows)
    squares = pdist(rng.permutation(rows)[:_BANDWIDTH_ROWS], "sqeuclidean")
    squares = squares[squares > 0]
    bandwidth = float(np.median(squares)) if len(squares) else 1.0
    classes, own = np.unique(codes, return_inverse=True)
    # one column per class and one for the target: the weights of their means
    n, k = len(codes), len(classes)
    means = np.zeros((len(rows), k + 1))
    means[np.arange(n), own] = 1.0 if weights is None else weights
    means[n:, k] = 1.0
    means /= means.sum(axis=0)
    products = np.zeros((k + 1, k + 1))
    for top in range(0, len(rows), _TILE):
        tile = slice(top, top + _TILE)
        products += means[tile].T @ (rbf_kernel(rows[tile], rows, gamma=1 / bandwidth) @ means)
    shares = _closest_mixture(products[:k, :k], products[:k, k])
    coefficients = np.append(shares, -1.0)
    unexplained = float(coefficients @ products @ coefficients)
    # the variance of a mean of features, whose squared norms are 1
    variances = np.sum(means**2, axis=0) * (1 - np.diag(products))
    found = np.zeros(int(classes[-1]) + 1)
    found[classes] = shares
    return found, unexplained, float(coefficients**2 @ variances)


def _closest_mixture(gram: np.ndarray, products: np.ndarray) -> np.ndarray:
    """Minimiser of q'Gq - 2q'b over the simplex."""
    factor = cholesky(gram + 1e-9 * np.trace(gram) * np.eye(len(gram)))
    right = solve_triangular(factor, products, trans=1)
    # a heavy equation for the sum
    heavy = 1e3 * np.ones((1, len(gram)))
    found, _ = nnls(np.concatenate([factor, heavy]), np.append(right, 1e3))
    return found / found.sum()
