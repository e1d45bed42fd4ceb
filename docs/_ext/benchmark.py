"""Tables, figures and single numbers of the benchmark, made from its stores at build time.

``{benchmark-table}`` and ``{benchmark-figure}`` take the name of an experiment, ``{bench}`` that of
a number, as `stored_results` explains it. A page that uses them is made anew when a store changes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole
from stored_results import NoSuchNumberError, StoredResults

from ilspace.benchmark.figures import FIGURES
from ilspace.benchmark.kinds import write_table
from ilspace.benchmark.plan_entries import PlanError
from ilspace.benchmark.store import archive_of

_PICTURES = "_generated"


def _results(env: Any, experiment: str) -> StoredResults:
    results = StoredResults(Path(env.srcdir, env.config.benchmark_stores).resolve())
    path = results.store(experiment)
    for each in (path, archive_of(path)):
        env.note_dependency(str(each))
    return results


class BenchmarkTable(SphinxDirective):
    """The table of an experiment, one block per preprocessing or setting."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Render it.

        Returns
        -------
        list of Node
            One container, which scrolls where it is too wide.
        """
        (experiment,) = self.arguments
        try:
            table = _results(self.env, experiment).table(experiment)
        except (NoSuchNumberError, PlanError) as error:
            raise self.error(str(error)) from None
        # headings would become sections of the page that shows the table
        lines = write_table(table, "md").splitlines()[1:]
        lines = [f"**{line[3:]}**" if line.startswith("## ") else line for line in lines]
        box = nodes.container(classes=["benchmark-table"])
        self.state.nested_parse(type(self.content)(lines, self.get_location()), 0, box)
        return [box]


class BenchmarkFigure(SphinxDirective):
    """The figure of an experiment."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Draw it.

        Returns
        -------
        list of Node
            The figure with its caption.
        """
        (experiment,) = self.arguments
        if experiment not in FIGURES:
            raise self.error(f"A figure is one of {', '.join(FIGURES)}, but not {experiment!r}.")
        results = _results(self.env, experiment)
        try:
            results.table(experiment)  # a figure without results would be empty
        except (NoSuchNumberError, PlanError) as error:
            raise self.error(str(error)) from None
        drawing = FIGURES[experiment](results.folder)
        place = Path(self.env.srcdir, _PICTURES, f"{experiment}.svg")
        place.parent.mkdir(exist_ok=True)
        drawing.figure.savefig(place)
        image = nodes.image(uri=f"/{_PICTURES}/{place.name}", alt=drawing.caption)
        return [nodes.figure("", image, nodes.caption(text=drawing.caption))]


class BenchmarkNumber(SphinxRole):
    """One number of a table."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Look it up.

        Returns
        -------
        nodes : list of Node
            The number as text.
        messages : list of system_message
            What is wrong with its name, if anything is.
        """
        try:
            text = _results(self.env, self.text.partition("/")[0]).text(self.text)
        except (NoSuchNumberError, PlanError) as error:
            message = self.inliner.reporter.error(str(error), line=self.lineno)
            return [nodes.problematic(text=self.text)], [message]
        return [nodes.inline(text=text, classes=["measured"])], []


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directives, the role, and the folder of the stores as a setting.

    Parameters
    ----------
    app : Sphinx
        The application.

    Returns
    -------
    dict
        That pages may be read and written in parallel.
    """
    app.add_config_value("benchmark_stores", "../benchmarks", "env", [str])
    app.add_directive("benchmark-table", BenchmarkTable)
    app.add_directive("benchmark-figure", BenchmarkFigure)
    app.add_role("bench", BenchmarkNumber())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
