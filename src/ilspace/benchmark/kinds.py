"""The kinds of experiments: those of the paper, the field benchmark, and that of labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ilspace.benchmark.field.plan import FieldPlan, parse_field_plan
from ilspace.benchmark.field.table import FieldTable, make_field_table
from ilspace.benchmark.labels.plan import LabelsPlan, parse_labels_plan
from ilspace.benchmark.labels.table import LabelsTable, make_labels_table
from ilspace.benchmark.plan_files import parse_plan, parse_toml, read_experiment
from ilspace.benchmark.plans import Plan
from ilspace.benchmark.tables import Table, make_table

AnyPlan = Plan | FieldPlan | LabelsPlan
AnyTable = Table | FieldTable | LabelsTable


def load_experiment(name: str) -> AnyPlan:
    """Read an experiment of any kind.

    Parameters
    ----------
    name : str
        Name of an experiment that the package ships, or path of a TOML file; one of the field
        benchmark has the entry ``kind = "field"``, one of labels ``kind = "labels"``.

    Returns
    -------
    Plan, FieldPlan or LabelsPlan
        Checked.
    """
    name, text = read_experiment(name)
    raw = parse_toml(name, text)
    if raw.get("kind") == "labels":
        return parse_labels_plan(name, raw)
    return parse_field_plan(name, raw) if raw.get("kind") == "field" else parse_plan(name, text)


def summarise(plan: AnyPlan, records: Iterable[dict[str, Any]]) -> AnyTable:
    """Make the table of an experiment.

    Parameters
    ----------
    plan : Plan, FieldPlan or LabelsPlan
        Which cells count.
    records : iterable of dict
        Results.

    Returns
    -------
    Table, FieldTable or LabelsTable
        Without blocks if there is no result.
    """
    if isinstance(plan, LabelsPlan):
        return make_labels_table(plan, records)
    if isinstance(plan, FieldPlan):
        return make_field_table(plan, records)
    return make_table(plan, records)


def write_table(table: AnyTable, format: str) -> str:
    """Write a table as text.

    Parameters
    ----------
    table : Table, FieldTable or LabelsTable
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
    from ilspace.benchmark.labels.formats import LABELS_FORMATS

    if isinstance(table, LabelsTable):
        return LABELS_FORMATS[format](table)
    if isinstance(table, FieldTable):
        return FIELD_FORMATS[format](table)
    return FORMATS[format](table)
