"""From the columns of a table to the numbers that an estimator takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ilspace.datasets.preprocessing import STEPS
from ilspace.storage.schema import POSITIVE, ArrayOf, Check, Each, OneOf, Record, Value
from ilspace.tables.errors import TableError
from ilspace.tables.kinds import ENCODED, KINDS, Column, Number
from ilspace.tables.values import LARGEST, as_table, without_giants

if TYPE_CHECKING:
    import pandas as pd

SCALINGS = ("zscore", "zscore-l2", "sqrt-zscore-l2", "l2-zscore-l2", "l2", "none")
"""Chains of steps to choose from; `ilspace.datasets.preprocess` says what a step does."""

WIDE = 50
"""Columns from which on the length of a row says little, so that rows are scaled to length 1."""

_SHARED_TOP = 0.5
"""Share of the columns that reach the largest number of all, for them to be of one unit."""

_SILENCE = 1e200
"""What a column without variance is divided by: it says nothing, whatever a further row holds."""


class Entries(NamedTuple):
    """Entries of the features of a table.

    Attributes
    ----------
    values : ndarray of shape (n, n_encoded)
        What the kinds of the columns read; NaN for what is to be filled.
    n_known : ndarray of shape (n,)
        Number of features of each row that are not missing.
    """

    values: np.ndarray
    n_known: np.ndarray


@dataclass(frozen=True)
class TableEncoder:
    """Turns rows of one domain's tables into numbers, each row by itself.

    A missing number is filled with the mean of the column in its domain, so that it is zero after
    centring, and so are the dimensions of a missing text; a missing category is none of them.
    Categories become 0 and 1. All categories of a column together vary as much as one column of
    numbers, and the n-grams of a text, and its embeddings, as much as four. Parts of dates are
    numbers.

    Attributes
    ----------
    columns : tuple of Column
        The features.
    scaling : str
        One of `SCALINGS`.
    fill : ndarray of shape (n_encoded,)
        What missing values are filled with.
    center, scale : ndarray of shape (n_encoded,)
        What `zscore` takes off, and divides by.
    """

    columns: tuple[Column, ...]
    scaling: str
    fill: np.ndarray
    center: np.ndarray
    scale: np.ndarray

    @property
    def ordered(self) -> list[Column]:
        """Columns in the order in which they are encoded: numbers, texts, categories, dates."""
        return [each for kind in ENCODED for each in self.columns if type(each) is kind]

    @property
    def names(self) -> list[str]:
        """Names of the encoded columns."""
        return [name for each in self.ordered for name in each.names]

    @property
    def as_written(self) -> tuple[str, ...]:
        """Names of the columns whose entries are compared as they are written."""
        return tuple(each.name for each in self.columns if each.as_written)

    def encode(self, table: pd.DataFrame) -> np.ndarray:
        """Encode rows.

        Parameters
        ----------
        table : DataFrame
            Rows of the domain, with the columns of the encoder in any order, and others.

        Returns
        -------
        ndarray of shape (n, n_encoded)
            In double precision.
        """
        return self.scale_entries(self.read(table))

    def read(self, table: pd.DataFrame) -> Entries:
        """Take the entries of the features out of a table.

        Parameters
        ----------
        table : DataFrame
            As for :meth:`encode`.

        Returns
        -------
        Entries
            The same for all encoders of the same columns.
        """
        table = as_table(table)
        missing = sorted({each.name for each in self.columns}.difference(table.columns))
        if missing:
            raise TableError(
                f"The table must have the column {missing[0]!r} that the model was trained with, "
                f"but lacks it{f' and {len(missing) - 1} others' if len(missing) > 1 else ''}: add "
                "it (empty, if its values are unknown)."
            )
        numbers = _read_numbers(table, [each for each in self.columns if type(each) is Number])
        blocks, n_known = [numbers], np.sum(~np.isnan(numbers), axis=1)
        for each in self.ordered[numbers.shape[1] :]:  # numbers come first
            blocks.append(each.read(table[each.name]))
            n_known += each.known(blocks[-1])
        # by rows, so that sums do not depend on how pandas keeps its columns
        return Entries(np.concatenate(blocks, axis=1), n_known)

    def scale_entries(self, entries: Entries) -> np.ndarray:
        """Fill missing values and scale.

        Parameters
        ----------
        entries : Entries
            Of the columns of this encoder.

        Returns
        -------
        ndarray of shape (n, n_encoded)
            In double precision.
        """
        X = np.where(np.isnan(entries.values), self.fill, entries.values)
        for step in self.scaling.split("-"):
            if step == "sqrt" and X.min(initial=0) < 0:
                raise TableError(
                    "The scaling by sqrt needs counts or proportions, but there are negative "
                    "numbers: choose another scaling."
                )
            X = (X - self.center) / self.scale if step == "zscore" else STEPS[step](X)
        return X

    def distances(self, entries: Entries) -> np.ndarray:
        """How far rows are from the mean of their domain.

        Parameters
        ----------
        entries : Entries
            Of the columns of this encoder.

        Returns
        -------
        ndarray of shape (n,)
            Root mean square of the z-scores; of the numbers as they are without that scaling.
        """
        steps = self if "zscore" in self.scaling.split("-") else replace(self, scaling="none")
        X = unscaled(steps, self.fill).scale_entries(entries)
        return np.sqrt(np.mean(((X - self.center) / self.scale) ** 2, axis=1))


def _read_numbers(table: pd.DataFrame, columns: Sequence[Column]) -> np.ndarray:
    """Entries of columns of numbers; those that NumPy holds at once, as there may be thousands."""
    dtypes = dict(zip(table.columns, table.dtypes, strict=True))
    types = [dtypes[each.name] for each in columns]
    plain = np.array([isinstance(each, np.dtype) and each.kind in "fiub" for each in types], bool)
    values = np.empty((len(table), len(columns)))
    names = [each.name for each, is_plain in zip(columns, plain, strict=True) if is_plain]
    values[:, plain] = without_giants(table[names].to_numpy(dtype=float))
    for i in np.flatnonzero(~plain).tolist():
        values[:, i] = columns[i].read(table[columns[i].name])[:, 0]
    return values


def fit_encoder(
    table: pd.DataFrame,
    columns: Sequence[Column],
    *,
    scaling: str,
    weights: np.ndarray | None = None,
) -> tuple[TableEncoder, np.ndarray]:
    """Learn from all rows of one domain how to encode them.

    Parameters
    ----------
    table : DataFrame
        The rows.
    columns : sequence of Column
        Its features.
    scaling : str
        One of `SCALINGS`.
    weights : ndarray of shape (n,), optional
        Weights of the rows in the means and deviations.

    Returns
    -------
    encoder : TableEncoder
        For these rows, and further ones of the domain.
    X : ndarray of shape (n, n_encoded)
        The rows, encoded.
    """
    nothing = np.zeros(0)
    encoder = TableEncoder(tuple(columns), scaling, nothing, nothing, nothing)
    entries = encoder.read(table)
    sums, counts = known_sums(entries.values, weights)
    fill, width = sums / np.where(counts > 0, counts, 1), len(encoder.names)
    encoder = replace(encoder, fill=fill, center=np.zeros(width), scale=np.ones(width))
    X = unscaled(encoder, fill).scale_entries(entries)
    mean, std = X.mean(axis=0), X.std(axis=0)
    if weights is not None:
        shares = weights / weights.sum()
        mean = shares @ X
        std = np.sqrt(shares @ (X - mean) ** 2)
    encoder = scaled_encoder(encoder, fill, mean, std, n_rows=len(X))
    return encoder, encoder.scale_entries(entries)


def default_scaling(*domains: tuple[pd.DataFrame, Sequence[Column]]) -> str:
    """The scaling that is used where none is asked for.

    Chosen on a third of the rows of digits and of some Office+Caltech10 images: z-scores of pixels
    cost up to ten points, those of counts four.

    Parameters
    ----------
    *domains : (DataFrame, sequence of Column)
        Table and features of each.

    Returns
    -------
    str
        ``"zscore"`` for fewer than 50 columns. For more, rows of length 1: of the numbers as they
        are, ``"l2"``, where half of the columns or more reach the same maximum, as those of pixels,
        shares and indicators do; else of z-scores, of the square roots where all are counts.
    """
    widths = [sum(len(each.names) for each in columns) for _, columns in domains]
    if min(widths) < WIDE:
        return "zscore"
    nothing = np.zeros(0)
    values = [
        TableEncoder(tuple(columns), "none", nothing, nothing, nothing).read(table).values
        for table, columns in domains
    ]
    if all(type(each) is Number for _, columns in domains for each in columns):
        if all(map(_share_range, values)):
            return "l2"
        if all(map(_are_counts, values)):
            return "sqrt-zscore-l2"
    return "zscore-l2"


def _share_range(values: np.ndarray) -> bool:
    """Tell columns of one unit that saturates, such as pixels."""
    known = np.nan_to_num(values, nan=0.0)
    tops = known.max(axis=0)
    return bool(known.min() >= 0 and tops.max() > 0 and np.mean(tops == tops.max()) >= _SHARED_TOP)


def _are_counts(values: np.ndarray) -> bool:
    known = np.nan_to_num(values, nan=0.0)
    return bool(known.min() >= 0 and np.array_equal(known, np.floor(known)))


def known_sums(
    values: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Sums and counts of the values of some rows, for the means that fill missing ones.

    Parameters
    ----------
    values : ndarray of shape (n, n_encoded)
        Of some rows, NaN where they are missing.
    weights : ndarray of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    sums, counts : ndarray of shape (n_encoded,)
        One per encoded column.
    """
    known = ~np.isnan(values)
    if weights is not None:
        return weights @ np.where(known, values, 0), weights @ known
    return np.where(known, values, 0).sum(axis=0), known.sum(axis=0)


