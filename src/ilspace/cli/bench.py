"""``ilspace bench``: rerun the paper's experiments, and make its tables."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ilspace.benchmark.experiment_names import experiment_names
from ilspace.cli import loading
from ilspace.cli._refusals import refusals

if TYPE_CHECKING:
    from ilspace.benchmark.store import Store

FIGURES_EXAMPLES = """**Examples**

- `ilspace bench figures`: from the stores in `results` to pictures in `figures`

- `ilspace bench figures --store benchmarks --output pictures`: from the results in a clone
"""

REPORT_EXAMPLES = """**Examples**

- `ilspace bench report`: all stores in `results`, as `report.html`

- `ilspace bench report --store benchmarks --output all.html --transfer AC`: with the latent space
  of Amazon to Caltech, for which one fit is run
"""

EXAMPLES = """**Examples**

- `ilspace bench run surf-unsupervised --trials 2`, then `ilspace bench table surf-unsupervised`:
  an experiment and its table

- `ilspace bench report --store benchmarks`: one page of all results in a clone

**Environment**: `ILSPACE_DATA` is the folder of the data sets; `ilspace data list` tells which are
there.
"""

bench = typer.Typer(
    name="bench",
    no_args_is_help=True,
    help="Rerun the paper's experiments; tables of results.",
    epilog=EXAMPLES,
)

RUN_EXAMPLES = """**Examples**

- `ilspace bench run surf-unsupervised --trials 2 --methods ils,sa`: a first look

- `ilspace bench run surf-unsupervised --jobs 2`: all of it; start it again after an interruption

- `ilspace bench run field --transfers tables --blocks none`: tables without target labels

- `ilspace bench run labels --transfers deep --trials 1`: which rows to label

- `ilspace bench run my-experiment.toml --store results`: an experiment of one's own
"""
TABLE_EXAMPLES = """**Examples**

- `ilspace bench table surf-unsupervised`: Markdown, on standard output

