"""Fits give the numbers that were kept: what a change of the method would move is noticed."""

import json
from pathlib import Path

import pytest
from golden import cases, compare, feature_cases

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize("name", sorted(cases.CASES))
def test_numbers_are_those_that_were_kept(name, request):
    if name in cases.NEEDS_DATA:
        request.getfixturevalue("ilspace_data")
    kept = json.loads((HERE / f"{name}.json").read_text())["numbers"]
    found = cases.CASES[name]()
    assert found.keys() == kept.keys()
    if "n_iter" in kept:
        assert abs(found["n_iter"] - kept["n_iter"]) <= 1
    for part in kept:
        if part != "n_iter":
            assert compare.deviation(kept[part], found[part]) <= compare.tolerance(), part


def test_every_file_belongs_to_a_case():
    every = cases.CASES.keys() | feature_cases.FEATURE_CASES.keys()
    assert {path.stem for path in HERE.glob("*.json")} == every


def test_a_deviation_is_seen():
    kept = {"a": [1.0, 2.0], "b": "SETTLED", "c": [[0.0, 3.0]]}
    assert compare.largest_deviation(kept, kept) == 0
    assert compare.largest_deviation(kept, kept | {"a": [1.0, 2.00001]}) > compare.TOLERANCE
    assert compare.largest_deviation(kept, kept | {"b": "STALLED"}) > compare.TOLERANCE
    assert compare.largest_deviation(kept, kept | {"c": [[0.0, float("nan")]]}) > 1
    assert compare.largest_deviation(kept, {"a": [1.0, 2.0]}) > 1
