"""The paper's pairs: all similar ones, and as many dissimilar ones drawn at random."""

from __future__ import annotations

import numpy as np

from ilspace._typing import Array, Hinge, PairSum
from ilspace.backend import array_namespace, like


def sample_pairs(
    codes: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All similar pairs, and as many dissimilar pairs drawn without replacement.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each row, from 0.
    rng : Generator
        Source of randomness.

    Returns
    -------
    first, second : ndarray of shape (n_pairs,)
        Row numbers of each pair, first < second.
    signs : ndarray of shape (n_pairs,)
        1.0 for a similar pair, -1.0 for a dissimilar one.
    """
    n = len(codes)
    similar = []
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        above = np.triu_indices(len(members), k=1)
        similar.append(np.stack([members[above[0]], members[above[1]]]))
    similar = np.concatenate(similar, axis=1)
    by_class = np.bincount(codes)
    n_dissimilar = int((n * n - np.sum(by_class**2)) // 2)
    wanted = similar.shape[1] if similar.shape[1] else n_dissimilar
    if wanted >= n_dissimilar // 2:
        # most of them are wanted: list them all
        first, second = np.nonzero(np.triu(codes[:, None] != codes[None, :]))
        chosen = np.sort(rng.permutation(n_dissimilar)[: min(wanted, n_dissimilar)])
        first, second = first[chosen], second[chosen]
    else:
        keys = np.empty(0, dtype=np.int64)
        while len(keys) < wanted:
            draw = rng.integers(n, size=(2, 4 * wanted))
            draw = np.sort(draw[:, codes[draw[0]] != codes[draw[1]]], axis=0)
            keys = np.unique(np.concatenate([keys, draw[0] * n + draw[1]]))
        keys = np.sort(rng.permutation(keys)[:wanted])
        first, second = keys // n, keys % n
    signs = np.concatenate([np.ones(similar.shape[1]), -np.ones(len(first))])
    return (np.concatenate([similar[0], first]), np.concatenate([similar[1], second]), signs)


class SampledPairs:
    """A list of pairs of labelled rows, each with an optional slack.

    Parameters
    ----------
    first, second : ndarray of shape (n_pairs,)
        Row numbers of each pair.
    signs : ndarray of shape (n_pairs,)
        1 for a similar pair, -1 for a dissimilar one.
    weights : ndarray of shape (n,), optional
        Weight of each row; a pair weighs the product of its rows'. By default all pairs weigh
        the same, 1 / n_pairs.
    n_rows : int
        Number of labelled rows.
    reference : array
        Library, device and floating type to work in.
    """

    def __init__(
        self,
        first: np.ndarray,
        second: np.ndarray,
        signs: np.ndarray,
        weights: np.ndarray | None = None,
        *,
        n_rows: int,
        reference: Array,
    ) -> None:
        self.n_pairs = len(first)
        weighed = np.ones(self.n_pairs) if weights is None else weights[first] * weights[second]
        self._first, self._second = like(first, reference), like(second, reference)
        self._signs = like(signs, reference)
        self._weights = like(weighed / np.sum(weighed), reference)
        self._incidence = like(_incidence(first, second, n_rows), reference)

    def sum(
        self, hinge: Hinge, latent: Array, metric: Array, slack: Array | None = None
    ) -> PairSum:
        """Sum the hinge over the listed pairs.

        Parameters
        ----------
        hinge : Hinge
            Loss of a margin violation.
        latent : array of shape (n, p)
            The labelled rows in the latent space.
        metric : array of shape (p, p)
            M.
        slack : array of shape (n_pairs,), optional
            Permitted violation, one per pair.

        Returns
        -------
        PairSum
            The sum and its gradients.
        """
        xp = array_namespace(latent)
        offsets = xp.take(latent, self._first, axis=0) - xp.take(latent, self._second, axis=0)
        stretched = offsets @ metric
        violation = self._signs * (xp.sum(stretched * offsets, axis=1) - 1)
        if slack is not None:
            violation = violation - slack
        losses, slopes = hinge(violation)
        forces = self._weights * slopes
        pull = (self._signs * forces)[:, None]
        pushed = 2 * pull * stretched
        # each row sums the gradients of its pairs: gathered from a padded list, since the Array API
        # has no scatter, + where the row is first, - where it is second, 0 for the padding
        signed = xp.concat([pushed, -pushed, xp.zeros_like(pushed[:1, :])], axis=0)
        n, degree = self._incidence.shape
        gathered = xp.take(signed, xp.reshape(self._incidence, (-1,)), axis=0)
        latent_gradient = xp.sum(xp.reshape(gathered, (n, degree, -1)), axis=1)
        return PairSum(
            xp.sum(self._weights * losses),
            latent_gradient,
            offsets.mT @ (pull * offsets),
            None if slack is None else -forces,
        )


def _incidence(first: np.ndarray, second: np.ndarray, n_rows: int) -> np.ndarray:
    """For each row the positions of its pairs in [first, second], padded with 2 n_pairs."""
    ends = np.concatenate([first, second])
    order = np.argsort(ends, kind="stable")
    degrees = np.bincount(ends, minlength=n_rows)
    starts = np.cumsum(degrees) - degrees
    table = np.full((n_rows, max(1, degrees.max(initial=0))), len(ends))
    table[ends[order], np.arange(len(ends)) - starts[ends[order]]] = order
    return table
