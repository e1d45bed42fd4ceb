"""A schema writes and reads what it declares, and names the entry that is something else."""

import enum
import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from ilspace.storage import ModelFileError
from ilspace.storage.schema import (
    NOT_EMPTY,
    POSITIVE,
    ArrayOf,
    Check,
    Choice,
    Columns,
    Each,
    Optional,
    Record,
    Value,
    pack,
    unpack,
)


class Color(enum.Enum):
    RED = "a sentence for people"
    BLUE = "another one"


class Line(NamedTuple):
    value: float
    count: int


@dataclass(frozen=True)
class Box:
    lid: str
    sides: tuple[float, ...]


SCHEMA = {
    "means": Each(ArrayOf(("d#",), dtype="float"), "n", check=NOT_EMPTY),
    "maps": Each(ArrayOf(("d#", "p"), dtype="float"), "n"),
    "square": ArrayOf(("p", "p")),
    "codes": ArrayOf(("k",), kinds="i"),
    "rate": Value(float, check=POSITIVE),
    "color": Choice(Color),
    "box": Record(Box, {"lid": Value(str), "sides": Each(Value(float))}),
    "history": Columns(Line, check=NOT_EMPTY),
    "name": Optional(Value(str, check=Check("be short", lambda name: len(name) < 9))),
    "is_good": Value(bool),
}


def owner(**changes):
    """An object that has all that the schema declares, and more."""
    return SimpleNamespace(
        **{
            "means": (np.zeros(2, np.float32), np.ones(3, np.float32)),
            "maps": (np.zeros((2, 4), np.float32), np.ones((3, 4), np.float32)),
            "square": np.eye(4),
            "codes": np.arange(5),
            "rate": 0.5,
            "color": Color.BLUE,
            "box": Box("oak", (1.0, 2.0)),
            "history": (Line(math.inf, 1), Line(0.5, 3)),
            "name": "it",
            "is_good": True,
            "unknown to the schema": 1,
        }
        | changes
    )


def test_what_is_packed_is_plain():
    data = pack(SCHEMA, owner())
    assert data.keys() == SCHEMA.keys()
    assert data["color"] == "BLUE"
    assert data["box"] == {"lid": "oak", "sides": [1.0, 2.0]}
    assert isinstance(data["means"], list)
    assert data["history"]["value"].tolist() == [math.inf, 0.5]
    assert data["history"]["count"].dtype == np.int64


def test_a_round_trip_gives_the_same_values():
    wanted, met = owner(), unpack(SCHEMA, pack(SCHEMA, owner()))
    for name in SCHEMA:
        assert repr(met[name]) == repr(getattr(wanted, name))
    assert met["maps"][1].dtype == np.float32


def test_an_optional_attribute_may_be_missing_and_no_other():
    there = vars(owner())
    del there["name"]
    assert pack(SCHEMA, SimpleNamespace(**there))["name"] is None
    assert unpack(SCHEMA, pack(SCHEMA, owner(name=None)))["name"] is None
    del there["rate"]
    with pytest.raises(AttributeError, match="rate"):
        pack(SCHEMA, SimpleNamespace(**there))


def test_arrays_of_other_libraries_become_numpy():
    xp = pytest.importorskip("array_api_strict")
    data = pack(SCHEMA, owner(square=xp.eye(4)))
    assert type(data["square"]) is np.ndarray
    np.testing.assert_array_equal(unpack(SCHEMA, data)["square"], np.eye(4))


def test_a_record_may_be_seen_in_other_attributes():
    field = Record(
        lambda re, im: complex(re, im),
        {"re": Value(float), "im": Value(float)},
        view=lambda number: SimpleNamespace(re=number.real, im=number.imag),
    )
    data = pack({"z": field}, SimpleNamespace(z=1 + 2j))
    assert data == {"z": {"re": 1.0, "im": 2.0}}
    assert unpack({"z": field}, data) == {"z": 1 + 2j}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("means", (np.zeros(2),), "its means should be a list and is of type tuple"),
        ("means", [], "its means should not be empty and is ()"),
        ("means", [np.zeros(2, np.float32)], "its maps should have 1 items and has 2"),
        ("means", [np.zeros(2), np.zeros(3)], "its maps[0] should have type float64 and has type"),
        ("means", [np.zeros(2, "f4"), np.zeros(4, "f4")], "its maps[1] should have shape (4, 4)"),
        (
            "maps",
            [np.zeros((2, 4), "f4")] * 2,
            "its maps[1] should have shape (3, 4) and has shape",
        ),
        (
            "maps",
            [np.zeros(2, "f4")] * 2,
            "its maps[0] should have shape (2, p) and has shape (2,)",
        ),
        ("square", np.zeros((4, 3)), "its square should have shape (4, 4) and has shape (4, 3)"),
        ("square", np.zeros((4, 4), int), "its square should have a type of kind 'f' and has type"),
        (
            "square",
            np.full((4, 4), np.nan),
            "its square should be finite and holds NaN or infinity",
        ),
        ("square", [[1.0]], "its square should be an array and is of type list"),
        ("codes", np.zeros(5), "its codes should have a type of kind 'i' and has type float64"),
        ("rate", 1, "its rate should be of type float and is of type int"),
        ("rate", True, "its rate should be of type float and is of type bool"),
        ("rate", math.nan, "its rate should be positive and finite and is nan"),
        ("rate", math.inf, "its rate should be positive and finite and is inf"),
        ("color", "GREEN", "its color should be one of RED, BLUE and is 'GREEN'"),
        ("color", [], "its color should be one of RED, BLUE and is []"),
        ("box", {"lid": "oak"}, "its box should have the entries lid, sides and is ['lid']"),
        ("box", {"lid": "oak", "sides": [1.0, "x"]}, "its box.sides[1] should be of type float"),
        ("history", None, "its history should have the entries value, count and is NoneType"),
        (
            "history",
            {"value": np.zeros(2), "count": np.zeros(1, int)},
            "its history.count should have shape (2,) and has shape (1,)",
        ),
        ("history", {"value": np.zeros(0), "count": np.zeros(0, int)}, "should not be empty"),
        ("name", "a" * 10**6, "its name should be short and is 'aaa"),
        ("name", 3, "its name should be of type str and is of type int"),
        ("is_good", 1, "its is_good should be of type bool and is of type int"),
        ("more", 1, "its content should have the entries means, maps, square"),
    ],
)
def test_a_flaw_names_its_entry(name, value, message):
    with pytest.raises(ModelFileError) as caught:
        unpack(SCHEMA, pack(SCHEMA, owner()) | {name: value})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_what_is_no_dictionary_is_refused():
    data: Any
    for data in (None, [], "x", {}, {"means": 1}):
        with pytest.raises(ModelFileError, match="its content should have the entries"):
            unpack(SCHEMA, data)


def test_symbols_are_forgotten_between_two_files():
    one, two = {"a": ArrayOf(("d",))}, {"a": np.zeros(2)}
    unpack(one, two)
    assert len(unpack(one, {"a": np.zeros(3)})["a"]) == 3
