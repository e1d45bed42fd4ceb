"""Tables of the field benchmark as Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ilspace.benchmark.field.plan import MIN_TEST_ROWS
from ilspace.benchmark.field.table import (
    MEASURES,
    FieldBlock,
    FieldRow,
    FieldTable,
    group_mean,
    is_worse,
    share_right,
)
from ilspace.benchmark.formats import csv_lines, number
from ilspace.benchmark.store import outdated_sentence


@dataclass(frozen=True)
class Sheet:
    """A small table of strings.

    Attributes
    ----------
    title : str
        What it shows.
    heads : tuple of str
        Names of the columns.
    lines : tuple of tuple of str
        Entries, row after row.
    """

    title: str
    heads: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


def make_sheets(table: FieldTable, block: FieldBlock) -> Iterator[Sheet]:
    """Make the sheets of one setting.

    Parameters
    ----------
    table : FieldTable
        The table.
    block : FieldBlock
        One of its blocks.

    Yields
    ------
    Sheet
        Scores, differences to each reference, sure rows, and expected accuracies where a method
        was asked for them.
    """
    plan = table.plan
    groups = {each: table.members(each) & block.counts for each in plan.groups}
    groups["all"] = table.members(None) & block.counts

    def sheet(
        title: str, rows: Sequence[FieldRow], entry: Callable[[FieldRow, np.ndarray], str]
    ) -> Sheet:
        heads = ("method", *(f"{name} ({chosen.sum()})" for name, chosen in groups.items()))
        lines = ((_name(row), *(entry(row, each) for each in groups.values())) for row in rows)
        return Sheet(title, heads, tuple(lines))

    def score(row: FieldRow, chosen: np.ndarray) -> str:
        digits = {"accuracy": 1, "balanced": 1, "log_loss": 2}
        means = [number(group_mean(row.means[name], chosen), n) for name, n in digits.items()]
        return " / ".join(means)

    yield sheet("Accuracy / balanced accuracy in % / log-loss", block.rows, score)
    for name in plan.references:
        theirs = block.accuracy_of(name)
        if theirs is None:
            continue

        def difference(row: FieldRow, chosen: np.ndarray, theirs: np.ndarray = theirs) -> str:
            gain = row.accuracy - theirs
            below = number(group_mean(100.0 * is_worse(gain), chosen), 0)
            return f"{number(group_mean(gain, chosen), sign=True)} / {below}"

        others = [row for row in block.rows if row.method.name != name]
        title = f"Accuracy minus that of {name} / pairs more than a point below it, %"
        yield sheet(title, others, difference)

    def sure(row: FieldRow, chosen: np.ndarray) -> str:
        share = number(group_mean(row.means["sure_share"], chosen))
        return f"{share} / {number(share_right(row, chosen))}"

    yield sheet("Sure rows, % / of them right, %", block.rows, sure)

    def expected(row: FieldRow, chosen: np.ndarray) -> str:
        held = [group_mean(row.means[name], chosen) for name in ("close", "covered")]
        errors = row.means["error"][chosen]
        known = errors[~np.isnan(errors)]  # a method may have had no number
        error = known.mean() if len(known) and not np.isnan(held[0]) else None
        return " / ".join([*(number(each, 0) for each in held), number(error)])

    asked = [row for row in block.rows if row.method.estimates]
    if asked:
        title = "Expected accuracy within 10 points, % / in the interval, % / mean error, points"
        yield sheet(title, asked, expected)


def _name(row: FieldRow) -> str:
    return f"{row.method.name} (oracle shares)" if row.method.given_shares else row.method.name


def notes(table: FieldTable) -> list[str]:
    """Explanations of a table, and what it lacks.

    Parameters
    ----------
    table : FieldTable
        The table.

    Returns
    -------
    list of str
        Paragraphs.
    """
    text = (
        "Means over the pairs of each group (their number in brackets), each over "
        f"{_trials(table)}; where nothing is drawn, over one. Balanced accuracy: mean recall over "
        "the classes of the test rows. Log-loss: probabilities of the true class below 1e-6 count "
        "as 1e-6. Sure rows: the label has a probability of 0.9 or more; of them right: of the "
        "sure rows of all pairs together. Expected accuracy: what the method says before any test "
        "label is known, with an interval of 90 %; no number counts as more than 10 points off and "
        "as not in the interval. Rare classes: in sorted order every second class keeps 15 % of "
        "its target rows, at least 10. Oracle shares: the method was given the true class shares "
        "of the test rows. A dash: there is no such number, or the method takes no part in the "
        "group."
    )
    paragraphs = [text]
    if table.skipped:
        by_pair: dict[str, list[str]] = {}
        for pair, setting, n_test in table.skipped:
            by_pair.setdefault(pair, []).append(f"{setting} {n_test}")
        listed = "; ".join(f"{pair} ({', '.join(each)})" for pair, each in by_pair.items())
        paragraphs.append(f"Skipped, with fewer than {MIN_TEST_ROWS} test rows: {listed}.")
    if table.n_failed:
        paragraphs.append(f"{table.n_failed} cells failed.")
    if table.n_outdated:
        paragraphs.append(outdated_sentence(table.n_outdated, "are left out"))
    return paragraphs


def _trials(table: FieldTable) -> str:
    """How many trials the groups have, in words."""
    counts = np.max([row.n_trials for block in table.blocks for row in block.rows] or [[0]], axis=0)
    groups: dict[int, list[str]] = {}
    for name in table.plan.groups:
        groups.setdefault(int(np.max(counts * table.members(name))), []).append(name)
    words = {n: f"{n} {'trial' if n == 1 else 'trials'}" for n in groups}
    if len(groups) == 1:
        return next(iter(words.values()))
    return " and ".join(f"{words[n]} ({', '.join(names)})" for n, names in groups.items())


def markdown_sheet(sheet: Sheet) -> list[str]:
    """Lines of Markdown.

    Parameters
    ----------
    sheet : Sheet
        What to write.

    Returns
    -------
    list of str
        Title and table, after an empty line.
    """
    return [
        *("", f"{sheet.title}:", "", f"| {' | '.join(sheet.heads)} |"),
        "|---" + "|--:" * (len(sheet.heads) - 1) + "|",
        *(f"| {' | '.join(line)} |" for line in sheet.lines),
    ]


def to_markdown(table: FieldTable) -> str:
    """Table as Markdown.

    Parameters
    ----------
    table : FieldTable
        The table.

    Returns
    -------
    str
        One section per setting.
    """
    lines = [f"# {table.plan.title}"]
    for block in table.blocks:
        lines += ["", f"## {block.setting.title}"]
        for sheet in make_sheets(table, block):
            lines += markdown_sheet(sheet)
    for paragraph in notes(table):
        lines += ["", paragraph]
    return "\n".join(lines) + "\n"


_LATEX = {"\\": "\\textbackslash{}", "Δ": "$\\Delta$", "–": "--"} | {
    each: f"\\{each}" for each in "&%$#_{}"
}


def to_latex(table: FieldTable) -> str:
    """Table as LaTeX, for the package booktabs.

    Parameters
    ----------
    table : FieldTable
        The table.

    Returns
    -------
    str
        One ``tabular`` per sheet.
    """
    parts = [
        latex_sheet(sheet, block.setting.title)
        for block in table.blocks
        for sheet in make_sheets(table, block)
    ]
    return "\n\n".join(parts) + "\n"


def latex_sheet(sheet: Sheet, title: str) -> str:
    """One ``tabular``.

    Parameters
    ----------
    sheet : Sheet
        What to write.
    title : str
        Title of the block, for a comment.

    Returns
    -------
    str
        LaTeX.
    """
    rows = [
        " & ".join("".join(_LATEX.get(c, c) for c in cell) for cell in line) + " \\\\"
        for line in (sheet.heads, *sheet.lines)
    ]
    return "\n".join(
        [
            f"% {title}: {sheet.title}",
            "\\begin{tabular}{l" + "r" * (len(sheet.heads) - 1) + "}",
            "\\toprule",
            rows[0],
            "\\midrule",
            *rows[1:],
            "\\bottomrule",
            "\\end{tabular}",
        ]
    )


def to_csv(table: FieldTable) -> str:
    """Table as CSV, one line per setting, method and pair.

    Parameters
    ----------
    table : FieldTable
        The table.

    Returns
    -------
    str
        Means over the trials; empty where none has the number.
    """
    lines: list[list[str]] = [["setting", "method", "group", "pair", "trials", *MEASURES]]
    groups = {pair: name for name, pairs in table.plan.groups.items() for pair in pairs}
    for block in table.blocks:
        for row in block.rows:
            for i in np.flatnonzero(row.n_trials).tolist():
                pair = table.plan.pairs[i]
                start = [block.setting.name, _name(row), groups[pair], pair, str(row.n_trials[i])]
                means = [row.means[name][i] for name in MEASURES]
                lines.append([*start, *("" if np.isnan(each) else f"{each:.8g}" for each in means)])
    return csv_lines(lines)


FIELD_FORMATS = {"md": to_markdown, "csv": to_csv, "latex": to_latex}
"""Formats by the name of the option."""
