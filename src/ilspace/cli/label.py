"""``ilspace label``: ask for the labels that matter, on a local page, in a terminal, in files."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ilspace.cli import Interruption, loading
from ilspace.cli._refusals import refusals

if TYPE_CHECKING:
    from ilspace.labelling.job import LabellingJob

EXAMPLES = """**Examples**

- `ilspace label out/`: the results of `ilspace adapt`; open the address that is printed

- `ilspace label old.csv new.csv --label class`: two files, before any adaptation

- `ilspace label out/ --terminal`: without a browser

- `ilspace label out/ --batch 20 -o to_label.csv`, then `ilspace label out/ --import to_label.csv`:
  for people who label elsewhere

- `ilspace adapt old.csv new.csv --label class --labels new.csv.labels.jsonl -o out/`: use the
  labels of the second of two files

- `ilspace label out/ --export labelled.csv`: the target with its labels, for other programs

**Exit codes**: as for `ilspace adapt`; Ctrl-C ends the page with 0, as all labels are on disk.
"""

_FIRST_MODEL = 60.0
"""Seconds for which a terminal waits for the first model; a page shows it when it is there."""


def label(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FOLDER | SOURCE TARGET",
            help="Folder of results of `ilspace adapt`, or two tables. By default this folder.",
            show_default=False,
        ),
    ] = None,
    column: Annotated[
        str | None, typer.Option("--label", help="Column of labels; with two tables.")
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option("--id", help="Column that names rows; with two tables. Repeatable."),
    ] = None,
    ignored: Annotated[
        list[str] | None,
        typer.Option("--ignore", help="Column to leave out; with two tables. Repeatable."),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(help="Column of free text; with two tables. Repeatable."),
    ] = None,
    strategy: Annotated[
        str,
        typer.Option(
            help="How rows are chosen: auto, facility-location, clue, margin, entropy, committee "
            "or random."
        ),
    ] = "auto",
    refit_after: Annotated[
        int, typer.Option(min=1, help="Answers after which the model is fitted again.")
    ] = 10,
    pictures: Annotated[
        Path | None,
        typer.Option(
            help="Folder that paths of pictures start from; nothing outside of it is shown. By "
            "default the folder of the target.",
            file_okay=False,
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the page; 0 for any that is free.")
    ] = 0,
    opened: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Ask in the terminal instead of on a page.")
    ] = False,
    batch: Annotated[
        int | None,
        typer.Option(min=1, help="Write so many rows to label elsewhere to --output, and end."),
    ] = None,
    imported: Annotated[
        Path | None,
        typer.Option("--import", help="Take labels from a file that --batch wrote, and end."),
    ] = None,
    exported: Annotated[
        Path | None,
        typer.Option("--export", help="Write the target with all labels so far, as CSV, and end."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="CSV file for --batch.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Ask for the labels of the target rows that help most, one row at a time.

    Serves a page on this computer alone, which shows each row with its pictures and texts, what
    the model guesses and how sure it is. Every answer is written at once to `labels.jsonl` in the
    folder of results, or beside the target; the next time it goes on from there. After every few
    answers the model is fitted again, in the background. At the end the results in the folder are
    written anew, from all labels.
    """
    with refusals("ilspace label", failure="cannot read or write a file"):
        with loading():
            from ilspace.active import STRATEGIES
            from ilspace.labelling.job import open_job

        _check_request(terminal, batch, imported, exported, output)
        if strategy not in ("auto", *STRATEGIES):
            raise _refused(
                f"The strategy must be one of auto, {', '.join(STRATEGIES)}, but is {strategy!r}."
            )
        named = {"ids": ids, "ignored": ignored, "text": text}
        options = {name: tuple(each) for name, each in named.items() if each}
        job = open_job(paths or [Path()], label=column, options=options)
        if imported is not None:
            _import(job, imported)
        elif batch is not None:
            assert output is not None
            again = ["ilspace", "label", *map(str, paths or ())]
            again += ["--label", column] if column is not None else []
            _write_batch(job, batch, strategy, output, again, force=force)
        elif exported is not None:
            _export(job, exported, force=force)
        else:
            page = None if terminal else {"port": port, "opened": opened}
            _sit(job, strategy, page, refit_after=refit_after, pictures=pictures)


def _check_request(terminal: bool, batch, imported, exported, output) -> None:
    """Refuse options that contradict each other."""
    named = {"--terminal": terminal, "--batch": batch, "--import": imported, "--export": exported}
    asked = [name for name, value in named.items() if value not in (None, False)]
    if len(asked) > 1:
        raise _refused(f"One thing can be done at a time, but {' and '.join(asked)} are asked for.")
    if (batch is None) != (output is None):
        raise _refused(
            "--batch and --output belong together, but one is missing: for instance --batch 20 -o "
            "to_label.csv."
        )


