"""What is said of a table that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class TableError(ValueError):
    """One sentence: what a table must be, what it is, and what to do."""


@contextmanager
def as_table_errors() -> Iterator[None]:
    """Take what an estimator says is wrong with rows for what is wrong with their table.

    Yields
    ------
    None
        While a ValueError becomes a TableError.
    """
    try:
        yield
    except TableError:
        raise
    except ValueError as error:
        raise TableError(" ".join(str(error).split())) from error
