"""Several labelled tables as the source of one fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_consistent_length

from ilspace.domains import Domain, Domains
from ilspace.domains.several import RESERVED, check_names, is_list_of_sources, listed_sources
from ilspace.ils import source_evidence, weights_of_evidence
from ilspace.tables.columns import listed
from ilspace.tables.errors import TableError
from ilspace.tables.values import as_table

if TYPE_CHECKING:
    import pandas as pd

ONE_SOURCE = ("source",)
"""Names of the sources where there is one."""


def pooled_tables(
    tables: Sequence[pd.DataFrame], names: Sequence[str]
) -> tuple[pd.DataFrame, np.ndarray, list[str]]:
    """Rows of several tables one after another, with the columns that all of them have.

    Parameters
    ----------
    tables : sequence of DataFrame
        The tables.
    names : sequence of str
        What to call them.

    Returns
    -------
    table : DataFrame
        All rows.
    owners : ndarray of int, shape (n,)
        Number of the table of each row, from 0.
    notes : list of str
        A sentence about columns that are left out.
    """
    import pandas as pd

    tables = [as_table(each) for each in tables]
    shared = [
        name for name in tables[0].columns if all(name in each.columns for each in tables[1:])
    ]
    if not shared:
        heads = "; ".join(
            f"{name}: {listed([str(each) for each in table.columns])}"
            for name, table in zip(names, tables, strict=True)
        )
        raise TableError(
            f"The sources must have columns in common, but have none ({heads}): rename columns, or "
            "adapt from one source at a time."
        )
    every = dict.fromkeys(str(name) for table in tables for name in table.columns)
    others = [name for name in every if name not in set(map(str, shared))]
    notes = [f"Not in all sources, and left out: {listed(others)}."] if others else []
    owners = np.repeat(np.arange(len(tables)), [len(each) for each in tables])
    return pd.concat([each[shared] for each in tables], ignore_index=True), owners, notes


def several_sources(
    X: Any, y: Any, sample_domain: Any, source_names: Any
) -> tuple[Any, Any, np.ndarray | None, tuple[str, ...], list[str]]:
    """What a fit was given as its source: one table, or several.

    Parameters
    ----------
    X : DataFrame, or list of DataFrame
        Rows of the source; or one table per source.
    y : array-like of shape (n,), or list of them
        Their labels.
    sample_domain : array-like of shape (n,) or None
        Positive number of the source of each row, where several are in one table.
    source_names : sequence of str or None
        Names of the sources.

    Returns
    -------
    X : DataFrame
        All rows.
    y : array-like of shape (n,)
        Their labels.
    owners : ndarray of int, shape (n,), or None
        Number of the source of each row, from 0; None where there is one.
    names : tuple of str
        Names of the sources.
    notes : list of str
        What is to be known of them.
    """
    owners, notes = None, []
    if is_list_of_sources(X):
        if sample_domain is not None:
            raise ValueError(
                "Give several sources either as a list or by positive numbers in sample_domain, "
                "but not both."
            )
        tables, labels, _ = listed_sources(X, y)
        for table, own in zip(tables, labels, strict=True):
            check_consistent_length(table, own)
        names = _names(source_names, range(1, len(tables) + 1))
        if len(tables) == 1:
            return tables[0], labels[0], None, names, []
        X, owners, notes = pooled_tables(tables, names)
        return X, np.concatenate([np.asarray(each) for each in labels]), owners, names, notes
    numbers = np.ones(1) if sample_domain is None else np.asarray(sample_domain, dtype=float)
    if sample_domain is not None and (numbers.shape != (len(X),) or not (numbers > 0).all()):
        raise ValueError(
            "sample_domain must hold the positive number of a source for each row of X, "
            f"{len(X)} here, but has shape {numbers.shape} or other numbers: pass the target as Xt."
        )
    found, owners = np.unique(numbers, return_inverse=True)
    names = _names(source_names, found)
    return X, y, owners if len(found) > 1 else None, names, notes


def _names(given: Any, numbers: Sequence[float] | np.ndarray) -> tuple[str, ...]:
    names = check_names(given, len(numbers))
    if names is None and len(numbers) == 1:
        return ONE_SOURCE
    return names or tuple(f"source {number:g}" for number in numbers)


def names_of_files(paths: Sequence[str | Path]) -> tuple[str, ...]:
    """Names of sources, from those of their files.

    Parameters
    ----------
    paths : sequence of str or Path
        The files, all different.

    Returns
    -------
    tuple of str
        What the files are called without their endings; where that is not distinct, or means
        something else, the whole names; or else the paths.
    """
    for called in (lambda path: Path(path).name.split(".")[0], lambda path: Path(path).name, str):
        names = tuple(map(called, paths))
        if len(set(names)) == len(names) and set(names).isdisjoint({*RESERVED, ""}):
            return names
    raise TableError(
        f"The sources must be different files, but are {', '.join(map(str, paths))}: name each "
        "once."
    )


def weights_of_tables(
    rows: np.ndarray,
    codes: np.ndarray,
    owners: np.ndarray,
    target: Domain,
    classes: np.ndarray,
    *,
    are_shared: bool,
    random_state: Any,
) -> np.ndarray:
    """Weights of several sources, found without target labels.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Source rows.
    codes : ndarray of int, shape (n,)
        Their classes.
    owners : ndarray of int, shape (n,)
        Number of the source of each.
    target : Domain
        The target.
    classes : ndarray of shape (n_classes,)
        The classes.
    are_shared : bool
        Whether the columns of source and target mean the same.
    random_state : int, Generator or None
        Draws rows where there are many.

    Returns
    -------
    ndarray of shape (n_sources,)
        Of sum 1, as :class:`~ilspace.ILSClassifier` finds them.
    """
    numbers = range(int(owners.max()) + 1)
    sources = tuple(Domain(rows[owners == each], codes[owners == each]) for each in numbers)
    domains = Domains(sources, target, classes, are_shared)
    return weights_of_evidence(source_evidence(domains, random_state))
