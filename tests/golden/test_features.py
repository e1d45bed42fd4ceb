"""Labels that ILS gives on features are those that were kept: all of them, one by one."""

import json
from pathlib import Path

import pytest
from golden import feature_cases

HERE = Path(__file__).resolve().parent


def marked(name):
    marks = [pytest.mark.slow] if name in feature_cases.SLOW else []
    return pytest.param(name, marks=marks, id=name)


@pytest.mark.parametrize("name", [marked(each) for each in sorted(feature_cases.FEATURE_CASES)])
def test_labels_are_those_that_were_kept(name, request):
    if name in feature_cases.FIXTURES:
        request.getfixturevalue(feature_cases.FIXTURES[name])
    kept = json.loads((HERE / f"{name}.json").read_text())["numbers"]
    found = feature_cases.FEATURE_CASES[name]()
    assert found.keys() == kept.keys()
    assert found["classes"] == kept["classes"]
    for part in kept.keys() - {"classes"}:
        pairs = zip(kept[part], found[part], strict=True)
        others = {row: f"{old} -> {new}" for row, (old, new) in enumerate(pairs) if old != new}
        assert not others, part
