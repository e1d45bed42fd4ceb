"""What is said of labelled target rows without their own labels, and what that is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

N_FOLDS = 3
"""Parts of the labelled target rows, each of which is held out once."""

MOST_ROWS = 2000
"""Rows of each table that are learned from while others are held out."""

LEAST_PROBABILITY = 0.1
"""Lower probabilities of a true label count as this one, lest one row decide for all.

On random three quarters of the rows of the table pairs but wine, 0.01, 0.05, 0.1 and 0.2 were
within 0.7 points of each other, with three labels per class and with 30 random ones.
"""


@dataclass(frozen=True)
class HeldOut:
    """What is said of labelled target rows by classifiers that did not see their labels.

    Attributes
    ----------
    codes : ndarray of int, shape (n,)
        Their classes.
    folds : ndarray of int, shape (n,)
        With which others each was held out.
    said : ndarray of shape (n_members, n, n_classes)
        Probabilities by the members.
    rivals : dict of str to ndarray of int, shape (n,)
        Classes by rules that are no members.
    weights : ndarray of shape (n,)
        How many rows of the target each stands for, relative to the others, of sum 1: where labels
        were chosen by class, a class of many rows counts for more.
    """

    codes: np.ndarray
    folds: np.ndarray
    said: np.ndarray
    rivals: dict[str, np.ndarray]
    weights: np.ndarray

    def member_weights(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Weights of the members, by what they said of true labels.

        The likelihood of the labels under each member, with equal weights beforehand: Bayesian
        model averaging with held-out instead of marginal likelihoods :cite:p:`yao2018`.

        Parameters
        ----------
        rows : ndarray of bool, shape (n,), optional
            Which rows count.

        Returns
        -------
        ndarray of shape (n_members,)
            Of sum 1.
        """
        of_truth = self.said[:, np.arange(len(self.codes)), self.codes]
        logs = np.log(np.maximum(of_truth, LEAST_PROBABILITY))
        total = logs.sum(axis=1) if rows is None else logs[:, rows].sum(axis=1)
        found = np.exp(total - total.max())
        return found / found.sum()

    def predicted(self) -> np.ndarray:
        """Classes by the weighted average.

        Returns
        -------
        ndarray of int, shape (n,)
            The weights, too, are those without the labels of the fold.
        """
        found = np.empty(len(self.codes), dtype=int)
        for fold in np.unique(self.folds):
            own = self.folds == fold
            weights = self.member_weights(~own)
            found[own] = np.tensordot(weights, self.said[:, own], axes=1).argmax(axis=1)
        return found

    def accuracy(self, is_right: np.ndarray) -> float:
        """Share of the target that is predicted rightly.

        Parameters
        ----------
        is_right : ndarray of bool, shape (n,)
            Which of the rows are.

        Returns
        -------
        float
            From 0 to 1.
        """
        return float(self.weights @ is_right)


def weights_of_rows(codes: np.ndarray, prior: np.ndarray, *, random: bool) -> np.ndarray:
    """How much of the target each labelled row stands for.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Their classes.
    prior : ndarray of shape (n_classes,)
        Shares of the classes in the target.
    random : bool
        Whether the rows were drawn at random, and not by class.

    Returns
    -------
    ndarray of shape (n,)
        Of sum 1.
    """
    if random:
        return np.full(len(codes), 1 / len(codes))
    counts = np.bincount(codes, minlength=len(prior))
    found = prior[codes] / counts[codes]
    total = found.sum()
    return found / total if total > 0 else np.full(len(codes), 1 / len(codes))


def folds_of_rows(codes: np.ndarray) -> np.ndarray:
    """Assign labelled rows to folds, each class spread over all of them.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Their classes.

    Returns
    -------
    ndarray of int, shape (n,)
        Numbers from 0 on.
    """
    folds = np.empty(len(codes), dtype=int)
    folds[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % N_FOLDS
    return folds


def rows_to_learn_from(codes: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of both tables that are enough to compare classifiers.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Classes of the source rows.
    known : ndarray of int, shape (nt,)
        Of the target rows; -1 where unknown.

    Returns
    -------
    source, target : ndarray of int
        At most `MOST_ROWS` of each, drawn evenly; two of each class of the source at least, and of
        the labelled target rows as many as of all.
    """
    source = np.arange(len(codes))
    if len(codes) > MOST_ROWS:
        order = np.argsort(codes, kind="stable")
        _, starts, counts = np.unique(codes[order], return_index=True, return_counts=True)
        always = np.concatenate([starts, starts[counts > 1] + 1])
        source = np.sort(order[np.union1d(_evenly(len(codes)), always)])
    labelled = np.flatnonzero(known >= 0)
    target = np.union1d(_evenly(len(known)), labelled[_evenly(len(labelled))])
    return source, target


def _evenly(n_rows: int) -> np.ndarray:
    return np.linspace(0, n_rows - 1, min(n_rows, MOST_ROWS)).astype(int)
