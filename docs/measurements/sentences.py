"""Texts with and without the word vectors of the extra ``sentences``: accuracy on target rows.

``python docs/measurements/sentences.py``, with that extra and ILSPACE_DATA set; ``--rows 500`` for
a part of the rows of each table, drawn once. A line per pair of review sentences and one of means:
logistic regression on TF-IDF of words and pairs of words, as scikit-learn has it, our default
without word vectors, and with them. Then the same with every letter replaced by another, always the
same one: a language that n-grams read as well as English, and of which the vectors know no word.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from string import ascii_lowercase, ascii_uppercase
from unittest import mock

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from ilspace.datasets import load_table_domains
from ilspace.datasets.table_domains import TableDomain
from ilspace.tables import TableClassifier, encoding


def main() -> None:
    """Print a line per pair, and the means, in English and in a language of exchanged letters."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000, help="of each table")
    n_rows = parser.parse_args().rows
    domains = load_table_domains("sentences")
    sys.stdout.write("TF-IDF  ours  ours with word vectors\n")
    _compare(domains, n_rows)
    letters = np.random.default_rng(0).permutation(list(ascii_lowercase))
    others = "".join(letters)
    exchanged = str.maketrans(ascii_lowercase + ascii_uppercase, others + others.upper())
    unknown = {
        name: replace(each, X=each.X.map(lambda text: text.translate(exchanged)))
        for name, each in domains.items()
    }
    sys.stdout.write("letters exchanged\n")
    _compare(unknown, n_rows)


def _compare(domains: Mapping[str, TableDomain], n_rows: int) -> None:
    rng = np.random.default_rng(0)
    rows = {name: np.sort(rng.permutation(len(each.y))[:n_rows]) for name, each in domains.items()}
    found = []
    for source, target in itertools.permutations(domains, 2):
        (X, y), (Xt, yt) = (
            (domains[name].X.iloc[rows[name]].reset_index(drop=True), domains[name].y[rows[name]])
            for name in (source, target)
        )
        words = TfidfVectorizer(ngram_range=(1, 2))
        plain = make_pipeline(words, LogisticRegression(C=10, max_iter=1000))
        said = [plain.fit(X.squeeze(axis=1), y).score(Xt.squeeze(axis=1), yt)]
        with mock.patch.object(encoding, "why_unavailable", return_value="left out on purpose"):
            said.append(TableClassifier().fit(X, y, Xt).score(Xt, yt))
        said.append(TableClassifier().fit(X, y, Xt).score(Xt, yt))
        found.append(said)
        _tell(f"{source} -> {target}", said)
    _tell("mean", np.mean(found, axis=0))


def _tell(name: str, shares: Iterable[float]) -> None:
    sys.stdout.write(f"{name}: {'  '.join(f'{100 * each:.1f}' for each in shares)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
