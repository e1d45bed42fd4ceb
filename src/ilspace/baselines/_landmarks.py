"""The objective of landmark selection, and its exact minimum in the map and in the weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg, sparse

from ilspace.baselines._capped_weights import minimise_capped


@dataclass(frozen=True)
class Landmarks:
    r"""Objective of CDLS for given rows and pseudo-labels.

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
        Their classes; pseudo-labels may be -1, for rows that enter the first term only.
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
    def _members(self) -> tuple[sparse.csr_array, ...]:
        """Classes of the source, labelled and unlabelled rows."""
        codes = (self.source_codes, self.labelled_codes, self.pseudo_codes)
        return tuple(_indicators(each, self.n_classes) for each in codes)

    @cached_property
    def _counts(self) -> tuple[np.ndarray, ...]:
        """Numbers of source, labelled and unlabelled rows of each class."""
        return tuple(each.sum(axis=0) for each in self._members)

    @cached_property
    def _labelled_sums(self) -> np.ndarray:
        return self._members[1].T @ self.labelled

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
        of_sent, of_labelled, of_shown = (each.T for each in self._members)
        sums, others = of_sent @ sent, of_shown @ shown
        target_sums = self._labelled_sums + others
        differences = of_source[:, None] * sums - of_target[:, None] * target_sums
        squares = (
            (n_labelled + n_unlabelled) * (of_sent @ _squares(sent))
            + (n_source + n_unlabelled) * (of_labelled @ _squares(self.labelled))
            + (n_source + n_labelled) * (of_shown @ _squares(shown))
        )
        products = np.sum(sums * target_sums, axis=1) + np.sum(self._labelled_sums * others, axis=1)
        penalty = self.regularization * np.sum(transform**2)
        return float(np.sum(differences**2) + of_pairs @ (squares - 2 * products) + penalty)

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
        members, _, others = self._members
        sums = members.T @ (source_weights[:, None] * self.source)
        shown = others.T @ (target_weights[:, None] * self.unlabelled)
        target_sums = self._labelled_sums + shown
        means = of_source[:, None] * sums
        curvatures = source_weights**2 * (members @ (of_pairs * (n_labelled + n_unlabelled)))
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
            Maximum number of iterations.

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
        within = sparse.block_diag(self._members[::2], format="csr")
        # signed factor with which a row enters the difference of the class means
        signed = np.concatenate([of_source, -of_target])
        per_pair = np.concatenate([of_pairs, of_pairs])
        n_pairs = np.concatenate([n_labelled + n_unlabelled, n_labelled + n_source])
        lengths, own = _squares(rows), within @ (per_pair * n_pairs)
        swap = np.roll(np.arange(len(signed)), len(of_pairs))

        def spread(sums: np.ndarray) -> np.ndarray:
            return np.einsum("ij,ij->i", within @ sums, rows)

        def product(vector: np.ndarray) -> np.ndarray:
            sums = within.T @ (vector[:, None] * rows)
            differences = signed[:, None] * sums
            differences = differences + differences[swap]
            pulls = signed[:, None] * differences - per_pair[:, None] * sums[swap]
            return spread(pulls) + own * lengths * vector

        fixed = np.concatenate([of_target, of_target]) * signed + per_pair
        linear = spread(-fixed[:, None] * np.vstack([self._labelled_sums] * 2))
        return product, linear, lengths * (own + within @ signed**2)


def _indicators(codes: np.ndarray, n_classes: int) -> sparse.csr_array:
    """Which class each row belongs to, if any; a last column that all rows belong to."""
    rows, n = np.flatnonzero(codes >= 0), len(codes)
    shape = (n, n_classes + 1)
    each = np.concatenate([rows, np.arange(n)])
    columns = np.concatenate([codes[rows], np.full(n, n_classes)])
    return sparse.csr_array((np.ones(len(each)), (each, columns)), shape=shape)


def _squares(rows: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", rows, rows)
