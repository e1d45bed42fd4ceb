"""Plans of experiments of the paper's kind: which cells a benchmark consists of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from ilspace.benchmark.plan_entries import chosen, first_trials
from ilspace.benchmark.tasks import cell_key

FIXED = "paper"
SELECTIONS = (FIXED, "label-free", "oracle")
"""How the parameters of a method were chosen: fixed for all cells, by a criterion that sees no
target label, or on the target labels themselves."""

FULL_SOURCE = "full-source"
UNSEEN = "unseen"
SETTINGS = ("unsupervised", "semi-supervised", FULL_SOURCE, UNSEEN)
"""Which rows have labels: some or all of the source, and a few of the target if semi-supervised.
Where it is unseen, no method is given any target row, and features are scaled by source rows."""


@dataclass(frozen=True)
class Cell:
    """One fit and its score: the unit of a benchmark.

    Attributes
    ----------
    dataset, features, preprocessing, setting : str
        Data and setting.
    source, target : str
        The transfer.
    trial : int
        Index of the split, from 0.
    method : str
        Name of the method's row.
    estimator : str
        Name of its class.
    digest : str
        Digest of the method with all defaults and its revision, 16 hexadecimal digits;
        see :func:`~ilspace.benchmark.methods.method_digest`.
    parameters : mapping
        Parameters given by the plan.
    selection : str
        How they were chosen, one of `SELECTIONS`.
    grid : mapping
        Parameter grid; empty where they are fixed.
    """

    dataset: str
    features: str
    preprocessing: str
    setting: str
    source: str
    target: str
    trial: int
    method: str
    estimator: str
    digest: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    selection: str = FIXED
    grid: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, for a line of JSON."""
        plain = dict(vars(self))
        plain |= {"parameters": dict(self.parameters), "grid": dict(self.grid)}
        if not self.grid:  # as in stores that are older than choices
            del plain["grid"]
        return plain

    @property
    def key(self) -> str:
        """Unique key, as a string."""
        return cell_key(self.as_dict())

    @property
    def shared_needs(self) -> tuple[str, str]:
        """What cells have in common that fail with the same errors."""
        return self.digest, self.preprocessing

    # imported where used, for the command line reads names of plans before it needs any method

    def describe(self) -> dict[str, Any]:
        """Description of the method, see :func:`~ilspace.benchmark.methods.describe_method`."""
        from ilspace.benchmark.methods import describe_method

        return describe_method(self)

    def check(self) -> None:
        """Raise the errors that this cell, and similar ones, would fail with."""
        from ilspace.benchmark.cells import check_cell

        check_cell(self)

    def run(self) -> dict[str, Any]:
        """Fit and score, see :func:`~ilspace.benchmark.cells.run_cell`."""
        from ilspace.benchmark.cells import run_cell

        return run_cell(self)


@dataclass(frozen=True)
class Method:
    """A row of a table.

    Attributes
    ----------
    name : str
        Name of the row.
    estimator : str
        Name of a class of `ilspace` or `ilspace.baselines`.
    parameters : mapping
        Its parameters.
    selection : str
        How they were chosen, one of `SELECTIONS`.
    paper : str
        The paper's row to compare with; by default the row of the same name.
    grid : mapping
        Parameter grid, where they are not fixed.
    trials : int
        Maximum number of trials of this row; 0 for all.
    """

    name: str
    estimator: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    selection: str = FIXED
    paper: str = ""
    grid: Mapping[str, Any] = field(default_factory=dict)
    trials: int = 0


@dataclass(frozen=True)
class Plan:
    """A named grid of cells.

    Attributes
    ----------
    name, title : str
        Name and title of the experiment.
    dataset, features, setting : str
        Data and setting.
    preprocessing : tuple of str
        Preprocessings; each makes a block of the table.
    trials : int
        Number of trials.
    transfers : tuple of (str, str)
        Source and target letters.
    methods : tuple of Method
        The rows.
    paper : str
        The paper's table to compare with, or empty.
    columns : mapping
        Names of the transfers in tables, where they are not the letters side by side.
    """

    name: str
    title: str
    dataset: str
    features: str
    setting: str
    preprocessing: tuple[str, ...]
    trials: int
    transfers: tuple[tuple[str, str], ...]
    methods: tuple[Method, ...]
    paper: str = ""
    columns: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def column(self, source: str, target: str) -> str:
        """Name of a transfer in tables.

        Parameters
        ----------
        source, target : str
            The transfer.

        Returns
        -------
        str
            The letters side by side, unless the plan has a name for it.
        """
        return self.columns.get((source, target), source + target)

    @property
    def blocks(self) -> tuple[str, ...]:
        """Names of the blocks of the table: the preprocessings."""
        return self.preprocessing

    def block_of(self, cell: Mapping[str, Any]) -> str:
        """Block of a cell.

        Parameters
        ----------
        cell : mapping
            A cell as plain data.

        Returns
        -------
        str
            Its preprocessing.
        """
        return cell["preprocessing"]

    def cells(self) -> Iterable[Cell]:
        """All cells, grouped by their data.

        Yields
        ------
        Cell
            One per preprocessing, transfer, trial and method.

        Raises
        ------
        PlanError
            Where a method cannot be made.
        """
        # imported here, for the command line reads names of plans before it needs any method
        from ilspace.benchmark.methods import describe_method, method_digest

        digests = [method_digest(describe_method(method)) for method in self.methods]
        trials = range(self.trials)
        for preprocessing, transfer, trial in product(self.preprocessing, self.transfers, trials):
            data = (self.dataset, self.features, preprocessing, self.setting, *transfer, trial)
            for method, digest in zip(self.methods, digests, strict=True):
                if not method.trials or trial < method.trials:
                    spelled = (method.parameters, method.selection, method.grid)
                    yield Cell(*data, method.name, method.estimator, digest, *spelled)

    def narrowed(
        self,
        *,
        trials: int | None = None,
        methods: Sequence[str] = (),
        transfers: Sequence[str] = (),
        blocks: Sequence[str] = (),
    ) -> Plan:
        """A subset of the plan.

        Parameters
        ----------
        trials : int, optional
            Only the first trials.
        methods : sequence of str
            Only these rows, case-insensitive; all by default.
        transfers : sequence of str
            Only these, such as ``"AW"``; all by default.
        blocks : sequence of str
            Only these preprocessings; all by default.

        Returns
        -------
        Plan
            The subset.
        """
        rows = chosen(self.name, "method", methods, {each.name: each for each in self.methods})
        columns = {self.column(*each): each for each in self.transfers}
        pairs = chosen(self.name, "transfer", transfers, columns)
        kept = chosen(self.name, "preprocessing", blocks, {each: each for each in self.blocks})
        return replace(
            self,
            trials=first_trials(self.name, trials, self.trials),
            methods=tuple(rows),
            transfers=tuple(pairs),
            preprocessing=tuple(kept),
        )
