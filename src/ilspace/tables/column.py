"""What all kinds of columns have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ilspace.storage.schema import Check, Field, Value

if TYPE_CHECKING:
    import pandas as pd


def is_whole(text: str) -> bool:
    """Tell strings from those with half a character, which no file of labels can hold.

    Parameters
    ----------
    text : str
        The string.

    Returns
    -------
    bool
        Whether it can be written.
    """
    return text.isascii() or not any("\ud800" <= each <= "\udfff" for each in text)


STRING = Value(str, check=Check("hold whole characters", is_whole))
"""A string in a file."""


@dataclass(frozen=True)
class Column(ABC):
    """A feature as it stands in a table; each kind is a subclass.

    Attributes
    ----------
    name : str
        As in the header.
    """

    name: str

    as_written: ClassVar[bool] = False
    """Whether entries are compared as they are written, so that files are read as strings."""

    weight: ClassVar[float] = 1
    """How many columns of numbers the encoded columns of one of its `pools` vary as much as."""

    schema: ClassVar[dict[str, Field]] = {"name": STRING}
    """What a file holds of it."""

    @classmethod
    def recognise(cls, name: str, sides: Sequence[pd.Series], notes: list[str]) -> Column | str:
        """Tell whether a column is of this kind; by default it is not.

        Parameters
        ----------
        name : str
            As in the header.
        sides : sequence of Series
            The column in each table that has to agree on it.
        notes : list of str
            Takes sentences about what was decided.

        Returns
        -------
        Column or str
            The feature; or why it is left out; or an empty string, if it is of another kind.
        """
        return ""

    @property
    def names(self) -> list[str]:
        """Names of the encoded columns that it becomes."""
        return [self.name]

    @property
    def pools(self) -> list[int]:
        """Lengths of the runs of encoded columns that are scaled by one number each."""
        return [len(self.names)]

    @abstractmethod
    def read(self, column: pd.Series) -> np.ndarray:
        """Entries as numbers.

        Parameters
        ----------
        column : Series
            Of any rows.

        Returns
        -------
        ndarray of shape (n, len(self.names))
            NaN for what is filled with the mean of its domain.
        """

    def known(self, values: np.ndarray) -> np.ndarray:
        """Tell the rows whose entry is not missing.

        Parameters
        ----------
        values : ndarray of shape (n, len(self.names))
            From :meth:`read`.

        Returns
        -------
        ndarray of bool, shape (n,)
            True where there is a value.
        """
        return ~np.isnan(values[:, 0])


class LeftOut(Column):
    """Base of kinds that are no features."""

    def read(self, column):
        """Nothing is read of what is left out."""
        raise TypeError(f"The column {self.name!r} is left out.")