def _sit(
    job: LabellingJob,
    strategy: str,
    page: dict[str, Any] | None,
    *,
    refit_after: int,
    pictures: Path | None,
) -> None:
    """Label until someone has had enough."""
    from ilspace.labelling.background import LearnsInBackground
    from ilspace.labelling.session import Session

    if page is not None:
        _check_extra()
    job.open_labels()  # what is wrong with them is said before a process is started
    session = Session(
        job, LearnsInBackground(job, strategy), refit_after=refit_after, pictures=pictures
    )
    try:
        with suppress(KeyboardInterrupt, Interruption):  # the usual end
            if page is None:
                _ask_in_terminal(session)
            else:
                _serve(session, **page)
    finally:
        session.close()
    n_labels = len(session.file.answers.labels)
    counted = "1 label" if n_labels == 1 else f"{n_labels} labels"
    said = f"{counted} in {job.labels_path}." if n_labels else "No labels so far."
    typer.echo(f"{said} To go on, start ilspace label again.", err=True)
    _use(job)


def _use(job: LabellingJob) -> None:
    """Write results from all labels, where there is a folder of them; else say how it is done."""
    from ilspace.labelling.learner import write_results

    if job.folder is None:
        if job.labels_path.exists():
            where = shlex.quote(str(job.labels_path))
            typer.echo(f"To use them: ilspace adapt with --labels {where}.", err=True)
        return
    answer = write_results(job)
    if answer is not None:
        said = [f"The results in {job.folder} know all labels now.", *answer.sentences(job.folder)]
        typer.echo("\n".join(said), err=True)


def _check_extra() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"The page of ilspace label needs {error.name}, which is not installed: pip install "
            '"ilspace[label]", or use --terminal.'
        ) from None


def _serve(session, *, port: int, opened: bool) -> None:
    import webbrowser

    from ilspace.labelling.server import serve

    def tell(address: str) -> None:
        typer.echo(f"Label here: {address}\nCtrl-C ends it; every label is on disk.", err=True)
        if opened:
            webbrowser.open(address)

    serve(session, port=port, on_ready=tell)


def _ask_in_terminal(session) -> None:
    from rich.console import Console

    from ilspace.labelling.terminal import key_reader, label_in_terminal

    typer.echo("Fitting the first model …", err=True)
    session.wait(_FIRST_MODEL)
    label_in_terminal(session, read=key_reader(session), console=Console())


def _import(job: LabellingJob, path: Path) -> None:
    from ilspace.labelling.exchange import take_labels

    counts = take_labels(job, path)
    said = f"{counts['new']} new labels in {job.labels_path}"
    for name, words in (
        ("changed", "took the place of others"),
        ("known", "were known"),
        ("blank", "rows were blank"),
    ):
        if counts[name]:
            said += f"; {counts[name]} {words}"
    typer.echo(f"{said}.", err=True)
    _use(job)


def _write_batch(
    job: LabellingJob, n: int, strategy: str, output: Path, again: list[str], *, force: bool
) -> None:
    from ilspace.labelling.exchange import OTHER, choose_batch

    _check_output(output, job, force=force)
    table = choose_batch(job, n, strategy=strategy)
    _write(table, output)
    typer.echo(
        f"{len(table)} rows in {output}, the most useful first: fill in the column {job.label!r} "
        f"({', '.join(job.classes[:10])}{' …' * (len(job.classes) > 10)}, or {OTHER}), then: "
        f"{shlex.join([*again, '--import', str(output)])}",
        err=True,
    )


def _export(job: LabellingJob, path: Path, *, force: bool) -> None:
    from ilspace.labelling.exchange import labelled_table

    _check_output(path, job, force=force)
    table = labelled_table(job)
    _write(table, path)
    n_labels = int((table[job.label] != "").sum())
    *sources, _ = map(str, job.paths)
    option = " --target" if len(sources) > 1 else ""
    typer.echo(
        f"{n_labels} of {len(table)} rows of {path} have labels. Use them: ilspace adapt "
        f"{' '.join(sources)}{option} {path} --label {job.label} -o FOLDER",
        err=True,
    )


def _check_output(path: Path, job: LabellingJob, *, force: bool) -> None:
    if path.is_dir():
        raise _refused(f"The output {path} must be a file, but is a folder: name another.")
    kept = [each for each in (*job.paths, job.labels_path) if each.exists()]
    if path.exists() and any(path.samefile(each) for each in kept):
        raise _refused(
            f"The output {path} must not be a table itself, nor its labels: name another."
        )
    if path.exists() and not force:
        raise _refused(f"The output {path} must not exist, but does: name another, or add --force.")
    if not path.absolute().parent.is_dir():
        raise _refused(f"The folder {path.parent} must exist, but does not: make it.")


def _write(table, path: Path) -> None:
    from ilspace.storage import whole_file

    with whole_file(path, "w", encoding="utf-8", newline="") as stream:
        table.to_csv(stream, index=False)


def _refused(message: str) -> Exception:
    """Make the error of a wrong input; tables are imported only then."""
    from ilspace.tables.values import TableError

    return TableError(message)
