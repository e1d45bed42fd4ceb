"""Rows in a report, one by one: why each has its label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ilspace.pages import escaped, plain_table
from ilspace.tables.explanation import MOST_JUDGED, Explanation, described, explain_rows
from ilspace.tables.labels import LabelledTables

if TYPE_CHECKING:
    from ilspace.tables.job import Adaptation

MOST_ROWS = 5
"""Rows that are explained."""

MOST_COLUMNS = 8
"""Columns, and words of a text, that are named."""


def explained_rows(adaptation: Adaptation, rows: Sequence[int]) -> str:
    """Explain some rows.

    Parameters
    ----------
    adaptation : Adaptation
        The job.
    rows : sequence of int
        Positions of target rows.

    Returns
    -------
    str
        HTML: the first is open, the others open on demand.
    """
    tables = LabelledTables(adaptation.source, adaptation.y, adaptation.target, adaptation.yt)
    tables = tables._replace(sample_domain=adaptation.sample_domain)
    found = explain_rows(adaptation.model, tables, rows[:MOST_ROWS])
    parts = [
        f"<details{' open' * (i == 0)}><summary>{escaped(_head(each))}</summary>"
        f"{_body(each, adaptation, tables)}</details>"
        for i, each in enumerate(found)
    ]
    how = (
        "A column, or a word of a text, is judged by how much lower the probability of the label "
        "is if the entry is replaced by the mean of its column; two columns that say the same hide "
        "each other."
    )
    if len(adaptation.model.plan_.target) > MOST_JUDGED:
        how += (
            " Here groups of neighbouring columns are judged first, and the most influential are "
            "split until single columns are left."
        )
    return (
        f"<p>{how if adaptation.pictures is None else ''} For another row: <code>ilspace explain "
        "FOLDER --row NUMBER</code>, with the folder of this report.</p>" + "".join(parts)
    )


def _head(each: Explanation) -> str:
    named = f"Row {each.row + 1}"
    named += "" if each.name == f"row {each.row + 1}" else f", {each.name}"
    return f"{named}: {each.label}, {each.probability:.2f}"


def _body(each: Explanation, adaptation: Adaptation, tables: LabelledTables) -> str:
    ids = adaptation.model.plan_.ids
    said = [[name, one["label"], f"{one['probability']:.2f}"] for name, one in each.members.items()]
    if each.unadapted is not None:
        said.append(["without adaptation", each.unadapted, f"{each.unadapted_probability:.2f}"])
    parts = [plain_table(["who", "label", "probability"], said)]
    if each.neighbours:
        near = [
            [described(one, tables, ids, list(each.terms)), one.label, f"{one.distance:.3g}"]
            for one in each.neighbours
        ]
        parts.append(plain_table(["nearest labelled rows", "label", "distance"], near))
    if adaptation.pictures is None:
        heads = {"column": each.columns}
        heads |= {f"word of {name}": terms for name, terms in each.terms.items()}
        for head, found in heads.items():
            lines = [
                [one.name, f"{one.change:+.3f}", *([one.entry[:60]] * (head == "column"))]
                for one in found[:MOST_COLUMNS]
            ]
            parts.append(
                plain_table(
                    [head, f"does for {each.label}", *(["entry"] * (head == "column"))], lines
                )
            )
    return "".join(parts)
