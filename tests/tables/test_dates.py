"""Dates as features: parts, order of day and month, what is left out, what a file holds."""

import datetime

import numpy as np
import pandas as pd
import pytest

import ilspace
from ilspace.tables import TableClassifier
from ilspace.tables.columns import plan_columns
from ilspace.tables.dates import Dates, parts_of

DAYS = [datetime.datetime(2023, 1, 1, 5) + datetime.timedelta(hours=37 * i) for i in range(300)]

FORMATS = {
    "%Y-%m-%d %H:%M": False,
    "%Y-%m-%dT%H:%M:%S+0200": False,
    "%d.%m.%Y %H:%M": True,
    "%m/%d/%Y %I:%M %p": False,
    "%d/%m/%Y %H:%M:%S.5": True,
}


def only(source, target) -> Dates:
    """The one column of two tables."""
    (found,) = plan_columns(source, target).source
    assert isinstance(found, Dates)
    return found


@pytest.mark.parametrize(("written", "day_first"), FORMATS.items())
def test_parts_are_those_of_the_date(written, day_first):
    """What the standard library says of the dates before they were written down."""
    column = pd.Series([each.strftime(written) for each in DAYS])
    found = only(*[pd.DataFrame({"when": column})] * 2)
    assert found == Dates("when", ("year", "month", "weekday", "hour"), found.day_first)
    if not written.startswith("%Y"):
        assert found.day_first is day_first
    parts = parts_of(column, day_first=found.day_first)
    for part, of in (
        ("year", lambda each: each.year),
        ("month", lambda each: each.month),
        ("weekday", lambda each: each.weekday()),
        ("hour", lambda each: each.hour),
    ):
        assert parts[part].tolist() == [of(each) for each in DAYS]


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
def test_dates_of_pandas_are_read_alike(zone):
    column = pd.Series(DAYS).dt.tz_localize(zone)
    strings = pd.Series([str(each) for each in DAYS])
    one, other = parts_of(column, day_first=False), parts_of(strings, day_first=False)
    assert {name: each.tolist() for name, each in one.items()} == {
        name: each.tolist() for name, each in other.items()
    }


def test_months_lie_on_a_circle():
    column = Dates("when", ("month",))
    rows = column.read(pd.Series([f"2024-{month:02d}-15" for month in range(1, 13)]))
    assert column.names == ["when: month cos", "when: month sin"]
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)
    steps = np.linalg.norm(rows - np.roll(rows, 1, axis=0), axis=1)
    np.testing.assert_allclose(steps, steps[0])  # December to January too


def test_what_is_no_date_is_missing():
    column = Dates("when", ("year", "weekday"), True)
    rows = column.read(pd.Series(["1.2.2024", None, "soon", "31.2.2024", "2024-02-30", " "]))
    assert np.isnan(rows).all(axis=1).tolist() == [False, True, True, True, True, True]
    assert column.known(rows).tolist() == [True, False, False, False, False, False]


@pytest.mark.parametrize(
    ("here", "there", "parts"),
    [
        ("2023", "2024", ("weekday",)),  # one year in each, one month in each
        ("2023", "2023", ("weekday",)),
    ],
)
def test_only_what_varies_inside_both_tables_is_used(here, there, parts):
    tables = [
        pd.DataFrame({"when": [f"{year}-05-{day:02d}" for day in range(1, 20)]})
        for year in (here, there)
    ]
    assert plan_columns(*tables).source == (Dates("when", parts, True),)


def test_years_that_no_table_shares_tell_nothing():
    def table(years):
        return pd.DataFrame({"when": [f"{year}-01-0{1 + i % 3}" for i, year in enumerate(years)]})

    assert only(table([2019, 2020] * 9), table([2021, 2022] * 9)).parts == ("weekday",)
    assert only(table([2019, 2020] * 9), table([2020, 2021] * 9)).parts == ("year", "weekday")


def test_days_and_months_in_no_order_are_left_out():
    rows = pd.DataFrame({"when": ["13.1.2024", "1.13.2024"] * 9, "x": np.arange(18)})
    plan = plan_columns(rows, rows)
    assert [each.name for each in plan.source] == ["x"]
    assert "Dates, days and months in no order, and left out: when." in plan.notes


def test_a_model_learns_from_weekdays_and_remembers(tmp_path):
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in range(140)]
    table = pd.DataFrame({"when": [each.isoformat() for each in days]})
    y = np.where([each.weekday() >= 5 for each in days], "free", "busy")
    later = pd.DataFrame(
        {"when": [(each + datetime.timedelta(days=91)).isoformat() for each in days]}
    )
    model = TableClassifier("linear").fit(table, y, later)
    assert "Dates, of which month and weekday are used: when." in model.plan_.notes
    assert np.mean(model.predict(later) == y) > 0.95  # 91 days are 13 weeks
    model.save(tmp_path / "model.safetensors")
    loaded = ilspace.load(tmp_path / "model.safetensors")
    assert loaded.plan_.target == model.plan_.target
    np.testing.assert_array_equal(loaded.predict_proba(later), model.predict_proba(later))
