"""Plans of experiments as TOML files: those that the package ships, and one's own."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

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
)
from ilspace.benchmark.plans import FIXED, FULL_SOURCE, SELECTIONS, SETTINGS, Method, Plan
from ilspace.benchmark.protocols import TRANSFERS
from ilspace.datasets.preprocessing import STEPS


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
    methods = _methods(name, raw["method"])
    for each in raw["preprocessing"]:
        if not set(each.split("-")) <= set(STEPS):
            raise PlanError(
                f"A preprocessing must be a chain, separated by dashes, of the steps "
                f"{', '.join(STEPS)}, but {name} has {each!r}: correct it."
            )
    transfers = _transfers(name, raw.get("transfers", ["".join(each) for each in TRANSFERS]))
    columns = raw.get("columns", [])
    if columns and len(columns) != len(transfers):
        raise PlanError(
            f"The plan {name} must name each of its {len(transfers)} transfers in columns, but has "
            f"{len(columns)} names."
        )
    plain: dict[str, Any] = {"title": name} | {key: raw[key] for key in known & set(raw)}
    plain["preprocessing"] = tuple(raw["preprocessing"])
    named = dict(zip(transfers, columns, strict=False))
    return Plan(name, **plain, transfers=transfers, columns=named, methods=methods)


def _methods(name: str, entries: Sequence[Mapping[str, Any]]) -> tuple[Method, ...]:
    """Rows of a table, from the entries of a plan."""
    methods = []
    for entry in entries:
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
    return tuple(methods)


def _transfers(name: str, written: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Sources and targets, from letters side by side or names with a dash between."""
    transfers = []
    for each in written:
        ends = each.split("-") if "-" in each else [each[:1], each[1:]]
        if len(ends) != 2 or not all(ends):
            raise PlanError(
                "A transfer must be a source and a target, such as AW or amazon-webcam, but "
                f"{name} has {'-'.join(ends)!r}: correct it."
            )
        transfers.append((ends[0], ends[1]))
    return tuple(transfers)


def read_plan_file(path: Path) -> str:
    """Read the file of a plan.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    str
        Its content.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PlanError(
            f"The plan {path} must be UTF-8, but has the byte 0x{error.object[error.start]:02x}, "
            "which is not: save it as UTF-8."
        ) from None


def parse_toml(name: str, text: str) -> dict[str, Any]:
    """Read the text of a plan.

    Parameters
    ----------
    name : str
        Its name.
    text : str
        The file's content.

    Returns
    -------
    dict
        What it holds.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"The plan {name} must be TOML, but is not: {error}.") from None
    except RecursionError:
        raise PlanError(
            f"The plan {name} must be a table of a few levels, but is nested deeper than can be "
            "read: check the file."
        ) from None
