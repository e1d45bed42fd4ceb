"""How many threads the linear algebra of NumPy and SciPy may use."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_held = threading.Lock()


@cache
def _controller() -> ThreadpoolController:
    """Find the libraries once: this takes longer than setting them."""
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold NumPy's and SciPy's linear algebra to one thread.

    For matrices of a few hundred rows several threads wait for each other longer than they work,
    above all as NumPy and SciPy bring a pool each. The setting is the process's, so only the first
    to come in makes it, and restores it when it leaves; to others this does nothing.

    Yields
    ------
    None
        While the setting holds.
    """
    if not _held.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _held.release()
