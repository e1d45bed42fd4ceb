"""TF-IDF against sentence embeddings on the benchmark's sentences: accuracy on target rows.

``python docs/measurements/sentences.py``, with the extra ``sentences`` and ILSPACE_DATA set. Half
of the rows of each table, drawn once; both kinds of text see the same rows.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable

import numpy as np

from ilspace.datasets import load_table_domains
from ilspace.tables import TableClassifier

N_ROWS = 500


def main() -> None:
    """Print a line per pair, and the means."""
    domains = load_table_domains("sentences")
    rng = np.random.default_rng(0)
    rows = {name: np.sort(rng.permutation(len(each.y))[:N_ROWS]) for name, each in domains.items()}
    found = []
    for source, target in itertools.permutations(domains, 2):
        (X, y), (Xt, yt) = (
            (domains[name].X.iloc[rows[name]].reset_index(drop=True), domains[name].y[rows[name]])
            for name in (source, target)
        )
        said = []
        for features in ("tfidf", "wordllama"):
            labelled = TableClassifier(text_features=features).fit(X, y, Xt).label_rows(Xt)
            said += [np.mean(labelled[each] == yt) for each in ("adapted", "unadapted")]
        found.append(said)
        _tell(f"{source} -> {target}", said)
    _tell("mean", np.mean(found, axis=0))


def _tell(name: str, shares: Iterable[float]) -> None:
    sys.stdout.write(f"{name}: {'  '.join(f'{100 * each:.1f}' for each in shares)}\n")


if __name__ == "__main__":
    main()
