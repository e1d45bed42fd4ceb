"""``ilspace adapt``: from two files to labels, a model and a report."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ilspace.cli import loading
from ilspace.cli._log import note, say
from ilspace.cli._pictures import BackboneOption, CacheOption, PicturesOption, picture_options
from ilspace.cli._refusals import refusals

if TYPE_CHECKING:
    from ilspace.tables.answer import Answer
    from ilspace.tables.job import Listener
    from ilspace.tables.learning import Step
    from ilspace.tables.results import RecordedLabels

EXAMPLES = """**Examples**

- `ilspace adapt shop-2024.csv shop-2025.csv --label class -o out`: the new file has no labels

- `ilspace adapt old.parquet new.csv --label state --id patient --class-frequencies
  sick=0.3,well=0.7 -o out`: it is known how many in the new file are sick

- `ilspace adapt clinic-a.csv clinic-b.csv --label state --own-scaling -o out`: the second clinic
  measures with another device

- `ilspace adapt north.csv south.csv west.csv --target east.csv --label class -o out`: several
  sources

- `ilspace adapt old.csv new.csv --label class --labels out -o better`: with the labels that
  `ilspace label out` recorded

- `ilspace adapt mri.csv ct.csv --label diagnosis -o out`: other columns in each file; then some
  rows of the second need a diagnosis, the others leave it blank

- `ilspace adapt old.csv measurements/ --label class -o out --dask local`: a folder of Parquet files
  that need not fit into memory

- `ilspace adapt old.parquet new.parquet --label class -o out --format parquet`: and
  predictions as Parquet

- `ilspace adapt photos-2024/ photos-2025/ -o out`: each subfolder of the first is a class

- `zcat new.csv.gz | ilspace adapt old.csv - --label class -o out --json`: for scripts

**Exit codes**

- 0: done

- 1: the results could not be written

- 2: invalid options or input; the message says what to do, and nothing is written

