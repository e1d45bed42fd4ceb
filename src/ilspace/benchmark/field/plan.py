"""Plans of the field benchmark: pairs of domains by group, settings, methods."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any

from ilspace.benchmark.plan_entries import (
    GROUPS,
    METHOD_RULES,
    METHODS,
    NAMES,
    SOME_NAMES,
    STRING,
    TRIALS,
    TRIALS_BY_GROUP,
    PlanError,
    check_entries,
    chosen,
    first_trials,
)
from ilspace.benchmark.plans import Method
from ilspace.benchmark.tasks import cell_key

MIN_TEST_ROWS = 50
"""Cells with fewer test rows are skipped."""

_SETTING = re.compile(r"(none|(?P<count>[1-9]\d*)-random)(?P<rare>-rare)?")


@dataclass(frozen=True)
class Setting:
    """Which target rows take part, and which of them have labels.

    Attributes
    ----------
    name : str
        Such as ``"none"`` or ``"30-random-rare"``.
    n_labels : int
        Random target rows that have labels; 0 for none.
    has_rare_classes : bool
        Whether every second class keeps few of its target rows.
    """

    name: str
    n_labels: int
    has_rare_classes: bool

    @property
    def is_drawn(self) -> bool:
        """Whether trials differ."""
        return self.n_labels > 0 or self.has_rare_classes

    @property
    def title(self) -> str:
        """The setting in words."""
        words = f"{self.n_labels} random target labels" if self.n_labels else "No target labels"
        return f"{words}, rare classes" if self.has_rare_classes else words


def parse_setting(name: str) -> Setting:
    """Read a setting from its name.

    Parameters
    ----------
    name : str
        ``"none"`` or ``"N-random"``, then ``"-rare"`` for rare classes.

    Returns
    -------
    Setting
        What the name says.
    """
    found = _SETTING.fullmatch(name)
    if found is None:
        raise PlanError(
            f"A setting must be none or N-random, and may end in -rare, but one is {name!r}."
        )
    return Setting(name, int(found["count"] or 0), found["rare"] is not None)


@dataclass(frozen=True)
class FieldMethod(Method):
    """A row of a table of the field benchmark.

    Attributes
    ----------
    name : str
        Name of the row.
    estimator : str
        Name of a class that fits on tables, such as ``"TableClassifier"``.
    parameters : mapping
        Its parameters.
    given_shares : bool
        Whether its parameter `class_prior` is set to the true class shares of the test rows:
        an upper bound, marked as such.
    estimates : bool
        Whether it is asked for its expected accuracy, as a :class:`~ilspace.tables.TableClassifier`
        can be; this takes five further fits.
    groups : sequence of str
        Names of the groups that it takes part in; all by default.
    """

    given_shares: bool = False
    estimates: bool = False
    groups: Sequence[str] = ()


@dataclass(frozen=True)
class FieldCell:
    """One fit on two tables, and its scores.

    Attributes
    ----------
    pair : str
        Data set, source and target, such as ``"heart/cleveland-va"``.
    setting : str
        Name of the setting.
    trial : int
        Index of the draw, from 0.
    method : FieldMethod
        The method.
    digest : str
        Digest of its description.
    """

    pair: str
    setting: str
    trial: int
    method: FieldMethod
    digest: str

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, for a line of JSON; of the method its name."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        return plain | {"method": self.method.name}

    @property
    def key(self) -> str:
        """Unique key, as a string."""
        return cell_key(self.as_dict())

    @property
    def shared_needs(self) -> tuple[str, str]:
        """What cells have in common that fail with the same errors."""
        return self.digest, self.pair.partition("/")[0]

    # imported where used, for the command line reads names of plans before it needs any method

    def describe(self) -> dict[str, Any]:
        """Description of the method, see :func:`describe_field_method`."""
        return describe_field_method(self.method)

    def check(self) -> None:
        """Raise the errors that this cell, and similar ones, would fail with."""
        from ilspace.benchmark.field.cells import check_field_cell

        check_field_cell(self)

    def run(self) -> dict[str, Any]:
        """Fit and score, see :func:`~ilspace.benchmark.field.cells.run_field_cell`."""
        from ilspace.benchmark.field.cells import run_field_cell

        return run_field_cell(self)


def describe_field_method(method: FieldMethod) -> dict[str, Any]:
    """Description of all that determines the results of a method.

    Parameters
    ----------
    method : FieldMethod
        The method.

    Returns
    -------
    dict
        That of :func:`~ilspace.benchmark.methods.describe_method`, and whether it is given shares,
        and asked for its expected accuracy.
    """
    from ilspace.benchmark.methods import describe_method

    described = describe_method(method)
    if method.given_shares and "class_prior" not in described["parameters"]:
        raise PlanError(
            f"{method.name} is given class shares, but {method.estimator} has no parameter "
            "class_prior that takes them: leave out given_shares."
        )
    if method.estimates and described["estimator"] != "TableClassifier":
        raise PlanError(
            f"{method.name} is asked for its expected accuracy, which a {method.estimator} does "
            "not know: leave out estimates."
        )
    options = {"given_shares": method.given_shares, "estimates": method.estimates}
    return described | {name: True for name, is_set in options.items() if is_set}


@dataclass(frozen=True)
class FieldPlan:
    """Pairs of domains by group, in several settings.

    Attributes
    ----------
    name, title : str
        Name and title of the experiment.
    groups : mapping of str to tuple of str
        Pairs of each group, such as ``"heart/cleveland-va"``.
    settings : tuple of Setting
        Settings; each makes a block of the table.
    trials : int
        Number of trials of settings in which something is drawn; others have one.
    methods : tuple of FieldMethod
        The rows.
    references : tuple of str
        Rows that the others are compared with.
    group_trials : mapping of str to int
        Groups with another number of trials.
    """

    name: str
    title: str
    groups: Mapping[str, tuple[str, ...]]
    settings: tuple[Setting, ...]
    trials: int
    methods: tuple[FieldMethod, ...]
    references: tuple[str, ...] = ()
    group_trials: Mapping[str, int] = field(default_factory=dict)

    @property
    def pairs(self) -> tuple[str, ...]:
        """All pairs, group after group."""
        return tuple(pair for pairs in self.groups.values() for pair in pairs)

    @property
    def blocks(self) -> tuple[str, ...]:
        """Names of the blocks of the table: the settings."""
        return tuple(each.name for each in self.settings)

    def block_of(self, cell: Mapping[str, Any]) -> str:
        """Block of a cell.

        Parameters
        ----------
        cell : mapping
            A cell as plain data.

        Returns
        -------
        str
            Its setting.
        """
        return cell["setting"]

    def cells(self) -> Iterable[FieldCell]:
        """All cells, grouped by their data.

        Yields
        ------
        FieldCell
            One per pair, setting, trial and method.

        Raises
        ------
        PlanError
            Where a method cannot be made.
        """
        from ilspace.benchmark.methods import method_digest

        digests = [method_digest(describe_field_method(method)) for method in self.methods]
        for group, pairs in self.groups.items():
            n_trials = self.group_trials.get(group, self.trials)
            for pair, setting in product(pairs, self.settings):
                for trial in range(n_trials if setting.is_drawn else 1):
                    for method, digest in zip(self.methods, digests, strict=True):
                        if not method.groups or group in method.groups:
                            yield FieldCell(pair, setting.name, trial, method, digest)

    def narrowed(
        self,
        *,
        trials: int | None = None,
        methods: Sequence[str] = (),
        transfers: Sequence[str] = (),
        blocks: Sequence[str] = (),
    ) -> FieldPlan:
        """A subset of the plan.

        Parameters
        ----------
        trials : int, optional
            Only the first trials.
        methods : sequence of str
            Only these rows, case-insensitive; all by default.
        transfers : sequence of str
            Only these pairs or groups, such as ``"heart/va-cleveland"`` or ``"tables"``.
        blocks : sequence of str
            Only these settings.

        Returns
        -------
        FieldPlan
            The subset.
        """
        rows = chosen(self.name, "method", methods, {each.name: each for each in self.methods})
        settings = chosen(self.name, "setting", blocks, {each.name: each for each in self.settings})
        known = {pair: (pair,) for pair in self.pairs} | dict(self.groups)
        pairs = {
            pair for each in chosen(self.name, "pair or group", transfers, known) for pair in each
        }
        groups = {
            name: kept
            for name, members in self.groups.items()
            if (kept := tuple(pair for pair in members if pair in pairs))
        }
        own = {name: n for name, n in self.group_trials.items() if name in groups}
        there = max((self.group_trials.get(name, self.trials) for name in groups), default=1)
        most = first_trials(self.name, trials, there)
        return replace(
            self,
            trials=min(self.trials, most),
            group_trials={name: min(n, most) for name, n in own.items()},
            methods=tuple(rows),
            settings=tuple(settings),
            groups=groups,
            references=tuple(
                each for each in self.references if each in {row.name for row in rows}
            ),
        )


_ENTRIES = {
    *("kind", "title", "trials", "group_trials", "settings", "groups", "references", "method")
}
_OPTIONAL = {"title", "group_trials", "references"}
_METHOD_ENTRIES = {"name", "estimator", "parameters", "given_shares", "estimates", "groups"}
_RULES = {
    "title": STRING,
    "trials": TRIALS,
    "group_trials": TRIALS_BY_GROUP,
    "settings": SOME_NAMES,
    "groups": GROUPS,
    "references": NAMES,
    "method": METHODS,
}
_PAIR = re.compile(r"[^/]+/[^-]+-[^-]+")


def parse_field_plan(name: str, raw: Mapping[str, Any]) -> FieldPlan:
    """Read a plan of the field benchmark.

    Parameters
    ----------
    name : str
        Its name.
    raw : mapping
        Content of its TOML file.

    Returns
    -------
    FieldPlan
        Checked.
    """
    unknown, missing = set(raw) - _ENTRIES, _ENTRIES - _OPTIONAL - set(raw)
    if unknown or missing:
        what = f"has no entry for {min(unknown)!r}" if unknown else f"lacks {min(missing)!r}"
        raise PlanError(
            f"The plan {name} {what}; one of the field benchmark may hold "
            f"{', '.join(sorted(_ENTRIES))}."
        )
    check_entries(f"the plan {name}", raw, _RULES)
    groups = {group: tuple(pairs) for group, pairs in raw["groups"].items()}
    pairs = [pair for members in groups.values() for pair in members]
    for pair in pairs:
        if _PAIR.fullmatch(pair) is None:
            raise PlanError(f"A pair must be DATASET/SOURCE-TARGET, but {name} has {pair!r}.")
    if len(set(pairs)) < len(pairs) or not pairs:
        raise PlanError(f"The groups of {name} must hold pairs, and no pair twice.")
    group_trials, methods = raw.get("group_trials", {}), []
    for entry in raw["method"]:
        if set(entry) - _METHOD_ENTRIES or not {"name", "estimator"} <= set(entry):
            raise PlanError(
                f"A [[method]] of {name} needs a name and an estimator, and may have "
                f"{', '.join(sorted(_METHOD_ENTRIES - {'name', 'estimator'}))}, but is {entry}."
            )
        check_entries(f"a [[method]] of {name}", entry, METHOD_RULES)
        methods.append(FieldMethod(**entry))
    unknown = {*group_trials, *(each for method in methods for each in method.groups)} - set(groups)
    if unknown:
        raise PlanError(
            f"The group_trials of {name}, and the groups of a [[method]], must be of its groups "
            f"{', '.join(groups)}, but name {min(unknown)!r}."
        )
    names, references = [method.name for method in methods], tuple(raw.get("references", ()))
    if len(set(names)) < len(names) or not set(references) <= set(names):
        raise PlanError(
            f"Methods of {name} must have different names, and its references be some of them, but "
            f"they are {', '.join(names)}, and {', '.join(references) or 'no references'}."
        )
    return FieldPlan(
        name,
        raw.get("title", name),
        groups,
        tuple(map(parse_setting, raw["settings"])),
        raw["trials"],
        tuple(methods),
        references,
        group_trials,
    )
