"""How far numbers are from those that were kept."""

import os

import numpy as np

TOLERANCE = 1e-6
"""Largest deviation, relative to the largest entry of an array, on other machines and with other
versions. ``ILSPACE_GOLDEN_TOLERANCE=1e-10`` asks for more, which holds on one machine."""


def tolerance() -> float:
    return float(os.environ.get("ILSPACE_GOLDEN_TOLERANCE", TOLERANCE))


def deviation(kept, found) -> float:
    """Largest deviation relative to the largest entry; infinite where anything else differs."""
    if isinstance(kept, str | bool | type(None)) or _holds_strings(kept):
        return 0.0 if kept == found else np.inf
    kept, found = np.asarray(kept, dtype=float), np.asarray(found, dtype=float)
    if kept.shape != found.shape or (np.isfinite(kept) != np.isfinite(found)).any():
        return np.inf
    finite = np.isfinite(kept)
    if not (kept[~finite] == found[~finite]).all() or not finite.any():
        return 0.0 if (kept[~finite] == found[~finite]).all() else np.inf
    size = np.max(np.abs(kept[finite])) or 1.0
    return float(np.max(np.abs(kept[finite] - found[finite])) / size)


def _holds_strings(value) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], str)


def largest_deviation(kept: dict, found: dict) -> float:
    if kept.keys() != found.keys():
        return np.inf
    return max(deviation(kept[name], found[name]) for name in kept)
