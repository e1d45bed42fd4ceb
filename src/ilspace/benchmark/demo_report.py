"""Report of ``ilspace demo``, as text and tables; reads records, never estimators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ilspace.benchmark.digits_demo import (
    ILS,
    METHODS,
    N_LABELS,
    PREPROCESSING,
    DemoRun,
    Experiment,
    Record,
    Sizes,
    Trace,
)
from ilspace.benchmark.formats import csv_lines

ABSENT = "–"
"""Entry where a method cannot be applied."""

_COLUMNS = (
    "setting",
    "source",
    "target",
    "source_columns",
    "target_columns",
    "target_labels_per_class",
    "trial",
    "method",
    "accuracy",
    "n_iter",
    "status",
)


class Row(NamedTuple):
    """One row of the table.

    Attributes
    ----------
    experiment : Experiment
        What was tried.
    accuracies : mapping of str to array of shape (n_trials,)
        Percentages by method; a method that cannot be applied is left out.
    """

    experiment: Experiment
    accuracies: Mapping[str, np.ndarray]

    @property
    def best(self) -> frozenset[str]:
        """Methods with the highest mean."""
        means = {method: values.mean() for method, values in self.accuracies.items()}
        return frozenset(method for method in means if means[method] == max(means.values()))

    def cell(self, method: str) -> str:
        """Mean and standard deviation as a string.

        Parameters
        ----------
        method : str
            One of `METHODS`.

        Returns
        -------
        str
            Such as ``"81.2 ± 1.3"``, without deviation where there is one trial only.
        """
        if method not in self.accuracies:
            return ABSENT
        values = self.accuracies[method]
        spread = f" ± {values.std(ddof=1):.1f}" if len(values) > 1 else ""
        return f"{values.mean():.1f}{spread}"


def summarize(records: Sequence[Record]) -> tuple[Row, ...]:
    """Gather the accuracies of each experiment.

    Parameters
    ----------
    records : sequence of Record
        In any order.

    Returns
    -------
    tuple of Row
        In the order of the first record of each experiment; trials ascending.
    """
    rows: dict[Experiment, dict[str, np.ndarray]] = {each.experiment: {} for each in records}
    for record in sorted(records, key=lambda record: record.trial):
        methods = rows[record.experiment]
        methods[record.method] = np.append(methods.get(record.method, []), record.accuracy)
    return tuple(map(Row, rows, rows.values()))


def findings(rows: Sequence[Row], traces: Sequence[Trace]) -> tuple[str, ...]:
    """Summarise where adaptation helped, where it did not, and how the fits converged.

    Parameters
    ----------
    rows : sequence of Row
        The table.
    traces : sequence of Trace
        The fits.

    Returns
    -------
    tuple of str
        Sentences: one over all, one for each experiment in which another method did at least as
        well as ILS, one about convergence.
    """
    losses = [sentence for row in rows if (sentence := _where_it_did_not_help(row))]
    n_ahead = len(rows) - len(losses)
    overall = f"ILS is ahead of all others in {n_ahead} of {len(rows)} experiments."
    return overall, *losses, _convergence(traces)


def _where_it_did_not_help(row: Row) -> str:
    others = {method: values for method, values in row.accuracies.items() if method != ILS}
    rival = max(others, key=lambda method: others[method].mean())
    deficits = others[rival] - row.accuracies[ILS]
    if deficits.mean() < 0:
        return ""
    where = f"{row.experiment.setting}, {row.experiment.transfer}"
    if deficits.mean() == 0:
        return f"Adaptation did not help in {where}: ILS is level with {rival}."
    n_behind, n = np.sum(deficits > 0), len(deficits)
    often = f", and behind in {n_behind} of {n} trials" if n > 1 else ""
    return (
        f"Adaptation did not help in {where}: ILS is {deficits.mean():.1f} points behind {rival} "
        f"({METHODS[rival]}){often}."
    )


def _convergence(traces: Sequence[Trace]) -> str:
    failed = Counter(trace.reason for trace in traces if not trace.is_success)
    if not failed:
        return f"All {len(traces)} fits converged."
    reasons = "; ".join(f"{reason} ({count})" for reason, count in failed.items())
    return f"{failed.total()} of {len(traces)} fits did not converge: {reasons}."


def protocol(sizes: Sizes, n_trials: int) -> str:
    """Describe a trial in one paragraph.

    Parameters
    ----------
    sizes : Sizes
        Numbers of rows.
    n_trials : int
        Trials per experiment.

    Returns
    -------
    str
        Plain text.
    """
    spread = "mean ± sample standard deviation over" if n_trials > 1 else "from"
    return (
        f"Percentage of {sizes.n_new} new target rows, which fit never saw, that got their true "
        f"class; {spread} {n_trials} {'draws' if n_trials > 1 else 'draw'} of rows. Fit sees "
        f"{sizes.n_source} labelled source rows per class and {sizes.n_seen} target rows, "
        f"unlabelled but for {N_LABELS} per class where the setting is not unsupervised. Each row "
        "of pixels is scaled to unit length. ILS has its default parameters."
    )


def csv_text(records: Sequence[Record]) -> str:
    """Write the records as a table of one line each.

    Parameters
    ----------
    records : sequence of Record
        All of them.

    Returns
    -------
    str
        CSV with a header.
    """
    lines: list[tuple] = [_COLUMNS]
    for record in records:
        each = record.experiment
        data = (each.setting, each.source, each.target, *each.n_columns, each.n_labels)
        result = (record.method, repr(record.accuracy), record.n_iter, record.status)
        lines.append((*data, record.trial, *result))
    return csv_lines(lines)


def markdown_text(
    run: DemoRun, sizes: Sizes, *, n_trials: int, command: str, pictures: Mapping[str, str]
) -> str:
    """Write the summary as a page of Markdown.

    Parameters
    ----------
    run : DemoRun
        The results.
    sizes : Sizes
        Numbers of rows.
    n_trials : int
        Trials per experiment.
    command : str
        The command that reproduces it.
    pictures : mapping of str to str
        File names of the pictures, and what they show.

    Returns
    -------
    str
        Markdown.
    """
    rows = summarize(run.records)
    lines = [
        "# Digits of two origins, adapted to each other",
        "",
        f"Made by `{command}`.",
        protocol(sizes, n_trials),
        f"Bold: the highest mean. Preprocessing: `{PREPROCESSING}`.",
        "",
        "| setting | transfer | " + " | ".join(METHODS) + " |",
        "|---|---|" + "---:|" * len(METHODS),
    ]
    for row in rows:
        cells = [
            f"**{row.cell(method)}**" if method in row.best else row.cell(method)
            for method in METHODS
        ]
        lines.append(
            f"| {row.experiment.setting} | {row.experiment.transfer} | {' | '.join(cells)} |"
        )
    lines += ["", *(f"- {method}: {what}." for method, what in METHODS.items())]
    lines += ["", "## Findings", "", *(f"- {each}" for each in findings(rows, run.traces))]
    lines += ["", "## Pictures"]
    for name, caption in pictures.items():
        lines += ["", caption, "", f"![{caption}]({name})"]
    return "\n".join(lines) + "\n"
