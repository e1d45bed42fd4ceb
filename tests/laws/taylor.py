"""Orders instead of tolerances: a wrong factor of two in a gradient changes an exponent."""

import numpy as np


def taylor_order(f, slope, steps=None):
    """Exponent of |f(t) - f(0) - t f'(0)| as t shrinks: 2 if the slope is right, 1 if it is not.

    `f` may return several numbers, along as many directions, and `slope` as many slopes: then one
    direction without curvature does not spoil the exponent.
    """
    steps = np.logspace(-2, -4, 7) if steps is None else steps
    start = f(0.0)
    gaps = [np.sum(np.abs(f(t) - start - t * slope)) for t in steps]
    return np.polyfit(np.log(steps), np.log(gaps), 1)[0]


def line(point, direction, t):
    """The point ``point + t direction``, block by block."""
    return tuple(x + t * u for x, u in zip(point, direction, strict=True))