- `ilspace bench table surf-unsupervised --format latex > table.tex`
"""

Name = Annotated[
    str,
    typer.Argument(help=f"An experiment ({', '.join(experiment_names())}), or a TOML file of one."),
]
StoreFolder = Annotated[
    Path, typer.Option("--store", file_okay=False, help="Folder of the results.")
]
Pictures = Annotated[
    Path, typer.Option("--output", "-o", file_okay=False, help="Folder for the pictures.")
]
Page = Annotated[Path, typer.Option("--output", "-o", dir_okay=False, help="The page to write.")]
Trials = Annotated[int | None, typer.Option(min=1, help="Only the first trials.")]
Methods = Annotated[str, typer.Option(help="Only these methods, separated by commas.")]
Transfers = Annotated[
    str,
    typer.Option(
        help="Only these transfers, such as AW,DA; of `field` and `labels`, groups or pairs."
    ),
]
Blocks = Annotated[
    str,
    typer.Option(
        help="Only these blocks of the table: preprocessings, settings of `field`, or groups of "
        "`labels`."
    ),
]


class Format(StrEnum):
    """Formats of tables."""

    md = "md"
    csv = "csv"
    latex = "latex"


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _store(folder: Path, name: str) -> Store:
    from ilspace.benchmark.store import Store

    return Store(folder / f"{Path(name).stem}.jsonl")


@bench.command("run", epilog=RUN_EXAMPLES)
def run(
    name: Name,
    trials: Trials = None,
    methods: Methods = "",
    transfers: Transfers = "",
    blocks: Blocks = "",
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one per core.")] = -1,
    store: StoreFolder = Path("results"),
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, or `local`.")
    ] = None,
) -> None:
    """Run an experiment, or what is left of it.

    Each result is appended to `STORE/NAME.jsonl` as soon as it is there. A run that was killed goes
    on where it stopped; a cell that failed is recorded with its error, the run goes on, and the
    next run tries it again. A cell whose result was made with other parameters, defaults included,
    or by another revision of the method, is computed anew. Exit code 1 if a cell failed, 2 if the
    options are invalid.
    """
    kept = "all finished cells are stored. Run it again to go on."
    with refusals("ilspace bench run", kept=kept):
        with loading():
            from ilspace.benchmark.kinds import load_experiment
            from ilspace.cli._bench_output import run_and_watch

        plan = load_experiment(name).narrowed(
            trials=trials,
            methods=_listed(methods),
            transfers=_listed(transfers),
            blocks=_listed(blocks),
        )
        n_failed = run_and_watch(plan, _store(store, name), jobs=jobs, dask=dask)
    if n_failed:
        raise typer.Exit(1)


@bench.command("table", epilog=TABLE_EXAMPLES)
def table(
    name: Name,
    format: Annotated[Format, typer.Option(help="Format of the table.")] = Format.md,
    trials: Trials = None,
    methods: Methods = "",
    transfers: Transfers = "",
    blocks: Blocks = "",
    store: StoreFolder = Path("results"),
) -> None:
    """Print the table of an experiment: our accuracies beside the paper's, or other methods'.

    Nothing else is printed there; standard error says how many cells are left out because their
    results were made with other parameters or by another revision of the method. The same table is
    also written as `STORE/NAME.md`, `.csv` and `.tex`.
    """
    with refusals("ilspace bench table"):
        with loading():
            from ilspace.benchmark.formats import SUFFIXES
            from ilspace.benchmark.kinds import load_experiment, summarise, write_table
            from ilspace.benchmark.plan_entries import PlanError
            from ilspace.benchmark.store import outdated_sentence
            from ilspace.benchmark.tables import why_empty
            from ilspace.storage import write_whole

        plan = load_experiment(name).narrowed(
            trials=trials,
            methods=_listed(methods),
            transfers=_listed(transfers),
            blocks=_listed(blocks),
        )
        results = _store(store, name)
        made = summarise(plan, results.records())
        if not made.blocks:
            raise PlanError(why_empty(made, str(results.path), f"ilspace bench run {name}"))
        for each, suffix in SUFFIXES.items():
            write_whole(results.path.with_suffix(suffix), write_table(made, each).encode())
    if made.n_outdated:
        remedy = f"are left out: make them anew with `ilspace bench run {name}`"
        typer.echo(outdated_sentence(made.n_outdated, remedy), err=True)
    typer.echo(write_table(made, format.value), nl=False)


@bench.command("figures", epilog=FIGURES_EXAMPLES)
def figures(store: StoreFolder = Path("results"), output: Pictures = Path("figures")) -> None:
    """Draw the paper's figures from the stores that are there.

    Writes a `.png` and a `.svg` each, prints their paths, and says on standard error which figures
    lack their experiment, or results of the current parameters and revisions of its methods.
    """
    with refusals("ilspace bench figures"):
        with loading():
            from ilspace.cli._bench_output import draw_and_write

        notes, paths = draw_and_write(store, output)
    for note in notes:
        typer.echo(note, err=True)
    for path in paths:
        typer.echo(path)


@bench.command("report", epilog=REPORT_EXAMPLES)
def report(
    store: StoreFolder = Path("results"),
    output: Page = Path("report.html"),
    transfer: Annotated[
        str, typer.Option(help="Transfer whose latent space is shown, such as AC; none if empty.")
    ] = "",
) -> None:
    """Write one HTML page: tables that sort, figures to hover, how every number was made.

    The page holds all that it needs, so it can be sent by mail and read without a network. Prints
    its path.
    """
    with refusals("ilspace bench report"):
        with loading():
            from ilspace.benchmark.plan_files import load_plan
            from ilspace.benchmark.report import write_report
            from ilspace.storage import write_whole

        cell = None
        if transfer:
            plan = load_plan("surf-unsupervised")
            plan = plan.narrowed(trials=1, methods=["ILS"], transfers=[transfer])
            cell = list(plan.cells())[-1]
        write_whole(output, write_report(store, illustrate=cell).encode())
    typer.echo(output)
