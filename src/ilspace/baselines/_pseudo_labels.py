"""What methods share that label the target by themselves: discrepancies of class means, rounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from ilspace.baselines._classifiers import nearest_neighbour


def mean_discrepancies(
    codes: np.ndarray, target_codes: np.ndarray, n_classes: int, balance: float = 0.5
) -> np.ndarray:
    r"""Weights of rows whose weighted sums are differences between the means of two domains.

    .. math:: UU^\top = M/\|M\|_F, \qquad
        M = (1 - \mu)\,C\,m_0m_0^\top + \mu\sum_{c=1}^Cm_cm_c^\top

    The vector :math:`m_0` takes the mean of the target from that of the source, :math:`m_c` does so
    for the rows of class c. M is the matrix of the maximum mean discrepancy; its marginal part
    counts as much as all classes together, and its norm is 1, so that its weight in an objective
    means the same for any number of rows and classes.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Classes of the source rows.
    target_codes : ndarray of shape (m,)
        Classes of the target rows, -1 where unknown.
    n_classes : int
        Number of classes C.
    balance : float, default=0.5
        The weight :math:`\mu` of the classes.

    Returns
    -------
    ndarray of shape (n + m, n_classes + 1)
        Columns of U, that of all rows first; zero for a class that one domain does not have.
    """
    sides = []
    for each, sign in ((codes, 1.0), (target_codes, -1.0)):
        members = each[:, None] == np.arange(n_classes)
        members = np.column_stack([np.ones(len(each), dtype=bool), members])
        sides.append(sign * members / np.maximum(members.sum(axis=0), 1))
    shared = np.all([side.any(axis=0) for side in sides], axis=0)
    weights = np.full(n_classes + 1, balance)
    weights[0] = (1 - balance) * n_classes
    factor = np.vstack(sides) * np.sqrt(weights * shared)
    return factor / np.sqrt(np.linalg.norm(factor.T @ factor) or 1.0)


def a_distance(source: np.ndarray, target: np.ndarray, *, ridge: float = 1.0) -> float:
    r"""Proxy A-distance of two samples :cite:p:`bendavid2010`.

    .. math:: d = 2(1 - 2\epsilon)

    with the error :math:`\epsilon` of a linear classifier that tells the samples apart. Here it is
    ridge regression of the sign of the sample, and the error is that of leaving one row out, in
    closed form. Both samples count alike, whatever their sizes.

    Parameters
    ----------
    source : ndarray of shape (n, d)
        Rows of about unit length.
    target : ndarray of shape (m, d)
        Rows of about unit length.
    ridge : float, default=1.0
        Regularisation, for a mean weight of 1 per row.

    Returns
    -------
    float
        Between 0, where the classifier is no better than chance, and 2.
    """
    sizes = [len(source), len(target)]
    rows = np.column_stack([np.vstack([source, target]), np.ones(sum(sizes))])
    roots = np.sqrt(sum(sizes) / 2 / np.repeat(sizes, sizes))
    signs = roots * np.repeat([1.0, -1.0], sizes)
    left, lengths, _ = linalg.svd(rows * roots[:, None], full_matrices=False)
    kept = lengths**2 / (lengths**2 + ridge)
    residuals = signs - left @ (kept * (signs @ left))
    left_out = signs - residuals / (1 - left**2 @ kept)
    wrong = left_out * signs <= 0
    error = (wrong[: len(source)].mean() + wrong[len(source) :].mean()) / 2
    return max(0.0, 2 * (1 - 2 * float(error)))


def balance_rule(
    balance: float | str, source: np.ndarray, codes: np.ndarray, target: np.ndarray
) -> Callable[[np.ndarray], float]:
    r"""How much the classes count in the discrepancy: a constant, or by how far apart they are.

    .. math:: \mu = \frac{\bar d}{d_0 + \bar d}

    with the A-distance :math:`d_0` between the domains, and the mean :math:`\bar d` of those
    between the classes of the domains.

    Parameters
    ----------
    balance : float or "auto"
        The parameter of the method: a constant, or the estimate.
    source : ndarray of shape (n, d)
        Source rows of about unit length.
    codes : ndarray of shape (n,)
        Their classes.
    target : ndarray of shape (m, d)
        Target rows of about unit length.

    Returns
    -------
    callable
        From the classes of the target rows, -1 where unknown, to the balance. The estimate is 0
        where the domains share no class, and 0.5 where nothing differs.
    """
    if not isinstance(balance, str):
        return lambda _: float(balance)
    between_domains = a_distance(source, target)

    def estimate(target_codes: np.ndarray) -> float:
        shared = np.intersect1d(codes, target_codes[target_codes >= 0])
        if len(shared) == 0:
            return 0.0
        apart = [a_distance(source[codes == c], target[target_codes == c]) for c in shared]
        total = between_domains + np.mean(apart)
        return float(np.mean(apart) / total) if total else 0.5

    return estimate


def nearest_labels(
    source: np.ndarray, codes: np.ndarray, target: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """Label each target row by the nearest labelled row of either domain.

    Parameters
    ----------
    source : ndarray of shape (n, d)
        Source rows.
    codes : ndarray of shape (n,)
        Their classes.
    target : ndarray of shape (m, d)
        Target rows.
    known : ndarray of shape (m,)
        Their classes, -1 where unknown.

    Returns
    -------
    ndarray of shape (m,)
        Classes; those known stay.
    """
    labelled = known >= 0
    rows, labels = np.vstack([source, target[labelled]]), np.concatenate([codes, known[labelled]])
    return np.where(labelled, known, nearest_neighbour().fit(rows, labels).predict(target))


def alternate(
    learn: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    known: np.ndarray,
    max_iter: int,
) -> tuple[np.ndarray, int]:
    """Learn from the labels of the target, and label it by what was learned, in turn.

    Parameters
    ----------
    learn : callable
        Called with a class per target row, -1 where there is none; returns those it predicts.
    start : ndarray of shape (m,)
        The first labels.
    known : ndarray of shape (m,)
        True classes, -1 where unknown; they replace what is predicted.
    max_iter : int
        Maximum number of rounds; they end before where no label changes.

    Returns
    -------
    codes : ndarray of shape (m,)
        The last labels.
    n_iter : int
        Number of rounds.
    """
    codes, n_iter = start, 0
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        before, codes = codes, np.where(known >= 0, known, learn(codes))
        if np.array_equal(codes, before):
            break
    return codes, n_iter
