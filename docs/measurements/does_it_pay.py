"""Does it pay? Print the first table of the README, from committed results.

``python docs/measurements/does_it_pay.py`` reads ``benchmarks/field.jsonl.xz``, which ``ilspace
bench run field`` makes, and the half "report" of ``benchmarks/other-tables.csv``, which
``other_tables.py`` makes. A number that is not there yet is ⟨field⟩ or ⟨report⟩.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

from stored_results import NoSuchNumberError, StoredResults  # noqa: E402

from ilspace.benchmark.field.table import FieldTable  # noqa: E402

HEADS = ("", "gradient boosting", "logistic regression", "**ilspace**", "and 30 labels", "pairs")
FEATURES, TABLES = ("digits", "surf", "deep"), ("tables",)
SETTINGS = ("none", "30-random")
RANDOM = ("boosting", "linear", "committee")
"""Methods of the last row, in ``other-tables.csv``."""


def main() -> None:
    """Print the table."""
    sys.stdout.write(pays(ROOT / "benchmarks"))


def pays(stores: Path) -> str:
    """Table of what is gained on three kinds of data, and what it is made of.

    Parameters
    ----------
    stores : Path
        Folder of the results.

    Returns
    -------
    str
        Markdown.
    """
    lines = {
        "features of one kind: ILS": of_field(stores, FEATURES, "ils"),
        "tables measured differently: `--own-scaling`": of_field(
            stores, TABLES, "committee, own scaling"
        ),
        "tables of another population: no adaptation": of_other_tables(stores),
    }
    table = [f"| {' | '.join(HEADS)} |", "|---|--:|--:|--:|--:|--:|"]
    table += [f"| {name} | {' | '.join(cells)} |" for name, cells in lines.items()]
    boosting, _, ours, _, n = of_field(stores, FEATURES[:2], "ils")
    paragraph = (
        "Accuracy in % on target rows, mean over pairs of real domains: without target labels, and "
        "on the other rows where 30 random ones are given. First row: digits, and Office+Caltech10 "
        "with SURF and deep features; gradient boosting was not run on the 4,032 deep ones, and on "
        f"the {n} other pairs gets {boosting}, where ilspace gets {ours}. Second row: hospitals, "
        "wines, penguins, cars and students. Constants were chosen on parts of these rows. Third "
        "row: pairs drawn at random from the data sets of R, looked at once, when nothing changed "
        "any more; ours there is the mean of gradient boosting, extra trees and logistic "
        "regression."
    )
    return "\n".join([*table, "", textwrap.fill(paragraph.replace("**", ""), 110), ""])


def of_field(stores: Path, groups: tuple[str, ...], ours: str) -> list[str]:
    """Cells of a row, from the field benchmark.

    Parameters
    ----------
    stores : Path
        Folder of the results.
    groups : tuple of str
        Groups of pairs.
    ours : str
        Name of our method.

    Returns
    -------
    list of str
        Accuracies and the number of pairs: those that have enough test rows in both settings.
    """
    try:
        table = StoredResults(stores).table("field")
    except NoSuchNumberError:
        return _cells([None] * 4, None, "field")
    assert isinstance(table, FieldTable)
    blocks = {each.setting.name: each for each in table.blocks if each.setting.name in SETTINGS}
    chosen = np.logical_or.reduce([table.members(each) for each in groups])
    chosen &= np.logical_and.reduce([each.counts for each in blocks.values()])
    taking_part = {each.name: each.groups for each in table.plan.methods}
    found: list[float | None] = []
    asked = [*((SETTINGS[0], each) for each in ("boosting", "linear", ours)), (SETTINGS[1], ours)]
    for setting, method in asked:
        if taking_part[method] and not set(groups) <= set(taking_part[method]):
            found.append(np.nan)
            continue
        accuracy = blocks[setting].accuracy_of(method) if setting in blocks else None
        mean = np.nan if accuracy is None else float(accuracy[chosen].mean())
        found.append(None if np.isnan(mean) else mean)
    return _cells(found, int(chosen.sum()), "field")


def of_other_tables(stores: Path) -> list[str]:
    """Cells of the row of pairs drawn at random.

    Parameters
    ----------
    stores : Path
        Folder of the results.

    Returns
    -------
    list of str
        Accuracies and the number of pairs.
    """
    rows = pd.read_csv(stores / "other-tables.csv")
    rows = rows[rows["half"] == "report"]
    means = rows.groupby(["method", "labels"])["accuracy"].mean()
    asked = [*((each, 0) for each in RANDOM), ("committee", 30)]
    found = [float(means[each]) if each in means.index else None for each in asked]
    return _cells(found, rows["pair"].nunique() or None, "report")


def _cells(means: list[float | None], n_pairs: int | None, source: str) -> list[str]:
    """Numbers as they are printed; NaN for those that nobody measures, None for missing ones."""
    unknown = f"⟨{source}⟩"
    cells = [unknown if x is None else "–" if np.isnan(x) else f"{x:.1f}" for x in means]
    cells[2] = f"**{cells[2]}**"
    return [*cells, unknown if n_pairs is None else str(n_pairs)]


if __name__ == "__main__":
    main()
