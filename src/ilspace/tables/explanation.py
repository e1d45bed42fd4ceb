"""Why a row has its label: what is nearest, which entries decide, what is said without adaptation.

An entry is judged by occlusion: by how much the probability of the label falls if the entry is
replaced by the mean of its column, as a missing one is. That takes the committee as it is, whatever
its members are, and costs one prediction per column. Two columns that say the same hide each other.
In wide tables groups of neighbouring columns are judged first, and the most influential are split
until single columns are left: there columns of one group that contradict each other may be missed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ilspace.tables.encoding import Entries
from ilspace.tables.kinds import Text
from ilspace.tables.neighbours import Neighbour, nearest_labelled, row_name
from ilspace.tables.sentences import Sentences

if TYPE_CHECKING:
    from ilspace.tables.classifier import TableClassifier
    from ilspace.tables.labels import LabelledTables

MOST_JUDGED = 1000
"""Columns up to which each is judged; a prediction has all of them, so that costs their square."""

_N_GROUPS = 32
"""Groups of columns that are judged at a time in wider tables."""

_N_SPLIT = 8
"""Of these the most influential, which are split."""

MOST_TERMS = 200
"""Different words of a text that are judged."""

_WORD = re.compile(r"(?u)\b\w\w+\b")
"""A word, as the n-grams are made of."""


class Influence(NamedTuple):
    """What an entry, or a word of a text, does to a prediction.

    Attributes
    ----------
    name : str
        The column, or the word.
    entry : str
        What the row has there.
    change : float
        How much lower the probability of the label is without it; negative for what speaks against
        the label.
    """

    name: str
    entry: str
    change: float


@dataclass(frozen=True)
class Explanation:
    """Why a target row has its label.

    Attributes
    ----------
    row : int
        Position in the target, from 0.
    name : str
        What it is called.
    label : str
        What the verdict recommends.
    probability : float
        Of that label.
    trusted : bool
        Whether nothing speaks against it.
    doubts : str
        What does.
    given : str or None
        The label that the row came with, if it had one.
    adapted : str
        What the committee says.
    unadapted : str or None
        What logistic regression says without adaptation; None where the tables share no columns.
    unadapted_probability : float or None
        How sure that is.
    members : dict of str to dict
        Label and probability of each member.
    columns : tuple of Influence
        The columns, the most influential first; of more than 1,000 those that were found.
    terms : dict of str to tuple of Influence
        Words of each text column, likewise.
    neighbours : tuple of Neighbour
        The nearest labelled rows.
    """

    row: int
    name: str
    label: str
    probability: float
    trusted: bool
    doubts: str
    given: str | None
    adapted: str
    unadapted: str | None
    unadapted_probability: float | None
    members: dict[str, dict[str, Any]]
    columns: tuple[Influence, ...]
    terms: dict[str, tuple[Influence, ...]]
    neighbours: tuple[Neighbour, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON; rows are counted from 1."""
        return asdict(self) | {
            "row": self.row + 1,
            "columns": [each._asdict() for each in self.columns],
            "terms": {name: [each._asdict() for each in of] for name, of in self.terms.items()},
            "neighbours": [
                {"domain": each.domain, "row": each.row + 1}
                | {"label": each.label, "distance": each.distance}
                for each in self.neighbours
            ],
        }


def explain_rows(
    model: TableClassifier, tables: LabelledTables, rows: Sequence[int], *, n_neighbours: int = 3
) -> list[Explanation]:
    """Explain predictions.

    Parameters
    ----------
    model : TableClassifier
        Fitted to these tables.
    tables : LabelledTables
        The tables.
    rows : sequence of int
        Positions of target rows, from 0.
    n_neighbours : int, default=3
        Labelled rows to name.

    Returns
    -------
    list of Explanation
        One per row.
    """
    near = nearest_labelled(model, tables, rows, n=n_neighbours)
    return [_explain(model, tables, int(row), each) for row, each in zip(rows, near, strict=True)]


