"""Which columns of two tables are features, and of what kind the tables are."""

import decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from tables.small_tables import COLOURS, NUMBERS, small_tables

from ilspace.tables import TableClassifier, TableError
from ilspace.tables.columns import are_texts, plan_columns
from ilspace.tables.values import as_numbers

TABLES = small_tables()
X, Y, XT = TABLES.features
N, NT = len(X), len(XT)


def plan_of(source, target=None, **options):
    return plan_columns(source, source if target is None else target, **options)


def notes_of(plan, name):
    """What is said of a column."""
    return [each for each in plan.notes if name in each]


def test_identifiers_numbers_and_strings():
    plan = plan_columns(X, XT)
    assert plan.kind == "table"
    assert plan.ids == ("sample",)
    assert plan.are_shared
    assert plan.texts == ()
    assert plan.source == plan.target == {**dict.fromkeys(NUMBERS, "number"), "colour": "string"}
    assert list(plan.source) == [each for each in X if each != "sample"]
    assert plan.notes == ("Taken for identifiers, and copied to the predictions: sample.",)
    assert plan.as_written == ("sample", "colour")


def test_one_table_alone_has_a_plan():
    plan = plan_columns(X, None)
    assert plan.source == plan.target == plan_columns(X, XT).source
    assert plan.ids == ("sample",)


# -- rule 1: one type over both tables -------------------------------------------------------------


def test_numbers_in_one_table_and_words_in_the_other_are_categories():
    plan = plan_columns(X.assign(t=1), XT.assign(t=["1", "red"] * 12))
    assert plan.target["t"] == "string"
    assert notes_of(plan, "t.") == [
        "Numbers in one table and words in the other, taken for categories: t."
    ]
    rows = plan.prepare(X.assign(t=1), "source")
    assert set(rows["t"]) == {"1"}  # as the target writes it


def test_a_few_words_among_the_numbers_of_one_table_are_missing_values():
    few = pd.Series(["1"] * 20 + ["missing"] * 4)
    plan = plan_columns(X.assign(t=1.5), XT.assign(t=few))
    assert plan.source["t"] == "number"
    assert notes_of(plan, "'t'") == ["Not numbers, and taken for missing values: 4 entries of 't'."]
    assert np.isnan(plan.prepare(XT.assign(t=few))["t"]).tolist() == [False] * 20 + [True] * 4
    assert not notes_of(plan_columns(X, XT.assign(width="3")), "width")


def test_measurements_as_strings_are_numbers_and_codes_are_categories():
    table = pd.DataFrame({"x": ["-", *(f"{each / 7:.3f}" for each in range(1, 60))]})
    plan = plan_of(table)
    assert plan.source == {"x": "number"}
    assert notes_of(plan, "'x'") == ["Not numbers, and taken for missing values: 2 entries of 'x'."]
    for codes in (["1", "2", "3", "other"] * 15, [f"{i:05d}" for i in range(30)] * 2):
        assert plan_of(pd.DataFrame({"x": codes})).source == {"x": "string"}


def test_dates_of_one_table_and_strings_of_dates_in_the_other_are_dates():
    days = pd.date_range("2024-05-01", periods=N)
    strings = days[:NT].strftime("%Y-%m-%d").where(np.arange(NT) > 0, "soon")
    plan = plan_columns(X.assign(day=days), XT.assign(day=strings))
    assert plan.target["day"] == "date"
    rows = plan.prepare(XT.assign(day=strings))["day"]
    assert rows.isna().tolist() == [True] + [False] * (NT - 1)
    assert (rows[1:].to_numpy() == days[1:NT].to_numpy()).all()
    both = plan_columns(X.assign(day=days), XT.assign(day=days[:NT].tz_localize("Asia/Tokyo")))
    assert both.target["day"] == "date"
    hours = both.prepare(XT.assign(day=days[:NT].tz_localize("Asia/Tokyo")))["day"].dt.hour
    assert set(hours) == {15}  # of the day before, in UTC


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
def test_numbers_of_all_types_with_missing_values(kind):
    counts = pd.Series(np.arange(N) % 7)
    plain, odd = X.assign(n=counts.where(counts != 2)), X.assign(n=SAME[kind](counts))
    target = XT.assign(n=np.arange(float(NT)))
    plan = plan_columns(odd, target)
    assert plan.source["n"] == "number"
    expected = plan_columns(plain, target).prepare(plain, "source")
    pd.testing.assert_frame_equal(plan.prepare(odd, "source"), expected)


