"""TF-IDF, sentence embeddings, and both on the benchmark's sentences: accuracy on target rows.

``python docs/measurements/sentences.py``, with the extra ``sentences`` and ILSPACE_DATA set. Half
of the rows of each table, drawn once; all see the same rows. A line per pair and one of means:
logistic regression on TF-IDF of words and pairs of words, as scikit-learn has it, and adapted and
unadapted labels for each kind of features. Then the same with
every letter replaced by another, always the same one: a language that TF-IDF reads as well as
English, and of which the embeddings know no word.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from string import ascii_lowercase, ascii_uppercase

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from ilspace.datasets import load_table_domains
from ilspace.datasets.table_domains import TableDomain
from ilspace.tables import TableClassifier

N_ROWS = 500

FEATURES = ("tfidf", "wordllama", "both")


def main() -> None:
    """Print a line per pair, and the means, in English and in a language of exchanged letters."""
    domains = load_table_domains("sentences")
    _compare(domains)
    letters = np.random.default_rng(0).permutation(list(ascii_lowercase))
    others = "".join(letters)
    exchanged = str.maketrans(ascii_lowercase + ascii_uppercase, others + others.upper())
    unknown = {
        name: replace(each, X=each.X.map(lambda text: text.translate(exchanged)))
        for name, each in domains.items()
    }
    sys.stdout.write("letters exchanged\n")
    _compare(unknown)


def _compare(domains: Mapping[str, TableDomain]) -> None:
    rng = np.random.default_rng(0)
    rows = {name: np.sort(rng.permutation(len(each.y))[:N_ROWS]) for name, each in domains.items()}
    found = []
    for source, target in itertools.permutations(domains, 2):
        (X, y), (Xt, yt) = (
            (domains[name].X.iloc[rows[name]].reset_index(drop=True), domains[name].y[rows[name]])
            for name in (source, target)
        )
        words = TfidfVectorizer(ngram_range=(1, 2))
        plain = make_pipeline(words, LogisticRegression(C=10, max_iter=1000))
        said = [plain.fit(X.squeeze(axis=1), y).score(Xt.squeeze(axis=1), yt)]
        for features in FEATURES:
            labelled = TableClassifier(text_features=features).fit(X, y, Xt).label_rows(Xt)
            said += [np.mean(labelled[each] == yt) for each in ("adapted", "unadapted")]
        found.append(said)
        _tell(f"{source} -> {target}", said)
    _tell("mean", np.mean(found, axis=0))


def _tell(name: str, shares: Iterable[float]) -> None:
    sys.stdout.write(f"{name}: {'  '.join(f'{100 * each:.1f}' for each in shares)}\n")


if __name__ == "__main__":
    main()
