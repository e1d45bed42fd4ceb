"""How ``ilspace demo`` looks: progress on standard error, a table on standard output."""

from __future__ import annotations

from pathlib import Path

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn
from rich.table import Table

from ilspace.benchmark import digits_demo
from ilspace.benchmark.demo_report import csv_text, findings, markdown_text, protocol, summarize
from ilspace.benchmark.digits_demo import run_experiments
from ilspace.benchmark.pictures import convergence_picture, latent_picture
from ilspace.storage import output_folder, write_whole


def run_and_show(*, n_trials: int, output: Path, seed: int, quick: bool) -> None:
    """Run the experiments, print what they found, write the files."""
    sizes = digits_demo.QUICK if quick else digits_demo.FULL
    with output_folder(output):
        run = _run(n_trials, seed, sizes)
        command = f"ilspace demo --trials {n_trials} --seed {seed}{' --quick' * quick}"
        pictures = _pictures(run)
        captions = {name: caption for name, (caption, _) in pictures.items()}
        text = markdown_text(run, sizes, n_trials=n_trials, command=command, pictures=captions)
        for name, (_, png) in pictures.items():
            write_whole(output / name, png)
        write_whole(output / "results.csv", csv_text(run.records).encode())
        write_whole(output / "summary.md", text.encode())
    rows = summarize(run.records)
    console = Console(highlight=False)
    console.print(_table(rows))
    console.print(f"[dim]* highest mean. {protocol(sizes, n_trials)}[/dim]\n")
    for method, what in digits_demo.METHODS.items():
        console.print(f"[dim]{method}: {what}.[/dim]")
    console.print()
    for sentence in findings(rows, run.traces):
        console.print(sentence)
    console.print("\nThe pictures, results.csv and summary.md are in:")


def _run(n_trials: int, seed: int, sizes) -> digits_demo.DemoRun:
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("reading digits", total=n_trials * len(digits_demo.EXPERIMENTS))

        def advance(experiment: digits_demo.Experiment) -> None:
            progress.update(task, advance=1, description=experiment.setting)

        run = run_experiments(sizes, n_trials=n_trials, seed=seed, on_fit=advance)
        progress.update(task, description="drawing, writing")
    return run


def _table(rows) -> Table:
    title = "New target rows that got their true class, in %"
    table = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("source → target")
    for method in digits_demo.METHODS:
        table.add_column(method.replace(" ", "\n"), justify="right", vertical="bottom")
    setting = None
    for row in rows:
        if row.experiment.setting != setting:
            setting = row.experiment.setting
            table.add_row(f"[italic]{setting}[/italic]")
        cells = (
            f"[bold]*{row.cell(method)}[/bold]" if method in row.best else row.cell(method)
            for method in digits_demo.METHODS
        )
        table.add_row(f"  {row.experiment.transfer}", *cells)
    return table


def _pictures(run: digits_demo.DemoRun) -> dict[str, tuple[str, bytes]]:
    """PNG files by name, each with its caption."""
    pictures = {}
    for setting in dict.fromkeys(each.experiment.setting for each in run.illustrations):
        shown = [each for each in run.illustrations if each.experiment.setting == setting]
        caption = f"Latent space, {setting}: source and target before and after, first trial"
        name = f"latent-{setting.replace(' ', '-')}.png"
        pictures[name] = caption, latent_picture(shown, caption)
    caption = "Convergence: the objective against the iterations"
    pictures["convergence.png"] = caption, convergence_picture(run.traces)
    return pictures
