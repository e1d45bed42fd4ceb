"""Sparse codes of rows in a dictionary of atoms, and how well they represent the rows."""

from __future__ import annotations

import math

from ilspace._typing import Array
from ilspace.backend import array_namespace


def sparse_codes(rows: Array, atoms: Array, penalty: float, *, n_steps: int = 100) -> Array:
    r"""Codes that represent each row by few atoms.

    .. math:: \min_c\ \tfrac12\|x - Dc\|^2 + \alpha\|c\|_1

    by accelerated proximal gradient steps from zero :cite:p:`beck2009`. The codes of a row do not
    depend on other rows.

    Parameters
    ----------
    rows : array of shape (n, p)
        The rows x.
    atoms : array of shape (p, k)
        The atoms, columns of D.
    penalty : float
        :math:`\alpha \ge 0`.
    n_steps : int, default=100
        Number of steps.

    Returns
    -------
    array of shape (n, k)
        The codes c, most of them exactly 0.
    """
    xp = array_namespace(rows)
    gram, products = atoms.mT @ atoms, rows @ atoms
    step = 1 / float(xp.max(xp.linalg.eigvalsh(gram)))
    products, gram, threshold = step * products, step * gram, step * penalty
    p, k = atoms.shape
    many = k > 2 * p  # then the product with the atoms, twice, is the cheaper one
    codes = ahead = xp.zeros_like(products)
    pace = 1.0
    for _ in range(n_steps):
        moved = ahead + products
        moved -= (ahead @ atoms.mT) @ (step * atoms) if many else ahead @ gram
        moved -= xp.clip(moved, -threshold, threshold)
        faster = (1 + math.sqrt(1 + 4 * pace**2)) / 2
        ahead = moved - codes
        ahead *= (pace - 1) / faster
        ahead += moved
        codes, pace = moved, faster
    return codes


def dictionary_loss(
    rows: Array, atoms: Array, penalty: float, *, n_steps: int = 100
) -> tuple[Array, Array]:
    r"""Mean loss of the codes of rows, and its gradient in the atoms.

    .. math:: \frac1n\sum_i\min_c\ \tfrac12\|x_i - Dc\|^2 + \alpha\|c\|_1

    At the minimum the codes do not change to first order, so that the gradient is that for fixed
    codes.

    Parameters
    ----------
    rows : array of shape (n, p)
        The rows.
    atoms : array of shape (p, k)
        The atoms, columns of D.
    penalty : float
        :math:`\alpha \ge 0`.
    n_steps : int, default=100
        Steps of :func:`sparse_codes`.

    Returns
    -------
    value : array of shape ()
        The loss.
    gradient : array of shape (p, k)
        :math:`-\tfrac1n\sum_i(x_i - Dc_i)c_i^\top`.
    """
    xp = array_namespace(rows)
    codes = sparse_codes(rows, atoms, penalty, n_steps=n_steps)
    rest = rows - codes @ atoms.mT
    n = rows.shape[0]
    value = (xp.sum(rest * rest) / 2 + penalty * xp.sum(xp.abs(codes))) / n
    return value, (rest.mT @ codes) * (-1 / n)
