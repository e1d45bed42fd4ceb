"""From the columns of two tables to numbers: skrub for mixed columns, scaling for adaptation."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from ilspace.datasets.preprocessing import STEPS
from ilspace.tables.columns import WIDE, ColumnPlan, share_range
from ilspace.tables.values import TableError
from ilspace.tables.word_vectors import WordVectors, vectors, why_unavailable

if TYPE_CHECKING:
    import pandas as pd

SCALINGS = ("zscore", "zscore-l2", "sqrt-zscore-l2", "l2-zscore-l2", "l2", "none")
"""Chains of steps to choose from; `ilspace.datasets.preprocess` says what a step does."""

TEXT_COMPONENTS, ONLY_TEXT_COMPONENTS = 30, 150
"""Components of a column of text beside other columns, and where text is all there is."""

_SILENCE = 1e200
"""What a column without variance is divided by: it says nothing, whatever a further row holds."""


@dataclass(frozen=True)
class Encoded:
    """Rows of both tables as numbers, NaN where a number is missing.

    Attributes
    ----------
    source : ndarray of shape (n, d)
        Source rows.
    target : ndarray of shape (nt, d) or (nt, dt)
        Target rows; of another width where the tables share no columns.
    """

    source: np.ndarray
    target: np.ndarray

    def take(self, source: Any, target: Any = slice(None)) -> Encoded:
        """Some of the rows.

        Parameters
        ----------
        source, target : slice, or array of int or bool
            Which.

        Returns
        -------
        Encoded
            With these rows.
        """
        return Encoded(self.source[source], self.target[target])


class TableEncoder(BaseEstimator):
    """Turn rows of tables whose columns are planned into numbers, each row by itself.

    Numbers alone are taken as they are. Mixed columns are encoded by skrub's ``TableVectorizer``
    with its defaults, fitted to the rows of both tables: indicators of categories, parts of dates,
    and components of the n-grams of texts; with the extra ``sentences`` also word vectors.

    Parameters
    ----------
    plan : ColumnPlan
        The features.
    domain : {"target", "source"}, default="target"
        Whose columns they are.
    random_state : int, default=0
        For the components of texts.

    Attributes
    ----------
    vectorizer_ : TableVectorizer or None
        None where all features are numbers.
    names_ : list of str
        Names of the encoded columns.
    has_vectors_ : bool
        Whether texts have word vectors too.
    blocks_ : dict of str to list of int
        Encoded columns of each feature.
    """

    def __init__(self, plan, domain="target", random_state=0):
        self.plan = plan
        self.domain = domain
        self.random_state = random_state

    def fit_transform(self, *tables: pd.DataFrame) -> list[np.ndarray]:
        """Learn how to encode, and encode.

        Parameters
        ----------
        *tables : DataFrame
            Rows whose columns mean the same.

        Returns
        -------
        list of ndarray of shape (n, n_encoded)
            Rows of each table.
        """
        import pandas as pd

        rows = [self.plan.prepare(each, self.domain) for each in tables]
        names = [*(self.plan.target if self.domain == "target" else self.plan.source)]
        self.vectorizer_, self.has_vectors_ = None, False
        self.names_, self.blocks_ = names, {name: [i] for i, name in enumerate(names)}
        if not isinstance(rows[0], pd.DataFrame):
            return rows
        whole = pd.concat(rows, ignore_index=True)
        self.vectorizer_ = self._make_vectorizer(len(whole))
        with _unsurprised():
            found = self.vectorizer_.fit_transform(whole)
        self.names_ = [str(each) for each in found.columns]
        places = {name: i for i, name in enumerate(self.names_)}
        made = self.vectorizer_.input_to_outputs_
        self.blocks_ = {  # skrub drops columns without any value, but lists them
            name: [places[each] for each in made.get(name, ()) if each in places] for name in names
        }
        ends = np.cumsum([len(each) for each in rows])[:-1]
        return np.split(_numbers(found), ends)

    def _make_vectorizer(self, n_rows: int) -> Any:
        from skrub import StringEncoder, TableVectorizer

        held = self.plan.target if self.domain == "target" else self.plan.source
        texts = self.plan.texts
        n = ONLY_TEXT_COMPONENTS if set(texts) == set(held) else TEXT_COMPONENTS
        n = max(1, min(n, n_rows - 1))  # of as many rows there are fewer components
        encoder = StringEncoder(n_components=n, random_state=self.random_state)
        special = []
        if texts:
            self.has_vectors_ = not why_unavailable()
            of_text = WordVectors(encoder) if self.has_vectors_ else encoder
            special = [(of_text, list(texts))]
        return TableVectorizer(high_cardinality=encoder, specific_transformers=special)

    def transform(self, table: pd.DataFrame) -> np.ndarray:
        """Encode further rows.

        Parameters
        ----------
        table : DataFrame
            Rows, columns in any order.

        Returns
        -------
        ndarray of shape (n, n_encoded)
            NaN where a number is missing.
        """
        if self.has_vectors_:
            vectors()  # its error, not one of skrub's
        rows = self.plan.prepare(table, self.domain)
        if self.vectorizer_ is None:
            return rows
        with _unsurprised():
            return _numbers(self.vectorizer_.transform(rows))


def _numbers(found: pd.DataFrame) -> np.ndarray:
    """Encoded rows; a string of too many digits, which skrub takes for infinity, is missing."""
    values = found.to_numpy(dtype=float, na_value=np.nan)
    return np.where(np.isinf(values), np.nan, values)


@contextmanager
def _unsurprised() -> Iterator[None]:
    """Take an unknown category for none, and few n-grams as they are, without a warning."""
    with warnings.catch_warnings():
        for message in ("Found unknown categories", "The matrix shape is"):
            warnings.filterwarnings("ignore", message, UserWarning)
        yield


class DomainScaler(TransformerMixin, BaseEstimator):
    """Fill missing numbers by the mean of their column, and scale, by the rows of one domain.

    Parameters
    ----------
    scaling : str
        One of `SCALINGS`.

    Attributes
    ----------
    fill_ : ndarray of shape (d,)
        What missing numbers are filled with.
    center_, scale_ : ndarray of shape (d,)
        What ``zscore`` subtracts, and divides by.
    """

    def __init__(self, scaling="zscore"):
        self.scaling = scaling

    def fit(self, X, y=None, sample_weight=None):
        """Learn means and deviations.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Rows, NaN where a number is missing.
        y : None
            Ignored.
        sample_weight : ndarray of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        self
            Fitted.
        """
        known = ~np.isnan(X)
        values = np.where(known, X, 0)
        if sample_weight is None:
            sums, counts = values.sum(axis=0), known.sum(axis=0)
        else:
            sums, counts = sample_weight @ values, sample_weight @ known
        self.fill_ = sums / np.where(counts > 0, counts, 1)
        self.center_, self.scale_ = np.zeros(X.shape[1]), np.ones(X.shape[1])
        steps = self.scaling.split("-")
        if "zscore" not in steps:
            return self
        rows = self._scaled(X, steps[: steps.index("zscore")])
        self.center_, std = rows.mean(axis=0), rows.std(axis=0)
        if sample_weight is not None:
            shares = sample_weight / sample_weight.sum()
            self.center_ = shares @ rows
            std = np.sqrt(shares @ (rows - self.center_) ** 2)
        # the mean of n equal numbers is off by up to n rounding errors, and the deviation follows
        varies = std > len(rows) * np.finfo(float).eps * np.abs(self.center_)
        self.scale_ = np.where(varies, std, _SILENCE)
        return self

    def transform(self, X):
        """Fill and scale rows.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Rows, NaN where a number is missing.

        Returns
        -------
        ndarray of shape (n, d)
            Without NaN.
        """
        return self._scaled(X, self.scaling.split("-"))

    def _scaled(self, X: np.ndarray, steps: list[str]) -> np.ndarray:
        X = np.ascontiguousarray(np.where(np.isnan(X), self.fill_, X))  # sums of a row go by layout
        for step in steps:
            if step == "sqrt" and X.min(initial=0) < 0:
                raise TableError(
                    "The scaling by sqrt needs counts or proportions, but there are negative "
                    "numbers: choose another scaling."
                )
            X = (X - self.center_) / self.scale_ if step == "zscore" else STEPS[step](X)
        return X


def default_scaling(plan: ColumnPlan, encoded: Encoded) -> str:
    """The scaling for adaptation where none is asked for.

    Chosen on a third of the rows of digits and of some Office+Caltech10 images: z-scores of pixels
    cost up to ten points, those of counts four.

    Parameters
    ----------
    plan : ColumnPlan
        The features.
    encoded : Encoded
        Their numbers.

    Returns
    -------
    str
        ``"none"`` where all columns are texts, ``"zscore"`` for fewer than 50 columns. For more,
        rows of length 1: of the numbers as they are, ``"l2"``, where half of the columns or more
        reach the same maximum, as those of pixels and shares do; else of z-scores, of the square
        roots where all are counts.
    """
    if set(plan.texts) == set(plan.target):  # blocks of one length each
        return "none"
    sides = encoded.source, encoded.target
    if min(each.shape[1] for each in sides) < WIDE:
        return "zscore"
    if all(each == "number" for held in (plan.source, plan.target) for each in held.values()):
        if all(map(share_range, sides)):
            return "l2"
        if all(map(_are_counts, sides)):
            return "sqrt-zscore-l2"
    return "zscore-l2"


def _are_counts(values: np.ndarray) -> bool:
    known = np.nan_to_num(values, nan=0.0)
    return bool(known.min() >= 0 and np.array_equal(known, np.floor(known)))
