"""Run where scikit-learn and torch are installed, but not all that the package needs."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types


def use_copies_where_missing() -> None:
    """Take array-api-compat from scikit-learn's copy; do without safetensors."""
    if importlib.util.find_spec("array_api_compat") is None:
        copy = "sklearn.externals.array_api_compat"
        for part in ("", ".numpy", ".torch"):
            sys.modules["array_api_compat" + part] = importlib.import_module(copy + part)
    if importlib.util.find_spec("safetensors") is None:
        stand_in: dict[str, types.ModuleType] = {
            name: types.ModuleType(name) for name in ("safetensors", "safetensors.numpy")
        }
        for name, module in stand_in.items():
            for each in ("SafetensorError", "safe_open", "deserialize"):
                setattr(module, each, type(each, (Exception,), {}))
            for each in ("load", "load_file", "save", "save_file"):
                setattr(module, each, None)
            sys.modules[name] = module
