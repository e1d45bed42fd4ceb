"""Domains from your own files: a folder with one file per domain."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ilspace.datasets._files import DataCorrupt, DataMissing
from ilspace.datasets.domain import Domain
from ilspace.datasets.mat_files import read_mat

KEYS = (("FTS", "LABELS"), ("fea", "gnd"), ("fts", "labels"), ("feas", "labels"), ("X", "y"))
"""Names under which published files hold features and labels: VGG-FC6 and FC7 of Herath et al.,
the poses of CMU-PIE, SURF, DeCAF6, and your own."""


def load_domain(path: str | Path, *, label: str | None = None, sha256: str | None = None) -> Domain:
    """Load one domain from a file.

    Parameters
    ----------
    path : str or Path
        A ``.mat`` or ``.npz`` file that holds features and labels under one of the names in
        `KEYS`, or a ``.csv`` or ``.parquet`` table of numbers with a column of labels.
    label : str, optional
        The column of labels, ``"label"`` by default; in a table only.
    sha256 : str, optional
        Expected checksum, hexadecimal.

    Returns
    -------
    Domain
        Named after the file.
    """
    path = Path(path)
    if not path.is_file():
        raise DataMissing(f"There is no file {path}: check the path.")
    reader = READERS.get(path.suffix)
    if reader is None:
        raise DataCorrupt(
            f"{path} must be one of {', '.join(READERS)}, but ends in {path.suffix!r}: convert it."
        )
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if sha256 is not None and found != sha256:
        raise DataCorrupt(f"{path} must have sha256 {sha256}, but has {found}: replace it.")
    try:
        if path.suffix == ".mat" and sha256 is None:  # of unknown origin, and perhaps damaged
            with path.open("rb") as stream:
                X, y = _of_names(read_mat(stream), path)
        else:
            X, y = reader(path, label or "label")
        return Domain(path.stem, np.ascontiguousarray(X), y, f"{path.name}, sha256 {found}")
    except DataCorrupt:
        raise
    except Exception as error:  # whatever the readers of four formats may raise
        raise DataCorrupt(
            f"{path} cannot be read as {path.suffix[1:]} ({type(error).__name__}: {error}): "
            "replace it with an intact file."
        ) from None


def load_folder(folder: str | Path, *, label: str | None = None) -> dict[str, Domain]:
    """Load all domains of a folder, one file each.

    Parameters
    ----------
    folder : str or Path
        The folder; files of other formats are ignored.
    label : str, optional
        The column of labels in tables.

    Returns
    -------
    dict of str to Domain
        By the names of the files, in alphabetical order.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataMissing(f"There is no folder {folder}: check the path.")
    paths = sorted(path for path in folder.iterdir() if path.suffix in READERS)
    if not paths:
        raise DataMissing(f"{folder} must hold files of {', '.join(READERS)}, but has none.")
    return {path.stem: load_domain(path, label=label) for path in paths}


def _of_names(content: Mapping[str, Any], path: Path) -> tuple[np.ndarray, np.ndarray]:
    for features, labels in KEYS:
        if features in content and labels in content:
            X = np.asarray(content[features])
            # integers are counts or pixels
            return X if X.dtype.kind == "f" else X.astype(np.float64), _labels(content[labels])
    names = sorted(name for name in content if not name.startswith("__"))
    pairs = ", ".join(f"{features} and {labels}" for features, labels in KEYS)
    raise DataCorrupt(
        f"{path} must hold features and labels under one of the names {pairs}, but holds "
        f"{', '.join(names) or 'nothing'}: rename them."
    )


def _labels(values: Any) -> np.ndarray:
    labels = np.asarray(values).ravel()
    return labels.astype(np.int64) if labels.dtype.kind in "fu" else labels


def _read_mat(path: Path, label: str) -> tuple[np.ndarray, np.ndarray]:
    import scipy.io

    return _of_names(scipy.io.loadmat(path), path)


def _read_npz(path: Path, label: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path, allow_pickle=False) as content:
        return _of_names(dict(content), path)


def _read_table(path: Path, label: str) -> tuple[np.ndarray, np.ndarray]:
    import pandas as pd

    table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    if label not in table.columns:
        raise DataCorrupt(
            f"{path} must have the column {label!r} of labels, but has "
            f"{', '.join(map(str, table.columns[:10]))}: name the right one."
        )
    features = table.drop(columns=label)
    odd = [name for name in features if not pd.api.types.is_numeric_dtype(features[name])]
    if odd:
        raise DataCorrupt(
            f"{path} must hold numbers besides its labels, but {', '.join(map(str, odd[:5]))} does "
            "not: drop such columns, or encode them."
        )
    return features.to_numpy(dtype=np.float64), table[label].to_numpy()


READERS = {".mat": _read_mat, ".npz": _read_npz, ".csv": _read_table, ".parquet": _read_table}
"""Readers by file suffix."""