@pytest.mark.parametrize("kind", [bool, "boolean", object])
def test_booleans_are_0_and_1_with_or_without_missing_values(kind):
    flags = pd.Series([True, False] * 15).astype(kind)
    if kind is not bool:
        flags[3] = None
    source = X.assign(**{"is": flags})
    plan = plan_columns(source, XT.assign(**{"is": 1}))
    assert plan.source["is"] == "number"
    assert plan.prepare(source, "source")["is"][:3].tolist() == [1, 0, 1]


STRINGS = ["category", "string", object]
if pd.__version__ >= "3":  # before, astype("str") makes a string of a missing value
    STRINGS.append("str")


@pytest.mark.parametrize("kind", STRINGS)
def test_strings_of_all_types(kind):
    strings = pd.Series(list("abcabcabca") * 3)
    strings[4] = None
    source = X.assign(t=strings.astype(kind))
    plan = plan_columns(source, XT.assign(t="a"))
    assert plan.source["t"] == "string"
    found = plan.prepare(source, "source")["t"]
    assert found.isna().sum() == 1
    assert found.drop(4).tolist() == strings.drop(4).tolist()


def test_numbers_that_a_table_declares_as_categories_are_categories():
    grades = pd.Series(np.arange(N) % 3 + 1).astype("category")
    plan = plan_columns(X.assign(grade=grades), XT.assign(grade=grades[:NT]))
    assert plan.source["grade"] == "string"


@pytest.mark.parametrize("digits", ["9" * 400, 10**400])
@pytest.mark.parametrize("other", ["x", "2.5", "?"])
def test_digits_that_no_number_holds_are_missing(other, digits):
    read = as_numbers(pd.Series(["1", digits, other, None], dtype=object))
    assert read[0] == 1
    assert np.isnan(read[[1, 3]]).all()
    assert read[2] == 2.5 if other == "2.5" else np.isnan(read[2])


# -- rule 2: a gap of more than 40 points in missing values ----------------------------------------


@pytest.mark.parametrize(("n_missing", "is_kept"), [(12, True), (13, False)])
@pytest.mark.parametrize("entries", ["numbers", "strings"])
def test_a_gap_in_missing_values(n_missing, is_kept, entries):
    """12 of 30 is 40 points, and 13 are more."""
    values = pd.Series(np.arange(N) if entries == "numbers" else ["a", "b"] * 15)
    here = X.assign(t=values.where(np.arange(N) >= n_missing))
    there = XT.assign(t=values[:NT])
    for source, target in ((here, there), (there, here)):
        plan = plan_columns(source, target)
        assert ("t" in plan.target) == is_kept
        said = "Missing far more often in one table than in the other, and left out: t."
        assert notes_of(plan, "t.") == ([] if is_kept else [said])
        assert "t" in plan_columns(source, target, keep=["t"]).target


@pytest.mark.parametrize("nothing", [None, np.nan, np.inf, 1e300])
def test_a_column_without_values_in_a_table_is_left_out(nothing):
    plan = plan_columns(X.assign(t=nothing), XT.assign(t=np.arange(NT)))
    assert "t" not in plan.target
    assert notes_of(plan, "t.") == ["Without any value in a table, and left out: t."]
    # who insists has it, where one table has values
    assert "t" in plan_columns(X.assign(t=nothing), XT.assign(t=1.0), keep=["t"]).target
    assert "t" not in plan_columns(X.assign(t=nothing), XT.assign(t=nothing), keep=["t"]).target


# -- rule 3: identifiers ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["id", "ID", "sample_id", "rowId", "patient ID", "key", "uuid", "row", "Unnamed: 0"]
)
def test_identifiers_by_name(name):
    table = pd.DataFrame({name: np.arange(20), "x": np.arange(20) % 3})
    plan = plan_of(table)
    assert plan.ids == (name,)
    assert plan.source == {"x": "number"}
    assert plan.notes == (f"Taken for identifiers, and copied to the predictions: {name}.",)


