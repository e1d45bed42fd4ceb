"""Nested plain data as one JSON string and named arrays, and back.

JSON holds dictionaries, lists, strings, integers, finite floats, booleans and None as they are.
Other values are objects with the key ``$type``; a dictionary's own key that begins with a dollar
gets a second one. An array is a tensor named by its path, so the JSON need not name it, and two
entries cannot share one.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from ilspace.storage.error import ModelFileError

DTYPES = {"BOOL": np.dtype("?")} | {
    f"{kind.upper()}{8 * size}": np.dtype(f"<{kind}{size}")
    for kind, sizes in (("i", (1, 2, 4, 8)), ("u", (1, 2, 4, 8)), ("f", (2, 4, 8)))
    for size in sizes
}
"""Types of tensors, by their names in the format."""

MOST_DEPTH = 32
"""Maximum nesting depth."""

_MOST_CONTAINERS = 2**19
"""Maximum number of objects and lists: empty ones take 30 times their JSON in memory."""

_MOST_TEXT = 2**26
"""Maximum size in bytes of an array of strings, which a few bytes of JSON could declare."""

_LEAVES = (str, bool, int, float, type(None))


class Structure(NamedTuple):
    """Plain data as JSON and arrays.

    Attributes
    ----------
    text : str
        JSON, without NaN and infinities, in ASCII.
    tensors : dict of str to ndarray
        Contiguous little-endian arrays, by their paths.
    """

    text: str
    tensors: dict[str, np.ndarray]


def take_apart(state: Any) -> Structure:
    """Encode nested plain data as JSON and arrays.

    Parameters
    ----------
    state : dict, list, tuple, str, int, float, bool, None, ndarray or NumPy scalar
        Nested at will, up to 32 levels; the keys of dictionaries are strings. Arrays are of
        numbers, booleans or strings, or of objects which are such or None.

    Returns
    -------
    Structure
        The same.
    """
    tensors: dict[str, np.ndarray] = {}
    return Structure(json.dumps(_encode(state, "", 0, tensors), allow_nan=False), tensors)


def put_together(structure: Structure) -> Any:
    """Decode JSON and arrays to nested plain data.

    Parameters
    ----------
    structure : Structure
        Untrusted input.

    Returns
    -------
    dict, list, tuple, str, int, float, bool, None, ndarray or NumPy scalar
        What :func:`take_apart` was given; the arrays are those of `structure`.
    """
    tensors = dict(structure.tensors)
    state = _decode(parse_json(structure.text), "", 0, tensors)
    if tensors:
        raise ModelFileError(f"nothing in it uses the array {min(tensors)}")
    return state


def parse_json(text: str) -> Any:
    """Parse JSON strictly: no NaN, no duplicate keys, bounded memory.

    Parameters
    ----------
    text : str
        Untrusted input.

    Returns
    -------
    dict, list, str, int, float, bool or None
        Its content.
    """
    if text.count("{") + text.count("[") > _MOST_CONTAINERS:
        raise ModelFileError(f"its header nests more than {_MOST_CONTAINERS} objects")
    try:
        return json.loads(
            text, object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite
        )
    except RecursionError:
        raise ModelFileError("its header is nested too deeply") from None
    except ModelFileError:
        raise
    except ValueError as error:  # json's own, and numbers of more digits than Python reads
        raise ModelFileError("its header is not valid JSON") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ModelFileError("its header has a key twice")
    return content


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ModelFileError(f"its header holds {digits[:20]}, which is not JSON, or too large")
    return number


def _step(path: str, key: object) -> str:
    """Path of an entry, percent-encoded to be unique."""
    return f"{path}/{quote(str(key), safe='', errors='surrogatepass')}"


# -- encoding ------------------------------------------------------------------------------------


def _encode(value: Any, path: str, depth: int, tensors: dict[str, np.ndarray]) -> Any:
    if depth > MOST_DEPTH:
        raise ValueError(f"A state may be nested {MOST_DEPTH} levels deep, but {path} is deeper.")
    if isinstance(value, np.ndarray) and value.dtype.kind in "UO":
        return _encode_items(value, path)
    if isinstance(value, np.ndarray | np.generic) and not isinstance(value, np.str_):
        tensors[path] = _plain_array(np.asarray(value), path)
        return {"$type": "tensor" if isinstance(value, np.ndarray) else "scalar"}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$type": "float", "value": repr(value)}
    if isinstance(value, _LEAVES):
        return value
    if isinstance(value, list | tuple):
        items = [
            _encode(each, _step(path, place), depth + 1, tensors)
            for place, each in enumerate(value)
        ]
        return items if isinstance(value, list) else {"$type": "tuple", "items": items}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {
            "$" * key.startswith("$") + key: _encode(each, _step(path, key), depth + 1, tensors)
            for key, each in value.items()
        }
    raise TypeError(
        "A state may hold dictionaries with string keys, lists, tuples, strings, numbers, "
        f"booleans, None and NumPy arrays, but {path or 'it'} is a {type(value).__name__}."
    )


def _encode_items(array: np.ndarray, path: str) -> dict[str, Any]:
    """Arrays of strings, and of objects that are leaves, stand in the text."""
    content = {"shape": [*array.shape], "items": array.ravel().tolist()}
    if array.dtype.kind == "U":
        if array.nbytes > _MOST_TEXT:
            raise ValueError(
                f"An array of strings may take {_MOST_TEXT} bytes, but {path} takes {array.nbytes}."
            )
        return {"$type": "strings", "width": array.dtype.itemsize // 4} | content
    if not all(type(each) in _LEAVES for each in content["items"]):
        raise TypeError(
            "An array of objects may hold strings, numbers, booleans and None, but "
            f"{path} holds others: convert it."
        )
    return {"$type": "objects"} | content | {"items": _encode(content["items"], path, 0, {})}


def _plain_array(array: np.ndarray, path: str) -> np.ndarray:
    """Contiguous and little-endian, as tensors are stored; 0-d stays 0-d."""
    dtype = array.dtype.newbyteorder("<") if array.dtype.kind in "biuf" else array.dtype
    if dtype not in DTYPES.values():
        raise TypeError(
            "An array must be of booleans, whole numbers or floats of at most 64 bits, or of "
            f"strings, but {path or 'it'} is of type {array.dtype}: convert it."
        )
    return np.asarray(array, dtype=dtype, order="C")


# -- decoding ------------------------------------------------------------------------------------


def _decode(value: Any, path: str, depth: int, tensors: dict[str, np.ndarray]) -> Any:
    if depth > MOST_DEPTH:
        raise ModelFileError(f"it is nested more than {MOST_DEPTH} levels deep")
    if isinstance(value, list):
        return [
            _decode(each, _step(path, place), depth + 1, tensors)
            if isinstance(each, dict | list)  # paths are expensive, and lists may be long
            else each
            for place, each in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    if "$type" in value:
        return _decode_special(value, path, depth, tensors)
    if any(key.startswith("$") and not key.startswith("$$") for key in value):
        raise ModelFileError(f"the entry {path} has an unknown $ key")
    names = {key.removeprefix("$"): each for key, each in value.items()}  # of $$, one
    return {key: _decode(each, _step(path, key), depth + 1, tensors) for key, each in names.items()}


def _decode_special(value: dict[str, Any], path: str, depth: int, tensors) -> Any:
    kind, content = value["$type"], {key: value[key] for key in value if key != "$type"}
    match kind, content:
        case "tensor", {**rest} if not rest and path in tensors:
            return tensors.pop(path)
        case "scalar", {**rest} if not rest and path in tensors and tensors[path].shape == ():
            return tensors.pop(path)[()]
        case "float", {"value": ("nan" | "inf" | "-inf") as text, **rest} if not rest:
            return float(text)
        case "tuple", {"items": list(items), **rest} if not rest:
            return tuple(_decode(items, path, depth, tensors))
        case "strings", {"width": width, "shape": shape, "items": items, **rest} if (
            not rest and _fits(shape, items, str) and _text_fits(width, items)
        ):
            return np.array(items, dtype=f"U{width}").reshape(shape)
        case "objects", {"shape": shape, "items": list(items), **rest} if not rest:
            leaves = _decode(items, path, depth, {})
            if _fits(shape, leaves, _LEAVES):
                array = np.empty(len(leaves), dtype=object)
                array[:] = leaves
                return array.reshape(shape)
    raise ModelFileError(f"the entry {path or 'at its top'} does not match its $type")


def are_counts(numbers: Any) -> bool:
    """Whether a decoded value is a list of nonnegative integers.

    Parameters
    ----------
    numbers : object
        Untrusted input; booleans do not count as integers.

    Returns
    -------
    bool
        Whether it is.
    """
    return isinstance(numbers, list) and all(type(each) is int and each >= 0 for each in numbers)


def is_shape(shape: Any) -> bool:
    """Whether a decoded value is the shape of an array.

    Parameters
    ----------
    shape : object
        Untrusted input.

    Returns
    -------
    bool
        Whether a NumPy array could have it.
    """
    # zeros count as 1: NumPy limits the product of the other lengths even for empty arrays
    return are_counts(shape) and len(shape) <= 32 and math.prod(each or 1 for each in shape) < 2**59


def _fits(shape: Any, items: Any, types) -> bool:
    are_items = isinstance(items, list) and all(isinstance(each, types) for each in items)
    return are_items and is_shape(shape) and math.prod(shape) == len(items)


def _text_fits(width: Any, items: list[str]) -> bool:
    longest = max(map(len, items), default=0)
    return type(width) is int and longest <= width and 4 * width * max(len(items), 1) <= _MOST_TEXT
