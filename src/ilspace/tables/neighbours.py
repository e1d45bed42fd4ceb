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
    domain : {"source", "target"}
        The table it is in.
    row : int
        Its position there, from 0.
    label : str
        Its label.
    distance : float
        How far it is.
    """

    domain: str
    row: int
    label: str
    distance: float


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
    domains: list[str] = ["target"] * len(given)
    positions, labels = given.tolist(), [] if tables.yt is None else tables.yt[given].tolist()
    parts = [view(tables.target.iloc[given])] if len(given) else []
    if has_space or model.plan_.are_shared:
        numbers = {"sample_domain": tables.sample_domain} if has_space else {}
        parts.append(view(tables.source, "source", **numbers))
        domains += ["source"] * len(tables.source)
        positions += range(len(tables.source))
        labels += tables.y.tolist()
    if not parts or not len(asked):
        return [[] for _ in rows]
    known = np.concatenate(parts)
    finder = NearestNeighbors(n_neighbors=min(n + 1, len(known))).fit(known)
    distances, found = finder.kneighbors(view(asked))
    return [
        [
            Neighbour(domains[i], positions[i], str(labels[i]), float(distance))
            for distance, i in zip(each, near, strict=True)
            if (domains[i], positions[i]) != ("target", row)
        ][:n]
        for row, each, near in zip(rows, distances, found, strict=True)
    ]


def row_name(table: pd.DataFrame, row: int, ids: Sequence[str]) -> str:
    """What a row is called.

    Parameters
    ----------
    table : DataFrame
        The table.
    row : int
        Position, from 0.
    ids : sequence of str
        Columns that name rows.

    Returns
    -------
    str
        Its first identifier; its number, from 1, without one.
    """
    named = [str(table[each].iloc[row]) for each in ids if each in table.columns]
    return named[0] if named and named[0] else f"row {row + 1}"
