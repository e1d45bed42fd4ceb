"""Write the numbers of the README anew: from the stores of the benchmark, and from perf/README.md.

``python docs/measurements/front_page.py``. Pages of the docs include the same lines, and
`tests/test_readme.py` compares them with the stores. The first table is that of ``does_it_pay.py``.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs" / "_ext"), str(ROOT / "docs" / "measurements")]

from does_it_pay import pays  # noqa: E402
from stored_results import StoredResults  # noqa: E402

ROWS = {
    "SURF, unsupervised": "surf-unsupervised/sqrt-zscore-l2",
    "SURF, 3 labels per class": "surf-semisupervised/sqrt-zscore-l2",
    "SURF as in the paper, unsupervised": "surf-unsupervised/l1-zscore",
    "SURF as in the paper, 3 labels per class": "surf-semisupervised/l1-zscore",
    "deep, unsupervised": "deep-unsupervised/l2-zscore-l2",
    "deep, 3 labels per class": "deep-semisupervised/l2-zscore-l2",
}
"""Lines of the table, and where their numbers are."""

SEVERAL = {"several-sources": "sqrt-zscore-l2", "several-sources-deep": "l2-zscore-l2"}
"""Experiments with three sources, SURF and deep."""


def accuracy(results: StoredResults) -> str:
    """Table and sentences on accuracy.

    Parameters
    ----------
    results : StoredResults
        Of the experiments.

    Returns
    -------
    str
        Markdown.
    """

    def said(place: str, method: str, quantity: str = "mean") -> str:
        return results.text(f"{place}/{method}/{quantity}")

    lines = [
        "| features, target labels | no adaptation | best other method | paper's ILS | **ilspace** "
        "| first in |",
        "|---|---|---|---|---|---|",
    ]
    for name, place in ROWS.items():
        plain = "1-NN-s" if "unsupervised" in name else "1-NN-t"
        # the paper's numbers are for its own features
        published = said(place, "ILS", "paper") if "l1-zscore" in place else "–"
        cells = [said(place, plain), said(place, "best other"), published]
        cells += [f"**{said(place, 'ILS')}**", f"{said(place, 'ILS', 'firsts')}/12"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    others = {said(place, "best other", "name") for place in ROWS.values()}
    if others != {"PCA, self-training"}:
        raise SystemExit(f"The sentence on the best other method is wrong now: it is {others}.")
    several = {name: f"{name}/{how}" for name, how in SEVERAL.items()}
    ours, pooled = (
        [said(place, method) for place in several.values()] for method in ("ILS", "pooled ILS")
    )
    paragraphs = [
        "Accuracy in % on Office+Caltech10: mean over 12 transfers and 20 official draws, one set "
        "of default parameters. No adaptation is the nearest neighbour among the source's labels, "
        "or among the target's where there are some. The best other of all methods is each time "
        "our self-training rule without the latent space. The defaults were chosen by target "
        "accuracy on other draws of the same data, so new data may do worse.",
        f"With three sources: {ours[0]} (SURF) and {ours[1]} (deep), where the same method on "
        f"pooled sources gets {pooled[0]} and {pooled[1]}.",
    ]
    return "\n".join([*lines, "", "\n\n".join(textwrap.fill(each, 110) for each in paragraphs), ""])


def speed(page: str) -> str:
    """Table on speed.

    Parameters
    ----------
    page : str
        Text of ``perf/README.md``.

    Returns
    -------
    str
        Markdown.
    """

    def cell(row: str, column: int) -> str:
        found = re.search(rf"^\| {re.escape(row)} \|(.*)\|$", page, re.M)
        if found is None:
            raise SystemExit(f"perf/README.md must have the row {row!r}, but has not.")
        return found[1].split("|")[column].strip().partition(" ")[0]

    lines = [
        "| one fit, two cores | seconds |",
        "|---|--:|",
        "| 200 labelled and 1,123 unlabelled rows, 800 columns, without self-training | "
        f"{int(cell('ilspace, unsupervised', 2)) / 1000:.2f} |",
        f"| the same objective with pymanopt | {int(cell('pymanopt', 2)) / 1000:.2f} |",
        "| defaults, with self-training: 2,000 labelled and 8,000 unlabelled rows, 100 columns | "
        f"{float(cell('8,000', 0)):.0f} |",
        "| without: 1,000 labelled and 10,000,000 unlabelled rows, 64 columns | "
        f"{cell('unlabelled rows', 3)} |",
        "",
    ]
    return "\n".join(lines)


def renewed(text: str) -> str:
    """A page with the numbers of today.

    Parameters
    ----------
    text : str
        Markdown with comments that mark where numbers begin and end.

    Returns
    -------
    str
        The same page.
    """
    parts = {
        "pays": pays(ROOT / "benchmarks"),
        "accuracy": accuracy(StoredResults(ROOT / "benchmarks")),
        "speed": speed((ROOT / "perf" / "README.md").read_text()),
    }
    for name, part in parts.items():
        marked = re.compile(rf"(?<=<!-- {name}: begin -->\n).*(?=<!-- {name}: end -->)", re.S)
        text, n = marked.subn(lambda _, part=part: part, text)
        if n != 1:
            raise SystemExit(f"The page must mark once where {name} begins and ends.")
    return text


def main() -> None:
    """Put the numbers into the README."""
    page = ROOT / "README.md"
    page.write_text(renewed(page.read_text()))


if __name__ == "__main__":
    main()
