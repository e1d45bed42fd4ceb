"""Run where scikit-learn and torch are installed, but not all that the package needs."""

from __future__ import annotations

import importlib
import importlib.util
import sys


def use_copies_where_missing() -> None:
    """Take array-api-compat from scikit-learn's copy; skops is imported where models are saved."""
    if importlib.util.find_spec("array_api_compat") is None:
        copy = "sklearn.externals.array_api_compat"
        for part in ("", ".numpy", ".torch"):
            sys.modules["array_api_compat" + part] = importlib.import_module(copy + part)
