"""The loss of one pair: how much its distance violates the margin."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ilspace._typing import Array
from ilspace.backend import array_namespace, dot


@dataclass(frozen=True)
class SmoothHinge:
    r"""Generalised logistic function, the smooth form of the hinge.

    .. math:: \ell_\beta(v) = \tfrac1\beta \log(1 + e^{\beta v}),
       \qquad v = y\,(d - 1) - \epsilon

    For a similar pair (y = 1) the violation v grows with the squared distance d beyond the
    margin 1, for a dissimilar pair (y = -1) it grows as d falls short of it; the slack
    :math:`\epsilon` forgives some of it. This is the paper's
    :math:`\ell_\beta(M, y, z_1 - z_2, 1 + y\epsilon)`, since :math:`y^2 = 1`.

    Attributes
    ----------
    sharpness : float
        :math:`\beta > 0`; the hinge itself in the limit of large values.
    """

    sharpness: float

    def __call__(self, violation: Array) -> tuple[Array, Array]:
        r"""Loss of each pair, and its slope :math:`\sigma(\beta v)`.

        Parameters
        ----------
        violation : array of any shape
            Margin violations v.

        Returns
        -------
        value : array of the same shape
            The losses.
        slope : array of the same shape
            Their derivatives in v, between 0 and 1.
        """
        xp = array_namespace(violation)
        # one tanh gives both, and cannot overflow: σ(s) = (1 + tanh(s/2)) / 2, and
        # log(1 + e^s) = max(s, 0) + log 2 - log(1 + |tanh(s/2)|)
        bent = xp.tanh((self.sharpness / 2) * violation)
        value = xp.log(1 + xp.abs(bent))
        value *= -1 / self.sharpness
        value += math.log(2) / self.sharpness
        value += xp.maximum(violation, xp.zeros_like(violation))
        bent /= 2
        bent += 0.5
        return value, bent

    def weighted_sum(self, excess: Array, pulls: Array) -> tuple[Array, Array]:
        r"""Weighted sum of the losses of many pairs, and its slope in each squared distance.

        The same as :meth:`__call__` at :math:`v = y(d - 1)`, summed, in fewer passes over the
        pairs.

        Parameters
        ----------
        excess : array of any shape
            By how much the squared distances exceed the margin, :math:`d - 1`.
        pulls : array of the same shape
            Half the weight w of each pair, with its sign y: positive for similar pairs, negative
            for dissimilar ones.

        Returns
        -------
        value : array of shape ()
            :math:`\sum w\,\ell_\beta(y(d - 1))`.
        slopes : array of the same shape
            :math:`yw\,\sigma(\beta y(d - 1))`.
        """
        xp = array_namespace(excess)
        # with e = d - 1 and t = tanh(βe/2), in which the kind of a pair is but a sign:
        # ℓ(ye) = (ye + |e|)/2 - log((1 + |t|)/2)/β, and its slope in d is (y + t)/2
        bent = xp.tanh((self.sharpness / 2) * excess)
        halves = xp.abs(pulls)
        rest = xp.abs(bent)
        rest *= 0.5
        rest += 0.5
        value = dot(pulls, excess) + dot(halves, xp.abs(excess))
        value = value - (2 / self.sharpness) * dot(halves, xp.log(rest))
        bent *= halves
        bent += pulls
        return value, bent