@pytest.mark.parametrize(
    ("name", "entries"),
    [
        ("humid", np.arange(20)),  # no word of its own
        ("key", np.arange(20) % 12),  # of music
        ("grid", np.arange(20.0)),
        ("id", np.arange(20) + 0.5),
        ("patient_id", np.arange(20) // 2),  # who comes twice: what is unique identifies a row
        ("x", np.arange(20)),
    ],
)
def test_features_that_look_a_little_like_identifiers(name, entries):
    plan = plan_of(pd.DataFrame({name: entries, "other": np.arange(20) % 3}))
    assert plan.ids == ()
    assert plan.source[name] == "number"


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([f"car {i}" for i in range(40)], True),
        ([f"N{i // 2}A{i % 2}" for i in range(40)], True),
        ([f"car {i // 2}" for i in range(40)], False),  # repeats
        ([f"car {i}" for i in range(9)], False),  # too few to tell
        ([f"{i / 7:.3f}" for i in range(40)], False),  # numbers
        ([f"2024-05-{i + 1:02d}" for i in range(28)], False),  # dates
        ([f"we had to wait for number {i}" for i in range(40)], False),  # texts
    ],
)
def test_identifiers_by_their_values(entries, expected):
    table = pd.DataFrame({"name of it": entries, "x": np.arange(len(entries)) % 7})
    plan = plan_of(table)
    assert (plan.ids == ("name of it",)) == expected
    assert ("name of it" in plan.source) == (not expected)
    # keep overrules what is found, and --id names what is not found
    assert "name of it" in plan_of(table, keep=["name of it"]).source
    assert plan_of(table, keep=["name of it"]).ids == ()
    assert plan_of(table, ids=["name of it"]).ids == ("name of it",)


def test_an_identifier_is_unique_in_each_table_that_has_it():
    twice = pd.concat([XT, XT])
    assert plan_columns(X, twice).ids == ()
    assert plan_columns(X.drop(columns="sample"), XT).ids == ("sample",)
    assert plan_columns(X, XT.drop(columns="sample")).ids == ()  # and is no feature either
    assert "sample" not in plan_columns(X, XT.drop(columns="sample")).source


@pytest.mark.parametrize("n_rows", [2, 9])
def test_a_small_target_does_not_hide_identifiers(n_rows):
    assert plan_columns(X, XT[:n_rows]).ids == ("sample",)


# -- rule 4: categories mostly unseen in the source ------------------------------------------------


@pytest.mark.parametrize(("n_unseen", "is_kept"), [(0, True), (12, True), (13, False), (24, False)])
def test_categories_mostly_unseen_in_the_source(n_unseen, is_kept):
    source = X.assign(shop=["north", "east"] * 15)
    target = XT.assign(shop=["south"] * n_unseen + ["north"] * (NT - n_unseen))
    plan = plan_columns(source, target)
    assert ("shop" in plan.target) == is_kept
    said = "Mostly of categories that the source lacks, and left out: shop."
    assert notes_of(plan, "shop") == ([] if is_kept else [said])
    assert "shop" in plan_columns(source, target, keep=["shop"]).target
    assert "shop" in plan_columns(source, target, text=["shop"]).target


@pytest.mark.parametrize(("n_levels", "is_kept"), [(40, False), (41, True)])
def test_of_many_levels_none_needs_to_be_known(n_levels, is_kept):
    """Beyond 40 levels skrub encodes letters, which both tables have."""
    source = pd.DataFrame({"t": [f"a{i % n_levels}" for i in range(90)], "x": np.arange(90) % 7})
    target = source.assign(t=[f"b{i % n_levels}" for i in range(90)])
    assert ("t" in plan_columns(source, target).target) == is_kept


def test_missing_values_are_no_category():
    source = X.assign(shop=["north", "east"] * 15)
    target = XT.assign(shop=["north", None, None] * 8)
    assert "shop" not in plan_columns(source, target).target  # 67 points more missing values
    target = XT.assign(shop=["north", "north", None] * 8)
    assert "shop" in plan_columns(source, target).target


# -- the rules, overruled --------------------------------------------------------------------------


def test_names_of_columns_to_use_and_to_leave_out():
    plan = plan_columns(X, XT, ids=["colour"], ignored=["sample", "width"])
    assert plan.ids == ("colour",)
    assert set(plan.target) == set(NUMBERS) - {"width"}
    assert plan.notes == ()  # of what was asked for
    short = X.assign(t=[f"{i}x y{i}" for i in range(N)]), XT.assign(t=[f"{i}x" for i in range(NT)])
    assert plan_columns(*short).ids == ("sample", "t")
    asked = plan_columns(*short, text=["t"])
    assert asked.ids == ("sample",)
    assert asked.texts == ("t",)
    assert asked.target["t"] == "string"


@pytest.mark.parametrize("option", ["ids", "ignored", "keep", "text"])
def test_names_must_be_those_of_columns(option):
    asked: dict[str, Any] = {option: ["nothing"]}
    with pytest.raises(TableError, match="'nothing' must be in a table, but is in none"):
        plan_columns(X, XT, **asked)