def unscaled(encoder: TableEncoder, fill: np.ndarray) -> TableEncoder:
    """An encoder that goes no further than to what `zscore` takes the moments of.

    Parameters
    ----------
    encoder : TableEncoder
        An encoder of the same columns.
    fill : ndarray of shape (n_encoded,)
        What missing values are filled with.

    Returns
    -------
    TableEncoder
        With the steps before `zscore`, or with all where there is none.
    """
    steps = encoder.scaling.split("-")
    before = steps[: steps.index("zscore")] if "zscore" in steps else steps
    return replace(encoder, scaling="-".join(before) or "none", fill=fill)


def scaled_encoder(
    encoder: TableEncoder, fill: np.ndarray, mean: np.ndarray, std: np.ndarray, *, n_rows: int
) -> TableEncoder:
    """The encoder of rows of which the moments are known.

    Parameters
    ----------
    encoder : TableEncoder
        An encoder of the same columns.
    fill : ndarray of shape (n_encoded,)
        What missing values are filled with.
    mean, std : ndarray of shape (n_encoded,)
        Of the rows as :func:`unscaled` encodes them.
    n_rows : int
        How many there are.

    Returns
    -------
    TableEncoder
        For all these rows.
    """
    if "zscore" not in encoder.scaling.split("-"):
        return replace(encoder, fill=fill)
    scale = _scale(mean, std, encoder.ordered, n_rows)
    return replace(encoder, fill=fill, center=mean, scale=scale)


