"""Warnings that point at the line of the user."""

from __future__ import annotations

import sys
import warnings

_INSIDE = ("ilspace", "sklearn")
"""Packages whose lines tell a user nothing: ours, and the one that wraps our methods."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of something that the caller of this package should know.

    Parameters
    ----------
    message : str
        What it is, and what to do about it.
    category : type of Warning, default=UserWarning
        Its class.
    """
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
