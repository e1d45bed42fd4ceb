"""Numbers of the benchmark's stores, by name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from ilspace.benchmark.field.table import (
    FieldBlock,
    FieldRow,
    FieldTable,
    group_mean,
    is_worse,
    share_right,
)
from ilspace.benchmark.formats import best_rows, number
from ilspace.benchmark.kinds import load_experiment, summarise
from ilspace.benchmark.plans import FIXED
from ilspace.benchmark.store import Store, archive_of, outdated_sentence
from ilspace.benchmark.tables import Block, Row, Table, why_empty

BEST_OTHER = "best other"
"""Stands for the method of fixed parameters with the highest mean, the reference left out."""


class NoSuchNumberError(LookupError):
    """A name that leads to no number, and what there is instead."""


@dataclass(frozen=True)
class StoredResults:
    """What the experiments found, read from a folder of stores.

    Attributes
    ----------
    folder : Path
        Holds ``NAME.jsonl``, or its archive, for each experiment that was run.
    """

    folder: Path

    def store(self, experiment: str) -> Path:
        """File of an experiment.

        Parameters
        ----------
        experiment : str
            Its name.

        Returns
        -------
        Path
            Whether or not it exists.
        """
        return self.folder / f"{experiment}.jsonl"

    def table(self, experiment: str) -> Table | FieldTable:
        """Summarise an experiment.

        Parameters
        ----------
        experiment : str
            Its name.

        Returns
        -------
        Table or FieldTable
            With at least one block, of results with the current parameters and revisions.
        """
        path = self.store(experiment)
        files = [each for each in (path, archive_of(path)) if each.is_file()]
        made = _summary(experiment, path, tuple(each.stat().st_mtime_ns for each in files))
        if not made.blocks:
            raise NoSuchNumberError(why_empty(made, path.name, f"ilspace bench run {experiment}"))
        return made

    def text(self, name: str) -> str:
        """A number as it is printed.

        Parameters
        ----------
        name : str
            ``experiment/preprocessing/method/quantity``. The method is a row of the table, the
            words ``best other``, or two of these with a minus sign between spaces. The quantity is
            ``mean`` (over the transfers), ``paper`` (the paper's mean), ``p``, ``trials``,
            ``name`` (of the method), ``firsts`` (transfers on which no method of fixed parameters
            is better), ``above paper`` (transfers on which it is better than everything in the
            paper), or a transfer. Of the field benchmark the name is
            ``experiment/setting/method/group measure``. The group may be ``all``; the measure is
            ``accuracy`` (also if there is none), ``balanced``, ``log_loss``, ``below`` and a row
            (share of pairs more than a point below it), ``sure`` (share of rows), ``sure right``
            (share of these), or of the expected accuracy ``close``, ``covered`` or ``error``.

        Returns
        -------
        str
            Such as ``46.1``; with a sign where it is a difference; an en dash where there is none.
        """
        parts = name.split("/")
        if len(parts) != 4:
            raise NoSuchNumberError(
                "A number is named experiment/preprocessing/method/quantity, but this one is "
                f"{name!r}."
            )
        experiment, preprocessing, method, quantity = parts
        table = self.table(experiment)
        try:
            if isinstance(table, FieldTable):
                return _field_text(table, preprocessing, method, quantity, name)
            return _text(table, preprocessing, method, quantity, name)
        except NoSuchNumberError as error:
            if not table.n_outdated:
                raise
            remedy = f"are left out: make them anew with `ilspace bench run {experiment}`"
            raise NoSuchNumberError(
                f"{error} {outdated_sentence(table.n_outdated, remedy)}"
            ) from None


def _text(table: Table, preprocessing: str, method: str, quantity: str, name: str) -> str:
    block = _find({each.preprocessing: each for each in table.blocks}, preprocessing, name)
    first, minus, second = method.partition(" - ")
    row = _row(table, block, first, name)
    if not minus:
        return _printed(table, block, row, quantity, name)
    other = _row(table, block, second, name)
    difference = _value(table, row, quantity, name) - _value(table, other, quantity, name)
    return _number(difference, sign=True)


def _field_text(table: FieldTable, setting: str, method: str, quantity: str, name: str) -> str:
    block = _find({each.setting.name: each for each in table.blocks}, setting, name)
    rows = {each.method.name: each for each in block.rows}
    first, minus, second = method.partition(" - ")
    value = _field_value(table, block, _find(rows, first, name), quantity, name)
    if minus:
        value -= _field_value(table, block, _find(rows, second, name), quantity, name)
    digits = 2 if quantity.endswith("log_loss") else 1
    return number(value, digits, sign=bool(minus))


def _field_value(
    table: FieldTable, block: FieldBlock, row: FieldRow, quantity: str, name: str
) -> float:
    group, _, measure = quantity.partition(" ")
    groups = {each: table.members(each) for each in table.plan.groups} | {"all": block.counts}
    chosen = _find(groups, group, name) & block.counts
    if measure == "sure right":
        return share_right(row, chosen)
    if measure.startswith("below "):
        accuracies = {each.method.name: each.accuracy for each in block.rows}
        theirs = _find(accuracies, measure.removeprefix("below "), name)
        return group_mean(100.0 * is_worse(row.accuracy - theirs), chosen)
    measures = {"": row.accuracy, "sure": row.means["sure_share"]}
    for each in ("accuracy", "balanced", "log_loss", "close", "covered", "error"):
        measures[each] = row.means[each]
    return group_mean(_find(measures, measure, name), chosen)


@lru_cache(maxsize=16)
def _summary(experiment: str, path: Path, changed: tuple[int, ...]) -> Table | FieldTable:
    """Table of a store as it was when it was last `changed`; a page asks for many numbers of it."""
    return summarise(load_experiment(experiment), Store(path).records())


def _find(known: dict, wanted: str, name: str):
    if wanted not in known:
        raise NoSuchNumberError(
            f"{name!r} must be made of names that the table has, but it has no {wanted!r}: it has "
            f"{', '.join(known)}."
        )
    return known[wanted]


def _row(table: Table, block: Block, method: str, name: str) -> Row:
    if method == BEST_OTHER:
        ranked = best_rows(block, len(block.rows))
        return next(
            row for row in ranked if row.method != table.reference and row.selection == FIXED
        )
    return _find({row.method: row for row in block.rows}, method, name)


def _value(table: Table, row: Row, quantity: str, name: str) -> float:
    paper = np.nan if row.paper is None else float(np.mean(row.paper))
    known = {"mean": row.average, "paper": paper}
    known |= dict(zip(table.transfers, map(float, row.mean), strict=True))
    return _find(known, quantity, name)


def _printed(table: Table, block: Block, row: Row, quantity: str, name: str) -> str:
    if quantity == "name":
        return row.method
    if quantity == "trials":
        return str(row.n_trials)
    if quantity == "firsts":
        rivals = np.array([each.mean for each in block.rows if each.selection == FIXED])
        return str(np.count_nonzero(row.mean >= rivals.max(axis=0)))
    if quantity == "above paper":
        published = np.array([each.paper for each in block.rows if each.paper is not None])
        return str(np.count_nonzero(row.mean > published.max(axis=0))) if len(published) else "–"
    if quantity == "p":
        p_value = block.p_values[block.rows.index(row)]
        return _number(np.nan if p_value is None else p_value, digits=3)
    return _number(_value(table, row, quantity, name))


def _number(value: float, *, digits: int = 1, sign: bool = False) -> str:
    if np.isnan(value):
        return "–"
    rounded = round(value, digits) + 0.0  # no minus sign in front of a zero
    return f"{rounded:{'+' if sign and rounded else ''}.{digits}f}".replace("-", "−")