def _scale(mean: np.ndarray, std: np.ndarray, columns: Sequence[Column], n_rows: int) -> np.ndarray:
    """Standard deviation of the encoded columns, of those of a pool together."""
    std, start = std.copy(), 0
    for column in columns:
        for length in column.pools:
            stop = start + length
            if length > 1:
                std[start:stop] = np.sqrt(np.sum(std[start:stop] ** 2) / column.weight)
            start = stop
    # the mean of n equal numbers is off by up to n rounding errors, and the deviation follows
    varies = std > n_rows * np.finfo(float).eps * np.abs(mean)
    return np.where(varies, std, _SILENCE)


# -- on disk -------------------------------------------------------------------------------------


_ENTRIES = Check(
    f"be at most {LARGEST:g}", lambda values: np.all(np.abs(values) <= LARGEST * (1 + 1e-9))
)


def encoder_schema(side: str) -> Record:
    """What a file holds of an encoder.

    Parameters
    ----------
    side : str
        Symbol for the number of its encoded columns.

    Returns
    -------
    Record
        The field.
    """
    return Record(
        TableEncoder,
        {
            "columns": Each(
                OneOf(KINDS, own_symbols=True), check=Check("have distinct names", _are_distinct)
            ),
            "scaling": Value(str, check=Check(f"be one of {SCALINGS}", SCALINGS.__contains__)),
            "fill": ArrayOf((side,), check=_ENTRIES),
            "center": ArrayOf((side,), check=_ENTRIES),
            "scale": ArrayOf((side,), check=POSITIVE),
        },
        check=Check("have as many numbers as its columns need", _fits_columns),
    )


def _are_distinct(columns: tuple[Column, ...]) -> bool:
    return len({each.name for each in columns}) == len(columns)


def _fits_columns(encoder: TableEncoder) -> bool:
    """Tell whether there is a number per encoded column."""
    return len(encoder.center) == len(encoder.names)
