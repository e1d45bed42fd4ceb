"""Dates as features: year, month, weekday and hour, where they can tell something."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ilspace.storage.schema import NOT_EMPTY, Check, Each, Value
from ilspace.tables.column import STRING, Column
from ilspace.tables.values import are_dates, as_strings

if TYPE_CHECKING:
    import pandas as pd

PERIODS = {"year": 0, "month": 12, "weekday": 7, "hour": 24}
"""Parts of a date, and after how many units each begins again; 0 for never."""

_WRITTEN = re.compile(
    r"(?:(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})"
    r"|(?P<first>\d{1,2})[-/.](?P<second>\d{1,2})[-/.](?P<last>\d{4}))"
    r"(?:[T ](?P<hour>\d{1,2}):\d{2}[\d:.,]*\s*(?P<half>[AaPp])?)?"
)
"""A date, year first or last, and perhaps a time of day; a time zone is not looked at."""


@dataclass(frozen=True)
class Dates(Column):
    """Dates, as those of their parts that vary inside both tables, and share a value.

    A year is a number. Months, weekdays and hours come again and are placed on a circle, so that
    December is beside January. Hours are as written, whatever the time zone.

    Attributes
    ----------
    parts : tuple of str
        Some of `PERIODS`.
    day_first : bool
        Whether the day comes before the month where the year comes last.
    """

    parts: tuple[str, ...] = ()
    day_first: bool = False

    schema = {
        "name": STRING,
        "parts": Each(
            Value(str, check=Check(f"be one of {', '.join(PERIODS)}", PERIODS.__contains__)),
            check=NOT_EMPTY,
        ),
        "day_first": Value(bool),
    }

    @classmethod
    def recognise(cls, name, sides, notes):
        """Dates in both tables; see :class:`~ilspace.tables.column.Column`."""
        if not any(map(are_dates, sides)):
            return ""
        if not all(map(are_dates, sides)):
            return "Dates"
        day_first = _is_day_first(sides)
        if day_first is None:
            return "Dates, days and months in no order"
        read = [parts_of(each, day_first=day_first) for each in sides]
        found = tuple(part for part in PERIODS if _tells_something([each[part] for each in read]))
        if not found:
            return "Dates"
        notes.append(f"Dates, of which {_listed(found)} used: {name}.")
        return cls(name, found, day_first)

    @property
    def names(self):
        """One per year, two per part that comes again."""
        return [
            f"{self.name}: {part}{axis}"
            for part in self.parts
            for axis in ((" cos", " sin") if PERIODS[part] else ("",))
        ]

    @property
    def pools(self):
        """Each by itself."""
        return [1] * len(self.names)

    def read(self, column):
        """Parts of the dates; see :class:`~ilspace.tables.column.Column`."""
        read, values = parts_of(column, day_first=self.day_first), []
        for part in self.parts:
            if not PERIODS[part]:
                values.append(read[part])
                continue
            angle = 2 * np.pi * read[part] / PERIODS[part]
            values += [np.cos(angle), np.sin(angle)]
        return np.stack(values, axis=1)


def parts_of(column: pd.Series, *, day_first: bool) -> dict[str, np.ndarray]:
    """Take dates apart.

    Parameters
    ----------
    column : Series
        Dates, or strings of dates.
    day_first : bool
        Whether the day comes before the month where the year comes last.

    Returns
    -------
    dict of str to ndarray of shape (n,)
        The parts of `PERIODS`; weekdays from Monday, 0; NaN for what is no date, or has no time.
    """
    import pandas as pd
    from pandas.api import types

    if types.is_datetime64_any_dtype(column):
        dates = column.dt
        found = dict(
            zip(PERIODS, (dates.year, dates.month, dates.day_of_week, dates.hour), strict=True)
        )
        return {part: each.to_numpy(float, na_value=np.nan) for part, each in found.items()}
    parts = _taken_apart(column)
    first = "day" if day_first else "month"
    day, month = (
        parts[name].fillna(parts["first" if name == first else "second"])
        for name in ("day", "month")
    )
    year = parts["year"].fillna(parts["last"])
    date = pd.to_datetime({"year": year, "month": month, "day": day}, errors="coerce")
    is_real = date.notna().to_numpy()
    return {
        "year": np.where(is_real, year, np.nan),
        "month": np.where(is_real, month, np.nan),
        "weekday": date.dt.day_of_week.to_numpy(float, na_value=np.nan),
        "hour": np.where(is_real, _hours(parts), np.nan),
    }


def _taken_apart(column: pd.Series) -> pd.DataFrame:
    """Numbers in strings of dates; NaN for those that are not there."""
    import pandas as pd

    strings = as_strings(column).astype(object)
    found = [_WRITTEN.match(each) if each is not None else None for each in strings]
    names = ("year", "month", "day", "first", "second", "last", "hour")
    rows = [[each and each[name] for name in names] for each in found]
    parts = pd.DataFrame(rows, columns=list(names), index=column.index).astype(float)
    halves = [each["half"].lower() if each and each["half"] else "" for each in found]
    return parts.assign(half=pd.Series(halves, index=column.index, dtype=object))


def _hours(parts: pd.DataFrame) -> np.ndarray:
    """Hours from 0 to 23: 12 AM is 0, and 12 PM is 12."""
    hour, half = parts["hour"].to_numpy(), parts["half"].to_numpy()
    hour = np.where(half == "", hour, hour % 12 + 12 * (half == "p"))
    return np.where(hour < 24, hour, np.nan)


def _is_day_first(sides: Sequence[pd.Series]) -> bool | None:
    """Whether days come before months; None if neither order makes dates of all."""
    import pandas as pd
    from pandas.api import types

    written = [each for each in sides if not types.is_datetime64_any_dtype(each)]
    if not written:
        return False
    parts = pd.concat([_taken_apart(each)[["first", "second"]] for each in written])
    largest = parts.max().fillna(0)
    if largest["first"] > 12 and largest["second"] > 12:
        return None
    if max(largest) > 12:
        return bool(largest["first"] > 12)
    # both may be months: a point is between days and months, a slash the other way round
    texts = (as_strings(each).dropna() for each in written)
    return not any(each.str.match(r"\d{1,2}/").any() for each in texts)


def _tells_something(values: Sequence[np.ndarray]) -> bool:
    """Whether a part varies in each table, and the tables have a value in common."""
    found = [set(each[~np.isnan(each)].tolist()) for each in values]
    return all(len(each) > 1 for each in found) and bool(set.intersection(*found))


def _listed(parts: Sequence[str]) -> str:
    head = ", ".join(parts[:-1])
    return f"{head} and {parts[-1]} are" if head else f"{parts[0]} is"
