"""Self-contained HTML report of the benchmark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
from sklearn.decomposition import PCA

from ilspace.benchmark.cells import load_trial
from ilspace.benchmark.experiment_names import experiment_names
from ilspace.benchmark.field import formats as field
from ilspace.benchmark.field.plan import FieldPlan
from ilspace.benchmark.field.table import FieldTable, make_field_table
from ilspace.benchmark.kinds import AnyPlan, load_experiment
from ilspace.benchmark.labels import formats as labels_formats
from ilspace.benchmark.labels.plan import LabelsPlan
from ilspace.benchmark.labels.table import LabelsTable, make_labels_table
from ilspace.benchmark.plans import Cell, Plan
from ilspace.benchmark.store import Store, find_results, outdated_sentence
from ilspace.benchmark.tables import Block, Table, make_table, why_empty
from ilspace.estimators import ILSTransformer
from ilspace.pages import Section, chart, escaped, render_page

_INTRODUCTION = (
    "<p>Every number comes from a store of finished cells; nothing here is loaded from the "
    "network.</p>"
)


def write_report(folder: Path, *, illustrate: Cell | None = None) -> str:
    """Make the page.

    Parameters
    ----------
    folder : Path
        Where the stores are.
    illustrate : Cell, optional
        A cell whose latent space is shown before and after; it is fitted for this.

    Returns
    -------
    str
        HTML that needs nothing from the network.
    """
    sections = [
        _section(load_experiment(name), records)
        for name in experiment_names()
        if (records := list(Store(folder / f"{name}.jsonl").records()))
    ]
    if illustrate is not None:
        sections.append(_latent_space(illustrate))
    return render_page("ilspace benchmark", sections, introduction=_INTRODUCTION)


def _section(plan: AnyPlan, records: list[dict[str, Any]]) -> Section:
    if isinstance(plan, FieldPlan):
        table = make_field_table(plan, records)
        titles = [block.setting.title for block in table.blocks]
        return _in_sheets(table, titles, field.make_sheets, field.notes(table))
    if isinstance(plan, LabelsPlan):
        table = make_labels_table(plan, records)
        titles = [labels_formats.block_title(block) for block in table.blocks]
        return _in_sheets(table, titles, labels_formats.make_sheets, labels_formats.notes(table))
    return _experiment(plan, records)


def _in_sheets(
    table: FieldTable | LabelsTable,
    titles: list[str],
    make_sheets: Callable[[Any, Any], Iterable[field.Sheet]],
    notes: list[str],
) -> Section:
    plan = table.plan
    if not table.blocks:
        sentence = why_empty(table, f"{plan.name}.jsonl", f"ilspace bench run {plan.name}")
        return Section(plan.name, plan.title, f"<p>{escaped(sentence)}</p>")
    parts = []
    for title, block in zip(titles, table.blocks, strict=True):
        parts.append(f"<h3>{escaped(title)}</h3>")
        for sheet in make_sheets(table, block):
            head = "".join(f'<th scope="col">{escaped(each)}</th>' for each in sheet.heads)
            lines = "".join(
                f'<tr><th scope="row">{escaped(line[0])}</th>'
                f"{''.join(f'<td>{escaped(each)}</td>' for each in line[1:])}</tr>"
                for line in sheet.lines
            )
            parts.append(
                f'<div class="wide"><table><caption>{escaped(sheet.title)}</caption>'
                f"<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"
            )
    parts += [f"<p>{escaped(each)}</p>" for each in notes]
    return Section(plan.name, plan.title, "".join(parts))


def _experiment(plan: Plan, records: list[dict[str, Any]]) -> Section:
    table = make_table(plan, records)
    records = list(find_results(plan.cells(), records).records.values())
    if not records:
        sentence = why_empty(table, f"{plan.name}.jsonl", f"ilspace bench run {plan.name}")
        return Section(plan.name, plan.title, f"<p>{escaped(sentence)}</p>")
    parts = []
    for block in table.blocks:
        parts.append(f"<h3>Preprocessing {escaped(block.preprocessing)}</h3>")
        parts.append(_sortable(table, block))
        parts.append(chart(_by_transfer(table, block), f"{plan.title}, {block.preprocessing}"))
    if any(record.get("objective") for record in records) and plan.name == "solvers":
        parts.append(chart(_objectives(plan, records), "Objective against iterations"))
    parts.append(_how(table, records))
    return Section(plan.name, plan.title, "".join(parts))


def _sortable(table: Table, block: Block) -> str:
    heads = ["method", *table.transfers, "mean", "paper", "Δ", "rank", "p"]
    lines = []
    for i, row in enumerate(block.rows):
        printed = None if row.paper is None else float(np.mean(row.paper))
        others = (row.average, printed, row.difference, block.ranks[i], block.p_values[i])
        cells = "".join([*map(_cell, row.mean, row.std), *map(_cell, others)])
        lines.append(f'<tr><th scope="row">{escaped(row.method)}</th>{cells}</tr>')
    head = "".join(
        f'<th scope="col"><button type="button">{escaped(each)}</button></th>' for each in heads
    )
    caption = (
        f"Accuracy in %, mean over {min(row.n_trials for row in block.rows)} trials or more; hover "
        "for the standard deviation, click a heading to sort."
    )
    return (
        f'<div class="wide"><table class="sortable"><caption>{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _cell(number: float | None, std: float = np.nan) -> str:
    if number is None or np.isnan(number):
        return '<td data-value="">–</td>'
    title = "" if np.isnan(std) else f' title="± {std:.2f}"'
    return f'<td data-value="{number:.6g}"{title}>{number:.2f}</td>'


def _by_transfer(table: Table, block: Block) -> go.Figure:
    figure = go.Figure()
    for row in block.rows:
        deviation = [None if np.isnan(each) else float(each) for each in row.std]
        figure.add_bar(
            name=row.method,
            x=list(table.transfers),
            y=[None if np.isnan(each) else round(float(each), 3) for each in row.mean],
            error_y={"type": "data", "array": deviation, "thickness": 1},
        )
    figure.update_layout(barmode="group", yaxis_title="accuracy in %")
    return figure


def _objectives(plan: Plan, records: list[dict[str, Any]]) -> go.Figure:
    figure = go.Figure()
    for method in plan.methods:
        own = [each for each in records if each["cell"]["method"] == method.name]
        runs = [each["objective"] for each in own if each.get("objective")]
        if runs:
            length = max(map(len, runs))
            padded = np.array([run + run[-1:] * (length - len(run)) for run in runs])
            figure.add_scatter(y=np.median(padded, axis=0).tolist(), name=method.name)
    figure.update_layout(xaxis_title="iteration", yaxis_title="objective, median over cells")
    return figure


def _how(table: Table, records: list[dict[str, Any]]) -> str:
    """How the numbers of an experiment were made."""
    plan = table.plan
    outdated = ""
    if table.n_outdated:
        outdated = f" {escaped(outdated_sentence(table.n_outdated, 'are left out'))}"
    versions = {json.dumps(each.get("versions", {}), sort_keys=True) for each in records}
    listed = "".join(
        f"<li>{escaped(', '.join(f'{k} {v}' for k, v in json.loads(each).items()))}</li>"
        for each in sorted(versions)
    )
    methods = "".join(
        f"<li><b>{escaped(each.name)}</b>: {escaped(each.estimator)}"
        f"({escaped(', '.join(f'{k}={v!r}' for k, v in each.parameters.items()))}), parameters: "
        f"{escaped(each.selection)}</li>"
        for each in plan.methods
    )
    failed = sum(each.get("error") is not None for each in records)
    unsettled = sum(not each.get("converged", True) for each in records)
    seconds = sum(each.get("fit_seconds") or 0 for each in records)
    return (
        "<details><summary>How these numbers were made</summary>"
        f"<p>Command: <code>ilspace bench run {escaped(plan.name)}</code>. Data: "
        f"{escaped(plan.dataset)}, {escaped(plan.features)}, {escaped(plan.setting)}. "
        f"{len(records)} records, {failed} failed, {unsettled} with a convergence warning, "
        f"{seconds:.0f} s of fitting.{outdated}</p><ul>{methods}</ul><p>Versions:</p>"
        f"<ul>{listed}</ul>"
        "</details>"
    )


def _latent_space(cell: Cell) -> Section:
    (X, y, Xt, given), (_, yt) = load_trial(cell)
    parts = []
    for title, options in (("before", {"max_iter": 0}), ("after", {})):
        settings: dict[str, Any] = dict(cell.parameters) | options
        fitted = ILSTransformer(**settings).fit(X, y, Xt, given)
        latent = [fitted.transform(X, domain="source"), fitted.transform(Xt)]
        plane = PCA(2).fit(latent[0])
        figure = go.Figure()
        # the test rows come last, after the labelled ones
        truth = [y, np.concatenate([given[given >= 0], yt]) if given is not None else yt]
        for name, rows, labels, symbol in zip(
            ("source", "target"), latent, truth, ("circle", "x"), strict=True
        ):
            places = plane.transform(rows)
            figure.add_scatter(
                x=places[:, 0].round(4).tolist(),
                y=places[:, 1].round(4).tolist(),
                mode="markers",
                name=name,
                marker={
                    "symbol": symbol,
                    "size": 6,
                    "color": np.searchsorted(np.unique(y), labels).tolist(),
                    "colorscale": "Turbo",
                },
                text=[f"{name}, class {label}" for label in labels],
                hoverinfo="text",
            )
        parts.append(f"<h3>{title.capitalize()} the optimization</h3>")
        parts.append(chart(figure, f"Latent space {title}: {cell.source} to {cell.target}"))
    title = f"The latent space of {cell.source} → {cell.target}, {cell.preprocessing}"
    note = "<p>Plane of the source's leading principal axes; colours are true classes.</p>"
    return Section("latent-space", title, note + "".join(parts))
