"""Self-training: a rule that learns from its own surest predictions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ilspace.backend import to_numpy
from ilspace.rules.calibration import fitting_inverse_temperature
from ilspace.rules.ridge import KernelExpansion, LaplacianRidge

N_STEPS = 3
"""Steps in which the share of selected predictions grows from 0 to 1."""

_HIDDEN = 3
"""One in so many known classes is hidden to calibrate probabilities."""

_INVERSE_TEMPERATURE = 4.0
"""Where too few classes are known to find one."""

_LEAST_SHARE = 0.1
"""A class that had so much of an equal share of the predictions must not lose them all."""


class Prediction(NamedTuple):
    """What a self-training rule says of the rows that it was trained on.

    Attributes
    ----------
    expansion : KernelExpansion
        The rule.
    codes : ndarray of int, shape (n,)
        Class of each row: the known one, or the predicted one.
    scores : ndarray of shape (n, n_classes)
        Scores of the classes.
    """

    expansion: KernelExpansion
    codes: np.ndarray
    scores: np.ndarray

    @property
    def margins(self) -> np.ndarray:
        """How sure the rule is of each row: the difference of the two largest scores."""
        best = np.partition(self.scores, -2, axis=1)
        return best[:, -1] - best[:, -2]


def surest(margins: np.ndarray, codes: np.ndarray, share: float) -> np.ndarray:
    """The surest predictions of each predicted class.

    Parameters
    ----------
    margins : ndarray of shape (n,)
        How sure each prediction is.
    codes : ndarray of int, shape (n,)
        The predicted classes.
    share : float
        Share of the rows of each class to select, rounded up.

    Returns
    -------
    ndarray of int
        The selected rows, in ascending order.
    """
    # rounding must not turn a share of 1/3 of 9 rows into 4
    n_chosen = np.ceil(share * np.bincount(codes)[codes] * (1 - 1e-12))
    return np.flatnonzero(ranks(margins, codes) < n_chosen)


def ranks(margins: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Rank of each row in its class, from 0 for the surest.

    Parameters
    ----------
    margins : ndarray of shape (n,)
        How sure each row is; equal ones keep their order.
    codes : ndarray of int, shape (n,)
        Their classes.

    Returns
    -------
    ndarray of int, shape (n,)
        The ranks.
    """
    order, counts = np.lexsort((-margins, codes)), np.bincount(codes)
    found = np.empty(len(codes), dtype=np.int64)
    found[order] = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    return found


def empties_a_class(before: np.ndarray, after: np.ndarray, n_classes: int) -> bool:
    """Tell whether predictions have collapsed: a class that had predictions has none any more.

    Parameters
    ----------
    before, after : ndarray of int, shape (n,)
        Classes predicted for the same rows.
    n_classes : int
        Number of classes.

    Returns
    -------
    bool
        A class that had less than a tenth of an equal share may vanish.
    """
    had, has = (np.bincount(each, minlength=n_classes) for each in (before, after))
    least = max(_LEAST_SHARE * len(before) / n_classes, 1)
    return bool(np.any((had >= least) & (has == 0)))


def class_weights(
    codes: np.ndarray, weights: np.ndarray, n_classes: int, class_prior: np.ndarray | None = None
) -> np.ndarray:
    """Scale weights so that classes have given shares of the total, which stays.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Classes; -1 where there is none.
    weights : ndarray of shape (n,)
        Weights of the rows.
    n_classes : int
        Number of classes.
    class_prior : ndarray of shape (n_classes,), optional
        Positive shares of the classes, among those that have rows; by default they are equal.

    Returns
    -------
    ndarray of shape (n,)
        0 for rows without a class.
    """
    has = codes >= 0
    masses = np.bincount(codes[has], weights[has], minlength=n_classes)
    factors = masses[masses > 0].mean() / np.where(masses > 0, masses, 1.0)
    if class_prior is not None:
        factors *= class_prior / class_prior[masses > 0].mean()
    return np.where(has, weights * factors[codes], 0.0)


