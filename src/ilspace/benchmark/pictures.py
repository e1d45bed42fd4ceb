"""Pictures of latent spaces and of convergence, as PNG; reads records, never estimators."""

from __future__ import annotations

import io
import textwrap
from collections import Counter
from collections.abc import Sequence

import numpy as np
from matplotlib import color_sequences
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from sklearn.decomposition import PCA

from ilspace.benchmark.digits_demo import Illustration, Latent, Trace

# ten colours for readers with colour-blindness: Petroff, arXiv:2107.02270
_COLOURS = color_sequences["petroff10"]
_INK = "#333333"
_MOST_ROWS = 300  # of a domain in one panel: more hide each other
_DPI = 110


def latent_picture(illustrations: Sequence[Illustration], title: str) -> bytes:
    """Draw latent spaces before and after the optimization, one row of panels per experiment.

    A panel shows its rows along the two leading principal axes of the source's class means, where
    the classes are best separated. Classes have colours; the mean of each class is marked by its
    label, of the source in a disc and of the target in a square, and a line joins the two.

    Parameters
    ----------
    illustrations : sequence of Illustration
        What to draw, of ten classes at most.
    title : str
        Title of the figure.

    Returns
    -------
    bytes
        A PNG file.
    """
    n = len(illustrations)
    figure = Figure(figsize=(11, 5.1 * n + 1.1), dpi=_DPI, layout="constrained")
    axes = figure.subplots(n, 2, squeeze=False)
    for line, (experiment, before, after) in zip(axes, illustrations, strict=True):
        _draw_latent(line[0], before, f"{experiment.transfer}: before, at the start")
        _draw_latent(line[1], after, f"{experiment.transfer}: after ILS")
    figure.suptitle(title, fontsize=14, color=_INK)
    classes = np.unique(illustrations[0].after.source_labels)
    dot = {"linestyle": "", "markersize": 7}
    handles = [
        Line2D([], [], marker="o", color=_INK, label="source row", **dot),
        Line2D([], [], marker="^", color=_INK, mfc="none", label="new target row", **dot),
        *(
            Line2D([], [], marker="s", color=colour, label=str(label), **dot)
            for label, colour in zip(classes, _COLOURS, strict=False)
        ),
    ]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=len(handles),
        frameon=False,
        title="A digit marks the mean of its class: source in a disc, target in a square",
        columnspacing=1.2,
        handletextpad=0.2,
    )
    return _png(figure)


def _draw_latent(axes: Axes, latent: Latent, title: str) -> None:
    classes = np.unique(latent.source_labels)
    pca = PCA(n_components=2, svd_solver="full")
    pca.fit([latent.source[latent.source_labels == label].mean(axis=0) for label in classes])
    source, target = pca.transform(latent.source), pca.transform(latent.target)
    for label, colour in zip(classes, _COLOURS, strict=False):
        of_source, of_target = latent.source_labels == label, latent.target_labels == label
        kept = of_target & (np.arange(len(target)) < _MOST_ROWS)
        axes.scatter(*source[of_source].T, s=16, color=colour, alpha=0.55, linewidths=0)
        axes.scatter(
            *target[kept].T, s=20, marker="^", facecolors="none", edgecolors=colour, alpha=0.8
        )
        from_source, from_target = source[of_source].mean(axis=0), target[of_target].mean(axis=0)
        axes.plot(*np.stack([from_source, from_target]).T, color=_INK, linewidth=1.6, zorder=4)
        _draw_mean(axes, from_source, label, face=colour, edge="white", shape="circle")
        _draw_mean(axes, from_target, label, face="white", edge=colour, shape="square")
    axes.set_title(f"{title}\n{latent.accuracy:.1f} % of new rows right", fontsize=11, color=_INK)
    labels = [
        f"{name} principal axis of the class means ({100 * share:.0f} %)"
        for name, share in zip(("first", "second"), pca.explained_variance_ratio_, strict=True)
    ]
    axes.set_xlabel(labels[0], color=_INK)
    axes.set_ylabel(labels[1], color=_INK)
    axes.set_aspect("equal", adjustable="datalim")
    axes.tick_params(labelbottom=False, labelleft=False, length=0)
    axes.spines[:].set_color("#bbbbbb")


def _draw_mean(axes: Axes, at: np.ndarray, label: object, *, face, edge, shape: str) -> None:
    box = {"boxstyle": f"{shape},pad=0.18", "facecolor": face, "edgecolor": edge, "lw": 1.8}
    style = {"fontsize": 10, "fontweight": "bold", "color": "black", "zorder": 5}
    x, y = map(float, at)
    axes.text(x, y, str(label), ha="center", va="center", bbox=box, **style)


def convergence_picture(traces: Sequence[Trace]) -> bytes:
    """Draw the objective against the iterations, one panel per experiment, one line per trial.

    Parameters
    ----------
    traces : sequence of Trace
        Histories of the optimizations.

    Returns
    -------
    bytes
        A PNG file.
    """
    experiments = list(dict.fromkeys(trace.experiment for trace in traces))
    n_columns = -(-len(experiments) // 2)
    figure = Figure(figsize=(4.2 * n_columns, 7.4), dpi=_DPI, layout="constrained")
    panels = figure.subplots(2, n_columns, squeeze=False).T.ravel()
    for axes, experiment in zip(panels, experiments, strict=False):
        shown = [trace for trace in traces if trace.experiment == experiment]
        for trace, colour in zip(shown, _COLOURS * len(shown), strict=False):
            axes.plot(trace.values, color=colour, linewidth=1.4, alpha=0.9)
            axes.plot(len(trace.values) - 1, trace.values[-1], marker="o", ms=5, color=colour)
        axes.set_title(f"{experiment.setting}\n{experiment.transfer}", fontsize=11, color=_INK)
        axes.text(0.97, 0.95, _reasons(shown), transform=axes.transAxes, **_NOTE)
        axes.set_xlabel("iteration", color=_INK)
        axes.set_ylabel("objective", color=_INK)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(color="#e6e6e6", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[len(experiments) :]:
        axes.set_axis_off()
    figure.suptitle(
        "Convergence: one line per trial, a dot where it stopped", fontsize=14, color=_INK
    )
    return _png(figure)


_NOTE = {"ha": "right", "va": "top", "fontsize": 9, "color": _INK, "linespacing": 1.3}


def _reasons(traces: Sequence[Trace]) -> str:
    """Why the optimizations stopped, and how often."""
    counts = Counter(trace.reason for trace in traces)
    return "\n".join(
        textwrap.fill(f"{count} of {len(traces)} stopped: {reason}", 34)
        for reason, count in counts.items()
    )


def _png(figure: Figure) -> bytes:
    stream = io.BytesIO()
    # The canvas by name: no backend is chosen for the process. No version: same run, same bytes.
    FigureCanvasAgg(figure).print_png(stream, metadata={"Software": None})
    return stream.getvalue()
