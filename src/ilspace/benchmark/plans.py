"""Plans of experiments: which cells a benchmark consists of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any, Protocol

from ilspace.benchmark.experiment_names import experiment_names
from ilspace.benchmark.plan_entries import (
    METHOD_RULES,
    METHODS,
    NAME,
    NAMES,
    SOME_NAMES,
    STRING,
    TRIALS,
    PlanError,
    check_entries,
    chosen,
    first_trials,
    parse_toml,
    read_plan_file,
)
from ilspace.benchmark.protocols import TRANSFERS
from ilspace.datasets.preprocessing import STEPS

FIXED = "paper"
SELECTIONS = (FIXED, "label-free", "oracle")
"""How the parameters of a method were chosen: fixed for all cells, by a criterion that sees no
target label, or on the target labels themselves."""

FULL_SOURCE = "full-source"
UNSEEN = "unseen"
SETTINGS = ("unsupervised", "semi-supervised", FULL_SOURCE, UNSEEN)
"""Which rows have labels: some or all of the source, and a few of the target if semi-supervised.
Where it is unseen, no method is given any target row, and features are scaled by source rows."""


_AS_SPELLED = frozenset({"estimator", "parameters", "selection", "grid"})
"""Entries of a cell that repeat the plan's spelling; the digest covers their meaning."""

_encoded = json.JSONEncoder(sort_keys=True).encode


def cell_key(cell: Mapping[str, Any]) -> str:
    """Unique key of a cell, as a string.

    Parameters
    ----------
    cell : mapping
        A cell as plain data.

    Returns
    -------
    str
        Equal for cells of the same data, trial, name of the method and digest, however the plan
        spells the parameters. A cell of a store that is older than digests has none, and equals
        no cell of a plan.
    """
    return _encoded({k: v for k, v in cell.items() if k not in _AS_SPELLED})


def cell_place(cell: Mapping[str, Any]) -> str:
    """Place of a cell in its table, as a string: its key without the digest.

    Parameters
    ----------
    cell : mapping
        A cell as plain data.

    Returns
    -------
    str
        Equal for cells of the same data, trial and name of the method.
    """
    return cell_key({k: v for k, v in cell.items() if k != "digest"})


