"""What columns are taken for."""

import decimal

import numpy as np
import pandas as pd
import pytest
from tables.small_tables import COLOURS, NUMBERS, small_tables

from ilspace.tables import TableClassifier, TableError
from ilspace.tables.columns import plan_columns
from ilspace.tables.dates import Dates
from ilspace.tables.kinds import MOST_CATEGORIES, Category, Number
from ilspace.tables.values import as_numbers

TABLES = small_tables()
X, Y, XT = TABLES.features


def plan_of(source, target=None, **options):
    return plan_columns(source, source if target is None else target, **options)


def test_identifiers_numbers_and_categories():
    plan = plan_columns(X, XT)
    assert plan.ids == ("sample",)
    assert plan.are_shared
    assert plan.source == plan.target
    assert plan.source == (*map(Number, NUMBERS), Category("colour", tuple(sorted(COLOURS))))
    assert plan.notes == ("Taken for identifiers: sample.",)


@pytest.mark.parametrize("name", ["id", "ID", "sample_id", "rowId", "patient ID", "key", "uuid"])
def test_identifiers_by_name(name):
    numbers = pd.DataFrame({name: np.arange(20), "x": np.arange(20) % 3})
    assert plan_of(numbers).ids == (name,)


@pytest.mark.parametrize(
    ("name", "entries"),
    [
        ("humid", np.arange(20)),  # no word of its own
        ("key", np.arange(20) % 12),  # of music
        ("grid", np.arange(20.0)),
        ("id", np.arange(20) + 0.5),
        ("x", np.arange(20)),
    ],
)
def test_features_that_look_a_little_like_identifiers(name, entries):
    table = pd.DataFrame({name: entries, "other": np.arange(20) % 3})
    plan = plan_of(table)
    assert plan.ids == ()
    assert Number(name) in plan.source


def test_a_small_target_does_not_hide_identifiers():
    assert plan_columns(X, XT[:2]).ids == ("sample",)


def test_columns_that_are_in_one_table_are_left_out_and_named():
    plan = plan_columns(X.drop(columns="depth"), XT.drop(columns="height"))
    assert [each.name for each in plan.source] == ["width", "weight", "colour"]
    assert "Only in the source, and left out: height." in plan.notes
    assert "Only in the target, and left out: depth." in plan.notes


@pytest.mark.parametrize(
    ("source", "target", "are_shared"),
    [
        (["a", "b"], ["c", "d"], False),
        (["a", "b"], ["b", "c"], True),
        ([f"x{i}" for i in range(5)], [f"x{i}" for i in range(9)], False),
        ([f"x{i}" for i in range(5)], [f"x{i}" for i in range(5)][::-1], True),
        ([f"x{i}" for i in range(1, 6)], [f"x{i}" for i in range(1, 6) if i != 3], True),
        (["0", "1", "2"], ["0", "1"], False),
        (["x0", "x1", "age"], ["x0", "x1", "x2", "age"], True),
    ],
)
def test_which_columns_correspond(source, target, are_shared):
    tables = [pd.DataFrame(np.eye(12)[:, : len(each)], columns=each) for each in (source, target)]
    plan = plan_columns(*tables)
    assert plan.are_shared is are_shared
    if not are_shared:
        assert [each.name for each in plan.target] == target
        assert not plan_columns(*tables, matching="none").are_shared
    if not are_shared and set(source) & set(target):
        assert "numbered" in plan.notes[0]
        assert plan_columns(*tables, matching="by-name").are_shared


def test_names_must_be_asked_for_rightly():
    with pytest.raises(TableError, match="'nothing' must be in a table"):
        plan_of(X, XT, ids=["nothing"])
    with pytest.raises(TableError, match="feature columns in common"):
        plan_of(X[["width"]], XT[["height"]], matching="by-name")
    plan = plan_of(X, XT, ids=["colour"], ignored=["sample", "width"])
    assert plan.ids == ("colour",)
    assert {each.name for each in plan.target} == set(NUMBERS) - {"width"}


SAME = {
    "Int64": lambda x: x.astype("Int64").mask(x == 2),
    "Float64": lambda x: x.astype("Float64").mask(x == 2),
    "object with missing values": lambda x: x.astype(object).where(x != 2, None),
    "decimal": lambda x: x.map(lambda each: None if each == 2 else decimal.Decimal(each)),
    "strings of numbers": lambda x: x.astype(str).where(x != 2, "?"),
    "infinity": lambda x: x.astype(float).where(x != 2, np.inf),
    "too large": lambda x: x.astype(float).where(x != 2, -1e308),
    "float32": lambda x: x.astype("float32").where(x != 2),
}


