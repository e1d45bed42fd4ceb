"""Which library do these arrays belong to, and how do they move between libraries."""

from __future__ import annotations

import math
from typing import Any

import array_api_compat
import array_api_compat.numpy as numpy_namespace
import numpy as np

from ilspace._typing import Array, Namespace

__all__ = ["array_namespace", "is_foreign", "like", "on_host", "spacing", "to_numpy"]


def array_namespace(array: Array) -> Namespace:
    """Module whose functions work on an array.

    Parameters
    ----------
    array : array
        An array of any library that follows the standard.

    Returns
    -------
    module
        NumPy, PyTorch and others in the standard's spelling.
    """
    # asked some fifty times an iteration, so the usual answer comes first
    if type(array) is np.ndarray:
        return numpy_namespace
    return array_api_compat.array_namespace(array)


def is_foreign(array: object) -> bool:
    """Tell whether `array` belongs to an array library other than NumPy.

    Parameters
    ----------
    array : object
        Anything a user may pass for data.

    Returns
    -------
    bool
        True for a torch tensor, a CuPy or an array-api-strict array; False for NumPy arrays,
        lists, DataFrames and sparse matrices, which scikit-learn knows how to check.
    """
    if array_api_compat.is_numpy_array(array) or not array_api_compat.is_array_api_obj(array):
        return False
    # pandas and polars containers expose the protocol's hook in some versions
    return not hasattr(array, "columns")


def to_numpy(array: Array) -> np.ndarray:
    """Bring an array of any library to the host, without a copy where it is there already.

    Parameters
    ----------
    array : array
        The array, on any device.

    Returns
    -------
    ndarray
        The same numbers; `array` itself where it is a NumPy array already. Memory is shared with a
        tensor that is on the host.
    """
    if isinstance(array, np.ndarray):
        return array
    if array_api_compat.is_torch_array(array):
        array = array.detach()
    if array_api_compat.is_torch_array(array) or array_api_compat.is_cupy_array(array):
        array = array_api_compat.to_device(array, "cpu")
    return np.asarray(array)


def on_host(data: Any) -> Any:
    """Bring what is an array of another library to the host, and leave all else as it is.

    Parameters
    ----------
    data : object
        Anything a user may pass for data.

    Returns
    -------
    object
        A NumPy array in place of an array of another library.
    """
    return to_numpy(data) if is_foreign(data) else data


def spacing(value: Array) -> float:
    """Distance of a number to the next larger one, about, in its own floating type.

    Parameters
    ----------
    value : array of shape () or float
        The number.

    Returns
    -------
    float
        What rounding can change.
    """
    if isinstance(value, float):
        return math.ulp(value)
    kind = array_namespace(value).finfo(value.dtype)
    return float(kind.eps) * abs(float(value))


def like(host: np.ndarray, reference: Array) -> Array:
    """Move a host array to the library, device and floating type of another one.

    Parameters
    ----------
    host : ndarray
        Floating arrays take the type of `reference`; integers and booleans keep theirs.
    reference : array
        The array to resemble.

    Returns
    -------
    array
        `host`, over there.
    """
    if isinstance(reference, np.ndarray):
        floating = host.dtype.kind == "f"
        return host.astype(reference.dtype, copy=False) if floating else host
    xp = array_namespace(reference)
    host = np.require(host, requirements=["C", "W"])  # torch warns of what it cannot write to
    moved = xp.asarray(host, device=array_api_compat.device(reference))
    return xp.astype(moved, reference.dtype) if host.dtype.kind == "f" else moved
