"""The README says what is so: its numbers are made, and its code runs as it stands."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def test_numbers_are_those_of_the_stores(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "measurements"))
    front_page = importlib.import_module("front_page")
    assert front_page.renewed(README) == README


def test_a_number_that_was_typed_is_noticed(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "measurements"))
    front_page = importlib.import_module("front_page")
    wrong = re.sub(r"\*\*\d\d\.\d\*\*", "**99.9**", README, count=1)
    assert wrong != README
    assert front_page.renewed(wrong) == README


def test_the_front_page_of_the_docs_has_the_same_numbers():
    page = (ROOT / "docs" / "index.md").read_text()
    for name in ("accuracy", "speed"):
        assert f':start-after: "<!-- {name}: begin -->"' in page
        assert f':end-before: "<!-- {name}: end -->"' in page
    assert not re.findall(r"\d\d\.\d", page), "a number that is typed"


@pytest.mark.usefixtures("mnist_once")
def test_the_first_lines_of_python_run_as_they_stand(capsys):
    (code, *_) = re.findall(r"^```python\n(.*?)^```$", README, re.M | re.S)
    assert len([line for line in code.splitlines() if line]) == 6
    exec(code, {"__name__": "__main__"})
    said = capsys.readouterr().out
    promised = re.search(r"# (0\.\d\d);", code)
    assert promised is not None
    assert float(said) == pytest.approx(float(promised[1]), abs=0.01)
    shown = re.search(r"with ilspace (\d\d) %", README)
    assert shown is not None
    assert int(shown[1]) == round(100 * float(promised[1]))
