"""A dictionary of latent atoms that all domains share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ilspace._typing import Array
from ilspace.backend import array_namespace, like, to_numpy
from ilspace.domains import Domain, Domains, take_rows
from ilspace.manifolds import Oblique
from ilspace.objective import dictionary_loss, sparse_codes
from ilspace.optimizers import Problem, solve
from ilspace.rules.class_prior import sample_of_classes

PENALTY = 1.0
"""Weight of the size of codes, for rows whose entries have mean square 1: the correlation of such a
row with a random atom has standard deviation 1. Chosen among 0.3, 0.7, 1, 1.4, 2 and 3 by target
accuracy on draws of Office+Caltech10 that no table reports."""

ROWS = 2_000
"""Most rows from which atoms are learned, of all domains together."""

_AT_ONCE = 8_192
"""Rows that are encoded at a time."""

_LEARNING_STEPS, _MAX_ITER, _TOL = 40, 30, 1e-3
"""Steps of the codes while atoms are learned; most iterations; least relative decrease in each."""


@dataclass(frozen=True)
class Dictionary:
    r"""Atoms of the latent space, and rows as sparse combinations of them.

    A latent row z of p dimensions is scaled to :math:`x = \sqrt p\,z/\|z\|`; with the codes c of x
    it becomes :math:`Dc\,\|z\|/\sqrt p`.

    Attributes
    ----------
    atoms : array of shape (p, n_atoms)
        Columns of length 1.
    """

    atoms: Array

    def codes(self, latent: Array) -> Array:
        """Sparse codes of latent rows.

        Parameters
        ----------
        latent : array of shape (n, p)
            Latent rows.

        Returns
        -------
        array of shape (n, n_atoms)
            Codes of the scaled rows.
        """
        return self._by_blocks(latent, lambda rows: self._codes(rows)[0])

    def transform(self, latent: Array) -> Array:
        """Latent rows as sparse combinations of atoms.

        Parameters
        ----------
        latent : array of shape (n, p)
            Latent rows.

        Returns
        -------
        array of shape (n, p)
            In the same space.
        """

        def combined(rows: Array) -> Array:
            codes, lengths = self._codes(rows)
            return (codes @ self._atoms(rows).mT) * lengths

        return self._by_blocks(latent, combined)

    def _codes(self, latent: Array) -> tuple[Array, Array]:
        """Codes, and the factors that give rows back their lengths."""
        rows, lengths = scaled_rows(latent)
        return sparse_codes(rows, self._atoms(rows), PENALTY), lengths

    def _atoms(self, rows: Array) -> Array:
        return array_namespace(rows).astype(self.atoms, rows.dtype, copy=False)

    def _by_blocks(self, latent: Array, function: Any) -> Array:
        n, xp = latent.shape[0], array_namespace(latent)
        tops = range(0, max(n, 1), _AT_ONCE)
        blocks = [function(latent[top : min(top + _AT_ONCE, n), :]) for top in tops]
        return xp.concat(blocks, axis=0)


def scaled_rows(latent: Array) -> tuple[Array, Array]:
    """Rows whose entries have mean square 1.

    Parameters
    ----------
    latent : array of shape (n, p)
        Latent rows.

    Returns
    -------
    rows : array of shape (n, p)
        The rows over their lengths; rows of zeros stay so.
    lengths : array of shape (n, 1)
        Root mean squares of the entries.
    """
    xp = array_namespace(latent)
    lengths = xp.sqrt(xp.mean(latent * latent, axis=1, keepdims=True))
    safe = xp.where(lengths > 0, lengths, xp.ones_like(lengths))
    return latent / safe, lengths


def learn_dictionary(
    ils: Any, domains: Domains, n_atoms: int, rng: np.random.Generator
) -> Dictionary:
    """Learn atoms from latent rows of all domains, labelled or not.

    The atoms are a point of an oblique manifold, one sphere per atom, and are found by the same
    conjugate gradient as the projections, from rows drawn at random.

    Parameters
    ----------
    ils : ILSMap
        The latent space.
    domains : Domains
        Checked input.
    n_atoms : int
        Number of atoms.
    rng : Generator
        Draws the rows.

    Returns
    -------
    Dictionary
        In the library and the floating type of the maps.
    """
    n_most = ROWS // len(domains.all)
    latent = [
        to_numpy(ils.transform(_some_rows(domain, n_most, rng), position))
        for position, domain in enumerate(domains.all)
    ]
    rows, lengths = scaled_rows(np.concatenate(latent).astype(np.float64))
    usable = np.flatnonzero(lengths[:, 0])
    if n_atoms > len(usable):
        raise ValueError(
            f"n_atoms must be at most {len(usable)}, the number of rows that atoms are learned "
            f"from, but is {n_atoms}: choose fewer."
        )
    manifold = Oblique(rows.shape[1], n_atoms)
    start = manifold.project(rows[rng.choice(usable, n_atoms, replace=False)].T)

    def loss(point: Array) -> tuple[Array, Array]:
        return dictionary_loss(rows, point, PENALTY, n_steps=_LEARNING_STEPS)

    solution = solve(Problem(manifold, loss), start, tol=_TOL, patience=3, max_iter=_MAX_ITER)
    return Dictionary(like(solution.point, ils.maps[0]))


def _some_rows(domain: Any, n_most: int, rng: np.random.Generator) -> Any:
    if not isinstance(domain, Domain):
        return domain.sample(n_most, rng)[0]
    return take_rows(domain.X, sample_of_classes(domain.codes, n_most, rng))
