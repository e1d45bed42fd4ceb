"""Office+Caltech10: ten classes of objects in four domains, with several kinds of features."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ilspace.datasets._files import locate
from ilspace.datasets.domain import Domain
from ilspace.datasets.folders import READERS

#: The four domains: letter in tables, and name.
DOMAIN_NAMES = {"A": "amazon", "C": "caltech", "D": "dslr", "W": "webcam"}

#: Checksums: features by domain letter, official splits by source and target letter.
SHA256 = {
    "surf": {
        "A": "df32548b994e18d364c99e1f317e1fae100597259f0423a41b90f4f68187bb1f",
        "C": "4f9334c8ced489d5054de97a5fd51a61f017f3bcd1f38c9a85c6d78cb9d7bda5",
        "D": "44d673c68e1d07b837893aa74dba3b986e4a6cc3fd66f0dd357683bdef059216",
        "W": "a6a9c78b4b7181dfbb58bcfd351d4ebd737f171c31247b8884948aa156d3f700",
    },
    "decaf6": {
        "D": "42443f5e82e98cbe6304cacdba905e24c8430ed977b3d6b7b279f088b76e108f",
        "W": "e42207580fb1fadd3adba2504e1d8cff9620f464fca7536f9d7093f84c1459a3",
    },
    "deep": {
        "A": "629785b78864e23dffb88338697f45f882d2de23fcaf9c622722c7f097b4cdb1",
        "C": "bb568d7da63243505e4190020cc82c4072eef20743f41082febcd539f1eae784",
        "D": "9eeffcf8fe66a48bf5bc2432024b4e55cae7987565336342a02afecd969e1579",
        "W": "eb8b653dd527e019b4e9113e070bc2b376db67795b68a00c28532c1471cba8e3",
    },
    "effnet": {
        "A": "78ad7477b3cadfe8e42d5776785a0cf09ec9fa65c05717651dfc0d2979668f17",
        "C": "e21d6aafab2b4d779f32a68c04d1da24e660867b193cc6857d40d2312fa3135f",
        "D": "e7b36cc6555d26a057a3a05de8db129a49ae18f0129d5f89fc91374f778bd880",
        "W": "c666c8064f9efb8b4b36d1f935f97935b16508b16fd1a25254252e86541fd420",
    },
    "splits": {
        "AC": "f590fa2d221f5cac87c6e8aa0e5d3bd47935adb4a57da690f713e9eea7a798f4",
        "AD": "695dce0bc9916ca11d335d585dbfe06cb2f90f6f2d6902c9299926ca17f59a36",
        "AW": "df7262cba677c072b7b75cee3fce1801a7c473cd5cdd59bd02f6c84f76e24d99",
        "CA": "d1cc45576e5cc002a15c606bdd10aa3f2bf51f932aabfc9f02306eab384bcb88",
        "CD": "e0cb33f24a7b33c0241a6f96e430e7a394b85bee0469aab54f09caec43db435f",
        "CW": "4e1aab9f29b60021c53dc66b0f168a06ad4de0df1945a02ed092f2738b80a719",
        "DA": "045df06cda6b9e80009e0cc97996fc36f638544feb1c06cfdbf648b198ce0212",
        "DC": "6dae6b1be9e919db827b2e464c46af82cadf5bbfd924de955800b7fab31611b2",
        "DW": "c0f4c6adae5fa73bef2c82d1352aeb28c459593c69d864196577d9f41320fa29",
        "WA": "d7baf91c1847c0563be5432fcff3434cf257c1616b4b49d00767ddee77f07dba",
        "WC": "995142da1f0b4d011ced76c5419e429c56bfee86d7542bd1e600741ae3ee9f48",
        "WD": "0c26db13cd74be9766ef7e9c480eb210dd7e3a1281e37556db88939e2e8e7f10",
    },
}


class _Features(NamedTuple):
    path: Callable[[str], str]  # name of the domain -> path below a data root
    dtype: type[np.floating]
    about: str


def _caltech10(name: str, spelling: str) -> str:
    return spelling if name == "caltech" else name


_FEATURES = {
    "surf": _Features(
        lambda name: f"office_caltech_surf/{_caltech10(name, 'Caltech10')}_SURF_L10.mat",
        np.float64,
        "SURF bag-of-words counts, GFK release of Gong et al. (2012)",
    ),
    "decaf6": _Features(
        lambda name: f"office_caltech_decaf6/{name}.mat",
        np.float32,
        "original DeCAF6 activations",
    ),
    "deep": _Features(
        lambda name: f"office_caltech_deep/{_caltech10(name, 'caltech10')}_block10.npz",
        np.float32,
        "block 10 of EfficientNet-Lite0 (ImageNet weights), 112 channels pooled to 6x6",
    ),
    "effnet": _Features(
        lambda name: f"office_caltech_effnet/{_caltech10(name, 'caltech10')}_final.npz",
        np.float32,
        "final pooled features of EfficientNet-Lite0 (ImageNet weights)",
    ),
}


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
    if features not in _FEATURES:
        raise ValueError(f"features must be one of {', '.join(_FEATURES)}, got {features!r}")
    return {letter: _load(features, letter) for letter in SHA256[features]}


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
    sha256 = SHA256["splits"].get(source + target)
    if sha256 is None:
        raise ValueError(
            f"source and target must be two different domains of {', '.join(DOMAIN_NAMES)}, "
            f"got {source!r} and {target!r}"
        )
    return locate(_split_path(source, target), sha256)


def _split_path(source: str, target: str) -> str:
    transfer = f"{DOMAIN_NAMES[source]}-{DOMAIN_NAMES[target]}"
    return f"office_caltech_splits/SameCategory_{transfer}_20RandomTrials_10Categories.mat"


def published_files() -> dict[str, dict[str, str]]:
    """Files of each part of the data set.

    Returns
    -------
    dict of str to dict
        For ``"splits"`` and each kind of features: path below a data root, and checksum.
    """
    files = {
        features: {kind.path(DOMAIN_NAMES[each]): sha for each, sha in SHA256[features].items()}
        for features, kind in _FEATURES.items()
    }
    splits = {_split_path(*letters): sha for letters, sha in SHA256["splits"].items()}
    return files | {"splits": splits}


def _load(features: str, letter: str) -> Domain:
    kind = _FEATURES[features]
    path = locate(kind.path(DOMAIN_NAMES[letter]), SHA256[features][letter])
    X, y = READERS[path.suffix](path, "label")
    provenance = f"Office+Caltech10, {DOMAIN_NAMES[letter]}: {kind.about}"
    return Domain(letter, X.astype(kind.dtype), y.astype(np.int64), provenance)
