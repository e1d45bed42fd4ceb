"""The command ``ilspace demo``, run in this process on few rows."""

import csv
import re
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from ilspace import __version__
from ilspace.benchmark import digits_demo
from ilspace.benchmark.digits_demo import EXPERIMENTS, METHODS
from ilspace.cli import _demo_output, main
from ilspace.cli.app import app

pytestmark = pytest.mark.usefixtures("mnist_once")

PICTURES = [
    "convergence.png",
    "latent-different-widths.png",
    "latent-semi-supervised.png",
    "latent-unsupervised.png",
]


def run(output, *options):
    command = ["demo", "--trials", "1", "--quick", "--output", str(output), *options]
    return CliRunner().invoke(app, command)


@pytest.fixture(scope="module")
def shown(tmp_path_factory, mnist_once):
    output = tmp_path_factory.mktemp("demo") / "made" / "here"
    result = run(output)
    assert result.exit_code == 0, result.output
    return output, result


def test_files_are_there_and_whole(shown):
    output, _ = shown
    assert sorted(path.name for path in output.iterdir()) == [
        *PICTURES,
        "results.csv",
        "summary.md",
    ]
    for name in PICTURES:
        content = (output / name).read_bytes()
        assert content.startswith(b"\x89PNG\r\n\x1a\n")
        assert content.endswith(b"IEND\xaeB`\x82")
        assert len(content) > 10_000
    summary = (output / "summary.md").read_text(encoding="utf-8")
    assert all(f"]({name})" in summary for name in PICTURES)


def test_the_last_line_is_the_folder(shown):
    output, result = shown
    assert result.stdout.splitlines()[-1] == str(output)


def test_progress_is_not_on_standard_output(shown):
    _, result = shown
    assert f"{len(EXPERIMENTS)}/{len(EXPERIMENTS)}" in result.stderr
    assert "━" not in result.stdout


def test_table_and_csv_agree(shown):
    output, result = shown
    with open(output / "results.csv", newline="", encoding="utf-8") as stream:
        records = list(csv.DictReader(stream))
    lines = [line for line in result.stdout.splitlines() if re.match(r"\s+(digits|mnist)\b", line)]
    assert len(lines) == len(EXPERIMENTS)
    for line, experiment in zip(lines, EXPERIMENTS, strict=True):
        found = {
            record["method"]: float(record["accuracy"])
            for record in records
            if (record["setting"], record["source"]) == (experiment.setting, experiment.source)
        }
        best = max(found.values())
        expected = [
            f"{'*' * (found[method] == best)}{found[method]:.1f}" if method in found else "–"
            for method in METHODS
        ]
        assert line.strip().startswith(experiment.transfer)
        assert line.split()[-len(METHODS) :] == expected


def test_no_adaptation_is_impossible_between_different_widths(shown):
    output, _ = shown
    with open(output / "results.csv", newline="", encoding="utf-8") as stream:
        methods = {
            record["method"]
            for record in csv.DictReader(stream)
            if record["source_columns"] != record["target_columns"]
        }
    assert methods == {"target only", "ILS"}


def test_ils_sees_more_than_chance(shown):
    output, _ = shown
    with open(output / "results.csv", newline="", encoding="utf-8") as stream:
        found = [float(r["accuracy"]) for r in csv.DictReader(stream) if r["method"] == "ILS"]
    assert np.min(found) > 30  # of ten classes; a guess is right in 10 %


@pytest.mark.slow
def test_same_seed_same_files_and_an_old_folder_is_reused(shown, tmp_path):
    output, result = shown
    (tmp_path / "results.csv").write_text("old")
    (tmp_path / "other").write_text("stays")
    again = run(tmp_path)
    assert again.exit_code == 0
    assert (tmp_path / "other").read_text() == "stays"
    for path in output.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name
    assert again.stdout.splitlines()[:-1] == result.stdout.splitlines()[:-1]


def test_another_seed_draws_other_rows(monkeypatch, tmp_path):
    seeds = []

    def refuse(*_, seed, **__):
        seeds.append(seed)
        raise KeyboardInterrupt

    monkeypatch.setattr(digits_demo, "draw_parts", refuse)
    for seed in ("0", "7"):
        run(tmp_path, "--seed", seed)
    assert seeds == [(0, 0, 0), (7, 0, 0)]


def test_interrupt_leaves_nothing(monkeypatch, tmp_path):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(_demo_output, "run_experiments", interrupt)
    result = run(tmp_path / "new")
    assert result.exit_code == 130
    assert "Interrupted" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_sentence(monkeypatch, tmp_path):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_demo_output, "run_experiments", fail)
    result = run(tmp_path / "new")
    assert result.exit_code == 1
    assert len(result.stderr.strip().splitlines()) == 2  # the progress bar, and the sentence
    assert result.stderr.endswith("No space left on device\n")


def test_output_must_not_be_a_file(tmp_path):
    (tmp_path / "taken").write_text("")
    result = run(tmp_path / "taken")
    assert result.exit_code == 2
    assert "--output" in result.stderr


@pytest.mark.parametrize("library", ["mlxtend.data", "matplotlib.figure"])
def test_a_missing_library_is_one_sentence(monkeypatch, tmp_path, library):
    monkeypatch.setitem(sys.modules, library, None)
    for name in ("ilspace.cli._demo_output", "ilspace.benchmark.pictures"):
        monkeypatch.delitem(sys.modules, name)
    command = ["demo", "--quick", "--output", str(tmp_path / "new")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 1
    last = result.stderr.splitlines()[-1]
    assert library.partition(".")[0] in last
    assert last.endswith('pip install "ilspace[demo]"')
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_missing_command_library_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    for name in ("ilspace.cli.app", "ilspace.cli.demo"):
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == (
        'The command ilspace needs typer, which is not installed: pip install "ilspace[demo]"'
    )


def test_our_own_mistakes_are_not_hidden(monkeypatch):
    monkeypatch.setitem(sys.modules, "ilspace.benchmark.pictures", None)
    monkeypatch.delitem(sys.modules, "ilspace.cli._demo_output")
    result = CliRunner().invoke(app, ["demo", "--quick"])
    assert isinstance(result.exception, ModuleNotFoundError)


@pytest.mark.parametrize(
    ("arguments", "taught"),
    [
        (["--help"], "ilspace demo"),
        (["demo", "--help"], "ilspace demo --quick --trials 2"),
        (["--version"], f"ilspace {__version__}\n"),
    ],
)
def test_help_teaches(arguments, taught):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    assert taught in result.stdout


@pytest.mark.parametrize("options", [["--trials", "0"], ["--seed", "-1"]])
def test_impossible_numbers_are_refused(options):
    assert CliRunner().invoke(app, ["demo", *options]).exit_code == 2
