"""Office+Caltech10: ten classes of objects in four domains, with several kinds of features."""

import tomllib
from importlib import resources
from pathlib import Path

import numpy as np

from ilspace.datasets._files import locate
from ilspace.datasets.domain import Domain
from ilspace.datasets.folders import READERS

#: The four domains: letter in tables, and name.
DOMAIN_NAMES = {"A": "amazon", "C": "caltech", "D": "dslr", "W": "webcam"}

#: Features, and the official splits: their files and checksums, by letters of domains.
PARTS = tomllib.loads(
    (resources.files("ilspace.datasets") / "office_caltech.toml").read_text(encoding="utf-8")
)


def load_office_caltech(features: str = "surf") -> dict[str, Domain]:
    """Load Office+Caltech10, all four domains of one kind of features.

    Rows are in the same order whatever the features, so that the official splits
    (:func:`ilspace.benchmark.protocols.hoffman_splits`) apply to all of them, and so that a
    source and a target may have different features.

    Parameters
    ----------
    features : {"surf", "decaf6", "deep", "effnet"}, default="surf"
        ``"surf"``: 800 bag-of-words counts, float64. The others are deep and float32:
        ``"decaf6"``, 4096 columns, domains D and W only; ``"deep"``, 4032 mid-level columns
        of EfficientNet-Lite0; ``"effnet"``, its 1280 final columns.

    Returns
    -------
    domains : dict of str to Domain
        Keys ``"A"`` (amazon, 958 rows), ``"C"`` (caltech, 1123), ``"D"`` (dslr, 157) and
        ``"W"`` (webcam, 295); labels are the integers 1 to 10; features are raw, see
        :func:`ilspace.datasets.preprocess`.

    Raises
    ------
    ValueError
        When `features` is not one of the known kinds.
    DataMissing, DataCorrupt
        When a file is missing, or is not the published one.
    """
    known = [name for name, part in PARTS.items() if "dtype" in part]
    if features not in known:
        raise ValueError(f"features must be one of {', '.join(known)}, got {features!r}")
    part, domains = PARTS[features], {}
    for letter, (path, sha256) in part["files"].items():
        file = locate(path, sha256)
        X, y = READERS[file.suffix](file, "label")
        provenance = f"Office+Caltech10, {DOMAIN_NAMES[letter]}: {part['about']}"
        domains[letter] = Domain(letter, X.astype(part["dtype"]), y.astype(np.int64), provenance)
    return domains


def locate_split(source: str, target: str) -> Path:
    """Find the file of the official semi-supervised splits of one transfer.

    Parameters
    ----------
    source, target : {"A", "C", "D", "W"}
        Two different domains.

    Returns
    -------
    path : Path
        The .mat file of Hoffman et al. (2013), whose checksum has been verified.

    Raises
    ------
    ValueError
        When there is no such transfer.
    DataMissing, DataCorrupt
        When the file is missing, or is not the published one.
    """
    files = PARTS["splits"]["files"]
    if source + target not in files:
        raise ValueError(
            f"source and target must be two different domains of {', '.join(DOMAIN_NAMES)}, "
            f"got {source!r} and {target!r}"
        )
    return locate(*files[source + target])