@pytest.mark.parametrize("used", ["keep", "text"])
@pytest.mark.parametrize("left_out", ["ids", "ignored"])
def test_a_column_is_not_both_used_and_left_out(used, left_out):
    asked: dict[str, Any] = {used: ["colour"], left_out: ["colour"]}
    with pytest.raises(TableError, match="not be both used and left out, but 'colour' is"):
        plan_columns(X, XT, **asked)


def test_nothing_to_learn_from():
    nothing = dict.fromkeys([*NUMBERS, "colour"], np.nan)
    for tables in ((X.assign(**nothing), XT), (X, XT.assign(**nothing))):
        with pytest.raises(TableError, match="must have a column of features with values"):
            plan_columns(*tables)
    with pytest.raises(TableError, match="must have a column of features with values"):
        plan_columns(X[["sample"]], XT, matching="none")


# -- matching --------------------------------------------------------------------------------------


def test_columns_that_are_in_one_table_are_left_out_and_named():
    plan = plan_columns(X.drop(columns="depth"), XT.drop(columns="height"))
    assert list(plan.source) == ["width", "weight", "colour"]
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
        assert list(plan.target) == target
        assert list(plan.source) == source
    if not are_shared and set(source) & set(target):
        assert "numbered, up to different ends" in plan.notes[0]
        assert plan_columns(*tables, matching="by-name").are_shared
    assert not plan_columns(*tables, matching="none").are_shared


def test_matching_none_plans_each_table_by_itself():
    odd = XT.assign(colour="mauve", depth=np.nan, extra=1.5)
    plan = plan_columns(X, odd, matching="none")
    assert list(plan.source) == [*NUMBERS, "colour"]
    assert set(plan.target) == {*NUMBERS, "colour", "extra"} - {"depth"}
    assert not notes_of(plan, "colour")  # mauve is as good as red where nothing is compared
    with pytest.raises(TableError, match="feature columns in common"):
        plan_columns(X[["width"]], XT[["height"]], matching="by-name")


def test_columns_with_numbers_for_names():
    plan = plan_of(pd.DataFrame(np.eye(4)))
    assert list(plan.source) == ["0", "1", "2", "3"]


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(TableError, match="'a' occurs 2 times"):
        plan_columns(pd.DataFrame(np.eye(2), columns=["a", "a"]), X)


# -- a table, or features of one kind --------------------------------------------------------------

RNG = np.random.default_rng(0)


def numbers(names, *, n=20):
    return pd.DataFrame(RNG.normal(size=(n, len(names))), columns=names)


def pixels():
    rows, _ = load_digits(return_X_y=True)
    return pd.DataFrame(rows[:40], columns=[f"pixel_{i // 8}_{i % 8}" for i in range(64)])


