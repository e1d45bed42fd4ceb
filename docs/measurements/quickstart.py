"""The files of docs/quickstart.md, what the commands say of them, and how right that is.

``python docs/measurements/quickstart.py FOLDER``, with ILSPACE_DATA set, writes tables into a new
folder (heart disease in Cleveland and Budapest, the sex of penguins of two species), runs the
commands of the page on them, and counts. The true labels serve this evaluation only.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from ilspace.datasets import load_table_domains

N_LABELS = 30
"""Target rows with a label in the second run."""


def write_tables(folder: Path, name: str, label: str, source: str, target: str) -> np.ndarray:
    """Write a source and a target with an identifier each; the true labels of the target."""
    domains = load_table_domains(name)
    for each in (source, target):
        table = domains[each].X.copy()
        table.insert(0, "id", [f"{each[0].upper()}{i:03d}" for i in range(len(table))])
        if each == source:
            table[label] = domains[each].y
        table.to_csv(folder / f"{each}.csv", index=False)
    return domains[target].y.astype(str)


def run(folder: Path, words: str, truth: np.ndarray, hidden: np.ndarray) -> None:
    """Run a command of the page, and count on the rows that have a label in no run."""
    said = words.split()
    sys.stdout.write(f"$ ilspace {words}\n")
    sys.stdout.flush()
    subprocess.run([sys.executable, "-m", "ilspace.cli", *said], cwd=folder, check=True)
    predictions = pd.read_csv(folder / said[-1] / "predictions.csv", dtype=str)
    right = predictions["label"].to_numpy() == truth
    sure = hidden & (predictions["sure"] == "True").to_numpy()
    counts = f"{right[hidden].mean():.1%} right, {right[sure].mean():.1%} of the {sure.sum()} sure"
    sys.stdout.write(f"{counts}\n\n")
    sys.stdout.flush()


def main() -> None:
    """Write the files and run the commands."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a new one")
    folder = parser.parse_args().folder
    folder.mkdir()
    truth = write_tables(folder, "heart", "disease", "cleveland", "hungarian")
    given = np.zeros(len(truth), dtype=bool)
    given[np.random.default_rng(0).permutation(len(truth))[:N_LABELS]] = True
    target = pd.read_csv(folder / "hungarian.csv")
    target.assign(disease=np.where(given, truth, "")).to_csv(folder / "labelled.csv", index=False)
    task = "adapt cleveland.csv hungarian.csv --label disease"
    run(folder, f"{task} -o out/", truth, ~given)
    run(folder, "adapt cleveland.csv labelled.csv --label disease -o better/", truth, ~given)
    truth = write_tables(folder, "penguins", "sex", "adelie", "gentoo")
    every, task = np.ones(len(truth), dtype=bool), "adapt adelie.csv gentoo.csv --label sex"
    run(folder, f"{task} -o penguins/", truth, every)
    run(folder, f"{task} --own-scaling -o own/", truth, every)


if __name__ == "__main__":
    main()
