"""Entries of a state that was read, checked one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ilspace.storage.error import ModelFileError


def check_keys(state: Any, keys: Sequence[str]) -> None:
    """Refuse what is not a dictionary with exactly these keys.

    Parameters
    ----------
    state : object
        What was read.
    keys : sequence of str
        The keys.
    """
    if not isinstance(state, dict) or state.keys() != set(keys):
        met = sorted(state)[:20] if isinstance(state, dict) else type(state).__name__
        raise ModelFileError(f"a part of it should have the entries {sorted(keys)} and is {met}")


def entry(state: dict[str, Any], name: str, types: type | tuple[type, ...]) -> Any:
    """An entry of one of some types.

    Parameters
    ----------
    state : dict
        What was read.
    name : str
        Key of the entry.
    types : type or tuple of type
        What it may be. A boolean is no number here.

    Returns
    -------
    object
        The entry.
    """
    wanted = types if isinstance(types, tuple) else (types,)
    value = state.get(name)
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        names = " or ".join(each.__name__ for each in wanted)
        met = "missing" if name not in state else f"of type {type(value).__name__}"
        raise ModelFileError(f"its {name} should be of type {names} and is {met}")
    return value


def array_entry(
    state: dict[str, Any], name: str, *, shape: tuple[int | None, ...], kinds: str = "f"
) -> np.ndarray:
    """An entry that is an array of finite numbers.

    Parameters
    ----------
    state : dict
        What was read.
    name : str
        Key of the entry.
    shape : tuple of int or None
        Its shape; None where any length will do.
    kinds : str, default="f"
        Letters of the kinds of types it may have, as in ``numpy.dtype.kind``.

    Returns
    -------
    ndarray
        The entry.
    """
    array = entry(state, name, np.ndarray)
    fits = len(shape) == array.ndim and all(
        wanted in (None, met) for wanted, met in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype.kind not in kinds:
        raise ModelFileError(
            f"its {name} should have shape {shape} and has shape {array.shape} and type "
            f"{array.dtype}"
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ModelFileError(f"its {name} holds NaN or infinity")
    return array