def class_targets(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Targets of a regression: 1 for the class of a row, -1/(n_classes - 1) for the others.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Classes; -1 where there is none.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of shape (n, n_classes)
        Rows with a class sum to 0.
    """
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1 / (n_classes - 1))


def selective_ridge(
    ridge: LaplacianRidge,
    codes: np.ndarray,
    weights: np.ndarray,
    n_classes: int,
    *,
    class_prior: np.ndarray | None = None,
    n_steps: int = N_STEPS,
) -> Prediction:
    """Train a regression that takes in its own surest predictions, more of them in each step.

    The first step learns from the known classes. In step t of T the surest t/T of the predictions
    of each class, chosen anew, join with their weights. Classes weigh the same, or as given shares
    say. A step that would leave a class without predictions is not taken, and the steps end.

    Parameters
    ----------
    ridge : LaplacianRidge
        The regression, prepared for the rows.
    codes : ndarray of int, shape (n,)
        Known classes; -1 where none is known.
    weights : ndarray of shape (n,)
        Weight of each row, once it has a class.
    n_classes : int
        Number of classes.
    class_prior : ndarray of shape (n_classes,), optional
        Shares of the classes in the weight of all rows that have one; by default they are equal.
    n_steps : int, default=3
        Number T of steps after the first; 0 learns from the known classes alone.

    Returns
    -------
    Prediction
        Of all rows.
    """
    free = np.flatnonzero(codes < 0)
    n_steps = n_steps if len(free) else 0
    labels = codes
    found: Any = None
    for step in range(n_steps + 1):
        shares = class_weights(labels, weights, n_classes, class_prior)
        expansion, scores = ridge.fit(shares, class_targets(labels, n_classes))
        new = Prediction(expansion, codes.copy(), to_numpy(scores))
        new.codes[free] = new.scores[free].argmax(axis=1)
        if found is not None and empties_a_class(found.codes[free], new.codes[free], n_classes):
            break
        found = new
        if step < n_steps:
            chosen = free[surest(found.margins[free], found.codes[free], (step + 1) / n_steps)]
            labels = codes.copy()
            labels[chosen] = found.codes[chosen]
    return found


def held_out_inverse_temperature(
    ridge: LaplacianRidge,
    codes: np.ndarray,
    weights: np.ndarray,
    n_classes: int,
    *,
    margins: np.ndarray | None = None,
    selected_weights: np.ndarray | None = None,
    class_prior: np.ndarray | None = None,
    n_steps: int = N_STEPS,
) -> float:
    """Inverse temperature of the scores that fits labels which the rule has not seen.

    A third of the known labels are hidden, so that the rule treats these rows as it treats those
    of the target: it predicts them, then learns from its predictions.

    Parameters
    ----------
    ridge : LaplacianRidge
        The regression, prepared for the rows.
    codes : ndarray of int, shape (n,)
        Known classes; -1 where none is known.
    weights : ndarray of shape (n,)
        Weight of each row.
    n_classes : int
        Number of classes.
    margins : ndarray of shape (n,), optional
        How sure a rule is that knows all classes: the least sure of each three rows of a class is
        hidden, whatever their order. By default, the last of each three.
    selected_weights : ndarray of shape (n,), optional
        Weight of each row, were its class predicted; `weights` by default.
    class_prior : ndarray of shape (n_classes,), optional
        Shares of the classes, as for :func:`selective_ridge`; hidden rows are weighed by them too.
    n_steps : int, default=3
        Number of steps of :func:`selective_ridge`.

    Returns
    -------
    float
        That of least log-loss on the hidden rows. These know nothing of a shift between the
        domains, and are rows that the rule learned from: where the domains differ probabilities are
        too confident, and for rows that it never saw they are less confident than they could be.
    """
    known = np.flatnonzero(codes >= 0)
    sure = np.zeros(len(codes)) if margins is None else margins
    places = ranks(sure[known], codes[known])
    hidden = known[places % _HIDDEN == _HIDDEN - 1]  # none of a class that has one or two
    if len(hidden) == 0:
        return _INVERSE_TEMPERATURE
    left, weights = codes.copy(), weights.copy()
    left[hidden] = -1
    if selected_weights is not None:
        weights[hidden] = selected_weights[hidden]
    found = selective_ridge(
        ridge, left, weights, n_classes, class_prior=class_prior, n_steps=n_steps
    )
    scores, truth, counts = found.scores[hidden], codes[hidden], None
    if class_prior is not None:
        counts = class_weights(truth, np.ones(len(truth)), n_classes, class_prior)
    return fitting_inverse_temperature(scores, truth, n_uniform=1.0, weights=counts)