def _explain(
    model: TableClassifier, tables: LabelledTables, row: int, near: list[Neighbour]
) -> Explanation:
    table = tables.target.iloc[[row]]
    said = model.label_rows(table).iloc[0]
    code = int(np.flatnonzero(model.classes_ == said["label"])[0])
    plain = model.unadapted_probabilities(table)
    own = model.member_probabilities(table)[:, 0]
    given = None if tables.yt is None or tables.yt[row] is None else str(tables.yt[row])
    return Explanation(
        row,
        row_name(tables.target, row, model.plan_.ids),
        str(said["label"]),
        float(said["probability"]),
        bool(said["trusted"]),
        str(said["doubts"]),
        given,
        str(said["adapted"]),
        None if plain is None else str(said["unadapted"]),
        None if plain is None else float(plain.max()),
        {
            each.name: {
                "label": str(model.classes_[found.argmax()]),
                "probability": float(found.max()),
            }
            for each, found in zip(model.members_, own, strict=True)
        },
        occluded_columns(model, table, code),
        {
            each.name: terms
            for each in model.plan_.target
            if isinstance(each, Text | Sentences)
            and (terms := occluded_terms(model, table, each, code))
        },
        tuple(near),
    )


def _blocks(model: TableClassifier) -> dict[str, slice]:
    """Encoded columns of each column."""
    found, start = {}, 0
    for each in model.target_encoder_.ordered:
        found[each.name] = slice(start, start + len(each.names))
        start += len(each.names)
    return found


