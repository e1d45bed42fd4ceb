"""Tables as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

import numpy as np

from ilspace.benchmark.plans import FIXED
from ilspace.benchmark.store import outdated_sentence
from ilspace.benchmark.tables import Block, Row, Table


def number(value: float | None, digits: int = 1, *, sign: bool = False) -> str:
    """Round a number.

    Parameters
    ----------
    value : float or None
        The number.
    digits : int, default=1
        After the point.
    sign : bool, default=False
        Whether positive numbers have one.

    Returns
    -------
    str
        A dash for None and NaN.
    """
    if value is None or np.isnan(value):
        return "–"
    return f"{value:{'+' if sign else ''}.{digits}f}"


def _places(block: Block) -> np.ndarray:
    """Place of each row, per transfer and on average: 1 best, 2 second best, 0 neither.

    Rows with selected parameters do not compete.
    """
    values = np.array([[*row.mean, row.average] for row in block.rows])
    values[[row.selection != FIXED for row in block.rows]] = np.nan
    places = np.zeros(values.shape, dtype=int)
    for column, entries in enumerate(values.T):
        known = np.unique(np.round(entries[~np.isnan(entries)], 1))[::-1]
        for rank, best in enumerate(known[:2], start=1):
            places[np.round(entries, 1) == best, column] = rank
    return places


def _notes(table: Table, block: Block) -> str:
    count = max(row.n_trials for row in block.rows)
    fewer = [f"{row.method}: {row.n_trials}" for row in block.rows if row.n_trials < count]
    exceptions = f" ({', '.join(fewer)})" if fewer else ""
    missing = f" {table.n_failed} cells failed." if table.n_failed else ""
    if table.n_outdated:
        missing += f" {outdated_sentence(table.n_outdated, 'are left out')}"
    return (
        f"Accuracy in %, mean ± sample standard deviation over {count} trials"
        f"{exceptions}; of fixed parameters the best in bold, "
        "the second best in italics. Parameters: paper = fixed for all transfers, label-free = "
        "chosen without target labels, oracle = chosen on target labels. Δ: mean minus the "
        f"paper's. Rank: mean over the transfers; differences below "
        f"{number(block.critical_difference, 2)} are not significant (Nemenyi, 5 %). p: "
        f"Wilcoxon's signed-rank test against {table.reference} over the transfers.{missing}"
    )


def to_markdown(table: Table) -> str:
    """Table as Markdown.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    str
        One section per preprocessing, with the paper's row below ours.
    """
    lines = [f"# {table.plan.title}"]
    heads = ["method", "parameters", *table.transfers, "mean", "Δ", "rank", "p"]
    for block in table.blocks:
        lines += ["", f"## {block.preprocessing}", ""]
        lines += [f"| {' | '.join(heads)} |", "|---|---" + "|--:" * (len(heads) - 2) + "|"]
        for i, (row, places) in enumerate(zip(block.rows, _places(block), strict=True)):
            cells = [
                f"{number(mean)} ± {number(std)}"
                for mean, std in zip(row.mean, row.std, strict=True)
            ]
            cells = _emphasised([*cells, number(row.average, 2)], places, ("**{}**", "*{}*"))
            cells += [number(row.difference, 2, sign=True), number(block.ranks[i], 2)]
            cells += [number(block.p_values[i], 3)]
            lines.append(f"| {row.method} | {row.selection} | {' | '.join(cells)} |")
            if row.paper is not None:
                cells = [*_printed(row.paper), "", "", ""]
                lines.append(f"| – the paper's | | {' | '.join(cells)} |")
        lines += ["", _notes(table, block)]
    return "\n".join(lines) + "\n"


def _emphasised(cells: list[str], places: np.ndarray, styles: tuple[str, str]) -> list[str]:
    """The best and the second best cell in their styles, the others as they are."""
    patterns = ("{}", *styles)
    return [patterns[place].format(cell) for cell, place in zip(cells, places, strict=True)]


def _printed(paper: np.ndarray) -> list[str]:
    """Numbers of the paper, and their mean."""
    return [*map(number, paper), number(float(np.mean(paper)), 2)]


def to_latex(table: Table) -> str:
    """Table as LaTeX, for the package booktabs.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    str
        One ``tabular`` per preprocessing.
    """
    parts = []
    heads = [f"{each[0]}$\\rightarrow${each[1:]}" for each in table.transfers]
    for block in table.blocks:
        lines = [
            f"% {table.plan.title}, {block.preprocessing}",
            "\\begin{tabular}{l" + "r" * (len(heads) + 2) + "}",
            "\\toprule",
            " & ".join(["method", *heads, "mean", "$\\Delta$"]) + " \\\\",
            "\\midrule",
        ]
        for row, places in zip(block.rows, _places(block), strict=True):
            cells = [*map(number, row.mean), number(row.average, 2)]
            cells = _emphasised(cells, places, ("\\textbf{{{}}}", "\\textit{{{}}}"))
            cells.append(number(row.difference, 2, sign=True))
            lines.append(" & ".join([row.method, *cells]).replace("–", "--") + " \\\\")
            if row.paper is not None:
                lines.append(" & ".join(["\\quad paper", *_printed(row.paper), ""]) + " \\\\")
        parts.append("\n".join([*lines, "\\bottomrule", "\\end{tabular}"]))
    return "\n\n".join(parts) + "\n"


def csv_lines(rows: Iterable[Iterable[object]]) -> str:
    """Rows as CSV.

    Parameters
    ----------
    rows : iterable of iterable
        Entries, the header first.

    Returns
    -------
    str
        One line per row.
    """
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def to_csv(table: Table) -> str:
    """Table as CSV, one line per method and transfer.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    str
        Numbers in full precision.
    """
    lines: list[list[str]] = [
        ["preprocessing", "method", "parameters", "transfer", "mean", "std", "trials", "paper"]
    ]
    for block in table.blocks:
        for row in block.rows:
            for i, transfer in enumerate(table.transfers):
                paper = "" if row.paper is None else _full(row.paper[i])
                numbers = [_full(row.mean[i]), _full(row.std[i]), str(row.n_trials), paper]
                lines.append([block.preprocessing, row.method, row.selection, transfer, *numbers])
    return csv_lines(lines)


def _full(value: float) -> str:
    return "" if np.isnan(value) else repr(float(value))


FORMATS = {"md": to_markdown, "csv": to_csv, "latex": to_latex}
"""Formats by the name of the option."""

SUFFIXES = {"md": ".md", "csv": ".csv", "latex": ".tex"}
"""File suffixes by format."""


def best_rows(block: Block, n: int = 3) -> list[Row]:
    """Rows with the highest averages.

    Parameters
    ----------
    block : Block
        A block of a table.
    n : int, default=3
        How many.

    Returns
    -------
    list of Row
        The best first.
    """
    return sorted(block.rows, key=lambda row: -np.nan_to_num(row.average, nan=-1.0))[:n]
