"""Kinds of columns, one class each: how they look, what they become, what a file holds of them.

A new kind is one more class, with its place in `KINDS`, in `ENCODED` and in :func:`recognise`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ilspace.storage.schema import ArrayOf, Check, Each, Record
from ilspace.tables.column import STRING, Column, LeftOut
from ilspace.tables.dates import Dates
from ilspace.tables.errors import TableError
from ilspace.tables.free_text import (
    Ngrams,
    are_free_text,
    learn_ngrams,
    refuse_numbers,
    texts_of,
)
from ilspace.tables.sentences import (
    AUTO,
    BOTH,
    TFIDF,
    WORDLLAMA,
    Sentences,
    why_unavailable,
)
from ilspace.tables.values import (
    COMMAS_IN_NUMBER,
    are_dates,
    as_numbers,
    as_strings,
    is_number,
    is_text,
    without_giants,
)

if TYPE_CHECKING:
    import pandas as pd

MOST_CATEGORIES = 50
"""Categories of a column that are told apart; rarer ones count as none of them."""

_MOSTLY = 0.8
"""Share of the entries of a column that must be numbers, for the others to be missing values."""

_MOST_CODES = 20
"""Different numbers that may still be codes of categories."""


class Empty(LeftOut):
    """A column without any value in one of the tables, which is left out."""

    @classmethod
    def recognise(cls, name, sides, notes):
        """No value in either table; see :class:`Column`."""
        known = (as_strings(each) if is_text(each) else each for each in sides)
        return "Without any value" if any(each.isna().all() for each in known) else ""


class Number(Column):
    """A measurement; a missing value is filled with the mean of its domain."""

    @classmethod
    def recognise(cls, name, sides, notes):
        """Numbers in one table: numbers in the other; see :class:`Column`."""
        if not any(not is_text(each) or are_mostly_numbers(each) for each in sides):
            return ""
        for column in filter(is_text, sides):
            # a table may write missing values in its own way; one that holds words is another thing
            numbers = as_numbers(column)
            lost = int(np.isnan(numbers).sum() - column.isna().sum())
            if lost > len(column) / 2:
                example = str(column[np.isnan(numbers) & column.notna().to_numpy()].iloc[0])
                raise TableError(
                    f"The column {name!r} must hold numbers in both tables, or strings in both, "
                    f"but holds numbers in one and strings such as {example!r} in the other: "
                    "convert it, or leave it out."
                )
            if lost:
                entries = "1 entry" if lost == 1 else f"{lost} entries"
                notes.append(f"Not numbers, and taken for missing values: {entries} of {name!r}.")
        return cls(name)

    def read(self, column):
        """Entries as numbers, also of a column that came as strings; see :class:`Column`."""
        if column.dtype.kind in "fiub":
            return without_giants(column.to_numpy(dtype=float))[:, None]
        if are_dates(column):
            raise TableError(
                f"The column {self.name!r} must hold numbers, as in training, but holds dates: "
                "check the file."
            )
        numbers = as_numbers(column)
        # entry by entry, as a table may come in blocks: words are missing, but this is a number
        for entry in column[np.isnan(numbers) & column.notna().to_numpy()].astype(str).unique():
            if COMMAS_IN_NUMBER.fullmatch(entry.strip()):
                raise TableError(
                    f"The column {self.name!r} must hold numbers, but has the entry {entry!r}: a "
                    "decimal comma must be a point, and there is no thousands separator."
                )
        return numbers[:, None]


def _ngrams_schema(analyzer: str) -> Record:
    """What a file holds of n-grams; numbers are as small as a fit leaves them."""
    return Record(
        partial(Ngrams, analyzer),
        {
            "vocabulary": Each(
                STRING, analyzer, check=Check("be distinct", lambda all: len(set(all)) == len(all))
            ),
            "idf": ArrayOf(
                (analyzer,),
                check=Check("lie between 1 and 99", lambda idf: np.all((idf >= 1) & (idf <= 99))),
            ),
            "axes": ArrayOf((analyzer, "dimensions"), check=_AXES),
        },
    )


_AXES = Check(
    "be unit vectors in single precision",
    lambda axes: axes.dtype == np.float32 and axes.shape[1] > 0 and np.all(np.abs(axes) < 1.01),
)


@dataclass(frozen=True)
class Text(Column):
    """Free text, as some dimensions that its words and parts of words span.

    A missing text, and one without any n-gram that the training had, is filled with the mean of
    its domain. The dimensions are not scaled one by one, as most of them say little.

    Attributes
    ----------
    words, characters : Ngrams
        What is looked for in a text.
    """

    words: Ngrams
    characters: Ngrams

    as_written = True
    # beside eight weak numbers, on halves of the sentences, 1.2 points (l2) and 1 (zscore) better
    # than 1; 8 and 16 are as good within the noise, and with little regularisation all are alike
    weight = 4
    schema = {
        "name": STRING,
        "words": _ngrams_schema("word"),
        "characters": _ngrams_schema("char_wb"),
    }

    @property
    def about(self) -> str:
        """What its encoded columns are."""
        return f"{len(self.ngram_names)} dimensions of n-grams"

    @property
    def ngram_names(self) -> list[str]:
        """Names of the encoded columns that are linear in the weights of the n-grams."""
        return [f"{self.name}: dimension {i + 1}" for i in range(self.words.axes.shape[1])]

    @property
    def names(self):
        """One per dimension."""
        return self.ngram_names

    def read(self, column):
        """Dimensions of the texts; see :class:`Column`."""
        texts = texts_of(column)
        values = np.full((len(texts), self.words.axes.shape[1]), np.nan)
        known = texts.notna().to_numpy()
        entries = texts[known].tolist()
        values[known] = self.words.read(entries) + self.characters.read(entries)
        values[~values.any(axis=1)] = np.nan  # none of its n-grams is known
        return values


@dataclass(frozen=True)
class TextWithEmbeddings(Text):
    """Free text, as the dimensions of :class:`Text` and as sentence embeddings beside them.

    N-grams and embeddings have the same total variance: on random three quarters of the rows of
    the benchmark's sentences, with target labels, that was at least as good as less weight for the
    n-grams. ``docs/measurements/sentences.py`` compares them, also in a language that the
    embeddings do not know.

    Attributes
    ----------
    model : {"wordllama"}
        Whose vectors the embeddings are made of.
    """

    model: str = WORDLLAMA

    schema = {**Text.schema, "model": Sentences.schema["model"]}

    @property
    def about(self):
        """What its encoded columns are."""
        return f"{super().about} and {self.embeddings.about}"

    @property
    def embeddings(self) -> Sentences:
        """The embeddings alone."""
        return Sentences(self.name, self.model)

    @property
    def names(self):
        """One per dimension of either."""
        return [*self.ngram_names, *self.embeddings.names]

    @property
    def pools(self):
        """Dimensions of the n-grams, and of the embeddings."""
        return [len(self.ngram_names), len(self.embeddings.names)]

    def read(self, column):
        """Dimensions of the texts; see :class:`Column`."""
        return np.hstack([super().read(column), self.embeddings.read(column)])

    def known(self, values):
        """Rows with a text that either can read; see :class:`Column`."""
        return ~np.isnan(values).all(axis=1)


@dataclass(frozen=True)
class Category(Column):
    """One of some strings: an encoded column for each, 1 for the category of a row and 0 elsewhere.

    A missing value, and a category that was not there in training, is none of them.

    Attributes
    ----------
    categories : tuple of str
        What it may hold.
    """

    categories: tuple[str, ...] = ()

    as_written = True
    schema = {"name": STRING, "categories": Each(STRING)}

    @classmethod
    def recognise(cls, name, sides, notes):
        """Strings that both tables have; see :class:`Column`."""
        import pandas as pd

        strings = [as_strings(each).dropna() for each in sides]
        if example := _number_with_comma(pd.concat(strings).unique().tolist()):
            raise TableError(
                f"The column {name!r} must hold numbers or categories, but holds numbers with "
                f"commas, such as {example!r}: write decimal points, and no thousands separator."
            )
        if set(strings[0]).isdisjoint(strings[-1]):
            return "Without a category that both tables have"
        counts = pd.concat(strings).value_counts().sort_index()
        kept = counts.sort_values(ascending=False, kind="stable").index[:MOST_CATEGORIES]
        if len(counts) > len(kept):
            notes.append(
                f"{name!r} has {len(counts)} categories; the {MOST_CATEGORIES} most frequent are "
                "used."
            )
        return cls(name, tuple(sorted(map(str, kept))))

    @property
    def names(self):
        """One per category."""
        return [f"{self.name}={each}" for each in self.categories]

    def read(self, column):
        """Indicators of the categories; see :class:`Column`."""
        strings = as_strings(column).to_numpy()
        return (strings[:, None] == np.array(self.categories, object)).astype(float)

    def known(self, values):
        """Rows of one of the categories; see :class:`Column`."""
        return values.any(axis=1)


KINDS: dict[str, type[Column]] = {
    "dates": Dates,
    "empty": Empty,
    "number": Number,
    "text": Text,
    "category": Category,
    "sentences": Sentences,
    "text with embeddings": TextWithEmbeddings,
}
"""All kinds, by what a file calls them."""

ENCODED: tuple[type[Column], ...] = (
    Number,
    Text,
    TextWithEmbeddings,
    Sentences,
    Category,
    Dates,
)
"""Kinds of features, in the order in which encoded columns come."""


def recognise(
    name: str, sides: Sequence[pd.Series], notes: list[str], *, text_features: str
) -> Column | str:
    """Find out of which kind a column is.

    Parameters
    ----------
    name : str
        As in the header.
    sides : sequence of Series
        The column in each table that has to agree on it.
    notes : list of str
        Takes sentences about what was decided.
    text_features : {"auto", "tfidf", "wordllama", "both"}
        Features of free text.

    Returns
    -------
    Column or str
        The feature; or why it is left out.
    """
    for kind in (Dates, Empty, Number):
        if found := kind.recognise(name, sides, notes):
            return found
    if are_free_text(sides):
        return learn_text(name, sides, notes, text_features=text_features)
    return Category.recognise(name, sides, notes)


def learn_text(
    name: str, sides: Sequence[pd.Series], notes: list[str], *, text_features: str
) -> Column | str:
    """Learn the features of a column of text, whether it looks like text or not.

    Parameters
    ----------
    name, sides, notes : str, sequence of Series, list of str
        As for :func:`recognise`.
    text_features : {"auto", "tfidf", "wordllama", "both"}
        Which features; without n-grams that the tables share, embeddings alone, if asked for.

    Returns
    -------
    Column or str
        The feature; or why it is left out.
    """
    refuse_numbers(name, sides)
    unavailable = why_unavailable() if text_features == AUTO else ""
    has_embeddings = text_features != TFIDF and not unavailable
    ngrams = None if text_features == WORDLLAMA else learn_ngrams(sides)
    if ngrams is not None:
        column = (TextWithEmbeddings if has_embeddings else Text)(name, *ngrams)
    elif has_embeddings:
        column = Sentences(name)
    else:
        return f"Without words that {'both tables have' if sides[1:] else 'recur'}"
    notes.append(
        f"Taken for free text, and described by {column.about}: {name} (--ignore leaves it out, "
        "--id hands it on with the predictions)."
    )
    hint = f"{unavailable}. They are better for English texts (--text-features tfidf: no hint)."
    if unavailable and hint not in notes:
        notes.append(hint)
    return column


_FEATURES_OF = {TextWithEmbeddings: BOTH, Sentences: WORDLLAMA, Text: TFIDF}
"""Features by kind; if there are several texts, the first kind that one of them is of counts."""


def used_text_features(columns: Sequence[Column], asked: str) -> str:
    """Which features of free text a model uses.

    Parameters
    ----------
    columns : sequence of Column
        Features of a table.
    asked : {"auto", "tfidf", "wordllama", "both"}
        What was asked for.

    Returns
    -------
    str
        For ``"auto"``, what was chosen, if there is a text.
    """
    if asked != AUTO:
        return asked
    kinds = {type(each) for each in columns}
    return next((name for kind, name in _FEATURES_OF.items() if kind in kinds), asked)


def are_mostly_numbers(column: pd.Series) -> bool:
    """Tell measurements with a few odd entries from categories that happen to be numbers.

    Parameters
    ----------
    column : Series
        Of strings.

    Returns
    -------
    bool
        True for many different numbers and few other strings.
    """
    strings = as_strings(column).dropna()
    numbers = as_numbers(strings)
    known = numbers[~np.isnan(numbers)]
    if len(known) < _MOSTLY * len(strings) or len(np.unique(known)) <= _MOST_CODES:
        return False
    return not strings.str.fullmatch(r"0\d+").any()  # codes such as 007


def _number_with_comma(strings: Sequence[str]) -> str | None:
    """An entry of a column that would hold numbers, were it not for their commas."""
    with_comma = [each for each in strings if COMMAS_IN_NUMBER.fullmatch(each)]
    others = set(strings).difference(with_comma)
    if len(with_comma) <= _MOST_CODES or not all(map(is_number, others)):
        return None
    return with_comma[0]