def occluded_columns(
    model: TableClassifier, table: pd.DataFrame, code: int
) -> tuple[Influence, ...]:
    """How much the entries of a row do for a class.

    Parameters
    ----------
    model : TableClassifier
        Fitted.
    table : DataFrame
        The row.
    code : int
        Position of the class in `classes_`.

    Returns
    -------
    tuple of Influence
        One per column, the largest change first; of more than 1,000 columns about 32.
    """
    entries = model.target_encoder_.read(table)
    blocks = _blocks(model)
    names, slices = list(blocks), list(blocks.values())

    def changes_without(groups: list[range]) -> np.ndarray:
        values = np.repeat(entries.values, 1 + len(groups), axis=0)
        for i, group in enumerate(groups, start=1):
            # which the means of the columns replace
            values[i, slices[group[0]].start : slices[group[-1]].stop] = np.nan
        found = model.predict_entries(Entries(values, np.repeat(entries.n_known, len(values))))
        return found[0, code] - found[1:, code]

    n_groups = len(names) if len(names) <= MOST_JUDGED else _N_GROUPS
    groups = _parts(range(len(names)), n_groups)
    changes = changes_without(groups)
    while max(map(len, groups), default=1) > 1:
        leading = np.argsort(-np.abs(changes), kind="stable")[:_N_SPLIT]
        groups = [part for i in leading for part in _parts(groups[i], _N_GROUPS // _N_SPLIT)]
        changes = changes_without(groups)
    return _sorted(
        Influence(names[i], _shown(table[names[i]].iloc[0]), float(change))
        for (i,), change in zip(groups, changes, strict=True)
    )


def _parts(group: range, n: int) -> list[range]:
    """Split a range into `n` of about the same length, or fewer if it is shorter."""
    n = min(n, len(group))
    edges = [i * len(group) // n for i in range(n + 1)] if n else []
    return [group[low:high] for low, high in pairwise(edges)]


def occluded_terms(
    model: TableClassifier, table: pd.DataFrame, column: Text | Sentences, code: int
) -> tuple[Influence, ...]:
    """How much the words of a text do for a class.

    Parameters
    ----------
    model : TableClassifier
        Fitted.
    table : DataFrame
        The row.
    column : Text or Sentences
        A column of text.
    code : int
        Position of the class in `classes_`.

    Returns
    -------
    tuple of Influence
        One per different word, the largest change first; none for a missing text.
    """
    text = _shown(table[column.name].iloc[0])
    words = list(dict.fromkeys(each.lower() for each in _WORD.findall(text)))[:MOST_TERMS]
    if not words:
        return ()
    without = [re.sub(rf"(?i)\b{re.escape(each)}\b", " ", text) for each in words]
    entries = model.target_encoder_.read(table)
    values = np.repeat(entries.values, 1 + len(words), axis=0)
    values[1:, _blocks(model)[column.name]] = column.read(pd.Series(without, dtype=object))
    found = model.predict_entries(Entries(values, np.repeat(entries.n_known, len(values))))
    changes = found[0, code] - found[1:, code]
    return _sorted(
        Influence(word, word, float(change)) for word, change in zip(words, changes, strict=True)
    )


def _sorted(found) -> tuple[Influence, ...]:
    return tuple(sorted(found, key=lambda each: -abs(each.change)))


def _shown(entry: Any) -> str:
    """An entry as it is written; empty if it is missing."""
    if pd.isna(entry):
        return ""
    return f"{entry:.4g}" if isinstance(entry, float) else str(entry)


def described(
    near: Neighbour, tables: LabelledTables, ids: Sequence[str], texts: Sequence[str] = ()
) -> str:
    """What a labelled row is called, and how its texts begin.

    Parameters
    ----------
    near : Neighbour
        The row.
    tables : LabelledTables
        The tables.
    ids : sequence of str
        Columns that name rows.
    texts : sequence of str
        Columns of text.

    Returns
    -------
    str
        In a few words.
    """
    table = tables.target if near.is_target else tables.source
    words = [f"{near.domain}, {row_name(table, near.position, ids, near.row)}"]
    for each in texts:
        if each in table.columns:
            text = " ".join(_shown(table[each].iloc[near.position]).split())
            words.append(f"“{text[:60]}{'…' * (len(text) > 60)}”")
    return ", ".join(words)


def in_words(
    explanation: Explanation,
    tables: LabelledTables,
    ids: Sequence[str],
    *,
    n_columns: int = 8,
    columns: bool = True,
) -> list[str]:
    """An explanation as lines of text.

    Parameters
    ----------
    explanation : Explanation
        Of a row.
    tables : LabelledTables
        The tables.
    ids : sequence of str
        Columns that name rows.
    n_columns : int, default=8
        Columns, and words of each text, to name.
    columns : bool, default=True
        Whether to name columns; those of pictures say nothing to anyone.

    Returns
    -------
    list of str
        Without a line break in any.
    """
    each = explanation
    trust = "trusted" if each.trusted else f"not trusted ({each.doubts})"
    named = "" if each.name == f"row {each.row + 1}" else f" ({each.name})"
    lines = [f"Row {each.row + 1}{named}: {each.label}, {each.probability:.2f}, {trust}."]
    if each.given is not None:
        lines.append(f"It came with the label {each.given}.")
    if each.unadapted is not None:
        lines.append(
            f"Without adaptation: {each.unadapted}, {each.unadapted_probability:.2f}; with it: "
            f"{each.adapted}."
        )
    said = (f"{name} {one['label']} {one['probability']:.2f}" for name, one in each.members.items())
    lines.append(f"Members: {', '.join(said)}.")
    lines.append("Nearest labelled rows:" if each.neighbours else "No labelled row is comparable.")
    for near in each.neighbours:
        name = described(near, tables, ids, list(each.terms))
        lines.append(f"  {near.label}  {name}, distance {near.distance:.3g}")
    if columns:
        heads = {f"Columns that decide, by how much lower {each.label} is without": each.columns}
        heads |= {f"Words of {name} that decide": terms for name, terms in each.terms.items()}
        for head, found in heads.items():
            lines.append(f"{head}:")
            for one in found[:n_columns]:
                entry = f" = {one.entry[:60]}" if one.name != one.entry else ""
                lines.append(f"  {one.change:+.3f}  {one.name}{entry}")
    return lines
