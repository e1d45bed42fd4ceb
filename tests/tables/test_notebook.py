"""What a notebook shows of a job."""

import html
import re

import pytest
from tables.small_tables import quick, small_tables

import ilspace
from ilspace import ILSClassifier

TABLES = small_tables()
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def found():
    return ilspace.adapt(TABLES.source, TABLES.labelled(12), "class", method=quick())


def test_a_job_shows_its_numbers_and_some_labels(found):
    shown = found._repr_html_()
    plain = " ".join(html.unescape(re.sub("<[^>]*>", " ", shown)).split())
    for card in found.rely:
        for part in ("title", "value", "text"):
            assert " ".join(card[part].split()) in plain
    for step in found.next_steps():
        assert " ".join(step["text"].split()) in plain
    for note in found.notes:
        assert note in plain
    assert [f"<th>{each}</th>" in shown for each in found.predictions] == [True] * 6
    for each in found.predictions["sample"][:5]:
        assert f"<td>{each}</td>" in shown
    assert "00005" not in shown
    assert "<td>NaN</td>" not in shown


def test_its_name_is_short(found):
    accuracy, sure, changed = found.rely
    assert repr(found) == (
        f"<Answer: Expected accuracy on the target: {accuracy['value']}. Sure rows: "
        f"{sure['value']}. What changed: {changed['value']}.>"
    )


def test_what_the_data_hold_is_escaped():
    source = TABLES.source.rename(columns={"height": HOSTILE})
    target = TABLES.target.rename(columns={"height": HOSTILE}).assign(
        sample=[f"{HOSTILE}{i}" for i in range(24)]
    )
    shown = ilspace.adapt(source, target, "class", method=quick())._repr_html_()
    assert "<script>" not in shown
    assert html.escape(HOSTILE) in shown


def test_an_estimator_is_shown_as_scikit_learn_shows_its_own():
    clf = ILSClassifier(n_components=3)
    assert "ILSClassifier" in clf._repr_html_()
    assert "n_components" in clf._repr_html_()
