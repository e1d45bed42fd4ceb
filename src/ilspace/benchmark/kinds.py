"""The two kinds of experiments: those of the paper, and the field benchmark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ilspace.benchmark.field.plan import FieldPlan, parse_field_plan
from ilspace.benchmark.field.table import FieldTable, make_field_table
from ilspace.benchmark.plan_entries import parse_toml
from ilspace.benchmark.plans import Plan, parse_plan, read_experiment
from ilspace.benchmark.tables import Table, make_table


def load_experiment(name: str) -> Plan | FieldPlan:
    """Read an experiment of either kind.

    Parameters
    ----------
    name : str
        Name of an experiment that the package ships, or path of a TOML file; one of the field
        benchmark has the entry ``kind = "field"``.

    Returns
    -------
    Plan or FieldPlan
        Checked.
    """
    name, text = read_experiment(name)
    raw = parse_toml(name, text)
    return parse_field_plan(name, raw) if raw.get("kind") == "field" else parse_plan(name, text)


def summarise(plan: Plan | FieldPlan, records: Iterable[dict[str, Any]]) -> Table | FieldTable:
    """Make the table of an experiment.

    Parameters
    ----------
    plan : Plan or FieldPlan
        Which cells count.
    records : iterable of dict
        Results.

    Returns
    -------
    Table or FieldTable
        Without blocks if there is no result.
    """
    if isinstance(plan, FieldPlan):
        return make_field_table(plan, records)
    return make_table(plan, records)


def write_table(table: Table | FieldTable, format: str) -> str:
    """Write a table as text.

    Parameters
    ----------
    table : Table or FieldTable
        The table.
    format : {"md", "csv", "latex"}
        How.

    Returns
    -------
    str
        Content of a file.
    """
    from ilspace.benchmark.field.formats import FIELD_FORMATS
    from ilspace.benchmark.formats import FORMATS

    if isinstance(table, FieldTable):
        return FIELD_FORMATS[format](table)
    return FORMATS[format](table)
