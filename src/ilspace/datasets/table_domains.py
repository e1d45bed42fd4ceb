"""Tables of several domains: hospitals, wines, penguins, cars, students, sentences."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ilspace.datasets._files import locate

if TYPE_CHECKING:
    import pandas as pd

#: Tables by name: label, files with their checksums by domain, and where the originals are.
TABLES = tomllib.loads(
    (resources.files("ilspace.datasets") / "table_domains.toml").read_text(encoding="utf-8")
)


@dataclass(frozen=True, eq=False)
class TableDomain:
    """One domain of a table: columns of any kind, labels, name and provenance.

    Attributes
    ----------
    name : str
        Short name, as tables print it.
    X : DataFrame of shape (n_samples, n_columns)
        Columns as they are: numbers, strings, missing values as NaN.
    y : ndarray of shape (n_samples,)
        Labels, strings in an object array.
    provenance : str
        One sentence: which data these are and who made them.
    """

    name: str
    X: pd.DataFrame
    y: np.ndarray
    provenance: str


def load_table_domains(name: str) -> dict[str, TableDomain]:
    """Load the domains of a table, such as the hospitals of Heart Disease.

    Needs pandas.

    Parameters
    ----------
    name : {"heart", "wine_quality", "penguins", "cars", "students", "sentences"}
        Which table. The label is whether patients are sick, the grade of a wine, the sex of a
        penguin, the driven wheels of a car, whether a student passed, the sentiment of a sentence.

    Returns
    -------
    domains : dict of str to TableDomain
        By name, such as ``"cleveland"``; all have the same columns.

    Raises
    ------
    ValueError
        When there is no such table.
    DataMissing, DataCorrupt
        When a file is missing, or is not the published one; the message says where the originals
        are, and how ``python -m ilspace.datasets.make_tables`` turns them into these files.
    """
    if name not in TABLES:
        raise ValueError(f"name must be one of {', '.join(TABLES)}, got {name!r}")
    table = TABLES[name]
    domains = {}
    for domain, (path, sha256) in table["files"].items():
        X, y = _read(locate(path, sha256), table["label"])
        domains[domain] = TableDomain(domain, X, y, f"{name}, {domain}: {table['about']}")
    return domains


def _read(path: Path, label: str) -> tuple[pd.DataFrame, np.ndarray]:
    import pandas as pd

    # only what is empty is missing: a sentence, or a category, may be the word "none"
    table = pd.read_csv(path, dtype={label: str}, keep_default_na=False, na_values=[""])
    return table.drop(columns=label), table[label].to_numpy(dtype=object)
