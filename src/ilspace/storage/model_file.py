"""Models in one safetensors file: arrays as tensors, everything else as JSON in its metadata.

Reading runs no code of the file and trusts nothing in it. The library writes the file; the reader
is below. The checks of a header need its JSON anyway, a second parser may understand a crafted
file differently than they did, and what is left to do after them is to copy bytes. The format is
simple: eight bytes with the length of a JSON header, the header, the bytes of the tensors. What the
checks let pass takes no more memory than the file is long, but for the JSON, which is limited.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import save

from ilspace._version import __version__
from ilspace.storage import structure
from ilspace.storage.error import ModelFileError, naming_file
from ilspace.storage.whole_files import write_whole

FORMAT = "ilspace-model"
FORMAT_VERSION = 2

_LONGEST_HEADER = 2**25
"""32 MiB: its JSON then stays well below 1 GB in memory, whatever is in it."""

_KEYS = {"format", "format_version", "ilspace_version", "kind", "training", "state", "sha256"}

_NAMES = {dtype: name for name, dtype in structure.DTYPES.items()}


class _Tensor(NamedTuple):
    """Where a tensor lies behind the header, and what it is."""

    start: int
    stop: int
    name: str
    dtype: str
    shape: list[int]


def write_model(
    path: Path, state: dict[str, Any], *, kind: str, training: dict[str, Any] | None = None
) -> None:
    """Write a model to a file, which then is whole or, after an error, as it was.

    Equal models have an equal `sha256` in their metadata; the bytes of the files may differ in
    the order of the metadata.

    Parameters
    ----------
    path : Path
        Where; a file that is there is replaced.
    state : dict
        The model: dictionaries with string keys, lists, tuples, strings, numbers, booleans, None
        and NumPy arrays, nested at will. Arrays are stored in C order and little-endian.
    kind : str
        What kind of model it is.
    training : dict, optional
        What the model was trained on, for people and tools that look into the metadata. Plain
        data without arrays; reading ignores it.
    """
    parts = structure.take_apart(state)
    metadata = {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
        "ilspace_version": __version__,
        "kind": kind,
        "training": json.dumps(training or {}, allow_nan=False),
        "state": parts.text,
    }
    metadata["sha256"] = checksum(metadata, parts.tensors)
    content = save(parts.tensors, metadata)
    if int.from_bytes(content[:8], "little") > _LONGEST_HEADER:
        raise ValueError(
            f"The names and texts of a model may take {_LONGEST_HEADER} bytes as JSON, but take "
            f"{len(parts.text)}: name the columns, or the classes, more shortly."
        )
    write_whole(path, content)


def read_model(path: Path) -> tuple[str, dict[str, Any]]:
    """Read a model from a file.

    Parameters
    ----------
    path : Path
        A file from anywhere: nothing in it is trusted, and none of it is executed.

    Returns
    -------
    kind : str
        What kind of model it is.
    state : dict
        The model, with fresh arrays.

    Raises
    ------
    ModelFileError
        If the file is not one that :func:`write_model` wrote.
    """
    with naming_file(path):
        if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait for ever
            raise ModelFileError("it is not a file", remedy="give the path of the file itself")
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            metadata, listed, start = _read_header(stream, size)
            _check_metadata(metadata)
            _check_layout(listed, size - start)
            tensors = {each.name: _read_tensor(stream, start, each) for each in listed}
        if checksum(metadata, tensors) != metadata["sha256"]:
            raise ModelFileError("its content does not have the checksum that it was saved with")
        state = structure.put_together(structure.Structure(metadata["state"], tensors))
        if not isinstance(state, dict):
            raise ModelFileError("its state is not a dictionary")
        return metadata["kind"], state


def checksum(metadata: dict[str, str], tensors: dict[str, np.ndarray]) -> str:
    """Digest of all that a model file says; against accidents, as anyone can compute it.

    Parameters
    ----------
    metadata : dict of str to str
        The metadata; an entry `sha256` is left out.
    tensors : dict of str to ndarray
        The tensors, contiguous and little-endian.

    Returns
    -------
    str
        SHA-256 of metadata, names, types, shapes and bytes, in hexadecimal.
    """
    names = sorted(tensors)
    layout = [[name, _NAMES[tensors[name].dtype], tensors[name].shape] for name in names]
    said = {key: text for key, text in metadata.items() if key != "sha256"}
    digest = hashlib.sha256(json.dumps([said, layout], sort_keys=True).encode())
    for name in names:
        digest.update(_bytes_of(tensors[name]))
    return digest.hexdigest()


def _bytes_of(array: np.ndarray) -> memoryview:
    """The memory of a contiguous array, shared."""
    return array.reshape(-1).view(np.uint8).data


# -- reading -------------------------------------------------------------------------------------


def _read_header(stream: BufferedReader, size: int) -> tuple[dict[str, str], list[_Tensor], int]:
    """Metadata, tensors in the order of their bytes, and where these begin."""
    length = int.from_bytes(stream.read(8), "little")
    if size < 8 or length > min(_LONGEST_HEADER, size - 8):
        raise ModelFileError("it is cut off, or no safetensors file at all")
    try:
        text = stream.read(length).decode()
    except UnicodeDecodeError:
        raise ModelFileError("its header is not text") from None
    header = structure.parse_json(text)
    if not isinstance(header, dict):
        raise ModelFileError("its header is not a JSON object")
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or {type(each) for each in metadata.values()} != {str}:
        raise ModelFileError("it has no metadata, so something else wrote it")
    return metadata, sorted(_tensor(name, entry) for name, entry in header.items()), 8 + length


def _tensor(name: str, entry: object) -> _Tensor:
    match entry:
        case {"dtype": str(dtype), "shape": shape, "data_offsets": [start, stop], **rest} if (
            not rest
            and dtype in structure.DTYPES
            and structure.is_shape(shape)
            and structure.are_counts([start, stop])
            and stop - start == math.prod(shape) * structure.DTYPES[dtype].itemsize
        ):
            return _Tensor(start, stop, name, dtype, shape)
    raise ModelFileError(f"the array {name} has an impossible description")


def _check_metadata(metadata: dict[str, str]) -> None:
    """Refuse what is no model of this version; the version first, as others may differ."""
    if metadata.get("format") != FORMAT:
        raise ModelFileError(f"its metadata do not say format={FORMAT}, so something else wrote it")
    version = metadata.get("format_version", "")
    if not (version.isascii() and version.isdigit() and len(version) < 9):
        raise ModelFileError(f"its format_version is {version[:20]!r}")
    if int(version) not in (0, FORMAT_VERSION):
        again = "fit the model again and save it with this version"
        raise ModelFileError(
            f"it was written by ilspace {metadata.get('ilspace_version', '(unknown)')[:40]} in "
            f"format {version}, and this version reads format {FORMAT_VERSION}",
            remedy="upgrade ilspace" if int(version) > FORMAT_VERSION else again,
        )
    if int(version) == 0 or metadata.keys() != _KEYS:
        raise ModelFileError("its metadata are incomplete, or have entries of no meaning")


def _check_layout(listed: list[_Tensor], n_bytes: int) -> None:
    """Every byte behind the header belongs to one tensor."""
    end = 0
    for each in listed:
        if each.start != end:
            raise ModelFileError(f"the array {each.name} does not begin where the one before ends")
        end = each.stop
    if end != n_bytes:
        raise ModelFileError(f"its arrays should take {end} bytes and it has {n_bytes} for them")


def _read_tensor(stream: BufferedReader, start: int, tensor: _Tensor) -> np.ndarray:
    array = np.empty(tensor.shape, dtype=structure.DTYPES[tensor.dtype])
    stream.seek(start + tensor.start)
    view = _bytes_of(array)
    if stream.readinto(view) != len(view):
        raise ModelFileError("it became shorter while it was read")
    if tensor.dtype == "BOOL" and array.size and array.view(np.uint8).max() > 1:
        raise ModelFileError(f"the array {tensor.name} holds bytes that are neither true nor false")
    return array
