"""Tables of the field benchmark as Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections.abc import Iterator
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
    recommended_accuracy,
    self_report,
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
        Scores, differences where there is something to compare with, and what methods say of
        themselves where they do.
    """
    yield _scores(table, block)
    rivals = (block.accuracy_of(table.plan.reference), block.best_unadapted())
    if any(each is not None for each in rivals):
        yield _differences(table, block, *rivals)
    reports = [(row, report) for row in block.rows if (report := self_report(row)) is not None]
    if reports:
        lines = tuple(
            (
                _name(row),
                number(report.trusted),
                number(report.trusted_right),
                str(report.misplaced),
                number(report.expected_close, 0),
                number(report.confidence_close, 0),
                number(report.shares_error),
                ", ".join(f"{word} {count}" for word, count in report.verdicts.items()) or "–",
                number(report.named, 0),
                number(report.named_right, 0),
            )
            for row, report in reports
        )
        heads = (
            "method",
            "trusted rows, %",
            "of them right, %",
            "pairs below 90 %",
            "expected accuracy within 10, % of pairs",
            "mean probability within 10, % of pairs",
            "shares, total variation, %",
            "verdicts",
            "direction named, %",
            "of these right, %",
        )
        yield Sheet("What the methods say of themselves", heads, lines)


def _name(row: FieldRow) -> str:
    return f"{row.method.name} (oracle shares)" if row.method.given_shares else row.method.name


def _groups(table: FieldTable, block: FieldBlock) -> dict[str, np.ndarray]:
    """Pairs of each group, and of all, that are not skipped."""
    groups = {each: table.members(each) & block.counts for each in table.plan.groups}
    return groups | {"all": table.members(None) & block.counts}


def _scores(table: FieldTable, block: FieldBlock) -> Sheet:
    groups = _groups(table, block)
    lines = []
    for row in block.rows:
        cells = [
            " / ".join(
                number(group_mean(row.means[name], chosen), digits)
                for name, digits in (("accuracy", 1), ("balanced", 1), ("log_loss", 2))
            )
            for chosen in groups.values()
        ]
        seconds = row.means["seconds"]
        taken = number(float(np.mean(seconds[~np.isnan(seconds)])))
        lines.append((_name(row), *cells, taken))
    heads = [f"{name} ({chosen.sum()})" for name, chosen in groups.items()]
    title = "Accuracy / balanced accuracy in % / log-loss"
    return Sheet(title, ("method", *heads, "seconds"), tuple(lines))


def _differences(
    table: FieldTable,
    block: FieldBlock,
    to_reference: np.ndarray | None,
    to_best: np.ndarray | None,
) -> Sheet:
    groups = _groups(table, block)
    first = next(iter(table.plan.groups))
    compared = {first: groups[first], "all": groups["all"]}
    missing = np.full(len(table.plan.pairs), np.nan)
    shown = []
    for row in block.rows:
        shown.append((_name(row), row.accuracy))
        recommended = recommended_accuracy(row, block.setting)
        if recommended is not None:
            shown.append((f"{_name(row)}: as recommended", recommended))
    lines = []
    for name, accuracy in shown:
        ours = accuracy - (missing if to_reference is None else to_reference)
        best = accuracy - (missing if to_best is None else to_best)
        worse = 100.0 * is_worse(ours)
        known = np.where(block.counts & ~np.isnan(ours), ours, np.inf)
        worst = int(known.argmin())
        where = "–"
        if np.isfinite(known[worst]) and name != table.plan.reference:
            where = f"{table.plan.pairs[worst]} {number(known[worst], sign=True)}"
        lines.append(
            (
                name,
                *(number(group_mean(ours, each), sign=True) for each in groups.values()),
                *(number(group_mean(best, each), sign=True) for each in compared.values()),
                where,
                *(number(group_mean(worse, each), 0) for each in compared.values()),
            )
        )
    heads = (
        "method",
        *(f"Δ {each}" for each in groups),
        *(f"Δ best, {each}" for each in compared),
        "worst pair",
        *(f"worse, % of {each}" for each in compared),
    )
    reference = table.plan.reference or "the reference"
    title = f"Accuracy minus that of {reference} (Δ) and of the best unadapted row (Δ best)"
    return Sheet(title, heads, tuple(lines))


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
        "as 1e-6. Rare classes: in sorted order every second class keeps 15 % of its target rows, "
        "at least 10. Oracle shares: the method was given the true class shares of the test rows."
    )
    plain = [m.name for m in table.plan.methods if not m.adapts and not m.given_shares]
    if plain:
        text += f" Best unadapted: for each pair the best of {', '.join(plain)}, with hindsight."
    if table.plan.reference:
        text += f" Worse: more than a point below {table.plan.reference}."
    if any(
        recommended_accuracy(row, block.setting) is not None
        for block in table.blocks
        for row in block.rows
    ):
        text += (
            " As recommended: the labels that the verdict recommends, adapted or not, which "
            "`ilspace adapt` gives."
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
        Means over the trials; of words, those of all trials.
    """
    said = {
        name
        for block in table.blocks
        for row in block.rows
        for pair in row.extras
        for each in pair
        for name in each
    }
    extras = sorted(said - {"accuracy", "n_test"})
    lines: list[list[str]] = [
        ["setting", "method", "group", "pair", "trials", *MEASURES, *extras],
    ]
    groups = {pair: name for name, pairs in table.plan.groups.items() for pair in pairs}
    for block in table.blocks:
        for row in block.rows:
            for i, pair in enumerate(table.plan.pairs):
                if row.n_trials[i]:
                    start = [block.setting.name, _name(row), groups[pair], pair]
                    numbers = [f"{row.means[name][i]:.8g}" for name in MEASURES]
                    others = [
                        _together([each[name] for each in row.extras[i] if name in each])
                        for name in extras
                    ]
                    lines.append([*start, str(row.n_trials[i]), *numbers, *others])
    return csv_lines(lines)


def _together(values: list) -> str:
    """Mean of numbers, or words one after another."""
    if not values:
        return ""
    if all(isinstance(each, (int, float)) for each in values):
        return f"{np.mean(values):.8g}"
    return " ".join(map(str, values))


FIELD_FORMATS = {"md": to_markdown, "csv": to_csv, "latex": to_latex}
"""Formats by the name of the option."""
