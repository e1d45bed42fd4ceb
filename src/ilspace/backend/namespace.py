"""Which library an array belongs to, and conversion between libraries."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any

import array_api_compat
import array_api_compat.numpy as numpy_namespace
import numpy as np

from ilspace._typing import Array, Namespace


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
    # called some fifty times per iteration, so the common case comes first
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


def can_fuse(array: Array) -> bool:
    """Tell whether there are kernels of ours for an array.

    Parameters
    ----------
    array : array
        An array of any library.

    Returns
    -------
    bool
        True for a torch tensor in single precision on an NVIDIA GPU, where Triton is installed.
    """
    if not array_api_compat.is_torch_array(array) or not array.is_cuda:
        return False
    return str(array.dtype) == "torch.float32" and find_spec("triton") is not None


def to_numpy(array: Array) -> np.ndarray:
    """Bring an array of any library to the host, without a copy where it is there already.

    Parameters
    ----------
    array : array
        The array, on any device.

    Returns
    -------
    ndarray
        The same values; `array` itself where it is a NumPy array already. Memory is shared with a
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
    """Approximate distance of a number to the next larger one in its floating type.

    Parameters
    ----------
    value : array of shape () or float
        The number.

    Returns
    -------
    float
        Size of a rounding error.
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
        The array to match.

    Returns
    -------
    array
        `host` in the library and on the device of `reference`.
    """
    if isinstance(reference, np.ndarray):
        floating = host.dtype.kind == "f"
        return host.astype(reference.dtype, copy=False) if floating else host
    xp = array_namespace(reference)
    host = np.require(host, requirements=["C", "W"])  # torch warns of what it cannot write to
    moved = xp.asarray(host, device=array_api_compat.device(reference))
    return xp.astype(moved, reference.dtype) if host.dtype.kind == "f" else moved


def is_dask(X: object) -> bool:
    """Tell whether `X` is a Dask collection, without importing Dask.

    Parameters
    ----------
    X : object
        Anything a user may pass for data.

    Returns
    -------
    bool
        True for a Dask array, dataframe or series.
    """
    # xarray's arrays have the first too, in memory or not, but no blocks to work on
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def holds_dask(*given: object) -> bool:
    """Tell whether any of some rows are a Dask collection, or a list of sources that holds one.

    Parameters
    ----------
    *given : object
        What was given for rows.

    Returns
    -------
    bool
        True where one is.
    """
    return any(is_dask(each) for rows in given for each in _items(rows))


def _items(rows: Any) -> list[Any]:
    """The sources of a list of sources; of anything else the thing itself."""
    # the first item of a list of rows is no collection, so that the rows need not be looked at
    is_list = isinstance(rows, list | tuple) and len(rows) > 0 and hasattr(rows[0], "ndim")
    return list(rows) if is_list else [rows]


def refuse_dask(caller: str, *, remedy: str, **given: object) -> None:
    """Refuse Dask collections where rows must be in memory.

    Parameters
    ----------
    caller : str
        Function that was called, for the message.
    remedy : str
        What to do instead; ``{name}`` stands for the name of the collection.
    **given : object
        What was given for rows, by name.
    """
    for name, rows in ((name, each) for name, them in given.items() for each in _items(them)):
        if is_dask(rows):
            raise ValueError(
                f"{caller} takes rows in memory, but {name} is a Dask "
                f"{type(rows).__name__.lower()}: {remedy.format(name=name)}."
            )


def as_generator(random_state: object = None) -> np.random.Generator:
    """Make a NumPy generator of whatever scikit-learn accepts as a random state.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        A generator is returned as it is; a ``RandomState`` seeds a new one, and advances.

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
