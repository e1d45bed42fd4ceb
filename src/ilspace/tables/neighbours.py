"""Labelled rows that are nearest to others, in the space that predictions are made in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from sklearn.neighbors import NearestNeighbors

from ilspace.tables.verdict import labelled_rows

if TYPE_CHECKING:
    from ilspace.tables.classifier import TableClassifier
    from ilspace.tables.labels import LabelledTables


class Neighbour(NamedTuple):
    """A labelled row near another one.

    Attributes
    ----------
    domain : str
        ``"target"``, ``"source"``, or, of several sources, the name of one.
    row : int
        Its position there, from 0.
    label : str
        Its label.
    distance : float
        How far it is.
    position : int
        Its position among the rows of all sources; that in the target if it is there.
    """

    domain: str
    row: int
    label: str
    distance: float
    position: int

    @property
    def is_target(self) -> bool:
        """Whether it is a row of the target."""
        return self.domain == "target"


def nearest_labelled(
    model: TableClassifier, tables: LabelledTables, rows: Sequence[int], *, n: int = 3
) -> list[list[Neighbour]]:
    """Find the labelled rows nearest to some target rows.

    In the latent space where the model has one; else among the rows as numbers, each table scaled
    by itself, or among the target rows alone if the tables share no columns.

    Parameters
    ----------
    model : TableClassifier
        Fitted to these tables.
    tables : LabelledTables
        The tables.
    rows : sequence of int
        Positions of target rows.
    n : int, default=3
        How many to find for each; a row is not its own neighbour.

    Returns
    -------
    list of list of Neighbour
        The nearest first.
    """
    given = labelled_rows(tables)
    asked = tables.target.iloc[list(rows)]
    has_space = model.ils_ is not None
    view = model.transform if has_space else model.encode
    named = [("target", row, row) for row in given.tolist()]
    labels = [] if tables.yt is None else tables.yt[given].tolist()
    parts = [view(tables.target.iloc[given])] if len(given) else []
    if has_space or model.plan_.are_shared:
        numbers = {"sample_domain": tables.sample_domain} if has_space else {}
        parts.append(view(tables.source, "source", **numbers))
        named += _source_rows(model, tables)
        labels += tables.y.tolist()
    if not parts or not len(asked):
        return [[] for _ in rows]
    known = np.concatenate(parts)
    finder = NearestNeighbors(n_neighbors=min(n + 1, len(known))).fit(known)
    distances, found = finder.kneighbors(view(asked))
    return [
        [
            Neighbour(named[i][0], named[i][1], str(labels[i]), float(distance), named[i][2])
            for distance, i in zip(each, near, strict=True)
            if named[i] != ("target", row, row)
        ][:n]
        for row, each, near in zip(rows, distances, found, strict=True)
    ]


def _source_rows(model: TableClassifier, tables: LabelledTables) -> list[tuple[str, int, int]]:
    """Source, position in it, and position among all sources, of each row."""
    numbers, n_rows = tables.sample_domain, len(tables.source)
    if numbers is None:
        return [("source", row, row) for row in range(n_rows)]
    own = np.empty(n_rows, dtype=np.intp)
    for number in np.unique(numbers):
        rows = np.flatnonzero(numbers == number)
        own[rows] = np.arange(len(rows))
    names = [model.source_names_[int(number) - 1] for number in numbers]
    return list(zip(names, own.tolist(), range(n_rows), strict=True))


def row_name(table: pd.DataFrame, row: int, ids: Sequence[str], number: int | None = None) -> str:
    """What a row is called.

    Parameters
    ----------
    table : DataFrame
        The table.
    row : int
        Position, from 0.
    ids : sequence of str
        Columns that name rows.
    number : int, optional
        Its number, from 0, if that is not the position.

    Returns
    -------
    str
        Its first identifier; its number, from 1, without one.
    """
    number = row if number is None else number
    named = [str(table[each].iloc[row]) for each in ids if each in table.columns]
    return named[0] if named and named[0] else f"row {number + 1}"
