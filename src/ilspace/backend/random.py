"""Draws are made on the host, then moved: one seed gives the same numbers on every library."""

from __future__ import annotations

import numpy as np


def as_generator(random_state: object = None) -> np.random.Generator:
    """Make a NumPy generator of whatever scikit-learn accepts as a random state.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        A generator is returned as it is; a ``RandomState`` seeds a new one, and moves on.

    Returns
    -------
    Generator
        The source of randomness.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    return np.random.default_rng(random_state)  # pyright: ignore[reportArgumentType]
