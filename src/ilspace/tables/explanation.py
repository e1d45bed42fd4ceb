"""Why a row has its label: what the members say, which entries decide, which rows are nearest.

An entry is judged by occlusion: by how much the probability of the label falls, on average, if the
entry is replaced by those of some other target rows. That takes a model as it is, whatever its
members are. Two columns that say the same hide each other. In wide tables groups of neighbouring
columns are judged first, and the most influential are split until single columns are left: there
columns of one group that contradict each other may be missed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.neighbors import NearestNeighbors

from ilspace.tables.encoding import Encoded
from ilspace.tables.learning import PooledRule
from ilspace.tables.pair import Pair

if TYPE_CHECKING:
    from ilspace.tables.classifier import TableClassifier

MOST_JUDGED = 60
"""Columns up to which each is judged."""

_N_GROUPS, _N_SPLIT = 32, 8
"""Groups of columns that are judged at a time in wider tables; the leading ones are split."""

_N_OTHERS = 10
"""Target rows whose entries replace those of a row."""

_MOST_WORDS = 200
"""Different words of a text that are judged."""

_WORD = re.compile(r"\b\w\w+\b")


@dataclass(frozen=True)
class Influence:
    """What an entry, or a word of a text, does to a prediction.

    Attributes
    ----------
    name : str
        The column, or the word.
    entry : str
        What the row has there; of a word, the column of its text.
    change : float
        How much lower the probability of the label is without it; negative for what speaks against
        the label.
    """

    name: str
    entry: str
    change: float


@dataclass(frozen=True)
class Neighbour:
    """A labelled row near another one.

    Attributes
    ----------
    domain : str
        ``"target"``, ``"source"``, or, of several sources, the name of one.
    row : int
        Its number there, from 1.
    position : int
        Its position among the rows of all sources, or of the target, from 0.
    label : str
        Its label.
    distance : float
        How far it is in the latent space, or on principal axes.
    name : str
        Its domain, what it is called, and how its texts begin.
    """

    domain: str
    row: int
    position: int
    label: str
    distance: float
    name: str


@dataclass(frozen=True)
class Explanation:
    """Why a target row has its label.

    Attributes
    ----------
    row : int
        Its number in the target, from 1.
    name : str
        Its first identifier; ``"row 17"`` without one.
    label : str
        What the model says.
    probability : float
        Of that label.
    given : str or None
        The label that the row came with, if it had one.
    members : tuple of dict
        Name, label and probability of each member.
    columns : tuple of Influence
        The columns, the most influential first; of more than 60 those that were found.
    words : tuple of Influence
        Words of its texts, likewise.
    neighbours : tuple of Neighbour
        The nearest labelled rows.
    """

    row: int
    name: str
    label: str
    probability: float
    given: str | None
    members: tuple[dict[str, Any], ...]
    columns: tuple[Influence, ...]
    words: tuple[Influence, ...]
    neighbours: tuple[Neighbour, ...]

    def in_words(self, *, n_columns: int = 8, columns: bool = True) -> list[str]:
        """Lines of text.

        Parameters
        ----------
        n_columns : int, default=8
            Columns, and words, to name.
        columns : bool, default=True
            Whether to name columns; those of pictures say nothing to anyone.

        Returns
        -------
        list of str
            Without a line break in any.
        """
        named = "" if self.name == f"row {self.row}" else f" ({self.name})"
        lines = [f"Row {self.row}{named}: {self.label}, {self.probability:.2f}."]
        if self.given is not None:
            lines.append(f"It came with the label {self.given}.")
        said = ("{name} {label} {probability:.2f}".format(**each) for each in self.members)
        lines.append(f"Members: {', '.join(said)}.")
        lines.append("Nearest labelled rows:" if self.neighbours else "No comparable labelled row.")
        lines += [f"  {e.label}  {e.name}, distance {e.distance:.3g}" for e in self.neighbours]
        for what, found in (("Columns", self.columns), ("Words", self.words)):
            if columns and found:
                lines.append(f"{what} that decide, by how much lower {self.label} is without:")
                shown = found[:n_columns]
                lines += [f"  {e.change:+.3f}  {e.name} = {_line(e.entry)}" for e in shown]
        return lines


def explain(
    model: TableClassifier,
    pair: Pair,
    encoded: Encoded,
    rows: Sequence[int],
    *,
    n: int = 3,
    votes: np.ndarray | None = None,
) -> list[Explanation]:
    """Explain predictions.

    Parameters
    ----------
    model : TableClassifier
        Fitted to the pair.
    pair : Pair
        The tables and their labels.
    encoded : Encoded
        Their rows as numbers.
    rows : sequence of int
        Positions of target rows, from 0.
    n : int, default=3
        Labelled rows to name for each.
    votes : ndarray of shape (n_members, n_rows, n_classes), optional
        Probabilities of these rows by each member, where they are known.

    Returns
    -------
    list of Explanation
        One per row.
    """
    rows, rule = [int(each) for each in rows], model.rule_
    if pair.target is None or not rows:
        return []
    votes = rule.votes(encoded.target[rows]) if votes is None else votes
    codes, sure = votes.mean(axis=0).argmax(axis=1), votes.mean(axis=0).max(axis=1)
    columns = _occluded_columns(model, pair.target, encoded.target, rows, codes, sure)
    words = _occluded_words(model, pair.target, rows, codes, sure)
    near = nearest_labelled(model, pair, encoded, rows, n=n)
    pooled = isinstance(rule, PooledRule)
    names = list(rule.members_) if pooled else [type(rule.estimator_).__name__]
    classes = [str(each) for each in pair.classes]
    found = []
    for i, row in enumerate(rows):
        members = [
            {"name": name, "label": classes[own.argmax()], "probability": float(own.max())}
            for name, own in zip(names, votes[:, i], strict=True)
        ]
        name = row_name(pair.target, row, model.plan_.ids) or f"row {row + 1}"
        given = classes[pair.known[row]] if pair.has_labels[row] else None
        said = row + 1, name, classes[codes[i]], float(sure[i]), given
        found.append(Explanation(*said, tuple(members), columns[i], words[i], tuple(near[i])))
    return found


# -- occlusion -------------------------------------------------------------------------------------


def _occluded_columns(model, table, values, rows, codes, sure) -> list[tuple[Influence, ...]]:
    """How much the entries of some rows do for their labels, the largest change first."""
    blocks = model.encoders_["target"].blocks_
    names, places = list(blocks), list(blocks.values())
    drawn = np.random.default_rng(0).permutation(len(values))[: _N_OTHERS + 1]
    others = [drawn[drawn != row][:_N_OTHERS] for row in rows]
    if not len(others[0]):
        return [() for _ in rows]

    def changes_without(groups: list[list[range]]) -> list[np.ndarray]:
        parts = []
        for row, other, own in zip(rows, others, groups, strict=True):
            for group in own:
                part = np.repeat(values[[row]], len(other), axis=0)
                replaced = [place for i in group for place in places[i]]
                part[:, replaced] = values[other][:, replaced]
                parts.append(part)
        found = model.rule_.votes(np.concatenate(parts)).mean(axis=0)
        found = found.reshape(len(parts), len(others[0]), -1).mean(axis=1)
        own = np.split(found, np.cumsum(list(map(len, groups)))[:-1])
        return [sure[i] - each[:, codes[i]] for i, each in enumerate(own)]

    n_groups = len(names) if len(names) <= MOST_JUDGED else _N_GROUPS
    groups = [_parts(range(len(names)), n_groups) for _ in rows]
    changes = changes_without(groups)
    while max(len(group) for own in groups for group in own) > 1:
        for i, change in enumerate(changes):
            order = np.argsort(-np.abs(change), kind="stable")[:_N_SPLIT]
            n = _N_GROUPS // _N_SPLIT
            groups[i] = [part for k in order for part in _parts(groups[i][k], n)]
        changes = changes_without(groups)
    return [
        _sorted(
            Influence(names[i], _shown(table[names[i]].iloc[row]), float(change))
            for (i,), change in zip(own, found, strict=True)
        )
        for row, own, found in zip(rows, groups, changes, strict=True)
    ]


def _parts(group: range, n: int) -> list[range]:
    """Split a range into `n` of about the same length, or fewer if it is shorter."""
    n = min(n, len(group))
    edges = [i * len(group) // n for i in range(n + 1)]
    return [group[low:high] for low, high in pairwise(edges)]


def _occluded_words(model, table, rows, codes, sure) -> list[tuple[Influence, ...]]:
    """How much the words of some rows do for their labels, the largest change first."""
    found: list[list[Influence]] = [[] for _ in rows]
    for column in model.plan_.texts:
        tried, texts = [], []
        for i, row in enumerate(rows):
            text = _shown(table[column].iloc[row])
            words = dict.fromkeys(each.lower() for each in _WORD.findall(text))
            for word in list(words)[:_MOST_WORDS]:
                tried.append((i, word))
                texts.append(re.sub(rf"(?i)\b{re.escape(word)}\b", " ", text))
        if tried:
            without = table.iloc[[rows[i] for i, _ in tried]].assign(**{column: texts})
            votes = model.member_probabilities(without).mean(axis=0)
            for (i, word), each in zip(tried, votes, strict=True):
                found[i].append(Influence(word, column, float(sure[i] - each[codes[i]])))
    return [_sorted(each) for each in found]


def _sorted(found: Any) -> tuple[Influence, ...]:
    return tuple(sorted(found, key=lambda each: -abs(each.change)))


def _shown(entry: Any) -> str:
    """An entry as it is written; empty if it is missing."""
    if pd.isna(entry):
        return ""
    return f"{entry:.4g}" if isinstance(entry, float) else str(entry)


def _line(text: str) -> str:
    """The beginning of a text, without line breaks."""
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:60]}…"


# -- neighbours ------------------------------------------------------------------------------------


def nearest_labelled(
    model: TableClassifier, pair: Pair, encoded: Encoded, rows: Sequence[int], *, n: int = 3
) -> list[list[Neighbour]]:
    """Find the labelled rows nearest to some target rows.

    Distances are those of the latent space, or of principal axes. Where the tables have no space
    in common, only target rows are compared.

    Parameters
    ----------
    model : TableClassifier
        Fitted to the pair.
    pair : Pair
        The tables and their labels.
    encoded : Encoded
        Their rows as numbers.
    rows : sequence of int
        Positions of target rows.
    n : int, default=3
        How many to find for each; a row is not its own neighbour.

    Returns
    -------
    list of list of Neighbour
        The nearest first.
    """
    rule, given = model.rule_, np.flatnonzero(pair.has_labels)
    places, codes, parts = [("target", row) for row in given.tolist()], pair.known[given], []
    if len(given):
        parts = [rule.latent(encoded.target[given])]
    if has_common_space(model):
        numbers = None if pair.owners is None else pair.owners + 1
        parts.append(rule.latent(encoded.source, "source", sample_domain=numbers))
        places += [("source", row) for row in range(len(pair.codes))]
        codes = np.concatenate([codes, pair.codes])
    if not parts or not len(rows):
        return [[] for _ in rows]
    known = np.concatenate(parts)
    finder = NearestNeighbors(n_neighbors=min(n + 1, len(known))).fit(known)
    distances, found = finder.kneighbors(rule.latent(encoded.target[list(rows)]))
    return [
        [
            _neighbour(
                model,
                pair,
                places[i][0],
                places[i][1],
                str(pair.classes[codes[i]]),
                float(distance),
            )
            for distance, i in zip(each, near, strict=True)
            if places[i] != ("target", row)
        ][:n]
        for row, each, near in zip(rows, distances, found, strict=True)
    ]


def has_common_space(model: TableClassifier) -> bool:
    """Tell whether distances between rows of both tables mean something.

    Parameters
    ----------
    model : TableClassifier
        Fitted.

    Returns
    -------
    bool
        True for tables that share their columns, or have a latent space.
    """
    return model.plan_.are_shared or hasattr(getattr(model.rule_, "estimator_", None), "map_")


def _neighbour(
    model: TableClassifier, pair: Pair, domain: str, position: int, label: str, distance: float
) -> Neighbour:
    table, number = pair.target if domain == "target" else pair.source, position
    assert table is not None
    if domain == "source" and pair.owners is not None:
        owner = pair.owners[position]
        domain, number = pair.source_names[owner], int(np.sum(pair.owners[:position] == owner))
    said = [domain, row_name(table, position, model.plan_.ids) or f"row {number + 1}"]
    for each in model.plan_.texts:
        if each in table.columns:
            said.append(f"“{_line(_shown(table[each].iloc[position]))}”")
    return Neighbour(domain, number + 1, position, label, distance, ", ".join(said))


def row_name(table: pd.DataFrame, row: int, ids: Sequence[str]) -> str:
    """What a row is called.

    Parameters
    ----------
    table : DataFrame
        The table.
    row : int
        Position, from 0.
    ids : sequence of str
        Columns that identify rows.

    Returns
    -------
    str
        Its first identifier; empty without one.
    """
    return next((_shown(table[each].iloc[row]) for each in ids if each in table.columns), "")
