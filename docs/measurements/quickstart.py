"""The files of docs/quickstart.md, what the commands say of them, and how right that is.

``python docs/measurements/quickstart.py FOLDER`` writes two tables made of Office+Caltech10 (SURF,
Amazon to Caltech) into a new folder, runs the commands of the page, and counts.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from ilspace.benchmark.protocols import gong_splits
from ilspace.datasets import load_office_caltech

PER_CLASS = 3
"""Labelled target rows in the second run."""


def write_tables(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Write the files; the true labels of the target, and which of them the second run is given."""
    domains = load_office_caltech("surf")
    here, there = domains["A"], domains["C"]
    rows = gong_splits("A", "C", here.y, there.y, n_trials=1)[0].source
    names = [f"word{i:03d}" for i in range(here.X.shape[1])]
    source = pd.DataFrame(here.X[rows], columns=names)
    source.insert(0, "image", [f"amazon-{i:04d}" for i in rows])
    source.assign(**{"class": here.y[rows]}).to_csv(folder / "source.csv", index=False)
    target = pd.DataFrame(there.X, columns=names)
    target.insert(0, "image", [f"caltech-{i:04d}" for i in range(len(target))])
    target.to_csv(folder / "target.csv", index=False)
    given = np.zeros(len(there.y), dtype=bool)
    for each in np.unique(there.y):
        given[np.flatnonzero(there.y == each)[:PER_CLASS]] = True
    some = pd.Series(np.where(given, there.y.astype(str), ""))
    target.assign(**{"class": some}).to_csv(folder / "target-with-some-labels.csv", index=False)
    return there.y.astype(str), given


def run(folder: Path, target: str, output: str, truth: np.ndarray, hidden: np.ndarray) -> None:
    """Run a command of the page, and count on the rows that have no label in either run."""
    command = ["adapt", "source.csv", target, "--label", "class", "-o", output]
    subprocess.run([sys.executable, "-m", "ilspace.cli", *command], cwd=folder, check=True)
    predictions = pd.read_csv(folder / output / "predictions.csv", dtype=str)
    right = {
        name: predictions[name].to_numpy() == truth for name in ("label", "adapted", "unadapted")
    }
    counts = ", ".join(f"{name} {each[hidden].mean():.1%}" for name, each in right.items())
    trusted = hidden & (predictions["trusted"] == "True").to_numpy()
    if trusted.any():
        counts += f", trusted {right['label'][trusted].mean():.1%}"
    sys.stdout.write(f"{output}: right {counts}\n\n")
    sys.stdout.flush()


def main() -> None:
    """Write the files and run the commands."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a new one")
    folder = parser.parse_args().folder
    folder.mkdir()
    truth, given = write_tables(folder)
    run(folder, "target.csv", "out", truth, ~given)
    run(folder, "target-with-some-labels.csv", "better", truth, ~given)


if __name__ == "__main__":
    main()
