"""MAT files, read where a damaged one can do no harm.

SciPy's reader is compiled code that trusts the file: a damaged one can end the process. So it runs
in a process of its own, this file as a script, which hands the arrays over as an NPZ file.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from typing import IO, Any, BinaryIO

import numpy as np

_SECONDS = 60
"""Time for a file of some megabytes; larger ones have more."""

_BYTES_PER_SECOND = 2**20


def read_mat(stream: BinaryIO) -> dict[str, np.ndarray]:
    """Read the arrays of a MAT file in another process.

    Parameters
    ----------
    stream : file
        A file of the operating system, which can be read by seeking.

    Returns
    -------
    dict of str to ndarray
        Of numbers, booleans and strings; a cell of strings is an array of them, and what is
        neither is an array of its description.

    Raises
    ------
    ValueError
        If it cannot be read, in one sentence without its beginning and its end.
    """
    size = stream.seek(0, 2)
    stream.seek(0)
    with tempfile.TemporaryFile() as arrays:
        try:
            ended = subprocess.run(
                [sys.executable, "-P", __file__],
                stdin=stream,
                stdout=arrays,
                stderr=subprocess.PIPE,
                timeout=_SECONDS + size / _BYTES_PER_SECOND,
            )
        except subprocess.TimeoutExpired:
            raise ValueError("its reader did not come to an end") from None
        if ended.returncode < 0:
            raise ValueError("its reader crashed, so that it must be damaged")
        if ended.returncode:
            lines = ended.stderr.decode(errors="replace").strip().splitlines()
            raise ValueError(lines[-1] if lines else "its reader failed")
        arrays.seek(0)
        with np.load(arrays, allow_pickle=False) as content:
            return {name.removeprefix(_PREFIX): content[name] for name in content.files}


_PREFIX = "array "
"""Before a name, as NumPy writes no array that is called "file"."""


def _plain(value: Any) -> np.ndarray:
    """An array without objects, of strings if it holds them."""
    array = np.asarray(value)
    if array.dtype.kind in "fiubU":
        return array
    if array.dtype.kind == "S":
        return array.astype(str)
    if array.dtype.kind == "O" and array.ndim and array.size:
        entries = [np.asarray(each) for each in array.ravel()]
        if all(each.size == 1 and each.dtype.kind in "fiub" for each in entries):
            return np.array([each.item() for each in entries]).reshape(array.shape)
        if all(each.size == 1 and each.dtype.kind in "fiubU" for each in entries):
            return np.array([str(each.item()) for each in entries]).reshape(array.shape)
    return np.array(f"{type(value).__name__} of {array.dtype}"[:80])


def _hand_over(source: Any, target: IO[bytes]) -> None:
    import warnings

    import scipy.io

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        content = scipy.io.loadmat(source)
    arrays = {f"{_PREFIX}{name}": _plain(each) for name, each in content.items()}
    np.savez(target, allow_pickle=False, **arrays)


if __name__ == "__main__":
    import io

    try:
        _hand_over(sys.stdin.buffer, sys.stdout.buffer)
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        io.TextIOWrapper(sys.stderr.buffer, errors="replace").write(said)
        sys.exit(1)
