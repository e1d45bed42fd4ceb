"""The paper's figures, drawn from the stores of the experiments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from ilspace.benchmark.plan_files import load_plan
from ilspace.benchmark.store import Store, find_results
from ilspace.benchmark.tables import Table, make_table
from ilspace.objective import SmoothHinge


class Drawing(NamedTuple):
    """A figure and what it shows.

    Attributes
    ----------
    figure : Figure
        Ready to save.
    caption : str
        Caption and alternative text.
    """

    figure: Figure
    caption: str


def _axes(title: str, x: str, y: str, panels: Sequence[str]) -> tuple[Figure, list[Any]]:
    n = max(len(panels), 1)
    figure = Figure(figsize=(5.5 * n, 4), layout="constrained")
    axes = [figure.add_subplot(1, n, i + 1) for i in range(n)]
    for each, name in zip(axes, panels or [""], strict=True):
        each.set(xlabel=x, ylabel=y, title=name)
        each.grid(alpha=0.3)
    figure.suptitle(title)
    return figure, axes[: len(panels)]


def _table_axes(table: Table, x: str, y: str) -> tuple[Figure, Any]:
    """Figure with one panel per block, and pairs of axes and block."""
    figure, axes = _axes(table.plan.title, x, y, [each.preprocessing for each in table.blocks])
    return figure, zip(axes, table.blocks, strict=True)


def draw_loss() -> Drawing:
    r"""Draw the loss of a similar and a dissimilar pair for several :math:`\beta`.

    Returns
    -------
    Drawing
        No experiment is needed.
    """
    panels = ["similar pair, margin 1", "dissimilar pair, margin 1"]
    figure, axes = _axes("The smooth hinge", "squared distance d", "loss", panels)
    distance = np.linspace(0, 2, 201)
    for ax, sign in zip(axes, (1, -1), strict=True):
        for beta in (2, 5, 10, 100):
            losses, _ = SmoothHinge(beta)(sign * (distance - 1))
            ax.plot(distance, losses, label=f"β = {beta}")
        ax.legend()
    return Drawing(
        figure, "Loss of a pair against its squared distance; large β tends to the hinge at 1."
    )


def draw_convergence(folder: Path) -> Drawing:
    """Draw the objective of each optimizer against its iterations.

    Parameters
    ----------
    folder : Path
        Where the store of the experiment ``solvers`` is.

    Returns
    -------
    Drawing
        Median over transfers and trials of the remaining fraction of the decrease.
    """
    plan = load_plan("solvers")
    runs: dict[tuple[str, str], list[np.ndarray]] = defaultdict(list)
    floors: dict[tuple, float] = {}
    found = find_results(plan.cells(), Store(folder / "solvers.jsonl").records())
    records = [each for each in found.records.values() if each.get("objective")]
    for record in records:
        case = _case(record)
        floors[case] = min(floors.get(case, np.inf), min(record["objective"]))
    for record in records:
        values, floor = np.array(record["objective"]), floors[_case(record)]
        left = (values - floor) / (values[0] - floor)
        padded = np.full(101, max(left[-1], 1e-7))
        padded[: min(len(left), 101)] = left[:101]
        cell = record["cell"]
        runs[cell["preprocessing"], cell["method"]].append(np.maximum(padded, 1e-7))
    blocks = [each for each in plan.preprocessing if any(key[0] == each for key in runs)]
    figure, axes = _axes(plan.title, "iteration", "remaining fraction of the decrease", blocks)
    for ax, preprocessing in zip(axes, blocks, strict=True):
        for method in plan.methods:
            left = runs.get((preprocessing, method.name))
            if left:
                ax.semilogy(np.median(left, axis=0), label=method.name)
        ax.legend()
    return Drawing(
        figure,
        "Remaining fraction of the objective's decrease per iteration, median over transfers and "
        "trials; lower is better.",
    )


def _case(record: dict[str, Any]) -> tuple:
    cell = record["cell"]
    return tuple(cell[name] for name in ("preprocessing", "source", "target", "trial"))


def _table(folder: Path, name: str) -> Table:
    return make_table(load_plan(name), Store(folder / f"{name}.jsonl").records())


def _bars(folder: Path, name: str) -> Figure:
    figure, panels = _table_axes(_table(folder, name), "", "accuracy in %, mean over transfers")
    for ax, block in panels:
        averages = [row.average for row in block.rows]
        ax.bar([row.method for row in block.rows], averages, color="#4477aa")
        ax.tick_params(axis="x", rotation=60)
        ax.set_ylim(max(0.0, min(averages) - 5), None)
    return figure


def draw_trade_off(folder: Path) -> Drawing:
    r"""Draw accuracy against the trade-off :math:`\lambda`.

    Parameters
    ----------
    folder : Path
        Where the store of the experiment ``trade-off`` is.

    Returns
    -------
    Drawing
        Bars, one panel per preprocessing.
    """
    figure = _bars(folder, "trade-off")
    return Drawing(figure, "Mean accuracy for several λ; at 0 there is no statistical loss.")


def draw_orthogonality(folder: Path) -> Drawing:
    """Draw accuracy with orthonormal and with free projections.

    Parameters
    ----------
    folder : Path
        Where the store of the experiment ``orthogonality`` is.

    Returns
    -------
    Drawing
        Bars, one panel per preprocessing.
    """
    figure = _bars(folder, "orthogonality")
    return Drawing(figure, "Mean accuracy with orthonormal projections and with free ones.")


def draw_subspaces(folder: Path) -> Drawing:
    """Draw what GFK and SA gain over principal axes by other source subspaces.

    Parameters
    ----------
    folder : Path
        Where the store of the experiment ``subspaces`` is.

    Returns
    -------
    Drawing
        Bars of the gain in points, one panel per preprocessing.
    """
    table = _table(folder, "subspaces")
    figure, panels = _table_axes(table, "transfer", "gain over PCA, points")
    for ax, block in panels:
        means = {row.method: row.mean for row in block.rows}
        gains = {
            name: means[name] - means[f"{name.split()[0]} PCA"]
            for name in means
            if not name.endswith("PCA") and f"{name.split()[0]} PCA" in means
        }
        place = np.arange(len(table.transfers))
        for i, (name, gain) in enumerate(gains.items()):
            label = f"{name}: {np.mean(gain):+.1f}"
            ax.bar(place + 0.2 * (i - 1.5), gain, width=0.2, label=label)
        ax.set_xticks(place, table.transfers, rotation=60)
        ax.margins(y=0.3)  # room for the legend
        ax.legend(ncols=2, loc="upper center")
    return Drawing(
        figure, "Points gained over PCA by PLS and by the W_s that ILS learned, for each transfer."
    )


def draw_poses(folder: Path) -> Drawing:
    """Draw accuracy against the pose of the face.

    Parameters
    ----------
    folder : Path
        Where the store of the experiment ``pie`` is.

    Returns
    -------
    Drawing
        One line per method; dashed, the paper's.
    """
    table = _table(folder, "pie")
    figure, panels = _table_axes(table, "pose", "accuracy in %")
    for ax, block in panels:
        for row in block.rows:
            (line,) = ax.plot(table.transfers, row.mean, marker="o", label=row.method)
            if row.paper is not None:
                ax.plot(table.transfers, row.paper, linestyle="--", color=line.get_color())
        ax.legend()
    return Drawing(figure, "Accuracy for poses ever farther from the frontal one; dashed: paper.")


FIGURES = {
    "subspaces": draw_subspaces,
    "solvers": draw_convergence,
    "trade-off": draw_trade_off,
    "orthogonality": draw_orthogonality,
    "pie": draw_poses,
}
"""Figures by the experiment whose store they need."""