@pytest.mark.parametrize("kind", SAME)
def test_numbers_of_all_kinds_with_gaps(kind):
    counts = pd.Series(np.arange(30) % 7)
    plain, odd = X.assign(n=counts.where(counts != 2)), X.assign(n=SAME[kind](counts))
    target = XT.assign(n=np.arange(24.0))
    plan = plan_columns(odd, target)
    assert Number("n") in plan.source
    expected = TableClassifier("linear").fit(plain, Y, target)
    met = TableClassifier("linear").fit(odd, Y, target)
    np.testing.assert_array_equal(met.encode(odd, "source"), expected.encode(plain, "source"))


@pytest.mark.parametrize("kind", [bool, "boolean", object])
def test_booleans_are_0_and_1_with_or_without_gaps(kind):
    flags = pd.Series([True, False] * 15).astype(kind)
    if kind is not bool:
        flags[3] = None
    assert Number("is") in plan_columns(X.assign(**{"is": flags}), XT.assign(**{"is": 1})).source


STRINGS = ["category", "string", object]
if pd.__version__ >= "3":  # before, astype("str") makes a string of a missing value
    STRINGS.append("str")


@pytest.mark.parametrize("kind", STRINGS)
def test_texts_of_all_kinds(kind):
    strings = pd.Series(list("abcabcabca") * 3)
    strings[4] = None
    plan = plan_columns(X.assign(t=strings.astype(kind)), XT.assign(t="a"))
    assert Category("t", ("a", "b", "c")) in plan.source


def test_categories_that_are_numbers_are_texts():
    grades = pd.Series(np.arange(30) % 3 + 1).astype("category")
    plan = plan_columns(X.assign(grade=grades), XT.assign(grade=grades[:24]))
    assert Category("grade", ("1", "2", "3")) in plan.source


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        (["2024-05-03", "2024-05-04", None], Dates("when", ("weekday",), True)),
        (["2024-05-03T10:20:30.5Z", "2024-05-04 08:00"], Dates("when", ("weekday", "hour"), True)),
        (["3.5.2024", "14.5.2024"], Dates("when", ("weekday",), True)),
        (["05/03/2024 3:20 PM", "05/04/2024"], Dates("when", ("weekday",), False)),
        (["05/03/2024", "14/04/2023"], Dates("when", ("year", "month", "weekday"), True)),
        (["2024-05-03", "unknown"], None),
        (["2024-05/03", "1-2-3"], None),
        (["24-05", "10-11"], None),
    ],
)
def test_dates_that_are_texts(entries, found):
    rows = pd.DataFrame({"when": entries * 5, "x": np.arange(len(entries) * 5) % 7})
    plan = plan_of(rows)
    (column,) = (each for each in plan.source if each.name == "when")
    assert column == found or (found is None and not isinstance(column, Dates))