KINDS = {
    "30 columns in different units": (load_breast_cancer(as_frame=True).data, "table"),
    "64 pixels of one range": (pixels(), "features"),
    "a matrix": (numbers(["x0", "x1", "x2"]), "features"),
    "a matrix that begins at 1": (numbers(["x1", "x2", "x3"]), "table"),
    "a matrix in another order": (numbers(["x1", "x0"]), "table"),
    "50 numbered columns": (numbers([f"unit {i}" for i in range(50)]), "features"),
    "49 numbered columns": (numbers([f"unit {i}" for i in range(49)]), "table"),
    "numbered by two names": (numbers([f"{'ab'[i % 2]}{i}" for i in range(60)]), "table"),
    "50 columns in different units": (numbers([f"c{i}m" for i in range(60)]), "table"),
    "a matrix and a word": (numbers(["x0", "x1"]).assign(t="a"), "table"),
    "a matrix and dates": (
        numbers(["x0", "x1"]).assign(d=pd.date_range("2024", periods=20)),
        "table",
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_the_kind_of_tables(name):
    table, kind = KINDS[name]
    assert plan_of(table).kind == kind
    other = "table" if kind == "features" else "features"
    if set(plan_of(table).source.values()) == {"number"}:
        assert plan_of(table, kind=other).kind == other
    else:
        with pytest.raises(TableError, match="must be numbers, but the column '[td]' is not"):
            plan_of(table, kind="features")
        assert plan_of(table, ignored=["t" if "t" in table else "d"]).kind == "features"


def test_both_tables_must_be_features():
    there = pixels()
    assert plan_columns(pixels(), there).kind == "features"
    there["pixel_3_3"] = -1.0  # no range of a picture
    assert plan_columns(pixels(), there).kind == "table"
    there = pixels() / 16
    assert plan_columns(pixels(), there).kind == "features"
    # each by itself, where nothing is matched
    assert plan_columns(numbers(["x0", "x1"]), numbers(["x0", "x1", "x2"])).kind == "features"
    assert plan_columns(numbers(["x0", "x1"]), numbers(["p", "q"])).kind == "table"


def test_pixels_that_are_always_black_are_pixels():
    """Most columns reach the maximum of all, those in the corners do not."""
    rows = pixels()
    assert (rows.max() == rows.to_numpy().max()).mean() < 0.9
    rows.iloc[:, :40] *= 0.5
    assert plan_of(rows).kind == "table"  # most do not


def test_labels_play_no_part_in_the_kind():
    """Whatever the labels say, the tables are what they are."""
    table = numbers([f"x{i}" for i in range(5)], n=30)
    for y in (Y, Y[::-1], np.repeat(["p", "q"], 15)):
        assert TableClassifier("committee").fit(table, y).kind_ == "features"


# -- what cannot be read ---------------------------------------------------------------------------


@pytest.mark.parametrize("price", ["1,{}", "{},25", "-{},5e3", "1,{}.5"])
def test_numbers_with_commas_are_no_categories(price):
    prices = [price.format(100 + i // 2) for i in range(60)]
    rows = pd.DataFrame({"price": prices, "x": np.arange(60) % 7})
    with pytest.raises(TableError, match="'price' must hold numbers or categories.*commas"):
        plan_of(rows)
    assert "price" in plan_of(rows.assign(price=[f"{each} each" for each in prices])).source
    few = rows.assign(price=["1,2", "2,3"] * 30)
    assert plan_of(few).source["price"] == "string"


@pytest.mark.parametrize("entry", ["1,5", "-0,25", "1,000", "12,345.6"])
def test_a_number_with_a_comma_is_no_missing_value(entry):
    plan = plan_columns(X, XT)
    with pytest.raises(TableError, match=f"'width' must hold numbers.*'{entry}': a decimal comma"):
        plan.prepare(XT.assign(width=entry))
    words = plan.prepare(XT.assign(width="1,5 cm or so"))
    assert words["width"].isna().all()


def test_a_missing_column_is_named():
    plan = plan_columns(X, XT)
    with pytest.raises(TableError, match="must have the column 'width'.* and 1 others"):
        plan.prepare(XT.drop(columns=["depth", "width"]))


@pytest.mark.parametrize("names", [NUMBERS, (*NUMBERS, "colour")], ids=["numbers", "mixed"])
def test_some_of_the_rows_are_prepared_as_they_are_among_all(names):
    """Whatever their index is."""
    plan = plan_columns(X[list(names)], XT[list(names)])
    whole = pd.DataFrame(plan.prepare(XT))
    for rows in (XT[5:9], XT[5:9].set_axis(list("abcd")), XT[5:9].reset_index(drop=True)):
        found = pd.DataFrame(plan.prepare(rows))
        pd.testing.assert_frame_equal(found, whole[5:9].reset_index(drop=True))


# -- texts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([f"we had to wait for it, {i}" for i in range(30)], True),
        ([f"Ça marche très bien depuis {i} jours" for i in range(30)], True),
        ([f"Der Akku hält nur {i} Stunden" for i in range(30)], True),
        ([f"too short {i}" for i in range(30)], False),
        ([f"we had to wait for it, {i % 15}" for i in range(30)], False),  # half of them repeat
        ([f"we had to wait for it, {i % 16}" for i in range(30)], True),
        ([f"we had to wait for it, {i}" for i in range(10)], False),  # too few to tell
        ([None, *(f"we had to wait for it, {i}" for i in range(11))], True),
    ],
)
def test_what_is_free_text(entries, expected):
    table = pd.DataFrame({"t": pd.Series(entries, dtype=object), "x": np.arange(len(entries)) % 3})
    assert are_texts(table["t"]) == expected
    plan = plan_of(table, keep=["t"])
    assert plan.source["t"] == "string"
    assert plan.texts == (("t",) if expected else ())
    assert plan_of(table, text=["t"]).texts == ("t",)


def test_colours_of_the_tables_are_no_texts():
    assert set(X["colour"]) == set(COLOURS)
    assert not are_texts(X["colour"])
