"""Tables of a benchmark: our accuracies beside the paper's."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from ilspace.benchmark.plan_entries import PlanError
from ilspace.benchmark.plans import FIXED, Plan
from ilspace.benchmark.store import find_results

if TYPE_CHECKING:
    from ilspace.benchmark.field.table import FieldTable
    from ilspace.benchmark.labels.table import LabelsTable


@dataclass(frozen=True)
class Row:
    """Results of one method in one block.

    Attributes
    ----------
    method, selection : str
        The method, and how its parameters were chosen.
    mean, std : ndarray of shape (n_transfers,)
        Over the trials, in %; NaN where there is no result. The deviation is the sample's.
    n_trials : int
        Minimum number of trials over the transfers.
    paper : ndarray of shape (n_transfers,) or None
        Results in the paper.
    """

    method: str
    selection: str
    mean: np.ndarray
    std: np.ndarray
    n_trials: int
    paper: np.ndarray | None

    @property
    def average(self) -> float:
        """Mean over the transfers."""
        return float(np.mean(self.mean))

    @property
    def difference(self) -> float | None:
        """Difference of the average to the paper's, in points."""
        return None if self.paper is None else self.average - float(np.mean(self.paper))


@dataclass(frozen=True)
class Block:
    """All methods with one preprocessing.

    Attributes
    ----------
    preprocessing : str
        Its name.
    rows : tuple of Row
        The methods, in the plan's order.
    ranks : ndarray of shape (n_rows,)
        Mean rank over the transfers, 1 for the best, among the rows of fixed parameters; NaN for
        others.
    p_values : tuple of float or None
        Wilcoxon's signed-rank test of each row against the reference over the transfers; None
        for the reference itself, for rows of chosen parameters, and where there are too few
        transfers.
    critical_difference : float
        Difference of mean ranks significant at 5 % by Nemenyi's test.
    """

    preprocessing: str
    rows: tuple[Row, ...]
    ranks: np.ndarray
    p_values: tuple[float | None, ...]
    critical_difference: float


@dataclass(frozen=True)
class Table:
    """Results of a plan.

    Attributes
    ----------
    plan : Plan
        The plan.
    transfers : tuple of str
        Columns.
    blocks : tuple of Block
        One per preprocessing.
    reference : str
        The method that the others are tested against.
    n_failed : int
        Cells without a result because of an error.
    n_outdated : int
        Cells that have results of other parameters or of another revision of the method only;
        these are left out.
    """

    plan: Plan
    transfers: tuple[str, ...]
    blocks: tuple[Block, ...]
    reference: str
    n_failed: int
    n_outdated: int = 0


def paper_table(name: str) -> dict[str, dict[str, float]]:
    """A table of the paper.

    Parameters
    ----------
    name : str
        Its name in ``paper.toml``; empty for no table.

    Returns
    -------
    dict
        For each method the accuracy in % of each transfer.
    """
    if not name:
        return {}
    text = (resources.files("ilspace.benchmark") / "paper.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    if name not in tables:
        raise PlanError(f"The paper has no table {name!r}; it has {', '.join(tables)}.")
    columns = tables[name].pop("columns")
    return {row: dict(zip(columns, values, strict=True)) for row, values in tables[name].items()}


def make_table(plan: Plan, records: Iterable[dict[str, Any]], reference: str = "ILS") -> Table:
    """Summarise the records of a plan.

    Parameters
    ----------
    plan : Plan
        Which cells count.
    records : iterable of dict
        Results, of this plan or others; those of other parameters or of another revision of a
        method than the plan's are left out.
    reference : str, default="ILS"
        The method that the others are tested against.

    Returns
    -------
    Table
        With NaN where cells are missing.
    """
    results = find_results(plan.cells(), records)
    found: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    finished = [each for each in results.records.values() if each.get("error") is None]
    for record in finished:
        cell = record["cell"]
        column = plan.column(cell["source"], cell["target"])
        found[cell["preprocessing"], cell["method"], column].append(record["accuracy"])
    n_failed, paper = len(results.records) - len(finished), paper_table(plan.paper)
    transfers = tuple(plan.column(*each) for each in plan.transfers)
    blocks = []
    for preprocessing in plan.preprocessing:
        rows = []
        for method in plan.methods:
            scores = [found.get((preprocessing, method.name, each), []) for each in transfers]
            if any(scores):
                known = paper.get(method.paper)
                printed = None if known is None else np.array([known[each] for each in transfers])
                means = [np.mean(each) if each else np.nan for each in scores]
                stds = [np.std(each, ddof=1) if len(each) > 1 else np.nan for each in scores]
                numbers = (np.array(means), np.array(stds), min(map(len, scores)), printed)
                rows.append(Row(method.name, method.selection, *numbers))
        if rows:
            blocks.append(_block(preprocessing, rows, reference))
    return Table(plan, transfers, tuple(blocks), reference, n_failed, results.n_outdated)


def why_empty(table: Table | FieldTable | LabelsTable, store: str, command: str) -> str:
    """Message for an empty table: the reason and the remedy.

    Parameters
    ----------
    table : Table, FieldTable or LabelsTable
        A table without blocks.
    store : str
        Name of its store.
    command : str
        Command that runs the experiment.

    Returns
    -------
    str
        One sentence.
    """
    if table.n_outdated:
        return (
            f"{store} must hold results of {table.plan.name} with the current parameters and "
            f"revisions of its methods, but holds those of {table.n_outdated} cells with other or "
            f"unrecorded ones only: make them anew with `{command}`."
        )
    return (
        f"{store} must hold results of {table.plan.name}, but has none: make them with `{command}`."
    )


def _block(preprocessing: str, rows: Sequence[Row], reference: str) -> Block:
    fixed = [i for i, row in enumerate(rows) if row.selection == FIXED]
    means = np.array([rows[i].mean for i in fixed]).reshape(len(fixed), -1)
    whole = ~np.isnan(means).any(axis=0)
    ranks = np.full(len(rows), np.nan)
    ranks[fixed] = stats.rankdata(-means[:, whole], axis=0).mean(axis=1)
    p_values: list[float | None] = [None] * len(rows)
    names = [rows[i].method for i in fixed]
    if reference in names and whole.sum() >= 6:
        ours = means[names.index(reference), whole]
        for place, theirs in zip(fixed, means[:, whole], strict=True):
            if rows[place].method != reference:
                p_values[place] = float(stats.wilcoxon(ours, theirs).pvalue)
    k, n = len(fixed), int(whole.sum())
    critical = np.nan
    if k > 1 and n:
        studentized = stats.studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2)
        critical = float(studentized * np.sqrt(k * (k + 1) / (6 * n)))
    return Block(preprocessing, tuple(rows), ranks, tuple(p_values), critical)