@pytest.mark.parametrize("price", ["1,{}", "{},25", "-{},5e3", "1,{}.5"])
def test_numbers_with_commas_are_no_categories(price):
    prices = [price.format(100 + i // 2) for i in range(60)]
    rows = pd.DataFrame({"price": prices, "x": np.arange(60) % 7})
    with pytest.raises(TableError, match="'price' must hold numbers or categories.*commas"):
        plan_of(rows)
    named = rows.assign(price=[f"{each} each" for each in prices])
    assert "price" in [each.name for each in plan_of(named).source]
    few = rows.assign(price=["1,2", "2,3"] * 30)
    assert Category("price", ("1,2", "2,3")) in plan_of(few).source


def test_categories_of_one_table_alone_say_nothing():
    here, there = X.assign(shop="north"), XT.assign(shop="south")
    plan = plan_columns(here, there)
    assert "Without a category that both tables have, and left out: shop." in plan.notes
    assert "shop" not in [each.name for each in plan.source]
    there.loc[there.index[0], "shop"] = "north"
    assert "shop" in [each.name for each in plan_columns(here, there).source]


def test_dates_and_empty_columns_are_left_out_and_named():
    odd = {"day": pd.Timestamp("2024-05-01"), "void": np.nan, "blank": " "}
    plan = plan_columns(X.assign(**odd), XT.assign(**odd))
    assert {each.name for each in plan.source}.isdisjoint(odd)
    assert "Dates, and left out: day." in plan.notes
    assert "Without any value, and left out: void, blank." in plan.notes


def test_numbers_here_and_words_there_are_refused():
    with pytest.raises(
        TableError, match=r"'t' must hold numbers in both tables, or strings in both"
    ):
        plan_columns(X.assign(t=1.5), XT.assign(t="red"))
    few = pd.Series(["1"] * 20 + ["missing"] * 4)
    plan = plan_columns(X.assign(t=1.5), XT.assign(t=few))
    assert Number("t") in plan.source
    assert "Not numbers, and taken for missing values: 4 entries of 't'." in plan.notes
    assert not any("missing" in each for each in plan_columns(X, XT.assign(width="3")).notes)


def test_rare_categories_are_dropped_the_frequent_ones_kept():
    strings = [f"c{i:03d}" for i in range(80)] + 5 * [f"c{i:03d}" for i in range(60, 80)]
    table = pd.DataFrame({"t": strings, "x": np.arange(180.0)})
    (column, _) = plan_of(table).source
    assert isinstance(column, Category)
    assert len(column.categories) == MOST_CATEGORIES
    assert set(column.categories) >= {f"c{i:03d}" for i in range(60, 80)}


def test_nothing_to_learn_from():
    for side, tables in (("source", (X[["sample"]], XT)), ("target", (X, XT[["sample"]]))):
        with pytest.raises(TableError, match=f"The {side} must have a column of features"):
            plan_columns(*tables, matching="none")
    nothing = X.assign(**dict.fromkeys([*NUMBERS, "colour"], np.nan))
    for tables in ((nothing, XT), (X, nothing)):
        with pytest.raises(TableError, match="The tables must share a column of features with"):
            plan_columns(*tables)


def test_columns_with_numbers_for_names():
    plan = plan_columns(pd.DataFrame(np.eye(4)), pd.DataFrame(np.eye(4)))
    assert [each.name for each in plan.source] == ["0", "1", "2", "3"]


def test_only_tables_are_tables():
    with pytest.raises(TypeError, match="must be a pandas DataFrame, but is a ndarray"):
        plan_columns(np.eye(3), X)
    with pytest.raises(TableError, match="'a' occurs 2 times"):
        plan_columns(pd.DataFrame(np.eye(2), columns=["a", "a"]), X)


def test_measurements_with_an_odd_gap_are_numbers():
    values = [f"{each / 7:.3f}" for each in range(60)]
    odd = ["-", *values[1:]]
    table = pd.DataFrame({"x": odd})
    plan = plan_columns(table, table)
    assert plan.source == (Number("x"),)
    assert "Not numbers, and taken for missing values: 1 entry of 'x'." in plan.notes
    few = pd.DataFrame({"x": ["1", "2", "3", "other"] * 15})  # codes
    assert isinstance(plan_columns(few, few).source[0], Category)
    codes = pd.DataFrame({"x": [f"{each:05d}" for each in range(30)] * 2})
    assert isinstance(plan_columns(codes, codes).source[0], Category)


def test_an_identifier_that_repeats_is_one_still():
    table = pd.DataFrame({"patient_id": [1, 1, 2, 2], "x": [0.1, 0.2, 0.3, 0.4]})
    assert plan_columns(table, table).ids == ("patient_id",)
    key = table.rename(columns={"patient_id": "key"})  # of music, perhaps
    assert plan_columns(key, key).ids == ()


def with_repeats(n, n_different, prefix=""):
    return [f"{prefix}car {i % n_different}" for i in range(n)]


@pytest.mark.parametrize(
    ("name", "entries", "expected"),
    [
        ("Individual ID", [f"N{i // 2}A{i % 2}" for i in range(40)] * 2, True),
        ("Individual ID", [f"N{i // 3}" for i in range(80)], True),  # patients, who come again
        ("patient-id", [i // 2 for i in range(80)], True),
        ("car name", with_repeats(80, 60), True),
        ("car name", with_repeats(80, 30), False),  # categories, though many
        ("car name", with_repeats(24, 18), False),  # too few to tell
        ("valid", with_repeats(80, 5), False),
        ("fluid", [i // 2 for i in range(80)], False),
    ],
)
def test_identifiers_with_a_few_repeats(name, entries, expected):
    y = np.arange(len(entries), dtype=float)
    source, target = (pd.DataFrame({name: entries, "x": y + i}) for i in range(2))
    plan = plan_columns(source, target)
    assert (name in plan.ids) == expected
    assert (name in {each.name for each in plan.source}) == (not expected)


@pytest.mark.parametrize("digits", ["9" * 400, 10**400])
@pytest.mark.parametrize("other", ["x", "2.5", "?"])
def test_digits_that_no_number_holds_are_missing(other, digits):
    column = pd.Series(["1", digits, other, None], dtype=object)
    read = as_numbers(column)
    assert read[0] == 1
    assert np.isnan(read[[1, 3]]).all()
    assert read[2] == 2.5 if other == "2.5" else np.isnan(read[2])