class Task(Protocol):
    """A cell of either kind of experiment, as the runner and the store see it.

    Attributes
    ----------
    digest : str
        Digest of its method's description.
    """

    @property
    def digest(self) -> str:
        """Digest of its method's description."""
        ...

    @property
    def key(self) -> str:
        """Unique key, as a string."""
        ...

    @property
    def shared_needs(self) -> tuple[str, str]:
        """What cells have in common that fail with the same errors."""
        ...

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, with ``method``, the name of its row."""
        ...

    def describe(self) -> dict[str, Any]:
        """Description of the method."""
        ...

    def check(self) -> None:
        """Raise the errors that this cell, and similar ones, would fail with."""
        ...

    def run(self) -> dict[str, Any]:
        """Fit and score; the record."""
        ...


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


def load_plan(name: str) -> Plan:
    """Read a plan of the paper's kind.

    Parameters
    ----------
    name : str
        Name of an experiment that the package ships, or path of a TOML file.

    Returns
    -------
    Plan
        Checked.
    """
    return parse_plan(*read_experiment(name))


def read_experiment(name: str) -> tuple[str, str]:
    """Read the file of an experiment.

    Parameters
    ----------
    name : str
        Name of an experiment that the package ships, or path of a TOML file.

    Returns
    -------
    name, text : str
        Its name, and the content of its file.
    """
    if name in experiment_names():
        file = resources.files("ilspace.benchmark") / "experiments" / f"{name}.toml"
        return name, file.read_text(encoding="utf-8")
    path = Path(name)
    if path.suffix != ".toml" or not path.is_file():
        raise PlanError(
            f"{name!r} must be an experiment ({', '.join(experiment_names())}) or a TOML file, but "
            "is neither."
        )
    return path.stem, read_plan_file(path)


_RULES = {
    "title": STRING,
    "paper": STRING,
    "dataset": NAME,
    "features": STRING,
    "preprocessing": SOME_NAMES,
    "setting": STRING,
    "trials": TRIALS,
    "method": METHODS,
    "transfers": SOME_NAMES,
    "columns": NAMES,
}


def parse_plan(name: str, text: str) -> Plan:
    """Read a plan from the text of a TOML file.

    Parameters
    ----------
    name : str
        Its name.
    text : str
        The file's content.

    Returns
    -------
    Plan
        Checked.
    """
    raw = parse_toml(name, text)
    known = {"title", "paper", "dataset", "features", "preprocessing", "setting", "trials"}
    extra = set(raw) - known - {"method", "transfers", "columns"}
    missing = known - {"title", "paper"} - set(raw)
    if extra or missing or not raw.get("method"):
        lacking = min(missing, default="[[method]]")
        what = f"has no entry for {min(extra)!r}" if extra else f"lacks {lacking!r}"
        raise PlanError(
            f"The plan {name} {what}; it may hold "
            f"{', '.join(sorted(known | {'transfers', 'columns'}))} and a [[method]] for each row."
        )
    check_entries(f"the plan {name}", raw, _RULES)
    if raw["setting"] not in SETTINGS:
        raise PlanError(f"setting must be one of {', '.join(SETTINGS)}, got {raw['setting']!r}.")
    if raw["setting"] == FULL_SOURCE and raw["trials"] != 1:
        raise PlanError(
            f"Where the setting is {FULL_SOURCE} nothing is drawn, so trials must be 1, but {name} "
            f"has {raw['trials']}."
        )
    methods = []
    for entry in raw["method"]:
        unknown = set(entry) - {each.name for each in fields(Method)}
        if unknown or not {"name", "estimator"} <= set(entry):
            raise PlanError(
                f"A [[method]] of {name} needs a name and an estimator, and may have parameters, "
                f"selection, paper, grid and trials, but is {entry}."
            )
        check_entries(f"a [[method]] of {name}", entry, METHOD_RULES)
        method = Method(**entry)
        if method.selection not in SELECTIONS:
            raise PlanError(
                f"selection must be one of {', '.join(SELECTIONS)}, got {method.selection!r}."
            )
        if (method.selection == FIXED) == bool(method.grid):
            raise PlanError(
                f"{method.name} must have a grid if, and only if, its parameters are chosen from "
                f"it, but its selection is {method.selection!r} and its grid {dict(method.grid)}."
            )
        methods.append(replace(method, paper=method.paper or method.name))
    names = [method.name for method in methods]
    if len(set(names)) < len(names):
        raise PlanError(
            f"The methods of {name} must have different names, but they are {', '.join(names)}: "
            "rename one."
        )
    for each in raw["preprocessing"]:
        if not set(each.split("-")) <= set(STEPS):
            raise PlanError(
                f"A preprocessing must be a chain, separated by dashes, of the steps "
                f"{', '.join(STEPS)}, but {name} has {each!r}: correct it."
            )
    transfers = [
        tuple(each.split("-")) if "-" in each else (each[:1], each[1:])
        for each in raw.get("transfers", ["".join(each) for each in TRANSFERS])
    ]
    for each in transfers:
        if len(each) != 2 or not all(each):
            raise PlanError(
                "A transfer must be a source and a target, such as AW or amazon-webcam, but "
                f"{name} has {'-'.join(each)!r}: correct it."
            )
    columns = raw.get("columns", [])
    if columns and len(columns) != len(transfers):
        raise PlanError(
            f"The plan {name} must name each of its {len(transfers)} transfers in columns, but has "
            f"{len(columns)} names."
        )
    plain: dict[str, Any] = {"title": name} | {key: raw[key] for key in known & set(raw)}
    plain["preprocessing"] = tuple(raw["preprocessing"])
    named = dict(zip(transfers, columns, strict=False))
    return Plan(name, **plain, transfers=tuple(transfers), columns=named, methods=tuple(methods))
