"""Two tables and their labels as codes: what is read once, and handed on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y

from ilspace.domains.checks import require_labels
from ilspace.domains.labels import UNLABELLED, encode_source, encode_target, natural_labels
from ilspace.domains.names import domain_numbers
from ilspace.domains.several import (
    check_names,
    is_list_of_sources,
    joined_labels,
    listed_sources,
    split_domains,
)
from ilspace.tables.values import TableError, as_table, listed

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Pair:
    """A labelled table, and one with few labels or none.

    Attributes
    ----------
    source : DataFrame
        Rows of the source, or of all sources one after another, without the labels.
    codes : ndarray of int, shape (n,)
        Their classes, as indices into `classes`.
    target : DataFrame or None
        Rows of the target, without the labels.
    known : ndarray of int, shape (nt,)
        Their classes, -1 for a row without a label; empty without a target.
    classes : ndarray of shape (n_classes,)
        The classes of the source, sorted.
    owners : ndarray of int, shape (n,), or None
        Number of the source of each row, from 0; None where there is one source.
    source_names : tuple of str
        Names of the sources.
    label : str or None
        Name of the column of labels, if the labels come from one.
    ids : tuple of str
        Columns that the user or the reader named as identifiers.
    notes : tuple of str
        What was decided, one sentence each.
    """

    source: pd.DataFrame = field(repr=False)
    codes: np.ndarray = field(repr=False)
    target: pd.DataFrame | None = field(repr=False)
    known: np.ndarray = field(repr=False)
    classes: np.ndarray
    owners: np.ndarray | None = field(default=None, repr=False)
    source_names: tuple[str, ...] = ("source",)
    label: str | None = None
    ids: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def has_labels(self) -> np.ndarray:
        """Whether each target row has a label."""
        return self.known >= 0

    def take(self, source_rows: Any = None, target_rows: Any = None) -> Pair:
        """Some of the rows, all classes.

        Parameters
        ----------
        source_rows, target_rows : slice, array of int or array of bool, optional
            Which; all by default.

        Returns
        -------
        Pair
            With these rows.
        """
        changes: dict[str, Any] = {}
        if source_rows is not None:
            changes = {"source": self.source.iloc[source_rows], "codes": self.codes[source_rows]}
            if self.owners is not None:
                changes["owners"] = self.owners[source_rows]
        if target_rows is not None and self.target is not None:
            changes |= {"target": self.target.iloc[target_rows], "known": self.known[target_rows]}
        return replace(self, **changes)

    def without_labels(self, rows: Any) -> Pair:
        """The same with some target rows unlabelled.

        Parameters
        ----------
        rows : array of int or array of bool
            Target rows.

        Returns
        -------
        Pair
            With copied labels.
        """
        return self.with_labels(rows, UNLABELLED)

    def with_labels(self, rows: Any, codes: Any) -> Pair:
        """The same with further target labels.

        Parameters
        ----------
        rows : array of int or array of bool
            Target rows.
        codes : array of int, or int
            Their classes, as indices into `classes`.

        Returns
        -------
        Pair
            With copied labels.
        """
        known = self.known.copy()
        known[rows] = codes
        return replace(self, known=known)


def as_pair(
    X: Any,
    y: Any,
    Xt: Any = None,
    yt: Any = None,
    sample_domain: Any = None,
    source_names: Sequence[str] | None = None,
) -> Pair:
    """Check the tables and labels that were given to a fit.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n, d), or list of them
        Rows of the source; or one table per source, of which the columns are used that all have.
    y : array-like of shape (n,), or list of them
        Their labels.
    Xt : DataFrame or array-like of shape (nt, dt), optional
        Rows of the target.
    yt : array-like of shape (nt,), optional
        Labels of the target rows; None, NaN or -1 where there is none. -1 is a label where it is a
        class of the source and another marker occurs.
    sample_domain : array-like of shape (n,), optional
        Number of the domain of each row of `X`: positive of a source, negative of the target.
    source_names : sequence of str, optional
        Names of the sources.

    Returns
    -------
    Pair
        The tables, with labels as codes.
    """
    require_labels(y, "TableClassifier")
    owners, notes = None, []
    numbers: Sequence[float] | np.ndarray = (1,)
    if is_list_of_sources(X):
        if sample_domain is not None:
            raise ValueError(
                "Give several sources either as a list or by positive numbers in sample_domain, "
                "but not both."
            )
        tables, labels, _ = listed_sources(X, y)
        numbers = range(1, len(tables) + 1)
        checked = [_labelled(each, own) for each, own in zip(tables, labels, strict=True)]
        names = _names(source_names, numbers)
        source, owners, notes = pooled_tables([each for each, _ in checked], names)
        y = joined_labels([own for _, own in checked])
    else:
        if sample_domain is not None:
            X = as_table(X)
            found = domain_numbers(sample_domain, X)
            if (found < 0).any():
                X, y, Xt, yt, _ = split_domains(X, y, Xt, yt, found, None)
            numbers, owners = np.unique(found[found > 0], return_inverse=True)
        source, y = _labelled(X, y)
        names = _names(source_names, numbers)
    if Xt is None and yt is not None:
        raise ValueError("yt labels the rows of Xt, but Xt is None: pass both, or neither.")
    classes, codes = encode_source(y)
    target = None if Xt is None else as_table(Xt, "Xt").reset_index(drop=True)
    return Pair(
        source.reset_index(drop=True),
        codes,
        target,
        encode_target(yt, classes, 0 if target is None else len(target)),
        classes,
        owners if len(names) > 1 else None,
        names,
        notes=tuple(notes),
    )


def _labelled(X: Any, y: Any) -> tuple[pd.DataFrame, np.ndarray]:
    """A table of a source, and its labels."""
    X = as_table(X)
    y = _check_y(natural_labels(y), multi_output=False, y_numeric=False, estimator=None)
    check_consistent_length(X, y)
    check_classification_targets(y)
    return X, y


def _names(given: Any, numbers: Sequence[float] | np.ndarray) -> tuple[str, ...]:
    names = check_names(given, len(numbers))
    if names is None and len(numbers) == 1:
        return ("source",)
    return names or tuple(f"source {number:g}" for number in numbers)


def pooled_tables(
    tables: Sequence[pd.DataFrame], names: Sequence[str], label: str | None = None
) -> tuple[pd.DataFrame, np.ndarray, list[str]]:
    """Put rows of several tables one after another, with the columns that all of them have.

    Parameters
    ----------
    tables : sequence of DataFrame
        The tables.
    names : sequence of str
        What to call them.
    label : str, optional
        The column of labels, which is no feature.

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

    shared = [
        name for name in tables[0].columns if all(name in each.columns for each in tables[1:])
    ]
    if not {*shared} - {label}:
        heads = "; ".join(
            f"{name}: {listed([*table.columns])}" for name, table in zip(names, tables, strict=True)
        )
        raise TableError(
            f"The sources must have columns in common, but have none ({heads}): rename columns, or "
            "adapt from one source at a time."
        )
    every = dict.fromkeys(name for table in tables for name in table.columns)
    others = [name for name in every if name not in set(shared)]
    notes = [f"Not in all sources, and left out: {listed(others)}."] if others else []
    owners = np.repeat(np.arange(len(tables)), [len(each) for each in tables])
    return pd.concat([each[shared] for each in tables], ignore_index=True), owners, notes
