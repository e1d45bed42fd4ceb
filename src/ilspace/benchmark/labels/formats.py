"""Tables of the benchmark of labels as Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections.abc import Iterator

from ilspace.benchmark.field.formats import Sheet, latex_sheet, markdown_sheet
from ilspace.benchmark.formats import csv_lines, number
from ilspace.benchmark.labels.table import LabelsBlock, LabelsTable, compare, coverage
from ilspace.benchmark.store import outdated_sentence


def make_sheets(table: LabelsTable, block: LabelsBlock) -> Iterator[Sheet]:
    """Make the sheets of one group.

    Parameters
    ----------
    table : LabelsTable
        The table.
    block : LabelsBlock
        One of its blocks.

    Yields
    ------
    Sheet
        Accuracies and differences, then how far the estimates of accuracy hold.
    """
    plan = table.plan
    reference = next((row for row in block.rows if row.method.name == plan.reference), None)
    lines, holds = [], []
    for row in block.rows:
        compared: tuple[str, ...] = ("–", "–", "–")
        if reference is not None and row is not reference:
            found = compare(row, reference)
            numbers = number(found.difference, 2, sign=True), number(found.p_value, 4)
            compared = *numbers, ", ".join(found.worse) or "none"
        accuracies = [number(row.accuracy(n)) for n in (0, *plan.budgets)]
        lines.append((row.method.name, *accuracies, number(row.average, 2), *compared))
        said = coverage(row, plan.budgets, plan.batch)
        holds.append(
            (
                row.method.name,
                number(said.covered),
                number(said.width),
                number(said.bias, sign=True),
                number(said.error),
                number(said.gain, 2, sign=True),
                number(said.expected_gain, 2, sign=True),
                number(row.seconds),
            )
        )
    heads = ("strategy", "0", *map(str, plan.budgets), "mean", "Δ", "p", "worse on")
    yield Sheet("Accuracy on held-out target rows in %, by number of labels", heads, tuple(lines))
    heads = (
        *("strategy", "covered, %", "width", "bias", "error", "gain of a batch", "expected"),
        "seconds",
    )
    yield Sheet("Estimates of accuracy, at these numbers of labels", heads, tuple(holds))


def notes(table: LabelsTable) -> list[str]:
    """Explanations of a table, and what it lacks.

    Parameters
    ----------
    table : LabelsTable
        The table.

    Returns
    -------
    list of str
        Paragraphs.
    """
    plan = table.plan
    paragraphs = [
        f"Labels are asked for in batches of {plan.batch}, with a fit after each. Half of the "
        "target rows, drawn in each trial, are never asked about: accuracy is measured on them. "
        "Means over the pairs of a group, each over its trials; pairs where a number of labels "
        "exceeds half of the rows that may be asked about do not count there. Mean: over the "
        f"numbers of labels, without 0. Δ: mean minus that of {plan.reference or 'the reference'}; "
        "p: Wilcoxon's signed-rank test over the pairs, or over pairs and trials where there are "
        "fewer than six pairs; worse on: pairs on which the same test over the trials finds a "
        "strategy worse (one-sided, 5 %). Covered: 90 % intervals of the estimated accuracy that "
        "hold the accuracy on held-out rows; bias and error: mean and mean absolute difference of "
        "the two in points; gain: mean increase of the accuracy by a batch, and what was expected."
    ]
    few, many = plan.compared
    for block in table.blocks if many else ():
        rows = {row.method.name: row for row in block.rows}
        if plan.reference in rows and len(rows) > 1:
            others = ", ".join(
                f"{number(row.accuracy(few, having=many))} ({name})"
                for name, row in rows.items()
                if name != plan.reference
            )
            theirs = number(rows[plan.reference].accuracy(many))
            paragraphs.append(
                f"{block.group.name}, on pairs with {many} labels: {few} labels reach {others}; "
                f"{many} labels of {plan.reference} reach {theirs}."
            )
    if table.n_failed:
        paragraphs.append(f"{table.n_failed} cells failed.")
    if table.n_outdated:
        paragraphs.append(outdated_sentence(table.n_outdated, "are left out"))
    return paragraphs


def to_markdown(table: LabelsTable) -> str:
    """Table as Markdown.

    Parameters
    ----------
    table : LabelsTable
        The table.

    Returns
    -------
    str
        One section per group.
    """
    lines = [f"# {table.plan.title}"]
    for block in table.blocks:
        lines += ["", f"## {block_title(block)}"]
        for sheet in make_sheets(table, block):
            lines += markdown_sheet(sheet)
    for paragraph in notes(table):
        lines += ["", paragraph]
    return "\n".join(lines) + "\n"


def block_title(block: LabelsBlock) -> str:
    """Title of the block of a group.

    Parameters
    ----------
    block : LabelsBlock
        The block.

    Returns
    -------
    str
        Group, estimator, and how many pairs and trials have results.
    """
    n_pairs = len({pair for row in block.rows for pair, _ in row.records})
    n_trials = max(len({trial for _, trial in row.records}) for row in block.rows)
    counted = f"{n_pairs} pair{'s' * (n_pairs > 1)}, {n_trials} trial{'s' * (n_trials > 1)}"
    return f"{block.group.name} ({block.group.estimator}; {counted})"


def to_latex(table: LabelsTable) -> str:
    """Table as LaTeX, for the package booktabs.

    Parameters
    ----------
    table : LabelsTable
        The table.

    Returns
    -------
    str
        One ``tabular`` per sheet.
    """
    parts = [
        latex_sheet(sheet, block_title(block))
        for block in table.blocks
        for sheet in make_sheets(table, block)
    ]
    return "\n\n".join(parts) + "\n"


def to_csv(table: LabelsTable) -> str:
    """Table as CSV, one line per group, strategy, pair, trial and number of labels.

    Parameters
    ----------
    table : LabelsTable
        The table.

    Returns
    -------
    str
        All that was measured.
    """
    names = ["n", "accuracy", "value", "low", "high", "gain"]
    lines: list[list[str]] = [["group", "strategy", "pair", "trial", *names]]
    for block in table.blocks:
        for row in block.rows:
            for (pair, trial), record in sorted(row.records.items()):
                start = [block.group.name, row.method.name, pair, str(trial)]
                lines += [
                    [*start, *(str(step[name]) for name in names)] for step in record["steps"]
                ]
    return csv_lines(lines)


LABELS_FORMATS = {"md": to_markdown, "csv": to_csv, "latex": to_latex}
"""Formats by the name of the option."""