- 130, 143: interrupted (Ctrl-C, SIGTERM); nothing is written
"""


class Matching(enum.StrEnum):
    """Values of ``--columns``."""

    auto = "auto"
    by_name = "by-name"
    none = "none"


class Format(enum.StrEnum):
    """Values of ``--format``."""

    csv = "csv"
    parquet = "parquet"


class Kind(enum.StrEnum):
    """Values of ``--kind``."""

    auto = "auto"
    table = "table"
    features = "features"


class Scaling(enum.StrEnum):
    """Values of ``--scaling``."""

    auto = "auto"
    zscore = "zscore"
    zscore_l2 = "zscore-l2"
    sqrt_zscore_l2 = "sqrt-zscore-l2"
    l2_zscore_l2 = "l2-zscore-l2"
    l2 = "l2"
    none = "none"


def adapt(
    tables: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE TARGET",
            help="Labelled table, and table to label: CSV, Parquet, Excel, NPZ or MAT; - for "
            "standard input. Or two folders of pictures, the first with a subfolder for each "
            "class. With --target: one labelled table or more.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the results; must be new.")
    ],
    label: Annotated[
        str | None,
        typer.Option(
            help="Column of labels. If the target has it too, rows where it is not blank are "
            "labelled target rows. Not needed for folders of pictures."
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(help="Table to label; all tables before it are then sources."),
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option("--id", help="Column of identifiers, copied to the predictions. Repeatable."),
    ] = None,
    ignored: Annotated[
        list[str] | None, typer.Option("--ignore", help="Column to leave out. Repeatable.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Column to use although a rule would leave it out. Repeatable."),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of free text; columns of sentences are recognized without it. Repeatable."
        ),
    ] = None,
    kind: Annotated[
        Kind,
        typer.Option(
            help="What the tables are taken for. features: numbers of one kind, such as pixels, "
            "counts or embeddings; table: mixed columns. auto: features if all columns are numbers "
            "called x0, x1, ..., or 50 or more with numbered names or one shared range."
        ),
    ] = Kind.auto,
    own_scaling: Annotated[
        bool | None,
        typer.Option(
            "--own-scaling/--no-own-scaling",
            help="Whether numbers become ranks within their own table. For a target that was "
            "measured with another device, in another lab or unit, or of another species; not for "
            "another population measured alike. By default no, unless 20 labelled target rows say "
            "that it pays. For the committee: ils and baselines scale each table by itself anyway.",
            show_default=False,
        ),
    ] = None,
    pictures: PicturesOption = None,
    backbone: BackboneOption = "auto",
    cache: CacheOption = None,
    columns: Annotated[
        Matching,
        typer.Option(
            help="Whether columns with the same name correspond. auto: they do, unless no name is "
            "in both tables, or all names are numbers and the tables have different widths; "
            "by-name: other columns are left out; none: only labels relate the tables."
        ),
    ] = Matching.auto,
    scaling: Annotated[
        Scaling,
        typer.Option(
            help="Preprocessing for ils and baselines: sqrt of counts, zscore of columns, l2 for "
            "rows of unit norm. auto: zscore; from 50 columns on sqrt-zscore-l2 for counts, l2 for "
            "pixels and the like, else zscore-l2."
        ),
    ] = Scaling.auto,
    method: Annotated[
        str,
        typer.Option(
            help="committee: gradient boosting, extra trees and logistic regression; ils; or a "
            "class of ilspace.baselines, such as CORAL. auto: ils for features, committee for "
            "tables."
        ),
    ] = "auto",
    class_frequencies: Annotated[
        str,
        typer.Option(
            help="Class frequencies of the target: NAME=SHARE,NAME=SHARE,...; a CSV file with a "
            "class and its frequency in each line; source, as in the source; or auto, estimated "
            "for features.",
            metavar="NAME=SHARE,...|FILE|source|auto",
        ),
    ] = "auto",
    labels: Annotated[
        Path | None,
        typer.Option(
            help="Labels of target rows that `ilspace label` recorded: its file, or the folder of "
            "results that holds it."
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            help="Process a target in Parquet files, larger than memory, on a Dask cluster: local, "
            "or the address of a scheduler.",
            metavar="local|ADDRESS",
        ),
    ] = None,
    format: Annotated[
        Format, typer.Option(help="Format of the predictions: predictions.csv or .parquet.")
    ] = Format.csv,
    force: Annotated[
        bool, typer.Option("--force", help="Replace results that are in the folder.")
    ] = False,
    spreadsheet: Annotated[
        bool,
        typer.Option(
            "--spreadsheet",
            help="Put an apostrophe before labels and identifiers that a spreadsheet would take "
            "for formulas.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON on standard output.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress bar and no summary.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same results.")] = 0,
) -> None:
    """Label the rows of a table, learning from a labelled table of another domain, or several.

    Columns are matched by name, in any order. Tables of mixed columns are labelled by a committee
    of three models; features of one kind, such as pixels, by ILS. Identifiers are recognized and
    copied to the output. Tables with different columns need some labelled target rows of each
    class. Writes `predictions.csv` (identifiers; the number of the row; its label, the probability
    of the label, whether that is sure; whether the label was given), `model.skops` for `ilspace
    predict`, `report.html` to look at, and `summary.json`.
    """
    with refusals("ilspace adapt", failure="cannot write its results"):
        with loading():
            from ilspace.dask import cluster
            from ilspace.tables.job import adapt as adapt_tables
            from ilspace.tables.labels import read_class_frequencies
            from ilspace.tables.outputs import check_folder, write_outputs

        sources, target = _tables(tables, target)
        check_folder(output, force=force)
        options = picture_options(pictures, backbone, cache)
        class_prior = read_class_frequencies(class_frequencies)
        recorded = None if labels is None else _recorded(labels, dask)
        # the cluster ends after the bar, and however the job ends
        with cluster(dask), _bar(quiet) as listener:
            answer = adapt_tables(
                sources,
                target,
                label,
                method=method,
                kind=kind.value,
                own_scaling=own_scaling,
                class_prior=class_prior,
                ids=tuple(ids or ()),
                ignored=tuple(ignored or ()),
                keep=tuple(keep or ()),
                text=tuple(text or ()),
                matching=columns.value,
                scaling=scaling.value,
                random_state=seed,
                partitioned=dask is not None,
                pictures=options,
                recorded=recorded,
                listener=listener,
            )
            listener.on_stage("writing")
            summary = write_outputs(
                answer,
                output,
                force=force,
                spreadsheet=spreadsheet,
                as_parquet=format is Format.parquet,
                on_count=listener.on_count,
            )
        if as_json:
            typer.echo(json.dumps(summary, ensure_ascii=False))
        _say(answer, summary["files"][0], output, quiet=quiet)


def _tables(named: list[str], target: str | None) -> tuple[list[str], str]:
    """The sources and the target."""
    from ilspace.tables import TableError

    if target is not None:
        return named, target
    if len(named) != 2:
        many = "one table is" if len(named) == 1 else f"{len(named)} tables are"
        raise TableError(
            f"A source and a target must be named, but {many}: with several sources, name the "
            "target with --target."
        )
    return named[:1], named[1]


def _recorded(path: Path, dask: str | None) -> RecordedLabels:
    """Read the labels of ``ilspace label``."""
    from ilspace.labelling.label_file import read_recorded
    from ilspace.tables import TableError

    if dask is not None:
        raise TableError(
            "Recorded labels belong to rows of a table that is read as a whole, but --dask leaves "
            "it to workers: leave one of --labels and --dask out."
        )
    return read_recorded(path)


@contextmanager
def _bar(quiet: bool) -> Iterator[Listener]:
    """Show on standard error how far a job is."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TimeElapsedColumn

    from ilspace.tables.job import Listener

    columns = ("{task.description}", BarColumn(20), "{task.fields[known]}", TimeElapsedColumn())
    console = Console(stderr=True)
    console.quiet = quiet or not console.is_terminal  # where nothing moves, nothing is left
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None, known="")

        def stage(name: str) -> None:
            note(f"stage: {name}")
            progress.update(task, description=name, total=None, completed=0, known="")

        def step(now: Step) -> None:
            progress.update(task, known=f"{now.iteration}: {now.objective:.4g}")

        def count(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total, known=f"{done}/{total}")

        yield Listener(stage, step, count)


def _say(answer: Answer, predictions: str, output: Path, *, quiet: bool) -> None:
    """Say on standard error, and in the log, what came of a job."""
    from ilspace.tables.answer import REPORT

    places = f"Labels: {output / predictions}   to look at: {output / REPORT}"
    (note if quiet else say)("\n".join([*answer.sentences(output), places]))
