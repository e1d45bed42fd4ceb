"""Distances between the distributions of projected domains, with their gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ilspace._typing import Objective


def gaussian_mmd(source: np.ndarray, target: np.ndarray, bandwidth: float) -> Objective:
    r"""Squared maximum mean discrepancy of projected domains under a Gaussian kernel.

    .. math::

       \Bigl\|\tfrac1n\sum_i\phi(W^\top x_i) - \tfrac1m\sum_j\phi(W^\top x'_j)\Bigr\|^2, \qquad
       \langle\phi(z), \phi(z')\rangle = \exp(-\|z - z'\|^2/\sigma)

    All pairs of rows count, a row with itself too; a value costs O(N²p + Ndp) for N rows.

    Parameters
    ----------
    source : ndarray of shape (n, d)
        Rows x.
    target : ndarray of shape (m, d)
        Rows x'.
    bandwidth : float
        The :math:`\sigma`.

    Returns
    -------
    callable
        Value and Euclidean gradient at a projection of shape (d, p).
    """
    n, m = len(source), len(target)
    signs = np.concatenate([np.full(n, 1 / n), np.full(m, -1 / m)])

    def loss(kernel: np.ndarray) -> float:
        value = float(signs @ (kernel @ signs))
        kernel *= signs[:, None]
        kernel *= 2 * signs
        return value

    return _kernel_objective(loss, source, target, bandwidth)


def polynomial_mmd(source: np.ndarray, target: np.ndarray, bandwidth: float) -> Objective:
    r"""Squared maximum mean discrepancy under the kernel :math:`(1 + z^\top z'/\sigma)^2`.

    With the difference :math:`\delta` of the means and :math:`\Delta` of the second moments it is
    :math:`\tfrac2\sigma\|W^\top\delta\|^2 + \tfrac1{\sigma^2}\|W^\top\Delta W\|_F^2`, so that a
    value costs O(d²p) whatever the number of rows.

    Parameters
    ----------
    source : ndarray of shape (n, d)
        Rows.
    target : ndarray of shape (m, d)
        Rows.
    bandwidth : float
        The :math:`\sigma`.

    Returns
    -------
    callable
        Value and Euclidean gradient at a projection of shape (d, p).
    """
    shift = source.mean(axis=0) - target.mean(axis=0)
    moments = source.T @ source / len(source) - target.T @ target / len(target)

    def objective(point: np.ndarray) -> tuple[float, np.ndarray]:
        seen_shift = shift @ point
        moved = moments @ point / bandwidth**2
        seen = point.T @ moved
        value = 2 * seen_shift @ seen_shift / bandwidth + bandwidth**2 * np.sum(seen**2)
        gradient = np.outer(shift, seen_shift) / bandwidth + bandwidth**2 * moved @ seen
        return float(value), 4 * gradient

    return objective


def hellinger(source: np.ndarray, target: np.ndarray, bandwidth: float) -> Objective:
    r"""Squared Hellinger distance of projected domains, between kernel density estimates.

    .. math::

       \int\bigl(\sqrt{s(z)} - \sqrt{t(z)}\bigr)^2dz
         = \operatorname*{E}_s[f] + \operatorname*{E}_t[f], \qquad
       f = \bigl(\sqrt T - \sqrt{1 - T}\bigr)^2, \quad T = \frac{s}{s + t},

    with the expectations taken over the rows, and the densities s, t estimated by the Gaussian
    kernel :math:`\exp(-\|z - z'\|^2/\sigma)`. One bandwidth for both densities makes their
    constants cancel. A value costs O(N²p + Ndp) for N rows.

    Parameters
    ----------
    source : ndarray of shape (n, d)
        Rows.
    target : ndarray of shape (m, d)
        Rows.
    bandwidth : float
        The :math:`\sigma`.

    Returns
    -------
    callable
        Value and Euclidean gradient at a projection of shape (d, p).
    """
    n, m = len(source), len(target)
    shares = np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)])

    def loss(kernel: np.ndarray) -> float:
        # a density underflows where a row is far from all others
        s = np.maximum(kernel[:, :n].mean(axis=1), 1e-200)
        t = np.maximum(kernel[:, n:].mean(axis=1), 1e-200)
        value = float(shares @ (1 - 2 * np.sqrt(s) * np.sqrt(t) / (s + t)))
        slope = shares * ((s - t) / (s + t)) / (s + t)
        # derivative of the value in each kernel entry, of row i and of column j
        pull = np.empty_like(kernel)
        pull[:, :n] = (slope * np.sqrt(t / s) / n)[:, None]
        pull[:, n:] = (-slope * np.sqrt(s / t) / m)[:, None]
        kernel *= pull + pull.T
        return value

    return _kernel_objective(loss, source, target, bandwidth)


def _kernel_objective(
    loss: Callable[[np.ndarray], float], source: np.ndarray, target: np.ndarray, bandwidth: float
) -> Objective:
    """Objective of a projection, from a loss of the Gaussian kernel of the projected rows.

    The loss multiplies the kernel in place by its symmetric derivative.
    """
    rows = np.concatenate([source, target])

    def objective(point: np.ndarray) -> tuple[float, np.ndarray]:
        latent = rows @ point
        norms = np.sum(latent * latent, axis=1)
        kernel = latent @ latent.T
        kernel *= 2
        kernel -= norms
        kernel -= norms[:, None]
        kernel /= bandwidth
        np.exp(np.minimum(kernel, 0.0, out=kernel), out=kernel)
        value = loss(kernel)
        moved = kernel.sum(axis=1)[:, None] * latent - kernel @ latent
        return value, rows.T @ (moved * (-2 / bandwidth))

    return objective


DISCREPANCIES = {"mmd": gaussian_mmd, "mmd-polynomial": polynomial_mmd, "hellinger": hellinger}
"""Distances between the distributions of the domains, by name."""
